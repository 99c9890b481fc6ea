"""Limits of acceleration, deceleration and jerk of URDF 1.2 along trajectories."""

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    TrajectoryRules,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory


def model(limit: str, follower: str = "") -> RobotModel:
    """Return an arm with the joint j1, and j2 that follows it at -2 times its position."""
    text = '<robot name="r" version="1.2"><link name="l0"/>'
    for k, attributes in ((1, limit), (2, follower)):
        text += (
            f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
            f'</inertial></link><joint name="j{k}" type="revolute"><parent link="l{k - 1}"/><child link="l{k}"/>'
            f'<limit lower="-9" upper="9" effort="99" velocity="99" {attributes}/>'
            + '<mimic joint="j1" multiplier="-2"/>' * (k - 1)
            + "</joint>"
        )
    return RobotModel.from_urdf(text + "</robot>")


def accept(robot: RobotModel, points: TrajectoryPoints, limits: str = "refuse") -> None:
    rules = TrajectoryRules(trajectory_limits=limits)
    tuning = Tuning(robot, ControllerSettings(trajectories=rules))
    start = np.array([points.positions[0], *np.zeros((3, robot.n))])
    Trajectory.from_points(
        points, robot.joint_names, 0.0, start, limits=tuning.trajectory_limits
    )


def bang_bang(
    acceleration: float, deceleration: float, period: float
) -> TrajectoryPoints:
    """Return samples of a motion with constant acceleration for 1 s, and constant deceleration to rest."""
    end = 1.0 + acceleration / deceleration
    t = np.append(np.arange(0.0, end, period), end)
    left = end - t
    rising = t <= 1.0
    distance = 0.5 * acceleration + 0.5 * deceleration * (end - 1.0) ** 2
    q = np.where(
        rising, 0.5 * acceleration * t**2, distance - 0.5 * deceleration * left**2
    )
    qd = np.where(rising, acceleration * t, deceleration * left)
    qdd = np.where(rising, acceleration, -deceleration)
    return TrajectoryPoints(("j1",), t, *(x[:, None] for x in (q, qd, qdd)))


@pytest.mark.parametrize("period", [0.1, 0.037])
def test_motion_of_a_planner_at_its_limits_is_accepted(period: float) -> None:
    """It changes from acceleration to deceleration between two points, where interpolation exceeds both."""
    accept(model('acceleration="1" deceleration="3"'), bang_bang(1.0, 3.0, period))
    accept(model('acceleration="1"'), bang_bang(1.0, 1.0, period))


@pytest.mark.parametrize(
    ("limit", "follower"),
    [
        ('acceleration="0.9"', ""),
        ('acceleration="1" deceleration="2.8"', ""),
        ('deceleration="2.8"', ""),
        ("", 'acceleration="1.8"'),
        ('jerk="1"', ""),
    ],
)
def test_motion_beyond_a_limit_is_refused(limit: str, follower: str) -> None:
    robot = model(limit, follower)
    points = bang_bang(1.0, 3.0, 0.1)
    with pytest.raises(
        TrajectoryError, match=r"joint 'j1' reaches the (acceleration|jerk)"
    ):
        accept(robot, points)
    accept(robot, points, "off")
    accept(model(""), points)


@pytest.mark.parametrize(
    ("quantity", "most"), [("acceleration", 10.0 / 3**0.5), ("jerk", 60.0)]
)
def test_peak_between_two_points(quantity: str, most: float) -> None:
    """A quintic from rest to rest over 1 rad in 1 s."""
    step = np.array([[0.0], [1.0]])
    points = TrajectoryPoints(("j1",), np.array([0.0, 1.0]), step, 0 * step, 0 * step)
    accept(model(f'{quantity}="{most}"'), points)
    with pytest.raises(TrajectoryError, match=f"{quantity} .*beyond its limit"):
        accept(model(f'{quantity}="{most / 3}"'), points)
