"""Topics of commands, and messages of drive_commands: all that drives with a loop of their own need in a cycle.

The type is std_msgs/Float64MultiArray, which every ROS installation has, unlike the messages of control_msgs. Its data
are a table of five rows in the order of ``DriveCommand``, with one column for each joint. By ``layout.data_offset``,
two numbers are before the table: the stamp of the state that the command answers, in s and ns; 0 if it answers none, as
that of a watchdog.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.recordings.messages.cdr import (
    HEADER,
    LITTLE_ENDIAN,
    CdrReader,
    padding,
)

DRIVE_COMMANDS = "drive_commands"

ROWS = len(DriveCommand._fields)
STAMP = 2
"""Number of values before the table."""
_SECOND = 1_000_000_000


def command_topics(interfaces: Sequence[str]) -> list[str]:
    """Return the topics of the commands for drives with these ``interfaces``, as in the parameter command_interfaces.

    Each interface has one. Before them is drive_commands, if the drives have a loop of their own: they take a position.
    """
    topics = [f"{interface}_commands" for interface in interfaces]
    return [DRIVE_COMMANDS, *topics] if "position" in interfaces else topics


def drive_topic(commands: str) -> str:
    """Return the full name of drive_commands of the node whose ~/command_states has the full name ``commands``."""
    node = commands.rpartition("/")[0]
    return f"{node.rpartition('/')[0]}/{DRIVE_COMMANDS}"


class DriveCommandWriter:
    """Writer of messages for ``n`` joints."""

    def __init__(self, n: int) -> None:
        body = struct.pack("<I", 2)
        for label, size, stride in (("interface", ROWS, ROWS * n), ("joint", n, n)):
            text = label.encode() + b"\0"
            body += struct.pack("<I", len(text)) + text
            body += bytes(padding(len(body), 4)) + struct.pack("<II", size, stride)
        body += struct.pack("<II", STAMP, STAMP + ROWS * n)
        self._before = LITTLE_ENDIAN + body + bytes(padding(len(body), 8))

    def write(self, stamp: int, command: DriveCommand) -> bytes:
        """Return the message of a ``command`` for the state with this ``stamp`` (ns)."""
        numbers = np.array(divmod(stamp, _SECOND), dtype=np.float64).tobytes()
        return self._before + numbers + np.array(command).tobytes()


class DriveCommandReader:
    """Reader of messages for ``n`` joints; ``topic`` is named in errors."""

    def __init__(self, n: int, topic: str = DRIVE_COMMANDS) -> None:
        self._n = n
        self._topic = topic

    def read(self, data: bytes) -> tuple[int, DriveCommand]:
        """Return stamp (ns) and command of a message.

        Raises RobotDynamicsError for a message that is not such a table for n joints, and for numbers that are not
        finite.
        """
        count = STAMP + ROWS * self._n
        try:
            reader = CdrReader(data)
            if _size_behind_layout(reader) != count:
                raise ValueError
            numbers = np.array(reader.doubles(count))
        except (struct.error, ValueError):
            raise RobotDynamicsError(
                f"{self._topic}: a message of {len(data) - HEADER} bytes is not a table of {ROWS} rows and {self._n} "
                "columns after 2 numbers. Cure: set the same joints in sender and receiver"
            ) from None
        if not np.isfinite(numbers).all():
            raise RobotDynamicsError(
                f"{self._topic}: a number is not finite. Cure: check the controller"
            )
        table = numbers[STAMP:].reshape(ROWS, self._n)
        return _nanoseconds(*numbers[:STAMP].tolist()), DriveCommand(*table)


def drive_stamp(data: bytes) -> int | None:
    """Return the stamp (ns) of a message of drive_commands for any number of joints; None for other messages."""
    try:
        reader = CdrReader(data)
        _size_behind_layout(reader)
        return _nanoseconds(*reader.doubles(STAMP))
    except (struct.error, ValueError, OverflowError):
        return None


def _nanoseconds(seconds: float, nanoseconds: float) -> int:
    return int(seconds) * _SECOND + int(nanoseconds)


def _size_behind_layout(reader: CdrReader) -> int:
    """Read the layout, and return the number of values; ValueError unless data_offset is that of the table."""
    for _ in range(reader.number()):
        reader.text()
        reader.number()
        reader.number()
    if reader.number() != STAMP:
        raise ValueError
    return reader.number()
