"""robot_dynamics excite: what it writes is what trajectory_node reads, and keeps the limits that it prints."""

import re
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.trajectory.parameters import ALL, JOINTS, trajectory_from
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.resources import robot_urdf
from support.commands import run


def test_what_it_writes_is_what_the_node_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "excitation.yaml"
    line = ("excite", "--robot", "planar_2r", "--restarts", 1, "-o", file)
    run(*line, "--duration", 6, "--cycles", 2, "--acceleration", 8)
    values = read_parameter_file(file, "/any/trajectory_node", ALL)
    model = RobotModel.from_urdf_file(robot_urdf("planar_2r"))
    assert JOINTS.read(values) == model.joint_names
    farthest = model.position_lower * 0.9
    points = trajectory_from(values, model.joint_names, farthest.tolist())
    assert points.velocities is not None and points.accelerations is not None
    # From anywhere within the limits, all the way: a tenth of each stays free.
    assert (points.positions >= 0.9 * model.position_lower - 1e-9).all()
    assert (points.positions <= 0.9 * model.position_upper + 1e-9).all()
    assert (np.abs(points.velocities) <= 0.9 * model.velocity_limits).all()
    assert (np.abs(points.accelerations) <= 8.0).all()
    move_time = values("trajectory.move_time")
    assert isinstance(move_time, float) and points.times[-1] == pytest.approx(move_time + 12.0)
    out = capsys.readouterr().out
    found = re.search(r"(\S+) for the first random motion, (\S+) for the best found", out)
    assert found is not None and float(found[2]) < float(found[1])
    largest = np.abs(points.velocities[points.times > move_time, 1]).max()
    row = next(line for line in out.splitlines() if line.startswith("joint2"))
    assert float(row.split()[7]) == pytest.approx(largest, abs=0.05)


def test_some_joints_move_and_the_others_are_locked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "excitation.yaml"
    run("excite", "--robot", "planar_2r", "--joints", "joint2", "--duration", 4, "--restarts", 1, "-o", file)
    assert JOINTS.read(read_parameter_file(file, "/trajectory_node", ALL)) == ("joint2",)
    assert "joint1: locked at 0" in capsys.readouterr().err
