"""Serialized JointTrajectory messages, bytes in CDR, without an object for each point.

rclpy creates a Python object for each point, which takes more than a millisecond for 200 points of 7 joints, and
accepts some truncated messages. In CDR the points are a table of constant stride, which NumPy reads and writes at once.
Times of points are seconds since the start of the trajectory; header.stamp is nanoseconds of the ROS clock, and 0 means
a start on arrival.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import (
    JointNamesError,
    RobotDynamicsError,
    TrajectoryError,
)
from robot_dynamics_ros.base.joint_messages import FIELDS, TrajectoryPoints
from robot_dynamics_ros.recordings.messages.cdr import (
    BYTE_ORDERS,
    HEADER,
    LITTLE_ENDIAN,
    CdrReader,
    padding,
)
from robot_dynamics_ros.recordings.messages.joint_state import (
    Renaming,
    frame_and_names,
    unchanged,
)
from robot_dynamics_ros.recordings.thresholds import MOST_NAMES, MOST_POSITIONS

_Records = NDArray[np.void]

_STAMP_END = 2**31 * 1_000_000_000  # ns
_SMALLEST = 24  # bytes, minimum size of a point


def read_trajectory(
    data: bytes, renamed: Renaming = unchanged
) -> tuple[int, TrajectoryPoints]:
    """Return header.stamp (ns) and the points of a serialized JointTrajectory, ``data``.

    ``renamed`` returns the robot's name of a joint by its name in messages. The numbers are not checked: they may be
    NaN, and times need not increase.

    Raises TrajectoryError for a truncated or invalid message, an invalid stamp, no or too many joint names or points,
    points without a position for each joint, fields of another length, and fields that not all points have.
    """
    if data[:2] not in BYTE_ORDERS:
        raise TrajectoryError(
            f"the message begins with {data[:HEADER]!r}; send it in plain CDR, as ROS does"
        )
    try:
        return _read(CdrReader(data), renamed)
    except (struct.error, ValueError) as error:
        raise TrajectoryError(
            f"the message ends too early, after {len(data)} bytes; send a whole trajectory_msgs/msg/JointTrajectory"
        ) from error


def check_size(points: int, joints: int) -> None:
    """Raise TrajectoryError if the numbers of ``points`` and ``joints`` have a product above MOST_POSITIONS, 14,000."""
    if points * joints > MOST_POSITIONS:
        raise TrajectoryError(
            f"{points} points, more than the maximum of {MOST_POSITIONS // joints} for {joints} joints; "
            "give fewer points with larger time steps"
        )


def write_trajectory(stamp: int, points: TrajectoryPoints) -> bytes:
    """Return a serialized JointTrajectory with ``stamp`` (ns) as header.stamp; times must be less than 2^31 s."""
    seconds_and_rest = struct.pack("<iI", *divmod(stamp, 1_000_000_000))
    data = LITTLE_ENDIAN + seconds_and_rest + frame_and_names("", points.joint_names)
    tables = {field: getattr(points, field) for field in FIELDS}
    given = {field: table for field, table in tables.items() if table is not None}
    joints = points.positions.shape[1]
    data += struct.pack("<I", len(points.times))
    for part in (slice(1), slice(1, None)):  # the padding of the first point may differ
        nanoseconds = np.rint(points.times[part] * 1e9).astype(np.int64)
        records: _Records = np.zeros(
            len(nanoseconds), _layout("<", len(data) - HEADER, joints, given)
        )
        for field, table in given.items():
            records[_length(field)] = joints
            records[field] = table[part]
        records["sec"], records["nanosec"] = np.divmod(nanoseconds, 1_000_000_000)
        data += records.tobytes()
    return data


def _read(reader: CdrReader, renamed: Renaming) -> tuple[int, TrajectoryPoints]:
    """Return stamp and points; struct.error or ValueError if the message ends too early."""
    stamp = reader.stamp()
    try:
        reader.text(MOST_NAMES)  # frame_id
        names = tuple(reader.names())
    except RobotDynamicsError as error:
        raise JointNamesError(str(error)) from None
    points = reader.number()
    if not names:
        raise JointNamesError("the trajectory has no joint names; set joint_names")
    if not points:
        raise TrajectoryError(
            "the trajectory has no points; give at least one with positions and time_from_start"
        )
    if _SMALLEST * points > len(reader.body) - reader.at:
        raise ValueError
    check_size(points, len(names))
    start = reader.at
    k = len(names)
    fields = _read_fields(reader, k, 0)
    layout = _layout(reader.order, start, k, fields)
    first: _Records = np.frombuffer(reader.body, layout, 1, start)
    reader.at = start + layout.itemsize
    layout = _layout(reader.order, reader.at, k, fields)
    fit = (len(reader.body) - reader.at) // layout.itemsize
    rest: _Records = np.frombuffer(reader.body, layout, min(points - 1, fit), reader.at)
    alike = np.ones(len(rest), dtype=bool)
    for field in FIELDS:
        alike &= rest[_length(field)] == (k if field in fields else 0)
    count = len(rest) if alike.all() else int(np.argmin(alike))
    if count < points - 1:
        reader.at += count * layout.itemsize
        other = _read_fields(reader, k, 1 + count)
        for field in FIELDS:
            if (field in other) != (field in fields):
                has = "has" if field in other else "has no"
                raise TrajectoryError(
                    f"point {1 + count} {has} {field}, unlike point 0; {_cure(field)}"
                )
        raise ValueError
    if stamp >= _STAMP_END:
        raise TrajectoryError(
            f"header.stamp is {stamp / 1e9:.9f} s; give nanoseconds below one second"
        )
    # the first point has its own padding
    columns = {
        name: np.concatenate([first[name], rest[name]], dtype=np.float64)
        for name in ("sec", "nanosec", *fields)
    }
    times = columns["sec"] + columns["nanosec"] * 1e-9
    tables = (columns.get(field) for field in FIELDS[1:])
    joint_names = tuple(renamed(name) for name in names)
    return stamp, TrajectoryPoints(joint_names, times, columns["positions"], *tables)


def _read_fields(reader: CdrReader, joints: int, i: int) -> list[str]:
    """Skip point i and return the names of its fields; TrajectoryError if one does not have a value for each joint."""
    fields = []
    for field in FIELDS:
        length = reader.number()
        if length != joints and (length or field == "positions"):
            raise TrajectoryError(
                f"point {i} has {length} {field} for {joints} joint names; {_cure(field)}"
            )
        if length:
            fields.append(field)
            reader.at += padding(reader.at, 8) + 8 * length
    return fields


def _layout(
    order: str, start: int, joints: int, fields: Collection[str]
) -> np.dtype[np.void]:
    """Return the layout of a point at offset ``start`` with these fields."""
    parts: list[tuple[str, object, int]] = []  # name, format, offset
    at = start
    for field in FIELDS:
        parts.append((_length(field), order + "u4", at - start))
        at += 4
        if field in fields:
            at += padding(at, 8)
            parts.append((field, (order + "f8", (joints,)), at - start))
            at += 8 * joints
    parts += [
        ("sec", order + "i4", at - start),
        ("nanosec", order + "u4", at + 4 - start),
    ]
    names, formats, offsets = zip(*parts, strict=True)
    return np.dtype(
        {
            "names": names,
            "formats": formats,
            "offsets": offsets,
            "itemsize": at + 8 - start,
        }
    )


def _length(field: str) -> str:
    return f"length of {field}"


def _cure(field: str) -> str:
    absent = "" if field == "positions" else f", or leave {field} out of all points"
    return f"give one value for each joint in every point{absent}"
