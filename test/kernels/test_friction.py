"""Friction torque.

Craig (6.110)-(6.113), and the sigmoid of Gaz et al. (IEEE RA-L 4(4), 2019) with their numbers of the Panda.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, load, robots, state

ARM = arms.random_arm(np.random.default_rng(1), [0, 1], ["revolute", "prismatic"])
REST = np.zeros(2)


def _load(arm: arms.Arm = ARM, **terms: Any) -> RobotModel:
    """With these friction terms at the first joint."""
    return load(arm, {"joints": {arm.movable[0]: terms}})


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
    """F = G^T F_tree: each joint's at its own position and rate, Craig (6.113). Friction only ever takes power."""
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


def test_sigmoid() -> None:
    """Gaz et al. 2019, joint 1 of the Panda; the constant makes it vanish at rest."""
    amplitude, slope, shift = 0.54615, 5.1181, 0.039533
    model = _load(sigmoid={"amplitude": amplitude, "slope": slope, "shift": shift})
    for speed in (-2.0, -0.1, 0.0, 0.05, 1.5):
        expected = amplitude / (1 + np.exp(-slope * (speed + shift))) - amplitude / (1 + np.exp(-slope * shift))
        assert_close(model.friction_torque(REST, [speed, 0.0]), [expected, 0.0], 1e-15)
    # Far out the exponential overflows; the sigmoid does not.
    assert np.all(np.isfinite(model.friction_torque(REST, [-1e4, 0.0])))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stribeck(sign: float) -> None:
    """From the static level near rest to the Coulomb level far out; at v_s it has fallen by 1 - 1/e."""
    model = _load(coulomb=3.0, coulomb_negative=2.0, static=5.0, stribeck_velocity=0.1)
    level = 3.0 if sign > 0.0 else 2.0
    for speed, expected in ((0.0, 0.0), (1e-9, 5.0), (0.1, level + (5.0 - level) / np.e), (10.0, level)):
        assert_close(model.friction_torque(REST, [sign * speed, 0]), [sign * expected, 0], 1e-14)


def test_static_level_without_stribeck_velocity_is_for_rest_alone() -> None:
    assert_close(_load(coulomb=3.0, static=5.0).friction_torque(REST, [1e-9, 0]), [3.0, 0], 1e-15)


def test_friction_of_the_urdf_and_its_override() -> None:
    arm = ARM.with_joint(ARM.movable[0], extra='<dynamics damping="0.7" friction="0.2"/>')
    assert_close(RobotModel.from_urdf(arm.urdf).friction_torque(REST, [2.0, 2.0]), [0.7 * 2 + 0.2, 0.0], 1e-15)
    assert_close(_load(arm, viscous=1.0, coulomb=0.5).friction_torque(REST, [2.0, 2.0]), [1.0 * 2 + 0.5, 0.0], 1e-15)


def test_dynamics_are_without_friction() -> None:
    model, plain = _load(coulomb=3.0, viscous=1.0), RobotModel.from_urdf(ARM.urdf)
    q, qd, third = (x[0] for x in arms.states(1, 2, 1))
    assert_close(model.inverse_dynamics(q, qd, third), plain.inverse_dynamics(q, qd, third), 0.0)
    assert_close(model.forward_dynamics(q, qd, third), plain.forward_dynamics(q, qd, third), 0.0)
