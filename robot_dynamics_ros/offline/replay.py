"""The controller run again on a recording."""

from __future__ import annotations

import logging
import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags.reader import BagReader, find_topic
from robot_dynamics_ros.bags.storage import (
    BOOL,
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    JOINT_TRAJECTORY,
    LATCHED,
    TEXT,
    BagWriter,
    Message,
    message_types,
    text_message,
)
from robot_dynamics_ros.control.controller import Command, Controller, warm_up_controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.parameters import CONFIGURATION_TOPIC, Configuration
from robot_dynamics_ros.control.safety import Transition
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.status import StatusReport, in_words, plain
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import TARGETS
from robot_dynamics_ros.messages.joint_state import JointStateReader, JointStateWriter, Sample, renaming, stamp_of
from robot_dynamics_ros.messages.running_controller import RunningController, is_engaged
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.progress import progress

COMMANDS = "/computed_torque_node/command_states"
DIAGNOSTICS = "/diagnostics"
INPUTS = {
    "joint_states": JOINT_STATE,
    "joint_trajectory": JOINT_TRAJECTORY,
    "speed_scaling_factor": "std_msgs/msg/Float64",
    "emergency_stop": BOOL,
    "payload": "geometry_msgs/msg/InertiaStamped",
    **TARGETS,
}
"""The inputs of a controller, and their types."""

_WATCH_PERIOD = 20_000_000  # ns, as in the node

_logger = logging.getLogger(__name__)


