"""Launch arguments that several launch files share, their values, the robots that they select, and actions.

Values of arguments are those of the launch ``context``; ``name`` is the name of an argument. Lists of actions are what
an OpaqueFunction returns. Node is the action of launch_ros.
"""

from __future__ import annotations

import math
import os
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, LogInfo, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.utilities import make_namespace_absolute, prefix_namespace

from robot_dynamics_ros.base.background import SUCCESS
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.files import read_urdf
from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.base.parameters import COMMAND_INTERFACES
from robot_dynamics_ros.base.parameters.file import parameter_tables
from robot_dynamics_ros.base.parameters.kinds import ANY, Bounds
from robot_dynamics_ros.base.resources import (
    NODE_PROGRAM,
    dynamics_file,
    find_resource,
    robot_names,
    robot_urdf,
)
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.dynamics.description.urdf import UrdfDocument
from robot_dynamics_ros.recordings.messages.drive_commands import (
    DRIVE_COMMANDS,
    command_topics,
)

# Python and the conditions of launch write True and False
_FLAG = ["true", "false", "True", "False"]
_SHARED: dict[str, tuple[str, list[str] | None, str]] = {
    "robot": (
        "panda",
        robot_names(),
        "Shipped robot: urdf/<robot>.urdf with config/<robot>.yaml.",
    ),
    "urdf": (
        "",
        None,
        "Path of the URDF or .xacro file of your own robot; replaces robot.",
    ),
    "xacro_args": ("", None, "Arguments of a .xacro file: 'name:=value name:=value'."),
    "dynamics_file": (
        "",
        None,
        "Path of the dynamics file (friction, rotors, payload). Empty: config/<robot>.dynamics.yaml, if it exists. "
        "none: no dynamics file.",
    ),
    "joints": (
        "",
        None,
        "Joints to control, 'joint1 joint2'; others are locked. Empty: all movable joints.",
    ),
    "locked": (
        "",
        None,
        "Positions of locked joints, 'finger=0.02 tool=0'. Others: where joint_states has them first, in simulation 0.",
    ),
    "params_file": (
        "",
        None,
        "Path of a parameter file for the nodes. Its values override all others.",
    ),
    "law": (
        "computed_torque",
        list(LAWS),
        "The control law. gravity_compensation follows no trajectory.",
    ),
    "namespace": ("", None, "Namespace of all nodes and topics. Empty: the root."),
    "joint_states": ("joint_states", None, "Name of the topic of the robot's states."),
    "effort_commands": (
        "effort_commands",
        None,
        "Name of the topic of the commands, for example /forward_effort_controller/commands.",
    ),
    **{
        f"{interface}_commands": (
            f"{interface}_commands",
            None,
            f"Name of the topic of {interface} commands, for drives with a loop of their own.",
        )
        for interface in DriveCommand._fields
        if interface != "effort"
    },
    DRIVE_COMMANDS: (
        DRIVE_COMMANDS,
        None,
        "Name of the topic with whole commands, for drives with a loop of their own.",
    ),
    "command_interfaces": (
        "effort",
        [" ".join(choice) for choice in COMMAND_INTERFACES.choices],
        "What the drives take. All but effort: drives with a loop of their own.",
    ),
    "robot_state_publisher": (
        "true",
        _FLAG,
        "Start robot_state_publisher, if it is installed: TF and the topic robot_description.",
    ),
    "rviz": ("false", _FLAG, "Start RViz, if it is installed."),
    "record": (
        "false",
        None,
        "Record a bag: the path of its folder, which must not exist yet; true: ./recording_<date>_<time>.",
    ),
}
"""Default, choices and description of the arguments that several launch files declare."""

ROBOT = (
    "robot",
    "urdf",
    "xacro_args",
    "dynamics_file",
    "joints",
    "locked",
    "params_file",
)
VIEWING = ("robot_state_publisher", "rviz")
PLANT_TOPICS = ("joint_states", "effort_commands", DRIVE_COMMANDS)
CONTROLLER_TOPICS = ("joint_states", *command_topics(DriveCommand._fields))


