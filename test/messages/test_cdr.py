"""Targets of the end effector as bytes: read as rclpy would, whatever they hold."""

import struct
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import AccelStamped, PoseStamped, TwistStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.messages.cdr import ACCELERATION, POSE, TARGETS, TWIST, read_target

FIELDS: dict[str, Any] = {
    POSE: (PoseStamped, "pose", (("position", "xyz"), ("orientation", "xyzw"))),
    TWIST: (TwistStamped, "twist", (("linear", "xyz"), ("angular", "xyz"))),
    ACCELERATION: (AccelStamped, "accel", (("linear", "xyz"), ("angular", "xyz"))),
}
NUMBERS = st.lists(st.floats(width=64), min_size=7, max_size=7)
STAMPS = st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)


def message(topic: str, numbers: Any, stamp: tuple[int, int], frame: str) -> Any:
    message_class, part, vectors = FIELDS[topic]
    made, values = message_class(), iter(numbers)
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    made.header.frame_id = frame
    for vector, axes in vectors:
        for axis in axes:
            setattr(getattr(getattr(made, part), vector), axis, next(values))
    return made


def big_endian(stamp: tuple[int, int], frame: str, numbers: Any) -> bytes:
    """CDR written out number by number."""
    text = frame.encode() + b"\0"
    body = struct.pack(">iII", *stamp, len(text)) + text
    return b"\0\0\0\0" + body + bytes(-len(body) % 8) + struct.pack(f">{len(numbers)}d", *numbers)


@given(topic=st.sampled_from(sorted(TARGETS)), numbers=NUMBERS, stamp=STAMPS, frame=TEXTS)
def test_it_reads_what_rclpy_writes(topic: str, numbers: list[float], stamp: tuple[int, int], frame: str) -> None:
    expected = numbers if topic == POSE else numbers[:6]
    written = bytes(serialize_message(message(topic, numbers, stamp, frame)))
    for data in (written, big_endian(stamp, frame, expected)):
        found = read_target(topic, data)
        assert (found.stamp, found.frame) == (stamp[0] * 1_000_000_000 + stamp[1], frame)
        np.testing.assert_array_equal(found.numbers, expected)


@pytest.mark.parametrize("topic", sorted(TARGETS))
def test_truncated_messages_are_refused(topic: str) -> None:
    whole = big_endian((1, 2), "base", [0.0] * (7 if topic == POSE else 6))
    for size in range(len(whole)):
        with pytest.raises(RobotDynamicsError):
            read_target(topic, whole[:size])


def test_refusals_name_the_size_or_the_encoding() -> None:
    whole = big_endian((1, 2), "base", [0.0] * 7)
    with pytest.raises(RobotDynamicsError, match="80 bytes.*PoseStamped"):
        read_target(POSE, whole[:-4])
    with pytest.raises(RobotDynamicsError, match="plain CDR"):
        read_target(POSE, b"\0\7" + whole[2:])
