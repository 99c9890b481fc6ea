"""Conversions of messages and arrays: stamps in nanoseconds, joints by name, classes by type."""

import pytest
from sensor_msgs.msg import JointState

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.ros.conversions import message_class, nanoseconds, stamp


@pytest.mark.parametrize(
    "time", [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789, -1]
)
def test_stamps_keep_their_digits(time: int) -> None:
    assert nanoseconds(stamp(time)) == time


def test_a_type_that_is_installed() -> None:
    assert message_class("sensor_msgs/msg/JointState") is JointState


@pytest.mark.parametrize(
    "kind",
    [
        "no_msgs/msg/Grip",
        "sensor_msgs/msg/Grip",
        "sensor_msgs/JointState",
        "",
        "../x/y",
    ],
)
def test_a_type_that_is_not_installed(kind: str) -> None:
    with pytest.raises(BagError, match="not installed"):
        message_class(kind)
