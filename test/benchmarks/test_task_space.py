"""The circle of the hand: what feedforward does for it, and the table made of it."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.document import around_part
from benchmarks.task_space import CASES, COMMAND, SENT, TURN, Case, circle, track
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.resources import robot_urdf

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "control.md"


@pytest.mark.slow
def test_each_part_of_the_feedforward_helps() -> None:
    """2 zeta / omega times the speed, 50 mm, without any; next to nothing with all."""
    model = RobotModel.from_urdf_file(robot_urdf("panda")).scaled(friction=0.0)
    away = [track(model, sent, Case("100 Hz", 100), TURN + 0.6) for sent in SENT]
    assert 40.0 < away[0] < 55.0
    assert away[1] < away[0] / 4 and away[2] < 0.5


def test_its_velocity_and_acceleration_are_those_of_the_circle() -> None:
    """By differences of the position."""
    centre, h = np.eye(4), 1e-5
    before, now, after = (circle(centre, 0.7 + k * h) for k in (-1, 0, 1))
    x = [motion.pose[:3, 3] for motion in (before, now, after)]
    assert abs((x[2] - x[0]) / (2 * h) - now.twist[:3]).max() < 1e-8
    assert abs((x[2] - 2 * x[1] + x[0]) / h**2 - now.acceleration[:3]).max() < 1e-4


def test_the_document_has_the_table() -> None:
    before, _ = around_part(DOCUMENT, COMMAND)
    text = DOCUMENT.read_text(encoding="utf-8")[len(before) :]
    for word in (COMMAND, *SENT, *(case.title for case in CASES)):
        assert word in text
