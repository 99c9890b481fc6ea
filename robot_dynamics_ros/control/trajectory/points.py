"""Points of a JointTrajectory, and their checks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import JointNamesError, TrajectoryError
from robot_dynamics_ros.kernels.types import Array

LARGEST = 1e9
"""Plausibility bound (rad or m, and a second): larger values are rejected, and squares of others cannot overflow."""

_REST = float(np.finfo(np.float32).eps)  # a last velocity up to this counts as zero, as in joint_trajectory_controller


@dataclass(frozen=True, eq=False)
class TrajectoryPoints:
    """Contents of a JointTrajectory message: m points of k joints, in SI units.

    `times` (m,) are seconds from the start; `positions` and the optional fields are (m, k), columns in the
    order of `joint_names`. Plain data: `Trajectory.from_points` checks them.
    """

    joint_names: tuple[str, ...]
    times: Array
    positions: Array
    velocities: Array | None = None
    accelerations: Array | None = None
    effort: Array | None = None

    @classmethod
    def from_rows(
        cls,
        joint_names: Iterable[str],
        times: Sequence[float],
        positions: Sequence[Sequence[float]],
        velocities: Sequence[Sequence[float]] = (),
        accelerations: Sequence[Sequence[float]] = (),
        effort: Sequence[Sequence[float]] = (),
    ) -> TrajectoryPoints:
        """Build from one row for each point, as a message carries them; an empty row is an absent field.

        Raises TrajectoryError for a row of the wrong length and for a field that only some points have.
        """
        names = tuple(joint_names)
        tables: list[Array | None] = []
        for field, rows in (
            ("positions", positions),
            ("velocities", velocities),
            ("accelerations", accelerations),
            ("effort", effort),
        ):
            absent = all(len(row) == 0 for row in rows)
            for i, row in enumerate(rows):
                if not absent and len(row) != len(names):
                    raise TrajectoryError(
                        f"point {i} has {len(row)} {field} for {len(names)} joint names; "
                        f"give one value for each joint in every point, or leave {field} out of all points"
                    )
            numbers = chain.from_iterable(rows)  # many times faster than an array of array.array rows
            table = np.fromiter(numbers, np.float64).reshape(-1, max(1, len(names)))
            tables.append(None if absent else table)
        q = tables[0] if tables[0] is not None else np.empty((0, len(names)))
        return cls(names, np.array(times, dtype=np.float64), q, *tables[1:])


def joint_columns(named: Sequence[str], joint_names: Sequence[str], allow_partial: bool) -> list[int]:
    """Return for each named joint its place in the controller's order; JointNamesError for a bad name."""
    places = {name: i for i, name in enumerate(joint_names)}
    if not named:
        raise JointNamesError("the trajectory names no joints; fill joint_names")
    for i, name in enumerate(named):
        if name not in places:
            raise JointNamesError(f"joint '{name}' is not controlled here; use the joints {', '.join(joint_names)}")
        if name in named[:i]:
            raise JointNamesError(f"joint '{name}' is named twice; name each joint once")
    missing = [name for name in joint_names if name not in named]
    if missing and not allow_partial:
        raise JointNamesError(
            f"joint '{missing[0]}' is missing from the trajectory; name all joints or allow partial goals "
            "(allow_partial_joints_goal)"
        )
    return [places[name] for name in named]


def _array(what: str, values: Any) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"{what} are not a regular table of numbers ({error}); give numbers") from error


def checked_times(values: Any) -> Array:
    """Return the times (m,) in seconds: finite, not negative, increasing; TrajectoryError otherwise."""
    times = _array("the times", values)
    if times.ndim != 1 or not times.size:
        raise TrajectoryError("the trajectory has no points; give at least one with positions and time_from_start")
    if not np.isfinite(times).all():
        i = int(np.argmin(np.isfinite(times)))
        raise TrajectoryError(f"the time of point {i} is {times[i]}; give finite seconds")
    if times[0] < 0.0:
        raise TrajectoryError(f"the time of point 0 is {times[0]} s; times from the start begin at 0 or later")
    after = times[1:] > times[:-1]
    if not after.all():
        i = int(np.argmin(after))
        raise TrajectoryError(
            f"point {i + 1} at {times[i + 1]} s does not come after point {i} at {times[i]} s; "
            "sort the points and give each its own time"
        )
    return times


def _checked_field(
    field: str, values: Any, shape: tuple[int, int], names: Sequence[str], most: float = np.finfo(np.float64).max
) -> Array:
    """Return one field as an array of this shape (m, k), finite and at most `most` in size, or TrajectoryError."""
    array = _array(f"the {field}", values)
    if array.shape != shape:
        raise TrajectoryError(
            f"the table of {field} has shape {array.shape}, "
            f"but {shape[0]} points of {shape[1]} joints need {shape}; "
            "give one value for each joint in every point"
        )
    if not (array.size == 0 or (-most <= array.min() and array.max() <= most)):  # nor where one is NaN
        i, j = np.argwhere(~(np.abs(array) <= most))[0]
        raise TrajectoryError(
            f"point {i} has {array[i, j]:g} in {field} of joint '{names[j]}'; give finite numbers up to {most:g}"
        )
    return array


def checked_points(points: TrajectoryPoints, allow_nonzero_velocity_at_end: bool) -> tuple[Array, list[Array]]:
    """Return the times (m,) and positions, velocities, accelerations and effort, each (m, k), zeros where absent.

    Raises TrajectoryError for times as `checked_times`, for fields of another size and for numbers that are
    not finite, for accelerations without velocities and for a last point that moves, unless it may.
    """
    times = checked_times(points.times)
    names = points.joint_names
    shape = (len(times), len(names))
    if points.velocities is None and points.accelerations is not None:
        raise TrajectoryError("the points have accelerations without velocities; give velocities too")
    tables = [_checked_field("positions", points.positions, shape, names, LARGEST)]
    for field, values in (
        ("velocities", points.velocities),
        ("accelerations", points.accelerations),
        ("effort", points.effort),
    ):
        tables.append(np.zeros(shape) if values is None else _checked_field(field, values, shape, names))
    end = tables[1][-1]
    for i in [] if allow_nonzero_velocity_at_end else np.flatnonzero(np.abs(end) > _REST).tolist():
        raise TrajectoryError(
            f"the last point's velocity of joint '{names[i]}' is {end[i]:.6g}, not zero; end at rest "
            "or allow it (allow_nonzero_velocity_at_trajectory_end)"
        )
    return times, tables


def checked_state(name: str, values: Any, joint_names: Sequence[str]) -> Array:
    """Return one part of the start state (n,), zeros for None; TrajectoryError for a bad size or number."""
    n = len(joint_names)
    array = np.zeros(n) if values is None else _array(f"the start state's {name} values", values)
    if array.shape != (n,):
        raise TrajectoryError(f"the start state's {name} has shape {array.shape}; give ({n},), one for each joint")
    for i in np.flatnonzero(~np.isfinite(array)).tolist():
        raise TrajectoryError(
            f"the start state's {name} of joint '{joint_names[i]}' is {array[i]}; wait for a finite state"
        )
    return array
