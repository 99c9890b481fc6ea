"""What nodes said of themselves on /diagnostics: changes of mode, and troubles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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

LEVELS = ("OK", "WARN", "ERROR", "STALE")


@dataclass(frozen=True)
class Event:
    """A status that is new: another mode, or a level above OK that was not there before.

    ``received`` is when it arrived (ns). Texts are those of the message; mode, before, cause, joint and value are
    empty where the sender does not tell.
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
    """All that a recording's diagnostics say.

    Attributes
    ----------
    events
        What changed.
    modes
        Of each sender that has modes: when (ns of arrival), and in which it was, whenever it said so.
    count
        How many messages there are.
    """

    events: tuple[Event, ...]
    modes: dict[str, tuple[tuple[int, str], ...]]
    count: int


def read_diagnostics(messages: Iterable[Message]) -> Diagnostics:
    """Return what diagnostic_msgs/DiagnosticArray messages say; broken ones are passed over."""
    events: list[Event] = []
    modes: dict[str, list[tuple[int, str]]] = {}
    last: dict[str, tuple[str, str]] = {}
    count = 0
    for message in messages:
        count += 1
        try:
            array: Any = message_types().deserialize_cdr(message.data, DIAGNOSTIC_ARRAY)
        except Exception:  # whatever broken bytes lead to
            continue
        for status in array.status:
            event = _event(status, message.received)
            if event.mode:
                modes.setdefault(event.sender, []).append((event.received, event.mode))
            said = event.level, event.mode or event.message
            known = last.get(event.sender, ("OK", event.mode or event.message))
            last[event.sender] = said
            if event.before or (said != known and "OK" != event.level):
                events.append(event)
    return Diagnostics(tuple(events), {name: tuple(found) for name, found in modes.items()}, count)


def _event(status: Any, received: int) -> Event:
    values = {pair.key: pair.value for pair in status.values}
    level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
    return Event(
        received,
        status.name,
        LEVELS[level] if 0 <= level < len(LEVELS) else str(level),
        status.message,
        values.get("mode", ""),
        values.get("previous mode", ""),
        values.get("cause", ""),
        values.get("joint", ""),
        values.get("value", ""),
    )


_COMMANDS = "command_states"
_CLOCK = 1e15  # ns since 1970, which no simulation lasts


@dataclass(frozen=True)
class TopicFacts:
    """A topic: its type, how many messages it has, and when the first and the last arrived (ns)."""

    topic: str
    kind: str
    count: int
    first: int
    last: int

    @property
    def rate(self) -> float:
        """Messages a second; NaN for fewer than two."""
        span = (self.last - self.first) * 1e-9
        return (self.count - 1) / span if self.count > 1 and span > 0.0 else float("nan")


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded run.

    Attributes
    ----------
    path
        The bag.
    topics
        What it holds, by name.
    topic
        The topic of the joint states.
    state
        Those joint states: m messages of n joints.
    command_topic, command
        What the controller answered: desired position and velocity, commanded effort; None where it is not there.
    model
        The robot; None where it is not known.
    analysis
        Measured torque against the model's; None where that cannot be told.
    why
        What is missing, and why: by "command", "model", "analysis".
    smoothing
        What was done to the motion before the analysis, in words.
    diagnostics
        What the nodes said of themselves.
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
        """Whether the joint states have stamps of their own; else times are those of arrival."""
        return bool(len(self.state.stamps) < 2 or (self.state.stamps != self.state.stamps[0]).any())

    @property
    def start(self) -> int:
        """When time begins in the report: the first joint states (ns)."""
        times = self.state.stamps if self.stamped else self.state.received
        return int(times[~_unset(times)].min())

    def seconds(self, series: JointSeries) -> Array:
        """When the messages of a series were (m,), in seconds from the start; NaN where one has no stamp."""
        times = series.stamps if self.stamped else series.received
        seconds = np.asarray((times - self.start) * 1e-9, dtype=np.float64)
        seconds[_unset(times)] = np.nan
        return seconds

    def at_arrival(self, received: IntArray) -> Array:
        """When messages that arrived at these times (ns) fall, on the clock of the joint states: (m,) seconds.

        Whatever clock a node stamps with, messages arrive when they arrive.
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
        """Whether a joint is known to be prismatic."""
        return self.model is not None and joint in self.model.prismatic_joints

    def effort_limit(self, joint: str) -> float:
        """The joint's effort limit (Nm or N), inf where none is known."""
        if self.model is None or joint not in self.model.joint_names:
            return float("inf")
        return float(self.model.effort_limits[self.model.joint_names.index(joint)])


