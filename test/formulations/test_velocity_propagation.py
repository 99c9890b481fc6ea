"""Velocities from link to link against the kernels' Jacobian, on the shipped robots and on random ones."""

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from robots_with_drives import Robot, robots

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations.frame_transforms import rotated_jacobian
from robot_dynamics_ros.formulations.velocity_propagation import frame_velocity, jacobian
from robot_dynamics_ros.resources import robot_names, robot_urdf


def _check(model: RobotModel, link: str, seed: int) -> None:
    q, qd, _ = (rows[0] for rows in arms.states(seed, model.n, 1))
    expected = model.jacobian(q, link)
    turn = model.link_pose(q, link)[:3, :3]
    assert_close(rotated_jacobian(turn, jacobian(model, q, link)), expected, 1e-10)
    assert_close(rotated_jacobian(turn, frame_velocity(model, q, qd, link)[:, None])[:, 0], expected @ qd, 1e-10)


@pytest.mark.parametrize("robot", robot_names())
def test_shipped_robots(robot: str) -> None:
    model = RobotModel.from_urdf_file(robot_urdf(robot))
    for link in model.link_names:
        _check(model, link, 1)


@given(arm=arms.trees())
def test_random_trees(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    _check(model, model.link_names[-1], arm.seed)


@given(robot=robots())
def test_coupled_joints(robot: Robot) -> None:
    model = robot.model()
    _check(model, model.link_names[-1], robot.seed)


def test_unknown_link() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("scara"))
    with pytest.raises(RobotDynamicsError, match='no link "hand".*Cure'):
        jacobian(model, np.zeros(model.n), "hand")
