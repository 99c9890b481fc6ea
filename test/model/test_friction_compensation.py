"""The torque that makes up for friction along a desired motion."""

from pathlib import Path

import arms
import numpy as np
from comparing import assert_close
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotModel

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)


def _with_friction(coulomb: float, viscous: float) -> RobotModel:
    extra = f'<dynamics damping="{viscous}" friction="{coulomb}"/>'
    arm = arms.tsai_planar_2r(P).with_joint("joint1", extra=extra).with_joint("joint2", extra=extra)
    return RobotModel.from_urdf(arm.urdf, gravity=[0.0, -P.g, 0.0])


def test_friction_of_a_sliding_joint_is_made_up_for_in_full() -> None:
    """Craig (6.112): c sgn(qd) + v qd."""
    model = _with_friction(2.0, 0.5)
    tau = model.friction_torque(np.zeros(2), np.array([1.0, -0.3]), 0.01)
    assert_close(tau, [2.5, -2.15], 1e-14)


def test_friction_compensation_has_no_step_at_a_reversal() -> None:
    """Continuous, odd and monotonic through zero, where Coulomb friction itself jumps by 2 c."""
    model = _with_friction(2.0, 0.5)
    speeds = np.linspace(-0.03, 0.03, 601)
    tau = np.array([model.friction_torque(np.zeros(2), np.array([x, -x]), 0.01) for x in speeds])
    # The slope is at most c / smoothing velocity + v = 200.5 Nms/rad.
    assert np.abs(np.diff(tau, axis=0)).max() < 200.6 * 1e-4
    assert (np.diff(tau[:, 0]) > 0).all()
    np.testing.assert_allclose(tau[:, 0], -tau[:, 1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(tau, -tau[::-1], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(model.friction_torque(np.zeros(2), np.zeros(2), 0.01), 0.0)
    np.testing.assert_array_equal(model.friction_torque(np.zeros(2), np.array([-0.0, 0.0]), 0.01), 0.0)


def test_without_smoothing_it_is_the_friction() -> None:
    model = _with_friction(2.0, 0.5)
    assert_close(model.friction_torque(np.zeros(2), np.array([1e-9, 0.0]), 0.0), [2.0, 0.0], 1e-8)


def test_a_coupled_joint_has_no_step_where_it_turns_round(tmp_path: Path) -> None:
    """Spong (9.89): joint2 turns by p2 - p1 and comes to rest while both coordinates move; tau = G^T tau_tree."""
    dynamics = tmp_path / "belt.dynamics.yaml"
    dynamics.write_text(
        "gravity: [0.0, 0.0, 0.0]\njoints: {joint2: {coulomb: 2.0}}\n"
        "coordinates: [p1, p2]\ncouplings: {joint1: {p1: 1.0}, joint2: {p1: -1.0, p2: 1.0}}\n"
    )
    model = RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, dynamics=dynamics)
    rates = np.linspace(-0.03, 0.03, 601)
    tau = np.array([model.friction_torque(np.zeros(2), np.array([1.0, 1.0 + x]), 0.01) for x in rates])
    expected = 2.0 * np.clip(rates / 0.01, -1.0, 1.0)
    assert_close(tau, np.stack((-expected, expected), axis=1), 1e-12)
