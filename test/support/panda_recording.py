"""Exciting trajectory of a real Panda, from github.com/unisa-acg/inverse-dynamics-solver, if it is available.

The file has 24 s of joint_states of a Franka arm without its hand. ROBOT_DYNAMICS_PANDA_RECORDING is its path; by
default it is searched in a folder data/panda_recording near the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from test_public_robots import ROBOTS as PUBLIC

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.bags import JointSeries, read_joint_states

_ROOT = Path(__file__).resolve().parents[2]
_FILE = "data/panda_recording/panda_exciting_trajectory.db3"
_NEAR = next(_ROOT.parent.glob(f"*/{_FILE}"), _ROOT / _FILE)
RECORDING = Path(os.environ.get("ROBOT_DYNAMICS_PANDA_RECORDING", _NEAR))
PANDA = "panda_description/urdf/panda"
HAND = ("panda_hand", "panda_leftfinger", "panda_rightfinger")
WITHOUT_HAND: dict[str, Any] = {link: {"mass": 0.0, "com": [0.0] * 3, "inertia": [0.0] * 6} for link in HAND}

NEEDED = [
    pytest.mark.skipif(PANDA not in PUBLIC, reason="needs the example-robot-data package"),
    pytest.mark.skipif(
        not RECORDING.exists(), reason="needs the recording; ROBOT_DYNAMICS_PANDA_RECORDING says where it is"
    ),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.RobotModelWarning"),
    pytest.mark.filterwarnings("ignore::robot_dynamics_ros.errors.BagWarning"),
]


def public_panda(dynamics: Path) -> RobotModel:
    """Return the URDF of the example-robot-data package with locked fingers."""
    fingers = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}
    return RobotModel.from_urdf_file(PUBLIC[PANDA], dynamics=dynamics, locked=fingers)


def recorded(model: RobotModel) -> JointSeries:
    """Return the recording in the model's order."""
    (series,) = read_joint_states(RECORDING, ["/joint_states"], rename={"fer_": "panda_"}).values()
    return series.in_order(model.joint_names)
