"""The controller run again on a recording."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from robot_dynamics_ros.bags.reader import BagReader, find_topic
from robot_dynamics_ros.bags.storage import (
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    LATCHED,
    TEXT,
    BagWriter,
    Message,
    text_message,
)
from robot_dynamics_ros.control.controller import warm_up_controller
from robot_dynamics_ros.control.feedback import Sample
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.parameters import CONFIGURATION_TOPIC, Configuration
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.inputs import INPUTS, TARGETS, InputReader
from robot_dynamics_ros.messages.joint_state import JointStateReader, renaming, stamp_of
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.recorder import COMMANDS, DIAGNOSTICS, NodeTimers, Replay, SessionRecorder, time_of
from robot_dynamics_ros.progress import progress

_logger = logging.getLogger(__name__)


def command_topic(reader: BagReader, given: str | None = None) -> str:
    """Return the topic to write commands to: the one given, else the bag's own, else COMMANDS."""
    if given is not None:
        return given if given.startswith("/") else f"/{given}"
    return find_topic(reader, "command_states", JOINT_STATE) or COMMANDS


def replay(
    bag: str | Path,
    output: str | Path,
    model: RobotModel,
    settings: ControllerSettings,
    *,
    topics: Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    activation_check: bool = True,
    configuration: Configuration | None = None,
) -> Replay:
    """Feed a recording to the node's controller, and write what it commands to a new MCAP bag.

    The controller has the time of the recording: stamps of joint_states and, for what is stale or late, times of
    arrival. Commands and changes of mode (/diagnostics) are written with the time of arrival of the message that
    they answer, so that the same input gives the same bytes. With ``update_rate`` 0, a recording that begins before
    the controller, and trajectories with a stamp to come, the commands are those of the live node, bit for bit. Where
    the recording has the live node's commands, too, it begins with the first state that they answer and ends with the
    last, as recorders start and end at one topic before another; and what the first of them holds is held.

    ``topics`` maps the controller's own names (INPUTS, command_states) to those of the bag; without it each is the
    only one of that name. ``rename`` maps joint names of the bag, or what they begin with, to the model's.
    ``activation_check`` compares measured efforts with the model's first, as the node does. ``configuration``, of which
    model and settings are made, is written to the topic ~/configuration.

    Raises BagError where the bag cannot be read or the output not written, and RobotDynamicsError where the check
    refuses the model; the message names the culprit and the cure. What was written until then stays.
    """
    given = dict(topics or {})
    unknown = sorted(set(given) - {*INPUTS, "command_states"})
    if unknown:
        raise BagError(f"no input {', '.join(unknown)}. Cure: use {', '.join(INPUTS)} or command_states")
    warm_up_controller(model, settings)
    # A recording may begin in the middle of a motion.
    settings = replace(settings, safety=replace(settings.safety, activation_max_velocity=math.inf))
    with ExitStack() as stack:
        reader = stack.enter_context(BagReader(bag))
        follows_targets = LAWS[settings.law].task_space
        sources = {
            name: find_topic(reader, name, kind, given.get(name))
            for name, kind in INPUTS.items()
            if name not in TARGETS or follows_targets  # others may have topics of these names, too
        }
        joint_states = sources["joint_states"]
        if joint_states is None:
            raise BagError(f"{bag}: no topic joint_states. Cure: name it, as joint_states=/arm/joint_states")
        names = {topic: name for name, topic in sources.items() if topic is not None}
        commands = command_topic(reader, given.get("command_states"))
        own = f"{commands.rpartition('/')[0]}/{CONFIGURATION_TOPIC}"
        written = {commands: JOINT_STATE, DIAGNOSTICS: DIAGNOSTIC_ARRAY} | ({own: TEXT} if configuration else {})
        writer = stack.enter_context(BagWriter(output, written, {own: [LATCHED]}))
        renamed = renaming(rename or {})
        session = ControllerSession(model, settings)
        inputs = InputReader(session, joint_states, renamed)
        recorder = SessionRecorder(writer, commands, session)
        state_reader = JointStateReader(model.joint_names, joint_states, renamed)
        part = _answered_part(reader, commands, joint_states, state_reader)
        session.activate(activation_check, None if part is None else part.held)
        timers = NodeTimers(session, settings)
        states = 0
        for message in progress(reader.messages(names), "replay", reader.count(names)):
            for at, result in timers.until(message.received):
                recorder.write(at, result)
            if message.topic == joint_states:
                if part is not None and not part.has(message):
                    if part.over:
                        break
                    continue
                if states == 0 and configuration is not None:
                    writer.write(own, message.received, text_message(configuration.text()))
                states += 1
            result = inputs.receive(names[message.topic], message.data, time_of(message.received))
            recorder.write(message.received, result)
        if not recorder.count:
            assert session.controller is not None
            reason = session.controller.feedback.trouble.partition(". Cure: ")[0]
            raise BagError(f"{reader.path}: nothing was commanded: {reason}. Cure: --rename, --topic, or another robot")
        return recorder.outcome(states)


def _answered_part(bag: BagReader, commands: str, joint_states: str, reader: JointStateReader) -> _ReplayPart | None:
    """Return the part of the recording that its own controller answered; None where that is not known."""
    if commands not in bag.topics:
        return None
    answers = progress(bag.messages([commands]), "live commands", bag.count([commands]))
    first = next(answers, None)
    command = None if first is None else reader.read(first.data)
    if first is None or command is None:
        return None
    (last,) = deque(answers, maxlen=1) or (first,)
    state = _first_since(command.stamp, bag.messages([joint_states]), reader)
    if state is None:
        return None
    held: Array | None = command.q
    if command.qd is None or command.qd.any():
        held = None
        _logger.warning(
            "the recording begins in the middle of a motion, so that what is commanded until the next trajectory "
            "differs. Cure: start the recorder before the motion"
        )
    return _ReplayPart(held, state.stamp, stamp_of(last.data), last.received)


def _first_since(at: int, messages: Iterable[Message], reader: JointStateReader) -> Sample | None:
    """Return the first state that can be read and has a stamp of ``at`` (ns) or later."""
    for message in messages:
        try:
            state = reader.read(message.data)
        except RobotDynamicsError:
            continue
        if state is not None and state.stamp >= at:
            return state
    return None


class _ReplayPart:
    """The states from the first that was answered to the last.

    Attributes
    ----------
    held
        Position (n,) that was held when it began; None where the arm moved.
    over
        True once the last state has come.
    """

    def __init__(self, held: Array | None, first: int, last: int | None, last_received: int) -> None:
        """Stamps (ns) of both, and when the answer to the last arrived."""
        self.held = held
        self._first, self._last = first, last
        # The answer is not much later than the state; where time loops, there are several of one stamp.
        self._near_end = last_received - 1_000_000_000
        self._begun = self._at_end = self.over = False

    def has(self, message: Message) -> bool:
        """Return True if the next state of the recording is part of it."""
        stamp = stamp_of(message.data)
        self._begun = self._begun or stamp == self._first
        if stamp == self._last:
            self._at_end = message.received >= self._near_end
        elif self._at_end:
            self.over = True
        return self._begun and not self.over
