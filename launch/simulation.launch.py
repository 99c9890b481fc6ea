"""Launch a simulated arm alone, for your own controller: effort_commands in, joint_states out.

`ros2 launch robot_dynamics_ros simulation.launch.py robot:=ur5e rate:=1000`; `--show-args` lists the arguments.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from robot_dynamics_ros.ros.launching import (
    PLANT_TOPICS,
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


def generate_launch_description() -> LaunchDescription:
    """Declare the launch arguments and the nodes."""
    return LaunchDescription(
        [
            *shared(*ROBOT),
            DeclareLaunchArgument(
                "rate",
                default_value="500",
                description="joint_states per second. 1000 / rate must be an integer.",
            ),
            *shared("command_interfaces", *PLANT_TOPICS),
            flag(
                "use_sim_time",
                "false",
                "Publish /clock, which robot_state_publisher and RViz then use.",
            ),
            *shared("namespace", *VIEWING, "record"),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[Any]:
    robot = chosen_robot(context)
    return [
        Node(
            **program("simulation_node"),
            namespace=LaunchConfiguration("namespace"),
            parameters=[
                *robot.settings,
                robot_parameters(robot),
                {
                    "publish_rate": LaunchConfiguration("rate"),
                    "publish_clock": LaunchConfiguration("use_sim_time"),
                    **drive_parameter(context),
                },
                *own_parameters(context),
            ],
            remappings=topic_names(PLANT_TOPICS),
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
            "/diagnostics",
        ),
    ]
