"""Data of a report: joint states, commands and diagnostics of a bag, and the tracking errors in them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.recorded_motion import (
    Smoothing,
    recorded_motion,
    with_gains,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    TorqueAnalysis,
    analyse_torque,
)
from robot_dynamics_ros.analysis.thresholds import COUNTED_TIME
from robot_dynamics_ros.base.errors import BagError, BagWarning, RobotDynamicsError
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.control.safety import Cause
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import (
    JointSeries,
    joint_series,
    read_joint_states,
)
from robot_dynamics_ros.recordings.bags.alignment import align
from robot_dynamics_ros.recordings.bags.joint_series import Answers
from robot_dynamics_ros.recordings.bags.reader import BagReader, opened
from robot_dynamics_ros.recordings.bags.reader import (
    command_topic as find_command_topic,
)
from robot_dynamics_ros.recordings.bags.storage import (
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    Event,
    read_statuses,
)
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY
from robot_dynamics_ros.recordings.messages.drive_commands import (
    DriveCommandReader,
    drive_topic,
)

_COMMANDS = "command_states"
CRITERION = "RMS error at most 1 % of the range of the joint's desired position, or 1 mrad (1 mm) if that is larger"


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a recording.

    Attributes
    ----------
    events
        Statuses with a previous mode, and those above OK whose level, mode or, without mode, message differs from the
        sender's previous status; in the order of arrival.
    modes
        All statuses with a mode, by sender, in the order of arrival.
    topics
        Names of the topics of type diagnostic_msgs/DiagnosticArray.
    count
        Number of messages on these topics.
    unreadable
        Number of these messages that cannot be decoded.
    """

    events: tuple[Event, ...]
    modes: dict[str, tuple[Event, ...]]
    topics: tuple[str, ...]
    count: int
    unreadable: int


@dataclass(frozen=True)
class TopicFacts:
    """Facts of a topic: message type ``kind``, number of messages, first and last arrival (ns since 1970; 0: none)."""

    topic: str
    kind: str
    count: int
    first: int
    last: int

    @property
    def rate(self) -> float:
        """Messages per second of arrival; NaN for fewer than two messages, or if all arrived at the same time."""
        span = (self.last - self.first) * 1e-9
        return (self.count - 1) / span if self.count > 1 and span > 0.0 else math.nan


