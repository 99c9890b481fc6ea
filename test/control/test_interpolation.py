"""Polynomials between knots against JTC's own expectations and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectories import NAMES, N, build, sampled

from robot_dynamics_ros.control.interpolation import Knots, excess, segments, spline_velocities
from robot_dynamics_ros.control.trajectory import TrajectoryPoints


def column(*values):
    return np.array(values, dtype=float)[:, None]


def evaluated(coefficients, block, t):
    state = np.zeros(coefficients.shape[2:])
    for row in coefficients[block]:
        state = state * t + row
    return state[:, 0]


def test_cubic_of_jtc():
    # interpolation_pos_vel in JTC's tests: x^3 - 2x from 0 to 2.
    knots = Knots(np.array([1.0, 3.0]), column(0, 4), column(-2, 10), column(7, 0), column(0, 0))
    cubic = segments(knots, 3)
    np.testing.assert_allclose(evaluated(cubic, 0, 0.0)[:3], [0, -2, 0], atol=1e-12)
    np.testing.assert_allclose(evaluated(cubic, 0, np.sqrt(2.0))[:3], [0, 4, 6 * np.sqrt(2.0)], atol=1e-12)
    np.testing.assert_allclose(evaluated(cubic, 0, 2.0)[:3], [4, 10, 12], atol=1e-12)


def test_quintic_of_jtc():
    # interpolation_pos_vel_accel in JTC's tests: x (x-1) (x-2) (x-3) (x-4) from 0 to 2.
    knots = Knots(np.array([1.0, 3.0]), column(0, 0), column(24, 4), column(-100, 0), column(0, 0))
    quintic = segments(knots, 5)
    np.testing.assert_allclose(evaluated(quintic, 0, 0.0)[:3], [0, 24, -100], atol=1e-12)
    np.testing.assert_allclose(evaluated(quintic, 0, 1.0)[:3], [0, -6, 10], atol=1e-12)
    np.testing.assert_allclose(evaluated(quintic, 0, 2.0)[:3], [0, 4, 0], atol=1e-11)


def test_straight_lines_of_jtc():
    # sample_trajectory_positions in JTC's tests: 0 at 0 s, then 1, 2, 3 at 1 s, 2 s, 3 s; no acceleration.
    q = np.repeat([[1.0], [2.0], [3.0]], N, axis=1)
    trajectory = build(TrajectoryPoints(NAMES, [1.0, 2.0, 3.0], q), kind="linear")
    for t, expected in ((0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (1.5, 1.5), (2.5, 2.5)):
        state = sampled(trajectory, t)
        np.testing.assert_allclose(state[:3], [[expected] * N, [1.0] * N, [0.0] * N], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(sampled(trajectory, 30.0)[0], 3.0)


def test_some_knots():
    knots = Knots(np.array([0.0, 1.0, 2.0]), column(1, 2, 3), column(4, 5, 6), column(7, 8, 9), column(-1, -2, -3))
    assert [x.ravel().tolist() for x in knots.some(1, 2)] == [[1.0], [2.0], [5.0], [8.0], [-2.0]]


def test_effort_is_linear():
    knots = Knots(np.array([0.0, 4.0]), column(0, 1), column(0, 0), column(0, 0), column(1, 3))
    for degree in (1, 3, 5):
        c = segments(knots, degree)
        assert c.shape == (1, degree + 1, 4, 1)
        np.testing.assert_allclose([evaluated(c, 0, t)[3] for t in (0.0, 1.0, 4.0)], [1.0, 1.5, 3.0])


def test_spline_velocities_of_jtc():
    # fill_cubic_spline_velocities_matches_expected_values: v1 = 3/4 (p2 - p0) / h between two ends at rest.
    v = spline_velocities(np.array([0.0, 0.1, 0.2]), column(0.0, 0.1, 0.3), np.zeros(1))
    np.testing.assert_allclose(v[:, 0], [0.0, 2.25, 0.0], atol=1e-14)
    # Two points, at rest on both sides: nothing to solve.
    assert not spline_velocities(np.array([0.0, 0.1]), column(0.0, 0.5), np.zeros(1)).any()


@given(seed=st.integers(0, 10**6), m=st.integers(3, 12))
@settings(max_examples=50, deadline=None)
def test_spline_has_no_jump_in_acceleration(seed, m):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.01, 1.0, m))
    q, begin = rng.normal(size=(m, 2)), rng.normal(size=2)
    v = spline_velocities(times, q, begin)
    np.testing.assert_array_equal(v[0], begin)
    np.testing.assert_array_equal(v[-1], 0.0)
    h, d = np.diff(times)[:, None], np.diff(q, axis=0)
    # Second derivatives of cubic Hermite segments at their ends.
    leave = 6 * d / h**2 - (4 * v[:-1] + 2 * v[1:]) / h
    arrive = -6 * d / h**2 + (2 * v[:-1] + 4 * v[1:]) / h
    np.testing.assert_allclose(arrive[:-1], leave[1:], rtol=0, atol=1e-9 * np.abs(leave).max())


@pytest.mark.parametrize("q", [column(1e308, -1e308, 1e308), column(0.0, 1e300, 0.0)])
def test_overflow_is_not_hidden(q):
    times = np.array([0.0, 1e-9, 2e-9])
    v = spline_velocities(times, q, np.zeros(1))
    zero = np.zeros_like(q)
    assert not np.isfinite(segments(Knots(times, q, v, zero, zero), 3)).all()


@pytest.mark.parametrize("degree", [1, 3, 5])
@pytest.mark.parametrize("order", [0, 1])
@given(seed=st.integers(0, 10**6), m=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_excess_is_what_dense_samples_show(degree, order, seed, m):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 1.5, m))
    q, qd, qdd = rng.normal(size=(3, m, 2))
    knots = Knots(times, q, qd * (degree > 1), qdd * (degree == 5), 0.0 * q)
    samples = np.zeros((1000, m - 1, 2))
    for c in np.moveaxis(segments(knots, degree)[:, :, order], 1, 0):
        samples = samples * np.linspace(0.0, np.diff(times), 1000)[..., None] + c
    most, size = np.abs(samples).max(axis=(0, 1)), np.abs(samples).max()
    assert excess(knots, degree, order, -most - 1e-4 * size, most + 1e-4 * size) is None
    for j in range(2):
        high = np.where(np.arange(2) == j, most - 1e-3 * size, np.inf)
        time, joint, value = excess(knots, degree, order, -high, high)
        assert time in times[:-1] and joint == j and high[j] < abs(value) <= most[j] + 1e-4 * size
