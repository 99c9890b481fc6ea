"""Subcommands that are a node of this package, in this process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import NoReturn

from robot_dynamics_ros.errors import RobotDynamicsError


def become_node(node: str, parameters: Mapping[str, object]) -> NoReturn:
    """Go on as this node, with these parameters; it gets every signal from here on.

    Raises RobotDynamicsError where ROS 2 is not there.
    """
    require_ros()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command(node, parameters))


def require_ros() -> None:
    """Raise RobotDynamicsError where ROS 2 is not there."""
    if find_spec("rclpy") is None:
        raise RobotDynamicsError(
            "this command needs ROS 2, but there is no rclpy. Cure: source a ROS 2 installation, "
            "or pip install 'robot_dynamics_ros[ros]'"
        )


def command(node: str, parameters: Mapping[str, object]) -> list[str]:
    """Return the command line of a node; values are written as JSON, which is YAML too."""
    given = [part for name, value in parameters.items() for part in ("-p", f"{name}:={json.dumps(value)}")]
    return [sys.executable, "-m", "robot_dynamics_ros.executables", node, "--ros-args", *given]
