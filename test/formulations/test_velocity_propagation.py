"""Velocities from link to link against the kernels' Jacobian."""

import numpy as np
import pytest
from hypothesis import given

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations.frame_transforms import rotated_jacobian
from robot_dynamics_ros.formulations.velocity_propagation import frame_velocity, jacobian
from robot_dynamics_ros.resources import robot_urdf
from support import arms
from support.comparing import assert_close
from support.robots_with_drives import Robot, robots


def _check(model: RobotModel, link: str, seed: int) -> None:
    q, qd, _ = (rows[0] for rows in arms.states(seed, model.n, 1))
    expected = model.jacobian(q, link)
    turn = model.link_pose(q, link)[:3, :3]
    assert_close(rotated_jacobian(turn, jacobian(model, q, link)), expected, 1e-10)
    assert_close(rotated_jacobian(turn, frame_velocity(model, q, qd, link)[:, None])[:, 0], expected @ qd, 1e-10)


def test_every_link_of_a_shipped_robot() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("panda"))
    for link in model.link_names:
        _check(model, link, 1)


@given(robot=robots())
def test_any_robot(robot: Robot) -> None:
    model = robot.model()
    _check(model, model.link_names[-1], robot.seed)


def test_unknown_link() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("scara"))
    with pytest.raises(RobotDynamicsError, match="hand"):
        jacobian(model, np.zeros(model.n), "hand")
