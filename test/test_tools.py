"""Judgement of the chaos figures, units of rounding errors, and facts of the inventory."""

from collections.abc import Callable

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from tools.chaos.figures import Joints, is_safe
from tools.inventory.observed import keys, lines
from tools.numerics.errors import EPS, units
from tools.numerics.oracle import MP


def test_chaos_recognizes_a_safe_torque(load_robot: Callable[..., RobotModel]) -> None:
    """A safe torque balances gravity, damps the motion, or is zero."""
    model = load_robot("panda", "panda")
    q = np.array([[0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]])
    qd = np.full((1, 7), 0.1)
    states = Joints(np.zeros(1), q, qd)
    carries = model.gravity_torque(q[0])
    damps = carries - 20.0 * model.mass_matrix(q[0]) @ qd[0]
    assert all(
        is_safe(model, states, slice(0, 1), effort)
        for effort in (carries, damps, np.zeros(7))
    )
    for effort in (carries + 1e-3, damps * 1.01, np.full(7, np.nan)):
        assert not is_safe(model, states, slice(0, 1), effort)


def test_error_in_units_of_the_last_place() -> None:
    one = np.array([MP.mpf(1)])
    assert units([1.0 + 3 * EPS], one, [1.0]) == pytest.approx(3.0)
    assert units([np.nan], one, [1.0]) == np.inf


def test_inventory_leaves_out_what_differs_between_machines() -> None:
    """Numbers, widths of columns and the breaks of paragraphs, but neither names with digits nor powers."""
    text = "joint1  rad   0.25  -1.5e-07\n\n-----\nnote: 3 kg m^2 of link2 are\n  missing at q = [1, 2]"
    assert list(lines(text)) == [
        "joint1 rad # #",
        "note: # kg m^2 of link2 are missing at q = [#, #]",
    ]


def test_inventory_lists_keys_with_all_their_types() -> None:
    value = {"a": [{"b": 1}, {"b": None}], "c": {"d": True, "e": []}, "f": "text"}
    assert list(keys(value)) == [
        "a[].b: null or number",
        "c.d: boolean",
        "c.e: empty list",
        "f: text",
    ]
