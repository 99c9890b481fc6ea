"""Gravity against the effort limits, and the condition of the mass matrix: at one state, and over the joints' range."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.cli.inspect_facts import Condition, PoseFacts, RangeFacts, Vector, WorstGravity
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

SAMPLES = 2000
SEED = 0
UNLIMITED = (np.pi, 1.0)
"""How far to either side joints without position limits are moved: rad where they turn, m where they slide."""

_GRID = 73  # steps of 5 degrees in a whole turn: a cosine's top is met to 0.1 %
_SWEEPS = 2
_SINGULAR = 1e15
_ROUNDING = 1e-12  # of the largest torque of all joints


def at_pose(model: RobotModel, q: Array) -> PoseFacts:
    """Return what holds at positions q (n,), rad or m."""
    matrix, torque = model.mass_matrix(q), model.gravity_torque(q)
    return PoseFacts(
        positions(q),
        positions(torque),
        tuple(map(_percent, torque, model.effort_limits)),
        tuple(map(positions, matrix)),
        or_none(float(_condition(matrix))),
    )


def over_range(model: RobotModel) -> RangeFacts:
    """Search the range of the joints; joints without position limits by UNLIMITED."""
    reach = np.array([UNLIMITED[name in model.prismatic_joints] for name in model.joint_names])
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -reach)
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, reach)
    q = np.random.default_rng(SEED).uniform(lower, upper, (SAMPLES, model.n))
    condition = _condition(model.mass_matrix(q))
    where, torque = _worst_gravity(model, lower, upper, q)
    least, median, most = (or_none(float(value)) for value in (condition.min(), np.median(condition), condition.max()))
    columns = (model.joint_names, torque, model.effort_limits, where)
    return RangeFacts(
        SAMPLES,
        SEED,
        positions(lower),
        positions(upper),
        tuple(
            WorstGravity(name, float(worst), _percent(worst, limit), positions(at))
            for name, worst, limit, at in zip(*columns, strict=True)
        ),
        Condition(least, median, most, positions(q[int(condition.argmax())])),
    )


def _worst_gravity(model: RobotModel, lower: Array, upper: Array, q: Array) -> tuple[Array, Array]:
    """For each joint a row of positions (n, n) where gravity asks most of it, and the torque (n,).

    The best of the samples q (samples, n), made better one coordinate after the other: with a few thousand samples
    of many joints none is near the worst.
    """
    each = np.arange(model.n)
    torques = model.gravity_torque(q)
    best = np.abs(torques).argmax(axis=0)
    where, torque = q[best], torques[best, each]
    for i in np.tile(each, _SWEEPS):
        tried = np.repeat(where[:, None, :], _GRID, axis=1)
        tried[:, :, i] = np.linspace(lower[i], upper[i], _GRID)
        torques = model.gravity_torque(tried)[each, :, each]
        best = np.abs(torques).argmax(axis=1)
        better = np.abs(torques[each, best]) > np.abs(torque)
        where[better] = tried[each, best][better]
        torque = np.where(better, torques[each, best], torque)
    noise = _ROUNDING * np.abs(torque).max(initial=0.0)
    return where, np.where(np.abs(torque) > noise, torque, 0.0)


def _condition(matrix: Array) -> Array:
    """Ratio of the largest to the smallest eigenvalue of mass matrices (..., n, n); inf where one is singular."""
    values = np.linalg.eigvalsh(matrix)
    least, largest = values[..., 0], values[..., -1]
    singular = least * _SINGULAR <= largest
    return np.asarray(np.where(singular, np.inf, largest / np.where(singular, 1.0, least)))


def _percent(torque: float, limit: float) -> float | None:
    return None if not np.isfinite(limit) else 100.0 * abs(float(torque)) / float(limit)


def or_none(value: float) -> float | None:
    """Return a number as JSON has it: None for what is not finite."""
    return float(value) if np.isfinite(value) else None


def positions(values: Array) -> Vector:
    """Return an array (k,) as plain numbers."""
    return tuple(np.asarray(values).tolist())
