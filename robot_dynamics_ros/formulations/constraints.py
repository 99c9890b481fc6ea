"""Constrained motion with Lagrange multipliers: LaValle (13.170)-(13.184), Lagrange's first type of Tsai 9.8.1.

G(q) qd = 0 and M qdd + C qd + g = u + G^T lambda, the sign of LaValle (13.173): lambda are the forces that act
in the directions in which G measures rates. (13.179) has -lambda, and a G that is (k, n), not (n, k) as printed there.

Closed kinematic chains are trees whose loops are cut, and closed again by constraints, LaValle (13.171). A loop holds a
point of link a at a point of link b, as a ball joint does. Its three multipliers are the force (N, root axes) that link
a exerts on link b there, in the order in which ``RobotModel.joint_reactions`` has parent and child.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.propagation import cross_matrix
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.robot_model import Wrenches

NEGLIGIBLE = 1e-5
"""Share of the largest of its kind below which a number counts as zero: 1.5708 for pi / 2 does not tilt a planar
mechanism's joints out of its plane."""

_ROUNDING = 1e-9  # in the constraints' rates and accelerations
_ITERATIONS = 100
_CORRECTIONS = 4  # of positions after a step, at most
_SETTLED = 1e-13  # m or rad
_OPEN = 1e-5  # m


@dataclass(frozen=True, eq=False)
class Constraints:
    """k constraints G(q) qd = 0 at one state.

    Attributes
    ----------
    jacobian
        G (k, n).
    drift
        dG/dt qd (k,): G qdd + drift = 0.
    error
        (k,): phi(q), where G = dphi/dq as in LaValle (13.171); zeros for constraints on rates alone.
    """

    jacobian: Array
    drift: Array
    error: Array


ConstraintFunction = Callable[[Array, Array], Constraints]
"""The constraints at q, qd, each (n,)."""


@dataclass(frozen=True, eq=False)
class ConstrainedAcceleration:
    """Solution of constrained forward dynamics.

    Attributes
    ----------
    qdd
        (n,).
    multipliers
        lambda (k,), the constraint forces; G^T lambda is their torque.
    rank
        Number of independent constraints. Where fewer than k, lambda is the smallest of those with the same
        G^T lambda: motion and torque are unique, but the shares of the single constraints are not.
    unmet
        (k,): the residual of G qdd. Not zero only where dependent constraints contradict each other.
    """

    qdd: Array
    multipliers: Array
    rank: int
    unmet: Array


def constrained_forward_dynamics(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    constraints: Constraints,
    *,
    stabilisation: float = 0.0,
    external_wrenches: Wrenches | None = None,
) -> ConstrainedAcceleration:
    """Acceleration under torque ``tau`` (n,) and the constraints, LaValle (13.180) and (13.184).

    [M -G^T; G 0] [qdd; lambda] = [u - C qd - g; -dG/dt qd - 2 a G qd - a^2 phi], with a = ``stabilisation`` (1/s):
    errors die out as exp(-a t), Baumgarte 1972. The print lacks g and dG/dt qd. Without friction, as
    ``model.forward_dynamics``, whose wrenches and errors it has.
    """
    rate, a = model.vector("qd", qd), stabilisation
    free = model.forward_dynamics(q, rate, tau, external_wrenches)
    required = -constraints.drift - 2.0 * a * constraints.jacobian @ rate - a * a * constraints.error
    lacking = required - constraints.jacobian @ free
    change, multipliers, rank = least_change(model.mass_matrix(q), constraints.jacobian, lacking)
    return ConstrainedAcceleration(free + change, multipliers, rank, lacking - constraints.jacobian @ change)


def least_change(mass: Array, jacobian: Array, required: Array) -> tuple[Array, Array, int]:
    """Return x = M^-1 G^T lambda (n,) with G x = ``required`` (k,), the smallest such lambda (k,), and the rank of G.

    x has the least x^T M x: Gauss's principle of least constraint for accelerations, an impact for velocities.
    With M = L L^T, G M^-1 G^T = A A^T for A = G L^-T, by whose singular values dependent constraints are seen.
    """
    lower = np.linalg.cholesky(mass)
    left, values, right = np.linalg.svd(np.linalg.solve(lower, jacobian.T).T, full_matrices=False)
    rank = _rank(values)
    part = (left[:, :rank].T @ required) / values[:rank]
    return np.linalg.solve(lower.T, right[:rank].T @ part), left[:, :rank] @ (part / values[:rank]), rank


