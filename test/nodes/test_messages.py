"""Between messages and arrays: stamps to the nanosecond, joints by name, bad messages by reason."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError, TrajectoryError
from robot_dynamics_ros.nodes.messages import (
    JointStateReader,
    joint_state,
    nanoseconds,
    stamp,
    trajectory_message,
    trajectory_points,
)


@pytest.mark.parametrize("time", [0, 1, 999_999_999, 1_000_000_000, 1_700_000_000_123_456_789, -1])
def test_stamps_keep_their_digits(time: int) -> None:
    assert nanoseconds(stamp(time)) == time


def test_joint_state() -> None:
    message = joint_state(stamp(5), ("a", "b"), np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0]))
    assert message.name == ["a", "b"]
    assert [list(x) for x in (message.position, message.velocity, message.effort)] == [[1, 2], [3, 4], [5, 6]]


def test_joints_are_found_by_name_in_any_order() -> None:
    reader = JointStateReader(["a", "b"])
    for names, position in (
        (["a", "b"], [1.0, 2.0]),
        (["b", "a"], [2.0, 1.0]),
        (["x", "b", "y", "a"], [9.0, 2.0, np.nan, 1.0]),
        (["a", "b"], [1.0, 2.0]),
    ):
        found = reader.read(JointState(name=names, position=position, velocity=position))
        assert found is not None
        for values in found:
            np.testing.assert_array_equal(values, [1.0, 2.0])


def test_other_joints_are_no_matter_even_between_ours() -> None:
    reader = JointStateReader(["a", "b"])
    ours = JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[3.0, 4.0])
    for _ in range(2):
        assert reader.read(ours) is not None
        assert reader.read(JointState(name=["finger"], position=[np.nan])) is None
        assert reader.read(JointState()) is None


@pytest.mark.parametrize(
    ("names", "position", "velocity", "reason"),
    [
        (["a"], [1.0], [1.0], "joints .'b'. are missing"),
        (["a", "b"], [1.0], [1.0, 2.0], "1 numbers in position for 2 names"),
        (["a", "b"], [1.0, 2.0], [], "0 numbers in velocity for 2 names"),
        (["a", "b"], [1.0, np.nan], [1.0, 2.0], 'position of joint "b" is not finite'),
        (["b", "a"], [1.0, 2.0], [1.0, -np.inf], 'velocity of joint "a" is not finite'),
    ],
)
def test_bad_states(names: list[str], position: list[float], velocity: list[float], reason: str) -> None:
    reader = JointStateReader(["a", "b"])
    for _ in range(2):  # the order that it remembers changes nothing
        with pytest.raises(RobotDynamicsError, match=f"joint_states: .*{reason}.*Cure"):
            reader.read(JointState(name=names, position=position, velocity=velocity))
        assert reader.read(JointState(name=["a", "b"], position=[1.0, 2.0], velocity=[1.0, 2.0])) is not None


def test_trajectories_there_and_back() -> None:
    rng = np.random.default_rng(0)
    times = np.array([0.0, 0.1, 1.000000001, 7.3])
    points = TrajectoryPoints(("a", "b"), times, *rng.normal(size=(3, 4, 2)))
    message = trajectory_message(points)
    assert nanoseconds(message.header.stamp) == 0
    back = trajectory_points(message)
    assert back.joint_names == ("a", "b")
    np.testing.assert_allclose(back.times, times, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(back.positions, points.positions)
    np.testing.assert_array_equal(back.velocities, points.velocities)
    np.testing.assert_array_equal(back.accelerations, points.accelerations)
    assert back.effort is None


def test_a_point_of_the_wrong_size() -> None:
    message = trajectory_message(TrajectoryPoints(("a", "b"), np.array([1.0, 2.0]), np.zeros((2, 2))))
    message.points[1].positions = [1.0]
    with pytest.raises(TrajectoryError, match="point 1 has 1 positions for 2 joint names"):
        trajectory_points(message)
