"""Between messages and arrays: stamps to the nanosecond, joints by name, classes by type."""

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory
from robot_dynamics_ros.nodes.messages import message_class, nanoseconds, stamp, trajectory_message


@pytest.mark.parametrize("time", [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789, -1])
def test_stamps_keep_their_digits(time: int) -> None:
    assert nanoseconds(stamp(time)) == time


def test_trajectories_there_and_back() -> None:
    rng = np.random.default_rng(0)
    times = np.array([0.0, 0.1, 1.000000001, 7.3])
    points = TrajectoryPoints(("a", "b"), times, *rng.normal(size=(3, 4, 2)))
    message = trajectory_message(points)
    assert nanoseconds(message.header.stamp) == 0
    _, back = read_trajectory(serialize_message(message))
    assert back.joint_names == ("a", "b")
    np.testing.assert_allclose(back.times, times, rtol=0, atol=1e-12)
    for field in ("positions", "velocities", "accelerations"):
        np.testing.assert_array_equal(getattr(back, field), getattr(points, field))
    assert back.effort is None


def test_a_type_that_is_installed() -> None:
    assert message_class("sensor_msgs/msg/JointState") is JointState


@pytest.mark.parametrize(
    "kind", ["nowhere_msgs/msg/Grip", "sensor_msgs/msg/Grip", "sensor_msgs/JointState", "", "../x/y"]
)
def test_one_that_is_not(kind: str) -> None:
    with pytest.raises(BagError, match="not installed"):
        message_class(kind)
