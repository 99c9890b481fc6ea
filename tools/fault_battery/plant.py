"""Plant with exact stiction: Pinocchio's dynamics, and friction that is solved for at the level of velocities.

In a step of ``dt`` the velocity v after it fulfils (M + dt D) (v - u) = dt f, where u is the velocity without dry
friction, and |f_i| <= c_i with f_i = -c_i sign(v_i) for v_i != 0. A joint thus sticks at exactly zero velocity as long
as its bound suffices. Contact is one more row of the problem with f >= 0. It is a box problem in f, solved by an active
set, and by projected Gauss-Seidel where the active set cycles.

No code of the package is used.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numba import njit
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_ROUNDS = 30
_SWEEPS = 400
_SLACK = 1e-10  # of velocities and of efforts


@njit(cache=True)
def solve_box(
    delassus: Floats, free: Floats, lower: Floats, upper: Floats, start: Floats
) -> Floats:
    """Return the impulses f (k,) with lower <= f <= upper that oppose the velocity w = ``delassus`` f + ``free``.

    Where f is inside its bounds, w is 0; w >= 0 at the lower bound, and w <= 0 at the upper one. ``start`` is a guess,
    such as the result of the step before.
    """
    f = np.minimum(np.maximum(start, lower), upper)
    w = delassus @ f + free
    inside = (f > lower) & (f < upper)
    inside |= (f == lower) & (w < 0.0)
    inside |= (f == upper) & (w > 0.0)
    for _ in range(_ROUNDS):
        rows = np.flatnonzero(inside)
        if len(rows):
            bounded = np.where(inside, 0.0, f)
            rest = (delassus @ bounded + free)[rows]
            f[rows] = np.linalg.solve(delassus[rows][:, rows], -rest)
        low = inside & (f < lower - _SLACK)
        high = inside & (f > upper + _SLACK)
        clipped = np.minimum(np.maximum(f, lower), upper)
        w = delassus @ clipped + free
        free_up = ~inside & (f <= lower) & (w < -_SLACK) & (lower < upper)
        free_down = ~inside & (f >= upper) & (w > _SLACK) & (lower < upper)
        f = clipped
        if not (low | high | free_up | free_down).any():
            return f
        inside = (inside & ~low & ~high) | free_up | free_down
    for _ in range(_SWEEPS):
        before = f.copy()
        for i in range(len(f)):
            speed = delassus[i] @ f + free[i]
            f[i] = min(max(f[i] - speed / delassus[i, i], lower[i]), upper[i])
        if np.abs(f - before).max() < _SLACK:
            break
    return f


class Plant:
    """Arm with dry and viscous friction, rotors, an unmodelled payload, brakes, contact and pushes.

    Attributes
    ----------
    q, qd
        Position and velocity (n,).
    friction, viscous
        Dry friction bound and viscous coefficient (n,).
    brakes
        True while all joints are locked, like a friction bound without end.
    wall
        None, or row (n,), offset, stiffness and damping of a contact: its torque is ``row`` times the force, at least
        0, that acts while the depth ``offset - row @ q`` is positive.
    """

    def __init__(
        self, urdf: str, q: ArrayLike, friction: ArrayLike = 0.0, viscous: ArrayLike = 0.0, rotor: ArrayLike = 0.0,
        mass_scale: float = 1.0, payload: float = 0.0, lever: tuple[float, float, float] = (0.0, 0.0, 0.08),
    ) -> None:  # fmt: skip
        self.model = pin.buildModelFromXML(urdf)
        for i in range(1, self.model.njoints):
            body = self.model.inertias[i]
            self.model.inertias[i] = pin.Inertia(
                body.mass * mass_scale, body.lever, body.inertia * mass_scale
            )
        n = self.model.nv
        self.friction = np.broadcast_to(np.asarray(friction, dtype=float), n).copy()
        self.viscous = np.broadcast_to(np.asarray(viscous, dtype=float), n).copy()
        self.rotor = np.broadcast_to(np.asarray(rotor, dtype=float), n).copy()
        self.q = np.array(q, dtype=float)
        self.qd = np.zeros(n)
        self.brakes = False
        self.wall: tuple[Floats, float, float, float] | None = None
        self._impulse = np.zeros(n + 1)
        self._lower = np.tril_indices(n, -1)
        self.data = self.model.createData()
        if payload:
            self.add_payload(payload, lever)

    def add_payload(
        self, mass: float, lever: tuple[float, float, float] = (0.0, 0.0, 0.08)
    ) -> None:
        """Add a point mass (kg) to the last body at ``lever`` (m) in its frame; a negative mass takes it off."""
        last = self.model.njoints - 1
        point = pin.Inertia(mass, np.array(lever), np.zeros((3, 3)))
        self.model.inertias[last] = self.model.inertias[last] + point
        self.data = self.model.createData()

    def mass_matrix(self) -> Floats:
        """Return the mass matrix (n, n) with rotors."""
        return self._inertia(self.rotor)

    def _inertia(self, armature: Floats) -> Floats:
        self.model.armature = armature
        matrix = np.array(pin.crba(self.model, self.data, self.q))
        matrix[self._lower] = matrix.T[self._lower]
        return matrix

    def bias(self) -> Floats:
        """Return the torque (n,) of gravity and velocities."""
        return np.array(pin.nonLinearEffects(self.model, self.data, self.q, self.qd))

    def gravity(self) -> Floats:
        """Return the torque (n,) that balances gravity."""
        return np.array(pin.computeGeneralizedGravity(self.model, self.data, self.q))

    def energy(self) -> float:
        """Return the kinetic and potential energy (J)."""
        kinetic = 0.5 * self.qd @ self.mass_matrix() @ self.qd
        return float(
            kinetic + pin.computePotentialEnergy(self.model, self.data, self.q)
        )

    def place(self, q: Floats) -> Floats:
        """Return the position (3,) of the last body at ``q`` (n,), and keep it in ``data``."""
        pin.forwardKinematics(self.model, self.data, q)
        return np.array(self.data.oMi[self.model.njoints - 1].translation)

    def step(self, effort: Floats, dt: float, push: Floats | None = None) -> None:
        """Advance by ``dt`` (s) under ``effort`` of the drives and ``push`` of others, each (n,)."""
        if self.brakes:
            self.qd[:] = 0.0
            return
        n = len(self.q)
        torque = effort - self.bias()
        if push is not None:
            torque = torque + push
        inverse = np.array(np.linalg.inv(self._inertia(self.rotor + dt * self.viscous)))
        loss = self.viscous * self.qd
        unconstrained = self.qd + dt * (inverse @ (torque - loss))
        bound = dt * self.friction
        touching = self._contact(dt)
        if touching is None:
            f = solve_box(inverse, unconstrained, -bound, bound, self._impulse[:n])
            self.qd = unconstrained + inverse @ f
            self._impulse[:n] = f
        else:
            self.qd = self._touch(inverse, unconstrained, bound, touching)
        self.q = self.q + dt * self.qd

    def _contact(self, dt: float) -> tuple[Floats, float, float] | None:
        """Return row, compliance and speed of a contact that has begun, else None.

        Its impulse f = dt (k (depth - dt w) - d w) at the speed w of separation is (speed - w) / compliance.
        """
        if self.wall is None:
            return None
        row, offset, stiffness, damping = self.wall
        depth = offset - float(row @ self.q)
        if depth <= 0.0:
            return None
        give = dt * stiffness + damping
        return row, 1.0 / (dt * give), stiffness * depth / give

    def _touch(
        self, inverse: Floats, unconstrained: Floats, bound: Floats,
        contact: tuple[Floats, float, float],
    ) -> Floats:  # fmt: skip
        """Return the velocity with friction and the contact, whose spring and damper are implicit."""
        row, compliance, speed = contact
        n = len(bound)
        rows = np.vstack((np.eye(n), row))
        delassus = rows @ inverse @ rows.T
        delassus[n, n] += compliance
        free = rows @ unconstrained
        free[n] -= speed
        lower = np.append(-bound, 0.0)
        upper = np.append(bound, np.inf)
        f = solve_box(delassus, free, lower, upper, self._impulse)
        self._impulse = f
        return np.array(unconstrained + inverse @ rows.T @ f)


class CoupledPlant(Plant):
    """Plant whose joints depend on n coordinates: their positions are ``coupling`` (n, n) times ``q``.

    Friction and rotors are those of the joints; masses, torques and the state are those of the coordinates. It has
    neither payload nor brakes nor contact.
    """

    def __init__(
        self, coupling: Floats, urdf: str, q: Floats, friction: ArrayLike = 0.0, viscous: ArrayLike = 0.0,
        rotor: ArrayLike = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(urdf, q, friction, viscous, rotor)
        self._coupling = coupling
        self._uncoupling = np.array(np.linalg.inv(coupling))
        self._tree = Plant(urdf, coupling @ q, friction, viscous, rotor)

    def mass_matrix(self) -> Floats:
        """Return the mass matrix (n, n) with rotors."""
        return np.array(self._coupling.T @ self._tree.mass_matrix() @ self._coupling)

    def bias(self) -> Floats:
        """Return the torque (n,) of gravity and velocities."""
        return np.array(self._coupling.T @ self._tree.bias())

    def gravity(self) -> Floats:
        """Return the torque (n,) that balances gravity."""
        return np.array(self._coupling.T @ self._tree.gravity())

    def energy(self) -> float:
        """Return the kinetic and potential energy (J)."""
        return self._tree.energy()

    def place(self, q: Floats) -> Floats:
        """Return the position (3,) of the last body at ``q`` (n,)."""
        return self._tree.place(self._coupling @ q)

    def step(self, effort: Floats, dt: float, push: Floats | None = None) -> None:
        """Advance by ``dt`` (s) under ``effort`` of the drives and ``push`` of others, each (n,)."""
        torque = effort if push is None else effort + push
        self._tree.step(self._uncoupling.T @ torque, dt)
        self.q = self._uncoupling @ self._tree.q
        self.qd = self._uncoupling @ self._tree.qd