def shared(*names: str, **defaults: str) -> list[DeclareLaunchArgument]:
    """Return the declarations of the launch arguments ``names``, keys of ``_SHARED`` such as "robot", "law", "record".

    ``defaults`` are default values by name, in place of those of ``_SHARED``; names that are not in ``names`` are
    ignored. A default that is not among the choices is added to them. An empty default of robot means the robot of the
    topic robot_description. Raises KeyError if one of ``names`` is not in ``_SHARED``.
    """
    declared = []
    for name in names:
        default, choices, description = _SHARED[name]
        default = defaults.get(name, default)
        if choices is not None and default not in choices:
            choices = [default, *choices]
            description = (
                f"{description} Empty: the robot of the topic robot_description."
            )
        declared.append(
            DeclareLaunchArgument(
                name, default_value=default, choices=choices, description=description
            )
        )
    return declared


def topic_names(topics: Iterable[str]) -> list[tuple[str, LaunchConfiguration]]:
    """Return remappings of a Node: each of ``topics`` has the name in the argument that is named as it."""
    return [(name, LaunchConfiguration(name)) for name in topics]


def flag(name: str, default: str, description: str) -> DeclareLaunchArgument:
    """Return the declaration of an argument that is true or false; ``default`` is "true" or "false"."""
    return DeclareLaunchArgument(
        name, default_value=default, choices=_FLAG, description=description
    )


def value_of(context: LaunchContext, name: str) -> str:
    """Return the value of an argument as text; launch's SubstitutionFailure if it is not declared or set."""
    return str(LaunchConfiguration(name).perform(context))


def is_true(context: LaunchContext, name: str) -> bool:
    """Return True if the value of a flag is true, in upper or lower case; False for all other values."""
    return value_of(context, name).lower() == "true"


def number(context: LaunchContext, name: str, within: Bounds = ANY) -> float:
    """Return the value of an argument as a number.

    Raises RobotDynamicsError if it is not a number, or outside the interval ``within`` (default: any number but NaN).
    """
    text = value_of(context, name)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if value not in within:
        raise RobotDynamicsError(
            f"{name}:={text} is not allowed. Cure: give {within.phrase('a number')}"
        )
    return value


@dataclass(frozen=True)
class LaunchedRobot:
    """Files of a robot.

    If its URDF comes from the topic robot_description, ``urdf``, ``root`` and ``settings`` are empty.

    Attributes
    ----------
    urdf
        Text of the URDF.
    root
        Name of the root link.
    dynamics_file
        Path of the dynamics file; empty for none.
    settings
        One path, that of the parameter file of a shipped robot; empty for other robots.
    joints, locked
        Values of these launch arguments, split into words.
    """

    urdf: str
    root: str
    dynamics_file: str
    settings: tuple[str, ...]
    joints: tuple[str, ...]
    locked: tuple[str, ...]


def chosen_robot(context: LaunchContext) -> LaunchedRobot:
    """Return the robot of the launch arguments; RobotDynamicsError as from ``find_robot``."""
    return find_robot(*(value_of(context, name) for name in ROBOT[:-1]))


def find_robot(
    name: str,
    urdf: str = "",
    xacro_args: str = "",
    dynamics: str = "",
    joints: str = "",
    locked: str = "",
) -> LaunchedRobot:
    """Return the robot of the values of the launch arguments robot, urdf, xacro_args, dynamics_file, joints and locked.

    ``name`` is that of a shipped robot, or empty for the robot of the topic robot_description. ``urdf`` is the path of
    a URDF or xacro file that is used instead, if not empty, ``xacro_args`` its arguments, "name:=value name:=value".
    ``dynamics`` is as for ``robot_dynamics_ros.base.resources.dynamics_file``.

    Raises RobotDynamicsError for an unknown name, a missing file, an invalid URDF, a xacro file that cannot be
    expanded, and ``xacro_args`` without one. Raises ValueError for an unclosed quote in them.
    """
    file = dynamics_file(dynamics, "" if urdf else name)
    path = "" if file is None else str(Path(file).resolve())
    text = root = ""
    if urdf or name:
        source = Path(urdf).resolve() if urdf else robot_urdf(name)
        words = (word.partition(":=") for word in shlex.split(xacro_args))
        arguments = {key: value for key, _, value in words}
        text = read_urdf(source, arguments).decode("utf-8")
        robot = UrdfDocument(text, str(source)).robot
        children = {child.get("link") for child in robot.findall("joint/child")}
        roots = {str(link.get("name")) for link in robot.findall("link")} - children
        root = min(roots, default="")
    settings: tuple[str, ...] = ()
    if name and not urdf:
        settings = (str(find_resource("config", f"{name}.yaml")),)
    return LaunchedRobot(
        text, root, path, settings, tuple(joints.split()), tuple(locked.split())
    )


