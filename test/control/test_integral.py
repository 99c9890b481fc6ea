"""Integral of the position error with anti-windup."""

import numpy as np
import pytest

from robot_dynamics_ros.control.limits import ErrorIntegral
from support.comparing import assert_close


def test_it_sums_error_times_time() -> None:
    integral = ErrorIntegral(2)
    assert_close(integral.value, [0.0, 0.0], 0.0)
    value = integral.value
    for error, dt in (([1.0, -2.0], 0.1), ([0.5, 0.0], 0.2), ([-3.0, 1.0], 0.0)):
        integral.add(np.array(error), dt, np.zeros(2))
    assert_close(integral.value, [0.2, -0.2], 1e-15)
    assert integral.value is value
    integral.reset()
    assert_close(value, [0.0, 0.0], 0.0)


@pytest.mark.parametrize(
    ("cut", "error", "moves"),
    # Beyond the limit and increasing, beyond and decreasing, and at the limit without excess.
    [
        (0.1, 1.0, False),
        (-0.1, -1.0, False),
        (0.1, -1.0, True),
        (-0.1, 1.0, True),
        (0.0, 1.0, True),
    ],
)
def test_it_is_constant_if_it_would_increase_the_excess(
    cut: float, error: float, moves: bool
) -> None:
    """Joints are independent: the other one integrates."""
    integral = ErrorIntegral(2)
    integral.value[:] = 0.3
    integral.add(np.array([error, error]), 0.1, np.array([cut, 0.0]))
    assert_close(integral.value, [0.3 + 0.1 * error * moves, 0.3 + 0.1 * error], 1e-15)


def test_a_new_gain_keeps_the_torque() -> None:
    integral = ErrorIntegral(4)
    integral.value[:] = [1.0, -2.0, 3.0, -4.0]
    integral.keep_torque(
        np.array([4.0, 0.0, 2.0, 0.25]), np.array([8.0, 5.0, 0.0, 0.5])
    )
    np.testing.assert_array_equal(integral.value, [0.5, 0.0, 0.0, -2.0])
