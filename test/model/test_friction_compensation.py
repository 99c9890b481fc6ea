"""The torque that makes up for friction along a desired motion."""

import numpy as np

from oracles import tsai_planar_2r as tsai
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import load

ARM = arms.tsai_planar_2r(tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81))
RATES = np.linspace(-0.03, 0.03, 601)


def test_friction_compensation_has_no_step_at_a_reversal() -> None:
    """Craig (6.112), c sgn(qd) + v qd, but in proportion to the rate below the smoothing velocity of 0.01 rad/s."""
    friction = {"coulomb": 2.0, "viscous": 0.5}
    model = load(ARM, {"joints": {"joint1": friction, "joint2": friction}})
    tau = np.array([model.friction_torque(np.zeros(2), np.array([x, -x]), 0.01) for x in RATES])
    expected = (2.0 + 0.5 * np.maximum(np.abs(RATES), 0.01)) * np.clip(RATES / 0.01, -1.0, 1.0)
    assert_close(tau, np.stack((expected, -expected), axis=1), 1e-12)
    np.testing.assert_array_equal(model.friction_torque(np.zeros(2), np.array([-0.0, 0.0]), 0.01), 0.0)
    assert_close(model.friction_torque(np.zeros(2), np.array([1e-9, 0.0]), 0.0), [2.0, 0.0], 1e-8)


def test_a_coupled_joint_has_no_step_where_it_turns_round() -> None:
    """Spong (9.89): joint2 turns by p2 - p1 and comes to rest while both coordinates move; tau = G^T tau_tree."""
    couplings = {"joint1": {"p1": 1.0}, "joint2": {"p1": -1.0, "p2": 1.0}}
    content = {"joints": {"joint2": {"coulomb": 2.0}}, "coordinates": ["p1", "p2"], "couplings": couplings}
    model = load(ARM, content)
    tau = np.array([model.friction_torque(np.zeros(2), np.array([1.0, 1.0 + x]), 0.01) for x in RATES])
    expected = 2.0 * np.clip(RATES / 0.01, -1.0, 1.0)
    assert_close(tau, np.stack((-expected, expected), axis=1), 1e-12)
