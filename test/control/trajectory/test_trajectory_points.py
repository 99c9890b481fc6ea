"""Validation of trajectory messages, and the reported reasons."""

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from support.trajectories import NAMES, N, build


def plain(times=(0.5, 1.0), q=None, v=None, a=None, u=None, names=NAMES):
    q = np.zeros((len(times), len(names))) if q is None else q
    return TrajectoryPoints(names, times, q, v, a, u)


def with_one(value, i, j):
    table = np.zeros((2, N))
    table[i, j] = value
    return table


STILL = np.zeros((2, N))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (plain(names=("shoulder", "elbow", "hand")), "'hand'"),
        (plain(names=NAMES[:2]), "'wrist'"),
        (plain(names=("shoulder", "elbow", "elbow")), "'elbow'.*twice"),
        (plain(names=()), "joint names"),
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
        (plain(v=STILL, a=np.zeros(N)), "accelerations"),
        (plain(u=np.zeros((2, 1))), "effort"),
        (plain(q=with_one(np.nan, 1, 2)), "point 1.*nan.*positions.*'wrist'"),
        (plain(v=with_one(np.inf, 0, 1)), "point 0.*velocities.*'elbow'"),
        (plain(v=STILL, a=with_one(np.nan, 0, 0)), "accelerations.*'shoulder'"),
        (plain(u=with_one(-np.inf, 1, 0)), "point 1.*effort.*'shoulder'"),
        (plain(a=STILL), "velocities"),
        (plain(v=with_one(0.1, 1, 1)), "velocity.*'elbow' is 0.1"),
        (plain(v=with_one(1.3e-7, 1, 1)), "velocity.*'elbow'"),
        (plain(q=with_one(-1e300, 1, 2)), r"-1e\+300 in positions.*'wrist'"),
        (plain(times=(1e-200, 2e-200), q=with_one(1.0, 1, 1), v=STILL), "time"),
        (TrajectoryPoints(NAMES, np.empty(0), np.empty((0, len(NAMES)))), "no points"),
    ],
)
def test_bad_points_are_refused_with_the_reason(points, message):
    with pytest.raises(TrajectoryError, match=message):
        build(points)


def test_the_largest_numbers_that_are_accepted():
    build(plain(q=with_one(-1e9, 1, 1)))
    # 1.19e-7, as JTC allows at the end
    build(plain(v=with_one(-float(np.finfo(np.float32).eps), 1, 1)))


def test_a_bad_start_is_refused():
    with pytest.raises(TrajectoryError, match="start time is not a finite number"):
        build(plain(), np.nan)
