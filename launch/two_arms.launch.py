"""Launch two simulated arms, each with its controller and trajectory in a namespace: left and right.

`ros2 launch robot_dynamics_ros two_arms.launch.py left:=panda right:=ur5e`; `--show-args` lists the arguments.
"""

from __future__ import annotations

from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    IncludeLaunchDescription,
    OpaqueFunction,
)
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from robot_dynamics_ros.base.resources import find_resource, robot_names
from robot_dynamics_ros.ros.launching import (
    bag_folder,
    find_robot,
    flag,
    is_installed,
    is_true,
    number,
    robot_state_publisher,
    rviz,
    shared,
    value_of,
)

#: Namespace of each arm, and the sign of its position along the y axis of the world.
ARMS = {"left": 1.0, "right": -1.0}
WORLD = "world"


def generate_launch_description() -> LaunchDescription:
    """Declare the launch arguments and the nodes."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "left",
                default_value="panda",
                choices=robot_names(),
                description="Robot on the left.",
            ),
            DeclareLaunchArgument(
                "right",
                default_value="ur5e",
                choices=robot_names(),
                description="Robot on the right.",
            ),
            DeclareLaunchArgument(
                "distance",
                default_value="1.2",
                description="Distance between the root links, m.",
            ),
            *shared("law"),
            DeclareLaunchArgument(
                "rate",
                default_value="250",
                description="joint_states per second. 1000 / rate must be an integer.",
            ),
            flag(
                "use_trajectory",
                "true",
                "Start a trajectory_node for each arm, which sends one trajectory.",
            ),
            flag("rviz", "false", "Start RViz with both arms, if it is installed."),
            *shared("record"),
            *(OpaqueFunction(function=_arm, args=[side]) for side in ARMS),
            OpaqueFunction(function=_rviz),
        ]
    )


def _arm(context: LaunchContext, side: str) -> list[Any]:
    file = str(find_resource("launch", "computed_torque.launch.py"))
    folder = bag_folder(context)
    arguments = {
        "namespace": side,
        "robot": LaunchConfiguration(side),
        **{
            name: LaunchConfiguration(name)
            for name in ("law", "rate", "use_trajectory")
        },
        # No /clock, because two plants have two simulated times. Without it both use the system clock.
        "use_sim_time": "false",
        "record": f"{folder}_{side}" if folder else "false",
        "robot_state_publisher": "false",
        "rviz": "false",
    }
    included = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(file), launch_arguments=arguments.items()
    )
    return [GroupAction([included]), *_transforms(context, side)]


def _transforms(context: LaunchContext, side: str) -> list[Any]:
    """Return the publishers of one tf tree for both arms; frame names are prefixed with the name of the arm."""
    robot = find_robot(value_of(context, side))
    publisher = robot_state_publisher(
        robot, namespace=side, parameters=[{"frame_prefix": f"{side}/"}]
    )
    y = ARMS[side] * number(context, "distance") / 2.0
    place = [
        "--y",
        str(y),
        "--frame-id",
        WORLD,
        "--child-frame-id",
        f"{side}/{robot.root}",
    ]
    if not is_installed("tf2_ros"):
        return publisher
    transform = Node(
        package="tf2_ros",
        executable="static_transform_publisher",
        namespace=side,
        arguments=place,
    )
    return [*publisher, transform]


def _rviz(context: LaunchContext) -> list[Any]:
    return rviz("two_arms.rviz", WORLD) if is_true(context, "rviz") else []
