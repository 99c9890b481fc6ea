"""Constrained motion with Lagrange multipliers: LaValle (13.165)-(13.184), Tsai 9.8.1.

k constraints are G(q) qd = f, G (k, n), with f = 0 except for driven constraints, LaValle (13.165). With the sign of
LaValle (13.173), M qdd + C qd + g = u + G^T lambda, with the torque u = tau: the multipliers lambda are the forces
along the directions in which G measures velocities. LaValle (13.179) has -lambda and G as (n, k). Tsai calls these
Lagrange's equations of the first type. q is in rad or m.

A closed kinematic chain is a tree whose loops are cut and then closed by constraints, LaValle (13.171). A loop holds a
point of link a at a point of link b, like a ball joint. Its three multipliers are the force (N, root axes) of link a on
link b at this point. ``RobotModel.joint_reactions`` has the same order of parent and child.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.arguments import Wrenches
from robot_dynamics_ros.dynamics.model.loops import (
    NEGLIGIBLE,
    Constraints,
    joint_indices,
    largest_magnitude,
    loop_constraints,
)
from robot_dynamics_ros.textbooks import thresholds

ConstraintFunction = Callable[[Array, Array], Constraints]
"""Function (q, qd) -> Constraints, for vectors (n,)."""


class ConstrainedAcceleration(NamedTuple):
    """Solution of constrained forward dynamics.

    Attributes
    ----------
    qdd
        Acceleration (n,).
    multipliers
        Constraint forces lambda (k,); their joint torque is G^T lambda.
    rank
        Number of independent constraints. If it is below k, lambda has the least norm of all solutions with the
        same G^T lambda. Acceleration and torque are unique, but the single multipliers are not.
    unmet
        Required less actual G qdd (k,). It is nonzero only if dependent constraints contradict each other.
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
    """Return acceleration and multipliers under a torque, LaValle (13.180) and (13.184), without friction.

    It solves [M -G^T; G 0] [qdd; lambda] = [u - C qd - g; -drift - 2 a (G qd - f) - a^2 phi] with a =
    ``stabilisation`` and drift = dG/dt qd - df/dt. The print lacks g and the drift.

    Parameters
    ----------
    model
        The robot.
    q, qd, tau
        Position, velocity and torque (n,).
    constraints
        Constraints at this state.
    stabilisation
        Rate a (1/s) at which constraint errors decay as exp(-a t), Baumgarte 1972.
    external_wrenches
        Force (N), moment (Nm), (6,), on links, by link name, at the origin and in the axes of the link's frame.

    Raises
    ------
    RobotDynamicsError
        For vectors of a wrong shape, an unknown link, and a joint that moves no inertia (RobotModelError).
    """
    rate = model.vector("qd", qd)
    a = stabilisation
    free = model.forward_dynamics(q, rate, tau, external_wrenches)
    excess = constraints.jacobian @ rate - constraints.rate
    required = -constraints.drift - 2.0 * a * excess - a * a * constraints.error
    lacking = required - constraints.jacobian @ free
    change, multipliers, rank = least_change(
        model.mass_matrix(q), constraints.jacobian, lacking
    )
    return ConstrainedAcceleration(
        free + change, multipliers, rank, lacking - constraints.jacobian @ change
    )


def least_change(
    mass: Array, jacobian: Array, required: Array
) -> tuple[Array, Array, int]:
    """Return the solution x = M^-1 G^T lambda of G x = ``required`` that minimises x^T M x.

    For accelerations this is Gauss's principle of least constraint, for velocities an inelastic impact. With M = L L^T,
    G M^-1 G^T = A A^T for A = G L^-T. The singular values of A identify dependent constraints.

    Parameters
    ----------
    mass
        M (n, n), positive definite.
    jacobian
        G (k, n).
    required
        Values (k,) of G x; those of dependent constraints that contradict are met in the sense of least squares.

    Returns
    -------
    x, lambda, rank
        (n,), (k,) of least norm, and the rank of G.
    """
    lower = np.linalg.cholesky(mass)
    left, values, right = np.linalg.svd(
        np.linalg.solve(lower, jacobian.T).T, full_matrices=False
    )
    rank = _rank(values)
    part = (left[:, :rank].T @ required) / values[:rank]
    return (
        np.linalg.solve(lower.T, right[:rank].T @ part),
        left[:, :rank] @ (part / values[:rank]),
        rank,
    )


def consistent_velocity(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, constraints: Constraints
) -> Array:
    """Return the velocity (n,) after an inelastic impact that stops the components violating the constraints.

    Of all velocities with G qd = f it is closest to ``qd`` (n,) in kinetic energy; ``constraints`` are at ``q`` (n,).
    Raises RobotDynamicsError for vectors of a wrong shape.
    """
    rate = model.vector("qd", qd)
    lacking = constraints.rate - constraints.jacobian @ rate
    return rate + least_change(model.mass_matrix(q), constraints.jacobian, lacking)[0]


