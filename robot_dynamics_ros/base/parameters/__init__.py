"""Declarations of node parameters: kinds, parameter files, and the parameters that several nodes share."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.parameters.kinds import (
    NamedNumbers,
    Names,
    NameSets,
    Parameter,
    Text,
)

ROBOT_DESCRIPTION = Text(
    "robot_description",
    "",
    "URDF document; empty: received on the topic robot_description",
)
DYNAMICS_FILE = Text(
    "dynamics_file",
    "",
    "Path of the dynamics file (friction, rotors, payload); empty: none",
)
URDF = Text(
    "urdf", "", "Path of a URDF or xacro file, read if robot_description is empty"
)
JOINTS = Names(
    "joints",
    [],
    "Joints of the model, in the order of the commands; others are locked. Empty: all that are not locked",
)
LOCKED = NamedNumbers(
    "locked",
    [],
    "Positions of locked joints, name=value, rad or m. Others: computed_torque_node locks them where joint_states has "
    "them first, else 0",
)

EXECUTOR = Text(
    "executor",
    "auto",
    "rclpy executor of the process; auto: the events executor if rclpy has it, else the single-threaded one",
    when="start",
    choices=("auto", "events", "single_threaded"),
)

EFFORT = ("effort",)
POSITION = ("position",)
IMPEDANCE = DriveCommand._fields
COMMAND_INTERFACES = NameSets(
    "command_interfaces",
    list(EFFORT),
    "What the drives take: effort; all five, of which they make stiffness (position - q) + damping (velocity - qd) + "
    "effort; or position, of which they make stiffness (position - q) - damping qd",
    choices=(EFFORT, IMPEDANCE, POSITION),
)

ROBOT: tuple[Parameter[Any], ...] = (
    ROBOT_DESCRIPTION,
    URDF,
    DYNAMICS_FILE,
    JOINTS,
    LOCKED,
)
"""Parameters that define the robot."""
