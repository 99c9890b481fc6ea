"""A simulated arm, its controller and a trajectory.

`ros2 launch robot_dynamics_ros computed_torque.launch.py robot:=ur5e law:=pd`; `--show-args` lists the arguments.
"""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.launching import dynamics_file, program
from robot_dynamics_ros.resources import find_resource, robot_names, robot_urdf


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the nodes follow once their values are known."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "robot", default_value="panda", choices=robot_names(), description="The arm, as in urdf/<robot>.urdf."
            ),
            DeclareLaunchArgument(
                "law",
                default_value="computed_torque",
                choices=list(LAWS),
                description="The control law. gravity_compensation follows no trajectory: use_trajectory:=false.",
            ),
            DeclareLaunchArgument(
                "rate",
                default_value="500",
                description="joint_states per second, each answered by one command. 1000 / rate must be whole.",
            ),
            DeclareLaunchArgument(
                "dynamics_file",
                default_value="",
                description="Path of the dynamics file (friction, rotors, payload) for both plant and controller. "
                "Empty: config/<robot>.dynamics.yaml, where the robot has one. none: do without.",
            ),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of all nodes and topics. Empty: the root."
            ),
            DeclareLaunchArgument(
                "use_trajectory",
                default_value="true",
                choices=["true", "false"],
                description="Start trajectory_node, which publishes the robot's trajectory once. false: the arm holds "
                "until something publishes on computed_torque_node/joint_trajectory.",
            ),
            OpaqueFunction(function=_nodes),
        ]
    )


def _nodes(context: LaunchContext) -> list[Node]:
    law = LaunchConfiguration("law").perform(context)
    if not LAWS[law].follows and LaunchConfiguration("use_trajectory").perform(context) == "true":
        raise RobotDynamicsError(f"law:={law} follows no trajectory. Cure: add use_trajectory:=false")
    robot = LaunchConfiguration("robot").perform(context)
    settings = str(find_resource("config", f"{robot}.yaml"))
    description = {
        "robot_description": ParameterValue(robot_urdf(robot).read_text(encoding="utf-8"), value_type=str),
        "dynamics_file": ParameterValue(
            dynamics_file(LaunchConfiguration("dynamics_file").perform(context), robot), value_type=str
        ),
    }
    namespace = LaunchConfiguration("namespace")
    return [
        Node(
            **program("simulation_node"),
            namespace=namespace,
            parameters=[settings, description, {"publish_rate": LaunchConfiguration("rate")}],
            output="screen",
            on_exit=Shutdown(),
        ),
        Node(
            **program("computed_torque_node"),
            namespace=namespace,
            # The plant pauses where the machine is busy, as it is when all this starts. A real robot keeps the default.
            parameters=[settings, description, {"law": LaunchConfiguration("law"), "state_timeout": 1.0}],
            output="screen",
            on_exit=Shutdown(),
        ),
        Node(
            **program("trajectory_node"),
            namespace=namespace,
            parameters=[settings],
            # Relative, so that it leads to the controller of the same namespace.
            remappings=[("joint_trajectory", "computed_torque_node/joint_trajectory")],
            output="screen",
            condition=IfCondition(LaunchConfiguration("use_trajectory")),
        ),
    ]
