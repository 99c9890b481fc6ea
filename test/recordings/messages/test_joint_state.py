"""Serialized JointState: joints by name, errors of invalid messages, and the same bytes as rclpy's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.recordings.messages.joint_state import (
    JointStateReader,
    JointStateWriter,
    stamp_of,
)
from robot_dynamics_ros.ros.conversions import stamp
from support.bag_recordings import joint_state


def read(reader: JointStateReader, message: JointState) -> Any:
    return reader.read(serialize_message(message))


def test_other_joints_are_ignored() -> None:
    reader = JointStateReader(["a", "b"])
    for _ in range(2):
        assert read(
            reader, JointState(name=["b", "x", "a"], position=[2.0, np.nan, 1.0])
        ).q.tolist() == [1.0, 2.0]
        for other in (JointState(name=["finger"], position=[np.nan]), JointState()):
            assert read(reader, other) is None


@pytest.mark.parametrize(
    ("names", "position", "velocity", "culprit"),
    [
        (["a"], [1.0], [1.0], "b"),
        (["a", "b"], [1.0], [1.0, 2.0], "position"),
        (["a", "b"], [], [1.0, 2.0], "positions"),
        (["a", "b", "a"], [1.0] * 3, [1.0] * 3, "a"),
    ],
)
def test_unusable_states_are_refused(
    names: list[str], position: list[float], velocity: list[float], culprit: str
) -> None:
    reader = JointStateReader(["a", "b"])
    for _ in range(2):  # without and with a cached layout
        with pytest.raises(
            RobotDynamicsError, match=rf"^joint_states: .*\b{culprit}\b.*Cure: "
        ):
            read(reader, JointState(name=names, position=position, velocity=velocity))
        assert (
            read(
                reader,
                JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[1.0, 2.0]),
            )
            is not None
        )


@pytest.mark.parametrize("velocity", [[], [1.0], [1.0, 2.0, 3.0]])
def test_velocities_of_another_length_are_not_measured(velocity: list[float]) -> None:
    """The positions are right; an effort of another length beside them is still refused."""
    reader = JointStateReader(["b", "a"])
    message = JointState(name=["a", "b"], position=[1.0, 2.0], velocity=velocity)
    for _ in range(2):
        found = read(reader, message)
        assert found.q.tolist() == [2.0, 1.0] and found.qd is None
    message.effort = [1.0]
    with pytest.raises(RobotDynamicsError, match="1 values in effort"):
        read(reader, message)


numbers = st.floats(width=64)
labels = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=9
)


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


def nanoseconds(message: JointState) -> int:
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def assert_same(found: Any, message: JointState, names: list[str]) -> None:
    assert found.stamp == nanoseconds(message)
    places = [list(message.name).index(name) for name in names]
    for values, field in (
        (found.q, "position"),
        (found.qd, "velocity"),
        (found.effort, "effort"),
    ):
        expected = getattr(message, field)
        if len(expected) == 0:
            assert values is None
        else:
            np.testing.assert_array_equal(values, np.array(expected)[places])
            assert (
                values.dtype == np.float64
                and values.flags.aligned
                and values.flags.c_contiguous
            )


@given(st.lists(messages(), min_size=1, max_size=3), st.data())
def test_messages_of_rclpy_are_read(history: list[JointState], data: Any) -> None:
    names = data.draw(
        st.lists(st.sampled_from(list(history[0].name)), min_size=1, unique=True)
    )
    reader = JointStateReader(names)
    for message in (history[0], *history, history[0]):
        fields = (
            message.name,
            message.position,
            message.velocity,
            message.effort,
            message.header.frame_id,
        )
        big_endian = joint_state(nanoseconds(message), *fields, little_endian=False)
        if set(names) <= set(message.name):
            assert_same(read(reader, message), message, names)
            found = reader.read(big_endian)
            assert (
                found.stamp
                == nanoseconds(message)
                == stamp_of(serialize_message(message))
                == stamp_of(big_endian)
            )
            for field in ("q", "qd", "effort"):
                np.testing.assert_array_equal(
                    getattr(found, field), getattr(read(reader, message), field)
                )


@given(messages(), st.data())
def test_truncated_messages_are_refused(message: JointState, data: Any) -> None:
    """Reading raises the typed error or returns the numbers of the message."""
    whole = JointStateWriter(message.name).write(
        0,
        np.array(message.position),
        np.array(message.velocity),
        np.array(message.effort),
    )
    reader = JointStateReader(list(message.name))
    if data.draw(st.booleans()):
        reader.read(whole)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(RobotDynamicsError, match="^joint_states: .*JointState"):
        reader.read(cut)
    assert stamp_of(cut[:11]) is None


@given(messages())
def test_rclpy_reads_written_messages(message: JointState) -> None:
    fields = [
        np.array(values)
        for values in (message.position, message.velocity, message.effort)
    ]
    back = deserialize_message(
        JointStateWriter(message.name).write(nanoseconds(message), *fields), JointState
    )
    message.header.frame_id = ""
    assert back.header == message.header and back.name == message.name
    for field in ("position", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(back, field), getattr(message, field))
