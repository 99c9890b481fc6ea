"""Desired motion: replacement and start times as in JTC, speed scaling and stopping."""

import gc
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import TrajectoryRules
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from support.trajectories import (
    NAMES,
    N,
    desired,
    follow,
    goal,
    random_points,
    resting,
    same,
)

STEP = 0.001
SMOOTH = ["spline", "cubic", "quintic"]


def at_speed(factor):
    """Return a plan that holds zero at this speed factor."""
    plan = MotionPlan(NAMES)
    plan.set_speed(factor)
    plan.hold(0.0, np.zeros(N))
    return plan


def test_an_empty_plan_begins_at_rest_at_the_first_point():
    plan = MotionPlan(NAMES)
    assert plan.empty and not plan.advance(10.0)  # the clock may still jump back
    # the position of a joint would be unknown
    with pytest.raises(TrajectoryError, match="'elbow'"):
        follow(plan, goal([1.0], [[1.0, 1.0]], names=("wrist", "shoulder")))
    assert plan.empty
    points = goal(
        [0.5, 1.0],
        [[3.0, 1.0, 2.0], [3.5, 1.5, 2.5]],
        names=("wrist", "shoulder", "elbow"),
    )
    follow(plan, points, now=2.0)
    assert not plan.empty
    same(desired(plan, 2.0)[:2], ([1.0, 2.0, 3.0], np.zeros(N)))
    same(desired(plan, 2.5)[:1], ([1.0, 2.0, 3.0],), 1e-12)
    same(desired(plan, 3.0)[:2], ([1.5, 2.5, 3.5], np.zeros(N)))


def test_an_empty_plan_begins_in_the_measured_position_if_known():
    plan = MotionPlan(NAMES)
    follow(
        plan,
        goal([1.0], [[1.0]], names=("elbow",)),
        measured=(np.array([0.3, 0.2, 0.1]), np.ones(N)),
    )
    same(desired(plan, 0.0)[:2], ([0.3, 0.2, 0.1], np.zeros(N)))
    same(desired(plan, 1.0)[:2], ([0.3, 1.0, 0.1], np.zeros(N)))


def test_hold_drops_everything_and_survives_a_clock_that_jumps_back():
    plan = resting(time=100.0)
    follow(plan, random_points(1, 3), now=100.0)
    follow(plan, random_points(2, 3), start=101.0, now=100.0)
    plan.advance(100.2)
    q = np.array([1.0, 2.0, 3.0])
    plan.hold(5.0, q)
    q[:] = np.nan
    for t in (5.0, 6.0, 102.0, 101.0):  # and one that goes back between cycles
        assert not plan.advance(t)
        same(
            (plan.q, plan.qd, plan.qdd, plan.effort),
            ([1.0, 2.0, 3.0], *np.zeros((3, N))),
        )


# Replacement

GOALS = st.tuples(
    st.floats(0.02, 0.5),
    st.integers(0, 10**6),
    st.sampled_from(SMOOTH),
    st.sets(st.sampled_from(NAMES), min_size=1).map(sorted).map(tuple),
    st.sampled_from([None, 0.0, 0.05, 0.3, 1.0]),
)
SPEEDS = st.tuples(
    st.floats(0.02, 0.5), st.one_of(st.just(0.0), st.just(1.0), st.floats(0.0, 1.0))
)
CANCELS = st.tuples(st.floats(0.02, 0.5), st.floats(0.5, 10.0), st.just("cancel"))


