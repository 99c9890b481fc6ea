"""What is installed, by ament's index of ROS 2 packages."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from launch import LaunchContext
from launch.actions import ExecuteProcess, LogInfo, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robot_dynamics_ros.bags.reader import companions
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.launching.arguments import absolute, is_true, value_of
from robot_dynamics_ros.launching.robots import LaunchedRobot
from robot_dynamics_ros.resources import find_resource

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


def view(
    context: LaunchContext, robot: LaunchedRobot, *, joint_states: str = "joint_states", use_sim_time: str = "false"
) -> list[Any]:
    """Return robot_state_publisher and RViz, as the arguments of these names say, or what is missing for them.

    They go into the namespace of the argument namespace and listen to the topic ``joint_states``.
    """
    common = {
        "namespace": LaunchConfiguration("namespace"),
        "parameters": [{"use_sim_time": use_sim_time.lower() == "true"}],
        # Each namespace has transforms of its own, so that two arms of one kind do not mix.
        "remappings": [("/tf", "tf"), ("/tf_static", "tf_static"), ("joint_states", joint_states)],
    }
    actions: list[Any] = []
    if is_true(context, "robot_state_publisher") and robot.urdf:
        actions += robot_state_publisher(robot, **common)
    if is_true(context, "rviz"):
        actions += rviz("arm.rviz", robot.root, **common)
    return actions


def robot_state_publisher(robot: LaunchedRobot, *, parameters: list[dict[str, Any]], **node: Any) -> list[Any]:
    """Return a Node of robot_state_publisher with these keywords, or what to say where it is not installed."""
    if not is_installed("robot_state_publisher"):
        return [LogInfo(msg=missing("robot_state_publisher", "no TF, and no topic robot_description"))]
    description = {"robot_description": ParameterValue(robot.urdf, value_type=str)}
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[description, *parameters],
            output="screen",
            **node,
        )
    ]


def rviz(file: str, fixed_frame: str, **node: Any) -> list[Any]:
    """Return a Node of RViz with this file of rviz/ and these keywords, or what to say where it is not installed.

    Without ``fixed_frame`` the file's counts.
    """
    if not is_installed("rviz2"):
        return [LogInfo(msg=missing("rviz2", "rviz:=true shows nothing, the rest runs"))]
    arguments = ["--display-config", str(find_resource("rviz", file))]
    frame = ["--fixed-frame", fixed_frame] if fixed_frame else []
    return [Node(package="rviz2", executable="rviz2", arguments=[*arguments, *frame], output="screen", **node)]


def record(context: LaunchContext, *topics: str) -> list[Any]:
    """Return the recorder of these topics, as the argument record says."""
    folder = bag_folder(context)
    return [bag_recorder(folder, absolute(context, *topics))] if folder else []


def recorder_name(context: LaunchContext) -> list[str]:
    """Return the name of the node that records, so that others can wait for it; nothing where nothing is recorded."""
    if not bag_folder(context):
        return []
    return ["rosbag2_recorder" if is_installed("ros2bag") else "recorder"]


def bag_folder(context: LaunchContext) -> str:
    """Return where the argument record wants the bag; empty: nowhere."""
    given = value_of(context, "record")
    if given.lower() in ("", "false"):
        return ""
    return str(Path(time.strftime("recording_%Y%m%d_%H%M%S") if given.lower() == "true" else given).resolve())


def bag_recorder(folder: str, topics: list[str]) -> Any:
    """Return the recorder of these topics, by their full names, to a new folder. Where it fails, all ends.

    Raises RobotDynamicsError where the folder exists.
    """
    if Path(folder).exists():
        raise RobotDynamicsError(f"{folder}: it exists. Cure: name another folder for the bag")
    if is_installed("ros2bag"):
        # Humble takes topics by position, newer ones by --topics, all of them take --regex.
        line = [
            "ros2",
            "bag",
            "record",
            "--output",
            folder,
            "--regex",
            f"^({'|'.join([*topics, *companions(topics)])})$",
        ]
        return ExecuteProcess(cmd=line, output="screen", name="recorder", on_exit=end_on_failure)
    return Node(
        **program("recorder_node"),
        namespace=LaunchConfiguration("namespace"),
        parameters=[{"output": ParameterValue(folder, value_type=str), "topics": topics, "report": "line"}],
        output="screen",
        on_exit=end_on_failure,
    )


def end_on_failure(event: Any, context: LaunchContext) -> list[Any]:
    """Shut down once a process has failed that may end by itself."""
    if event.returncode == 0 or context.is_shutdown:
        return []
    return [Shutdown(reason=f"{event.process_name} failed with exit code {event.returncode}")]
