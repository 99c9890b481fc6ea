"""JointTrajectory bytes: read and written as rclpy would, whatever they hold."""

import struct
import time
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import rclpy
from hypothesis import given
from hypothesis import strategies as st
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory, with_points
from robot_dynamics_ros.nodes.messages import nanoseconds, trajectory_message, trajectory_points

FIELDS = ("positions", "velocities", "accelerations", "effort")
NAMES = ["a", "bc", "ellbogenöl"]


def encode(message: JointTrajectory, endian: str = "<") -> bytes:
    """CDR written out number by number, without bytes after the end; rclpy's own has some."""
    body = bytearray()

    def number(form: str, value: float) -> None:
        body.extend(bytes(-len(body) % struct.calcsize(form)) + struct.pack(endian + form, value))

    def text(value: str) -> None:
        number("I", len(value.encode()) + 1)
        body.extend(value.encode() + b"\0")

    def duration(value: Any) -> None:
        number("i", value.sec)
        number("I", value.nanosec)

    duration(message.header.stamp)
    text(message.header.frame_id)
    number("I", len(message.joint_names))
    for name in message.joint_names:
        text(name)
    number("I", len(message.points))
    for point in message.points:
        for field in FIELDS:
            number("I", len(getattr(point, field)))
            for value in getattr(point, field):
                number("d", value)
        duration(point.time_from_start)
    return {"<": b"\0\1\0\0", ">": b"\0\0\0\0"}[endian] + bytes(body)


def message(m: int, *present: str, names: list[str] = NAMES, frame: str = "base") -> JointTrajectory:
    """A regular message of m points with these fields, every number of its own."""
    made = JointTrajectory(joint_names=names)
    made.header.frame_id = frame
    made.header.stamp.sec, made.header.stamp.nanosec = 1_700_000_000, 123_456_789
    for i in range(m):
        point = JointTrajectoryPoint()
        point.time_from_start.sec, point.time_from_start.nanosec = i, 7 * i
        for j, field in enumerate(present):
            setattr(point, field, [i + 0.1 * j + 0.01 * k for k in range(len(names))])
        made.points.append(point)
    return made


ALL_NUMBERS = st.floats(allow_nan=False, width=64)
STAMPS = st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)


@st.composite
def regular_messages(draw: st.DrawFn) -> JointTrajectory:
    """Any names, times and numbers; each field in all points or in none."""
    names = draw(st.lists(TEXTS, max_size=4))
    made = JointTrajectory(joint_names=names)
    made.header.frame_id = draw(TEXTS)
    made.header.stamp.sec, made.header.stamp.nanosec = draw(STAMPS)
    present = draw(st.sets(st.sampled_from(FIELDS)) | st.just({"positions", "velocities"}))
    for _ in range(draw(st.integers(0, 4))):
        point = JointTrajectoryPoint()
        point.time_from_start.sec, point.time_from_start.nanosec = draw(STAMPS)
        for field in present:
            setattr(point, field, draw(st.lists(ALL_NUMBERS, min_size=len(names), max_size=len(names))))
        made.points.append(point)
    return made


ROWS = st.lists(ALL_NUMBERS, max_size=3)


@st.composite
def messages(draw: st.DrawFn) -> JointTrajectory:
    """Regular ones, and now and then one with a field of another size."""
    made = draw(regular_messages())
    if made.points and draw(st.booleans()):
        setattr(draw(st.sampled_from(made.points)), draw(st.sampled_from(FIELDS)), draw(ROWS))
    return made


def encodings(made: JointTrajectory) -> list[bytes]:
    """The same message as rclpy writes it, without what follows its end, and in the other byte order."""
    written = [bytes(serialize_message(made)), encode(made), encode(made, ">")]
    for data in written:
        assert deserialize_message(data, JointTrajectory) == made
    return written


def assert_same(read: TrajectoryPoints, expected: TrajectoryPoints) -> None:
    assert read.joint_names == expected.joint_names
    for field in fields(TrajectoryPoints)[1:]:
        values, wanted = getattr(read, field.name), getattr(expected, field.name)
        if wanted is None:
            assert values is None, field.name
        else:
            np.testing.assert_array_equal(values, wanted, err_msg=field.name)
            assert values.shape == wanted.shape and values.dtype == np.float64 and values.flags.carray