@dataclass(frozen=True, eq=False)
class Recording:
    """A recorded run. Times in s count from ``start``.

    Attributes
    ----------
    path
        The bag.
    topics
        Facts of its topics, sorted by name.
    topic, state
        Topic of the joint states, and its m messages of n joints; None if the bag has commands only, as the output
        of a replay.
    command_topic, command
        Topic of the controller's commands (desired position and velocity, commanded effort), and its messages; None
        if there are none. At least one of ``state`` and ``command`` is not None.
    model
        Model of the robot; None if it is unknown.
    analysis
        Comparison of measured torque and model torque; None if one of them is missing.
    why
        Reasons for missing parts, each with a cure: by "state", "command", "model", "analysis".
    diagnostics
        Status messages of the nodes.
    other
        Comparison with a second model of the robot, and the name of that model; None without one.
    own_share
        ``command`` with the share of the effort that drives add by a loop of their own, NaN where it is unknown; None
        without drive_commands.
    """

    path: Path
    topics: tuple[TopicFacts, ...]
    topic: str | None
    state: JointSeries | None
    command_topic: str | None
    command: JointSeries | None
    model: RobotModel | None
    analysis: TorqueAnalysis | None
    why: dict[str, str]
    diagnostics: Diagnostics
    other: tuple[str, TorqueAnalysis] | None = None
    own_share: JointSeries | None = None

    @property
    def joint_names(self) -> list[str]:
        """The joints of ``series``, those of the model first, in its order."""
        order = () if self.model is None else self.model.joint_names
        return sorted(
            self.series.joint_names,
            key=lambda name: order.index(name) if name in order else len(order),
        )

    @property
    def series(self) -> JointSeries:
        """The joint states, or the commands if there are no joint states: joints and clock of the report."""
        series = self.command if self.state is None else self.state
        assert series is not None
        return series

    @property
    def series_topic(self) -> str:
        """Name of the topic of ``series``."""
        return (self.command_topic if self.state is None else self.topic) or ""

    @cached_property
    def stamped(self) -> bool:
        """True unless all messages of ``series`` (two or more) have the same stamp; if False, times are of arrival."""
        stamps = self.series.stamps
        return bool(len(stamps) < 2 or (stamps != stamps[0]).any())

    @property
    def counts_from_zero(self) -> bool:
        """True if ``series`` begins to arrive before 1e15 ns: a simulated clock, or an edited real recording."""
        return bool(self.series.received[0] < COUNTED_TIME)

    @cached_property
    def start(self) -> int:
        """Time zero of the report (ns): the earliest stamp that a state and a command share.

        Without a shared stamp it is the earliest stamp of ``series``, without stamps its earliest arrival.
        """
        times = self.series.stamps if self.stamped else self.series.received
        if self.stamped and self.state is not None and self.command is not None:
            answered = times[np.isin(times, self.command.stamps)]
            times = answered if len(answered) else times
        return int(times[~_unset(times)].min())

    def seconds(self, series: JointSeries) -> Array:
        """Return the times of the messages of a series (m,), s after ``start``; NaN for messages without a stamp."""
        times = series.stamps if self.stamped else series.received
        seconds = np.asarray((times - self.start) * 1e-9, dtype=np.float64)
        seconds[_unset(times)] = np.nan
        return seconds

    def at_arrival(self, received: IntArray) -> Array:
        """Return times of arrival (k,), ns, as seconds after ``start`` by the stamps of ``series``, (k,).

        A time is that of the last message of ``series`` which arrived before, plus the time since its arrival, but not
        later than the next message. Times before the first arrival are counted back from the first message.
        """
        seconds = self.seconds(self.series)
        order = np.argsort(self.series.received, kind="stable")
        order = order[np.isfinite(seconds[order])]
        arrivals = self.series.received[order]
        seconds = seconds[order]
        last = np.maximum(np.searchsorted(arrivals, received, side="right") - 1, 0)
        following = np.append(seconds[1:], np.inf)[last]
        since = (received - arrivals[last]) * 1e-9
        return np.asarray(
            np.minimum(seconds[last] + since, np.maximum(following, seconds[last])),
            dtype=np.float64,
        )

    @cached_property
    def fault_times(self) -> Array:
        """Times (k,), s after ``start``, of the k events of ``diagnostics`` that are faults, in their order."""
        return self.at_arrival(
            np.array(
                [one.received for one in self.diagnostics.events if one.fault],
                dtype=np.int64,
            )
        )

    def time_span(self) -> tuple[float, float]:
        """Return the earliest and the latest time of joint states and commands, s after ``start``."""
        times = np.concatenate(
            [self.seconds(one) for one in (self.state, self.command) if one is not None]
        )
        return float(np.nanmin(times)), float(np.nanmax(times))

    def analysis_seconds(self, analysis: TorqueAnalysis) -> Array:
        """Return the times (m,) of the samples of ``analysis``, s after ``start``."""
        # The time of a RecordedMotion begins with its first usable sample.
        series = self.series.in_order(analysis.motion.joint_names)
        seconds = self.seconds(series)
        usable = np.isfinite(
            np.column_stack([seconds, series.position, series.effort])
        ).all(axis=1)
        return np.asarray(analysis.motion.time + seconds[int(np.argmax(usable))])

    def mode_history(self, sender: str) -> tuple[Array, list[str]]:
        """Return times (k,), s after ``start``, and the k modes of a sender that hold from there.

        The first entry is the start of the recording, with the mode before the first status; the last one is its end,
        with the last mode again. Raises KeyError for a sender that is not in ``diagnostics.modes``.
        """
        statuses = self.diagnostics.modes[sender]
        times = self.at_arrival(
            np.array([status.received for status in statuses], dtype=np.int64)
        )
        first, last = self.time_span()
        modes = [status.mode for status in statuses]
        modes = [statuses[0].before or modes[0], *modes, modes[-1]]
        return np.concatenate(
            [[min(first, times.min())], times, [max(last, times.max())]]
        ), modes

    def sliding(self, joint: str) -> bool:
        """True if the joint with this name is a prismatic joint of the model; False without a model."""
        return self.model is not None and joint in self.model.prismatic_joints

    def effort_limit(self, joint: str) -> float:
        """Return the effort limit of a joint (Nm or N) by its name; inf without a model, such a joint or a limit."""
        if self.model is None or joint not in self.model.joint_names:
            return math.inf
        return float(self.model.effort_limits[self.model.joint_names.index(joint)])

    def largest_effort(self, joint: str) -> float:
        """Return the largest magnitude of the measured and commanded efforts of a joint (Nm or N); 0 without any."""
        efforts = (column(one, joint, "effort") for one in (self.state, self.command))
        return float(np.nanmax([0.0, *map(largest, efforts)]))


