"""Launch a simulated arm, its controller and a trajectory; with sim:=false only controller and trajectory.

`ros2 launch robot_dynamics_ros computed_torque.launch.py robot:=ur5e law:=pd`; `--show-args` lists the arguments.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.ros.launching import (
    CONTROLLER_TOPICS,
    PLANT_TOPICS,
    ROBOT,
    VIEWING,
    chosen_robot,
    drive_parameter,
    end_on_failure,
    flag,
    is_true,
    joint_parameter,
    own_parameters,
    program,
    record,
    recorded_commands,
    recorder_name,
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
            *shared(*ROBOT, "law"),
            DeclareLaunchArgument(
                "rate",
                default_value="500",
                description="joint_states per second; each causes one command. 1000 / rate must be an integer. "
                "Not used with sim:=false.",
            ),
            flag(
                "sim",
                "true",
                "Start the simulated arm. false: for a real robot or another simulator.",
            ),
            flag(
                "use_trajectory",
                "true",
                "Start trajectory_node, which sends one trajectory. false: the arm holds its position until a "
                "trajectory is published on computed_torque_node/joint_trajectory.",
            ),
            flag(
                "use_sim_time",
                "false",
                "All nodes use /clock, published by the simulated arm or, with sim:=false, by another simulator.",
            ),
            *shared("command_interfaces", "namespace"),
            *shared(*CONTROLLER_TOPICS, *VIEWING, "record"),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[Any]:
    law = value_of(context, "law")
    if not LAWS[law].follows and is_true(context, "use_trajectory"):
        raise RobotDynamicsError(
            f"law:={law} does not follow trajectories. Cure: add use_trajectory:=false"
        )
    robot = chosen_robot(context)
    own = own_parameters(context)
    namespace = LaunchConfiguration("namespace")
    drives = drive_parameter(context)
    clock = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    # The plant may pause while the machine is busy, as during the launch. For a real robot the default applies.
    timeout = {"state_timeout": 5.0} if is_true(context, "sim") else {}
    return [
        Node(
            **program("simulation_node"),
            namespace=namespace,
            parameters=[
                *robot.settings,
                robot_parameters(robot),
                {
                    "publish_rate": LaunchConfiguration("rate"),
                    "publish_clock": LaunchConfiguration("use_sim_time"),
                    **drives,
                },
                *own,
            ],
            remappings=topic_names(PLANT_TOPICS),
            output="screen",
            condition=IfCondition(LaunchConfiguration("sim")),
            on_exit=Shutdown(),
        ),
        Node(
            **program("computed_torque_node"),
            namespace=namespace,
            parameters=[
                *robot.settings,
                robot_parameters(robot),
                {"law": LaunchConfiguration("law"), **timeout, **clock, **drives},
                *own,
            ],
            remappings=topic_names(CONTROLLER_TOPICS),
            output="screen",
            on_exit=Shutdown(),
        ),
        Node(
            **program("trajectory_node"),
            namespace=namespace,
            parameters=[
                *robot.settings,
                {
                    "listeners": [CONTROLLER, *recorder_name(context)],
                    **joint_parameter(robot),
                    **clock,
                },
                *own,
            ],
            # A relative name, for the controller in the same namespace.
            remappings=[
                ("joint_states", LaunchConfiguration("joint_states")),
                ("joint_trajectory", f"{CONTROLLER}/joint_trajectory"),
            ],
            output="screen",
            condition=IfCondition(LaunchConfiguration("use_trajectory")),
            # With a real arm the controller keeps running and holds the position.
            on_exit=end_on_failure if is_true(context, "sim") else None,
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
            f"{CONTROLLER}/joint_trajectory",
            f"{CONTROLLER}/command_states",
            "/diagnostics",
        ),
    ]
