"""The controller run again on a recording."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags.reader import BagReader, find_topic
from robot_dynamics_ros.bags.storage import (
    BOOL,
    DIAGNOSTIC_ARRAY,
    JOINT_STATE,
    TEXT,
    Message,
    message_types,
    text_message,
)
from robot_dynamics_ros.bags.writing import LATCHED, BagWriter
from robot_dynamics_ros.control.configuration import TOPIC, Configuration
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Transition
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.warm_up import rehearse
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.hand_target import TARGETS
from robot_dynamics_ros.messages.joint_state import JointStateReader, Sample, renaming, stamp_of
from robot_dynamics_ros.messages.running_controller import RunningController, is_engaged
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.offline.replay_outputs import BagClocks, BagLog, BagOutputs, FaultRecorder
from robot_dynamics_ros.progress import progress

_WATCH_PERIOD = 20_000_000  # ns, as in the node


class NodeTimers:
    """What the node's timers do between two messages."""

    def __init__(self, clocks: BagClocks, running: RunningController, settings: ControllerSettings) -> None:
        self._clocks, self._running = clocks, running
        self._period = round(1e9 / settings.update_rate) if settings.update_rate > 0.0 else 0
        # What a missing state leads to is over after this: longer gaps need no more looks.
        safety = settings.safety
        self._patience = safety.state_timeout + safety.stale_hold_time + 1.0
        self._watch: float = math.inf
        self._tick: float = math.inf
        self._begun = False

    def until(self, at: int) -> None:
        """Let the time go on to ``at`` (ns), when the next message comes."""
        if not self._begun:
            self._begun = True
            self._watch, self._tick = at + _WATCH_PERIOD, at + self._period if self._period else math.inf
        last = self._clocks.at
        while (then := min(self._watch, self._tick)) <= at:
            self._clocks.at = int(then)
            if self._tick <= self._watch:
                self._tick += self._period
                self._running.tick()
            else:
                self._watch += _WATCH_PERIOD
                self._running.watch()
                if (then - last) * 1e-9 > self._patience or math.isinf(self._patience):
                    self._watch = at + _WATCH_PERIOD
        self._clocks.at = at


INPUTS = {
    "joint_states": JOINT_STATE,
    "joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "speed_scaling_factor": "std_msgs/msg/Float64",
    "emergency_stop": BOOL,
    "payload": "geometry_msgs/msg/InertiaStamped",
    **TARGETS,
}
"""What a controller listens to, and the types."""
COMMANDS = "/computed_torque_node/command_states"
DIAGNOSTICS = "/diagnostics"


