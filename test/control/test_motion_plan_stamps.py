"""Starts in the future and in the past, as JTC documents them under "Trajectory Replacement"."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.control.motion_plan import TrajectoryRules
from robot_dynamics_ros.errors import TrajectoryError
from support.trajectories import KINDS, NAMES, N, build, desired, follow, goal, random_points, resting, same, sampled

# The future


@pytest.mark.parametrize("kind", ["spline", "cubic", "quintic"])
@given(seed=st.integers(0, 10**6), wait=st.floats(0.01, 3.0))
@settings(max_examples=20, deadline=None)
def test_old_trajectory_goes_on_until_the_new_one_starts(kind, seed, wait):
    points = random_points(seed, 4, kind, effort=True)
    plan, twin = resting(), resting()
    follow(plan, points)
    follow(twin, points)
    follow(plan, random_points(seed + 1, 3, kind, effort=True), wait, 0.0)
    for t in np.linspace(0.0, wait, 30)[:-1]:
        same(desired(plan, t), desired(twin, t))
    # The end of the old one stops its acceleration, too: quintics begin with what is there then.
    before, after = desired(twin, wait), desired(plan, wait)
    same(after[:2], before[:2], 1e-11)
    same(after[3:], before[3:], 1e-12)


def test_earlier_start_drops_what_was_to_come_later():
    # blend_onto_not_yet_started_trajectory and blend_successive_blends
    plan = resting()
    follow(plan, goal([1.0, 2.0], [[10.0] * N, [20.0] * N]), 5.0, 0.0)
    plan.advance(0.5)
    follow(plan, goal([0.5], [[-5.0] * N]), 1.0, 0.5)
    for t in (0.6, 1.0):
        same(desired(plan, t)[:1], (np.zeros(N),))
    for t in (1.5, 5.5, 9.0):
        same(desired(plan, t)[:2], ([-5.0] * N, np.zeros(N)))
    follow(plan, goal([0.5], [[7.0] * N]), None, 9.0)
    same(desired(plan, 9.5)[:1], ([7.0] * N,))


def test_later_start_follows_after_the_earlier_one():
    plan = resting()
    follow(plan, goal([0.5], [[2.0] * N]), 5.0, 0.0)
    follow(plan, goal([0.5], [[3.0, 3.0]], names=NAMES[:2]), 5.4, 0.0)
    follow(plan, goal([0.5], [[1.0] * N]), 1.0, 0.0)  # drops both
    follow(plan, goal([0.5], [[4.0]], names=NAMES[2:]), 2.0, 0.0)
    same(desired(plan, 1.5)[:1], ([1.0] * N,))
    same(desired(plan, 2.5)[:1], ([1.0, 1.0, 4.0],))
    assert not plan.advance(2.6)
    same(desired(plan, 9.0)[:1], ([1.0, 1.0, 4.0],))


def test_first_point_at_a_start_in_the_future_is_reached_in_time():
    plan = resting()
    follow(plan, goal([1.0, 2.0], [[1.0] * N, [2.0] * N], np.zeros((2, N))))
    follow(plan, goal([0.0, 1.0], [[4.0] * N, [5.0] * N], np.zeros((2, N))), 1.5, 0.2)
    # JTC keeps the old points before the start: it leaves the old path at the last of them.
    for t, q in ((0.5, 0.5), (1.0, 1.0), (1.25, 2.5), (1.5, 4.0), (2.0, 4.5), (2.5, 5.0)):
        same(desired(plan, t)[:1], ([q] * N,), 1e-12)
    # At rest there are none: it goes there from now on.
    plan = resting()
    follow(plan, goal([0.0], [[2.0] * N], np.zeros((1, N))), 2.0, 1.0)
    for t, q in ((1.0, 0.0), (1.5, 1.0), (2.0, 2.0)):
        same(desired(plan, t)[:1], ([q] * N,), 1e-12)


def test_points_of_other_joints_do_not_put_off_the_way_to_the_first_one():
    plan = resting()
    follow(plan, goal([1.4], [[1.0]], names=("wrist",)))
    follow(plan, goal([0.0], [[3.0]], [[0.0]], names=("elbow",)), 1.5, 0.0)
    same((desired(plan, 0.75)[0][1:2],), ([1.5],), 1e-12)


def test_too_many_that_wait_are_refused():
    plan = resting()
    for i in range(100):
        follow(plan, goal([0.5], [[float(i)] * N]), 1.0 + i, 0.0)
    with pytest.raises(TrajectoryError, match="100 trajectories"):
        follow(plan, goal([0.5], [[0.0] * N]), 200.0, 0.0)
    follow(plan, goal([0.5], [[-1.0] * N]), 50.2, 0.0)  # in place of half of them
    same(desired(plan, 49.9)[:1], ([48.0] * N,))
    same(desired(plan, 99.0)[:1], ([-1.0] * N,))


def test_those_for_the_same_time_do_not_wait_beside_each_other():
    plan = resting()
    for i in range(200):
        follow(plan, goal([0.5], [[float(i)] * N]), 1.0, 0.0)
    same(desired(plan, 1.5)[:1], ([199.0] * N,))


# The past


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), part=st.floats(0.05, 0.9))
@settings(max_examples=20, deadline=None)
def test_start_in_the_past_starts_in_the_middle_without_a_jump(kind, seed, part):
    points = random_points(seed, 5, kind, first=0.0)
    now = 10.0
    start = now - part * points.times[-1]
    plan = resting((0.3, 0.2, 0.1), now)
    follow(plan, points, start, now, TrajectoryRules(positions_upsampling=kind != "linear"))
    same(desired(plan, now)[:1], ([0.3, 0.2, 0.1],), 1e-12)
    meant = build(points, start, kind=kind)
    reach = start + points.times[np.searchsorted(points.times, now - start, side="right")]
    for t in np.linspace(reach, meant.end_time + 0.1, 20):
        q, qd, *_ = sampled(meant, t + 1e-9)
        same(desired(plan, t + 1e-9)[:2], (q, qd), 1e-4)


def test_trajectory_that_ended_is_ignored_as_in_jtc():
    # test_ignore_old_trajectory and test_ignore_partial_old_trajectory
    plan = resting()
    follow(plan, goal([0.5, 1.0], [[2.0, 3.0, 4.0], [4.0, 5.0, 6.0]]))
    plan.advance(0.5)
    with pytest.raises(TrajectoryError, match=r"0\.100 s ago"):
        follow(plan, goal([0.5], [[-1.0, -2.0, -3.0]]), -0.1, 0.5)
    same(desired(plan, 1.0)[:1], ([4.0, 5.0, 6.0],))
    follow(plan, goal([0.5], [[-1.0, -2.0, -3.0]]), 0.5, 1.0)  # ends now: taken at once
    same(desired(plan, 1.0)[:1], ([-1.0, -2.0, -3.0],))


def test_cycle_that_comes_before_the_goal_still_sees_the_old_motion():
    plan, twin = resting(), resting()
    for p in (plan, twin):
        follow(p, random_points(1, 3))
        p.advance(0.1)
    follow(plan, random_points(2, 3), None, 0.2)
    same(desired(plan, 0.15), desired(twin, 0.15))
    same(desired(plan, 0.2)[:2], desired(twin, 0.2)[:2], 1e-12)
    # A goal said to be from before the last cycle starts in that one.
    follow(plan, random_points(3, 3), None, 0.0)
    q, qd, *_ = desired(plan, 0.2)
    same((q, qd), desired(twin, 0.2)[:2], 1e-12)