def _unset(stamps: IntArray) -> NDArray[np.bool_]:
    """Which stamps (m,) were left at zero, where the clock does not start there, as a simulated one does."""
    unset: NDArray[np.bool_] = (stamps == 0) & (np.median(stamps) > _CLOCK)
    return unset


def read_recording(
    path: str | Path,
    topic: str,
    *,
    model: RobotModel | None = None,
    rename: Mapping[str, str] | None = None,
    no_model: str = "no robot was given",
    smoothing: Smoothing | None = None,
) -> Recording:
    """Read a bag for a report; ``topic`` is that of its joint states.

    Parameters
    ----------
    path
        The bag.
    topic
        Which sensor_msgs/JointState messages are the robot's state.
    model
        The robot, for units, limits and its torque. Its joints may be some of those recorded.
    rename
        Old to new names or prefixes of joints.
    no_model
        Why there is no model, for the page.
    smoothing
        The filter before the model's torque is computed.

    Raises
    ------
    BagError
        Where the bag, or its joint states, cannot be read.
    """
    path = Path(path)
    smoothing = smoothing or Smoothing()
    facts, diagnostics = _facts(path)
    why: dict[str, str] = {} if model is not None else {"model": no_model}
    command_topic = _command_topic(facts, topic, why)
    state = read_joint_states(path, [topic], rename)[topic]
    command = None
    if command_topic is not None:
        try:
            command = read_joint_states(path, [command_topic], rename)[command_topic]
        except BagError as problem:
            why["command"] = str(problem)
    analysis, words = None, ""
    if model is None:
        why["analysis"] = no_model
    else:
        try:
            analysis = analyse_torque(model, recorded_motion(state.in_order(model.joint_names), smoothing))
            words = str(smoothing)
        except RobotDynamicsError as problem:
            why["analysis"] = str(problem)
    return Recording(path, facts, topic, state, command_topic, command, model, analysis, why, words, diagnostics)


def _facts(path: Path) -> tuple[tuple[TopicFacts, ...], Diagnostics]:
    found: dict[str, list[int]] = {}

    def counted(reader: BagReader) -> Iterator[Message]:
        for message in progress(reader.messages(), f"reading {path.name}", reader.count()):
            entry = found.setdefault(message.topic, [0, message.received, message.received])
            entry[0] += 1
            entry[2] = message.received
            if message.kind == DIAGNOSTIC_ARRAY:
                yield message

    with BagReader(path) as reader:
        diagnostics = read_diagnostics(counted(reader))
        topics = dict(sorted(reader.topics.items()))
    facts = tuple(TopicFacts(name, kind, *found.get(name, [0, 0, 0])) for name, kind in topics.items())
    return facts, diagnostics


def _command_topic(facts: tuple[TopicFacts, ...], state: str, why: dict[str, str]) -> str | None:
    """Return the topic of command_states; where there is not exactly one, say why."""
    there = [fact.topic for fact in facts if fact.kind == JOINT_STATE and fact.topic != state]
    fitting = [topic for topic in there if topic.rpartition("/")[2] == _COMMANDS]
    if len(fitting) == 1:
        return fitting[0]
    why["command"] = (
        f"several topics are called {_COMMANDS}: {', '.join(fitting)}"
        if fitting
        else f"the bag has no topic {_COMMANDS} of type {JOINT_STATE}; record the controller's ~/{_COMMANDS}"
    )
    return None