def robot_parameters(robot: LaunchedRobot) -> dict[str, ParameterValue]:
    """Return the parameters of a Node that define ``robot``: robot_description, dynamics_file, joints and locked.

    The first two are texts, the others lists of texts, absent if empty; none is parsed as YAML.
    """
    return {
        "robot_description": ParameterValue(robot.urdf, value_type=str),
        "dynamics_file": ParameterValue(robot.dynamics_file, value_type=str),
        **joint_parameter(robot),
        **(
            {"locked": ParameterValue(list(robot.locked), value_type=list[str])}
            if robot.locked
            else {}
        ),
    }


def joint_parameter(robot: LaunchedRobot) -> dict[str, ParameterValue]:
    """Return the parameter joints of ``robot``; an empty dictionary if the argument of that name is empty."""
    return (
        {"joints": ParameterValue(list(robot.joints), value_type=list[str])}
        if robot.joints
        else {}
    )


def drive_parameter(context: LaunchContext) -> dict[str, ParameterValue]:
    """Return the parameter command_interfaces of plant and controller, a list of texts."""
    names = value_of(context, COMMAND_INTERFACES.name).split()
    return {COMMAND_INTERFACES.name: ParameterValue(names, value_type=list[str])}


def own_parameters(context: LaunchContext) -> list[str]:
    """Return a list of the absolute path in the argument ``params_file``; an empty list if the argument is empty.

    Raises RobotDynamicsError if the file does not exist or is not a parameter file.
    """
    argument = value_of(context, "params_file")
    if not argument:
        return []
    path = Path(argument).resolve()
    parameter_tables(path)
    return [str(path)]


def absolute(context: LaunchContext, *topics: str) -> list[str]:
    """Return the full names of topics, in their order, by the namespaces of this launch file and those that include it.

    This launch file's is the argument namespace. Names that begin with a slash are not changed.
    """
    name = prefix_namespace(
        context.launch_configurations.get("ros_namespace"),
        value_of(context, "namespace"),
    )
    namespace = str(make_namespace_absolute(name)).rstrip("/")
    return [
        topic if topic.startswith("/") else f"{namespace}/{topic}" for topic in topics
    ]


def is_installed(package: str) -> bool:
    """Return True if a ROS 2 package of this name is installed in a prefix of AMENT_PREFIX_PATH."""
    prefixes = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    resource = Path("share", "ament_index", "resource_index", "packages", package)
    return any((prefix / resource).is_file() for prefix in map(Path, prefixes))


def program(name: str) -> dict[str, Any]:
    """Return keyword arguments of Node that start the node ``name`` of this package, such as "simulation_node"."""
    return {
        "executable": sys.executable,
        "arguments": [NODE_PROGRAM, name],
        "exec_name": name,
    }


def view(
    context: LaunchContext,
    robot: LaunchedRobot,
    *,
    joint_states: str = "joint_states",
    use_sim_time: str = "false",
) -> list[Any]:
    """Return actions that start robot_state_publisher and RViz, if the arguments of these names are true.

    Both run in the namespace of the argument namespace and subscribe to the topic ``joint_states``. ``use_sim_time`` is
    "true" or "false", as in launch arguments. robot_state_publisher is left out if the URDF of ``robot`` is not known.
    Actions of programs that are not installed are log messages.
    """
    common = {
        "namespace": LaunchConfiguration("namespace"),
        "parameters": [{"use_sim_time": use_sim_time.lower() == "true"}],
        # Transforms are in the namespace, too, so that two arms with the same frame names do not conflict.
        "remappings": [
            ("/tf", "tf"),
            ("/tf_static", "tf_static"),
            ("joint_states", joint_states),
        ],
    }
    actions: list[Any] = []
    if is_true(context, "robot_state_publisher") and robot.urdf:
        actions += robot_state_publisher(robot, **common)
    if is_true(context, "rviz"):
        actions += rviz("arm.rviz", robot.root, **common)
    return actions


def robot_state_publisher(
    robot: LaunchedRobot, *, parameters: list[dict[str, Any]], **node: Any
) -> list[Any]:
    """Return one action in a list: to start robot_state_publisher, or a log message if it is not installed.

    ``parameters`` and ``node`` are keyword arguments of Node; the URDF of ``robot`` is added to the parameters.
    """
    description = {"robot_description": ParameterValue(robot.urdf, value_type=str)}
    return _node_of(
        "robot_state_publisher",
        "TF and the topic robot_description are not published",
        parameters=[description, *parameters],
        **node,
    )


