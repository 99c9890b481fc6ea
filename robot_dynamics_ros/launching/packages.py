"""What is installed, by ament's index of ROS 2 packages."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

PACKAGE = "robot_dynamics_ros"


def package_prefix(package: str) -> Path | None:
    """Return where a ROS 2 package is installed; None where it is not (ament's resource index)."""
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        if (Path(prefix) / "share" / "ament_index" / "resource_index" / "packages" / package).is_file():
            return Path(prefix)
    return None


def is_installed(package: str) -> bool:
    """Return whether a ROS 2 package is installed."""
    return package_prefix(package) is not None


def missing(package: str, consequence: str) -> str:
    """Return what to tell whoever asked for a package that is not installed: what follows from it, and the cure."""
    distribution = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
    cure = f"sudo apt install ros-{distribution}-{package.replace('_', '-')}"
    return f"the ROS 2 package {package} is not installed: {consequence}. Cure: {cure}"


def program(name: str) -> dict[str, Any]:
    """Return what a Node is to start: the executable that colcon installed; after pip, the module."""
    prefix = package_prefix(PACKAGE)
    if prefix is not None and (prefix / "lib" / PACKAGE / name).is_file():
        return {"package": PACKAGE, "executable": name}
    return {"executable": sys.executable, "arguments": ["-m", f"{PACKAGE}.executables", name], "exec_name": name}
