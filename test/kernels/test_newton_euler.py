"""Inverse dynamics (Tsai 9.7, Craig 6.45-6.53) against Pinocchio's RNEA and against its own physics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from pinocchio_peer import Peer
from robots_with_drives import Robot, robots, size, state, wrenches

from robot_dynamics_ros import RobotDynamicsError, RobotModel

GRAVITY = [0.3, -1.2, -9.5]


@pytest.mark.parametrize("name", ["panda", "ur5e", "puma560"])
def test_shipped_robot_agrees_with_pinocchio(
    name: str, load_robot: Callable[..., Any], urdf_path: Callable[[str], Path]
) -> None:
    model = load_robot(name)
    peer = Peer(urdf_path(name).read_text(), model.joint_names)
    for q, qd, qdd in zip(*arms.states(1, model.n, 100), strict=True):
        assert np.abs(model.inverse_dynamics(q, qd, qdd) - peer.rnea(q, qd, qdd)).max() < 1e-10
        assert np.abs(model.bias_torque(q, qd) - peer.bias(q, qd)).max() < 1e-10
        assert np.abs(model.gravity_torque(q) - peer.gravity(q)).max() < 1e-10


@given(arm=arms.trees())
def test_any_tree_agrees_with_pinocchio(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf, gravity=GRAVITY)
    assert sorted(model.joint_names) == sorted(arm.movable)
    peer = Peer(arm.urdf, model.joint_names, GRAVITY)
    for q, qd, qdd in zip(*arms.states(arm.seed, model.n, 3), strict=True):
        expected = peer.rnea(q, qd, qdd)
        scale = float(np.abs(peer.crba(q)).max() * np.abs(qdd).sum())
        assert_close(model.inverse_dynamics(q, qd, qdd), expected, 1e-10, scale)
        assert_close(model.bias_torque(q, qd), peer.bias(q, qd), 1e-10, scale)
        assert_close(model.gravity_torque(q), peer.gravity(q), 1e-10, scale)


@given(arm=arms.trees())
def test_terms_of_the_torque(arm: arms.Arm) -> None:
    """tau = M qdd + bias (Craig 6.59).

    The bias is ID without acceleration, gravity ID at rest, and tau is linear in qdd.
    """
    model = RobotModel.from_urdf(arm.urdf, gravity=GRAVITY)
    rest = np.zeros(model.n)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    m, bias = model.mass_matrix(q), model.bias_torque(q, qd)
    scale = float(np.abs(m).max() * np.abs(qdd).sum() + np.abs(bias).max())
    assert_close(bias, model.inverse_dynamics(q, qd, rest), 1e-12, scale)
    assert_close(model.gravity_torque(q), model.inverse_dynamics(q, rest, rest), 1e-12, scale)
    assert_close(model.inverse_dynamics(q, qd, qdd), m @ qdd + bias, 1e-12, scale)


@given(arm=arms.trees())
def test_motor_power_is_the_change_of_energy(arm: arms.Arm) -> None:
    """qd . tau = d/dt (K + U) along the motion, by a central difference of the energies."""
    model = RobotModel.from_urdf(arm.urdf, gravity=GRAVITY)
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))

    def energy(t: float) -> float:
        position, velocity = q + qd * t + qdd * t * t / 2, qd + qdd * t
        return float(model.kinetic_energy(position, velocity) + model.potential_energy(position))

    h = 1e-4
    # Fourth order, so that truncation stays far below the tolerance.
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    tau = model.inverse_dynamics(q, qd, qdd)
    assert rate == pytest.approx(float(qd @ tau), abs=1e-7 * (1.0 + float(np.abs(qd) @ np.abs(tau)) + abs(energy(0.0))))


@given(arm=arms.trees(), data=st.data())
def test_external_wrenches_agree_with_pinocchio(arm: arms.Arm, data: st.DataObject) -> None:
    """A wrench acts ON a link, at its origin, in its axes, force first.

    Links behind fixed joints have their own frames.
    """
    model = RobotModel.from_urdf(arm.urdf, gravity=GRAVITY)
    peer = Peer(arm.urdf, model.joint_names, GRAVITY)
    links = [link.name for link in arm.links[1:]]
    loaded = data.draw(st.lists(st.sampled_from(links), unique=True, max_size=3))
    rng = np.random.default_rng(arm.seed)
    wrenches = {name: rng.uniform(-20, 20, 6) for name in loaded}
    q, qd, qdd = (x[0] for x in arms.states(arm.seed, model.n, 1))
    expected = peer.rnea(q, qd, qdd, wrenches)
    assert_close(model.inverse_dynamics(q, qd, qdd, external_wrenches=wrenches), expected, 1e-10, 1e3)


def test_wrench_on_the_root_does_nothing() -> None:
    arm = arms.random_arm(np.random.default_rng(4), [0, 1], ["revolute", "prismatic"])
    model = RobotModel.from_urdf(arm.urdf)
    q, qd, qdd = (x[0] for x in arms.states(4, 2, 1))
    loaded = model.inverse_dynamics(q, qd, qdd, external_wrenches={arm.links[0].name: [1, 2, 3, 4, 5, 6]})
    assert_close(loaded, model.inverse_dynamics(q, qd, qdd), 1e-15)


def test_bad_wrenches_are_refused() -> None:
    arm = arms.random_arm(np.random.default_rng(4), [0, 1], ["revolute", "prismatic"])
    model = RobotModel.from_urdf(arm.urdf)
    rest = np.zeros(2)
    with pytest.raises(RobotDynamicsError, match=arm.links[1].name):
        model.inverse_dynamics(
            rest, rest, rest, external_wrenches={arm.links[1].name: ["1", "2", "3", "4", "5", "six"]}
        )
    with pytest.raises(RobotDynamicsError, match="elbow"):
        model.inverse_dynamics(rest, rest, rest, external_wrenches={"elbow": np.zeros(6)})
    with pytest.raises(RobotDynamicsError, match=f"(?s)(?=.*{arm.links[1].name})(?=.*6)(?=.*3)"):
        model.inverse_dynamics(rest, rest, rest, external_wrenches={arm.links[1].name: [1.0, 2.0, 3.0]})


def test_length_of_the_axis_does_not_matter() -> None:
    arm = arms.random_arm(np.random.default_rng(8), [0, 1, 1], ["revolute", "prismatic", "continuous"])
    longer = arm
    for joint in arm.joints:
        longer = longer.with_joint(joint.name, axis=np.asarray(joint.axis) * 7.5)
    q, qd, qdd = (x[0] for x in arms.states(8, 3, 1))
    expected = RobotModel.from_urdf(arm.urdf).inverse_dynamics(q, qd, qdd)
    assert_close(RobotModel.from_urdf(longer.urdf).inverse_dynamics(q, qd, qdd), expected, 1e-13)


@given(robot=robots())
def test_terms_of_any_robots_torque(robot: Robot) -> None:
    """Linear in the accelerations and in gravity, quadratic in the rates; couplings and rotors included."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    rest, scale = np.zeros(model.n), size(model, q, qd, qdd)
    bias, gravity = model.bias_torque(q, qd), model.gravity_torque(q)
    assert_close(bias, model.inverse_dynamics(q, qd, rest), 1e-13, scale)
    assert_close(gravity, model.inverse_dynamics(q, rest, rest), 1e-13, scale)
    forward, backward, twice = (model.bias_torque(q, k * qd) - gravity for k in (1.0, -1.0, 2.0))
    assert_close(backward, forward, 1e-12, scale)
    assert_close(twice, 4.0 * forward, 1e-12, 4.0 * scale)
    inertial = model.mass_matrix(q) @ qdd
    assert_close(model.inverse_dynamics(q, qd, qdd), inertial + bias, 1e-12, scale)
    assert_close(model.inverse_dynamics(q, qd, -2.0 * qdd), -2.0 * inertial + bias, 1e-12, 2.0 * scale)
    unit = [robot.model(gravity=direction).gravity_torque(q) for direction in np.eye(3).tolist()]
    assert_close(gravity, np.array(unit).T @ robot.gravity, 1e-12, 10.0 * float(np.abs(unit).max()))
    assert_close(robot.model(gravity=[0, 0, 0]).gravity_torque(q), rest, 0.0)


@given(robot=robots())
def test_wrenches_do_virtual_work(robot: Robot) -> None:
    """Wrenches take J^T w off the torque, with w turned into the root's axes (Craig 5.9)."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    loads = wrenches(robot)
    expected = model.inverse_dynamics(q, qd, qdd)
    scale = size(model, q, qd, qdd)
    for link, wrench in loads.items():
        turn = model.link_pose(q, link)[:3, :3]
        work = model.jacobian(q, link).T @ np.concatenate([turn @ wrench[:3], turn @ wrench[3:]])
        expected = expected - work
        scale += 20.0 * float(np.abs(model.jacobian(q, link)).sum())
    assert_close(model.inverse_dynamics(q, qd, qdd, external_wrenches=loads), expected, 1e-12, scale)
