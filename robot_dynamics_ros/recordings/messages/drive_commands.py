"""Serialized messages of the topic drive_commands: all that drives with a loop of their own need in a cycle.

The type is std_msgs/Float64MultiArray, which every ROS installation has, unlike the messages of control_msgs. Its data
are a table of five rows in the order of ``DriveCommand``, with one column for each joint. By ``layout.data_offset``,
two numbers are before the table: the stamp of the state that the command answers, in s and ns.
"""

from __future__ import annotations

import struct

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.recordings.messages.cdr import (
    HEADER,
    LITTLE_ENDIAN,
    CdrReader,
    padding,
)

ROWS = len(DriveCommand._fields)
STAMP = 2
"""Number of values before the table."""
_SECOND = 1_000_000_000


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

    def __init__(self, n: int, topic: str = "drive_commands") -> None:
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
            for _ in range(reader.number()):
                reader.text()
                reader.number()
                reader.number()
            offset = reader.number()
            size = reader.number()
            if (offset, size) != (STAMP, count):
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
        seconds, nanoseconds = numbers[:STAMP].tolist()
        table = numbers[STAMP:].reshape(ROWS, self._n)
        return int(seconds) * _SECOND + int(nanoseconds), DriveCommand(*table)
