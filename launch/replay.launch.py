"""A recorded bag played to the live controller; what it hears and commands goes to a new bag.

`ros2 launch robot_dynamics_ros replay.launch.py bag:=my_bag robot:=ur5e`; `--show-args` lists the arguments. It ends
with the bag. Only what the controller reads is played, none of what it, or another one, said then.
"""

from __future__ import annotations

import math
from pathlib import Path
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
from launch_ros.event_handlers import OnStateTransition
from launch_ros.parameter_descriptions import ParameterValue

from robot_dynamics_ros.bags import BagReader
from robot_dynamics_ros.cli.node_command import command
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.launching import dynamics_file, package_prefix, program
from robot_dynamics_ros.resources import find_resource, robot_names, robot_urdf

CONTROLLER = "computed_torque_node"
LAST_ANSWERS = 1.0  # seconds


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the processes follow once their values are known."""
    return LaunchDescription(
        [
            DeclareLaunchArgument("bag", description="The bag: its folder, or one of its .mcap or .db3 files."),
            DeclareLaunchArgument(
                "output", default_value="replay", description="Folder of the new bag, which must not exist yet."
            ),
            DeclareLaunchArgument(
                "robot",
                default_value="",
                choices=["", *robot_names()],
                description="The arm, as in urdf/<robot>.urdf. Empty: the one of the bag's robot_description.",
            ),
            DeclareLaunchArgument(
                "law", default_value="computed_torque", choices=list(LAWS), description="The control law."
            ),
            DeclareLaunchArgument(
                "dynamics_file",
                default_value="",
                description="Path of the dynamics file (friction, rotors, payload). Empty: "
                "config/<robot>.dynamics.yaml, where the robot has one. none: do without.",
            ),
            DeclareLaunchArgument(
                "params_file",
                default_value="",
                description="Path of a parameter file for the controller. What it says wins over all else here.",
            ),
            DeclareLaunchArgument("rate", default_value="1.0", description="How many times faster than recorded."),
            DeclareLaunchArgument(
                "namespace", default_value="", description="Namespace of the controller and of the topics in the bag."
            ),
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
    robot = LaunchConfiguration("robot").perform(context)
    rate = float(LaunchConfiguration("rate").perform(context))
    if not 0.0 < rate < math.inf:
        raise RobotDynamicsError(f"rate:={rate:g} is out of range. Cure: give a positive number")
    namespace = LaunchConfiguration("namespace").perform(context).strip("/")
    prefix = f"/{namespace}" if namespace else ""
    inputs = _inputs(context, prefix, robot)
    # The inputs too: the new bag stands for itself, and the player can wait for the recorder.
    recorded = [*inputs.values(), f"{prefix}/{CONTROLLER}/command_states", "/diagnostics"]
    settings = str(find_resource("config", f"{robot}.yaml")) if robot else {}
    given = LaunchConfiguration("params_file").perform(context)
    file = str(Path(given).resolve()) if given else {}
    description = {
        # Empty: the topic's.
        "robot_description": ParameterValue(
            robot_urdf(robot).read_text(encoding="utf-8") if robot else "", value_type=str
        ),
        "dynamics_file": ParameterValue(
            dynamics_file(LaunchConfiguration("dynamics_file").perform(context), robot), value_type=str
        ),
    }
    controller = LifecycleNode(
        **program("computed_torque_node"),
        name=CONTROLLER,
        namespace=namespace,
        # The end of the bag is no fault, nor is a gap that slow playing stretches.
        parameters=[
            settings,
            description,
            {"law": LaunchConfiguration("law"), "state_timeout": math.inf},
            file,
        ],
        output="screen",
        on_exit=_shut_down_once,
    )
    player = ExecuteProcess(cmd=_player(context, inputs, rate), output="screen", name="player")
    end = TimerAction(period=LAST_ANSWERS, actions=[Shutdown(reason="the bag has been played")])
    # Our own player waits for controller and recorder itself.
    begin = OnStateTransition(target_lifecycle_node=controller, goal_state="active", entities=[player])
    return [
        RegisterEventHandler(OnProcessExit(target_action=player, on_exit=[end])),
        *([RegisterEventHandler(begin)] if _has_ros2bag() else []),
        ExecuteProcess(cmd=_recorder(context, recorded), output="screen", name="recorder"),
        controller,
        *([] if _has_ros2bag() else [player]),
    ]


def _shut_down_once(event: Any, context: LaunchContext) -> list[Shutdown]:
    """End with the controller; a second shutdown is an error where a life cycle is watched."""
    return [] if context.is_shutdown else [Shutdown(reason="the controller has ended")]


def _inputs(context: LaunchContext, namespace: str, robot: str) -> dict[str, str]:
    """Return the bag's topics that the controller reads, and the names under which it does."""
    bag = LaunchConfiguration("bag").perform(context)
    states = LaunchConfiguration("joint_states").perform(context)
    trajectory = LaunchConfiguration("joint_trajectory").perform(context)
    node = f"{CONTROLLER}/"
    wanted = {states: "joint_states", trajectory: f"{node}joint_trajectory"}
    wanted |= {name: name for name in (f"{node}speed_scaling_factor", f"{node}payload")}
    wanted |= {} if robot else {"robot_description": "robot_description"}
    with BagReader(bag) as reader:
        topics = list(reader.topics)
    absolute = {
        old if old.startswith("/") else f"{namespace}/{old}": f"{namespace}/{new}" for old, new in wanted.items()
    }
    found = {old: new for old, new in absolute.items() if old in topics}
    for name, cure in (("joint_states", "joint_states:=TOPIC"), ("robot_description", f"robot:={robot_names()[0]}")):
        if f"{namespace}/{name}" in absolute.values() and f"{namespace}/{name}" not in found.values():
            there = ", ".join(topics)
            raise RobotDynamicsError(f"{bag}: no {name} for the controller. Cure: add {cure}; the bag has {there}")
    return found


def _has_ros2bag() -> bool:
    return package_prefix("ros2bag") is not None


def _player(context: LaunchContext, inputs: dict[str, str], rate: float) -> list[str]:
    bag = LaunchConfiguration("bag").perform(context)
    renamed = [f"{old}:={new}" for old, new in inputs.items() if old != new]
    if _has_ros2bag():
        # Unlike ours it waits for nobody: a while for the topics to connect.
        line = ["ros2", "bag", "play", bag, "--rate", str(rate), "--delay", "5.0", "--topics", *inputs]
        return [*line, *(["--remap", *renamed] if renamed else [])]
    values = {"input": bag, "rate": rate, "topics": list(inputs), "listeners": [CONTROLLER, "recorder"]}
    return [*command("player_node", values), *(part for rule in renamed for part in ("-r", rule))]


def _recorder(context: LaunchContext, topics: list[str]) -> list[str]:
    output = LaunchConfiguration("output").perform(context)
    if _has_ros2bag():
        return ["ros2", "bag", "record", "--output", output, *topics]
    return command("recorder_node", {"output": output, "topics": topics, "report": "line"})
