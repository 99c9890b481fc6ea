"""Static forces from link to link against virtual work, the kernels, and the sum of forces on the whole arm."""

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations import velocity_propagation
from robot_dynamics_ros.formulations.force_propagation import jacobian, joint_torques, link_forces
from robot_dynamics_ros.formulations.link_tree import LinkTree
from robot_dynamics_ros.resources import robot_urdf
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots


@given(robot=robots())
def test_any_robot(robot: Robot) -> None:
    """The torque is what inverse dynamics says of an arm at rest, less its weight, that the world pushes back."""
    model = robot.model()
    link = model.link_names[-1]
    q, rest = arms.states(robot.seed, model.n, 1)[0][0], np.zeros(model.n)
    force = np.random.default_rng(robot.seed).normal(size=6)
    pushed = model.inverse_dynamics(q, rest, rest, external_wrenches={link: -force}) - model.gravity_torque(q)
    scale = float(np.abs(model.gravity_torque(q)).max())
    assert_close(joint_torques(model, q, force, link), pushed, 1e-10, scale)
    # Three ways to one Jacobian: Craig, exercise 5.3.
    assert_close(jacobian(model, q, link), velocity_propagation.jacobian(model, q, link), 1e-10)


def test_all_of_the_force_reaches_the_base() -> None:
    """Each link passes on the same force and the same moment about the root's origin; links beside the way none."""
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    tree, force = LinkTree.of(model), np.array([3.0, -1.0, 2.0, 0.5, 0.4, -0.3])
    q = np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3])
    f, n = link_forces(model, q, force, "tool0")
    rotations, origins = tree.base_placements(q)
    pose = model.link_pose(q, "tool0")
    in_root = pose[:3, :3] @ force[:3]
    moment = pose[:3, :3] @ force[3:] + np.cross(pose[:3, 3], in_root)
    for i in range(len(tree.links)):
        at_link = rotations[i] @ f[i]
        assert_close(at_link, in_root, 1e-13)
        assert_close(rotations[i] @ n[i] + np.cross(origins[i], at_link), moment, 1e-13)
    f, n = link_forces(model, q, force, "forearm_link")
    assert np.all(f[3:] == 0.0) and np.all(n[3:] == 0.0) and np.all(np.abs(f[:3]).max(axis=1) > 1.0)
    assert np.all(link_forces(model, q, force, model.link_names[0])[0] == 0.0)


def test_wrong_arguments() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    with pytest.raises(RobotDynamicsError, match="hand"):
        joint_torques(model, np.zeros(6), np.zeros(6), "hand")
    with pytest.raises(RobotDynamicsError, match="force"):
        joint_torques(model, np.zeros(6), np.zeros(3), "tool0")
