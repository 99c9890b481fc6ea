"""Trajectories against known polynomials, SciPy's interpolators and the rules of JTC."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BPoly, CubicHermiteSpline, CubicSpline

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.interpolation import segments
from support.trajectories import (
    KINDS,
    NAMES,
    RULES,
    N,
    build,
    moving_state,
    random_points,
    resampled,
    sampled,
)


@pytest.mark.parametrize("kind", KINDS)
def test_scipy_interpolators_agree(kind):
    """With joints of the points in another order than the controller's."""
    points = random_points(3, 7, kind, ("wrist", "shoulder", "elbow"), effort=True)
    state = moving_state(4)
    order = [1, 2, 0]
    trajectory = build(points, 2.0, state, kind)
    x = np.concatenate(([0.0], points.times))
    q = np.vstack((state[0], points.positions[:, order]))
    if kind == "spline":
        oracle = CubicSpline(x, q, bc_type=((1, state[1]), (1, np.zeros(N))))
    elif kind != "linear":
        v = np.vstack((state[1], points.velocities[:, order]))
        oracle = CubicHermiteSpline(x, q, v)
    if kind == "quintic":
        a = np.vstack((state[2], points.accelerations[:, order]))
        oracle = BPoly.from_derivatives(x, np.stack((q, v, a), axis=1))
    effort = np.vstack((np.zeros(N), points.effort[:, order]))
    for s in np.linspace(0.0, points.times[-1], 203)[:-1]:
        result = sampled(trajectory, 2.0 + s)
        if kind == "linear":
            i = np.searchsorted(x, s, side="right") - 1
            slope = (q[i + 1] - q[i]) / (x[i + 1] - x[i])
            expected = (q[i] + slope * (s - x[i]), slope, np.zeros(N))
        else:
            expected = tuple(oracle(s, derivative) for derivative in range(3))
        for value, other, tolerance in zip(
            result[:3], expected, (1e-10, 1e-9, 1e-8), strict=True
        ):
            np.testing.assert_allclose(value, other, rtol=0, atol=tolerance)
        interpolated = [np.interp(s, x, effort[:, j]) for j in range(N)]
        np.testing.assert_allclose(result[3], interpolated, rtol=0, atol=1e-12)


def test_holds_before_the_start_and_from_the_end_on():
    points = random_points(5, 4, effort=True)
    state = moving_state(6)
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
        # as in JTC, with the effort of the last point
        np.testing.assert_array_equal(effort, force)
        assert not (qd.any() or qdd.any())
        assert result is active
    assert sampled(trajectory, np.nextafter(trajectory.end_time, 0.0))[4]
    with pytest.raises(TrajectoryError, match="sampling time"):
        sampled(trajectory, np.nan)


def test_end_velocity_that_was_allowed_is_not_held():
    # JTC keeps commanding it with a constant position.
    points = TrajectoryPoints(NAMES, [0.0, 1.0], np.zeros((2, N)), np.full((2, N), 0.5))
    trajectory = build(points, rules=RULES)
    np.testing.assert_allclose(sampled(trajectory, 1.0 - 1e-12)[1], 0.5, atol=1e-9)
    assert not sampled(trajectory, 1.0)[1].any()


def test_single_point_at_time_zero_is_held_at_once():
    full = TrajectoryPoints(
        NAMES, [0.0], *(np.full((1, N), x) for x in (1.0, 0.0, 0.25, 7.0))
    )
    # held, without the velocity of the state
    position = TrajectoryPoints(NAMES, [0.0], np.ones((1, N)))
    for point, kind, acceleration, force in (
        (full, "quintic", 0.25, 7.0),
        (position, "spline", 0.0, 0.0),
    ):
        trajectory = build(point, 3.0, moving_state(0), kind)
        for t in (3.0, 4.0):
            q, qd, qdd, effort, active = sampled(trajectory, t)
            assert (
                (q == 1.0).all()
                and not qd.any()
                and (qdd == acceleration).all()
                and (effort == force).all()
            )
            assert not active


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6), m=st.integers(1, 6), first=st.sampled_from([0.0, 0.3])
)
@settings(max_examples=20, deadline=None)
def test_resampled_points_agree_with_samples(kind, seed, m, first):
    points = random_points(seed, m, kind, first=first, effort=True)
    state = moving_state(seed + 1)
    trajectory = build(points, 0.0, state, kind)
    times, motion = resampled(trajectory, np.inf)
    np.testing.assert_array_equal(times, points.times)
    np.testing.assert_array_equal(motion[:, 0], points.positions)
    np.testing.assert_array_equal(motion[:, 3], points.effort)
    if kind == "quintic":
        np.testing.assert_allclose(motion[:, 1], points.velocities, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            motion[:, 2], points.accelerations, rtol=0, atol=1e-8
        )
    times, motion = resampled(trajectory, 0.03)
    assert set(points.times) <= set(times) and times[-1] == points.times[-1]
    assert (np.diff(times, prepend=0.0) < 0.03 + 1e-9).all() and (
        np.diff(times) > 0.005
    ).all()
    for t, rows in zip(times, motion, strict=True):
        inside = np.nextafter(t, 0.0) if t == points.times[-1] and t > 0.0 else t
        np.testing.assert_allclose(
            rows, sampled(trajectory, inside)[:4], rtol=1e-9, atol=1e-9
        )


