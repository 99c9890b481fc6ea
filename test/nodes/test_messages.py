"""Between messages and arrays: stamps to the nanosecond, joints by name, bad messages by reason."""

import numpy as np
import pytest

from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.nodes.messages import nanoseconds, stamp, trajectory_message, trajectory_points


@pytest.mark.parametrize("time", [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789, -1])
def test_stamps_keep_their_digits(time: int) -> None:
    assert nanoseconds(stamp(time)) == time


def test_trajectories_there_and_back() -> None:
    rng = np.random.default_rng(0)
    times = np.array([0.0, 0.1, 1.000000001, 7.3])
    points = TrajectoryPoints(("a", "b"), times, *rng.normal(size=(3, 4, 2)))
    message = trajectory_message(points)
    assert nanoseconds(message.header.stamp) == 0
    back = trajectory_points(message)
    assert back.joint_names == ("a", "b")
    np.testing.assert_allclose(back.times, times, rtol=0, atol=1e-12)
    for field in ("positions", "velocities", "accelerations"):
        np.testing.assert_array_equal(getattr(back, field), getattr(points, field))
    assert back.effort is None


def test_a_point_of_the_wrong_size_is_refused() -> None:
    message = trajectory_message(TrajectoryPoints(("a", "b"), np.array([1.0, 2.0]), np.zeros((2, 2))))
    message.points[1].positions = [1.0]
    with pytest.raises(TrajectoryError, match="point 1"):
        trajectory_points(message)
