"""What a recording says in numbers: tracking, torque, timing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.report.recording import Event, Recording

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


@dataclass(frozen=True)
class Table:
    """Heads, and rows of as many cells; ``words`` are the columns that are not numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


def number(value: float, digits: int = 4) -> str:
    """Return a number in few characters, a dash for NaN and infinity."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "–"


def topics_table(recording: Recording) -> Table:
    """What the bag holds."""
    rows = [(fact.topic, fact.kind, str(fact.count), number(fact.rate)) for fact in recording.topics]
    return Table(("topic", "type", "messages", "rate, Hz"), rows, words=2)


def tracking_table(recording: Recording, found: TrackingErrors) -> Table:
    """RMS and largest tracking error of each joint."""
    rows = []
    for j, joint in enumerate(found.joint_names):
        error = found.error[:, j]
        worst = np.abs(np.where(np.isfinite(error), error, 0.0))
        at = number(float(found.time[int(np.argmax(worst))]), 5) if worst.any() else "–"
        unit = "mm" if recording.sliding(joint) else "mrad"
        rows.append((joint, unit, number(1e3 * rms(error)), number(1e3 * largest(error)), at))
    return Table(("joint", "unit", "RMS", "largest", "at, s"), rows, words=2)


def torque_table(recording: Recording) -> Table:
    """Commanded and measured torque of each joint, its limit, and what the model leaves over."""
    analysis = recording.analysis
    rows = []
    for joint in recording.state.joint_names:
        cells = [joint, "N" if recording.sliding(joint) else "Nm"]
        peaks = [0.0]
        for series in (recording.command, recording.state):
            values = column(series, joint, "effort")
            found = (math.nan, math.nan) if values is None else (rms(values), largest(values))
            cells += [number(value) for value in found]
            peaks.append(found[1])
        limit = recording.effort_limit(joint)
        share = np.nanmax(peaks) / limit if limit > 0.0 else math.nan
        cells += [number(limit), f"{100 * share:.0f} %" if math.isfinite(limit) else "–"]
        if analysis is not None and joint in analysis.motion.joint_names:
            j = analysis.motion.joint_names.index(joint)
            cells += [number(float(analysis.rms[j])), number(float(analysis.bias[j]), 3)]
            explained = float(analysis.explained[j])
            cells.append(f"{100 * explained:.2f} %" if math.isfinite(explained) else "–")
        else:
            cells += ["–"] * 3
        rows.append(cells)
    heads = ("joint", "unit", "commanded RMS", "largest", "measured RMS", "largest", "limit", "used")
    return Table((*heads, "residual RMS", "bias", "explained"), rows, words=2)


def timing_table(recording: Recording, found: Answers | None) -> Table:
    """Quantiles of the intervals between joint states and of the latency of commands, in ms."""
    measured = [
        ("interval of stamps", intervals(recording.state, True) if recording.stamped else np.empty(0)),
        ("interval of arrival", intervals(recording.state, False)),
        ("latency of commands", np.empty(0) if found is None else found.latency),
    ]
    rows = []
    for name, values in measured:
        if len(values):
            cells = [number(1e3 * float(value)) for value in np.quantile(values, QUANTILES)]
            rows.append((name, str(len(values)), *cells))
        else:
            rows.append((name, "0", *["–"] * len(QUANTILES)))
    heads = ["smallest", "median", "95 %", "99 %", "99.9 %", "largest"]
    return Table(("ms", "count", *heads), rows)


def events_table(events: Sequence[Event], times: Array) -> Table:
    """What the diagnostics tell of, event by event."""
    rows = [
        (
            f"{time:.3f}",
            event.sender,
            event.level,
            f"{event.before} → {event.mode}" if event.before else event.mode,
            event.cause,
            event.joint,
            event.value,
            event.message,
        )
        for time, event in zip(times, events, strict=True)
    ]
    return Table(("time, s", "sender", "level", "mode", "cause", "joint", "value", "message"), rows, words=8)
