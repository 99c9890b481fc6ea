"""Validation of the points of a JointTrajectory message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import (
    JointNamesError,
    TrajectoryError,
    did_you_mean,
)
from robot_dynamics_ros.base.joint_messages import FIELDS, TrajectoryPoints
from robot_dynamics_ros.control.thresholds import LARGEST_MAGNITUDE
from robot_dynamics_ros.dynamics.kernels.types import Array

# final velocities up to this count as zero, as in joint_trajectory_controller
_REST = float(np.finfo(np.float32).eps)


def joint_columns(
    named: Sequence[str], joint_names: Sequence[str], allow_partial: bool
) -> list[int]:
    """Return for each name in ``named``, the joints of a trajectory, its index in ``joint_names``.

    Raises JointNamesError if ``named`` is empty and, naming the joint, for unknown, repeated and, unless
    ``allow_partial``, missing joints.
    """
    places = {name: i for i, name in enumerate(joint_names)}
    if not named:
        raise JointNamesError(
            "the trajectory has no joint names. Cure: fill joint_names"
        )
    for i, name in enumerate(named):
        if name not in places:
            raise JointNamesError(
                f"joint '{name}' is not controlled here. Cure: use the joints {', '.join(joint_names)}"
                + did_you_mean(name, joint_names)
            )
        if name in named[:i]:
            raise JointNamesError(
                f"joint '{name}' is named twice. Cure: name each joint once"
            )
    missing = [name for name in joint_names if name not in named]
    if missing and not allow_partial:
        raise JointNamesError(
            f"joint '{missing[0]}' is missing from the trajectory. Cure: name all joints; or allow partial goals "
            "(allow_partial_joints_goal); or, if something else controls this joint, such as a gripper's controller, "
            "list only the arm's joints in the parameter joints (the others are locked, see the parameter locked)"
        )
    return [places[name] for name in named]


def as_array(name: str, values: Any) -> Array:
    """Return ``values`` as an array; TrajectoryError, with the ``name`` of the values, unless they are numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"{name} is {values!r}. Cure: give numbers") from error


def checked_times(values: Any) -> Array:
    """Return ``values`` as times (m,), s; TrajectoryError unless finite, not negative and strictly increasing."""
    times = as_array("times", values)
    if times.ndim != 1 or not times.size:
        raise TrajectoryError(
            "the trajectory has no points. Cure: give at least one, with positions and time_from_start"
        )
    for i in np.flatnonzero(~(np.isfinite(times) & (times >= 0.0))).tolist():
        raise TrajectoryError(
            f"the time of point {i} is {times[i]} s. Cure: give finite times of at least 0"
        )
    for i in np.flatnonzero(times[1:] <= times[:-1]).tolist():
        raise TrajectoryError(
            f"point {i + 1} at {times[i + 1]} s is not after point {i} at {times[i]} s. "
            "Cure: sort the points, and give each a different time"
        )
    return times


def _checked_field(points: TrajectoryPoints, field: str) -> Array:
    """Return a field as an array (m, k), zeros if it is absent; TrajectoryError unless shape and numbers are valid."""
    names = points.joint_names
    values = getattr(points, field)
    shape = (len(points.times), len(names))
    is_position = field == "positions"
    if values is None and not is_position:
        return np.zeros(shape)
    array = as_array(field, values)
    most = LARGEST_MAGNITUDE if is_position else np.finfo(np.float64).max
    if array.shape != shape:
        raise TrajectoryError(
            f"{field} have shape {array.shape}, but {shape[0]} points of {shape[1]} joints need {shape}. "
            "Cure: give one value for each joint in every point"
        )
    # False for NaN
    if not (array.size == 0 or (-most <= array.min() and array.max() <= most)):
        i, j = np.argwhere(~(np.abs(array) <= most))[0]
        raise TrajectoryError(
            f"point {i} has {array[i, j]:g} in {field} of joint '{names[j]}'. Cure: give finite numbers up to {most:g}"
        )
    return array


def checked_points(
    points: TrajectoryPoints, allow_nonzero_velocity_at_end: bool
) -> tuple[Array, list[Array]]:
    """Return the times (m,), and positions, velocities, accelerations and effort, each (m, k), zeros for absent fields.

    Raises TrajectoryError for times that are not finite, not negative and strictly increasing, for no points, for
    fields of the wrong size, numbers that are not finite, accelerations without velocities and, unless
    ``allow_nonzero_velocity_at_end``, a nonzero final velocity.
    """
    times = checked_times(points.times)
    if points.velocities is None and points.accelerations is not None:
        raise TrajectoryError(
            "the points have accelerations without velocities. Cure: give velocities too"
        )
    tables = [_checked_field(points, field) for field in FIELDS]
    end = tables[1][-1]
    for i in (
        []
        if allow_nonzero_velocity_at_end
        else np.flatnonzero(np.abs(end) > _REST).tolist()
    ):
        raise TrajectoryError(
            f"the last point's velocity of joint '{points.joint_names[i]}' is {end[i]:.6g}, not zero. "
            "Cure: end at rest or allow it (allow_nonzero_velocity_at_trajectory_end)"
        )
    return times, tables
