"""Friction torque.

Craig (6.110)-(6.112), and the sigmoid of Gaz et al. (IEEE RA-L 4(4), 2019) with their numbers of the Panda.
"""

from pathlib import Path

import arms
import numpy as np
import pytest
from comparing import assert_close

from robot_dynamics_ros import RobotModel

ARM = arms.random_arm(np.random.default_rng(1), [0, 1, 2], ["revolute", "continuous", "prismatic"])
A, B, C = ARM.movable


def _load(tmp_path: Path, text: str, arm: arms.Arm = ARM) -> RobotModel:
    file = tmp_path / "friction.yaml"
    file.write_text(text)
    return RobotModel.from_urdf(arm.urdf, dynamics=file)


def test_viscous_and_coulomb(tmp_path: Path) -> None:
    model = _load(
        tmp_path,
        f"joints:\n  {A}: {{viscous: 2.0, coulomb: 3.0, coulomb_negative: 4.0}}\n  {C}: {{coulomb: 5.0}}\n",
    )
    q = np.zeros(3)
    assert_close(model.friction_torque(q, [0.5, 1.0, -2.0]), [2.0 * 0.5 + 3.0, 0.0, -5.0], 1e-15)
    assert_close(model.friction_torque(q, [-0.5, 1.0, 2.0]), [-2.0 * 0.5 - 4.0, 0.0, 5.0], 1e-15)


def test_coulomb_friction_is_zero_at_rest(tmp_path: Path) -> None:
    model = _load(tmp_path, f"joints: {{{A}: {{coulomb: 3.0, viscous: 1.0}}}}")
    assert_close(model.friction_torque(np.zeros(3), np.zeros(3)), np.zeros(3), 0.0)


def test_sigmoid(tmp_path: Path) -> None:
    """Gaz et al. 2019, joint 1 of the Panda; the constant makes it vanish at rest."""
    amplitude, slope, shift = 0.54615, 5.1181, 0.039533
    sigmoid = f"{{amplitude: {amplitude}, slope: {slope}, shift: {shift}}}"
    model = _load(tmp_path, f"joints: {{{B}: {{sigmoid: {sigmoid}}}}}")
    for speed in (-2.0, -0.1, 0.0, 0.05, 1.5):
        expected = amplitude / (1 + np.exp(-slope * (speed + shift))) - amplitude / (1 + np.exp(-slope * shift))
        assert_close(model.friction_torque(np.zeros(3), [0.0, speed, 0.0]), [0.0, expected, 0.0], 1e-15)
    # Far out the exponential overflows; the sigmoid does not.
    assert np.all(np.isfinite(model.friction_torque(np.zeros(3), [0.0, -1e4, 0.0])))


def test_friction_of_the_urdf_and_its_override(tmp_path: Path) -> None:
    arm = ARM.with_joint(A, extra='<dynamics damping="0.7" friction="0.2"/>')
    qd = [2.0, 2.0, 2.0]
    model = RobotModel.from_urdf(arm.urdf)
    assert_close(model.friction_torque(np.zeros(3), qd), [0.7 * 2 + 0.2, 0.0, 0.0], 1e-15)
    model = _load(tmp_path, f"joints: {{{A}: {{viscous: 1.0, coulomb: 0.5}}}}", arm)
    assert_close(model.friction_torque(np.zeros(3), qd), [1.0 * 2 + 0.5, 0.0, 0.0], 1e-15)


def test_dynamics_are_without_friction(tmp_path: Path) -> None:
    model = _load(tmp_path, f"joints: {{{A}: {{coulomb: 3.0, viscous: 1.0}}}}")
    plain = RobotModel.from_urdf(ARM.urdf)
    q, qd, qdd = (x[0] for x in arms.states(1, 3, 1))
    assert_close(model.inverse_dynamics(q, qd, qdd), plain.inverse_dynamics(q, qd, qdd), 0.0)
    assert_close(model.forward_dynamics(q, qd, qdd), plain.forward_dynamics(q, qd, qdd), 0.0)


@pytest.mark.parametrize("key", ["viscous", "coulomb", "coulomb_negative", "rotor_inertia"])
def test_negative_numbers_are_refused(key: str, tmp_path: Path) -> None:
    """Negative friction or inertia would give energy for nothing."""
    from robot_dynamics_ros import RobotModelError

    with pytest.raises(RobotModelError, match=f"(?s)(?=.*{A})(?=.*{key})"):
        _load(tmp_path, f"joints: {{{A}: {{{key}: -1.0}}}}")
