"""JointState as bytes: joints by name, bad messages by reason, and the same bytes as rclpy's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.joint_state import JointStateReader, JointStateWriter, Sample, stamp_of
from robot_dynamics_ros.nodes.messages import stamp


def read(reader: JointStateReader, message: JointState) -> Sample | None:
    return reader.read(serialize_message(message))


def test_joints_are_found_by_name_in_any_order() -> None:
    reader = JointStateReader(["a", "b"])
    for names, position in (
        (["a", "b"], [1.0, 2.0]),
        (["b", "a"], [2.0, 1.0]),
        (["x", "b", "y", "a"], [9.0, 2.0, np.nan, 1.0]),
        (["a", "b"], [1.0, 2.0]),
    ):
        found = read(reader, JointState(name=names, position=position, velocity=position, effort=position))
        assert found is not None
        for values in (found.q, found.qd, found.effort):
            np.testing.assert_array_equal(values, [1.0, 2.0])


def test_what_a_driver_does_not_measure() -> None:
    reader = JointStateReader(["a", "b"])
    found = read(reader, JointState(name=["b", "a"], position=[1.0, 2.0], effort=[3.0, 4.0]))
    assert found is not None and found.qd is None
    np.testing.assert_array_equal(found.effort, [4.0, 3.0])
    found = read(reader, JointState(name=["b", "a"], position=[1.0, 2.0], velocity=[3.0, 4.0]))
    assert found is not None and found.effort is None
    np.testing.assert_array_equal(found.qd, [4.0, 3.0])


def test_numbers_are_passed_on_as_they_are() -> None:
    found = read(JointStateReader(["a", "b"]), JointState(name=["b", "a"], position=[np.nan, -np.inf]))
    assert found is not None
    np.testing.assert_array_equal(found.q, [-np.inf, np.nan])


def test_other_joints_are_no_matter_even_between_ours() -> None:
    reader = JointStateReader(["a", "b"])
    ours = JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[3.0, 4.0])
    for _ in range(2):
        assert read(reader, ours) is not None
        assert read(reader, JointState(name=["finger"], position=[np.nan])) is None
        assert read(reader, JointState()) is None


@pytest.mark.parametrize(
    ("names", "position", "velocity", "reason"),
    [
        (["a"], [1.0], [1.0], "joints b are missing"),
        (["a", "b"], [1.0], [1.0, 2.0], "1 numbers in position for 2 names"),
        (["a", "b"], [1.0, 2.0], [1.0], "1 numbers in velocity for 2 names"),
        (["a", "b"], [], [1.0, 2.0], "no position"),
    ],
)
def test_bad_states(names: list[str], position: list[float], velocity: list[float], reason: str) -> None:
    reader = JointStateReader(["a", "b"])
    for _ in range(2):  # the order that it remembers changes nothing
        with pytest.raises(RobotDynamicsError, match=f"joint_states: .*{reason}.*Cure"):
            read(reader, JointState(name=names, position=position, velocity=velocity))
        assert read(reader, JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[1.0, 2.0])) is not None


# Any message

numbers = st.floats(width=64)
labels = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=9)


@st.composite
def messages(draw: st.DrawFn) -> JointState:
    names = draw(st.lists(labels, min_size=1, max_size=5, unique=True))
    message = JointState(name=names)
    message.header.frame_id = draw(labels)
    message.header.stamp = stamp(draw(st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1)))
    exact = st.lists(numbers, min_size=len(names), max_size=len(names))
    message.position = draw(exact)
    message.velocity = draw(st.one_of(exact, st.just([])))
    message.effort = draw(st.one_of(exact, st.just([])))
    return message


def _check(found: Sample | None, message: JointState, names: list[str]) -> None:
    assert found is not None
    assert found.at == message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    places = [list(message.name).index(name) for name in names]
    for values, field in ((found.q, "position"), (found.qd, "velocity"), (found.effort, "effort")):
        expected = getattr(message, field)
        if len(expected) == 0:
            assert values is None
        else:
            np.testing.assert_array_equal(values, np.array(expected)[places])
            assert values.dtype == np.float64 and values.flags.aligned and values.flags.c_contiguous


@given(st.lists(messages(), min_size=1, max_size=3), st.data())
def test_it_reads_what_rclpy_writes(history: list[JointState], data: Any) -> None:
    names = data.draw(st.lists(st.sampled_from(list(history[0].name)), min_size=1, unique=True))
    reader = JointStateReader(names)
    for message in (history[0], *history, history[0]):
        if set(names) <= set(message.name):
            _check(read(reader, message), message, names)
            assert (
                stamp_of(serialize_message(message)) == message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            )


@given(messages(), st.data())
def test_messages_that_end_too_early(message: JointState, data: Any) -> None:
    """Never a crash, never numbers that are not there."""
    whole = JointStateWriter(message.name).write(
        0, np.array(message.position), np.array(message.velocity), np.array(message.effort)
    )
    reader = JointStateReader(list(message.name))
    if data.draw(st.booleans()):
        reader.read(whole)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(RobotDynamicsError, match="no whole JointState"):
        reader.read(cut)
    assert stamp_of(cut[:11]) is None


@given(messages(), st.data())
def test_bytes_that_are_anything(message: JointState, data: Any) -> None:
    whole = bytearray(serialize_message(message))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    reader = JointStateReader(list(message.name))
    for _ in range(2):
        try:
            reader.read(bytes(whole))
        except RobotDynamicsError:
            pass


def test_the_other_byte_order() -> None:
    """Written by hand: stamp 1.000000002, frame_id "f", joint "a", position 0.5, no velocity, effort -2."""
    body = (
        b"\0\0\0\x01\0\0\0\x02" + b"\0\0\0\x02f\0\0\0" + b"\0\0\0\x01" + b"\0\0\0\x02a\0\0\0"
        + b"\0\0\0\x01" + np.array([0.5], ">f8").tobytes() + b"\0\0\0\0" + b"\0\0\0\x01"
        + np.array([-2.0], ">f8").tobytes()
    )  # fmt: skip
    for _ in range(2):
        found = JointStateReader(["a"]).read(b"\0\0\0\0" + body)
        assert found is not None and found.at == 1_000_000_002 and found.qd is None and found.effort is not None
        assert (found.q[0], found.effort[0]) == (0.5, -2.0)


@given(messages())
def test_rclpy_reads_what_it_writes(message: JointState) -> None:
    at = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
    fields = [np.array(values) for values in (message.position, message.velocity, message.effort)]
    back = deserialize_message(JointStateWriter(message.name).write(at, *fields), JointState)
    message.header.frame_id = ""
    assert back.header == message.header and back.name == message.name
    for field in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(back, field), getattr(message, field))
