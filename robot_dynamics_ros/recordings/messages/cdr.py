"""Common Data Representation (CDR), in which DDS sends messages.

A subscription with ``raw=True`` delivers these bytes, and ``Publisher.publish`` accepts them. The layout is OMG XTypes
7.4, plain CDR version 1, in either byte order. A number is aligned to its size, counted from the end of the
encapsulation header. A sequence is its length (4 bytes) and its elements. A string is a zero-terminated sequence of
bytes.

A message begins with its encapsulation header (HEADER, 4 bytes), whose first two bytes are the byte order: 00 00 for
big-endian, 00 01 for little-endian.
"""

from __future__ import annotations

import math
import struct

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.thresholds import MOST_NAMES

HEADER = 4  # bytes of the encapsulation header: representation and options
LITTLE_ENDIAN = b"\x00\x01\x00\x00"
BYTE_ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""Byte-order prefix of struct and NumPy formats, by the first two bytes of a message."""


def padding(at: int, size: int) -> int:
    """Return the number of padding bytes before a number of ``size`` bytes at offset ``at`` after the header."""
    return -at % size


class CdrReader:
    """Reader of a serialized message ``data``; each method reads the next value.

    Methods raise struct.error or ValueError if the message ends too early. The constructor raises ValueError if the
    first two bytes are no byte order.

    Attributes
    ----------
    order
        Byte order as a prefix of struct and NumPy formats, ">" or "<".
    body
        Bytes after the encapsulation header.
    at
        Read position in ``body``, at first 0.
    """

    def __init__(self, data: bytes) -> None:
        if data[:2] not in BYTE_ORDERS:
            raise ValueError
        self.order = BYTE_ORDERS[data[:2]]
        self.body = memoryview(data)[HEADER:]
        self.at = 0
        self._uint32 = struct.Struct(self.order + "I")

    def number(self) -> int:
        """Read a uint32, after its padding."""
        self.at += padding(self.at, 4)
        (value,) = self._uint32.unpack_from(self.body, self.at)
        self.at += 4
        return int(value)

    def stamp(self) -> int:
        """Read a builtin_interfaces/Time and return it in nanoseconds; it must be aligned to 4 bytes."""
        sec, nanosec = struct.unpack_from(self.order + "iI", self.body, self.at)
        self.at += 8
        return int(sec) * 1_000_000_000 + int(nanosec)

    def doubles(self, count: int) -> tuple[float, ...]:
        """Read ``count`` float64 values without a length, after their padding."""
        self.at += padding(self.at, 8)
        values = struct.unpack_from(f"{self.order}{count}d", self.body, self.at)
        self.at += 8 * count
        return values

    def names(self) -> list[str]:
        """Read a sequence of strings; RobotDynamicsError for more than 1000, and for one of more than 1000 bytes."""
        count = self.number()
        if 4 * count > len(self.body) - self.at:
            raise ValueError
        if count > MOST_NAMES:
            raise RobotDynamicsError(
                f"a message has {count} joint names, more than the maximum of {MOST_NAMES}. Cure: check its publisher"
            )
        return [self.text(MOST_NAMES) for _ in range(count)]

    def text(self, most: float = math.inf) -> str:
        """Read a string up to its first zero byte, as rclpy does; invalid UTF-8 is replaced.

        Raises RobotDynamicsError if it has more than ``most`` bytes, by default any number.
        """
        length = self.number()
        if length > len(self.body) - self.at:
            raise ValueError
        if length > most:
            raise RobotDynamicsError(
                f"a message has a name of {length} bytes, more than the maximum of {most}. Cure: check its publisher"
            )
        self.at += length
        return (
            bytes(self.body[self.at - length : self.at])
            .split(b"\0", 1)[0]
            .decode(errors="replace")
        )


FLOAT64_MULTI_ARRAY = "std_msgs/msg/Float64MultiArray"


class EffortWriter:
    """Writer of serialized std_msgs/Float64MultiArray messages with the efforts of ``n`` joints."""

    def __init__(self, n: int) -> None:
        self._before = LITTLE_ENDIAN + struct.pack("<III", 0, 0, n) + bytes(4)

    def write(self, effort: Array) -> bytes:
        """Return the serialized message of an effort (n,), Nm or N, a C-contiguous float64 array."""
        return self._before + effort.tobytes()
