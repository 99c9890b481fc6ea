"""Serialized JointTrajectory: read and written as by rclpy, for any content."""

import struct
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.recordings.messages.joint_trajectory import (
    read_trajectory,
    write_trajectory,
)
from robot_dynamics_ros.ros.conversions import nanoseconds
from support.bag_recordings import make, serialized

TRAJECTORY, POINT = (
    f"trajectory_msgs/msg/{name}"
    for name in ("JointTrajectory", "JointTrajectoryPoint")
)
DURATION = "builtin_interfaces/msg/Duration"
FIELDS = ("positions", "velocities", "accelerations", "effort")
NAMES = ["a", "bc", "ellbogenöl"]


def encode(message: JointTrajectory, little_endian: bool = True) -> bytes:
    """Return CDR from rosbags, without the trailing bytes of rclpy."""
    stamp = message.header.stamp
    time = make("builtin_interfaces/msg/Time", stamp.sec, stamp.nanosec)
    head = make("std_msgs/msg/Header", time, message.header.frame_id)
    points = []
    for each in message.points:
        tables = (np.array(getattr(each, field), dtype=float) for field in FIELDS)
        points.append(
            make(
                POINT,
                *tables,
                make(DURATION, each.time_from_start.sec, each.time_from_start.nanosec),
            )
        )
    return serialized(
        TRAJECTORY, head, list(message.joint_names), points, little_endian=little_endian
    )


def message(m: int, *present: str) -> JointTrajectory:
    """Return a regular message of m points with these fields and distinct numbers."""
    made = JointTrajectory(joint_names=NAMES)
    made.header.frame_id = "base"
    made.header.stamp.sec = 1_700_000_000
    made.header.stamp.nanosec = 123_456_789
    for i in range(m):
        point = JointTrajectoryPoint()
        point.time_from_start.sec = i
        point.time_from_start.nanosec = 7 * i
        for j, field in enumerate(present):
            setattr(point, field, [i + 0.1 * j + 0.01 * k for k in range(len(NAMES))])
        made.points.append(point)
    return made


ALL_NUMBERS = st.floats(allow_nan=False, width=64)
STAMPS = st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)


@st.composite
def regular_messages(draw: st.DrawFn) -> JointTrajectory:
    """Generate messages with any names, times and numbers; each field is in all points or in none."""
    names = draw(st.lists(TEXTS, max_size=4))
    made = JointTrajectory(joint_names=names)
    made.header.frame_id = draw(TEXTS)
    made.header.stamp.sec, made.header.stamp.nanosec = draw(STAMPS)
    present = draw(
        st.sets(st.sampled_from(FIELDS)) | st.just({"positions", "velocities"})
    )
    for _ in range(draw(st.integers(0, 4))):
        point = JointTrajectoryPoint()
        point.time_from_start.sec, point.time_from_start.nanosec = draw(STAMPS)
        for field in present:
            setattr(
                point,
                field,
                draw(st.lists(ALL_NUMBERS, min_size=len(names), max_size=len(names))),
            )
        made.points.append(point)
    return made


@st.composite
def messages(draw: st.DrawFn) -> JointTrajectory:
    """Generate regular messages, and some with a field of another size."""
    made = draw(regular_messages())
    if made.points and draw(st.booleans()):
        row = draw(st.lists(ALL_NUMBERS, max_size=3))
        setattr(draw(st.sampled_from(made.points)), draw(st.sampled_from(FIELDS)), row)
    return made


def encodings(made: JointTrajectory) -> list[bytes]:
    """Return the message in rclpy's CDR without trailing bytes, and in the other byte order."""
    written = [
        bytes(serialize_message(made)),
        encode(made),
        encode(made, little_endian=False),
    ]
    for data in written:
        assert deserialize_message(data, JointTrajectory) == made
    return written


def assert_same(read: TrajectoryPoints, expected: TrajectoryPoints) -> None:
    assert read.joint_names == expected.joint_names
    for field in fields(TrajectoryPoints)[1:]:
        values = getattr(read, field.name)
        other = getattr(expected, field.name)
        if other is None:
            assert values is None, field.name
        else:
            np.testing.assert_array_equal(values, other, err_msg=field.name)
            assert (
                values.shape == other.shape
                and values.dtype == np.float64
                and values.flags.carray
            )


def trajectory_points(made: JointTrajectory) -> TrajectoryPoints:
    times = [
        p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in made.points
    ]
    tables = {field: [getattr(p, field) for p in made.points] for field in FIELDS}
    n = len(made.joint_names)
    for field, rows in tables.items():
        present = field == "positions" or any(map(len, rows))
        if present and any(len(row) != n for row in rows):
            raise TrajectoryError(f"{field} of different sizes")
    arrays = {
        field: np.array(rows, dtype=np.float64).reshape(len(rows), n)
        for field, rows in tables.items()
        if field == "positions" or any(map(len, rows))
    }
    return TrajectoryPoints(tuple(made.joint_names), np.array(times), **arrays)


