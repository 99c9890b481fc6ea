"""The robot's dynamics model: what everything else asks for torques, accelerations and matrices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelError
from robot_dynamics_ros.kernels import energy
from robot_dynamics_ros.kernels.compilation import mark_compiled
from robot_dynamics_ros.kernels.composite_body import composite_body
from robot_dynamics_ros.kernels.forward_dynamics import solve_motion
from robot_dynamics_ros.kernels.friction import friction
from robot_dynamics_ros.kernels.newton_euler import newton_euler
from robot_dynamics_ros.kernels.types import Floats
from robot_dynamics_ros.model.assembly import PackedModel, assemble
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, read_dynamics_file
from robot_dynamics_ros.model.urdf import parse_urdf

_NO_WRENCHES: Floats = np.empty((0, 6))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class RobotModel:
    """A robot arm as rigid bodies, rotors and joint friction. It never changes; make it with ``from_urdf``.

    Vectors have shape (n,), in the order of ``joint_names``: radians or metres, and Nm or N. Numbers in
    lists, other float types and non-contiguous arrays are converted. A wrong shape raises RobotDynamicsError.

    Attributes
    ----------
    name
        The robot's name in its URDF.
    packed
        The same robot as flat arrays, for compiled code.
    """

    name: str
    packed: PackedModel

    @classmethod
    def from_urdf_file(
        cls,
        path: str | Path,
        *,
        dynamics: str | Path | None = None,
        gravity: Sequence[float] | None = None,
        joints: Sequence[str] | None = None,
        locked: Mapping[str, float] | None = None,
        strict: bool = False,
    ) -> RobotModel:
        """Load a URDF file; arguments and errors as ``from_urdf``, and RobotModelError if it cannot be read."""
        try:
            text = Path(path).read_bytes()
        except OSError as problem:
            raise RobotModelError(f"{path}: cannot read the URDF: {problem.strerror}. Cure: check the path") from None
        return cls._load(text, str(path), dynamics, gravity, joints, locked, strict)

    @classmethod
    def from_urdf(
        cls,
        text: str | bytes,
        *,
        dynamics: str | Path | None = None,
        gravity: Sequence[float] | None = None,
        joints: Sequence[str] | None = None,
        locked: Mapping[str, float] | None = None,
        strict: bool = False,
    ) -> RobotModel:
        """Make a model of a URDF's text.

        Parameters
        ----------
        text
            The URDF document.
        dynamics
            Path of a dynamics file (YAML): friction, rotors, inertias, payload, gravity.
        gravity
            Acceleration of gravity in the root frame (m/s^2); None: the dynamics file's, else 0 0 -9.81.
        joints
            The joints to control, in the order of every vector; None: every movable joint that is not
            locked, depth first, children in document order.
        locked
            Joints that stand still, and where (rad or m).
        strict
            Refuse inertias that no body can have, instead of warning.

        Raises
        ------
        RobotModelError
            For a URDF or dynamics file that cannot be used; the message names file, element and cure.
        """
        return cls._load(text, "URDF", dynamics, gravity, joints, locked, strict)

    @classmethod
    def _load(
        cls,
        text: str | bytes,
        source: str,
        dynamics: str | Path | None,
        gravity: Sequence[float] | None,
        joints: Sequence[str] | None,
        locked: Mapping[str, float] | None,
        strict: bool,
    ) -> RobotModel:
        description = parse_urdf(text, source, strict=strict)
        extra = DynamicsFile() if dynamics is None else read_dynamics_file(dynamics)
        return cls(description.name, assemble(description, extra, gravity, joints, locked, strict))

    @property
    def n(self) -> int:
        """Number of independent joints."""
        return len(self.packed.joint_names)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints, in the order of every vector."""
        return self.packed.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, the root first."""
        return tuple(self.packed.frames)

    @property
    def gravity(self) -> Floats:
        """Acceleration of gravity (3,) in the root frame, m/s^2."""
        return self.packed.gravity.copy()

    @property
    def position_lower(self) -> Floats:
        """Lower position limits (n,), -inf where there is none."""
        return self.packed.position_lower.copy()

    @property
    def position_upper(self) -> Floats:
        """Upper position limits (n,), inf where there is none."""
        return self.packed.position_upper.copy()

    @property
    def velocity_limits(self) -> Floats:
        """Velocity limits (n,), inf where there is none."""
        return self.packed.velocity_limits.copy()

    @property
    def effort_limits(self) -> Floats:
        """Limits of the joint torque or force (n,), inf where there is none."""
        return self.packed.effort_limits.copy()

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Floats:
        """Torque (n,) of rigid bodies and rotors for a motion, without friction: recursive Newton-Euler.

        ``external_wrenches`` maps a link to the force and moment (6,) that act on it, at its frame's
        origin, in its axes. Craig (6.45)-(6.53); rotors Tsai (9.157).
        """
        p = self.packed
        tau = np.empty(self.n)
        q, qd, qdd = self.vector("q", q), self.vector("qd", qd), self.vector("qdd", qdd)
        newton_euler(p.tree, p.bodies, p.rotors, p.gravity, q, qd, qdd, self.body_wrenches(external_wrenches), tau)
        return tau

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Floats:
        """Acceleration (n,) under joint torque ``tau`` (n,), without friction, Craig (6.115).

        Wrenches as in ``inverse_dynamics``. Raises RobotModelError, naming the joint, where the mass
        matrix is not positive definite: something moves without mass.
        """
        p = self.packed
        self.require_mass()
        qdd = np.empty(self.n)
        q, qd, tau = self.vector("q", q), self.vector("qd", qd), self.vector("tau", tau)
        failed = solve_motion(
            p.tree, p.bodies, p.rotors, p.gravity, q, qd, tau, self.body_wrenches(external_wrenches), qdd
        )
        if failed >= 0:
            raise RobotModelError(
                f'robot "{self.name}": the mass matrix is not positive definite at joint '
                f'"{self.joint_names[failed]}", position {q.tolist()}. Cure: give the links beyond it mass and inertia'
            )
        return qdd

    def mass_matrix(self, q: ArrayLike) -> Floats:
        """Mass matrix M(q) (n, n) with rotors, Craig (6.59), by composite bodies."""
        p = self.packed
        matrix = np.empty((self.n, self.n))
        composite_body(p.tree, p.bodies, p.rotors, self.vector("q", q), matrix)
        return matrix

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Floats:
        """Torque (n,) without acceleration: V(q, qd) + G(q) of Craig (6.59)."""
        return self.inverse_dynamics(q, qd, np.zeros(self.n))

    def gravity_torque(self, q: ArrayLike) -> Floats:
        """Torque (n,) that holds the robot still against gravity: G(q) of Craig (6.59)."""
        return self.inverse_dynamics(q, np.zeros(self.n), np.zeros(self.n))

    def friction_torque(self, q: ArrayLike, qd: ArrayLike) -> Floats:
        """Torque (n,) that friction takes at rate ``qd``; the motor gives inverse_dynamics + friction_torque.

        Coulomb friction counts as 0 at rest, where it is whatever holds the joint. Craig (6.110)-(6.114).
        """
        self.vector("q", q)
        tau = np.empty(self.n)
        friction(self.packed.friction, self.vector("qd", qd), tau)
        return tau

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> float:
        """Kinetic energy (J) of bodies and rotors: 1/2 qd^T M qd, Craig (6.71)."""
        qd = self.vector("qd", qd)
        return float(0.5 * qd @ self.mass_matrix(q) @ qd)

    def potential_energy(self, q: ArrayLike) -> float:
        """Potential energy (J) of the moving bodies: -sum m g . c, with c from the root frame's origin."""
        p = self.packed
        return float(energy.potential_energy(p.tree, p.bodies, p.gravity, self.vector("q", q)))

    def warm_up(self) -> None:
        """Compile, or load from the cache, every kernel of this model; without it the first calls do."""
        rest = np.zeros(self.n)
        self.inverse_dynamics(rest, rest, rest)
        self.mass_matrix(rest)
        self.friction_torque(rest, rest)
        self.potential_energy(rest)
        if not self.packed.massless_ends:
            self.forward_dynamics(rest, rest, rest)
            mark_compiled("model")

    def require_mass(self) -> None:
        """Raise RobotModelError, naming the joints, if some joint moves no mass at all."""
        if self.packed.massless_ends:
            raise RobotModelError(
                f'robot "{self.name}": joints {list(self.packed.massless_ends)} move no mass, so that their '
                "acceleration is undefined. Cure: give their links an inertial, or lock them"
            )

    def vector(self, name: str, value: ArrayLike) -> Floats:
        """Return ``value`` as n numbers (n,) in the kernels' form, the same array where it has that already.

        Raises RobotDynamicsError, calling it ``name``, for anything but n real numbers; they may be infinite.
        """
        n = self.n
        # Contiguous, aligned and writable (carray): for any other kind numba would compile anew.
        if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == (n,) and value.flags.carray:
            return value
        try:
            if np.iscomplexobj(value):
                raise TypeError
            array = np.array(value, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise RobotDynamicsError(
                f"{name}: {value!r} is not an array of {n} numbers. Cure: pass shape ({n},)"
            ) from None
        if np.shape(value) != (n,):
            raise RobotDynamicsError(
                f"{name} has shape {np.shape(value)}, expected ({n},). "
                f"Cure: one value for each of {', '.join(self.joint_names)}"
            )
        return array

    def body_wrenches(self, wrenches: Mapping[str, ArrayLike] | None) -> Floats:
        """Wrenches (6,) on links as wrenches (bodies, 6) on the kernels' bodies; (0, 6) for none.

        Force, then moment, at and in the link's or the body's frame. Raises RobotDynamicsError for an
        unknown link and for values that are not six numbers.
        """
        if not wrenches:
            return _NO_WRENCHES
        total = np.zeros((self.packed.tree.shape[0], 6))
        for link, value in wrenches.items():
            frame = self.packed.frames.get(link)
            if frame is None:
                raise RobotDynamicsError(
                    f'external_wrenches: no link "{link}". Cure: use one of {", ".join(self.link_names)}'
                )
            try:
                wrench = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                raise RobotDynamicsError(
                    f'external_wrenches: link "{link}": {value!r} is not 6 numbers. Cure: force, then moment'
                ) from None
            if wrench.shape != (6,):
                raise RobotDynamicsError(
                    f'external_wrenches: link "{link}": shape {wrench.shape}, expected (6,). Cure: force, then moment'
                )
            if frame.body >= 0:
                force = frame.rotation @ wrench[:3]
                total[frame.body, :3] += force
                total[frame.body, 3:] += frame.rotation @ wrench[3:] + np.cross(frame.position, force)
        return total

    def __repr__(self) -> str:
        return f"RobotModel({self.name!r}, {self.n} joints: {', '.join(self.joint_names)})"
