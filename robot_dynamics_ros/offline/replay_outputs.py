"""The surroundings of an offline controller in place of ROS: time, a bag, and a log."""

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

DIAGNOSTICS = "/diagnostics"

_logger = logging.getLogger(__name__)


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
