"""Parameters of trajectory_node and the resulting points, without ROS."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.base.parameters.kinds import Values
from robot_dynamics_ros.runs.generators import (
    fourier,
    point_to_point,
    quintic_then_sine,
)
from robot_dynamics_ros.runs.trajectory_parameters import (
    ALL,
    trajectory_from,
    trajectory_of_file,
)

NAMES = ["a", "b"]
START = [0.5, -0.5]
SERIES = {
    "sine": [0.5, -0.5, 0.2, -0.2],
    "cosine": [0.4, -0.2, 0.0, 0.0],
    "base_frequency": 0.2,
    "cycles": 3,
}


def values(**trajectory: object) -> Values:
    table: dict[str, object] = {parameter.name: parameter.default for parameter in ALL}
    table.update({f"trajectory.{name}": value for name, value in trajectory.items()})
    return table.get


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, quintic_then_sine(NAMES, START, 0.0, 0.2, 0.3, 3.0, 10.0, 20.0)),
        (
            {"kind": "point_to_point", "center": [1, 2.0], "move_time": 2},
            point_to_point(NAMES, START, [1.0, 2.0], 2.0, 20.0),
        ),
        (
            {"kind": "fourier", "center": [0.1], **SERIES},
            fourier(NAMES, START, 0.1, *SERIES.values(), 3.0, 20.0),
        ),
    ],
)
def test_trajectory_of_each_kind(
    given: dict[str, Any], expected: TrajectoryPoints
) -> None:
    result = trajectory_from(values(**given), NAMES, START)
    np.testing.assert_array_equal(result.times, expected.times)
    np.testing.assert_array_equal(result.positions, expected.positions)


def test_trajectory_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "there.yaml"
    file.write_text(
        "{joint_names: [c], points: [{positions: [1.0], time_from_start: {sec: 2, nanosec: 0}}]}"
    )
    result = trajectory_of_file(values(kind="file", file=str(file)))
    assert result.joint_names == ("c",) and result.times.tolist() == [2.0]
    with pytest.raises(RobotDynamicsError, match="trajectory.file"):
        trajectory_of_file(values(kind="file"))


@pytest.mark.parametrize(
    ("kind", "culprit"), [("fourier", "sine"), ("circle", "trajectory.kind: 'circle'")]
)
def test_impossible_trajectories_are_refused(kind: str, culprit: str) -> None:
    with pytest.raises(RobotDynamicsError, match=culprit):
        trajectory_from(values(kind=kind), NAMES, START)
