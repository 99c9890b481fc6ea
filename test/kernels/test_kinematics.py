"""What Pinocchio says of no link: the root never moves, gravity changes no kinematics, and unknown links are named."""

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, state, stride


@given(robot=robots(rotors=False))
def test_root_and_gravity(robot: Robot) -> None:
    model, tilted = robot.model(), robot.model(gravity=[7.0, -5.0, 3.0])
    q, qd, _ = state(robot, model.n)
    root, tip = model.link_names[0], robot.bare.links[-1].name
    assert np.array_equal(model.link_pose(q, root), np.eye(4))
    assert not model.jacobian(q, root).any() and not model.jacobian_dot_qd(q, qd, root).any()
    scale = stride(robot, model.joint_names, qd) ** 2
    assert_close(tilted.jacobian_dot_qd(q, qd, tip), model.jacobian_dot_qd(q, qd, tip), 1e-12, scale)


@pytest.mark.parametrize("call", ["link_pose", "jacobian", "jacobian_dot_qd"])
def test_unknown_link(call: str) -> None:
    model = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(0), [0], ["revolute"]).urdf)
    vectors = [np.zeros(1)] * (2 if call == "jacobian_dot_qd" else 1)
    with pytest.raises(RobotDynamicsError, match="gripper"):
        getattr(model, call)(*vectors, "gripper")