def assert_read_as_rclpy_does(data: bytes) -> None:
    """Check that a message is read as by rclpy, or refused if it cannot be executed."""
    made = deserialize_message(data, JointTrajectory)
    try:
        expected = trajectory_points(made)
    except TrajectoryError:
        expected = None
    if (
        expected is None
        or expected.positions.size == 0
        or nanoseconds(made.header.stamp) >= 2**31 * 10**9
    ):
        with pytest.raises(TrajectoryError):
            read_trajectory(data)
        return
    stamp, points = read_trajectory(data)
    assert stamp == nanoseconds(made.header.stamp)
    assert_same(points, expected)


@given(messages())
def test_messages_of_rclpy_are_read(made: JointTrajectory) -> None:
    for data in encodings(made):
        assert_read_as_rclpy_does(data)


def points_of(names: Any, m: int, present: Any, seed: int = 0) -> TrajectoryPoints:
    """Generate points with any numbers for positions and these fields."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(1, 10_000, m)) + rng.integers(10**9) * 1e-9
    tables = rng.normal(size=(4, m, len(names)))
    rest = [
        table if field in present else None
        for field, table in zip(FIELDS[1:], tables[1:], strict=True)
    ]
    return TrajectoryPoints(tuple(names), times, tables[0], *rest)


@given(
    regular_messages(),
    st.integers(1, 5),
    st.sets(st.sampled_from(FIELDS)),
    st.integers(0, 2**32 - 1),
)
def test_rclpy_reads_written_messages(
    made: JointTrajectory, m: int, present: Any, seed: int
) -> None:
    assume(made.joint_names)
    made.header.stamp.nanosec %= 10**9
    points = points_of(made.joint_names, m, present, seed)
    written = write_trajectory(nanoseconds(made.header.stamp), points)
    assert type(written) is bytes  # publishers take nothing else
    message = deserialize_message(written, JointTrajectory)
    assert message.header.stamp == made.header.stamp
    assert_same(trajectory_points(message), points)
    assert len(written) == len(encode(message))  # rclpy's extra bytes are dropped


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize(
    ("point", "field", "values", "named"),
    [
        (0, "positions", [], 0),
        (3, "positions", [1.0] * 4, 3),
        (1, "velocities", [], 1),
        (0, "velocities", [], 1),
        (-1, "velocities", [], 49),
        (3, "accelerations", [1.0] * 3, 3),
        (0, "accelerations", [1.0], 0),
        (-1, "effort", [1.0, 2.0], 49),
    ],
)
def test_errors_name_the_irregular_point(
    little: bool, point: int, field: str, values: list[float], named: int
) -> None:
    made = message(50, "positions", "velocities")
    setattr(made.points[point], field, values)
    with pytest.raises(TrajectoryError, match=rf"^point {named} .*\b{field}\b"):
        read_trajectory(encode(made, little))


@pytest.mark.parametrize("little_endian", [True, False])
def test_every_truncation_is_refused(little_endian: bool) -> None:
    """rclpy accepts some truncated messages, with zeros for missing values."""
    data = encode(message(3, "positions", "velocities"), little_endian)
    for end in range(len(data)):
        with pytest.raises(
            TrajectoryError, match=rf"\b{end} bytes" if end > 1 else "CDR"
        ):
            read_trajectory(data[:end])


@given(messages(), st.data())
def test_corrupt_messages_are_refused_or_read_as_by_rclpy(
    made: JointTrajectory, data: st.DataObject
) -> None:
    """Corrupt bytes may be another valid message, which rclpy reads equally."""
    corrupt = bytearray(data.draw(st.sampled_from(encodings(made))))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(4, len(corrupt) - 1))
        # Lengths lie at multiples of four: their first byte, and their last.
        place = data.draw(st.sampled_from([place, place & ~3, place | 3]))
        if place < len(corrupt):
            corrupt[place] = data.draw(st.integers(0, 255))
    del corrupt[data.draw(st.integers(0, len(corrupt)) | st.just(len(corrupt))) :]
    try:
        read_trajectory(bytes(corrupt))
    except TrajectoryError:
        pass
    else:
        assert_read_as_rclpy_does(bytes(corrupt))


@pytest.mark.parametrize("count", [100, 2**31, 2**32 - 1])
def test_lengths_beyond_the_end_are_refused(count: int) -> None:
    """Lengths of frame_id, names, the first name, points, and the first positions."""
    data = encode(
        JointTrajectory(
            joint_names=["a"], points=[JointTrajectoryPoint(positions=[1.0])]
        )
    )
    for at in (12, 20, 24, 32, 36):
        assert 1 <= struct.unpack_from("<I", data, at)[0] <= 2, "no length is here"
        with pytest.raises(
            TrajectoryError,
            match=f"{len(data)} bytes" if at < 36 else r"^point 0 .*\bpositions\b",
        ):
            read_trajectory(data[:at] + struct.pack("<I", count) + data[at + 4 :])


def test_other_representations_are_refused() -> None:
    for head in (b"\0\2\0\0", b"\0\7\0\0", b"\1\1\0\0"):
        with pytest.raises(TrajectoryError, match="CDR"):
            read_trajectory(head + encode(message(2, "positions"))[4:])
