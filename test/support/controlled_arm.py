"""Tsai's planar arm with a controller, run cycle by cycle without ROS and clocks."""

from dataclasses import replace
from typing import Any

import numpy as np

from oracles import tsai_planar_2r as tsai
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TaskSpaceSettings,
)
from robot_dynamics_ros.control.controller import Controller, make_controller
from robot_dynamics_ros.control.interface import Command
from support import arms

P = tsai.Parameters(a1=0.5, a2=0.4, m1=4.0, m2=3.0, g=9.81)
GRAVITY = [0.0, -P.g, 0.0]
FREE_ARM = arms.tsai_planar_2r(P)
ARM = FREE_ARM.with_joint(
    "joint2", limit='<limit lower="-2" upper="2" effort="500" velocity="5"/>'
)
MODEL = RobotModel.from_urdf(ARM.urdf, gravity=GRAVITY)
Q = np.array([0.3, -0.8])
REST = np.zeros(2)
WEIGHT = tsai.gravity(P, Q)
TASK_SPACE = TaskSpaceSettings(components="x y")


def teleporting(
    settings: ControllerSettings | None = None, **changes: Any
) -> ControllerSettings:
    """Return settings with which positions, and therefore efforts, may jump."""
    given = replace(settings or ControllerSettings(torque_rate_limit=[]), **changes)
    return replace(given, safety=replace(given.safety, position_step_limit=[np.inf]))


def command(
    controller: Controller,
    time: float,
    q: Any = Q,
    qd: Any = REST,
    steady: float | None = None,
) -> Command:
    """Run one cycle with a state at this steady time, which by default is also the controller's."""
    steady = time if steady is None else steady
    velocity = None if qd is None else np.array(qd, dtype=float)
    if steady != controller.estimator.estimate.stamp:
        controller.measure(steady, steady, np.array(q, dtype=float), velocity)
    found = controller.update(time, steady)
    assert found is not None
    return found


def move(*goals: Any, seconds: float = 1.0, effort: Any = None) -> TrajectoryPoints:
    """Return a motion through goals at constant intervals, each at rest."""
    rows = np.array(goals, dtype=float)
    times = seconds * np.arange(1.0, len(rows) + 1)
    return TrajectoryPoints(
        MODEL.joint_names, times, rows, 0.0 * rows, 0.0 * rows, effort
    )


def started(**settings: Any) -> Controller:
    """Return a controller after its first cycle, at 0 s; positions may jump."""
    controller = make_controller(MODEL, teleporting(**settings))
    command(controller, 0.0)
    return controller
