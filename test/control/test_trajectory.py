"""Trajectories against known polynomials, scipy's interpolators and the documented rules of JTC."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline

from robot_dynamics_ros.control.interpolation import Knots, segments
from robot_dynamics_ros.control.trajectory import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from support.trajectories import KINDS, NAMES, N, build, moving_state, random_points, resampled, sampled


@pytest.mark.parametrize("kind", KINDS)
def test_scipy_interpolators_agree(kind):
    points, state = random_points(3, 7, kind, effort=True), moving_state(4)
    trajectory = build(points, 2.0, state, kind)
    x = np.concatenate(([0.0], points.times))
    q = np.vstack((state[0], points.positions))
    if kind == "spline":
        oracle = CubicSpline(x, q, bc_type=((1, state[1]), (1, np.zeros(N))))
    elif kind == "cubic":
        oracle = CubicHermiteSpline(x, q, np.vstack((state[1], points.velocities)))
    elif kind == "quintic":
        v, a = np.vstack((state[1], points.velocities)), np.vstack((state[2], points.accelerations))
        oracle = BPoly.from_derivatives(x, np.stack((q, v, a), axis=1))
    effort = np.vstack((np.zeros(N), points.effort))
    for s in np.linspace(0.0, points.times[-1], 203)[:-1]:
        result = sampled(trajectory, 2.0 + s)
        if kind == "linear":
            i = np.searchsorted(x, s, side="right") - 1
            slope = (q[i + 1] - q[i]) / (x[i + 1] - x[i])
            expected = (q[i] + slope * (s - x[i]), slope, np.zeros(N))
        else:
            expected = tuple(oracle(s, order) for order in range(3))
        for value, other, tolerance in zip(result[:3], expected, (1e-12, 1e-11, 1e-10), strict=True):
            np.testing.assert_allclose(value, other, rtol=0, atol=100 * tolerance)
        wanted = [np.interp(s, x, effort[:, j]) for j in range(N)]
        np.testing.assert_allclose(result[3], wanted, rtol=0, atol=1e-12)


@given(seed=st.integers(0, 10**6), order=st.permutations(range(N)))
@settings(max_examples=15, deadline=None)
def test_joints_may_come_in_any_order(seed, order):
    points = random_points(seed, 4, effort=True)
    fields = (points.positions, points.velocities, points.accelerations, points.effort)
    shuffled = TrajectoryPoints(
        tuple(NAMES[i] for i in order), points.times, *(None if x is None else x[:, order] for x in fields)
    )
    state = moving_state(seed)
    one, other = build(points, 0.0, state), build(shuffled, 0.0, state)
    for t in np.linspace(-0.1, one.end_time + 0.1, 23):
        for x, y in zip(sampled(one, t), sampled(other, t), strict=True):
            np.testing.assert_array_equal(x, y)


def test_holds_before_the_start_and_from_the_end_on():
    points, state = random_points(5, 4, effort=True), moving_state(6)
    trajectory = build(points, 100.0, state)
    assert (trajectory.start_time, trajectory.duration) == (100.0, points.times[-1])
    assert trajectory.end_time == 100.0 + points.times[-1]
    for t, held, force, active in (
        (-np.inf, state[0], np.zeros(N), True),
        (99.0, state[0], np.zeros(N), True),
        (trajectory.end_time, points.positions[-1], points.effort[-1], False),
        (np.inf, points.positions[-1], points.effort[-1], False),
    ):
        q, qd, qdd, effort, result = sampled(trajectory, t)
        np.testing.assert_array_equal(q, held)
        np.testing.assert_array_equal(effort, force)  # JTC goes on with the last point's effort
        assert not (qd.any() or qdd.any())
        assert result is active
    assert sampled(trajectory, np.nextafter(trajectory.end_time, 0.0))[4]
    with pytest.raises(TrajectoryError, match="time to sample at"):
        sampled(trajectory, np.nan)


def test_end_velocity_that_was_allowed_is_not_held():
    # JTC goes on to command it, beside a position that stands.
    points = TrajectoryPoints(NAMES, [0.0, 1.0], np.zeros((2, N)), np.full((2, N), 0.5))
    trajectory = build(points, allow_nonzero_velocity_at_end=True)
    np.testing.assert_allclose(sampled(trajectory, 1.0 - 1e-12)[1], 0.5, atol=1e-9)
    assert not sampled(trajectory, 1.0)[1].any()


def test_single_point_at_time_zero_is_held_at_once():
    point = TrajectoryPoints(NAMES, [0.0], *(np.full((1, N), x) for x in (1.0, 0.0, 0.25, 7.0)))
    trajectory = build(point, 3.0, moving_state(0))
    for t in (3.0, 4.0):
        q, qd, qdd, effort, active = sampled(trajectory, t)
        assert (q == 1.0).all() and not qd.any() and (qdd == 0.25).all() and (effort == 7.0).all()
        assert not active


def test_partial_goal_holds_the_other_joints():
    points = random_points(11, 4, names=("wrist", "shoulder"), effort=True)
    state = (np.array([0.1, 0.2, 0.3]), None, None)
    trajectory = build(points, 0.0, state, allow_partial_joints=True)
    for t in np.linspace(0.0, trajectory.end_time, 37):
        q, qd, qdd, effort, _ = sampled(trajectory, t)
        assert (q[1], qd[1], qdd[1], effort[1]) == (0.2, 0.0, 0.0, 0.0)
    wrist, shoulder = points.positions[-1]
    np.testing.assert_array_equal(sampled(trajectory, 99.0)[0], [shoulder, 0.2, wrist])


def test_times_keep_their_meaning_at_the_epoch_of_system_time():
    points = random_points(12, 4)
    near, far = build(points, 0.0, moving_state(1)), build(points, 1.7e9, moving_state(1))
    for t in np.linspace(0.0, points.times[-1], 20)[:-1]:
        s = (1.7e9 + t) - 1.7e9
        for x, y in zip(sampled(near, s), sampled(far, 1.7e9 + t), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)
    assert not sampled(far, far.end_time)[4]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 6), first=st.sampled_from([0.0, 0.3]))
@settings(max_examples=20, deadline=None)
def test_points_and_more_between_them_are_what_sampling_gives(kind, seed, m, first):
    points, state = random_points(seed, m, kind, first=first, effort=True), moving_state(seed + 1)
    trajectory = build(points, 0.0, state, kind)
    times, motion = resampled(trajectory, np.inf)
    np.testing.assert_array_equal(times, points.times)
    np.testing.assert_array_equal(motion[:, 0], points.positions)
    np.testing.assert_array_equal(motion[:, 3], points.effort)
    if kind == "quintic":
        np.testing.assert_allclose(motion[:, 1], points.velocities, rtol=0, atol=1e-10)
        np.testing.assert_allclose(motion[:, 2], points.accelerations, rtol=0, atol=1e-8)
    times, motion = resampled(trajectory, 0.03)
    assert set(points.times) <= set(times) and times[-1] == points.times[-1]
    assert (np.diff(times, prepend=0.0) < 0.03 + 1e-9).all() and (np.diff(times) > 0.005).all()
    for t, rows in zip(times, motion, strict=True):
        inside = np.nextafter(t, 0.0) if t == points.times[-1] and t > 0.0 else t
        np.testing.assert_allclose(rows, sampled(trajectory, inside)[:4], rtol=1e-9, atol=1e-9)


def test_polynomials_that_are_made_on_the_way_are_those_of_the_whole():
    points = random_points(3, 300)
    trajectory = build(points, state=moving_state(1), state_time=float(points.times[0]))
    motion = points.positions, points.velocities, points.accelerations, np.zeros((300, N))
    whole = segments(Knots(points.times, *motion), 5)
    rng = np.random.default_rng(0)
    for i in (*range(299), *rng.integers(0, 299, 50)):
        np.testing.assert_array_equal(sampled(trajectory, points.times[i])[:4], whole[i, -1])


def test_caller_may_change_its_arrays_afterwards():
    points, state = random_points(14, 3), moving_state(2)
    trajectory = build(points, 0.0, state)
    before = sampled(trajectory, 0.5), sampled(trajectory, -1.0), sampled(trajectory, 99.0)
    for array in (points.times, points.positions, points.velocities, points.accelerations, *state):
        array[:] = np.nan
    after = sampled(trajectory, 0.5), sampled(trajectory, -1.0), sampled(trajectory, 99.0)
    for x, y in zip(before, after, strict=True):
        np.testing.assert_array_equal(np.array(x[:4]), np.array(y[:4]))
