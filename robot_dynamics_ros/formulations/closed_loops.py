"""Closed kinematic chains as a tree whose loops are cut, and closed again by constraints: LaValle (13.171).

A loop holds a point of link a at a point of link b, as a ball joint does. Its three multipliers are the force (N, root
axes) that link a exerts on link b there, in the order in which ``RobotModel.joint_reactions`` has parent and child.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.constraints import (
    NEGLIGIBLE,
    ConstrainedAcceleration,
    ConstraintFunction,
    Constraints,
    consistent_velocity,
    constrained_forward_dynamics,
    joint_indices,
    least_change,
)
from robot_dynamics_ros.formulations.propagation import cross_matrix
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_ITERATIONS = 100
_CORRECTIONS = 4  # of positions after a step, at most
_SETTLED = 1e-13  # m or rad
_OPEN = 1e-5  # m


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
