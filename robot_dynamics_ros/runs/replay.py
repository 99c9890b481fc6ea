"""Replay of a recording through the controller."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from robot_dynamics_ros.base.errors import BagError, RobotDynamicsError, did_you_mean
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.interface import Output
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Cause
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags.reader import (
    CONFIGURATION_TOPIC,
    BagReader,
    command_topic,
    find_topic,
    opened,
    require_topic,
)
from robot_dynamics_ros.recordings.bags.storage import (
    BOOL,
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    LATCHED,
    TEXT,
    BagWriter,
    Message,
    read_statuses,
    text_message,
)
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY
from robot_dynamics_ros.recordings.messages.drive_commands import (
    DRIVE_COMMANDS,
    command_topics,
    drive_topic,
)
from robot_dynamics_ros.recordings.messages.joint_state import (
    JointStateReader,
    renaming,
    stamp_of,
)
from robot_dynamics_ros.runs.configuration import Configuration, read_configuration
from robot_dynamics_ros.runs.inputs import INPUTS, TARGETS, InputReader
from robot_dynamics_ros.runs.recorder import (
    COMMANDS,
    DIAGNOSTICS,
    NodeTimers,
    Replay,
    SessionRecorder,
    time_of,
)

_LATE = (Cause.STATE_STALE, Cause.CLOCK_JUMPED_AHEAD)  # faults by times of arrival


def commands_of(reader: BagReader, given: str | None = None) -> str:
    """Return ``given``, with a slash in front, else the bag's topic of commands or, without one, the node's.

    Raises BagError as ``command_topic``.
    """
    return (
        f"/{given.removeprefix('/')}"
        if given is not None
        else command_topic(reader) or COMMANDS
    )


def replay(
    bag: str | Path | BagReader,
    output: str | Path,
    model: RobotModel,
    settings: ControllerSettings,
    *,
    topics: Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    activation_check: bool = True,
    configuration: Configuration | None = None,
) -> Replay:
    """Run the node's controller on a recording, and write its commands to a new MCAP bag.

    Time is that of the recording: stamps of joint_states, and for timeouts their times of arrival, without the delays
    that only the recorder had (``arrival_times``). Commands and changes of mode (/diagnostics) have the time of arrival
    of the message that caused them, so that the same input gives the same bytes. The commands equal those of the live
    node bit for bit if ``update_rate`` is 0, the recording begins before the controller starts, and trajectories arrive
    before their stamps. If the recording contains the live node's commands, only the states from the first to the last
    that they answer are replayed, because recorders start and stop topics at different times; the controller then
    starts by holding the position that the first command holds. Payload, speed factor, brakes and emergency stops of
    the first ~/configuration are applied before.

    Parameters
    ----------
    bag, output
        The recording, a bag's folder or file (MCAP or sqlite3) or its open reader, which stays open, and the folder of
        the new bag, which must not exist.
    model, settings
        Robot model and settings of the controller.
    topics
        Topics of the bag by name: joint_states, command_states, joint_trajectory, emergency_stop, brakes_engaged,
        payload, speed_scaling_factor, target_pose, target_twist, target_acceleration. Default: the only topic of that
        name.
    rename
        Joint names, or their prefixes, in the bag to those of the model. Default: equal names.
    activation_check
        True to compare the first measured efforts with the model, as the node does.
    configuration
        Source of model and settings, written to the topic ~/configuration, and of the names of further emergency stops;
        None: not written.

    Raises
    ------
    BagError
        If the bag cannot be read, nothing is commanded, or the output cannot be written.
    RobotDynamicsError
        If settings do not fit the model, or the activation check fails. Messages written before an error remain; if no
        command was computed, no bag.
    """
    given = dict(topics or {})
    # A recording may begin in the middle of a motion.
    settings = replace(
        settings, safety=replace(settings.safety, activation_max_velocity=math.inf)
    )
    with ExitStack() as stack:
        reader = stack.enter_context(opened(bag))
        stops = () if configuration is None else configuration.emergency_stop_topics
        names, joint_states = _inputs(
            reader, given, stops, LAWS[settings.law].task_space
        )
        commands = commands_of(reader, given.get("command_states"))
        written = {commands: JOINT_STATE, DIAGNOSTICS: DIAGNOSTIC_ARRAY}
        if DRIVE_COMMANDS in command_topics(settings.drives.command_interfaces):
            written[drive_topic(commands)] = FLOAT64_MULTI_ARRAY
        configuration_topic = f"{commands.rpartition('/')[0]}/{CONFIGURATION_TOPIC}"
        if configuration is not None:
            written[configuration_topic] = TEXT
        topics_read = {
            *names,
            commands,
            *(
                topic
                for topic, kind in reader.topics.items()
                if kind == DIAGNOSTIC_ARRAY
            ),
        }
        recorded = list(
            progress(reader.messages(topics_read), "reading", reader.count(topics_read))
        )
        arrivals, answered = _times(recorded, joint_states, commands)
        played = (
            range(answered[0], answered[-1] + 1) if answered else range(len(arrivals))
        )
        session = ControllerSession(
            model, settings, configuration is not None and configuration.simulated_time
        )
        writer = BagWriter(output, written, {configuration_topic: [LATCHED]})
        recorder = stack.enter_context(SessionRecorder(writer, commands, session))
        renamed = renaming(rename or {})
        inputs = InputReader(session, joint_states, renamed)
        timers = NodeTimers(session, settings)
        first = next(
            (message.data for message in recorded if message.topic == commands), b""
        )
        held = None
        if answered:
            command_reader = JointStateReader(model.joint_names, commands, renamed)
            held = _held_position(command_reader, first)
        for restored in _restore(session, reader, commands):
            recorder.write(0, restored)
        session.activate(activation_check, held)
        states = 0
        index = 0
        inputs_recorded = [message for message in recorded if message.topic in names]
        for message in progress(inputs_recorded, "replay", len(inputs_recorded)):
            at = arrivals[index] if index < len(arrivals) else message.received
            if message.topic != joint_states:
                at = min(at, message.received or at)
            for then, result in timers.until(at):
                recorder.write(then, result)
            if message.topic == joint_states:
                if index == played.stop:
                    break
                index += 1
                if index <= played.start:
                    continue
                if states == 0 and configuration is not None:
                    text = replace(configuration, lasting=session.lasting).text()
                    writer.write(configuration_topic, at, text_message(text))
                states += 1
            recorder.write(
                at, inputs.receive(names[message.topic], message.data, time_of(at))
            )
        if not recorder.count:
            assert session.controller is not None
            raise BagError(
                f"{reader.path}: no command was computed: {session.controller.estimator.trouble}; or give --rename, "
                "--topic or another --robot"
            )
        return recorder.outcome(states)


def _restore(session: ControllerSession, bag: BagReader, commands: str) -> list[Output]:
    """Apply the inputs before the recording to the session of ``commands`` and return log messages."""
    topic, configuration = read_configuration(bag, commands) or ("", None)
    if configuration is None or not configuration.lasting:
        return []
    try:
        return session.restore(configuration.lasting)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise BagError(
            f"{bag.path}: {topic}: lasting: {error!r}. Cure: record it again"
        ) from None


def _inputs(
    reader: BagReader,
    given: Mapping[str, str],
    stops: Sequence[str],
    follows_targets: bool,
) -> tuple[dict[str, str], str]:
    """Return the names of the inputs by topic of the bag, and the topic of joint_states.

    ``given`` are topics by name, ``stops`` those of further emergency stops. Raises BagError for an unknown name and
    for a topic that is missing or has another type.
    """
    known = (*INPUTS, "command_states")
    if unknown := sorted(set(given) - set(known)):
        cure = f"use {', '.join(known)}{did_you_mean(unknown[0], known)}"
        raise BagError(
            f"{reader.path}: unknown input {', '.join(unknown)}. Cure: {cure}"
        )
    sources = {
        name: find_topic(reader, name, kind, given.get(name), stops)
        for name, kind in INPUTS.items()
        # else unrelated topics may have these names
        if name not in TARGETS or follows_targets
    }
    joint_states = sources["joint_states"]
    if joint_states is None:
        raise BagError(
            f"{reader.path}: no topic joint_states. Cure: give its name, as joint_states=/arm/joint_states"
        )
    names = {topic: name for name, topic in sources.items() if topic is not None}
    for topic in set(stops).intersection(reader.topics):
        require_topic(reader, topic, BOOL)
        names[topic] = topic
    return names, joint_states


def _times(
    recorded: list[Message], joint_states: str, commands: str
) -> tuple[list[int], list[int]]:
    """Return the ``arrival_times`` of all joint states, and the indices of those that a recorded command answers."""
    states, answers = (
        np.array(
            [
                stamp_of(message.data) or 0
                for message in recorded
                if message.topic == topic
            ],
            dtype=np.int64,
        )
        for topic in (joint_states, commands)
    )
    received = [
        message.received for message in recorded if message.topic == joint_states
    ]
    reported = [
        message.received
        for message in recorded
        if message.kind == DIAGNOSTIC_ARRAY
        and any(
            status.before and status.cause in _LATE
            for status in read_statuses(message) or ()
        )
    ]
    answered = np.flatnonzero(np.isin(states, answers))
    chosen = answered if len(answered) else np.arange(len(states))
    return arrival_times(
        np.array(received), states, chosen, np.array(reported)
    ).tolist(), answered.tolist()


def arrival_times(
    received: IntArray, stamps: IntArray, answered: IntArray, reported: IntArray
) -> IntArray:
    """Return the times of arrival (m,) of m states at the controller; all times are in ns.

    The recorder received them at ``received`` (m,), possibly later than the controller did: an answered state counts as
    received when its stamp plus the least delay so far, of arrival by stamp, has come, others not later than the next
    answered one. Delays that the controller itself has reported are kept. States received at 0, before the first
    /clock, count as received with the first one after.

    Parameters
    ----------
    received, stamps
        Times of arrival at the recorder, in order, and header.stamp (m,).
    answered
        Indices (k,) of the states that a command answers, or of all.
    reported
        Times of arrival (j,) at the recorder of reports of the controller that states were late.
    """
    if not len(received):
        return received
    received = np.maximum(received, received[np.argmax(received > 0)])
    arrivals = received.copy()
    # A clock that jumps back or stands still starts anew, as do the states around a report.
    jumps = np.flatnonzero(np.diff(stamps[answered]) <= 0) + 1
    late = np.searchsorted(received[answered], reported)
    starts = np.unique(
        np.concatenate([jumps, *(np.maximum(late - k, 0) for k in range(3))])
    )
    for part in np.split(answered, starts):
        arrivals[part] = stamps[part] + np.minimum.accumulate(
            received[part] - stamps[part]
        )
    return np.minimum.accumulate(arrivals[::-1])[::-1]


def _held_position(reader: JointStateReader, data: bytes) -> Array | None:
    """Return the position (n,) that a recorded command ``data`` holds; None if it moves or cannot be read."""
    try:
        command = reader.read(data)
    except RobotDynamicsError:
        return None
    if command is None:
        return None
    return command.q if command.qd is not None and not command.qd.any() else None
