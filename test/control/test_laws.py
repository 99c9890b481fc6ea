"""Each control law against its closed form on the planar arm of Tsai example 9.7.1."""

from collections.abc import Callable
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from oracles import tsai_planar_2r as tsai

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.friction_compensation import friction_compensation
from robot_dynamics_ros.control.gains import Gains, gains_from_frequency
from robot_dynamics_ros.control.laws import LAWS, Motion

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
GAINS = Gains(np.array([90.0, 40.0]), np.array([18.0, 11.0]))


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(arms.tsai_planar_2r(P).urdf, gravity=[0.0, -P.g, 0.0])


def _pd(d: Motion, q: Any, qd: Any) -> Any:
    return GAINS.kp * (d.q - q) + GAINS.kd * (d.qd - qd)


# Craig, Introduction to Robotics, chapter 10; Takegaki and Arimoto 1981 for pd_gravity.
CLOSED_FORMS: dict[str, Callable[..., Any]] = {
    "feedforward": lambda d, q, qd: tsai.torque(P, d.q, d.qd, d.qdd),
    "computed_torque": lambda d, q, qd: tsai.torque(P, q, qd, d.qdd + _pd(d, q, qd)),
    "pd_gravity": lambda d, q, qd: tsai.gravity(P, q) + _pd(d, q, qd),
    "pd": _pd,
}


def test_every_law_has_a_closed_form_here() -> None:
    assert set(LAWS) == set(CLOSED_FORMS)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_form(name: str, model: RobotModel) -> None:
    wanted, measured = arms.states(1, 2, 20), arms.states(2, 2, 20)
    for desired, (q, qd, _) in zip(zip(*wanted, strict=True), zip(*measured, strict=True), strict=True):
        motion = Motion(*desired)
        expected = CLOSED_FORMS[name](motion, q, qd)
        assert_close(LAWS[name].torque(model, GAINS, motion, q, qd), expected, 1e-12, scale=1e3)


def test_computed_torque_makes_the_error_linear(model: RobotModel) -> None:
    """e'' + Kd e' + Kp e = 0, with the acceleration from M of Tsai (9.114) and not from our model."""
    q, qd = np.array([0.3, -0.8]), np.array([1.2, -0.7])
    motion = Motion(np.array([0.5, 0.4]), np.array([-0.3, 0.2]), np.array([2.0, -1.0]))
    tau = LAWS["computed_torque"].torque(model, GAINS, motion, q, qd)
    bias = tsai.velocity_coupling(P, q, qd) + tsai.gravity(P, q)
    qdd = np.linalg.solve(tsai.mass_matrix(P, q), tau - bias)
    error = motion.qdd - qdd + GAINS.kd * (motion.qd - qd) + GAINS.kp * (motion.q - q)
    assert_close(error, np.zeros(2), 1e-10)


def test_gains_from_frequency() -> None:
    """Inertia x (omega^2, 2 zeta omega): the standard second-order system."""
    gains = gains_from_frequency(np.array([10.0, 20.0]), np.array([1.0, 0.5]), np.array([2.0, 0.1]))
    assert_close(gains.kp, [200.0, 40.0], 1e-15)
    assert_close(gains.kd, [40.0, 2.0], 1e-15)


# Friction compensation


def _with_friction(coulomb: float, viscous: float) -> RobotModel:
    extra = f'<dynamics damping="{viscous}" friction="{coulomb}"/>'
    arm = arms.tsai_planar_2r(P).with_joint("joint1", extra=extra).with_joint("joint2", extra=extra)
    return RobotModel.from_urdf(arm.urdf, gravity=[0.0, -P.g, 0.0])


def test_friction_of_a_sliding_joint_is_made_up_for_in_full() -> None:
    """Craig (6.112): c sgn(qd) + v qd."""
    model = _with_friction(2.0, 0.5)
    tau = friction_compensation(model, np.zeros(2), np.array([1.0, -0.3]), 0.01)
    assert_close(tau, [2.5, -2.15], 1e-14)


def test_friction_compensation_has_no_step_at_a_reversal() -> None:
    """Continuous, odd and monotonic through zero, where Coulomb friction itself jumps by 2 c."""
    model = _with_friction(2.0, 0.5)
    speeds = np.linspace(-0.03, 0.03, 601)
    tau = np.array([friction_compensation(model, np.zeros(2), np.array([x, -x]), 0.01) for x in speeds])
    # The slope is at most c / smoothing velocity + v = 200.5 Nms/rad.
    assert np.abs(np.diff(tau, axis=0)).max() < 200.6 * 1e-4
    assert (np.diff(tau[:, 0]) > 0).all()
    np.testing.assert_allclose(tau[:, 0], -tau[:, 1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(tau, -tau[::-1], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(friction_compensation(model, np.zeros(2), np.zeros(2), 0.01), 0.0)
    np.testing.assert_array_equal(friction_compensation(model, np.zeros(2), np.array([-0.0, 0.0]), 0.01), 0.0)


def test_without_smoothing_it_is_the_friction() -> None:
    model = _with_friction(2.0, 0.5)
    assert_close(friction_compensation(model, np.zeros(2), np.array([1e-9, 0.0]), 0.0), [2.0, 0.0], 1e-8)
