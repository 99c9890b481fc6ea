"""Declarations of node parameters: kinds, parameter files, and the parameters that several nodes share."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.base.parameters.kinds import Names, Parameter, Text

ROBOT_DESCRIPTION = Text("robot_description", "", "URDF document; empty: received on the topic robot_description")
DYNAMICS_FILE = Text("dynamics_file", "", "Path of the dynamics file (friction, rotors, payload); empty: none")
JOINTS = Names("joints", [], "Joints to control, in the order of the commands; empty: all movable joints")

EXECUTOR = Text(
    "executor",
    "auto",
    "rclpy executor of the process; auto: the events executor if rclpy has it, else the single-threaded one",
    when="start",
    choices=("auto", "events", "single_threaded"),
)

ROBOT: tuple[Parameter[Any], ...] = (ROBOT_DESCRIPTION, DYNAMICS_FILE, JOINTS)
"""Parameters that define the robot."""
