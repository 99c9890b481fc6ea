"""trajectory_node's parameters and the points that they make, without ROS."""

from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros.control.fourier import fourier
from robot_dynamics_ros.control.reference import point_to_point, quintic_then_sine
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.parameters.kinds import Values
from robot_dynamics_ros.parameters.trajectory import ALL, trajectory_from, trajectory_of_file

NAMES, START = ["a", "b"], [0.5, -0.5]


def values(**trajectory: object) -> Values:
    table: dict[str, object] = {parameter.name: parameter.default for parameter in ALL}
    table.update({f"trajectory.{name}": value for name, value in trajectory.items()})
    return table.get


def test_the_default_swings_about_zero() -> None:
    expected = quintic_then_sine(NAMES, START, 0.0, 0.2, 0.3, 3.0, 10.0, 20.0)
    np.testing.assert_array_equal(trajectory_from(values(), NAMES, START).positions, expected.positions)


def test_point_to_point() -> None:
    found = trajectory_from(values(kind="point_to_point", center=[1, 2.0], move_time=2), NAMES, START)
    np.testing.assert_array_equal(found.positions, point_to_point(NAMES, START, [1.0, 2.0], 2.0, 20.0).positions)


def test_fourier() -> None:
    series = dict(sine=[0.5, -0.5, 0.2, -0.2], cosine=[0.4, -0.2, 0.0, 0.0])
    found = trajectory_from(
        values(kind="fourier", center=[0.1, 0.2], base_frequency=0.2, cycles=3, **series), NAMES, START
    )
    expected = fourier(NAMES, START, [0.1, 0.2], *series.values(), 0.2, 3, 3.0, 20.0)
    np.testing.assert_array_equal(found.positions, expected.positions)
    assert found.times[-1] == pytest.approx(18.0)


def test_fourier_without_coefficients_is_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="sine has shape .* for each of 2 joints"):
        trajectory_from(values(kind="fourier"), NAMES, START)


def test_file(tmp_path: Path) -> None:
    file = tmp_path / "there.yaml"
    file.write_text("{joint_names: [c], points: [{positions: [1.0], time_from_start: {sec: 2, nanosec: 0}}]}")
    found = trajectory_of_file(values(kind="file", file=str(file)))
    assert found.joint_names == ("c",) and found.times.tolist() == [2.0]


def test_no_file() -> None:
    with pytest.raises(RobotDynamicsError, match="parameter trajectory.file: no file. Cure"):
        trajectory_of_file(values(kind="file"))


def test_other_kinds_are_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="trajectory.kind: 'circle' is not allowed. Cure: give one of quintic"):
        trajectory_from(values(kind="circle"), NAMES, START)