def rviz(file: str, fixed_frame: str, **node: Any) -> list[Any]:
    """Return one action in a list: to start RViz, or a log message if it is not installed.

    ``file`` is the name of a configuration that this package installs, such as "arm.rviz"; RobotDynamicsError for an
    unknown one. ``fixed_frame`` replaces that of the file unless it is empty; ``node`` are keyword arguments of Node.
    """
    arguments = ["--display-config", str(find_resource("rviz", file))]
    frame = ["--fixed-frame", fixed_frame] if fixed_frame else []
    return _node_of(
        "rviz2", "RViz is not started", arguments=[*arguments, *frame], **node
    )


def _node_of(package: str, consequence: str, **node: Any) -> list[Any]:
    """Return a Node of a package whose executable has the same name, or a log message if it is not installed."""
    if is_installed(package):
        return [Node(package=package, executable=package, output="screen", **node)]
    name = (
        f"ros-{os.environ.get('ROS_DISTRO', '$ROS_DISTRO')}-{package.replace('_', '-')}"
    )
    missing = f"the ROS 2 package {package} is not installed: {consequence}. Cure: sudo apt install {name}"
    return [LogInfo(msg=missing)]


def record(context: LaunchContext, *topics: str) -> list[Any]:
    """Return an action in a list that records ``topics`` to the bag of the argument record; an empty list without one.

    ``topics`` are names in the namespace of the launch file. The argument is unset if empty or false; true gives a name
    with date and time. Raises RobotDynamicsError if the folder of the bag exists.
    """
    folder = bag_folder(context)
    if not folder:
        return []
    return [bag_recorder(folder, absolute(context, *topics))]


def recorded_commands(context: LaunchContext) -> str:
    """Return the name of the topic of commands to record: effort_commands, or drive_commands, which has all of a cycle.

    It depends on command_interfaces, of which the value in ``params_file`` precedes the argument. Raises
    RobotDynamicsError if that value is not allowed, and as ``own_parameters``.
    """
    interfaces: Sequence[str] = value_of(context, COMMAND_INTERFACES.name).split()
    for path in own_parameters(context):
        for table in parameter_tables(path).values():
            interfaces = COMMAND_INTERFACES.check(
                table.get(COMMAND_INTERFACES.name, interfaces)
            )
    return value_of(context, command_topics(interfaces)[0])


def recorder_name(context: LaunchContext) -> list[str]:
    """Return the name of the node that ``record`` starts, in a list, for nodes that wait for it.

    The list is empty if the argument record is empty or false.
    """
    return ["recorder"] if bag_folder(context) else []


def bag_folder(context: LaunchContext) -> str:
    """Return the absolute path of the new bag by the launch argument ``record``; "" if ``record`` is "" or "false".

    "true" gives recording_DATE_TIME in the working folder, with the time of the call. Any other text is the path.
    """
    argument = value_of(context, "record")
    if argument.lower() in ("", "false"):
        return ""
    return str(
        Path(
            time.strftime("recording_%Y%m%d_%H%M%S")
            if argument.lower() == "true"
            else argument
        ).resolve()
    )


def bag_recorder(folder: str, topics: list[str]) -> Any:
    """Return an action that records ``topics``, by full names, to a new folder; its failure ends the launch.

    The action starts recorder_node, which also records topics that belong to these. Raises RobotDynamicsError if the
    folder exists.
    """
    if Path(folder).exists():
        raise RobotDynamicsError(
            f"{folder}: it exists already. Cure: give another folder for the bag"
        )
    return Node(
        **program("recorder_node"),
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            {
                "output": ParameterValue(folder, value_type=str),
                "topics": topics,
            }
        ],
        output="screen",
        on_exit=end_on_failure,
    )


def end_on_failure(event: Any, context: LaunchContext) -> list[Any]:
    """Return a list of an action that shuts the launch down, if the process has failed; else an empty one.

    ``event`` is launch's ProcessExited, which has the exit code; ``SUCCESS`` is no failure. The list is also empty if
    the launch is already shutting down. Use this function as ``on_exit`` of a process.
    """
    if event.returncode in SUCCESS or context.is_shutdown:
        return []
    return [
        Shutdown(
            reason=f"{event.process_name} failed with exit code {event.returncode}"
        )
    ]
