"""What a replayed controller has around it in place of ROS: the recording's time, a bag, and a log."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from robot_dynamics_ros.bags.storage import DIAGNOSTIC_ARRAY, message_types
from robot_dynamics_ros.bags.writing import BagWriter
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.safety import Transition
from robot_dynamics_ros.control.status import StatusReport, in_words, plain
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.joint_state import JointStateWriter

_logger = logging.getLogger(__name__)
_SECOND = 1_000_000_000


class BagClocks:
    """The time of the recording.

    Attributes
    ----------
    at
        Time of arrival (ns) of what is being read.
    """

    def __init__(self) -> None:
        self.at = 0

    def steady(self) -> float:
        """Return seconds."""
        return self.at * 1e-9

    def now(self) -> int:
        """Return nanoseconds."""
        return self.at


class BagLog:
    """Says on the log what the node would say, with the recording's time; what comes again and again, once."""

    def __init__(self, clocks: BagClocks) -> None:
        self._said: set[str] = set()
        self._clocks = clocks
        self._begin: int | None = None

    def info(self, message: str) -> None:
        """Say what happens."""
        _logger.info(self._dated(message))

    def warning(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Say what is doubtful; only once where the node would say it every so many seconds."""
        if self._is_new(message, throttle_duration_sec):
            _logger.warning(self._dated(message))

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Say what is wrong; only once where the node would say it every so many seconds."""
        if self._is_new(message, throttle_duration_sec):
            _logger.error(self._dated(message))

    def _is_new(self, message: str, throttle_duration_sec: float) -> bool:
        if throttle_duration_sec == 0.0:
            return True
        kind = " ".join(message.split()[:3])  # the rest tells joints and numbers
        said = kind in self._said
        self._said.add(kind)
        return not said

    def _dated(self, message: str) -> str:
        if self._begin is None:
            self._begin = self._clocks.at
        return f"at {(self._clocks.at - self._begin) * 1e-9:.3f} s: {message}"


class BagOutputs:
    """Writes commands to a bag, as ~/command_states.

    Attributes
    ----------
    count
        How many.
    saturated
        How many of them a joint's effort limit cut, by joint.
    trajectory_is_wanted
        False: a recording has nobody to take trajectories.
    """

    trajectory_is_wanted = False

    def __init__(self, writer: BagWriter, topic: str, joint_names: Sequence[str], clocks: BagClocks) -> None:
        self.count = 0
        self.saturated: Counter[str] = Counter()
        self._writer, self._topic, self._clocks = writer, topic, clocks
        self._joint_state = JointStateWriter(joint_names, numbered=True)
        self._last, self._number = b"", 0

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
            self._writer.write(self._topic, self._clocks.at, self._last)

    def unasked(self, command: Command) -> None:
        """A command that answers no state is no command state."""

    def external_torque(self, torque: Array, at: int) -> None:
        """Left out: commands and faults are what a replay is for."""

    def trajectory(self, data: bytes) -> None:
        """Nobody takes it."""


class FaultRecorder:
    """Writes every change of mode to a bag, as the node's /diagnostics, and says it.

    Attributes
    ----------
    all
        The changes.
    """

    def __init__(self, writer: BagWriter, topic: str, node: str, robot: str, clocks: BagClocks, log: BagLog) -> None:
        self.all: list[Transition] = []
        self._writer, self._topic, self._clocks, self._log = writer, topic, clocks, log
        self._node, self._robot = node, robot
        self._status: StatusReport | None = None

    def transitions(self, controller: Controller, stamp: int) -> None:
        """Write the transitions since the last call; ``stamp`` (ns) is that of the state."""
        if self._status is None:
            self._status = StatusReport(self._clocks.steady())
        for transition in controller.take_transitions():
            self.all.append(transition)
            _, text = in_words(transition, "fault_reset: auto; a recording has no call of clear_fault")
            self._log.warning(text)
            self._write(controller, transition, (self._clocks.at - stamp) * 1e-9)

    def waiting(self, controller: Controller) -> None:
        """Say that nothing is commanded yet, and why."""
        self._log.warning(f"nothing is commanded yet: {controller.feedback.trouble}", throttle_duration_sec=5.0)

    def _write(self, controller: Controller, transition: Transition, stamp_age: float) -> None:
        assert self._status is not None
        status = self._status.status(controller, self._clocks.steady(), stamp_age, transition)
        store: Any = message_types()
        types = store.types
        seconds, nanoseconds = divmod(self._clocks.at, _SECOND)
        header = types["std_msgs/msg/Header"](
            stamp=types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds), frame_id=""
        )
        pairs = [
            types["diagnostic_msgs/msg/KeyValue"](key=key, value=plain(value)) for key, value in status.values.items()
        ]
        told = types["diagnostic_msgs/msg/DiagnosticStatus"](
            level=status.level,
            name=f"{self._node.lstrip('/')}: controller",
            message=status.message,
            hardware_id=self._robot,
            values=pairs,
        )
        message = types[DIAGNOSTIC_ARRAY](header=header, status=[told])
        data = store.serialize_cdr(message, DIAGNOSTIC_ARRAY)
        self._writer.write(self._topic, self._clocks.at, bytes(data))
