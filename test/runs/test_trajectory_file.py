"""Trajectory files in the format of `ros2 topic echo`."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.runs.trajectory_file import read_trajectory_file

ECHO = """\
header: {stamp: {sec: 0, nanosec: 0}, frame_id: ''}
joint_names:
- a
- b
points:
- positions:
  - 0.1
  - 0.2
  velocities: []
  accelerations: []
  effort: []
  time_from_start:
    sec: 1
    nanosec: 500000000
- positions: [1, -2.5e-01]
  velocities: []
  time_from_start: {sec: 3, nanosec: 0}
---
"""
POINT = "{positions: [1.0], time_from_start: {sec: 1}}"


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "trajectory.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_output_of_ros2_topic_echo(tmp_path: Path) -> None:
    points = read_trajectory_file(write(tmp_path, ECHO))
    assert points.joint_names == ("a", "b")
    np.testing.assert_allclose(points.times, [1.5, 3.0], rtol=1e-15)
    np.testing.assert_array_equal(points.positions, [[0.1, 0.2], [1.0, -0.25]])
    assert (
        points.velocities is None
        and points.accelerations is None
        and points.effort is None
    )


def test_all_fields(tmp_path: Path) -> None:
    more = "velocities: [0.0], accelerations: [2.0], effort: [3.0], time_from_start: {sec: 2, nanosec: 1}"
    points = read_trajectory_file(
        write(tmp_path, f"{{joint_names: [a], points: [{{positions: [1.0], {more}}}]}}")
    )
    assert (points.velocities, points.accelerations, points.effort) == (
        [[0.0]],
        [[2.0]],
        [[3.0]],
    )
    assert points.times[0] == 2.000000001


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "0 messages"),
        (ECHO + ECHO, "2 messages"),
        ("a: [", "YAML"),
        ("just words", "joint_names"),
        ("{joint_names: [a], points: 3}", "points"),
        ("{joint_names: [a], points: []}", "points"),
        (f"{{joint_names: [1], points: [{POINT}]}}", "Cure: list each joint once"),
        (
            f"{{joint_names: [], points: [{POINT}]}}",
            "joint_names is .* Cure: list each joint once",
        ),
        (f"{{joint_names: [a, a], points: [{POINT}]}}", "Cure: list each joint once"),
        (f"{{joint_names: [a], points: [{POINT}, 7]}}", "point 1 is 7. Cure"),
        (
            f"{{joint_names: [a, b], points: [{POINT}]}}",
            "point 0 has 1 positions for 2 joint names",
        ),
        (
            f"{{joint_names: [a], points: [{POINT}, {POINT}]}}",
            "point 1 at 1.0 s is not after point 0",
        ),
        (
            "{joint_names: [a], points: [{time_from_start: {sec: 1}}]}",
            "point 0.*positions",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0]}]}",
            "point 0.*time_from_start",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: 1.5}]}",
            "time_from_start 1.5",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {sec: true}}]}",
            "time_from_start .*True",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {sec: 1.5}}]}",
            "time_from_start .*1.5",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {}}]}",
            "time_from_start {}",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {secs: 1}}]}",
            '"secs". Cure: use sec, nanosec; did you mean ',
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {sec: 1, nsec: 5}}]}",
            '"nsec". Cure: use sec, nanosec; did you mean ',
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {sec: 1, nanosec: -5}}]}",
            "nanosec.*-5",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], time_from_start: {nanosec: 1000000000}}]}",
            "nanosec.*1000",
        ),
        (
            f"{{joint_names: [a], points: [{{positions: [1.0], time_from_start: {{sec: {10**400}}}}}]}}",
            "sec.*1000",
        ),
        (
            f"{{joint_names: [a], points: [{{positions: [{10**400}], time_from_start: {{sec: 1}}}}]}}",
            "Cure: give a list",
        ),
        (
            "{joint_names: [a], points: [{positions: [1.0], velocity: [1.0]}]}",
            'point 0.*"velocity". Cure: use positions, velocities, acc',
        ),
        (
            f"{{joint_names: [a], points: [{POINT}], gain: 2}}",
            '"gain". Cure: use header, joint_names, points',
        ),
        (
            "{joint_names: [a], points: [{positions: [true], time_from_start: {sec: 1}}]}",
            "Cure: give a list of num",
        ),
        (
            "{joint_names: [a], points: [{positions: 1.0, time_from_start: {sec: 1}}]}",
            "Cure: give a list of num",
        ),
        (
            "{joint_names: [a], points: [{positions: [x], time_from_start: {sec: 1}}]}",
            "'x'",
        ),
        (
            "{joint_names: [a], points: [{positions: ['...'], time_from_start: {sec: 1}}]}",
            "full",
        ),
        (
            "{joint_names: [a], points: [{positions: [1], velocities: [1], time_from_start: {sec: 1}}]}",
            "velocity",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(TrajectoryError, match=message) as caught:
        read_trajectory_file(file)
    assert str(caught.value).startswith(f"{file}: ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match="nothing.yaml"):
        read_trajectory_file(tmp_path / "nothing.yaml")
