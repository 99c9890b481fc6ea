"""What a trajectory message must satisfy, and what is said of those that do not."""

import numpy as np
import pytest

from robot_dynamics_ros.control.trajectory import Trajectory, TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError

NAMES = ("shoulder", "elbow", "wrist")
N = len(NAMES)
REST = (np.zeros(N), None, None)


def accept(points, start_time=0.0, state=REST):
    return Trajectory.from_points(points, NAMES, start_time, state)


def plain(times=(0.5, 1.0), q=None, v=None, a=None, u=None, names=NAMES):
    q = np.zeros((len(times), len(names))) if q is None else q
    return TrajectoryPoints(names, times, q, v, a, u)


def with_one(value, i, j, m=2):
    table = np.zeros((m, N))
    table[i, j] = value
    return table


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (plain(names=("shoulder", "elbow", "hand")), "'hand'"),
        (plain(names=NAMES[:2]), "'wrist'"),
        (plain(names=("shoulder", "elbow", "elbow")), "'elbow'.*twice"),
        (plain(names=()), "joints"),
        (plain(times=()), "points"),
        (plain(times=(1.0, 0.5)), "point 1 at 0.5 s"),
        (plain(times=(0.5, 1.0, 1.0)), "point 2 at 1.0 s"),
        (plain(times=(-0.5, 1.0)), "time of point 0 is -0.5 s"),
        (plain(times=(0.5, np.inf)), "time of point 1 is inf"),
        (plain(times=("soon", "later")), "times"),
        (plain(q=np.zeros((2, 2))), "positions"),
        (plain(q=[[0.0] * 3, [0.0] * 2]), "positions"),
        (TrajectoryPoints(NAMES, (0.5, 1.0), None), "positions"),
        (plain(v=np.zeros((3, N))), "velocities"),
        (plain(v=np.zeros((2, N)), a=np.zeros(N)), "accelerations"),
        (plain(u=np.zeros((2, 1))), "effort"),
        (plain(q=with_one(np.nan, 1, 2)), "point 1.*nan.*positions.*'wrist'"),
        (plain(v=with_one(np.inf, 0, 1)), "point 0.*velocities.*'elbow'"),
        (plain(v=np.zeros((2, N)), a=with_one(np.nan, 0, 0)), "accelerations.*'shoulder'"),
        (plain(u=with_one(-np.inf, 1, 0)), "point 1.*effort.*'shoulder'"),
        (plain(a=np.zeros((2, N))), "velocities"),
        (plain(v=with_one(0.1, 1, 1)), "velocity.*'elbow' is 0.1"),
        (plain(q=with_one(-1e300, 1, 2)), r"-1e\+300 in positions.*'wrist'"),
        (plain(times=(1e-200, 2e-200), q=with_one(1.0, 1, 1), v=np.zeros((2, N))), "time"),
    ],
)
def test_bad_points_are_refused_with_the_reason(points, message):
    with pytest.raises(TrajectoryError, match=message):
        accept(points)


def test_the_largest_position_that_counts():
    accept(plain(q=with_one(-1e9, 1, 1)))


@pytest.mark.parametrize(
    ("state", "start", "message"),
    [
        ((np.zeros(2), None, None), 0.0, "start state's position has shape"),
        ((np.zeros(N), np.array([0.0, np.nan, 0.0]), None), 0.0, "velocity of joint 'elbow' is nan"),
        (REST, np.nan, "start time is not a finite number"),
    ],
)
def test_bad_starts_are_refused(state, start, message):
    with pytest.raises(TrajectoryError, match=message):
        accept(plain(), start, state)


def test_last_velocity_may_be_as_small_as_jtc_allows():
    accept(plain(v=with_one(1e-7, 1, 1)))  # float32 epsilon is 1.19e-7
    accept(plain(v=with_one(-float(np.finfo(np.float32).eps), 1, 1)))
    with pytest.raises(TrajectoryError):
        accept(plain(v=with_one(1.3e-7, 1, 1)))


def test_rows_of_a_message_become_points():
    points = TrajectoryPoints.from_rows(["a", "b"], [0.0, 1.0], [[1, 2], [3, 4]], [[], []], (), [[5, 6], [7, 8]])
    assert points.joint_names == ("a", "b")
    np.testing.assert_array_equal(points.positions, [[1.0, 2.0], [3.0, 4.0]])
    assert points.velocities is None and points.accelerations is None
    np.testing.assert_array_equal(points.effort, [[5.0, 6.0], [7.0, 8.0]])
    one = TrajectoryPoints.from_rows(["a"], [0.0, 1.0, 2.0], [[1], [2], [3]])
    np.testing.assert_array_equal(one.positions, [[1.0], [2.0], [3.0]])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (([[1, 2], [3]],), "point 1 has 1 positions for 2 joint names"),
        (([[1, 2], [3, 4]], [[0, 0], []]), "point 1 has 0 velocities"),
    ],
)
def test_ragged_rows_are_refused(fields, message):
    with pytest.raises(TrajectoryError, match=message):
        TrajectoryPoints.from_rows(["a", "b"], [0.0, 1.0], *fields)


def test_message_without_positions_is_refused():
    points = TrajectoryPoints.from_rows(NAMES, [1.0], [[]], [[0.0] * N])
    assert points.positions.shape == (0, N)
    with pytest.raises(TrajectoryError, match="positions"):
        accept(points)
    with pytest.raises(TrajectoryError, match="no points"):
        accept(TrajectoryPoints.from_rows(NAMES, [], []))