def _unset(stamps: IntArray) -> NDArray[np.bool_]:
    """Return a mask (m,) of the stamps that were left at zero; on a clock that counts from zero it is a time."""
    unset: NDArray[np.bool_] = (stamps == 0) & (np.median(stamps) > COUNTED_TIME)
    return unset


def read_recording(
    path: str | Path | BagReader,
    topic: str,
    *,
    model: RobotModel | None = None,
    rename: Mapping[str, str] | None = None,
    no_model: str = "no robot was given. Cure: give model",
    other: tuple[str, RobotModel] | None = None,
    cutoff: float | None = None,
    effort_delay: float = 0.0,
    drive_gains: Mapping[str, float] = MappingProxyType({}),
) -> Recording:
    """Read a bag, a folder, a file or an open reader, which stays open, for a report.

    ``topic`` is the topic of the joint states. The only other one with the name command_states has the commands; if it
    is given as ``topic``, the recording has commands only. ``why`` of the result has the reasons for missing parts.
    ``model`` is the robot, for units, limits and model torque; it may have a part of the recorded joints. ``no_model``
    is the reason that the report gives if there is no model. ``rename`` maps old to new names of joints, or prefixes of
    them. ``other`` is the name of a second model to compare, and that model, of the same joints. ``cutoff`` is that of
    ``Smoothing``; ``effort_delay`` and ``drive_gains`` are those of ``recorded_motion``.

    Raises BagError as ``read_joint_states``, ``with_gains`` and ``Smoothing``, and unless ``other`` has the joints of
    ``model`` in its order.
    """
    why: dict[str, str] = {}
    with opened(path) as reader:
        path = reader.path
        topics, diagnostics = _read_topics(reader)
        series = read_joint_states(reader, [topic], rename)[topic]
        if topic.rpartition("/")[2] == _COMMANDS:
            why["state"] = (
                f"{topic} has desired positions and commanded torques, no measurements. Cure: make the report of the "
                "recording that was replayed, or choose a topic of joint states with --topic"
            )
            if model is None:
                why["model"] = no_model
            return Recording(
                path, topics, None, None, topic, series, model, None, why, diagnostics
            )
        series = with_gains(series, drive_gains)
        smoothing = Smoothing(cutoff)
        command_topic = None
        command = None
        own_share = None
        try:
            command_topic = find_command_topic(reader, topic)
            if command_topic is None:
                raise BagError(
                    f"the bag has no topic {_COMMANDS} of type {JOINT_STATE}. Cure: record ~/{_COMMANDS}"
                )
            read = read_joint_states(reader, [command_topic], rename)
            command = read[command_topic]
            own_share = _own_share(reader, command_topic, command)
        except BagError as error:
            why["command"] = str(error)
    analysis = None
    if model is None:
        why["model"] = why["analysis"] = no_model
    else:
        try:
            motion = recorded_motion(
                series.in_order(model.joint_names), smoothing, effort_delay
            )
            analysis = analyse_torque(model, motion)
        except RobotDynamicsError as error:
            why["analysis"] = str(error)
    second = (
        None
        if analysis is None or other is None
        else (other[0], analyse_torque(other[1], analysis.motion))
    )
    return Recording(
        path,
        topics,
        topic,
        series,
        command_topic,
        command,
        model,
        analysis,
        why,
        diagnostics,
        second,
        own_share,
    )


def _own_share(
    reader: BagReader, commands: str, command: JointSeries
) -> JointSeries | None:
    """Return the series ``command`` of the topic ``commands`` with the drives' own share as effort.

    It is the expected effort less the feedforward of drive_commands for the same state, NaN where that is missing. None
    if the bag has no drive_commands of this controller, or, with a BagWarning, if they cannot be read.
    """
    topic = drive_topic(commands)
    if reader.topics.get(topic) != FLOAT64_MULTI_ARRAY or not reader.count([topic]):
        return None
    decoder = DriveCommandReader(len(command.joint_names), topic)
    try:
        read = [decoder.read(message.data) for message in reader.messages([topic])]
    except RobotDynamicsError as error:
        warnings.warn(BagWarning(f"{reader.path}: {error}"), stacklevel=1)
        return None
    stamps = np.array([stamp for stamp, _ in read], dtype=np.int64)
    feedforward = np.array([drive.effort for _, drive in read])
    pairs = align(command.stamps, stamps, stamped=True)
    share = np.full_like(command.effort, np.nan)
    share[pairs.a] = command.effort[pairs.a] - feedforward[pairs.b]
    return replace(command, effort=share)


