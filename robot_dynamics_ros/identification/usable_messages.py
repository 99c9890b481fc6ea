"""Which of a recording's messages can be used, and what is said of the others."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries
from robot_dynamics_ros.errors import BagError, BagWarning
from robot_dynamics_ros.kernels.types import Array

Rows = NDArray[np.intp]

_RESTART = 1_000_000_000  # ns backwards that are a clock set anew, not messages that overtook each other
_PAUSE = 60_000_000_000  # ns put in place of such a step


def require_motion_and_effort(series: JointSeries) -> None:
    """Raise BagError where position or effort was not recorded at all."""
    for field, values in (("position", series.position), ("effort", series.effort)):
        for name, column in zip(series.joint_names, values.T, strict=True):
            if np.isnan(column).all():
                raise BagError(
                    f"the recording: no {field} of {name} was recorded. Cure: record a topic whose driver fills "
                    f"{field}, or name it with --topic"
                )
    if not series.effort.any():
        raise BagError(
            "the recording: every effort is zero: the driver measures none. Cure: record a topic with measured effort"
        )


def recorded_velocities(series: JointSeries) -> list[Array | None]:
    """Return each joint's velocity, None where none was recorded: NaN or zero, though the joint moves."""
    found: list[Array | None] = []
    absent = []
    for name, velocity, position in zip(series.joint_names, series.velocity.T, series.position.T, strict=True):
        moves = np.nanmax(position) > np.nanmin(position)
        recorded = not np.isnan(velocity).all() and (velocity.any() or not moves)
        found.append(velocity if recorded else None)
        if not recorded:
            absent.append(name)
    if absent:
        warn(f"no velocity of {', '.join(absent)} was recorded; it is differentiated from the position")
    return found


def usable_messages(series: JointSeries, velocity: list[Array | None]) -> tuple[NDArray[np.int64], Rows]:
    """Return increasing stamps in ns from 0, and the rows of the messages that have them."""
    keep = np.ones(len(series.stamps), dtype=bool)
    for j, name in enumerate(series.joint_names):
        finite = np.isfinite(series.position[:, j]) & np.isfinite(series.effort[:, j])
        recorded = velocity[j]
        if recorded is not None:
            finite &= np.isfinite(recorded)
        if not finite.all():
            warn(f"{np.count_nonzero(~finite)} messages have no finite number for {name}; they are left out")
        keep &= finite
    stamps = series.stamps
    if len(stamps) > 1 and (stamps == stamps[0]).all():
        warn("no message has a stamp of its own; the times of arrival are used")
        stamps = series.received
    elif not (stamps[1:] > 0).all():  # a simulated clock may start at 0
        warn(f"{np.count_nonzero(stamps[1:] <= 0)} messages have no stamp; they are left out")
        keep[1:] &= stamps[1:] > 0
    rows = np.flatnonzero(keep)
    if not len(rows):
        return np.empty(0, dtype=np.int64), rows
    stamps = _without_restarts(stamps[rows] - stamps[rows[0]])
    later = np.concatenate([[True], stamps[1:] > np.maximum.accumulate(stamps)[:-1]])
    if not later.all():
        warn(f"{np.count_nonzero(~later)} messages are not stamped after the one before; they are left out")
    return stamps[later] - stamps[0], rows[later]


def _without_restarts(stamps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the stamps as if the clock had gone on, a minute later, where it was set back."""
    steps = np.diff(stamps, prepend=stamps[0])
    back = steps < -_RESTART
    if not back.any():
        return stamps
    warn(f"its clock is set back {np.count_nonzero(back)} times; each stretch is taken by itself")
    paused: NDArray[np.int64] = stamps + np.cumsum(np.where(back, _PAUSE - steps, 0))
    return paused


def warn(what: str) -> None:
    """Issue a BagWarning."""
    warnings.warn(BagWarning(f"the recording: {what}"), stacklevel=2)
