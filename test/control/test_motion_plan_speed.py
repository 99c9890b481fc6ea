"""Speed scaling and cancelling against the chain rule and uniformly decelerated motion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.control.motion_plan import MotionPlan
from robot_dynamics_ros.errors import RobotDynamicsError
from support.trajectories import NAMES, N, desired, follow, goal, random_points, resting, same

STEP = 0.001

# Speed


@pytest.mark.parametrize("target", [0.0, 0.4])
def test_velocity_and_acceleration_are_derivatives_of_the_position(target):
    plan = MotionPlan(NAMES)
    plan.set_speed(0.7)
    plan.hold(0.0, np.zeros(N))
    follow(plan, random_points(5, 2, "spline", first=2.0))
    h = 1e-4
    states = [desired(plan, t) for t in 1.0 + h * np.arange(1000)]
    plan.set_speed(target)  # takes 0.15 s or more
    states += [desired(plan, t) for t in 1.0 + h * np.arange(1000, 2000)]
    q, qd, qdd, _ = (np.array(x) for x in zip(*states, strict=True))
    for first, last in ((1, 998), (1002, 1998)):
        for x, slope, tolerance in ((q, qd, 1e-6), (qd, qdd, 1e-5)):
            centred = (x[first + 1 : last + 1] - x[first - 1 : last - 1]) / (2 * h)
            np.testing.assert_allclose(centred, slope[first:last], rtol=0, atol=tolerance)
    assert np.abs(qd).min() > 0.1  # the factor's own rate shows in the acceleration


def test_trajectory_time_falls_behind_the_clock():
    plan = MotionPlan(NAMES)
    assert plan.trajectory_time == -np.inf
    plan.set_speed(0.5)
    plan.hold(3.0, np.zeros(N))
    assert plan.trajectory_time == 3.0
    plan.advance(5.0)
    assert plan.trajectory_time == 4.0


def test_speed_0_stands_still_and_goals_wait_without_a_jump():
    plan = resting()
    follow(plan, random_points(1, 4))
    plan.advance(0.3)
    plan.set_speed(0.0)
    q, qd, qdd, _ = desired(plan, 0.9)
    same((qd, qdd), np.zeros((2, N)))
    assert plan.speed == 0.0
    for now in (1.0, 1.5):
        follow(plan, random_points(7, 3), now=now)
        for t in (now, now + 0.4):
            assert plan.advance(t)
            same((plan.q, plan.qd), (q, np.zeros(N)), 1e-12)
    plan.set_speed(1.0)
    rows = [desired(plan, t)[:2] for t in np.arange(1.9, 4.0, STEP)]
    same((rows[0][0],), (q,), 1e-12)
    assert max(np.abs(b[1] - a[1]).max() for a, b in zip(rows, rows[1:], strict=False)) < 0.2
    same((rows[-1][0],), (random_points(7, 3).positions[-1],), 1e-12)


def test_start_in_the_future_is_put_off_by_a_reduced_speed():
    plan = MotionPlan(NAMES)
    plan.set_speed(0.5)
    plan.hold(0.0, np.zeros(N))
    follow(plan, goal([1.0], [[1.0] * N]), 2.0, 0.0)
    same(desired(plan, 4.0)[:2], np.zeros((2, N)), 1e-12)
    assert plan.advance(5.99)
    assert not plan.advance(6.0)
    same((plan.q,), ([1.0] * N,))


def test_speed_is_changed_at_its_rate_while_the_arm_rests_too():
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
    assert plan.speed == 1.0, "what rests has nothing to slow down"


# Cancelling


def moving(speed=1.0):
    plan = MotionPlan(NAMES)
    plan.set_speed(speed)
    plan.hold(0.0, np.array([0.1, 0.2, 0.3]))
    follow(plan, random_points(21, 5, "cubic", effort=True))
    follow(plan, random_points(22, 2, names=("wrist",)), 50.0, 0.0)
    plan.advance(0.8)
    return plan


@pytest.mark.parametrize("speed", [1.0, 0.3])
def test_cancel_brakes_each_joint_with_its_deceleration(speed):
    plan = moving(speed)
    a = np.array([0.5, 1.0, 4.0])
    q, qd, *_ = desired(plan, 0.8)
    assert (np.abs(qd) > 0.01).all()
    plan.cancel(0.8, a)
    until = np.abs(qd) / a
    for dt in np.sort((*np.linspace(0.0, 1.2 * until.max(), 40), *(until + 1e-9))):
        running = plan.advance(0.8 + dt)
        assert running == (dt < until.max())
        t = np.minimum(dt, until)
        same((plan.q,), (q + qd * t - np.sign(qd) * a * t**2 / 2,), 1e-9)
        same((plan.qd,), (qd - np.sign(qd) * a * t,), 1e-9)
        assert (np.abs(plan.qdd) <= a * (1.0 + 1e-9)).all()
        assert not plan.effort.any()
    end = desired(plan, 99.0)
    same(end, (q + np.sign(qd) * qd**2 / (2.0 * a), *np.zeros((3, N))), 1e-12)


@given(seed=st.integers(0, 10**6), target=st.floats(0.0, 1.0), late=st.floats(0.0, 0.4), a=st.floats(0.5, 20.0))
@settings(max_examples=40, deadline=None)
def test_stop_keeps_its_bound_while_the_speed_changes(seed, target, late, a):
    plan = resting()
    follow(plan, random_points(seed, 6, "cubic"))
    plan.advance(0.4)
    plan.set_speed(target)
    now = 0.4 + late
    q, qd, *_ = desired(plan, now)
    plan.cancel(now, np.full(N, a))
    plan.set_speed(1.0 - target)  # waits until the arm stands
    until = np.abs(qd) / a
    times = np.arange(now, now + until.max() + 0.1, STEP)
    rows = [desired(plan, t)[:2] for t in times]
    steps = np.abs(np.diff([row[1] for row in rows], axis=0))
    assert steps.max() <= a * STEP * (1.0 + 1e-6) + 1e-9
    same(rows[-1], (q + np.sign(qd) * qd**2 / (2.0 * a), np.zeros(N)), 1e-6)
    plan.advance(times[-1] + 0.6)
    assert plan.speed == pytest.approx(1.0 - target, abs=1e-12)


def test_goal_during_a_stop_goes_on_from_it():
    plan = moving()
    plan.cancel(0.8, np.full(N, 1.0))
    before = desired(plan, 0.85)
    follow(plan, random_points(3, 3, "cubic"), now=0.85)
    same(desired(plan, 0.85)[:2], before[:2], 1e-12)
    # Others go on to stop.
    plan, twin = moving(), moving()
    for p in (plan, twin):
        p.cancel(0.8, np.full(N, 1.0))
        p.advance(0.85)
    follow(plan, random_points(3, 3, "cubic", names=("elbow",)), now=0.85)
    for t in (0.85, 1.0, 1.5, 3.0):
        for x, y in zip(desired(plan, t), desired(twin, t), strict=True):
            np.testing.assert_array_equal(x[[0, 2]], y[[0, 2]])


def test_cancel_of_nothing_does_nothing():
    plan = MotionPlan(NAMES)
    plan.cancel(1.0, np.ones(N))
    assert plan.empty and plan.drops == 0
    plan = resting((1.0, 2.0, 3.0))
    plan.cancel(1.0, np.ones(N))
    assert not plan.advance(1.0)
    same((plan.q, plan.qd), ([1.0, 2.0, 3.0], np.zeros(N)))


@pytest.mark.parametrize("deceleration", [[1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [np.nan] * 3, [np.inf, 1.0, 1.0]])
def test_senseless_decelerations_are_refused(deceleration):
    plan = moving()
    with pytest.raises(RobotDynamicsError, match="deceleration"):
        plan.cancel(0.8, np.array(deceleration))
    assert plan.advance(0.9)
    assert plan.qd.any()
