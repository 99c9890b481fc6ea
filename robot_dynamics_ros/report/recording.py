"""Recordings for the report: their joint states, commands and diagnostics, and the tracking errors in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries, read_joint_states
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.bags.storage import DIAGNOSTIC_ARRAY, JOINT_STATE, Message, message_types
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.identification.motion import Smoothing, TorqueAnalysis, analyse_torque, recorded_motion
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.progress import progress

_LEVELS = ("OK", "WARN", "ERROR", "STALE")
_COMMANDS = "command_states"
_CLOCK = 1e15  # ns since 1970, which no simulation lasts


@dataclass(frozen=True)
class Event:
    """A status that is new: another mode, or a level above OK that was not there before.

    ``received`` is the time of arrival (ns). Texts are those of the message; mode, before, cause, joint and value are
    empty where the sender does not report them.
    """

    received: int
    sender: str
    level: str
    message: str
    mode: str = ""
    before: str = ""
    cause: str = ""
    joint: str = ""
    value: str = ""


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a recording.

    Attributes
    ----------
    events
        The changes.
    modes
        Of each sender that has modes: time of arrival (ns) and mode of each message.
    count
        Number of messages.
    """

    events: tuple[Event, ...]
    modes: dict[str, tuple[tuple[int, str], ...]]
    count: int


@dataclass(frozen=True)
class TopicFacts:
    """A topic: its type, number of messages, and the times of arrival of the first and the last (ns)."""

    topic: str
    kind: str
    count: int
    first: int
    last: int

    @property
    def rate(self) -> float:
        """Messages a second; NaN for fewer than two."""
        span = (self.last - self.first) * 1e-9
        return (self.count - 1) / span if self.count > 1 and span > 0.0 else math.nan


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded run.

    Attributes
    ----------
    path
        The bag.
    topics
        Its topics, by name.
    topic
        The topic of the joint states.
    state
        Those joint states: m messages of n joints.
    command_topic, command
        The controller's commands: desired position and velocity, commanded effort; None where there are none.
    model
        The robot; None where it is not known.
    analysis
        Measured torque against the model's; None where one of them is missing.
    why
        Reasons for missing parts: by "command", "model", "analysis".
    smoothing
        Description of the filter that the motion passed before the analysis.
    diagnostics
        Status messages of the nodes.
    """

    path: Path
    topics: tuple[TopicFacts, ...]
    topic: str
    state: JointSeries
    command_topic: str | None
    command: JointSeries | None
    model: RobotModel | None
    analysis: TorqueAnalysis | None
    why: dict[str, str]
    smoothing: str
    diagnostics: Diagnostics

    @property
    def stamped(self) -> bool:
        """True if the joint states have stamps of their own; else times are those of arrival."""
        return bool(len(self.state.stamps) < 2 or (self.state.stamps != self.state.stamps[0]).any())

    @property
    def start(self) -> int:
        """Time of the first joint states (ns), at which time in the report begins."""
        times = self.state.stamps if self.stamped else self.state.received
        return int(times[~_unset(times)].min())

    def seconds(self, series: JointSeries) -> Array:
        """Return the times of the messages of a series (m,), in seconds from the start; NaN where one has no stamp."""
        times = series.stamps if self.stamped else series.received
        seconds = np.asarray((times - self.start) * 1e-9, dtype=np.float64)
        seconds[_unset(times)] = np.nan
        return seconds

    def at_arrival(self, received: IntArray) -> Array:
        """Return times of arrival (m,), ns, on the clock of the joint states, in seconds from the start.

        Interpolated between the joint states' own arrivals, as nodes may stamp by different clocks.
        """
        seconds = self.seconds(self.state)
        order = np.argsort(self.state.received, kind="stable")
        order = order[np.isfinite(seconds[order])]
        arrivals, seconds = self.state.received[order], seconds[order]
        origin = int(arrivals[0])
        since, last = (received - origin) * 1e-9, (int(arrivals[-1]) - origin) * 1e-9
        inside = np.asarray(np.interp(since, (arrivals - origin) * 1e-9, seconds), dtype=np.float64)
        inside += np.minimum(0.0, since) + np.maximum(0.0, since - last)
        return inside

    def sliding(self, joint: str) -> bool:
        """Return True if a joint is known to be prismatic."""
        return self.model is not None and joint in self.model.prismatic_joints

    def effort_limit(self, joint: str) -> float:
        """Return the joint's effort limit (Nm or N), inf where none is known."""
        if self.model is None or joint not in self.model.joint_names:
            return math.inf
        return float(self.model.effort_limits[self.model.joint_names.index(joint)])


def _unset(stamps: IntArray) -> NDArray[np.bool_]:
    """Return True (m,) for stamps left at zero, where the clock does not start there, as a simulated one does."""
    unset: NDArray[np.bool_] = (stamps == 0) & (np.median(stamps) > _CLOCK)
    return unset


