"""The friction of one joint as a step takes it: at rest, its slope, and what fades near rest; by hand."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros.kernels import friction, layout

Array = NDArray[np.float64]


def _joint(**values: float) -> Array:
    row = np.zeros(layout.FRICTION_SIZE)
    for name, value in values.items():
        row[getattr(layout, name.upper())] = value
    return row


def _sigmoid(amplitude: float, slope: float, viscous: float = 0.0) -> Array:
    return _joint(viscous=viscous, sigmoid_amplitude=amplitude, sigmoid_slope=slope, sigmoid_shift=0.2)


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0, 5.0, 40.0])
def test_logistic_by_its_symmetry(x: float) -> None:
    assert friction.logistic(x) == pytest.approx(0.5 * (1.0 + math.tanh(0.5 * x)), rel=1e-15)
    assert friction.logistic(-x) == pytest.approx(math.exp(-x) * friction.logistic(x), rel=1e-14)
    assert [friction.logistic(far) for far in (-1e4, 1e4)] == [0.0, 1.0], "it does not overflow"


@pytest.mark.parametrize("joint", [_joint(viscous=0.7), _sigmoid(1.0, 4.0), _sigmoid(3.0, 4.0, 0.7), _joint()])
@pytest.mark.parametrize("rate", [-1.3, -0.2, 0.0, 0.05, 0.9])
def test_slope_is_that_of_the_smooth_friction(joint: Array, rate: float) -> None:
    """2 cosh(x / 2) is what the sigmoid's slope has below it."""
    amplitude, slope = joint[layout.SIGMOID_AMPLITUDE], joint[layout.SIGMOID_SLOPE]
    rise = amplitude * slope / (2.0 * math.cosh(0.5 * slope * (rate + 0.2))) ** 2
    assert friction.smooth_slope(joint, rate) == pytest.approx(joint[layout.VISCOUS] + rise, rel=1e-12)


def test_a_falling_sigmoid_counts_as_level() -> None:
    """Amplitude -3 and slope 4 fall by 3 at the steepest."""
    assert friction.smooth_slope(_sigmoid(-3.0, 4.0, 1.0), -0.2) == 0.0
    assert friction.smooth_slope(_sigmoid(-3.0, 4.0, 3.5), -0.2) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("stribeck", [0.0, 0.1])
def test_the_most_that_holds_a_joint_is_its_static_level(stribeck: float) -> None:
    joint = _joint(coulomb=3.0, coulomb_negative=6.0, static=5.0, stribeck_velocity=stribeck)
    assert friction.friction_bound(joint, 3.0, 0.4, 0.0) == 5.0 and friction.friction_bound(joint, 6.0, 0.4, 0.0) == 6.0
    fall = math.exp(-((0.05 / stribeck) ** 2)) if stribeck else 0.0
    for rate in (0.05, -0.05):
        assert friction.friction_bound(joint, 3.0, 0.4, rate) == pytest.approx(3.0 + 2.0 * fall, rel=1e-15)
        assert friction.friction_bound(joint, 6.0, 0.4, rate) == 6.0


def test_a_joint_at_rest_has_no_dry_friction_of_its_own() -> None:
    joint = _joint(coulomb=3.0, coulomb_negative=2.0, static=5.0)
    assert [friction.dry_friction(joint, 0.0, rate) for rate in (1e-300, 0.0, -1e-300)] == [3.0, 0.0, -2.0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_friction_fades_in_proportion_to_the_rate(sign: float) -> None:
    """Below 0.2 rad/s; from there on, and without fading, it is all of it."""
    joint = _joint(viscous=0.5, coulomb=3.0, coulomb_negative=2.0)
    level = 3.0 if sign > 0.0 else 2.0
    whole = 0.5 * 0.2 + level
    for rate, expected in ((0.05, 0.25 * whole), (0.1, 0.5 * whole), (0.2, whole), (0.4, 0.5 * 0.4 + level)):
        found = friction.faded_friction(joint, 0.0, sign * rate, 0.2)
        assert found == pytest.approx(sign * expected, rel=1e-14)
    assert friction.faded_friction(joint, 0.0, sign * 1e-9, 0.0) == pytest.approx(sign * level, rel=1e-8)
    assert friction.faded_friction(joint, 0.0, 0.0, 0.2) == 0.0
