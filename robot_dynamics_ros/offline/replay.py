"""The controller run again on a recording."""

from __future__ import annotations

import logging
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice, repeat
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

_PATIENCE = 60_000_000_000  # ns from a state to the command that answers it

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

    Raises BagError if the bag cannot be read or the output not written, and RobotDynamicsError if the check
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
        timers = NodeTimers(session, settings)
        answered = _AnsweredPart(commands, joint_states, JointStateReader(model.joint_names, joint_states, renamed))
        read = [*names, commands] if reader.count([commands]) else [*names]
        messages = progress(reader.messages(read), "replay", reader.count(read))
        inputs_read = answered.messages(messages) if commands in read else zip(messages, repeat(True))
        beginning = list(islice(inputs_read, 1))
        session.activate(activation_check, answered.held)
        states = 0
        for message, counts in chain(beginning, inputs_read):
            for at, result in timers.until(message.received):
                recorder.write(at, result)
            if message.topic == joint_states:
                if not counts:
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


class _AnsweredPart:
    """The part of a recording that its own controller answered, found while the recording is read once.

    Inputs wait until a command answers the state behind them, or for ``_PATIENCE``.

    Attributes
    ----------
    held
        Position (n,) that was held when the part began; None if it is not known, or the arm moved. It is set before
        the first input is given.
    """

    def __init__(self, commands: str, joint_states: str, reader: JointStateReader) -> None:
        """``commands`` and ``joint_states`` are topics; ``reader`` reads both."""
        self.held: Array | None = None
        self._commands, self._joint_states, self._reader = commands, joint_states, reader
        self._waiting: deque[tuple[Message, int | None]] = deque()  # inputs, with the stamp (ns) of a state
        self._stamps: Counter[int] = Counter()  # of the states among them
        self._begin: int | None = None  # stamp of the first state that was answered
        self._last: int | None = None  # stamp of the last command
        self._begun = False
        self._many = 10_000

    def messages(self, messages: Iterable[Message]) -> Iterator[tuple[Message, bool]]:
        """Yield the inputs, and True for those that count: all but states before the first that was answered.

        They end behind the last state that was answered, or that a command followed within ``_PATIENCE``. All count
        where the first command cannot be read, or the commands do not have the stamps of the states.
        """
        rest = iter(messages)
        is_known = self._find_begin(rest)
        self._begun = not is_known
        has_answers = False
        while is_known:
            if self._last is not None and self._stamps[self._last]:
                has_answers = True
                yield from self._through(self._last)
            message = next(rest, None)
            if message is None or self._waits_too_long(message):
                break
            self._take(message)
        if not has_answers:
            yield from self._through(None)
            yield from ((message, True) for message in rest if message.topic != self._commands)
            return
        for message, stamp in self._waiting:
            is_later = stamp not in (None, self._last)
            yield message, not is_later
            if is_later:
                return

    def _take(self, message: Message) -> None:
        if message.topic == self._commands:
            self._last = stamp_of(message.data)
            return
        stamp = (stamp_of(message.data) or 0) if message.topic == self._joint_states else None
        self._waiting.append((message, stamp))
        if stamp is not None:
            self._stamps[stamp] += 1

    def _waits_too_long(self, message: Message) -> bool:
        return bool(self._waiting) and message.received - self._waiting[0][0].received > _PATIENCE

    def _through(self, stamp: int | None) -> Iterator[tuple[Message, bool]]:
        """Yield what waits, through the last state of a stamp; None: all."""
        while self._waiting and (stamp is None or self._stamps[stamp]):
            message, own = self._waiting.popleft()
            if own is not None:
                self._stamps[own] -= 1
                if not self._stamps[own]:
                    del self._stamps[own]
                self._begun = self._begun or own == self._begin
            yield message, own is None or self._begun

    def _find_begin(self, rest: Iterator[Message]) -> bool:
        """Take messages until the first state that was answered; return False where it is not known."""
        command: Sample | None = None
        for message in rest:
            self._take(message)
            if message.topic == self._commands and command is None:
                command = self._read(message)
                if command is None:
                    return False
                candidates = [other for other, stamp in self._waiting if stamp is not None]
            else:
                candidates = [message] if message.topic == self._joint_states else []
            if command is None:
                self._forget(message.received - _PATIENCE)
                continue
            for candidate in candidates:
                state = self._read(candidate)
                if state is not None and state.stamp >= command.stamp:
                    self._begin = state.stamp
                    self._hold(command)
                    return True
            if self._waits_too_long(message):
                return False
        return False

    def _forget(self, before: int) -> None:
        """Now and then drop states that arrived before a time (ns), but not the first message: it starts the timers."""
        if len(self._waiting) < self._many:
            return
        first, *others = self._waiting
        late = [(message, stamp) for message, stamp in others if stamp is None or message.received >= before]
        self._waiting = deque([first, *late])
        self._stamps = Counter(stamp for _, stamp in self._waiting if stamp is not None)
        self._many = 2 * len(self._waiting)

    def _read(self, message: Message) -> Sample | None:
        try:
            return self._reader.read(message.data)
        except RobotDynamicsError:
            return None

    def _hold(self, command: Sample) -> None:
        if command.qd is not None and not command.qd.any():
            self.held = command.q
            return
        _logger.warning(
            "the recording begins in the middle of a motion, so that what is commanded until the next trajectory "
            "differs. Cure: start the recorder before the motion"
        )
