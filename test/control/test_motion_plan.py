"""The desired motion against JTC's rules: what is followed since when, and that nothing jumps."""

import gc
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.control.motion_plan import MotionPlan, TrajectoryRules
from robot_dynamics_ros.control.trajectory import Trajectory, TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from support.trajectories import NAMES, N, desired, follow, goal, random_points, resting, same

STEP = 0.001


def slow_points(seed, kind, names=NAMES):
    """Points far enough apart for modest accelerations, with rest at the end."""
    rng = np.random.default_rng(seed)
    m, k = int(rng.integers(1, 4)), len(names)
    q, v, a = rng.uniform(-1.0, 1.0, size=(3, m, k))
    v[-1] = 0.0
    times = np.cumsum(rng.uniform(0.4, 0.8, m))
    return TrajectoryPoints(
        names, times, q, v if kind in ("cubic", "quintic") else None, a if kind == "quintic" else None
    )


# What is followed


def test_an_empty_plan_begins_at_rest_at_the_first_point():
    plan = MotionPlan(NAMES)
    assert plan.empty and not plan.advance(10.0)  # the clock may still be set back
    points = goal([0.5, 1.0], [[3.0, 1.0, 2.0], [3.5, 1.5, 2.5]], names=("wrist", "shoulder", "elbow"))
    follow(plan, points, now=2.0)
    assert not plan.empty
    same(desired(plan, 2.0)[:2], ([1.0, 2.0, 3.0], np.zeros(N)))
    same(desired(plan, 2.5)[:1], ([1.0, 2.0, 3.0],), 1e-12)
    same(desired(plan, 3.0)[:2], ([1.5, 2.5, 3.5], np.zeros(N)))


def test_an_empty_plan_begins_in_the_measured_position_where_there_is_one():
    plan = MotionPlan(NAMES)
    follow(plan, goal([1.0], [[1.0]], names=("elbow",)), measured=(np.array([0.3, 0.2, 0.1]), np.ones(N)))
    same(desired(plan, 0.0)[:2], ([0.3, 0.2, 0.1], np.zeros(N)))
    same(desired(plan, 1.0)[:2], ([0.3, 1.0, 0.1], np.zeros(N)))


def test_an_empty_plan_refuses_what_leaves_a_joint_unknown():
    plan = MotionPlan(NAMES)
    with pytest.raises(TrajectoryError, match="'elbow'"):
        follow(plan, goal([1.0], [[1.0, 1.0]], names=("wrist", "shoulder")))
    assert plan.empty


def test_hold_drops_everything_and_survives_a_clock_that_jumps_back():
    plan = resting(time=100.0)
    follow(plan, random_points(1, 3), now=100.0)
    follow(plan, random_points(2, 3), start=101.0, now=100.0)
    plan.advance(100.2)
    q = np.array([1.0, 2.0, 3.0])
    plan.hold(5.0, q)
    q[:] = np.nan
    for t in (5.0, 6.0, 102.0):
        assert not plan.advance(t)
        same((plan.q, plan.qd, plan.qdd, plan.effort), ([1.0, 2.0, 3.0], *np.zeros((3, N))))


def test_a_time_that_goes_back_leaves_the_arm_where_it_was_to_be():
    plan = resting()
    follow(plan, random_points(1, 3))
    q = desired(plan, 0.7)[0]
    assert not plan.advance(0.3)
    same((plan.q, plan.qd), (q, np.zeros(N)))


# Replacement

GOALS = st.tuples(
    st.floats(0.02, 0.5),
    st.integers(0, 10**6),
    st.sampled_from(["spline", "cubic", "quintic"]),
    st.sets(st.sampled_from(NAMES), min_size=1).map(sorted).map(tuple),
    st.sampled_from([None, 0.0, 0.05, 0.3, 1.0]),
)
SPEEDS = st.tuples(st.floats(0.02, 0.5), st.one_of(st.just(0.0), st.just(1.0), st.floats(0.0, 1.0)))
CANCELS = st.tuples(st.floats(0.02, 0.5), st.floats(0.5, 10.0), st.just("cancel"))


@given(events=st.lists(st.one_of(GOALS, GOALS, SPEEDS, CANCELS), min_size=2, max_size=8))
@settings(max_examples=100, deadline=None)
def test_nothing_jumps_whatever_comes(events):
    plan, t, rows = resting(), 0.0, []

    def run(until):
        nonlocal t
        while t < until:
            t += STEP
            rows.append(desired(plan, t)[:3])

    for pause, *event in events:
        run(t + pause)
        if len(event) == 1:
            plan.set_speed(*event)
        elif len(event) == 2:
            plan.cancel(t, np.full(N, event[0]))
        else:
            seed, kind, names, wait = event
            follow(plan, slow_points(seed, kind, names), None if wait is None else t + wait, t)
    run(t + 1.5)
    q, qd, qdd = (np.array(x) for x in zip(*rows, strict=True))
    most = 2.0 * np.abs(qdd).max() + 10.0
    assert np.abs(np.diff(qd, axis=0)).max() < most * STEP
    assert np.abs(np.diff(q, axis=0) - 0.5 * STEP * (qd[1:] + qd[:-1])).max() < most * STEP**2


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["spline", "cubic", "quintic"]), part=st.floats(0.05, 0.9))
@settings(max_examples=40, deadline=None)
def test_replacement_goes_on_in_the_desired_state(seed, kind, part):
    points = random_points(seed, 4, kind, effort=True)
    plan = resting()
    now = part * follow(plan, points).duration
    before = desired(plan, now)
    follow(plan, random_points(seed + 1, 4, kind, effort=True), now=now)
    after = desired(plan, now)
    same(after[:2], before[:2], 1e-12)
    same(after[3:], before[3:], 1e-12)
    if kind == "quintic":
        same(after[2:3], before[2:3], 1e-11)


