"""The arguments that several launch files declare, and what is made of their values."""

from __future__ import annotations

import math

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.launching.robots import LaunchedRobot, existing_file, find_robot
from robot_dynamics_ros.parameters.file import parameter_tables
from robot_dynamics_ros.parameters.kinds import ANY, Bounds
from robot_dynamics_ros.resources import robot_names


def robot_arguments(default: str = "panda") -> list[DeclareLaunchArgument]:
    """Declare robot, urdf, xacro_args, dynamics_file and params_file; without default the topic may bring the robot."""
    topic = "" if default else " Empty: the one of the topic robot_description."
    return [
        DeclareLaunchArgument(
            "robot",
            default_value=default,
            choices=robot_names() if default else ["", *robot_names()],
            description=f"An arm of this package: urdf/<robot>.urdf with config/<robot>.yaml.{topic}",
        ),
        DeclareLaunchArgument(
            "urdf",
            default_value="",
            description="Path of your own robot's URDF or .xacro file, which takes the place of robot.",
        ),
        DeclareLaunchArgument(
            "xacro_args", default_value="", description="Arguments of a .xacro file: 'name:=value name:=value'."
        ),
        DeclareLaunchArgument(
            "dynamics_file",
            default_value="",
            description="Path of the dynamics file (friction, rotors, payload). Empty: config/<robot>.dynamics.yaml, "
            "where the robot has one. none: do without.",
        ),
        DeclareLaunchArgument(
            "params_file",
            default_value="",
            description="Path of a parameter file for the nodes. What it says wins over all else here.",
        ),
    ]


def law_argument() -> DeclareLaunchArgument:
    """Declare law."""
    return DeclareLaunchArgument(
        "law",
        default_value="computed_torque",
        choices=list(LAWS),
        description="The control law. gravity_compensation follows no trajectory.",
    )


def namespace_argument() -> DeclareLaunchArgument:
    """Declare namespace."""
    return DeclareLaunchArgument(
        "namespace", default_value="", description="Namespace of all nodes and topics. Empty: the root."
    )


def topic_arguments() -> list[DeclareLaunchArgument]:
    """Declare joint_states and effort_commands, the topics between robot and controller."""
    return [
        DeclareLaunchArgument(
            "joint_states", default_value="joint_states", description="Name of the topic of the robot's states."
        ),
        DeclareLaunchArgument(
            "effort_commands",
            default_value="effort_commands",
            description="Name of the topic of the commands, for example /forward_effort_controller/commands.",
        ),
    ]


def topic_names() -> list[tuple[str, LaunchConfiguration]]:
    """Return the remappings of a Node to the topics that joint_states and effort_commands name."""
    return [(name, LaunchConfiguration(name)) for name in ("joint_states", "effort_commands")]


def viewing_arguments(robot_state_publisher: str = "true") -> list[DeclareLaunchArgument]:
    """Declare robot_state_publisher, with this default, and rviz."""
    return [
        flag(
            "robot_state_publisher",
            robot_state_publisher,
            "Start robot_state_publisher, where it is installed: TF and the topic robot_description.",
        ),
        flag("rviz", "false", "Start RViz, where it is installed."),
    ]


def record_argument() -> DeclareLaunchArgument:
    """Declare record."""
    return DeclareLaunchArgument(
        "record",
        default_value="false",
        description="Record a bag: the path of its folder, which must not exist yet; true: ./recording_<date>_<time>.",
    )


def flag(name: str, default: str, description: str) -> DeclareLaunchArgument:
    """Declare an argument that is true or false."""
    # Python and launch's own conditions write True and False.
    choices = ["true", "false", "True", "False"]
    return DeclareLaunchArgument(name, default_value=default, choices=choices, description=description)


def value_of(context: LaunchContext, name: str) -> str:
    """Return an argument's value."""
    return str(LaunchConfiguration(name).perform(context))


def is_true(context: LaunchContext, name: str) -> bool:
    """Return whether a flag is set."""
    return value_of(context, name).lower() == "true"


def number(context: LaunchContext, name: str, within: Bounds = ANY) -> float:
    """Return an argument's value as a number; RobotDynamicsError where it is none, or not within the bounds."""
    given = value_of(context, name)
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if value not in within:
        raise RobotDynamicsError(f"{name}:={given} is not allowed. Cure: give {within.phrase('a number')}")
    return value


def chosen_robot(context: LaunchContext) -> LaunchedRobot:
    """Return the robot that robot_arguments name; RobotDynamicsError where a file is not there."""
    names = ("robot", "urdf", "dynamics_file", "xacro_args")
    return find_robot(*(value_of(context, name) for name in names))


def robot_parameters(robot: LaunchedRobot) -> dict[str, ParameterValue]:
    """Return robot_description and dynamics_file for a Node; the type keeps launch_ros from reading them as YAML."""
    return {
        "robot_description": ParameterValue(robot.urdf, value_type=str),
        "dynamics_file": ParameterValue(robot.dynamics_file, value_type=str),
    }


def own_parameters(context: LaunchContext) -> list[str]:
    """Return the file that params_file names, or nothing; RobotDynamicsError where it is no parameter file."""
    given = value_of(context, "params_file")
    if not given:
        return []
    path = existing_file("params_file", given)
    parameter_tables(path)
    return [str(path)]


def full_namespace(context: LaunchContext) -> str:
    """Return the namespace, that of launch files which include this one before it; empty: the root."""
    name = prefix_namespace(context.launch_configurations.get("ros_namespace"), value_of(context, "namespace"))
    return str(make_namespace_absolute(name)).rstrip("/")


def absolute(context: LaunchContext, *topics: str) -> list[str]:
    """Return the full names of these topics."""
    return [topic if topic.startswith("/") else f"{full_namespace(context)}/{topic}" for topic in topics]
