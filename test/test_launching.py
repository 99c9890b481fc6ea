"""Search of packages, programs and robots by launch files, without ROS."""

import os
import sys
from pathlib import Path

import pytest

import support.launch_files  # noqa: F401  # stand-ins for launch, if it is not installed
from robot_dynamics_ros.base.resources import NODE_PROGRAM, robot_urdf
from robot_dynamics_ros.ros.launching import find_robot, package_prefix, program


@pytest.fixture
def prefixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return two prefixes, both with this package, as colcon installs it."""
    folders = [tmp_path / "overlay", tmp_path / "underlay"]
    for prefix in folders:
        index = prefix / "share" / "ament_index" / "resource_index" / "packages"
        programs = prefix / "lib" / "robot_dynamics_ros"
        for folder in (index, programs):
            folder.mkdir(parents=True)
        (index / "robot_dynamics_ros").touch()
        (programs / "simulation_node").touch()
    monkeypatch.setenv(
        "AMENT_PREFIX_PATH",
        os.pathsep.join(map(str, ["", tmp_path / "none", *folders])),
    )
    return folders


def test_packages_and_programs_are_those_of_the_first_prefix(
    prefixes: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result equals that of ament_index_python. A program that is not installed is a module."""
    from ament_index_python.packages import get_package_prefix

    assert (
        package_prefix("robot_dynamics_ros")
        == prefixes[0]
        == Path(get_package_prefix("robot_dynamics_ros"))
    )
    assert package_prefix("ros2bag") is None
    assert program("simulation_node") == {
        "package": "robot_dynamics_ros",
        "executable": "simulation_node",
    }
    module = program("player_node")
    assert module["executable"] == sys.executable
    assert module["arguments"] == [NODE_PROGRAM, "player_node"]
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    assert package_prefix("robot_dynamics_ros") is None


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
