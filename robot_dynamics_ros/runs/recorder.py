"""Recording of a session as bag messages and log lines, and the node's timers by the time of the recording.

Times ``at`` are times of arrival of the recording, in ns on its clock; in a bag they count from 1970.
"""

from __future__ import annotations

import logging
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.controller_status import (
    StatusReport,
    diagnostics_message,
    in_words,
)
from robot_dynamics_ros.control.interface import ERROR, OK, WARN, Note, Output
from robot_dynamics_ros.control.safety import Transition
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.thresholds import WATCH_PERIOD
from robot_dynamics_ros.recordings.bags.storage import (
    DIAGNOSTIC_ARRAY,
    BagWriter,
    message_types,
)
from robot_dynamics_ros.recordings.messages.drive_commands import (
    DriveCommandWriter,
    drive_topic,
)
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter

COMMANDS = "/computed_torque_node/command_states"
DIAGNOSTICS = "/diagnostics"

_WATCH_PERIOD = round(WATCH_PERIOD * 1e9)  # ns
_LOG_LEVELS = {OK: logging.INFO, WARN: logging.WARNING, ERROR: logging.ERROR}

_logger = logging.getLogger(__package__)


def time_of(at: int) -> Now:
    """Return a session's present time with both of its clocks, steady (s) and stamp (ns), set to ``at`` (ns)."""
    return Now(at * 1e-9, lambda: at)


class NodeTimers:
    """The node's timers, called between messages by the time of the recording.

    They call ``session.watch`` every ``session.watch_period`` and, if ``settings.update_rate`` (Hz) is not 0,
    ``session.tick`` at this rate.
    """

    def __init__(
        self, session: ControllerSession, settings: ControllerSettings
    ) -> None:
        self._session = session
        self._period = (
            round(1e9 / settings.update_rate) if settings.update_rate > 0.0 else 0
        )
        # After this gap (s) the fallback no longer changes; later checks are skipped.
        self._patience = (
            settings.safety.state_timeout + settings.safety.stale_hold_time + 1.0
        )
        self._watch: float = math.inf
        self._tick: float = math.inf
        self._last: int | None = None

    def until(self, at: int) -> Iterator[tuple[int, Output]]:
        """Run the timers due up to ``at`` (ns), the next message's arrival; yield time (ns) and output of each call.

        The first call starts them and yields nothing. ``at`` must not decrease.
        """
        if self._last is None:
            self._last = at
            self._watch = at + _WATCH_PERIOD
            self._tick = at + self._period if self._period else math.inf
        while (then := min(self._watch, self._tick)) <= at:
            now = time_of(int(then))
            if self._tick <= self._watch:
                self._tick += self._period
                yield now.stamp, self._session.tick(now)
            else:
                output = self._session.watch(now)
                self._watch += round(self._session.watch_period * 1e9)
                yield now.stamp, output
                if (then - self._last) * 1e-9 > self._patience or math.isinf(
                    self._patience
                ):
                    self._watch = at + _WATCH_PERIOD
        self._last = at


@dataclass(frozen=True)
class Replay:
    """Summary of a replay or a simulation: numbers of states read and of commands written, and changes of mode.

    ``transitions`` are in order; their times (s) are times of arrival, on the clock of the recording. ``saturated`` has
    the number of commands that were cut by a joint's effort limit, by joint; joints without any are missing.
    """

    states: int
    commands: int
    transitions: tuple[Transition, ...]
    saturated: dict[str, int]


class SessionRecorder:
    """Recorder of a session: its commands, changes of mode as /diagnostics, notes as log lines.

    Commands are written as ~/command_states, of which ``commands`` is the full name, and those of drives with a loop of
    their own as drive_commands, too. Log lines contain the time in seconds since the stamp of
    the first answered state, as in a report of the new bag. It is the last state's stamp plus the time since its
    arrival. Notes that the node throttles are logged once. ``count`` is the number of commands written. As a context
    manager it closes the bag, and removes a bag without any command: that of a refused run.
    """

    def __init__(
        self, writer: BagWriter, commands: str, session: ControllerSession
    ) -> None:
        """Create a recorder of ``session`` to the bag of ``writer``; ``commands`` is the topic of the commands."""
        self.count = 0
        self._writer = writer
        self._commands = commands
        self._session = session
        self._joint_state = JointStateWriter(
            session.arm.robot.joint_names, numbered=True
        )
        self._drive_topic = drive_topic(commands)
        self._drive_commands = DriveCommandWriter(len(session.arm.robot.joint_names))
        self._number = 0
        self._saturated: Counter[str] = Counter()
        self._transitions: list[Transition] = []
        self._status: StatusReport | None = None
        self._logged: set[str] = set()
        self._start: int | None = None
        self._state_stamp = self._state_arrival = 0

    def __enter__(self) -> SessionRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        if not self.count:
            shutil.rmtree(self._writer.path)

    def outcome(self, states: int) -> Replay:
        """Return the summary of all that was written; ``states`` is the number of states that the caller has read."""
        return Replay(
            states, self.count, tuple(self._transitions), dict(self._saturated)
        )

    def write(self, at: int, output: Output) -> None:
        """Write commands, changes of mode and notes of ``output``, with the time of arrival ``at`` (ns) of its cause.

        Commands that answer no state are left out. Raises BagError if the disk is full.
        """
        if self._session.state_stamp != self._state_stamp:
            self._state_stamp = self._session.state_stamp
            self._state_arrival = at
        if self._start is None and output.answered is not None:
            self._start = output.answered
        if output.command is not None and output.answered is not None:
            command = output.command
            desired = output.command.desired
            if output.number != self._number:
                self._number = output.number
                self._saturated.update(command.saturated)
            data = self._joint_state.write(
                output.answered, desired.q, desired.qd, command.effort, self._number
            )
            self._writer.write(self._commands, at, data)
            if command.drive is not None:
                data = self._drive_commands.write(output.answered, command.drive)
                self._writer.write(self._drive_topic, at, data)
            self.count += 1
        for transition in output.transitions:
            assert self._session.controller is not None
            self._write_transition(at, transition, self._session.controller)
        for note in output.notes:
            self.log(at, note)

    def _write_transition(
        self, at: int, transition: Transition, controller: Controller
    ) -> None:
        self._transitions.append(transition)
        words = in_words(
            transition, "fault_reset: auto; a recording has no call of clear_fault"
        )
        self.log(at, words._replace(level=WARN))
        now = time_of(at)
        self._status = self._status or StatusReport(now.steady)
        age = (at - self._session.state_stamp) * 1e-9
        status = self._status.status(controller, now.steady, age, transition)
        name = f"{self._commands.rpartition('/')[0].lstrip('/')}: controller"
        robot = self._session.arm.robot.name
        types = message_types()
        message = diagnostics_message(types.types.__getitem__, at, name, robot, status)
        data = types.serialize_cdr(message, DIAGNOSTIC_ARRAY)
        self._writer.write(DIAGNOSTICS, at, bytes(data))

    def log(self, at: int, note: Note) -> None:
        """Log a note for time of arrival ``at`` (ns); one that the node throttles (with a period) only once."""
        if note.period:
            if note.kind in self._logged:
                return
            self._logged.add(note.kind)
        now = self._state_stamp + at - self._state_arrival
        seconds = 0.0 if self._start is None else (now - self._start) * 1e-9
        _logger.log(_LOG_LEVELS[note.level], f"at {seconds:.3f} s: {note.text}")
