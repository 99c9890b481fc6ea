"""The batch kernels' sines and cosines against long doubles (64 bits of mantissa)."""

import numpy as np
import pytest

from robot_dynamics_ros.codegen.source import FARTHEST, sines_and_cosines


def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    b = np.concatenate([x, np.full(2 * len(x), 7.0)])
    sines_and_cosines(b, 0, len(x), 2 * len(x), len(x))
    return b[len(x) : 2 * len(x)], b[2 * len(x) :]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="this machine has no longer floats")
@pytest.mark.parametrize("reach", [1e-9, 0.1, 1.0, 4.0, 100.0, FARTHEST, 3 * FARTHEST])
def test_error_is_a_few_units_in_the_last_place(reach: float) -> None:
    x = np.random.default_rng(0).uniform(-reach, reach, 4000)
    x[::4] = np.round(x[::4] / (np.pi / 2)) * (np.pi / 2)  # where one of the two nearly vanishes
    for got, function in zip(evaluate(x), (np.sin, np.cos), strict=True):
        exact = function(x.astype(np.longdouble))
        units = np.abs(got - exact) / np.spacing(np.abs(exact).astype(float))
        assert units.max() < 2.5


def test_huge_angles_are_those_of_the_library() -> None:
    x = np.array([1.01e5, -2e5, 1e9, 1e22, -1e300, np.finfo(float).max])
    sines, cosines = evaluate(x)
    np.testing.assert_allclose(sines, np.sin(x), rtol=0, atol=1e-15)
    np.testing.assert_allclose(cosines, np.cos(x), rtol=0, atol=1e-15)


def test_what_is_not_finite_has_no_sine_and_spoils_no_neighbour() -> None:
    x = np.array([0.5, np.nan, 0.5, np.inf, -np.inf, 1e10, 0.5])
    with np.errstate(invalid="ignore"):
        sines, cosines = evaluate(x)
    for got, function in ((sines, np.sin), (cosines, np.cos)):
        assert np.isnan(got[[1, 3, 4]]).all()
        np.testing.assert_allclose(got[[0, 2, 5, 6]], function(x[[0, 2, 5, 6]]), rtol=0, atol=2e-16)


def test_the_same_angle_has_the_same_bits_anywhere() -> None:
    angles = np.random.default_rng(1).uniform(-10, 10, 37)
    expected = np.array(evaluate(angles))
    for shift in range(8):
        got = np.array(evaluate(np.concatenate([np.linspace(-3, 3, shift), angles])))
        np.testing.assert_array_equal(got[:, shift:], expected)