def consistent_velocity(model: RobotModel, q: ArrayLike, qd: ArrayLike, constraints: Constraints) -> Array:
    """The velocity (n,) with G qd = 0 after the impact that stops what breaks the constraints: least kinetic energy."""
    rate = model.vector("qd", qd)
    return rate + least_change(model.mass_matrix(q), constraints.jacobian, -constraints.jacobian @ rate)[0]


def constrained_inverse_dynamics(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    constraints: Constraints,
    driven: Sequence[str],
    external_wrenches: Wrenches | None = None,
) -> tuple[Array, Array]:
    """Torque of the ``driven`` joints, in their order, and multipliers (k,) for a motion that keeps the constraints.

    M qdd + C qd + g = S^T tau + G^T lambda. With the motions Z that G lets through, G Z = 0, the multipliers drop out:
    Z^T S^T tau = Z^T (M qdd + C qd + g). More driven joints than degrees of freedom share with the least torque.

    Raises RobotDynamicsError for a motion that breaks a constraint, naming which, for unknown joints, and where the
    driven ones do not hold the mechanism.
    """
    chosen = joint_indices(model, driven)
    _require_consistent(constraints, model.vector("qd", qd), model.vector("qdd", qdd))
    total = model.inverse_dynamics(q, qd, qdd, external_wrenches)
    left, values, right = np.linalg.svd(constraints.jacobian)
    rank = _rank(values)
    allowed = right[rank:].T
    loose = allowed.shape[1] - np.linalg.matrix_rank(allowed[chosen], NEGLIGIBLE) if allowed.size else 0
    if loose:
        raise RobotDynamicsError(
            f"{list(driven)} leave {loose} of the mechanism's {allowed.shape[1]} degrees of freedom without a drive. "
            f"Cure: drive {allowed.shape[1]} independent joints of {', '.join(model.joint_names)}"
        )
    tau = np.linalg.pinv(allowed[chosen].T) @ (allowed.T @ total) if allowed.size else np.zeros(len(chosen))
    total = total.copy()
    np.subtract.at(total, chosen, tau)
    return tau, left[:, :rank] @ ((right[:rank] @ total) / values[:rank])


def driven_motion(
    model: RobotModel,
    constraints: ConstraintFunction,
    q: ArrayLike,
    driven: Sequence[str],
    qd: ArrayLike,
    qdd: ArrayLike,
) -> tuple[Array, Array]:
    """Velocity and acceleration (n,) of all joints from those of the ``driven`` ones, at a q that is consistent.

    The others solve G qd = 0 and G qdd + dG/dt qd = 0. Raises RobotDynamicsError for unknown joints, where the driven
    ones do not determine the others (too few, or a singular position), or move against each other.
    """
    position, chosen = model.vector("q", q), joint_indices(model, driven)
    others = np.setdiff1d(np.arange(model.n), chosen)
    rates, accelerations = np.zeros(model.n), np.zeros(model.n)
    rates[chosen], accelerations[chosen] = qd, qdd
    jacobian = constraints(position, rates).jacobian
    undriven = jacobian[:, others]
    if _rank(np.linalg.svd(undriven, compute_uv=False)) < len(others):
        raise RobotDynamicsError(
            f"{list(driven)} do not determine the motion of {[model.joint_names[k] for k in others]} at "
            f"q = {position.tolist()}. Cure: drive more joints, or leave the singular position"
        )
    inverse = np.linalg.pinv(undriven, NEGLIGIBLE)
    rates[others] = -inverse @ (jacobian @ rates)
    drift = constraints(position, rates).drift
    accelerations[others] = -inverse @ (jacobian @ accelerations + drift)
    _require_consistent(Constraints(jacobian, drift, np.zeros(len(drift))), rates, accelerations)
    return rates, accelerations


def _rank(singular_values: ArrayLike) -> int:
    values = np.asarray(singular_values)
    return int(np.sum(values > NEGLIGIBLE * np.max(values, initial=0.0)))


