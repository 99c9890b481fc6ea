"""Trajectory time: integral of the speed, continuous speed, monotonic time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.thresholds import SPEED_FACTOR_RATE
from robot_dynamics_ros.control.trajectory.plan import TimeScaling, checked_speed

CHANGES = st.lists(
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=6
)


def test_full_speed_is_exactly_the_clock():
    for t in (0.0, 0.1, 1234.56789, 1.7e9, -3.5, -np.inf):  # also before ``since``
        assert TimeScaling().at(t) == (t, 1.0, 0.0)


def test_ramp_is_the_closed_form():
    scaling = TimeScaling().toward(10.0, 0.5)  # takes 0.25 s, at -2 a second
    for dt, s, speed, rate in (
        (0.0, 0.0, 1.0, -2.0),
        (0.1, 0.1 - 0.1**2, 0.8, -2.0),
        (0.25, 0.1875, 0.5, 0.0),
        (1.25, 0.6875, 0.5, 0.0),
    ):
        np.testing.assert_allclose(
            scaling.at(10.0 + dt), (10.0 + s, speed, rate), rtol=0, atol=1e-12
        )


@given(changes=CHANGES)
@settings(max_examples=60, deadline=None)
def test_time_is_the_integral_of_a_continuous_speed(changes):
    scaling = TimeScaling()
    t = 0.0
    for pause, target in changes:
        clock = np.linspace(t, t + pause, 401)
        s, speed, rate = np.array([scaling.at(x) for x in clock]).T
        step = clock[1] - clock[0]
        assert (
            (np.diff(s) >= -1e-12).all()
            and (speed > -1e-12).all()
            and (speed < 1.0 + 1e-12).all()
        )
        assert (np.abs(np.diff(speed)) <= SPEED_FACTOR_RATE * step + 1e-12).all()
        # The trapezoidal rule is exact except for the step with the corner of the ramp.
        np.testing.assert_allclose(
            s[-1] - s[0],
            trapezoid(speed, clock),
            rtol=0,
            atol=SPEED_FACTOR_RATE * step**2 + 1e-12,
        )
        t += pause
        before = scaling.at(t)
        scaling = scaling.toward(t, target)
        np.testing.assert_allclose(scaling.at(t)[:2], before[:2], rtol=0, atol=1e-12)
    assert scaling.at(t + 1.001 / SPEED_FACTOR_RATE)[1:] == (changes[-1][1], 0.0)


@pytest.mark.parametrize("factor", [-0.1, 1.001, np.nan, np.inf, -np.inf])
def test_other_factors_are_refused(factor):
    with pytest.raises(
        RobotDynamicsError,
        match="speed scaling factor is .* Cure: give a number from 0 to 1",
    ):
        checked_speed(factor)
