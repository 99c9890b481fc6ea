"""Friction torque.

Craig (6.110)-(6.112), and the sigmoid of Gaz et al. (IEEE RA-L 4(4), 2019) with their numbers of the Panda.
"""

from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from robots_with_drives import Robot, robots, state

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


def _closed_form(terms: dict[str, Any], q: float, qd: float) -> float:
    """Viscous, Coulomb, Stribeck, ripple and sigmoid friction of a joint, written out."""
    total = float(terms.get("viscous", 0.0) * qd)
    if "sigmoid" in terms:
        a, s, v0 = (terms["sigmoid"][key] for key in ("amplitude", "slope", "shift"))
        total += a / (1.0 + np.exp(-s * (qd + v0))) - a / (1.0 + np.exp(-s * v0))
    if qd == 0.0 or "coulomb" not in terms:
        return total
    level = terms["coulomb"] if qd > 0.0 else terms.get("coulomb_negative", terms["coulomb"])
    dry = level
    if "static" in terms:
        dry += (terms["static"] - level) * np.exp(-((qd / terms["stribeck_velocity"]) ** 2))
    if "ripple" in terms:
        a, per_turn, phase = (terms["ripple"][key] for key in ("amplitude", "per_turn", "phase"))
        dry += a * np.sin(per_turn * q + phase)
    return total + float(np.sign(qd)) * max(dry, 0.0)


@given(robot=robots(friction=True), resting=st.booleans())
def test_any_robot_has_the_friction_of_its_joints(robot: Robot, resting: bool) -> None:
    """F = G^T F_tree: each joint's at its own position and rate. Friction only ever takes power."""
    model = robot.model()
    q, qd, _ = state(robot, model.n)
    if resting:
        qd[::2] = 0.0
    g, c = (part[: len(robot.bare.movable)] for part in robot.matrix(model.joint_names))
    tree = [
        _closed_form(robot.friction.get(name, {}), position, rate)
        for name, position, rate in zip(robot.bare.movable, g @ q + c, g @ qd, strict=True)
    ]
    got = model.friction_torque(q, qd)
    assert_close(got, g.T @ np.array(tree), 1e-12, float(np.abs(g).T.sum() + 10.0 * np.abs(tree).max()))
    assert float(qd @ got) >= -1e-12 * float(np.abs(qd) @ np.abs(got))


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_stribeck(direction: float, tmp_path: Path) -> None:
    """From the static level near rest to the Coulomb level far out; at v_s it has fallen by 1 - 1/e."""
    model = _load(
        tmp_path,
        f"joints: {{{A}: {{coulomb: 3.0, coulomb_negative: 2.0, static: 5.0, stribeck_velocity: 0.1}}}}",
    )
    level = 3.0 if direction > 0.0 else 2.0
    for speed, expected in ((1e-9, 5.0), (0.1, level + (5.0 - level) / np.e), (10.0, level)):
        assert_close(model.friction_torque(np.zeros(3), [direction * speed, 0, 0]), [direction * expected, 0, 0], 1e-14)


def test_static_level_without_stribeck_velocity_is_for_rest_alone(tmp_path: Path) -> None:
    model = _load(tmp_path, f"joints: {{{A}: {{coulomb: 3.0, static: 5.0}}}}")
    assert_close(model.friction_torque(np.zeros(3), [1e-9, 0, 0]), [3.0, 0, 0], 1e-15)


def test_ripple(tmp_path: Path) -> None:
    """Craig (6.113): twelve times a turn; it weakens the grip, but never pushes."""
    text = f"joints: {{{A}: {{coulomb: 1.0, ripple: {{amplitude: 1.5, per_turn: 12, phase: 0.5}}}}}}"
    model = _load(tmp_path, text)
    for position in np.linspace(0.0, 2.0 * np.pi, 50):
        expected = max(0.0, 1.0 + 1.5 * np.sin(12 * position + 0.5))
        assert_close(model.friction_torque([position, 0, 0], [2.0, 0, 0]), [expected, 0, 0], 1e-13)
        assert_close(model.friction_torque([position, 0, 0], [-2.0, 0, 0]), [-expected, 0, 0], 1e-13)
