"""Play a recorded bag to the running controller, and record its inputs and commands to a new bag.

`ros2 launch robot_dynamics_ros replay.launch.py bag:=my_bag robot:=ur5e`; `--show-args` lists the arguments. The launch
ends with the bag. Only input topics of the controller are played, not the outputs of a recorded controller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.parameters.kinds import POSITIVE
from robot_dynamics_ros.cli.processes import node_command
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.ros.launching import (
    ROBOT,
    VIEWING,
    absolute,
    bag_recorder,
    chosen_robot,
    number,
    own_parameters,
    program,
    robot_parameters,
    shared,
    value_of,
    view,
)
from robot_dynamics_ros.runs.configuration import read_configuration
from robot_dynamics_ros.runs.inputs import INPUTS

CONTROLLER = "computed_torque_node"
LAST_ANSWERS = 1.0  # seconds


def generate_launch_description() -> LaunchDescription:
    """Declare the launch arguments and the processes."""
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "bag",
                description="Path of the bag: its folder, or one of its .mcap or .db3 files.",
            ),
            DeclareLaunchArgument(
                "output",
                default_value="replay",
                description="Folder of the new bag, which must not exist yet.",
            ),
            *shared(*ROBOT, "law", robot=""),
            DeclareLaunchArgument(
                "rate",
                default_value="1.0",
                description="Playback rate; 2.0 is twice as fast as recorded.",
            ),
            DeclareLaunchArgument(
                "namespace",
                default_value="",
                description="Namespace of the controller and of the topics in the bag.",
            ),
            *shared(*VIEWING),
            DeclareLaunchArgument(
                "joint_states",
                default_value="joint_states",
                description="Topic in the bag for the controller's joint_states.",
            ),
            DeclareLaunchArgument(
                "joint_trajectory",
                default_value=f"{CONTROLLER}/joint_trajectory",
                description="Topic in the bag for the controller's joint_trajectory.",
            ),
            OpaqueFunction(function=_processes),
        ]
    )


def _processes(context: LaunchContext) -> list[Any]:
    robot = chosen_robot(context)
    rate = number(context, "rate", POSITIVE)
    stops = _emergency_stops(context)
    inputs = _inputs(context, stops, known=bool(robot.urdf))
    # Also the inputs, so that the new bag is complete and the player can wait for the recorder.
    recorded = [
        *inputs.values(),
        *absolute(context, f"{CONTROLLER}/command_states"),
        "/diagnostics",
    ]
    controller = LifecycleNode(
        **program("computed_torque_node"),
        name=CONTROLLER,
        namespace=LaunchConfiguration("namespace"),
        parameters=[
            *robot.settings,
            robot_parameters(robot),
            # No timeout: neither the end of the bag nor slow playback is a fault.
            {"law": LaunchConfiguration("law"), "state_timeout": math.inf},
            *([{"emergency_stop_topics": stops}] if stops else []),
            *own_parameters(context),
        ],
        output="screen",
        on_exit=_unless_ending(Shutdown(reason="the controller has ended")),
    )
    player = ExecuteProcess(
        cmd=_player(context, inputs, rate), output="screen", name="player"
    )
    end = TimerAction(
        period=LAST_ANSWERS, actions=[Shutdown(reason="the bag has been played")]
    )
    return [
        RegisterEventHandler(
            OnProcessExit(target_action=player, on_exit=_unless_ending(end))
        ),
        bag_recorder(value_of(context, "output"), recorded),
        controller,
        player,
        *view(context, robot),
    ]


def _unless_ending(action: Any) -> Callable[[Any, LaunchContext], list[Any]]:
    """Return an exit handler that runs ``action``, but not during a shutdown: launch_ros fails on a second Shutdown."""
    return lambda event, context: [] if context.is_shutdown else [action]


def _emergency_stops(context: LaunchContext) -> list[str]:
    """Return the emergency_stop_topics of the recorded controller; none if the bag has no configuration."""
    configuration = read_configuration(
        value_of(context, "bag"), *absolute(context, f"{CONTROLLER}/")
    )
    return [] if configuration is None else list(configuration[1].emergency_stop_topics)


def _inputs(context: LaunchContext, stops: list[str], known: bool) -> dict[str, str]:
    """Return the bag's input topics of the controller, and their names for the controller.

    They include the further emergency ``stops``, and robot_description unless the robot is ``known``.
    """
    bag = value_of(context, "bag")
    node = f"{CONTROLLER}/"
    names = {
        value_of(context, "joint_states"): "joint_states",
        value_of(context, "joint_trajectory"): f"{node}joint_trajectory",
    }
    private = (
        f"{node}{topic}"
        for topic in INPUTS
        if topic not in ("joint_states", "joint_trajectory")
    )
    names |= {name: name for name in (*stops, *private)}
    names |= {} if known else {"robot_description": "robot_description"}
    with BagReader(bag) as reader:
        topics = list(reader.topics)
    full = dict(
        zip(absolute(context, *names), absolute(context, *names.values()), strict=True)
    )
    inputs = {old: new for old, new in full.items() if old in topics}
    needed = {"joint_states": "joint_states:=TOPIC"}
    needed |= (
        {}
        if known
        else {
            "robot_description": "robot:=NAME or urdf:=FILE of the robot that was recorded"
        }
    )
    for name, cure in needed.items():
        if not set(absolute(context, name)) & set(inputs.values()):
            raise RobotDynamicsError(
                f"{bag}: no {name} for the controller. Cure: add {cure}; the bag has {', '.join(topics)}"
            )
    return inputs


def _player(context: LaunchContext, inputs: dict[str, str], rate: float) -> list[str]:
    bag = value_of(context, "bag")
    renamed = [f"{old}:={new}" for old, new in inputs.items() if old != new]
    values = {
        "input": bag,
        "rate": rate,
        "topics": list(inputs),
        "listeners": [CONTROLLER, "recorder"],
    }
    return node_command(
        "player_node", values, *(part for rule in renamed for part in ("-r", rule))
    )
