"""Launch the controller alone, for a real robot or another simulator: joint_states in, effort_commands out.

`ros2 launch robot_dynamics_ros controller.launch.py effort_commands:=/forward_effort_controller/commands` gets the
robot from the topic robot_description; `--show-args` lists the arguments.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from robot_dynamics_ros.ros.launching import (
    CONTROLLER_TOPICS,
    ROBOT,
    VIEWING,
    chosen_robot,
    drive_parameter,
    flag,
    own_parameters,
    program,
    record,
    recorded_commands,
    robot_parameters,
    shared,
    topic_names,
    value_of,
    view,
)

CONTROLLER = "computed_torque_node"


def generate_launch_description() -> LaunchDescription:
    """Declare the launch arguments and the nodes."""
    return LaunchDescription(
        [
            *shared(*ROBOT, "law", robot=""),
            DeclareLaunchArgument(
                "rate",
                default_value="0",
                description="Commands per second. 0: one for each joint_states message.",
            ),
            *shared("command_interfaces", *CONTROLLER_TOPICS),
            DeclareLaunchArgument(
                "joint_trajectory",
                default_value=f"{CONTROLLER}/joint_trajectory",
                description="Name of the topic of trajectories.",
            ),
            flag("use_sim_time", "false", "Use the /clock of a simulator."),
            *shared("namespace", *VIEWING, "record", robot_state_publisher="false"),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[Any]:
    robot = chosen_robot(context)
    return [
        Node(
            **program("computed_torque_node"),
            namespace=LaunchConfiguration("namespace"),
            parameters=[
                *robot.settings,
                robot_parameters(robot),
                {
                    "law": LaunchConfiguration("law"),
                    "update_rate": LaunchConfiguration("rate"),
                    "use_sim_time": LaunchConfiguration("use_sim_time"),
                    **drive_parameter(context),
                },
                *own_parameters(context),
            ],
            remappings=[
                *topic_names(CONTROLLER_TOPICS),
                ("~/joint_trajectory", LaunchConfiguration("joint_trajectory")),
            ],
            output="screen",
            on_exit=Shutdown(),
        ),
        *view(
            context,
            robot,
            joint_states=value_of(context, "joint_states"),
            use_sim_time=value_of(context, "use_sim_time"),
        ),
        *record(
            context,
            value_of(context, "joint_states"),
            recorded_commands(context),
            value_of(context, "joint_trajectory"),
            f"{CONTROLLER}/command_states",
            "/diagnostics",
        ),
    ]
