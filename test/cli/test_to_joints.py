"""robot_dynamics to-joints: the written trajectory moves the link through the poses, at rest at both ends."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from robot_dynamics_ros import RobotModel, TrajectoryError
from robot_dynamics_ros.control.end_effector.poses import pose_of
from robot_dynamics_ros.runs.trajectory_file import read_trajectory_file
from support.commands import run
from support.comparing import assert_close

HALF = 0.5**0.5
POSES = [
    [0, 0.4, 0.2, 0.4, 1, 0, 0, 0],
    [1, 0.4, -0.2, 0.3, HALF, HALF, 0, 0],
    [2, 0.5, 0, 0.5, 1, 0, 0, 0],
]


def write(folder: Path, **content: Any) -> Path:
    path = folder / "path.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize(
    ("robot", "start"),
    [("ur5e", [0, -1, 1, 0, 0, 0]), ("panda", [0, -0.5, 0, -2, 0, 1.6, 0.8])],
)
def test_the_link_goes_through_the_poses(
    robot: str, start: list[float], tmp_path: Path
) -> None:
    output = tmp_path / "trajectory.yaml"
    opposite = [[*row[:4], *(-x for x in row[4:])] for row in POSES[1:2]]
    run(
        "to-joints",
        robot,
        write(tmp_path, points=[POSES[0], *opposite, POSES[2]]),
        "-o",
        output,
        "--start",
        *start,
    )
    points = read_trajectory_file(output)
    model = RobotModel.shipped(robot)
    for time, *pose in POSES:
        q = points.positions[points.times.tolist().index(time)]
        assert_close(
            model.link_pose(q, model.end_links[0]),
            pose_of(np.array(pose[:3]), np.array(pose[3:])),
            1e-8,
            1.0,
        )
    assert points.joint_names == model.joint_names and len(points.times) == 101
    steps = np.abs(np.diff(points.positions, axis=0)).max(axis=1)
    assert max(steps[0], steps[-1]) < 0.1 * steps.max() < 0.02


def test_chosen_components_and_parameters_of_an_arm(tmp_path: Path) -> None:
    path = write(
        tmp_path, components="x z", points=[[0, 0.6, 0, 0.2], [1, 0.4, 0, 0.5]]
    )
    output = tmp_path / "q.yaml"
    run(
        "to-joints",
        "craig_2r",
        path,
        "-o",
        output,
        "--rate",
        10,
        "--xacro-arg",
        "l2:=0.5",
    )
    points = read_trajectory_file(output)
    model = RobotModel.shipped("craig_2r", l2=0.5)
    places = model.link_pose(points.positions, "link3")[:, [0, 2], 3]
    assert_close(places[[0, -1]], np.array([[0.6, 0.2], [0.4, 0.5]]), 1e-8)
    line = (places - places[0]) @ np.array([0.3, 0.2])  # normal to the line
    assert np.abs(line).max() < 1e-8


@pytest.mark.parametrize(
    ("content", "culprit"),
    [
        ({}, "points"),
        ({"points": [[0, 0.4, 0.2]]}, "points"),
        ({"points": [[0, 0.4, 0.2, 0.4]], "speed": 1}, "speed"),
        ({"points": [[0, 0.4, 0.2, 0.4]], "components": "x rx"}, "components"),
        ({"points": [[0, 0.4, 0.2, 0.4]], "components": "x x"}, "rows"),
        ({"points": [[0, 0.4, 0.2, 0.4]], "link": "tool1"}, "tool1"),
        ({"points": [[0, 0.4, 0.2, 0.4, 1, 1, 0, 0]]}, "quaternion"),
        ({"points": [[1, 0.4, 0.2, 0.4], [0, 0.4, 0.2, 0.4]]}, "time|after"),
        ({"points": [[0, 0.4, 0.2, 0.4], [1, 9, 0.2, 0.4]]}, r"at 0\.\d+ s"),
    ],
)
def test_invalid_paths(content: dict[str, Any], culprit: str, tmp_path: Path) -> None:
    output = tmp_path / "trajectory.yaml"
    with pytest.raises(TrajectoryError, match=rf"path\.yaml: .*({culprit}).*Cure: "):
        run("to-joints", "ur5e", write(tmp_path, **content), "-o", output)
    assert not output.exists()