def slow_points(seed, kind, names):
    """Draw points at rest at the end, far enough apart for moderate accelerations."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 4))
    q, v, a = rng.uniform(-1.0, 1.0, size=(3, m, len(names)))
    v[-1] = 0.0
    times = np.cumsum(rng.uniform(0.4, 0.8, m))
    return TrajectoryPoints(
        names,
        times,
        q,
        v if kind != "spline" else None,
        a if kind == "quintic" else None,
    )


@given(
    events=st.lists(st.one_of(GOALS, GOALS, SPEEDS, CANCELS), min_size=2, max_size=8)
)
@settings(max_examples=40, deadline=None)
def test_position_and_velocity_stay_continuous(events):
    plan = resting()
    t = 0.0
    rows = []

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
            follow(
                plan,
                slow_points(seed, kind, names),
                None if wait is None else t + wait,
                t,
            )
    run(t + 1.5)
    q, qd, qdd = (np.array(x) for x in zip(*rows, strict=True))
    most = 2.0 * np.abs(qdd).max() + 10.0
    assert np.abs(np.diff(qd, axis=0)).max() < most * STEP
    assert (
        np.abs(np.diff(q, axis=0) - 0.5 * STEP * (qd[1:] + qd[:-1])).max()
        < most * STEP**2
    )


def test_the_start_may_be_the_measured_state():
    rules = TrajectoryRules(interpolate_from_desired_state=False)
    q = np.array([0.1, -0.1, 0.2])
    qd = np.array([1.0, 0.5, -0.5])
    for speed, empty in itertools.product((1.0, 0.125), (False, True)):
        plan = MotionPlan(NAMES)
        plan.set_speed(speed)
        if not empty:
            plan.hold(0.0, np.zeros(N))
        follow(
            plan, random_points(3, 3, "cubic"), now=1.0, rules=rules, measured=(q, qd)
        )
        same(desired(plan, 1.0)[:2], (q, qd), 1e-12)
    # A start in the future has no measured state yet.
    plan = resting()
    follow(plan, random_points(3, 3, "cubic"), 2.0, 1.0, rules, (q, qd))
    same(desired(plan, 2.0)[:2], np.zeros((2, N)), 1e-12)


def test_a_trajectory_continues_from_a_set_point_of_the_same_cycle():
    plan = resting()
    follow(plan, goal([0.0], [[2.0] * N]))
    follow(plan, goal([1.0], [[3.0] * N]))
    same(desired(plan, 0.0)[:1], (np.full(N, 2.0),))
    same(desired(plan, 1.0)[:1], (np.full(N, 3.0),))


def test_streamed_set_points_apply_at_once():
    plan = resting()
    for t in 0.01 * np.arange(200):
        q, v, u = (np.full((1, N), f(t)) for f in (np.sin, np.cos, np.exp))
        follow(plan, goal([0.0], q, v, effort=u), now=t)
        for late in (0.0, 0.004, 0.008):
            assert not plan.advance(t + late)
            same((plan.q, plan.qd, plan.effort), (q[0], v[0], u[0]))


def test_refused_points_change_nothing():
    plan = resting()
    twin = resting()
    strict = TrajectoryRules()
    for p in (plan, twin):
        follow(p, random_points(1, 4, effort=True))
        follow(p, random_points(2, 2, names=("elbow",)), start=0.6)
        p.advance(0.2)
    moving = goal([1.0], np.zeros((1, N)), np.ones((1, N)))
    for points, start, rules, culprit in (
        (goal([1.0], [[np.nan] * N]), None, strict, "nan"),
        (goal([1.0], [[0.0]], names=("hand",)), 0.5, strict, "'hand'"),
        (goal([0.5, 1.0], np.zeros((2, N))), -1.0, strict, r"0\.200 s ago"),
        (goal([1.0], np.zeros((1, N))), np.nan, strict, "start time"),
        (
            goal([1.0], [[0.0]], names=("elbow",)),
            None,
            strict,
            "allow_partial_joints_goal.* parameter joints",
        ),
        (moving, None, strict, "allow_nonzero_velocity_at_trajectory_end"),
    ):
        with pytest.raises(TrajectoryError, match=culprit):
            follow(plan, points, start, 0.2, rules)
    for t in np.arange(0.2, 3.0, 0.01):
        same(desired(plan, t), desired(twin, t))


@given(
    seed=st.integers(0, 10**6),
    now=st.floats(0.0, 1.5),
    wait=st.sampled_from([None, 0.3]),
)
@settings(max_examples=30, deadline=None)
def test_other_joints_are_not_affected(seed, now, wait):
    plan = resting()
    twin = resting()
    for p in (plan, twin):
        follow(p, random_points(seed, 4, effort=True))
        p.advance(now)
    points = random_points(seed + 1, 3, names=("elbow",), effort=True)
    follow(plan, points, None if wait is None else now + wait, now)
    end = now + (wait or 0.0) + points.times[-1]
    for t in np.linspace(now, end + 2.0, 60):
        one = desired(plan, t)
        other = desired(twin, t)
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x[[0, 2]], y[[0, 2]])
    assert one[0][1] == points.positions[-1, 0] and one[3][1] == points.effort[-1, 0]


def trajectories_alive():
    gc.collect()
    # isinstance would follow dead weak proxies
    return sum(type(x) is Trajectory for x in gc.get_objects())


def test_trajectories_that_no_joint_follows_are_freed():
    plan = resting()
    before = trajectories_alive()
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


@pytest.mark.parametrize("kind", SMOOTH)
@given(seed=st.integers(0, 10**6), wait=st.one_of(st.none(), st.floats(0.01, 3.0)))
@settings(max_examples=25, deadline=None)
def test_old_trajectory_continues_until_the_start_of_the_new_one(kind, seed, wait):
    plan = resting()
    twin = resting()
    for p in (plan, twin):
        end = follow(p, random_points(seed, 4, kind, effort=True)).end_time
        p.advance(0.4)
    start = 0.4 + (wait or 0.0)
    follow(
        plan,
        random_points(seed + 1, 3, kind, effort=True),
        start if wait else None,
        0.4,
    )
    for t in np.linspace(0.4, start, 30)[:-1]:
        if wait:
            same(desired(plan, t), desired(twin, t))
    before = desired(twin, start)
    after = desired(plan, start)
    same(after[:2], before[:2], 1e-11)
    same(after[3:], before[3:], 1e-12)
    if kind == "quintic" and start < end - 1e-6:  # the end also stops the acceleration
        same(after[2:3], before[2:3], 1e-9)


def test_earlier_start_drops_later_trajectories():
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
    for t, q in (
        (0.5, 0.5),
        (1.0, 1.0),
        (1.25, 2.5),
        (1.5, 4.0),
        (2.0, 4.5),
        (2.5, 5.0),
    ):
        same(desired(plan, t)[:1], ([q] * N,), 1e-12)
    # At rest there are none: the motion starts now.
    plan = resting()
    follow(plan, goal([0.0], [[2.0] * N], np.zeros((1, N))), 2.0, 1.0)
    for t, q in ((1.0, 0.0), (1.5, 1.0), (2.0, 2.0)):
        same(desired(plan, t)[:1], ([q] * N,), 1e-12)
    # Points of other joints do not delay the start.
    plan = resting()
    follow(plan, goal([1.4], [[1.0]], names=("wrist",)))
    follow(plan, goal([0.0], [[3.0]], [[0.0]], names=("elbow",)), 1.5, 0.0)
    same((desired(plan, 0.75)[0][1:2],), ([1.5],), 1e-12)


def test_at_most_100_trajectories_wait():
    plan = resting()
    # one for the same time replaces the previous one
    for start in [1.0] * 150 + [1.0 + i for i in range(100)]:
        follow(plan, goal([0.5], [[start - 1.0] * N]), start, 0.0)
    with pytest.raises(TrajectoryError, match="100 trajectories"):
        follow(plan, goal([0.5], [[0.0] * N]), 200.0, 0.0)
    follow(plan, goal([0.5], [[-1.0] * N]), 50.2, 0.0)  # replaces half of them
    same(desired(plan, 49.9)[:1], ([48.0] * N,))
    same(desired(plan, 99.0)[:1], ([-1.0] * N,))


def test_start_in_the_past_leads_to_the_next_point():
    plan = resting((0.3, 0.2, 0.1), 10.0)
    rules = TrajectoryRules(positions_upsampling=False)
    follow(
        plan, goal([0.0, 4.0, 6.0], [[0.0] * N, [8.0] * N, [4.0] * N]), 8.0, 10.0, rules
    )
    for t, q in (
        (10.0, [0.3, 0.2, 0.1]),
        (11.0, [4.15, 4.1, 4.05]),
        (12.0, [8.0] * N),
        (13.0, [6.0] * N),
    ):
        same(desired(plan, t)[:1], (q,), 1e-12)


def test_trajectory_that_ended_is_ignored_as_in_jtc():
    # test_ignore_old_trajectory and test_ignore_partial_old_trajectory
    plan = resting()
    follow(plan, goal([0.5, 1.0], [[2.0, 3.0, 4.0], [4.0, 5.0, 6.0]]))
    plan.advance(0.5)
    with pytest.raises(TrajectoryError, match=r"0\.100 s ago"):
        follow(plan, goal([0.5], [[-1.0, -2.0, -3.0]]), -0.1, 0.5)
    same(desired(plan, 1.0)[:1], ([4.0, 5.0, 6.0],))
    # ends now: applies at once
    follow(plan, goal([0.5], [[-1.0, -2.0, -3.0]]), 0.5, 1.0)
    same(desired(plan, 1.0)[:1], ([-1.0, -2.0, -3.0],))


def test_cycle_before_the_start_follows_the_old_motion():
    plan = resting()
    twin = resting()
    for p in (plan, twin):
        follow(p, random_points(1, 3))
        p.advance(0.1)
    follow(plan, random_points(2, 3), None, 0.2)
    same(desired(plan, 0.15), desired(twin, 0.15))
    same(desired(plan, 0.2)[:2], desired(twin, 0.2)[:2], 1e-12)
    # A start before the last cycle is moved to that cycle; a time that goes back drops the trajectory.
    follow(plan, random_points(3, 3), None, 0.0)
    same(desired(plan, 0.2)[:2], desired(twin, 0.2)[:2], 1e-12)
    q = plan.q.copy()
    assert not plan.advance(0.1)
    same((plan.q, plan.qd), (q, np.zeros(N)))


@pytest.mark.parametrize("target", [0.0, 0.4])
def test_velocity_and_acceleration_are_derivatives_of_the_position(target):
    # By the chain rule, while the speed is scaled.
    plan = at_speed(0.7)
    follow(plan, random_points(5, 2, "spline", first=2.0))
    h = 1e-4
    states = [desired(plan, t) for t in 1.0 + h * np.arange(1000)]
    plan.set_speed(target)  # at least 0.15 s
    states += [desired(plan, t) for t in 1.0 + h * np.arange(1000, 2000)]
    q, qd, qdd, _ = (np.array(x) for x in zip(*states, strict=True))
    for first, last in ((1, 998), (1002, 1998)):
        for x, slope, tolerance in ((q, qd, 1e-6), (qd, qdd, 1e-5)):
            centred = (x[first + 1 : last + 1] - x[first - 1 : last - 1]) / (2 * h)
            np.testing.assert_allclose(
                centred, slope[first:last], rtol=0, atol=tolerance
            )
    assert np.abs(qd).min() > 0.1  # the rate of the factor appears in the acceleration


def test_trajectory_time_lags_behind_the_clock():
    plan = MotionPlan(NAMES)
    assert plan.trajectory_time == -np.inf
    plan.set_speed(0.5)
    plan.hold(3.0, np.zeros(N))
    assert plan.trajectory_time == 3.0
    plan.advance(5.0)
    assert plan.trajectory_time == 4.0


def test_goals_wait_at_speed_0():
    plan = at_speed(0.0)
    follow(plan, goal([1.0], [[1.0] * N]))
    assert plan.advance(5.0) and plan.speed == 0.0
    same((plan.q, plan.qd, plan.qdd), np.zeros((3, N)))
    plan.set_speed(1.0)
    assert not plan.advance(7.0)
    same((plan.q,), ([1.0] * N,))


def test_start_in_the_future_is_delayed_by_speed_scaling():
    plan = at_speed(0.5)
    follow(plan, goal([1.0], [[1.0] * N]), 2.0, 0.0)
    same(desired(plan, 4.0)[:2], np.zeros((2, N)), 1e-12)
    assert plan.advance(5.99)
    assert not plan.advance(6.0)
    same((plan.q,), ([1.0] * N,))


def test_speed_changes_at_its_rate_also_at_rest():
    plan = resting()
    plan.advance(1.0)
    plan.set_speed(0.5)
    assert plan.speed == 1.0
    plan.advance(1.1)
    assert plan.speed == pytest.approx(0.8)
    plan.advance(2.0)
    assert plan.speed == 0.5
    plan.hold(0.5, np.zeros(N))
    plan.advance(0.6)
    assert plan.speed == 0.5
    plan.set_speed(1.0)
    plan.hold(0.7, np.zeros(N))
    assert plan.speed == 1.0, "an arm at rest needs no deceleration"


def moving(speed=1.0, names=NAMES):
    plan = at_speed(speed)
    follow(plan, random_points(21, 5, "cubic", names, effort=True))
    follow(plan, random_points(22, 2, names=("wrist",)), 50.0, 0.0)
    plan.advance(0.8)
    return plan


@pytest.mark.parametrize(
    ("speed", "names"), [(1.0, NAMES), (0.3, NAMES), (1.0, ("wrist", "elbow"))]
)
def test_cancel_brakes_each_joint_with_its_deceleration(speed, names):
    plan = moving(speed, names)
    a = np.array([0.5, 1.0, 4.0])
    q, qd, *_ = desired(plan, 0.8)
    assert (np.abs(qd) > 0.01).sum() == len(names)
    plan.cancel(0.8, a)
    until = np.abs(qd) / a
    for dt in np.sort((*np.linspace(0.0, 1.2 * until.max(), 40), *(until + 1e-9))):
        running = plan.advance(0.8 + dt)
        assert running == (dt < until.max())
        t = np.minimum(dt, until)
        same((plan.q,), (q + qd * t - np.sign(qd) * a * t**2 / 2,), 1e-9)
        same((plan.qd,), (qd - np.sign(qd) * a * t,), 1e-9)
        assert (np.abs(plan.qdd) <= a * (1.0 + 1e-9)).all() and (
            plan.qdd * qd <= 0.0
        ).all()
        assert not plan.effort.any()
    end = desired(plan, 99.0)
    same(end, (q + np.sign(qd) * qd**2 / (2.0 * a), *np.zeros((3, N))), 1e-12)


@given(
    seed=st.integers(0, 10**6),
    target=st.floats(0.0, 1.0),
    late=st.floats(0.0, 0.4),
    a=st.floats(0.5, 20.0),
)
@settings(max_examples=40, deadline=None)
def test_stop_keeps_its_bound_while_the_speed_changes(seed, target, late, a):
    plan = resting()
    follow(plan, random_points(seed, 6, "cubic"))
    plan.advance(0.4)
    plan.set_speed(target)
    now = 0.4 + late
    q, qd, *_ = desired(plan, now)
    plan.cancel(now, np.full(N, a))
    plan.set_speed(1.0 - target)  # waits until the arm has stopped
    until = np.abs(qd) / a
    times = np.linspace(now, now + until.max() + 0.1, 1000)
    rows = [desired(plan, t)[:2] for t in times]
    steps = np.abs(np.diff([row[1] for row in rows], axis=0))
    assert steps.max() <= a * (times[1] - now) * (1.0 + 1e-6) + 1e-9
    same(rows[-1], (q + np.sign(qd) * qd**2 / (2.0 * a), np.zeros(N)), 1e-6)
    plan.advance(times[-1] + 0.6)
    assert plan.speed == pytest.approx(1.0 - target, abs=1e-12)


def test_goal_during_a_stop_starts_from_it_and_other_joints_stop():
    plan = moving()
    partial = moving()
    twin = moving()
    for p in (plan, partial, twin):
        p.cancel(0.8, np.full(N, 1.0))
        p.advance(0.85)
    follow(plan, random_points(3, 3, "cubic"), now=0.85)
    same(desired(plan, 0.85)[:2], desired(twin, 0.85)[:2], 1e-12)
    follow(partial, random_points(3, 3, "cubic", names=("elbow",)), now=0.85)
    for t in (0.85, 1.0, 1.5, 3.0):
        for x, y in zip(desired(partial, t), desired(twin, t), strict=True):
            np.testing.assert_array_equal(x[[0, 2]], y[[0, 2]])


def test_cancel_of_nothing_does_nothing():
    empty = MotionPlan(NAMES)
    plan = resting((1.0, 2.0, 3.0))
    for each in (empty, plan):
        each.cancel(1.0, np.ones(N))
        assert not each.advance(1.0)
    assert empty.empty and empty.drops == 0
    same((plan.q, plan.qd), ([1.0, 2.0, 3.0], np.zeros(N)))
