"""How a trajectory begins: in the state of now, before, at and after its first point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.control.trajectory import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from support.trajectories import KINDS, NAMES, REST, N, build, moving_state, random_points, resampled, sampled


@pytest.mark.parametrize("kind", ["spline", "cubic", "quintic"])
@pytest.mark.parametrize("offset", [-0.2, 0.1])
def test_motion_goes_on_with_the_velocity_of_the_state_whenever_that_is(kind, offset):
    state = moving_state(1)
    trajectory = build(random_points(2, 3, kind), 5.0, state, kind, state_time=5.0 + offset)
    np.testing.assert_allclose(sampled(trajectory, 5.0 + offset + 1e-9)[1], state[1], rtol=0, atol=1e-6)


def test_a_streamed_position_is_held_without_the_velocity_of_the_state():
    point = TrajectoryPoints(NAMES, [0.0], np.ones((1, N)))
    q, qd, qdd, _, _ = sampled(build(point, 3.0, moving_state(0), "spline"), 3.0)
    assert (q == 1.0).all() and not qd.any() and not qdd.any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_trajectory_that_ends_now_keeps_its_points(kind):
    points = random_points(7, 3, kind, first=0.0, effort=True)
    trajectory = build(points, 1.0, moving_state(2), kind, state_time=1.0 + float(points.times[-1]))
    trajectory.check_not_over(trajectory.end_time)
    motion = resampled(trajectory, np.inf)[1]
    np.testing.assert_array_equal(motion[:, 0], points.positions)
    np.testing.assert_array_equal(motion[:, 3], points.effort)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("m", "first"), [(2, 0.0), (4, 0.0), (4, 0.25)])
def test_a_first_point_at_the_time_of_the_state_is_taken_at_once(kind, m, first):
    points = random_points(8, m, kind, first=first)
    state = moving_state(9)
    q, qd, *_ = sampled(build(points, 1.0, state, kind, state_time=1.0 + first), 1.0 + first)
    np.testing.assert_array_equal(q, points.positions[0])
    if kind == "spline":
        np.testing.assert_allclose(qd, state[1], rtol=1e-13)
    elif kind != "linear":
        np.testing.assert_array_equal(qd, points.velocities[0])


def test_spline_through_past_points_starts_at_rest():
    trajectory = build(random_points(8, 4, "spline"), 1.0, moving_state(9), "spline", state_time=1.6)
    np.testing.assert_allclose(sampled(trajectory, 1.3)[1], 0.0, atol=1e-13)


def test_start_in_the_past_samples_the_middle_and_a_past_end_is_refused():
    trajectory = build(TrajectoryPoints(NAMES, [0.0, 4.0], [[0.0] * N, [8.0] * N]), -1.0, REST, "linear")
    np.testing.assert_allclose(sampled(trajectory, 0.0)[0], 2.0, rtol=1e-15)
    trajectory.check_not_over(0.0)
    trajectory.check_not_over(3.0)
    with pytest.raises(TrajectoryError, match=r"1\.500 s"):
        trajectory.check_not_over(4.5)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6), part=st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_late_start_joins_the_first_point_to_come(kind, seed, part):
    points, state = random_points(seed, 6, kind, first=0.0, effort=True), moving_state(seed + 1)
    now = 5.0 + part * points.times[-1]
    effort = np.full(N, 2.0)
    late = build(points, 5.0, state, kind, state_time=now, start_effort=effort)
    on_time = build(points, 5.0, kind=kind)
    i = int(np.searchsorted(points.times, now - 5.0, side="right"))
    reach = 5.0 + points.times[i]
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
    # From that point on it is the trajectory as it was meant.
    for t in (reach, *np.linspace(reach, on_time.end_time + 0.1, 17)):
        first = sampled(late, np.nextafter(t, np.inf))
        for x, y in zip(first, sampled(on_time, np.nextafter(t, np.inf)), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)
    if reach < on_time.end_time:
        before = sampled(late, np.nextafter(reach, 0.0))
        for order in range(1 if kind == "linear" else 2):
            np.testing.assert_allclose(before[order], sampled(late, reach)[order], rtol=0, atol=1e-6)


def test_effort_begins_with_the_start_effort():
    # JTC keeps the last commanded point, effort included, and goes on from it.
    points = TrajectoryPoints(NAMES, [2.0], np.zeros((1, N)), effort=np.full((1, N), 3.0))
    trajectory = build(points, start_effort=np.array([1.0, 3.0, -1.0]))
    for t, expected in ((0.0, [1.0, 3.0, -1.0]), (1.0, [2.0, 3.0, 1.0]), (2.0, [3.0] * 3), (9.0, [3.0] * 3)):
        np.testing.assert_allclose(sampled(trajectory, t)[3], expected, rtol=1e-15)
    with pytest.raises(TrajectoryError, match="effort"):
        build(points, start_effort=np.zeros(2))


def test_last_knot_before_a_time():
    trajectory = build(TrajectoryPoints(NAMES, [1.0, 2.0], np.zeros((2, N))), 10.0)
    for t, knot in ((9.0, -np.inf), (10.0, -np.inf), (10.5, 10.0), (11.0, 10.0), (12.0, 11.0), (99.0, 12.0)):
        assert trajectory.last_knot_before(t) == knot
