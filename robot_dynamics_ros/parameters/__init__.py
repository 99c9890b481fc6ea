"""Parameters of nodes: kinds, files, and those that several nodes share, the robot and the executor."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.parameters.kinds import Names, Parameter, Text

ROBOT_DESCRIPTION = Text("robot_description", "", "The URDF; empty: the topic robot_description brings it")
DYNAMICS_FILE = Text("dynamics_file", "", "Path of the dynamics file (friction, rotors, payload); empty: none")
JOINTS = Names("joints", [], "The joints to control, in the order of the commands; empty: all that move")

EXECUTOR = Text(
    "executor",
    "auto",
    "Executor of the process: rclpy's events executor, its single-threaded one, or the first where rclpy has it",
    when="start",
    choices=("auto", "events", "single_threaded"),
)

ROBOT: tuple[Parameter[Any], ...] = (ROBOT_DESCRIPTION, DYNAMICS_FILE, JOINTS)
"""Parameters that define the robot."""
