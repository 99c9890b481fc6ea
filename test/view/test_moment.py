"""The numbers of the picture, against statics that can be told without the model's code."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from report.recordings import ARM

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.view.moment import (
    Moment,
    centre_of_mass,
    draw,
    link_poses,
    poses_in_range,
    position_range,
    quaternions,
    reach_of,
    reaction_arrows,
    torque_scale,
)

STILL = np.zeros(2)


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    """2 kg at 0.2 m on a turning link, 1 kg on a slide along it; limits 8 Nm and 500 N."""
    return RobotModel.from_urdf(ARM)


def test_poses_and_ghost(arm: RobotModel) -> None:
    moment = Moment(np.array([0.3, 0.4]), STILL, STILL, STILL, desired=np.array([0.0, 0.9]))
    drawing = draw(arm, moment, np.ones(2), 1.0)
    slide = arm.link_names.index("slide")
    assert drawing.links[slide, :3, 3] == pytest.approx([0.4 * np.cos(0.3), 0.0, -0.4 * np.sin(0.3)])
    assert drawing.ghost is not None and drawing.ghost[slide, :3, 3] == pytest.approx([0.9, 0.0, 0.0])
    assert draw(arm, Moment(STILL, STILL, STILL, STILL), np.ones(2), 1.0).ghost is None


def test_centre_of_mass(arm: RobotModel) -> None:
    assert centre_of_mass(arm, [0.0, 0.5]) == pytest.approx([(2 * 0.2 + 1 * 0.5) / 3, 0.0, 0.0])
    assert centre_of_mass(arm, [-np.pi / 2, 0.5]) == pytest.approx([0.0, 0.0, 0.3])


def test_the_first_joint_carries_the_weight(arm: RobotModel) -> None:
    """At rest 22 % of the reach upwards; the second joint a third of it, wherever it is."""
    moment = Moment(np.array([0.7, 0.5]), STILL, STILL, STILL)
    arrows = reaction_arrows(arm, moment, reach=2.0)
    whole = 0.22 * 2.0 * 9.81 / 9.80665
    assert arrows[0] == pytest.approx(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, whole]]), abs=1e-12)
    assert arrows[1, 1] - arrows[1, 0] == pytest.approx([0.0, 0.0, whole / 3], abs=1e-12)
    assert arrows[1, 0] == pytest.approx(link_poses(arm, moment.q)[-1][:3, 3])


def test_shares(arm: RobotModel) -> None:
    scale, limited = torque_scale(arm)
    assert scale.tolist() == [8.0, 500.0] and limited.all()
    moment = Moment(STILL, STILL, STILL, np.array([-2.0, np.nan]))
    assert draw(arm, moment, scale, 1.0).shares.tolist() == [-0.25, 0.0]


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_scale_without_limits() -> None:
    arm = RobotModel.from_urdf(ARM.replace('effort="8"', 'effort="0"'))
    scale, limited = torque_scale(arm, recorded=[[1.0, 2.0], [-3.0, np.nan]])
    assert scale.tolist() == [3.0, 500.0] and limited.tolist() == [False, True]
    # Level, the slide out: (2 0.2 + 1 1) 9.81.
    assert 11.0 < torque_scale(arm)[0][0] <= 1.4 * 9.81
    assert torque_scale(arm, recorded=np.zeros((5, 2)))[0][0] == 1.0


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
def test_range() -> None:
    """What a joint without limits is thought to do; with one only, as much beyond it."""
    free = RobotModel.from_urdf(ARM.replace('<limit lower="-3" upper="3" effort="8" velocity="5"/>', ""))
    lower, upper = position_range(free)
    assert lower.tolist() == [-np.pi, -1.0] and upper.tolist() == [np.pi, 1.0]
    poses = poses_in_range(free)
    assert (poses >= lower).all() and (poses <= upper).all() and (poses == poses_in_range(free)).all()


def test_reach(arm: RobotModel) -> None:
    assert 0.95 < reach_of(arm) <= 1.0


def test_quaternions(load_robot: Callable[..., Any]) -> None:
    panda = load_robot("panda")
    poses = link_poses(panda, poses_in_range(panda)[0])
    w, x, y, z = quaternions(poses).T
    turned = np.stack([1 - 2 * (y**2 + z**2), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
    assert turned == pytest.approx(poses[:, :3, 0], abs=1e-12)