def assert_read_as_rclpy_does(data: bytes) -> None:
    """Read the same as rclpy, or refuse what cannot be followed."""
    made = deserialize_message(data, JointTrajectory)
    try:
        expected = trajectory_points(made)
    except TrajectoryError:
        expected = None
    if expected is None or expected.positions.size == 0:
        with pytest.raises(TrajectoryError):
            read_trajectory(data)
        return
    stamp, points = read_trajectory(data)
    assert stamp == nanoseconds(made.header.stamp)
    assert_same(points, expected)


@given(messages())
def test_reads_what_rclpy_reads(made: JointTrajectory) -> None:
    for data in encodings(made):
        assert_read_as_rclpy_does(data)


def points_of(names: Any, m: int, present: Any, seed: int = 0) -> TrajectoryPoints:
    """Points of any numbers with these fields, beside positions."""
    rng = np.random.default_rng(seed)
    times, tables = np.cumsum(rng.uniform(0.1, 1e6, m)), rng.normal(size=(4, m, len(names)))
    rest = [table if field in present else None for field, table in zip(FIELDS[1:], tables[1:], strict=True)]
    return TrajectoryPoints(tuple(names), times, tables[0], *rest)


@given(regular_messages(), st.integers(1, 5), st.sets(st.sampled_from(FIELDS)), st.integers(0, 2**32 - 1))
def test_writes_points_as_rclpy_would(made: JointTrajectory, m: int, present: Any, seed: int) -> None:
    for point in made.points:
        point.positions = [0.5] * len(made.joint_names)
    points = points_of(made.joint_names, m, present, seed)
    expected = trajectory_message(points)
    expected.header = made.header
    for data in encodings(made):
        if made.joint_names and made.points:
            filled = with_points(data, points)
            assert type(filled) is bytes  # publishers take nothing else
            assert deserialize_message(filled, JointTrajectory) == expected
        else:
            with pytest.raises(TrajectoryError, match="names no joints|has no points"):
                with_points(data, points)


@pytest.mark.parametrize("present", [FIELDS[:1], FIELDS[:2], FIELDS[:3], FIELDS, ("positions", "effort")])
@pytest.mark.parametrize("names", [["a"], ["a", "bcdef"], NAMES, [f"joint{i}" for i in range(7)]])
@pytest.mark.parametrize("frame", ["", "base"])  # where the points begin: at a multiple of eight, or four bytes off
def test_every_layout(present: tuple[str, ...], names: list[str], frame: str) -> None:
    for m in (1, 2, 3, 50):
        made = message(m, *present, names=names, frame=frame)
        for data in encodings(made):
            assert_read_as_rclpy_does(data)
            points = read_trajectory(data)[1]
            assert_same(read_trajectory(with_points(data, points))[1], points)
            assert len(with_points(data, points)) == len(encode(made))  # rclpy's extra bytes are dropped


def test_what_was_read_outlives_the_bytes() -> None:
    data = bytearray(encode(message(3, "positions")))
    _, points = read_trajectory(bytes(data))
    before = points.positions.copy()
    points.positions[0] += 0.0  # writable
    data[:] = bytes(len(data))
    np.testing.assert_array_equal(points.positions, before)


@pytest.mark.parametrize("m", [4, 50])
@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize(
    ("point", "field", "values", "reason"),
    [
        (0, "positions", [], "point 0 has 0 positions for 3 joint names; give one value for each joint in every point"),
        (2, "positions", [1.0], "point 2 has 1 positions for 3 joint names"),
        (3, "positions", [1.0] * 4, "point 3 has 4 positions"),
        (1, "velocities", [], "point 1 has no velocities, unlike point 0; .* or leave velocities out of all points"),
        (0, "velocities", [], "point 1 has velocities, unlike point 0"),
        (-1, "velocities", [], r"point \d+ has no velocities"),
        (3, "accelerations", [1.0] * 3, "point 3 has accelerations, unlike point 0"),
        (0, "accelerations", [1.0], "point 0 has 1 accelerations"),
        (3, "effort", [1.0, 2.0], "point 3 has 2 effort for 3 joint names"),
        (-1, "effort", [1.0] * 3, r"point \d+ has effort"),
    ],
)
def test_irregular_points_are_named(
    m: int, endian: str, point: int, field: str, values: list[float], reason: str
) -> None:
    made = message(m, "positions", "velocities")
    setattr(made.points[point], field, values)
    data = encode(made, endian)
    for function in (read_trajectory, lambda data: with_points(data, points_of(NAMES, m, ()))):
        with pytest.raises(TrajectoryError, match=reason):
            function(data)


