"""Compilation of the kernels of a controller before it starts."""

from __future__ import annotations

import dataclasses

import numpy as np

from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.control.controller import make_controller
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from robot_dynamics_ros.dynamics.model import RobotModel


def warm_up_controller(model: RobotModel, settings: ControllerSettings) -> None:
    """Compile and load all kernels that a controller uses, also after a change of its settings while it runs."""
    model.warm_up()
    still = np.zeros(model.n)
    end_effector = model.link_names[-1]
    model.link_pose(still, end_effector)
    model.jacobian_dot_qd(still, still, end_effector)
    warm_up_cycles(model, dataclasses.replace(settings, observer_gain=10.0))


def warm_up_cycles(model: RobotModel, settings: ControllerSettings) -> None:
    """Compile and load the kernels that cycles with these settings use."""
    still = np.zeros(model.n)
    points = TrajectoryPoints(
        model.joint_names, np.array([0.1, 0.2]), np.zeros((2, model.n))
    )
    controller = make_controller(model, settings)
    for step in range(3):
        controller.measure(0.1 * step, 0.1 * step, still, still)
        controller.update(0.1 * step, 0.1 * step)
    if LAWS[settings.law].follows and controller.mode is Mode.ACTIVE:
        followed = controller.follow(points, None, 0.2)
        list(
            trajectory_effort(
                model, followed, points.joint_names, settings.trajectory_effort_period
            )
        )