def constrained_inverse_dynamics(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    constraints: Constraints,
    driven: Sequence[str],
    external_wrenches: Wrenches | None = None,
) -> tuple[Array, Array]:
    """Return the torque of the driven joints and the multipliers for a motion that satisfies the constraints.

    M qdd + C qd + g = S^T tau + G^T lambda, S selects the driven joints. With a basis Z of the null space of G, G Z =
    0, the multipliers vanish: Z^T S^T tau = Z^T (M qdd + C qd + g). If more joints are driven than there are degrees of
    freedom, the torque has the least norm.

    Parameters
    ----------
    model
        The robot.
    q, qd, qdd
        Position, velocity and acceleration (n,).
    constraints
        Constraints at this state.
    driven
        Names of the driven joints.
    external_wrenches
        Force (N), moment (Nm), (6,), on links, by link name, at the origin and in the axes of the link's frame.

    Returns
    -------
    tau, multipliers
        Torque of the driven joints in their order, Nm or N, and lambda (k,).

    Raises
    ------
    RobotDynamicsError
        For vectors of a wrong shape, a motion that violates a constraint, unknown joints and links, and if the driven
        joints do not determine the mechanism.
    """
    chosen = joint_indices(model, driven)
    _require_consistent(constraints, model.vector("qd", qd), model.vector("qdd", qdd))
    total = model.inverse_dynamics(q, qd, qdd, external_wrenches)
    left, values, right = np.linalg.svd(constraints.jacobian)
    rank = _rank(values)
    allowed = right[rank:].T
    loose = (
        allowed.shape[1] - np.linalg.matrix_rank(allowed[chosen], NEGLIGIBLE)
        if allowed.size
        else 0
    )
    if loose:
        raise RobotDynamicsError(
            f"driven joints {list(driven)} leave {loose} of {allowed.shape[1]} degrees of freedom undriven. "
            f"Cure: drive {allowed.shape[1]} independent joints of {', '.join(model.joint_names)}"
        )
    tau = (
        np.linalg.pinv(allowed[chosen].T) @ (allowed.T @ total)
        if allowed.size
        else np.zeros(len(chosen))
    )
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
    """Return velocity and acceleration (n,) of all joints from those of the driven joints.

    The other joints solve G qd = f and G qdd + dG/dt qd = df/dt.

    Parameters
    ----------
    model
        The robot.
    constraints
        Function of q and qd, (n,) each, that returns the Constraints, such as ``loops_of(model)``.
    q
        Position (n,) that satisfies the constraints.
    driven
        Names of the driven joints.
    qd, qdd
        Velocities and accelerations of the driven joints, in their order, rad/s or m/s and rad/s^2 or m/s^2.

    Raises
    ------
    RobotDynamicsError
        For unknown joints, if the driven joints do not determine the others, because they are too few or the
        position is singular, and if their motions contradict each other.
    """
    position = model.vector("q", q)
    chosen = joint_indices(model, driven)
    others = np.setdiff1d(np.arange(model.n), chosen)
    rates = np.zeros(model.n)
    accelerations = np.zeros(model.n)
    rates[chosen] = qd
    accelerations[chosen] = qdd
    now = constraints(position, rates)
    jacobian = now.jacobian
    undriven = jacobian[:, others]
    if _rank(np.linalg.svd(undriven, compute_uv=False)) < len(others):
        raise RobotDynamicsError(
            f"driven joints {list(driven)} do not determine the motion of {[model.joint_names[k] for k in others]} at "
            f"q = {position.tolist()}. Cure: drive more joints, or choose a position that is not singular"
        )
    inverse = np.linalg.pinv(undriven, NEGLIGIBLE)
    rates[others] = inverse @ (now.rate - jacobian @ rates)
    drift = constraints(position, rates).drift
    accelerations[others] = -inverse @ (jacobian @ accelerations + drift)
    _require_consistent(replace(now, drift=drift), rates, accelerations)
    return rates, accelerations


def _rank(singular_values: ArrayLike) -> int:
    values = np.asarray(singular_values)
    return int(np.sum(values > NEGLIGIBLE * np.max(values, initial=0.0)))


def _require_consistent(constraints: Constraints, qd: Array, qdd: Array) -> None:
    cure = "complete the motion of the driven joints with driven_motion"
    _require_equal("velocity", constraints.jacobian, qd, constraints.rate, cure)
    _require_equal("acceleration", constraints.jacobian, qdd, -constraints.drift, cure)


