"""Velocities from link to link against the kernels' Jacobian."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations.frame_transforms import rotated_jacobian
from robot_dynamics_ros.formulations.velocity_propagation import frame_velocity, jacobian
from robot_dynamics_ros.resources import robot_urdf
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots, state


@given(robot=robots(), k=st.integers(0, 10**6))
def test_any_link_of_any_robot(robot: Robot, k: int) -> None:
    model = robot.model()
    link = model.link_names[k % len(model.link_names)]
    q, qd, _ = state(robot, model.n)
    expected, turn = model.jacobian(q, link), model.link_pose(q, link)[:3, :3]
    assert_close(rotated_jacobian(turn, jacobian(model, q, link)), expected, 1e-10)
    assert_close(rotated_jacobian(turn, frame_velocity(model, q, qd, link)[:, None])[:, 0], expected @ qd, 1e-10)


def test_unknown_link() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("scara"))
    with pytest.raises(RobotDynamicsError, match="hand"):
        jacobian(model, np.zeros(model.n), "hand")
