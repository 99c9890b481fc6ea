"""Search of packages and robots by launch files, without ROS."""

import os
from pathlib import Path

import pytest

import support.launch_files  # noqa: F401  # stand-ins for launch, if it is not installed
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.ros.launching import find_robot, is_installed


def test_packages_are_found_in_any_prefix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "rviz2").touch()
    path = os.pathsep.join(["", str(tmp_path / "none"), str(tmp_path)])
    monkeypatch.setenv("AMENT_PREFIX_PATH", path)
    assert is_installed("rviz2") and not is_installed("tf2_ros")
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    assert not is_installed("rviz2")


def test_robots_and_their_dynamics_files() -> None:
    shipped = find_robot("panda", dynamics="none")
    later = find_robot("")
    own = find_robot("ur5e", str(robot_urdf("panda")))
    assert shipped.root == own.root == "panda_link0" and own.urdf == shipped.urdf
    assert len(shipped.settings) == 1 and shipped.dynamics_file == ""
    assert (own.dynamics_file, own.settings) == ("", ())
    assert (later.urdf, later.root, later.dynamics_file, later.settings) == (
        "",
        "",
        "",
        (),
    )
