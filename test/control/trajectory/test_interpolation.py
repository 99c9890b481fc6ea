"""Polynomials between knots against JTC's tests and closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.control.trajectory.interpolation import (
    excess,
    segments,
    spline_velocities,
)


def column(*values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("time", "state"), [(0.0, [0, 24, -100]), (1.0, [0, -6, 10]), (2.0, [0, 4, 0])]
)
def test_quintic_of_jtc(time, state):
    # interpolation_pos_vel_accel in JTC's tests: x (x-1) (x-2) (x-3) (x-4) from 0 to 2.
    motion = np.array([[[0.0, 0.0]], [[24.0, 4.0]], [[-100.0, 0.0]], [[0.0, 0.0]]])
    powers = time ** np.arange(5, -1, -1)
    sample = np.einsum("k,kdj->d", powers, segments(np.array([1.0, 3.0]), motion, 5)[0])
    np.testing.assert_allclose(sample[:3], state, atol=1e-11)


def test_spline_velocities_of_jtc():
    # fill_cubic_spline_velocities_matches_expected_values: v1 = 3/4 (p2 - p0) / h between two ends at rest.
    v = spline_velocities(np.array([0.0, 0.1, 0.2]), column(0.0, 0.1, 0.3), np.zeros(1))
    np.testing.assert_allclose(v[:, 0], [0.0, 2.25, 0.0], atol=1e-14)


@pytest.mark.parametrize("q", [column(1e308, -1e308, 1e308), column(0.0, 1e300, 0.0)])
def test_overflow_results_in_non_finite_coefficients(q):
    times = np.array([0.0, 1e-9, 2e-9])
    v = spline_velocities(times, q, np.zeros(1))
    motion = np.array([q.T, v.T, *np.zeros((2, 1, 3))])
    assert not np.isfinite(segments(times, motion, 3)).all()


@pytest.mark.parametrize("degree", [1, 3, 5])
@pytest.mark.parametrize("order", [0, 1])
@given(seed=st.integers(0, 10**6), m=st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_excess_agrees_with_dense_samples(degree, order, seed, m):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.05, 1.5, m))
    motion = rng.normal(size=(4, 2, m))
    motion[1:] *= [[[degree > 1]], [[degree == 5]], [[0.0]]]
    samples = np.zeros((1000, m - 1, 2))
    for c in np.moveaxis(segments(times, motion, degree)[:, :, order], 1, 0):
        samples = samples * np.linspace(0.0, np.diff(times), 1000)[..., None] + c
    most = np.abs(samples).max(axis=(0, 1))
    size = np.abs(samples).max()
    assert (
        excess(times, motion, degree, order, -most - 1e-4 * size, most + 1e-4 * size)
        is None
    )
    for j in range(2):
        high = np.where(np.arange(2) == j, most - 1e-3 * size, np.inf)
        time, joint, value = excess(times, motion, degree, order, -high, high)
        assert (
            time in times[:-1]
            and joint == j
            and high[j] < abs(value) <= most[j] + 1e-4 * size
        )
