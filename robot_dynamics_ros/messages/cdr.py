"""Messages as the bytes that DDS carries: a subscription with ``raw=True`` hands them over, ``publish`` takes them.

Layout: OMG XTypes 7.4, plain CDR version 1, either byte order: a number is aligned to its size, counted from the end
of the encapsulation header; a sequence is its length, four bytes, and its elements; a string is a sequence of bytes
that ends with zero.
"""

from __future__ import annotations

import math
import struct

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array

HEADER = 4  # bytes of encapsulation: representation, options
MOST_NAMES = 1000
"""Joints that one message may name, and bytes of a name: so much takes a node about a millisecond."""
LITTLE_ENDIAN = b"\x00\x01\x00\x00"
BYTE_ORDERS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""The prefix of numbers in struct's and NumPy's formats, by the first two bytes of a message."""


def padding(at: int, size: int) -> int:
    """Return the bytes that align a number of ``size`` bytes; ``at`` counts from the end of the header."""
    return -at % size


class CdrReader:
    """A position in the bytes after the encapsulation header; struct.error or ValueError where they end.

    Also ValueError for a message whose byte order is none of BYTE_ORDERS.

    Attributes
    ----------
    order
        The byte order, as in BYTE_ORDERS.
    body
        The bytes after the header.
    at
        The position in them.
    """

    def __init__(self, data: bytes) -> None:
        if data[:2] not in BYTE_ORDERS:
            raise ValueError
        self.order = BYTE_ORDERS[data[:2]]
        self.body = memoryview(data)[HEADER:]
        self.at = 0
        self._uint32 = struct.Struct(self.order + "I")

    def number(self) -> int:
        """Read an uint32."""
        self.at += padding(self.at, 4)
        (value,) = self._uint32.unpack_from(self.body, self.at)
        self.at += 4
        return int(value)

    def stamp(self) -> int:
        """Read a builtin_interfaces/Time, as nanoseconds."""
        sec, nanosec = struct.unpack_from(self.order + "iI", self.body, self.at)
        self.at += 8
        return int(sec) * 1_000_000_000 + int(nanosec)

    def doubles(self, count: int) -> tuple[float, ...]:
        """Read so many float64."""
        self.at += padding(self.at, 8)
        values = struct.unpack_from(f"{self.order}{count}d", self.body, self.at)
        self.at += 8 * count
        return values

    def names(self) -> list[str]:
        """Read a sequence of names; RobotDynamicsError for more than MOST_NAMES, or bytes in one."""
        count = self.number()
        if 4 * count > len(self.body) - self.at:
            raise ValueError
        if count > MOST_NAMES:
            raise RobotDynamicsError(
                f"a message names {count} joints, but {MOST_NAMES} are the most that is read. Cure: check its publisher"
            )
        return [self.text(MOST_NAMES) for _ in range(count)]

    def text(self, most: float = math.inf) -> str:
        """Read a string as rclpy does; RobotDynamicsError for more than so many bytes."""
        length = self.number()
        if length > len(self.body) - self.at:
            raise ValueError
        if length > most:
            raise RobotDynamicsError(
                f"a message has a name of {length} bytes, but {most} are the most that is read. "
                "Cure: check its publisher"
            )
        self.at += length
        return bytes(self.body[self.at - length : self.at]).split(b"\0", 1)[0].decode(errors="replace")


FLOAT64_MULTI_ARRAY = "std_msgs/msg/Float64MultiArray"


class EffortWriter:
    """A writer of std_msgs/Float64MultiArray messages with the efforts of n joints."""

    def __init__(self, n: int) -> None:
        self._before = LITTLE_ENDIAN + struct.pack("<III", 0, 0, n) + bytes(4)

    def write(self, effort: Array) -> bytes:
        """Return the message of efforts (n,), Nm or N."""
        return self._before + effort.tobytes()
