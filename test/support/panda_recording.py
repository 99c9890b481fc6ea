"""The installed recording of a real Panda: 24 s of joint_states of an arm without its hand; and its public URDF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_public_robots import ROBOTS as PUBLIC

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.resources import find_resource
from robot_dynamics_ros.recordings.bags import JointSeries, read_joint_states

RECORDING = find_resource("recordings", "panda_exciting_trajectory.mcap")
PANDA = "panda_description/urdf/panda"
HAND = ("panda_hand", "panda_leftfinger", "panda_rightfinger")
WITHOUT_HAND: dict[str, Any] = {
    link: {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6} for link in HAND
}

NEEDED = [
    pytest.mark.skipif(
        PANDA not in PUBLIC, reason="needs the example-robot-data package"
    ),
    pytest.mark.filterwarnings(
        "ignore::robot_dynamics_ros.base.errors.RobotModelWarning"
    ),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.base.errors.BagWarning"),
]


def public_panda(dynamics: Path) -> RobotModel:
    """Return the URDF of the example-robot-data package with locked fingers."""
    fingers = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    return RobotModel.from_urdf_file(PUBLIC[PANDA], dynamics=dynamics, locked=fingers)


def recorded(model: RobotModel) -> JointSeries:
    """Return the recording in the model's order."""
    (series,) = read_joint_states(
        RECORDING, ["/joint_states"], rename={"fer_": "panda_"}
    ).values()
    return series.in_order(model.joint_names)
