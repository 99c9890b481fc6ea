"""Inverse dynamics (Tsai 9.7, Craig 6.45-6.53): terms of the torque, external wrenches, joint reactions."""

import numpy as np
import pytest
from hypothesis import given

from oracles import tsai_planar_2r
from robot_dynamics_ros import RobotModel
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, size, state, wrenches


@given(robot=robots())
def test_terms_of_any_robots_torque(robot: Robot) -> None:
    """tau = M qdd + bias (Craig 6.59): linear in accelerations and gravity, quadratic in the rates."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    rest = np.zeros(model.n)
    scale = size(model, q, qd, qdd)
    bias = model.bias_torque(q, qd)
    gravity = model.gravity_torque(q)
    assert_close(bias, model.inverse_dynamics(q, qd, rest), 1e-13, scale)
    assert_close(gravity, model.inverse_dynamics(q, rest, rest), 1e-13, scale)
    forward, backward, twice = (
        model.bias_torque(q, k * qd) - gravity for k in (1.0, -1.0, 2.0)
    )
    assert_close(backward, forward, 1e-12, scale)
    assert_close(twice, 4.0 * forward, 1e-12, 4.0 * scale)
    inertial = model.mass_matrix(q) @ qdd
    assert_close(
        model.inverse_dynamics(q, qd, -2.0 * qdd),
        -2.0 * inertial + bias,
        1e-12,
        2.0 * scale,
    )
    unit = [
        robot.model(gravity=direction).gravity_torque(q)
        for direction in np.eye(3).tolist()
    ]
    assert_close(
        gravity,
        np.array(unit).T @ robot.gravity,
        1e-12,
        10.0 * float(np.abs(unit).max()),
    )
    assert_close(robot.model(gravity=[0, 0, 0]).gravity_torque(q), rest, 0.0)


@given(robot=robots())
def test_wrenches_do_virtual_work(robot: Robot) -> None:
    """Wrenches reduce the torque by J^T w, with w in root axes (Craig 5.9); a wrench on the root has no effect."""
    model = robot.model()
    q, qd, qdd = state(robot, model.n)
    external_wrenches = {**wrenches(robot), model.link_names[0]: np.arange(1.0, 7.0)}
    expected = model.inverse_dynamics(q, qd, qdd)
    scale = size(model, q, qd, qdd)
    for link, wrench in external_wrenches.items():
        turn = model.link_pose(q, link)[:3, :3]
        expected = expected - model.jacobian(q, link).T @ np.concatenate(
            [turn @ wrench[:3], turn @ wrench[3:]]
        )
        scale += 20.0 * float(np.abs(model.jacobian(q, link)).sum())
    assert_close(
        model.inverse_dynamics(q, qd, qdd, external_wrenches=external_wrenches),
        expected,
        1e-12,
        scale,
    )


def test_length_of_the_axis_does_not_matter() -> None:
    arm = longer = arms.random_arm(
        np.random.default_rng(8), [0, 1, 1], ["revolute", "prismatic", "continuous"]
    )
    for joint in arm.joints:
        longer = longer.with_joint(joint.name, axis=np.asarray(joint.axis) * 7.5)
    q, qd, qdd = (x[0] for x in arms.states(8, 3, 1))
    expected = RobotModel.from_urdf(arm.urdf).inverse_dynamics(q, qd, qdd)
    assert_close(
        RobotModel.from_urdf(longer.urdf).inverse_dynamics(q, qd, qdd), expected, 1e-13
    )


@pytest.mark.parametrize("seed", range(2))
def test_forces_in_the_planar_arm(seed: int) -> None:
    """Tsai example 9.7.1: forces at both joints of the planar arm, in the links' axes."""
    p = tsai_planar_2r.Parameters(
        *np.random.default_rng(seed).uniform(0.2, 3.0, 5).tolist()
    )
    model = RobotModel.from_urdf(arms.tsai_planar_2r(p).urdf, gravity=[0, -p.g, 0])
    for q, qd, qdd in zip(*arms.states(seed, 2, 10), strict=True):
        reactions = model.joint_reactions(q, qd, qdd)
        assert_close(
            reactions[:, :3], tsai_planar_2r.joint_forces(p, q, qd, qdd), 1e-13, 100.0
        )
        assert_close(
            reactions[:, 5], tsai_planar_2r.torque(p, q, qd, qdd), 1e-13, 1000.0
        )


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 0, 0]])
def test_bearing_load_of_a_whirling_mass(axis: list[int]) -> None:
    """2 kg turn at 3 rad/s, 0.3 m from the axis and 0.1 m above the bearing; gravity is along the axis."""
    along = np.array(axis, dtype=float)
    across = np.array([0.0, 1.0, 0.0])
    com = (0.3 * across + 0.1 * along).tolist()
    joints = [arms.Joint("joint", "continuous", "base", "link", axis=axis)]
    arm = arms.Arm([arms.Link("base"), arms.Link("link", mass=2.0, com=com)], joints)
    model = RobotModel.from_urdf(arm.urdf, gravity=(-9.81 * along).tolist())
    weight = 2.0 * 9.81
    pull = 2.0 * 3.0**2 * 0.3
    assert_close(
        model.bearing_loads([0.7], [3.0], [0.0])[0],
        [weight, pull, 0.3 * weight + 0.1 * pull],
        1e-12,
    )
