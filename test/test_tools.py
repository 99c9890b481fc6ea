"""Judgement of the chaos figures, and the units of rounding errors."""

from collections.abc import Callable

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from tools.chaos.figures import Joints, is_safe
from tools.numerics.errors import EPS, units
from tools.numerics.oracle import MP


def test_chaos_recognizes_a_safe_torque(load_robot: Callable[..., RobotModel]) -> None:
    """A safe torque balances gravity, damps the motion, or is zero."""
    model = load_robot("panda", "panda")
    q, qd = np.array([[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]]), np.full((1, 7), 0.1)
    states = Joints(np.zeros(1), q, qd)
    carries = model.gravity_torque(q[0])
    damps = carries - 20.0 * model.mass_matrix(q[0]) @ qd[0]
    assert all(is_safe(model, states, slice(0, 1), effort) for effort in (carries, damps, np.zeros(7)))
    for effort in (carries + 1e-3, damps * 1.01, np.full(7, np.nan)):
        assert not is_safe(model, states, slice(0, 1), effort)


def test_error_in_units_of_the_last_place() -> None:
    one = np.array([MP.mpf(1)])
    assert units([1.0 + 3 * EPS], one, [1.0]) == pytest.approx(3.0)
    assert units([np.nan], one, [1.0]) == np.inf
