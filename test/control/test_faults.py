"""What is told of numbers that are not finite."""

import math

import numpy as np

from robot_dynamics_ros.control.faults import first_not_finite


def test_the_first_that_is_not_finite_is_named() -> None:
    names = ("a", "b", "c")
    assert first_not_finite(names, np.array([1.0, -2.0, 1e308])) is None
    assert first_not_finite(names, np.array([1.0, -math.inf, math.nan])) == ("b", -math.inf)
    assert first_not_finite(names, np.array([math.inf, 0.0, 0.0])) == ("a", math.inf)
