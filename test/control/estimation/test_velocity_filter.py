"""Velocity filter against closed forms of a first-order low-pass filter and of differences."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros.control.estimation.estimator import VelocityFilter
from support.comparing import assert_close

NOWHERE = np.zeros(1)
INTERVALS = st.lists(st.floats(1e-4, 0.05), min_size=2, max_size=30)


def _times(intervals: list[float]) -> list[float]:
    return np.concatenate([[0.0], np.cumsum(intervals)]).tolist()


@pytest.mark.parametrize("cutoff", [0.5, 10.0])
@given(intervals=INTERVALS)
def test_step_response(cutoff: float, intervals: list[float]) -> None:
    """1 - exp(-2 pi fc t) at any sample times: the filter is exact for a held input."""
    velocity_filter = VelocityFilter(2, cutoff)
    for t in _times(intervals):
        step = 1.0 if t > 0.0 else 0.0
        got = velocity_filter.update(t, np.zeros(2), step * np.array([2.0, -3.0]))
        assert_close(
            got,
            (1.0 - math.exp(-2.0 * math.pi * cutoff * t)) * np.array([2.0, -3.0]),
            1e-13,
        )


def test_the_first_velocity_causes_no_transient() -> None:
    """Also after a reset, and after a time that goes back, which also resets the position."""
    velocity_filter = VelocityFilter(1, 1.0)
    moving = np.array([-1.3])
    for t in (5.0, 5.002, 5.1):
        np.testing.assert_array_equal(
            velocity_filter.update(t, NOWHERE, moving), moving
        )
    velocity_filter.reset()
    np.testing.assert_array_equal(
        velocity_filter.update(5.2, NOWHERE, 2.0 * moving), 2.0 * moving
    )
    np.testing.assert_array_equal(
        velocity_filter.update(1.0, np.array([1.5]), None), [0.0]
    )
    assert_close(velocity_filter.update(1.1, np.array([1.6]), None), [1.0], 1e-12)


@pytest.mark.parametrize("cutoff", [0.0, math.inf])
def test_off(cutoff: float) -> None:
    velocity_filter = VelocityFilter(1, cutoff)
    for t, v in ((0.0, 1.0), (0.002, -0.1), (0.0021, 0.3)):
        np.testing.assert_array_equal(
            velocity_filter.update(t, NOWHERE, np.array([v])), [v]
        )
        assert velocity_filter.started


@given(st.lists(st.floats(0.008, 0.01), min_size=2, max_size=30))
def test_differences_of_a_parabola_are_the_velocity_half_an_interval_ago(
    intervals: list[float],
) -> None:
    velocity_filter = VelocityFilter(1, 0.0)
    before = 0.0
    for t in _times(intervals):
        got = velocity_filter.update(t, np.array([0.3 - 2.0 * t + 1.5 * t * t]), None)
        assert_close(got, [-2.0 + 1.5 * (before + t) if t > 0.0 else 0.0], 1e-11)
        before = t


@pytest.mark.parametrize("rate", [3.0, -3.0])
def test_positions_modulo_a_turn(rate: float) -> None:
    """Continuous joint whose driver reports -pi to pi."""
    velocity_filter = VelocityFilter(1, 0.0)
    for k in range(2000):
        angle = 0.1 + rate * k * 0.005
        got = velocity_filter.update(
            k * 0.005, np.array([math.remainder(angle, 2.0 * math.pi)]), None
        )
        assert_close(got, [rate if k else 0.0], 1e-10)


@pytest.mark.parametrize("cutoff", [0.0, 20.0])
def test_a_repeated_stamp_changes_nothing(cutoff: float) -> None:
    velocity_filter = VelocityFilter(1, cutoff)
    velocity_filter.update(0.0, np.array([0.0]), None)
    moving = velocity_filter.update(0.01, np.array([0.02]), None)
    np.testing.assert_array_equal(
        velocity_filter.update(0.01, np.array([0.02]), None), moving
    )
    np.testing.assert_array_equal(
        velocity_filter.update(0.01, np.array([0.02]), np.array([8.0])), moving
    )
    assert_close(velocity_filter.update(0.02, np.array([0.04]), None), moving, 1e-14)


def test_velocities_after_positions_and_before_them() -> None:
    off = VelocityFilter(1, 0.0)
    for t, position, velocity, expected in (
        (0.0, 1.0, 9.0, 9.0),
        (0.1, 1.2, None, 2.0),
        (0.2, 1.3, 7.0, 7.0),
    ):
        got = off.update(
            t, np.array([position]), None if velocity is None else np.array([velocity])
        )
        assert_close(got, [expected], 1e-14)


def test_states_shortly_after_each_other_give_no_large_difference() -> None:
    """One state is stamped 1.8 ms late, another one is repeated 20 us later, at 500 Hz and 0.75 rad/s."""
    velocity_filter = VelocityFilter(1, 0.0)
    times = [0.0, 0.002, 0.004, 0.0078, 0.008, 0.01, 0.01002, 0.012]
    for t in times:
        position = 0.75 * (0.006 if t == 0.0078 else 0.01 if t == 0.01002 else t)
        got = velocity_filter.update(t, np.array([position]), None)
        assert t == 0.0 or 0.3 < got[0] < 0.8


def test_differences_over_a_window() -> None:
    velocity_filter = VelocityFilter(1, 0.0)
    for k in range(40):
        q = 0.3 * k * 0.001 + (0.0005 if k % 2 else 0.0)
        got = velocity_filter.update(k * 0.001, np.array([q]), None, 0.01)
    assert_close(got, [0.3], 0.05)


def test_filtered_differences_of_a_ramp() -> None:
    """The slope at once for a motion from the start; 1 - exp(-w t) for a later start."""
    cutoff = 5.0
    dt = 0.002
    velocity_filter = VelocityFilter(2, cutoff)
    for k in range(100):
        t = k * dt
        got = velocity_filter.update(
            t, np.array([0.4 * t, 0.6 * max(t - 0.02, 0.0)]), None
        )
        late = 0.6 * (1.0 - math.exp(-2.0 * math.pi * cutoff * max(t - 0.02, 0.0)))
        assert_close(got, [0.4 if k else 0.0, late], 1e-12)