def test_measured_state_is_the_start_where_the_rules_say_so():
    rules = TrajectoryRules(interpolate_from_desired_state=False)
    q, qd = np.array([0.1, -0.1, 0.2]), np.array([1.0, 0.5, -0.5])
    for speed, empty in itertools.product((1.0, 0.125), (False, True)):
        plan = MotionPlan(NAMES)
        plan.set_speed(speed)
        if not empty:
            plan.hold(0.0, np.zeros(N))
        follow(plan, random_points(3, 3, "cubic"), now=1.0, rules=rules, measured=(q, qd))
        same(desired(plan, 1.0)[:2], (q, qd), 1e-12)
    # From a start that is still to come on, nobody has measured anything yet.
    plan = resting()
    follow(plan, random_points(3, 3, "cubic"), 2.0, 1.0, rules, (q, qd))
    same(desired(plan, 2.0)[:2], np.zeros((2, N)), 1e-12)


def test_a_trajectory_goes_on_from_a_set_point_of_the_same_cycle():
    plan = resting()
    follow(plan, goal([0.0], [[2.0] * N]))
    follow(plan, goal([1.0], [[3.0] * N]))
    same(desired(plan, 0.0)[:1], (np.full(N, 2.0),))
    same(desired(plan, 1.0)[:1], (np.full(N, 3.0),))


def test_refused_points_change_nothing():
    plan, twin = resting(), resting()
    for p in (plan, twin):
        follow(p, random_points(1, 4, effort=True))
        follow(p, random_points(2, 2, names=("elbow",)), start=0.6)
        p.advance(0.2)
    for points, start, culprit in (
        (goal([1.0], [[np.nan] * N]), None, "nan"),
        (goal([1.0], [[0.0]], names=("hand",)), 0.5, "'hand'"),
        (goal([0.5, 1.0], np.zeros((2, N))), -1.0, r"0\.200 s ago"),
        (goal([1.0], np.zeros((1, N))), np.nan, "start time"),
    ):
        with pytest.raises(TrajectoryError, match=culprit):
            follow(plan, points, start, 0.2)
    with pytest.raises(TrajectoryError, match="allow_partial_joints_goal"):
        follow(plan, goal([1.0], [[0.0]], names=("elbow",)), 0.2, rules=TrajectoryRules())
    with pytest.raises(TrajectoryError, match="allow_nonzero_velocity_at_trajectory_end"):
        follow(plan, goal([1.0], np.zeros((1, N)), np.ones((1, N))), 0.2, rules=TrajectoryRules())
    for t in np.arange(0.2, 3.0, 0.01):
        same(desired(plan, t), desired(twin, t))


# Partial goals


@given(seed=st.integers(0, 10**6), now=st.floats(0.0, 1.5), wait=st.sampled_from([None, 0.3]))
@settings(max_examples=30, deadline=None)
def test_joints_that_are_not_named_go_on_to_the_bit(seed, now, wait):
    plan, twin = resting(), resting()
    for p in (plan, twin):
        follow(p, random_points(seed, 4, effort=True))
        p.advance(now)
    points = random_points(seed + 1, 3, names=("elbow",), effort=True)
    follow(plan, points, None if wait is None else now + wait, now)
    end = now + (wait or 0.0) + points.times[-1]
    for t in np.linspace(now, end + 2.0, 60):
        one, other = desired(plan, t), desired(twin, t)
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x[[0, 2]], y[[0, 2]])
    assert one[0][1] == points.positions[-1, 0] and one[3][1] == points.effort[-1, 0]


def trajectories_alive():
    gc.collect()
    return sum(isinstance(x, Trajectory) for x in gc.get_objects())


def test_trajectories_that_nobody_follows_are_dropped():
    plan, before = resting(), trajectories_alive()
    for i in range(30):
        t = 0.01 * i
        follow(plan, goal([1.0], [[1.0]], names=(NAMES[i % N],)), now=t)
        plan.advance(t)
    assert trajectories_alive() - before == N
    follow(plan, goal([1.0], np.ones((1, N))), now=0.3)
    plan.advance(0.3)
    assert trajectories_alive() - before == 1
    assert not plan.advance(1.3)
    assert trajectories_alive() == before


# Streams


def test_streamed_set_points_are_taken_at_once():
    plan = resting()
    for i in range(200):
        t = 0.01 * i
        q, v, u = (np.full((1, N), f(t)) for f in (np.sin, np.cos, np.exp))
        follow(plan, goal([0.0], q, v, effort=u), now=t)
        for late in (0.0, 0.004, 0.008):
            assert not plan.advance(t + late)
            same((plan.q, plan.qd, plan.effort), (q[0], v[0], u[0]))
