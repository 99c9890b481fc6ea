"""Regression test with a bag: the controller's commands are the same as when the bag was recorded.

``python -m pytest examples/test_from_a_bag.py``; needs pytest. Here the bags are created by the test. In your own test
they are a recording of your robot, and the commands from ``robot_dynamics replay``, stored with the test.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.configuration.settings import ControllerSettings
from robot_dynamics_ros.recordings.bags import BagWriter, assert_bags_match
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.runs.replay import replay

MODEL = RobotModel.shipped("panda")
SETTINGS = ControllerSettings(law="gravity_compensation")
COMMANDS = ["/computed_torque_node/command_states"]
START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Return a bag with joint states of two seconds at 100 Hz."""
    path = tmp_path / "recorded"
    writer = JointStateWriter(MODEL.joint_names)
    with BagWriter(path, {"/joint_states": "sensor_msgs/msg/JointState"}) as bag:
        for k in range(200):
            stamp = 1_700_000_000_000_000_000 + 10_000_000 * k
            q = START + 0.2 * np.sin(0.01 * k)
            qd = np.full(MODEL.n, 0.2 * np.cos(0.01 * k))
            bag.write("/joint_states", stamp, writer.write(stamp, q, qd, np.zeros(0)))
    return path


@pytest.fixture
def golden(recorded: Path, tmp_path: Path) -> Path:
    """Return a bag with the controller's commands for them."""
    replay(recorded, tmp_path / "golden", MODEL, SETTINGS)
    return tmp_path / "golden"


def test_commands_are_the_same(recorded: Path, golden: Path, tmp_path: Path) -> None:
    """The present controller gives the same commands within 1e-9 Nm."""
    replay(recorded, tmp_path / "replayed", MODEL, SETTINGS)
    assert_bags_match(golden, tmp_path / "replayed", topics=COMMANDS, atol=1e-9)


def test_another_payload_is_found(recorded: Path, golden: Path, tmp_path: Path) -> None:
    """A change of the model is detected; the message has the joint, time and size of the difference."""
    heavier = MODEL.with_payload("panda_link8", 0.1, [0.0, 0.0, 0.05], [0.0] * 6)
    replay(recorded, tmp_path / "replayed", heavier, SETTINGS)
    with pytest.raises(AssertionError, match="panda_joint2 effort"):
        assert_bags_match(golden, tmp_path / "replayed", topics=COMMANDS, atol=1e-3)


def test_another_setting_is_found(recorded: Path, golden: Path, tmp_path: Path) -> None:
    """A change of the controller is detected, too."""
    replay(recorded, tmp_path / "replayed", MODEL, replace(SETTINGS, law="pd_gravity"))
    with pytest.raises(AssertionError, match="effort"):
        assert_bags_match(golden, tmp_path / "replayed", topics=COMMANDS)