def read_recording(
    path: str | Path,
    topic: str,
    *,
    model: RobotModel | None = None,
    rename: Mapping[str, str] | None = None,
    no_model: str = "no robot was given",
) -> Recording:
    """Read a bag for a report; ``topic`` is that of its joint states.

    ``model`` is the robot, for units, limits and its torque; its joints may be some of those recorded. ``no_model``
    is the reason on the page where there is none. ``rename`` maps old to new names or prefixes of joints.

    Raises BagError where the bag, or its joint states, cannot be read.
    """
    path = Path(path)
    topics, diagnostics = _read_topics(path)
    why: dict[str, str] = {}
    state = read_joint_states(path, [topic], rename)[topic]
    command, command_topic = None, None
    others = [other.topic for other in topics if other.kind == JOINT_STATE and other.topic != topic]
    fitting = [other for other in others if other.rpartition("/")[2] == _COMMANDS]
    if len(fitting) == 1:
        command_topic = fitting[0]
        try:
            command = read_joint_states(path, fitting, rename)[command_topic]
        except BagError as error:
            why["command"] = str(error)
    elif fitting:
        why["command"] = f"several topics are called {_COMMANDS}: {', '.join(fitting)}"
    else:
        why["command"] = (
            f"the bag has no topic {_COMMANDS} of type {JOINT_STATE}; record the controller's ~/{_COMMANDS}"
        )
    analysis, smoothing = None, Smoothing()
    if model is None:
        why["model"] = why["analysis"] = no_model
    else:
        try:
            analysis = analyse_torque(model, recorded_motion(state.in_order(model.joint_names), smoothing))
        except RobotDynamicsError as error:
            why["analysis"] = str(error)
    filtered = "" if analysis is None else str(smoothing)
    return Recording(path, topics, topic, state, command_topic, command, model, analysis, why, filtered, diagnostics)


def _read_topics(path: Path) -> tuple[tuple[TopicFacts, ...], Diagnostics]:
    counts: dict[str, tuple[int, int, int]] = {}
    events: list[Event] = []
    modes: dict[str, list[tuple[int, str]]] = {}
    last: dict[str, tuple[str, str]] = {}
    with BagReader(path) as reader:
        for message in progress(reader.messages(), f"reading {path.name}", reader.count()):
            count, first, _ = counts.get(message.topic, (0, message.received, 0))
            counts[message.topic] = count + 1, first, message.received
            for event in _statuses(message) if message.kind == DIAGNOSTIC_ARRAY else ():
                if event.mode:
                    modes.setdefault(event.sender, []).append((event.received, event.mode))
                status = event.level, event.mode or event.message
                known = last.get(event.sender, ("OK", status[1]))
                last[event.sender] = status
                if event.before or (status != known and event.level != "OK"):
                    events.append(event)
        kinds = sorted(reader.topics.items())
    topics = tuple(TopicFacts(name, kind, *counts.get(name, (0, 0, 0))) for name, kind in kinds)
    count = sum(fact.count for fact in topics if fact.kind == DIAGNOSTIC_ARRAY)
    return topics, Diagnostics(tuple(events), {name: tuple(entries) for name, entries in modes.items()}, count)


def _statuses(message: Message) -> Iterator[Event]:
    """Yield each status of a diagnostic_msgs/DiagnosticArray as an event; none where the message is broken."""
    try:
        array: Any = message_types().deserialize_cdr(message.data, DIAGNOSTIC_ARRAY)
    except Exception:  # whatever broken bytes lead to
        return
    for status in array.status:
        values = {pair.key: pair.value for pair in status.values}
        level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
        yield Event(
            message.received,
            status.name,
            _LEVELS[level] if 0 <= level < len(_LEVELS) else str(level),
            status.message,
            *(values.get(key, "") for key in ("mode", "previous mode", "cause", "joint", "value")),
        )


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
    # Of states that were sent again the first counts.
    _, rows, commands = np.intersect1d(state.stamps, command.stamps, return_indices=True)
    if not len(rows):
        return None
    order = np.argsort(rows)
    rows, commands = rows[order], commands[order]
    latency = np.asarray((command.received[commands] - state.received[rows]) * 1e-9, dtype=np.float64)
    lost = len(np.unique(state.stamps[rows[0] : rows[-1] + 1])) - len(rows)
    following = rows + 1 < len(state.stamps)
    late = int((command.received[commands[following]] > state.received[rows[following] + 1]).sum())
    return Answers(rows, commands, latency, late, lost)


@dataclass(frozen=True, eq=False)
class TrackingErrors:
    """Desired less actual position (m, k) of k joints that the commands name, at ``time`` (m,) s."""

    joint_names: tuple[str, ...]
    time: Array
    error: Array


def tracking(recording: Recording, answered: Answers | None) -> TrackingErrors | None:
    """Return the tracking errors in the answered states; None without commands."""
    state, command = recording.state, recording.command
    if answered is None or command is None:
        return None
    names = tuple(name for name in state.joint_names if name in command.joint_names)
    if not names:
        return None
    desired, actual = command.in_order(names).position, state.in_order(names).position
    time = recording.seconds(state)[answered.states]
    return TrackingErrors(names, time, desired[answered.commands] - actual[answered.states])


def column(series: JointSeries | None, joint: str, field: str) -> Array:
    """Return a joint's column (m,) of a field; (0,) where the series does not have it, or only NaN."""
    if series is None or joint not in series.joint_names:
        return np.empty(0)
    values: Array = getattr(series, field)[:, series.joint_names.index(joint)]
    return values if np.isfinite(values).any() else np.empty(0)


def rms(values: Array) -> float:
    """Root mean square of the finite numbers; NaN where there are none."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if len(finite) else math.nan


def largest(values: Array) -> float:
    """Largest magnitude of the finite numbers; NaN where there are none."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if len(finite) else math.nan
