"""Targets of the hand as bytes: read as rclpy would, whatever they hold."""

import struct
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import AccelStamped, PoseStamped, TwistStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.messages.hand_target import ACCELERATION, POSE, TARGETS, TWIST, read_target

CLASSES: dict[str, Any] = {POSE: PoseStamped, TWIST: TwistStamped, ACCELERATION: AccelStamped}
FIELDS = {
    POSE: ("pose", (("position", "xyz"), ("orientation", "xyzw"))),
    TWIST: ("twist", (("linear", "xyz"), ("angular", "xyz"))),
    ACCELERATION: ("accel", (("linear", "xyz"), ("angular", "xyz"))),
}
NUMBERS = st.lists(st.floats(width=64), min_size=7, max_size=7)
STAMPS = st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)


def message(topic: str, numbers: Any, stamp: tuple[int, int] = (0, 0), frame: str = "") -> Any:
    made, (part, vectors) = CLASSES[topic](), FIELDS[topic]
    made.header.stamp.sec, made.header.stamp.nanosec = stamp
    made.header.frame_id = frame
    values = iter(numbers)
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
def test_what_rclpy_writes_is_read(topic: str, numbers: list[float], stamp: tuple[int, int], frame: str) -> None:
    made = message(topic, numbers, stamp, frame)
    expected = numbers if topic == POSE else numbers[:6]
    other = big_endian(stamp, frame, expected)
    for data in (bytes(serialize_message(made)), other):
        found = read_target(topic, data)
        assert (found.stamp, found.frame) == (stamp[0] * 1_000_000_000 + stamp[1], frame)
        np.testing.assert_array_equal(found.numbers, expected)


@given(topic=st.sampled_from(sorted(TARGETS)), data=st.binary(max_size=90), keep=st.integers(0, 60))
def test_broken_bytes_are_refused_or_read(topic: str, data: bytes, keep: int) -> None:
    """Random ones, and whole messages that are cut off."""
    whole = big_endian((1, 2), "base", [0.0] * (7 if topic == POSE else 6))
    for broken in (data, b"\0\1\0\0" + data):
        try:
            assert read_target(topic, broken).numbers.shape == (7 if topic == POSE else 6,)
        except RobotDynamicsError:
            pass
    with pytest.raises(RobotDynamicsError):
        read_target(topic, whole[:keep])


def test_what_is_wrong_with_bytes_is_named() -> None:
    whole = big_endian((1, 2), "base", [0.0] * 7)
    with pytest.raises(RobotDynamicsError, match="80 bytes.*PoseStamped"):
        read_target(POSE, whole[:-4])
    with pytest.raises(RobotDynamicsError, match="plain CDR"):
        read_target(POSE, b"\0\7" + whole[2:])