@dataclass(frozen=True)
class Replay:
    """What became of a recording.

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
    rehearse(model, settings)
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
        if sources["joint_states"] is None:
            raise BagError(f"{bag}: no topic joint_states. Cure: name it, as joint_states=/arm/joint_states")
        commands = command_topic(reader, given.get("command_states"))
        player = _Player(reader, {topic: name for name, topic in sources.items() if topic is not None}, commands)
        own = f"{commands.rpartition('/')[0]}/{TOPIC}"
        written = {commands: JOINT_STATE, DIAGNOSTICS: DIAGNOSTIC_ARRAY} | ({own: TEXT} if configuration else {})
        writer = stack.enter_context(BagWriter(output, written, {own: [LATCHED]}))
        first = [] if configuration is None else [(own, text_message(configuration.text()))]
        return player.play(model, settings, writer, renaming(rename or {}), activation_check, first)


class _Player:
    """A recording on its way into a controller."""

    def __init__(self, reader: BagReader, names: Mapping[str, str], commands: str) -> None:
        """``names`` maps the bag's topics to the controller's names; ``commands`` is that of the commands."""
        self._reader = reader
        self._names = names
        self._commands = commands
        self._clocks = BagClocks()
        self._log = BagLog(self._clocks)

    def play(
        self,
        model: RobotModel,
        settings: ControllerSettings,
        writer: BagWriter,
        renamed: Callable[[str], str],
        activation_check: bool,
        first: Sequence[tuple[str, bytes]],
    ) -> Replay:
        """Write the ``first`` messages, topic and data, and pass every message on; raises as ``replay``."""
        outputs = BagOutputs(writer, self._commands, model.joint_names, self._clocks)
        node = self._commands.rsplit("/", 1)[0]
        faults = FaultRecorder(writer, DIAGNOSTICS, node, model.name, self._clocks, self._log)
        running = RunningController(model, settings, self._clocks, outputs, faults, self._log, renamed)
        running.check_start([], activation_check)
        self._timers = NodeTimers(self._clocks, running, settings)
        joint_states = next(topic for topic, name in self._names.items() if name == "joint_states")
        part = self._answered(joint_states, JointStateReader(model.joint_names, joint_states, renamed))
        if part is not None and part.held is not None:
            running.controller.hold_from_the_start(part.held)
        states = 0
        messages = self._reader.messages(self._names)
        for message in progress(messages, "replay", self._reader.count(self._names)):
            self._timers.until(message.received)
            if message.topic != joint_states:
                self._receive(running, message)
            elif part is None or part.has(message):
                for topic, data in first if states == 0 else ():
                    writer.write(topic, message.received, data)
                states += 1
                running.receive_state(message.data)
            elif part.over:
                break
        if not outputs.count:
            reason = running.controller.feedback.trouble.partition(". Cure: ")[0]
            raise BagError(
                f"{self._reader.path}: nothing was commanded: {reason}. Cure: --rename, --topic, or another robot"
            )
        return Replay(states, outputs.count, tuple(faults.all), dict(outputs.saturated))

    def _answered(self, joint_states: str, reader: JointStateReader) -> _ReplayPart | None:
        """Return the part of the recording that its own controller answered; None where that is not known."""
        if self._commands not in self._reader.topics:
            return None
        answers = progress(
            self._reader.messages([self._commands]), "live commands", self._reader.count([self._commands])
        )
        first = next(answers, None)
        command = None if first is None else reader.read(first.data)
        if first is None or command is None:
            return None
        (last,) = deque(answers, maxlen=1) or (first,)
        state = self._first_since(command.at, joint_states, reader)
        if state is None:
            return None
        if command.qd is None or command.qd.any():
            self._log.warning(
                "the recording begins in the middle of a motion, so that what is commanded until the next trajectory "
                "differs. Cure: start the recorder before the motion"
            )
            return _ReplayPart(None, state.at, stamp_of(last.data), last.received)
        return _ReplayPart(command.q, state.at, stamp_of(last.data), last.received)

    def _first_since(self, at: int, joint_states: str, reader: JointStateReader) -> Sample | None:
        for message in self._reader.messages([joint_states]):
            try:
                state = reader.read(message.data)
            except RobotDynamicsError:
                continue
            if state is not None and state.at >= at:
                return state
        return None

    def _receive(self, running: RunningController, message: Message) -> None:
        name = self._names[message.topic]
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
        except RobotDynamicsError as problem:
            self._log.error(f"{message.topic} refused: {problem}")
        except Exception:  # whatever broken bytes lead to
            self._log.error(f"{message.topic} refused: a message of {len(message.data)} bytes is no {message.kind}")


class _ReplayPart:
    """The states from the first that was answered to the last.

    Attributes
    ----------
    held
        Where the arm was held (n,) when it began; None where it moved.
    over
        Whether the last has come.
    """

    def __init__(self, held: Array | None, first: int, last: int | None, last_received: int) -> None:
        """Stamps (ns) of both, and when the answer to the last arrived."""
        self.held = held
        self._first, self._last = first, last
        # The answer is not much later than the state; where time loops, there are several of one stamp.
        self._near_end = last_received - 1_000_000_000
        self._begun = self._at_end = self.over = False

    def has(self, message: Message) -> bool:
        """Whether the next state of the recording is part of it."""
        stamp = stamp_of(message.data)
        self._begun = self._begun or stamp == self._first
        if stamp == self._last:
            self._at_end = message.received >= self._near_end
        elif self._at_end:
            self.over = True
        return self._begun and not self.over