def _require_consistent(constraints: Constraints, qd: Array, qdd: Array) -> None:
    g = constraints.jacobian
    for what, left, size in (
        ("velocity", g @ qd, np.abs(g) @ np.abs(qd)),
        ("acceleration", g @ qdd + constraints.drift, np.abs(g) @ np.abs(qdd) + np.abs(constraints.drift)),
    ):
        broken = np.flatnonzero(np.abs(left) > NEGLIGIBLE * np.max(size, initial=0.0) + _ROUNDING)
        if broken.size:
            raise RobotDynamicsError(
                f"the {what} breaks the constraints {broken.tolist()} by {left[broken].tolist()}. "
                "Cure: complete the motion of the driven joints with driven_motion"
            )


def joint_indices(model: RobotModel, names: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of the named joints in the model's vectors; RobotDynamicsError for an unknown or repeated name."""
    for name in names:
        if name not in model.joint_names:
            raise RobotDynamicsError(f'no joint "{name}". Cure: use some of {", ".join(model.joint_names)}')
        if list(names).count(name) > 1:
            raise RobotDynamicsError(f'joint "{name}" is named twice. Cure: name each driven joint once')
    return np.array([model.joint_names.index(name) for name in names], dtype=np.int64)


def loop_constraints(model: RobotModel, q: ArrayLike, qd: ArrayLike) -> Constraints:
    """Three constraints a loop of the model, phi = p_b - p_a in root axes (m).

    A point at r from its link's origin has the Jacobian J_v - [r]x J_w, and while qdd = 0 the acceleration
    a + alpha x r + w x (w x r), Craig (6.12). RobotDynamicsError for a model without loops.
    """
    if not model.loops:
        raise RobotDynamicsError(f'robot "{model.name}" has no loops. Cure: name them in its dynamics file')
    ends = [
        [_point(model, q, qd, loop.link_a, loop.point_a), _point(model, q, qd, loop.link_b, loop.point_b)]
        for loop in model.loops
    ]
    position, jacobian, drift = (np.concatenate([b[part] - a[part] for a, b in ends]) for part in range(3))
    return Constraints(jacobian, drift, position)


def loops_of(model: RobotModel) -> ConstraintFunction:
    """The loops' constraints as a function of q and qd."""
    return partial(loop_constraints, model)


def loop_forces(multipliers: ArrayLike) -> Array:
    """Forces (..., loops, 3) that link a exerts on link b of each loop, N, root axes, from multipliers (..., k)."""
    values = np.asarray(multipliers, dtype=np.float64)
    return values.reshape(*values.shape[:-1], -1, 3)


def close_loops(model: RobotModel, q: ArrayLike, *, held: Sequence[str] = (), tolerance: float = 1e-12) -> Array:
    """Positions (n,) near the guess ``q`` where every loop's points are together within ``tolerance`` (m).

    Gauss-Newton with the smallest steps, halved while the gap does not shrink; joints in ``held`` stay. Limits are
    ignored. RobotDynamicsError, naming the widest loop, where it finds none.
    """
    position = model.vector("q", q).copy()
    moved = np.setdiff1d(np.arange(model.n), joint_indices(model, held))
    rest = np.zeros(model.n)
    now = loop_constraints(model, position, rest)
    for _ in range(_ITERATIONS):
        if _largest(now.error) <= tolerance:
            return position
        step = np.zeros(model.n)
        step[moved] = np.linalg.lstsq(now.jacobian[:, moved], -now.error, rcond=NEGLIGIBLE)[0]
        part = 1.0
        trial = loop_constraints(model, position + step, rest)
        while np.linalg.norm(trial.error) >= np.linalg.norm(now.error) and part > 1e-6:
            part /= 2.0
            trial = loop_constraints(model, position + part * step, rest)
        if part <= 1e-6:
            break
        position, now = position + part * step, trial
    gaps = np.linalg.norm(loop_forces(now.error), axis=1)
    widest = model.loops[int(np.argmax(gaps))]
    raise RobotDynamicsError(
        f'the loop between "{widest.link_a}" and "{widest.link_b}" stays open by {np.max(gaps):.3g} m. '
        "Cure: start from a guess that is nearer, hold fewer joints, check the points, or allow this gap as tolerance"
    )


@dataclass(frozen=True, eq=False)
class ConstrainedRun:
    """A motion over time: one row for each of the ``times`` (s).

    Attributes
    ----------
    q, qd, qdd
        (times, n).
    multipliers
        (times, k): the constraint forces.
    drift, error
        (times,): the largest |phi| after the step alone, and after its projection back to the constraints.
    """

    times: Array
    q: Array
    qd: Array
    qdd: Array
    multipliers: Array
    drift: Array
    error: Array


def run_constrained(
    model: RobotModel,
    constraints: ConstraintFunction,
    q: ArrayLike,
    qd: ArrayLike,
    torque: Callable[[float, Array, Array], ArrayLike],
    duration: float,
    step: float = 1e-3,
) -> ConstrainedRun:
    """Motion from q, qd under ``torque(t, q, qd)`` (n,), without friction but for what that function has.

    Runge-Kutta of fourth order with steps of at most ``step`` (s); each is followed by the smallest change, measured
    by kinetic energy, that takes positions and then velocities back to the constraints, so that neither drifts.
    The start's velocity is made to keep the constraints. For loops, give ``loops_of(model)``; ``loop_forces`` of the
    multipliers are their forces. RobotDynamicsError for a start that breaks the constraints: see ``close_loops``.
    """
    count = max(1, round(np.ceil(duration / step * (1.0 - 1e-12))))
    h = duration / count

    def acceleration(t: float, x: Array, v: Array) -> ConstrainedAcceleration:
        return constrained_forward_dynamics(model, x, v, torque(t, x, v), constraints(x, v))

    position, velocity = model.vector("q", q), model.vector("qd", qd)
    now = constraints(position, velocity)
    first = _largest(now.error)
    if first > _OPEN:
        raise RobotDynamicsError(f"the start breaks the constraints by {first:.3g}. Cure: start from close_loops")
    velocity = consistent_velocity(model, position, velocity, now)
    rows = [(position, velocity, acceleration(0.0, position, velocity), first, first)]
    for k in range(count):
        t, x, v, a1 = k * h, position, velocity, rows[-1][2].qdd
        v2 = v + h / 2 * a1
        a2 = acceleration(t + h / 2, x + h / 2 * v, v2).qdd
        v3 = v + h / 2 * a2
        a3 = acceleration(t + h / 2, x + h / 2 * v2, v3).qdd
        v4 = v + h * a3
        a4 = acceleration(t + h, x + h * v3, v4).qdd
        position = x + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
        velocity = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        now = constraints(position, velocity)
        drift = _largest(now.error)
        for _ in range(_CORRECTIONS):
            change = least_change(model.mass_matrix(position), now.jacobian, -now.error)[0]
            position = position + change
            now = constraints(position, velocity)
            if _largest(change) <= _SETTLED:
                break
        velocity = consistent_velocity(model, position, velocity, now)
        rows.append((position, velocity, acceleration(t + h, position, velocity), drift, _largest(now.error)))
    positions, velocities, solutions, *gaps = zip(*rows, strict=True)
    qdd, multipliers = zip(*((solution.qdd, solution.multipliers) for solution in solutions), strict=True)
    columns = (np.array(column) for column in (positions, velocities, qdd, multipliers, *gaps))
    return ConstrainedRun(np.arange(count + 1) * h, *columns)


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _point(model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str, point: ArrayLike) -> tuple[Array, Array, Array]:
    """Position (3,), Jacobian (3, n) and, while qdd = 0, acceleration (3,) of a link's point, root axes."""
    pose, jacobian, bias = model.link_pose(q, link), model.jacobian(q, link), model.jacobian_dot_qd(q, qd, link)
    r = pose[:3, :3] @ np.asarray(point, dtype=np.float64)
    w = jacobian[3:] @ model.vector("qd", qd)
    acceleration = bias[:3] + cross_matrix(bias[3:]) @ r + cross_matrix(w) @ cross_matrix(w) @ r
    return pose[:3, 3] + r, jacobian[:3] - cross_matrix(r) @ jacobian[3:], acceleration