def _read_topics(reader: BagReader) -> tuple[tuple[TopicFacts, ...], Diagnostics]:
    counts: dict[str, tuple[int, int, int]] = {}
    events: list[Event] = []
    modes: dict[str, list[Event]] = {}
    last: dict[str, tuple[str, str]] = {}
    unreadable = 0
    for message in progress(
        reader.messages(), f"reading {reader.path.name}", reader.count()
    ):
        count, first, _ = counts.get(message.topic, (0, message.received, 0))
        counts[message.topic] = count + 1, first, message.received
        if message.kind != DIAGNOSTIC_ARRAY:
            continue
        statuses = read_statuses(message)
        unreadable += statuses is None
        for event in statuses or ():
            if event.mode:
                modes.setdefault(event.sender, []).append(event)
            status = event.level, event.mode or event.message
            known = last.get(event.sender, ("OK", status[1]))
            last[event.sender] = status
            if event.before or (status != known and event.level != "OK"):
                new = (
                    event.level == "ERROR" != known[0]
                    and event.cause != Cause.DEACTIVATED
                )
                events.append(replace(event, fault=new))
    kinds = sorted(reader.topics.items())
    topics = tuple(
        TopicFacts(name, kind, *counts.get(name, (0, 0, 0))) for name, kind in kinds
    )
    sources = [fact for fact in topics if fact.kind == DIAGNOSTIC_ARRAY]
    diagnostics = Diagnostics(
        tuple(events),
        {name: tuple(entries) for name, entries in modes.items()},
        tuple(fact.topic for fact in sources),
        sum(fact.count for fact in sources),
        unreadable,
    )
    return topics, diagnostics


def answers(recording: Recording) -> Answers | None:
    """Return the pairs of state and command; None if states, commands or stamps are missing, or none is common."""
    if recording.state is None or recording.command is None or not recording.stamped:
        return None
    found = joint_series.answers(recording.state, recording.command)
    return found if len(found.states) else None


def why_unpaired(recording: Recording) -> str:
    """Return the reason, with a cure, for a recording of which ``answers`` or ``tracking`` is None."""
    for part in ("state", "command"):
        if part in recording.why:
            return recording.why[part]
    if not recording.stamped:
        return f"{recording.topic} has no stamps to find the command of a state. Cure: set header.stamp in the driver"
    return (
        f"{recording.command_topic} and {recording.topic} have no stamp, or no joint, in common. "
        "Cure: choose the joint states of this controller with --topic, or --rename the joints"
    )


@dataclass(frozen=True, eq=False)
class TrackingErrors:
    """Tracking ``error``: desired minus actual position (m, k), rad or m, NaN if unknown, of k joints at m times.

    ``time`` (m,) is in s after ``Recording.start``. ``allowed_rms`` (k,) is the largest RMS error of a joint that
    tracks well: 1 % of the range of its desired position, at least 1e-3 rad or m.
    """

    joint_names: tuple[str, ...]
    time: Array
    error: Array
    allowed_rms: Array


def tracking(recording: Recording, answered: Answers | None) -> TrackingErrors | None:
    """Return the errors of the pairs from ``answers``; None if ``answered`` is None, or there is no common joint."""
    state = recording.state
    command = recording.command
    if answered is None or state is None or command is None:
        return None
    names = tuple(name for name in state.joint_names if name in command.joint_names)
    if not names:
        return None
    desired = command.in_order(names).position[answered.commands]
    actual = state.in_order(names).position[answered.states]
    ranges = [
        np.ptp(values[finite]) if (finite := np.isfinite(values)).any() else 0.0
        for values in desired.T
    ]
    allowed = np.maximum(0.01 * np.array(ranges), 1e-3)
    return TrackingErrors(
        names, recording.seconds(state)[answered.states], desired - actual, allowed
    )


def column(series: JointSeries | None, joint: str, field: str) -> Array:
    """Return the "position", "velocity" or "effort" (m,) of a joint; (0,) without series or joint, or if all NaN."""
    if series is None or joint not in series.joint_names:
        return np.empty(0)
    values: Array = getattr(series, field)[:, series.joint_names.index(joint)]
    return values if np.isfinite(values).any() else np.empty(0)


def rms(values: Array) -> float:
    """Return the root mean square of the finite numbers in ``values`` (m,); NaN if there are none."""
    finite = values[np.isfinite(values)]
    return float(root_mean_square(finite)) if len(finite) else math.nan


def largest(values: Array) -> float:
    """Return the largest magnitude of the finite numbers in ``values`` (m,); NaN if there are none."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if len(finite) else math.nan