def test_polynomials_of_later_segments_are_those_of_the_whole_trajectory():
    points = random_points(3, 300)
    trajectory = build(points, state=moving_state(1), state_time=float(points.times[0]))
    motion = np.array(
        [
            points.positions.T,
            points.velocities.T,
            points.accelerations.T,
            np.zeros((N, 300)),
        ]
    )
    whole = segments(points.times, motion, 5)
    rng = np.random.default_rng(0)
    for i in (*range(299), *rng.integers(0, 299, 50)):
        np.testing.assert_array_equal(
            sampled(trajectory, points.times[i])[:4], whole[i, -1]
        )


def test_arrays_of_the_caller_are_copied():
    points = random_points(14, 3)
    state = moving_state(2)
    trajectory = build(points, 0.0, state)
    before = [np.array(sampled(trajectory, t)[:4]) for t in (0.5, -1.0, 99.0)]
    for array in (
        points.times,
        points.positions,
        points.velocities,
        points.accelerations,
        *state,
    ):
        array[:] = np.nan
    after = [np.array(sampled(trajectory, t)[:4]) for t in (0.5, -1.0, 99.0)]
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("kind", ["spline", "cubic", "quintic"])
@pytest.mark.parametrize("offset", [-0.2, 0.1])
def test_motion_continues_with_the_velocity_of_the_state(kind, offset):
    state = moving_state(1)
    trajectory = build(
        random_points(2, 3, kind), 5.0, state, kind, state_time=5.0 + offset
    )
    np.testing.assert_allclose(
        sampled(trajectory, 5.0 + offset + 1e-9)[1], state[1], rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_trajectory_that_ends_now_keeps_its_points(kind):
    points = random_points(7, 3, kind, first=0.0, effort=True)
    trajectory = build(
        points, 1.0, moving_state(2), kind, state_time=1.0 + float(points.times[-1])
    )
    trajectory.check_not_over(trajectory.end_time)
    motion = resampled(trajectory, np.inf)[1]
    np.testing.assert_array_equal(motion[:, 0], points.positions)
    np.testing.assert_array_equal(motion[:, 3], points.effort)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "first"), [(2, 0.0), (4, 0.0), (4, 0.25)])
def test_a_first_point_at_the_time_of_the_state_applies_at_once(kind, m, first):
    points = random_points(8, m, kind, first=first)
    state = moving_state(9)
    q, qd, *_ = sampled(
        build(points, 1.0, state, kind, state_time=1.0 + first), 1.0 + first
    )
    np.testing.assert_array_equal(q, points.positions[0])
    if kind == "spline":
        np.testing.assert_allclose(qd, state[1], rtol=1e-13)
    elif kind != "linear":
        np.testing.assert_array_equal(qd, points.velocities[0])


def test_spline_through_past_points_starts_at_rest():
    trajectory = build(
        random_points(8, 4, "spline"), 1.0, moving_state(9), "spline", state_time=1.6
    )
    np.testing.assert_allclose(sampled(trajectory, 1.3)[1], 0.0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), part=st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_late_start_leads_to_the_next_point(kind, seed, part):
    points = random_points(seed, 6, kind, first=0.0, effort=True)
    state = moving_state(seed + 1)
    now = 5.0 + part * points.times[-1]
    effort = state[3] = np.full(N, 2.0)
    late = build(points, 5.0, state, kind, state_time=now)
    on_time = build(points, 5.0, kind=kind)
    reach = 5.0 + points.times[np.searchsorted(points.times, now - 5.0, side="right")]
    if reach - now < 0.01:
        return
    q, qd, qdd, force, active = sampled(late, now)
    assert active
    np.testing.assert_allclose(q, state[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(force, effort, rtol=0, atol=1e-12)
    if kind != "linear":
        np.testing.assert_allclose(qd, state[1], rtol=1e-12)
    if kind == "quintic":
        np.testing.assert_allclose(qdd, state[2], rtol=1e-12)
    # From that point on it is the original trajectory.
    for t in (reach, *np.linspace(reach, on_time.end_time + 0.1, 17)):
        first = sampled(late, np.nextafter(t, np.inf))
        for x, y in zip(first, sampled(on_time, np.nextafter(t, np.inf)), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
    if reach < on_time.end_time:
        before = sampled(late, np.nextafter(reach, 0.0))
        for order in range(1 if kind == "linear" else 2):
            np.testing.assert_allclose(
                before[order], sampled(late, reach)[order], rtol=0, atol=1e-6
            )


def test_last_knot_before_a_time():
    trajectory = build(TrajectoryPoints(NAMES, [1.0, 2.0], np.zeros((2, N))), 10.0)
    for t, knot in (
        (9.0, -np.inf),
        (10.0, -np.inf),
        (10.5, 10.0),
        (11.0, 10.0),
        (12.0, 11.0),
        (99.0, 12.0),
    ):
        assert trajectory.last_knot_before(t) == knot
