"""Which packages of ROS the launch files find."""

from collections.abc import Callable
from pathlib import Path

import pytest

Install = Callable[..., None]

#: The executable of each package that the launch files use where it is installed.
EXECUTABLES = {
    "robot_state_publisher": "robot_state_publisher",
    "rviz2": "rviz2",
    "tf2_ros": "static_transform_publisher",
    "ros2bag": "",
}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Nothing is installed; `install("rviz2")` changes that, as ament's index says it."""
    prefix = tmp_path / "ros"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    monkeypatch.setenv("ROS_DISTRO", "jazzy")

    def install(*packages: str) -> None:
        for package in packages:
            (index / package).touch()
            folder = prefix / "lib" / package
            folder.mkdir(parents=True, exist_ok=True)
            if EXECUTABLES[package]:
                (folder / EXECUTABLES[package]).touch(mode=0o755)

    return install