@pytest.mark.parametrize(
    ("made", "reason"),
    [(message(0), "has no points"), (message(2, names=[]), "names no joints"), (JointTrajectory(), "names no joints")],
)
def test_empty_messages(made: JointTrajectory, reason: str) -> None:
    with pytest.raises(TrajectoryError, match=reason):
        read_trajectory(encode(made))


# Bytes that are no message


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("m", [1, 3])
def test_every_truncation_is_refused(endian: str, m: int) -> None:
    """rclpy takes some of these for whole messages, with zeros for what is missing."""
    data = encode(message(m, "positions", "velocities"), endian)
    for end in range(len(data)):
        for function in (read_trajectory, lambda data: with_points(data, points_of(NAMES, m, ()))):
            with pytest.raises(
                TrajectoryError, match=f"ends too early, after {end} bytes" if end > 1 else "begins with"
            ):
                function(data[:end])


@given(messages(), st.data())
def test_corrupt_bytes_are_refused_or_read_as_they_are(made: JointTrajectory, data: st.DataObject) -> None:
    """What a few wrong bytes make is another message; where we take it, rclpy reads the same."""
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
    except TrajectoryError as reason:
        assert "\n" not in str(reason)
    else:
        assert_read_as_rclpy_does(bytes(corrupt))


@given(st.binary(max_size=200), st.sampled_from([b"", b"\0\0\0\0", b"\0\1\0\0"]))
def test_noise(noise: bytes, head: bytes) -> None:
    try:
        _, points = read_trajectory(head + noise)
    except TrajectoryError:
        return
    assert points.positions.shape == (len(points.times), len(points.joint_names))


@pytest.mark.parametrize("count", [100, 2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize(
    ("what", "at", "reason"),
    [
        ("frame_id", 12, "ends too early"),
        ("joint_names", 20, "ends too early"),
        ("a joint's name", 24, "ends too early"),
        ("points", 32, "ends too early"),
        ("positions", 36, r"point 0 has \d+ positions for 1 joint names"),
    ],
)
def test_lengths_beyond_the_end(count: int, what: str, at: int, reason: str) -> None:
    data = bytearray(encode(JointTrajectory(joint_names=["a"], points=[JointTrajectoryPoint(positions=[1.0])])))
    assert 1 <= struct.unpack_from("<I", data, at)[0] <= 2, f"the length of {what} is elsewhere"
    struct.pack_into("<I", data, at, count)
    with pytest.raises(TrajectoryError, match=reason):
        read_trajectory(bytes(data))


@pytest.mark.parametrize("head", [b"\0\2\0\0", b"\0\3\0\0", b"\0\6\0\0", b"\0\7\0\0", b"\1\1\0\0"])
def test_other_representations_are_refused(head: bytes) -> None:
    with pytest.raises(TrajectoryError, match="begins with .* send it in plain CDR"):
        read_trajectory(head + encode(message(2, "positions"))[4:])


# Over DDS

LATCHED = QoSProfile(depth=9, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def executors() -> list[Any]:
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return [SingleThreadedExecutor]
    return [SingleThreadedExecutor, EventsExecutor]


@pytest.mark.parametrize("executor_class", executors())
def test_raw_messages_over_dds(executor_class: Any) -> None:
    """A raw subscription brings bytes that we read; a publisher takes bytes that others read."""
    context = rclpy.Context()
    context.init()
    node = rclpy.create_node("raw", context=context)
    executor = executor_class(context=context)
    executor.add_node(node)
    try:
        raw: list[bytes] = []
        typed: list[JointTrajectory] = []
        sender = node.create_publisher(JointTrajectory, "~/plain", LATCHED)
        filler = node.create_publisher(JointTrajectory, "~/filled", LATCHED)
        node.create_subscription(JointTrajectory, "~/plain", raw.append, LATCHED, raw=True)
        node.create_subscription(JointTrajectory, "~/filled", typed.append, LATCHED)
        made = message(20, "positions", "velocities")
        sender.publish(made)
        points = points_of(NAMES, 20, FIELDS)
        deadline = time.monotonic() + 60.0
        filled = None
        while not typed:
            assert time.monotonic() < deadline
            executor.spin_once(timeout_sec=0.02)
            if raw and filled is None:
                filled = with_points(raw[0], points)
                filler.publish(filled)
        assert_same(read_trajectory(raw[0])[1], trajectory_points(made))
        expected = trajectory_message(points)
        expected.header = made.header
        assert typed == [expected]
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
