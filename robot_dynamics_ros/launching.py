"""What the launch files share, without launch_ros: what is installed, by ament's index of ROS 2 packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from robot_dynamics_ros.resources import robot_dynamics_file

PACKAGE = "robot_dynamics_ros"


def package_prefix(package: str) -> Path | None:
    """Return where a ROS 2 package is installed; None where it is not (ament's resource index)."""
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        if (Path(prefix) / "share" / "ament_index" / "resource_index" / "packages" / package).is_file():
            return Path(prefix)
    return None


def program(name: str) -> dict[str, Any]:
    """Return what a Node is to start: the executable that colcon installed; after pip, the module."""
    prefix = package_prefix(PACKAGE)
    if prefix is not None and (prefix / "lib" / PACKAGE / name).is_file():
        return {"package": PACKAGE, "executable": name}
    return {"executable": sys.executable, "arguments": ["-m", f"{PACKAGE}.nodes.{name}"], "exec_name": name}


def dynamics_file(given: str, robot: str) -> str:
    """Return the path that the argument dynamics_file means: given, none, or the robot's own where there is one."""
    if given == "none":
        return ""
    own = robot_dynamics_file(robot) if robot else None
    file = Path(given).resolve() if given else own
    return "" if file is None else str(file)
