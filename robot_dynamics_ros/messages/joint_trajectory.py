"""JointTrajectory messages as the bytes that DDS carries (see cdr), without an object for each point.

rclpy builds a Python object for each point: more than a millisecond for 200 points of 7 joints, and it takes some
messages that end too early for whole ones. The bytes hold the same in a table of constant stride, which NumPy reads and
writes at once.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER, MOST_NAMES, CdrReader, padding
from robot_dynamics_ros.messages.joint_state import Renaming, unchanged

Records = NDArray[np.void]

_FIELDS = ("positions", "velocities", "accelerations", "effort")
_SMALLEST = 24  # bytes of a point
MOST_POSITIONS = 14_000  # points times joints: a controller gives no command while it takes them in, up to 1 ms


def read_trajectory(data: bytes, renamed: Renaming = unchanged) -> tuple[int, TrajectoryPoints]:
    """Return header.stamp in nanoseconds, and the points, of a serialized JointTrajectory.

    ``renamed`` tells what the joints of messages are called here.

    Raises TrajectoryError for bytes that are no whole message, for one without joint names or points or with too many
    of them, and for points without a position for each joint, or with a field that does not fit or that others have
    not.
    """
    table = _Table.read(data)
    times = table.column("sec") + table.column("nanosec") * 1e-9
    fields = [table.column(field) if field in table.fields else None for field in _FIELDS[1:]]
    names = tuple(renamed(name) for name in table.joint_names)
    return table.stamp, TrajectoryPoints(names, times, table.column("positions"), *fields)


def check_size(points: int, joints: int) -> None:
    """Raise TrajectoryError for more points than a controller takes in between two cycles."""
    if points * joints > MOST_POSITIONS:
        raise TrajectoryError(
            f"{points} points, but {MOST_POSITIONS // joints} of {joints} joints are the most that is taken; "
            "give fewer, further apart"
        )


def with_points(data: bytes, points: TrajectoryPoints) -> bytes:
    """Return a serialized JointTrajectory with these points in place of its own, and else unchanged.

    Columns are in the order of the message's joint names, times up to 2^31 s. Raises TrajectoryError as
    `read_trajectory`.
    """
    table = _Table.read(data)
    head = data[: table.start + HEADER - 4] + struct.pack(table.order + "I", len(points.times))
    first = table.serialized(table.start, points, slice(1))
    return head + first + table.serialized(table.start + len(first), points, slice(1, None))


@dataclass(frozen=True, eq=False)
class _Table:
    """A message whose points all have the same fields; ``blocks`` are views of its bytes.

    The first point may begin where the others do not, at a multiple of eight or four bytes before one: it is
    a block of its own. As each point ends with the same fields, all others begin alike.
    """

    order: str
    stamp: int
    joint_names: tuple[str, ...]
    start: int  # of the first point, after the encapsulation header
    fields: Collection[str]
    blocks: tuple[Records, Records]

    @classmethod
    def read(cls, data: bytes) -> _Table:
        """Find the table in a message; TrajectoryError where there is none, saying why."""
        order = BYTE_ORDERS.get(data[:2])
        if order is None:
            raise TrajectoryError(f"the message begins with {data[:HEADER]!r}; send it in plain CDR, as ROS does")
        try:
            return cls._read(_Reader(order, memoryview(data)[HEADER:]))
        except (struct.error, ValueError) as problem:
            raise TrajectoryError(
                f"the message ends too early, after {len(data)} bytes; send a whole trajectory_msgs/msg/JointTrajectory"
            ) from problem

    @classmethod
    def _read(cls, reader: _Reader) -> _Table:
        stamp = reader.stamp()
        try:
            reader.text(MOST_NAMES)  # frame_id
            names = tuple(reader.names())
        except RobotDynamicsError as problem:
            raise JointNamesError(str(problem)) from None
        points = reader.number()
        if not names:
            raise JointNamesError("the trajectory names no joints; fill joint_names")
        if not points:
            raise TrajectoryError("the trajectory has no points; give at least one with positions and time_from_start")
        if _SMALLEST * points > len(reader.body) - reader.at:
            raise ValueError
        check_size(points, len(names))
        start, k = reader.at, len(names)
        fields = reader.fields(k, 0)
        layout = _layout(reader.order, start, k, fields)
        first: Records = np.frombuffer(reader.body, layout, 1, start)
        reader.at = start + layout.itemsize
        layout = _layout(reader.order, reader.at, k, fields)
        fit = (len(reader.body) - reader.at) // layout.itemsize
        rest: Records = np.frombuffer(reader.body, layout, min(points - 1, fit), reader.at)
        alike = np.ones(len(rest), dtype=bool)
        for field in _FIELDS:
            alike &= rest[_length(field)] == (k if field in fields else 0)
        # The first point that differs begins where it is looked for, as those before it are alike.
        count = len(rest) if alike.all() else int(np.argmin(alike))
        if count < points - 1:
            reader.at += count * layout.itemsize
            reader.refuse(k, 1 + count, fields)
        return cls(reader.order, stamp, names, start, fields, (first, rest))

    def column(self, name: str) -> Array:
        """One part of all points, copied."""
        return np.concatenate([block[name] for block in self.blocks], dtype=np.float64)

    def serialized(self, start: int, points: TrajectoryPoints, which: slice) -> bytes:
        """Return some of the points, which begin at ``start``; what pads them is zero."""
        tables = (points.positions, points.velocities, points.accelerations, points.effort)
        given = {field: table for field, table in zip(_FIELDS, tables, strict=True) if table is not None}
        nanoseconds = np.rint(points.times[which] * 1e9).astype(np.int64)
        joints = len(self.joint_names)
        records: Records = np.zeros(len(nanoseconds), _layout(self.order, start, joints, given))
        for field, table in given.items():
            records[_length(field)] = joints
            records[field] = table[which]
        records["sec"], records["nanosec"] = np.divmod(nanoseconds, 1_000_000_000)
        return records.tobytes()


class _Reader(CdrReader):
    """Goes through the points, too."""

    def fields(self, joints: int, i: int) -> list[str]:
        """Go through the fields of point i; TrajectoryError where one does not fit the joints."""
        found = []
        for field in _FIELDS:
            length = self.number()
            if length != joints and (length or field == "positions"):
                raise TrajectoryError(f"point {i} has {length} {field} for {joints} joint names; {_cure(field)}")
            if length:
                found.append(field)
                self.at += padding(self.at, 8) + 8 * length
        return found

    def refuse(self, joints: int, i: int, expected: Collection[str]) -> NoReturn:
        """Raise what is wrong with point i, which is not like the first one."""
        found = self.fields(joints, i)
        for field in _FIELDS:
            if (field in found) != (field in expected):
                has = "has" if field in found else "has no"
                raise TrajectoryError(f"point {i} {has} {field}, unlike point 0; {_cure(field)}")
        raise ValueError


def _layout(order: str, start: int, joints: int, fields: Collection[str]) -> np.dtype[np.void]:
    """Return the layout of a point that begins at ``start`` and has these fields."""
    parts: list[tuple[str, object, int]] = []  # name, format, offset
    at = start
    for field in _FIELDS:
        parts.append((_length(field), order + "u4", at - start))
        at += 4
        if field in fields:
            at += padding(at, 8)
            parts.append((field, (order + "f8", (joints,)), at - start))
            at += 8 * joints
    parts += [("sec", order + "i4", at - start), ("nanosec", order + "u4", at + 4 - start)]
    names, formats, offsets = zip(*parts, strict=True)
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": at + 8 - start})


def _length(field: str) -> str:
    return f"length of {field}"


def _cure(field: str) -> str:
    absent = "" if field == "positions" else f", or leave {field} out of all points"
    return f"give one value for each joint in every point{absent}"