class NodeTimers:
    """The node's timers, run between two messages by the time of the recording."""

    def __init__(self, outputs: BagOutputs, running: RunningController, settings: ControllerSettings) -> None:
        self._outputs, self._running = outputs, running
        self._period = round(1e9 / settings.update_rate) if settings.update_rate > 0.0 else 0
        # After this gap (s) the fallback no longer changes; later checks are skipped.
        self._patience = settings.safety.state_timeout + settings.safety.stale_hold_time + 1.0
        self._watch: float = math.inf
        self._tick: float = math.inf
        self._begun = False

    def until(self, at: int) -> None:
        """Advance the time to ``at`` (ns), when the next message comes."""
        if not self._begun:
            self._begun = True
            self._watch, self._tick = at + _WATCH_PERIOD, at + self._period if self._period else math.inf
        last = self._outputs.at
        while (then := min(self._watch, self._tick)) <= at:
            self._outputs.at = int(then)
            if self._tick <= self._watch:
                self._tick += self._period
                self._running.tick()
            else:
                self._watch += _WATCH_PERIOD
                self._running.watch()
                if (then - last) * 1e-9 > self._patience or math.isinf(self._patience):
                    self._watch = at + _WATCH_PERIOD
        self._outputs.at = at


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay.

    Attributes
    ----------
    states, commands
        Messages read and written.
    transitions
        Every change of mode.
    saturated
        How many commands a joint's effort limit cut, by joint.
    """

    states: int
    commands: int
    transitions: tuple[Transition, ...]
    saturated: Mapping[str, int]


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
        outputs = BagOutputs(writer, commands, model.joint_names, model.name)
        renamed = renaming(rename or {})
        running = RunningController(model, settings, outputs, outputs, outputs, outputs, renamed)
        running.check_start([], activation_check)
        timers = NodeTimers(outputs, running, settings)
        state_reader = JointStateReader(model.joint_names, joint_states, renamed)
        part = _answered_part(reader, commands, joint_states, state_reader, outputs)
        if part is not None and part.held is not None:
            running.controller.hold_from_the_start(part.held)
        states = 0
        for message in progress(reader.messages(names), "replay", reader.count(names)):
            timers.until(message.received)
            if message.topic != joint_states:
                _receive(running, names[message.topic], message, outputs)
            elif part is None or part.has(message):
                if states == 0 and configuration is not None:
                    writer.write(own, message.received, text_message(configuration.text()))
                states += 1
                running.receive_state(message.data)
            elif part.over:
                break
        if not outputs.count:
            reason = running.controller.feedback.trouble.partition(". Cure: ")[0]
            raise BagError(f"{reader.path}: nothing was commanded: {reason}. Cure: --rename, --topic, or another robot")
        return Replay(states, outputs.count, tuple(outputs.changes), dict(outputs.saturated))


def _receive(running: RunningController, name: str, message: Message, outputs: BagOutputs) -> None:
    """Pass on a message of the input ``name``, other than joint_states."""
    if name == "joint_trajectory":
        running.receive_trajectory(message.data)
        return
    if name == "emergency_stop":
        running.controller.emergency_stop(is_engaged(message.data))
        return
    if name in TARGETS:
        running.receive_target(name, message.data)
        return
    try:
        content: Any = message_types().deserialize_cdr(message.data, message.kind)
        if name == "speed_scaling_factor":
            running.controller.set_speed_scaling(content.data)
        else:
            i = content.inertia
            inertia = i.ixx, i.ixy, i.ixz, i.iyy, i.iyz, i.izz
            running.controller.set_payload(content.header.frame_id, i.m, (i.com.x, i.com.y, i.com.z), inertia)
    except RobotDynamicsError as error:
        outputs.error(f"{message.topic} refused: {error}")
    except Exception:  # whatever broken bytes lead to
        outputs.error(f"{message.topic} refused: a message of {len(message.data)} bytes is no {message.kind}")


def _answered_part(
    bag: BagReader, commands: str, joint_states: str, reader: JointStateReader, outputs: BagOutputs
) -> _ReplayPart | None:
    """Return the part of the recording that its own controller answered; None where that is not known."""
    if commands not in bag.topics:
        return None
    answers = progress(bag.messages([commands]), "live commands", bag.count([commands]))
    first = next(answers, None)
    command = None if first is None else reader.read(first.data)
    if first is None or command is None:
        return None
    (last,) = deque(answers, maxlen=1) or (first,)
    state = _first_since(command.at, bag.messages([joint_states]), reader)
    if state is None:
        return None
    held: Array | None = command.q
    if command.qd is None or command.qd.any():
        held = None
        outputs.warning(
            "the recording begins in the middle of a motion, so that what is commanded until the next trajectory "
            "differs. Cure: start the recorder before the motion"
        )
    return _ReplayPart(held, state.at, stamp_of(last.data), last.received)


def _first_since(at: int, messages: Iterable[Message], reader: JointStateReader) -> Sample | None:
    """Return the first state that can be read and has a stamp of ``at`` (ns) or later."""
    for message in messages:
        try:
            state = reader.read(message.data)
        except RobotDynamicsError:
            continue
        if state is not None and state.at >= at:
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


class BagOutputs:
    """Clocks, Outputs, Report and Log of a RunningController: messages go to a bag, time is set from outside.

    Commands are written as ~/command_states, every change of mode as the node's /diagnostics. Log lines have the time
    since the first one; a repeated one is logged once where the node throttles it.

    Attributes
    ----------
    at
        The time (ns).
    count
        Commands that were written.
    saturated
        How many of them a joint's effort limit cut, by joint.
    changes
        The changes of mode.
    has_trajectory_subscribers
        False: nobody takes trajectories with effort.
    """

    has_trajectory_subscribers = False

    def __init__(self, writer: BagWriter, commands: str, joint_names: Sequence[str], robot: str) -> None:
        """``commands`` is the topic of the commands, ``robot`` the robot's name for diagnostics."""
        self.at = 0
        self.count = 0
        self.saturated: Counter[str] = Counter()
        self.changes: list[Transition] = []
        self._writer, self._commands, self._robot = writer, commands, robot
        self._joint_state = JointStateWriter(joint_names, numbered=True)
        self._last, self._number = b"", 0
        self._status: StatusReport | None = None
        self._logged: set[str] = set()
        self._first_logged: int | None = None

    def steady(self) -> float:
        """Return the time in seconds."""
        return self.at * 1e-9

    def now(self) -> int:
        """Return the time in nanoseconds."""
        return self.at

    def command(self, command: Command, answered: int) -> None:
        """Write a command, with the stamp (ns) of the state that it answers."""
        self.saturated.update(command.saturated)
        desired = command.desired
        self._number += 1
        self._last = self._joint_state.write(answered, desired.q, desired.qd, command.effort, self._number)
        self.repeat()

    def repeat(self) -> None:
        """Write the last command once more."""
        if self._last:
            self.count += 1
            self._writer.write(self._commands, self.at, self._last)

    def unsolicited(self, command: Command) -> None:
        """Ignore a command that answers no state."""

    def external_torque(self, torque: Array, at: int) -> None:
        """Ignore the observed torque: a replay is for commands and faults."""

    def trajectory(self, data: bytes) -> None:
        """Ignore a trajectory with effort."""

    def transitions(self, controller: Controller, stamp: int) -> None:
        """Write and log the transitions since the last call; ``stamp`` (ns) is that of the state."""
        if self._status is None:
            self._status = StatusReport(self.steady())
        for transition in controller.take_transitions():
            self.changes.append(transition)
            _, text = in_words(transition, "fault_reset: auto; a recording has no call of clear_fault")
            self.warning(text)
            status = self._status.status(controller, self.steady(), (self.at - stamp) * 1e-9, transition)
            types: Any = message_types().types
            seconds, nanoseconds = divmod(self.at, 1_000_000_000)
            time = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
            message = types[DIAGNOSTIC_ARRAY](
                header=types["std_msgs/msg/Header"](stamp=time, frame_id=""),
                status=[
                    types["diagnostic_msgs/msg/DiagnosticStatus"](
                        level=status.level,
                        name=f"{self._commands.rpartition('/')[0].lstrip('/')}: controller",
                        message=status.message,
                        hardware_id=self._robot,
                        values=[
                            types["diagnostic_msgs/msg/KeyValue"](key=key, value=plain(value))
                            for key, value in status.values.items()
                        ],
                    )
                ],
            )
            data = message_types().serialize_cdr(message, DIAGNOSTIC_ARRAY)
            self._writer.write(DIAGNOSTICS, self.at, bytes(data))

    def waiting(self, controller: Controller) -> None:
        """Log why nothing is commanded yet."""
        self.warning(f"nothing is commanded yet: {controller.feedback.trouble}", throttle_duration_sec=5.0)

    def info(self, message: str) -> None:
        """Log an event."""
        self._log(logging.INFO, message)

    def warning(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Log a warning, only once where it is throttled."""
        self._log(logging.WARNING, message, throttle_duration_sec)

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Log an error, only once where it is throttled."""
        self._log(logging.ERROR, message, throttle_duration_sec)

    def _log(self, level: int, message: str, throttle_duration_sec: float = 0.0) -> None:
        if throttle_duration_sec:
            kind = " ".join(message.split()[:3])  # joints and numbers follow
            if kind in self._logged:
                return
            self._logged.add(kind)
        if self._first_logged is None:
            self._first_logged = self.at
        _logger.log(level, f"at {(self.at - self._first_logged) * 1e-9:.3f} s: {message}")