def _require_equal(
    quantity: str, g: Array, motion: Array, required: Array | float, cure: str
) -> None:
    residual = g @ motion - required
    size = np.abs(g) @ np.abs(motion) + np.abs(required)
    violated = np.flatnonzero(
        np.abs(residual)
        > NEGLIGIBLE * np.max(size, initial=0.0) + thresholds.CONSTRAINT_ROUNDING
    )
    if violated.size:
        raise RobotDynamicsError(
            f"the {quantity} violates the constraints {violated.tolist()} by {residual[violated].tolist()}. "
            f"Cure: {cure}"
        )


def loops_of(model: RobotModel) -> ConstraintFunction:
    """Return ``loop_constraints`` of the model as a function (q, qd), for ``driven_motion`` and ``run_constrained``."""
    return partial(loop_constraints, model)


class ConstrainedRun(NamedTuple):
    """Constrained motion over time, with one row for each time.

    Attributes
    ----------
    times
        Times from 0 to the duration, s.
    q, qd, qdd
        Position, velocity and acceleration (times, n).
    multipliers
        Constraint forces (times, k).
    drift
        (times,): largest element of |phi| after the integration step; the initial one at time 0.
    error
        (times,): largest element of |phi| after the projection to the constraints.
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
    """Integrate the motion of a constrained robot.

    The method is Runge-Kutta of fourth order. After each step, positions and then velocities are projected to the
    constraints by the change of least kinetic energy, so that neither drifts.

    Parameters
    ----------
    model
        The robot.
    constraints
        Function of q and qd, (n,) each, that returns the Constraints; for loops, ``loops_of(model)``.
    q, qd
        Initial position and velocity (n,).
    torque
        Function ``torque(t, q, qd)`` of time (s from the start) and state that returns the torque (n,) less friction.
    duration
        Duration, s.
    step
        Largest length of a step, s.

    Returns
    -------
    ConstrainedRun
        The motion. For loops, ``loop_forces`` converts its multipliers.

    Raises
    ------
    RobotDynamicsError
        If the initial position or velocity violates the constraints (``close_loops`` and ``consistent_velocity``
        compute those that do not). A velocity with a relative violation below 1e-5 is projected to them. Also for
        vectors of a wrong shape, and for a joint that moves no inertia (RobotModelError).
    """
    count = max(1, round(np.ceil(duration / step * (1.0 - 1e-12))))
    h = duration / count

    def acceleration(t: float, x: Array, v: Array) -> ConstrainedAcceleration:
        return constrained_forward_dynamics(
            model, x, v, torque(t, x, v), constraints(x, v)
        )

    def rate(t: float, change: Array) -> Array:
        """Return velocity and acceleration (2, n) after a change of position and velocity."""
        x = position + change[0]
        v = velocity + change[1]
        return np.array([v, acceleration(t, x, v).qdd])

    position = model.vector("q", q)
    velocity = model.vector("qd", qd)
    now = constraints(position, velocity)
    first = largest_magnitude(now.error)
    if first > thresholds.OPEN_CONSTRAINT:
        raise RobotDynamicsError(
            f"the initial position violates the constraints by {first:.3g}. Cure: give one that satisfies them; for "
            "loops, close_loops computes it"
        )
    _require_equal(
        "initial velocity",
        now.jacobian,
        velocity,
        now.rate,
        "compute it with consistent_velocity",
    )
    velocity = consistent_velocity(model, position, velocity, now)
    rows = [(position, velocity, acceleration(0.0, position, velocity), first, first)]
    for k in range(count):
        t = k * h
        k1 = np.array([velocity, rows[-1][2].qdd])
        k2 = rate(t + h / 2, h / 2 * k1)
        k3 = rate(t + h / 2, h / 2 * k2)
        k4 = rate(t + h, h * k3)
        mean = (k1 + 2 * k2 + 2 * k3 + k4) / 6
        position = position + h * mean[0]
        velocity = velocity + h * mean[1]
        now = constraints(position, velocity)
        drift = largest_magnitude(now.error)
        for _ in range(thresholds.PROJECTIONS):
            change = least_change(
                model.mass_matrix(position), now.jacobian, -now.error
            )[0]
            position = position + change
            now = constraints(position, velocity)
            if largest_magnitude(change) <= thresholds.PROJECTION_CONVERGED:
                break
        velocity = consistent_velocity(model, position, velocity, now)
        rows.append(
            (
                position,
                velocity,
                acceleration(t + h, position, velocity),
                drift,
                largest_magnitude(now.error),
            )
        )
    positions, velocities, solutions, *gaps = zip(*rows, strict=True)
    qdd, multipliers = zip(
        *((solution.qdd, solution.multipliers) for solution in solutions), strict=True
    )
    columns = (
        np.array(column) for column in (positions, velocities, qdd, multipliers, *gaps)
    )
    return ConstrainedRun(np.arange(count + 1) * h, *columns)
