"""What a recording says in numbers: tracking, torque, timing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.report.recording import Recording

QUANTILES = (0.0, 0.5, 0.95, 0.99, 0.999, 1.0)


@dataclass(frozen=True, eq=False)
class Answers:
    """States and the first command that answers each: rows of both series, by equal stamps.

    ``late`` commands arrived after the next state, ``lost`` states have no command. Only states between the first and
    the last that were answered count, as the controller may have started after the recorder.
    """

    states: NDArray[np.intp]
    commands: NDArray[np.intp]
    latency: Array
    late: int
    lost: int


def answers(recording: Recording) -> Answers | None:
    """Return which command answers which state, with the seconds between their arrivals; None without commands."""
    state, command = recording.state, recording.command
    if command is None or not recording.stamped:
        return None
    stamps, first = np.unique(command.stamps, return_index=True)
    # Of states that were sent again the first counts.
    _, unique = np.unique(state.stamps, return_index=True)
    unique = np.sort(unique)
    place = np.minimum(np.searchsorted(stamps, state.stamps[unique]), len(stamps) - 1)
    answered = stamps[place] == state.stamps[unique]
    rows, found = unique[answered], first[place[answered]]
    if not len(rows):
        return None
    latency = (command.received[found] - state.received[rows]) * 1e-9
    window = np.flatnonzero(answered)
    lost = int(window[-1] - window[0] + 1 - len(window))
    following = rows + 1 < len(state.stamps)
    late = int((command.received[found[following]] > state.received[rows[following] + 1]).sum())
    return Answers(rows, found, latency, late, lost)


@dataclass(frozen=True, eq=False)
class TrackingErrors:
    """Desired and actual position (m, k) of k joints that the commands name, at ``time`` (m,) s."""

    joint_names: tuple[str, ...]
    time: Array
    desired: Array
    actual: Array

    @property
    def error(self) -> Array:
        """Desired less actual position (m, k)."""
        return self.desired - self.actual


def tracking(recording: Recording, found: Answers | None) -> TrackingErrors | None:
    """Return the motion as it was asked for and as it was; None without commands."""
    command = recording.command
    if found is None or command is None:
        return None
    names = tuple(name for name in recording.state.joint_names if name in command.joint_names)
    if not names:
        return None
    return TrackingErrors(
        names,
        recording.seconds(recording.state)[found.states],
        command.in_order(names).position[found.commands],
        recording.state.in_order(names).position[found.states],
    )


def rms(values: Array) -> float:
    """Root mean square of the finite numbers; NaN where there are none."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if len(finite) else float("nan")


def largest(values: Array) -> float:
    """Largest magnitude of the finite numbers; NaN where there are none."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if len(finite) else float("nan")


def intervals(series: JointSeries, stamped: bool) -> Array:
    """Return the seconds between messages, by stamps or by arrival (m - 1,)."""
    times = series.stamps if stamped else np.sort(series.received)
    return np.diff(times) * 1e-9


def column(series: JointSeries | None, joint: str, field: str) -> Array | None:
    """Return a joint's column (m,) of a field; None where the series does not have it, or only NaN."""
    if series is None or joint not in series.joint_names:
        return None
    values: Array = getattr(series, field)[:, series.joint_names.index(joint)]
    return values if np.isfinite(values).any() else None
