"""The configurations for ros2_control and MoveIt, against the parameters that the controllers' sources declare.

Names and rules are written down from ros2_controllers: joint_trajectory_controller 4.42.1 (Jazzy), 5.17.0 (Kilted) and
6.9.0 (master), forward_command_controller of the same versions and 2.54.0 (Humble), controller_manager 4.46.0, 5.16.0
and 6.8.0, and from moveit_simple_controller_manager of MoveIt 2. No controller has run on these files.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.tuning import Tuning
from robot_dynamics_ros.parameters.controller import ALL
from robot_dynamics_ros.parameters.controller_settings import read_settings
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.parameters.goal import read_tolerances
from robot_dynamics_ros.resources import robot_urdf

CONFIG = Path(__file__).resolve().parent.parent / "config"
FORWARD, TRAJECTORY = (CONFIG / f"ros2_control_{name}.yaml" for name in ("forward_effort", "joint_trajectory"))
MOVEIT = CONFIG / "moveit_controllers.yaml"

#: Of any controller: controller_interface_base.cpp.
BASE = {"update_rate", "is_async", "thread_priority"}
#: forward_command_controller_parameters.yaml.
FORWARD_COMMAND = BASE | {"joints", "interface_name"}
#: joint_trajectory_controller_parameters.yaml, what the three versions have in common.
JOINT_TRAJECTORY = BASE | {
    "action_monitor_rate",
    "allow_integration_in_goal_trajectories",
    "allow_nonzero_velocity_at_trajectory_end",
    "allow_partial_joints_goal",
    "cmd_timeout",
    "command_interfaces",
    "command_joints",
    "constraints.<joint>.goal",
    "constraints.<joint>.max_deceleration_on_cancel",
    "constraints.<joint>.trajectory",
    "constraints.decelerate_on_cancel",
    "constraints.goal_time",
    "constraints.stopped_velocity_tolerance",
    "gains.<joint>.antiwindup_strategy",
    "gains.<joint>.d",
    "gains.<joint>.error_deadband",
    "gains.<joint>.ff_velocity_scale",
    "gains.<joint>.i",
    "gains.<joint>.i_clamp_max",
    "gains.<joint>.i_clamp_min",
    "gains.<joint>.p",
    "gains.<joint>.tracking_time_constant",
    "gains.<joint>.u_clamp_max",
    "gains.<joint>.u_clamp_min",
    "interpolate_from_desired_state",
    "interpolation_method",
    "joints",
    "set_last_command_interface_value_as_state_on_activation",
    "speed_scaling.command_interface",
    "speed_scaling.initial_scaling_factor",
    "speed_scaling.state_interface",
    "state_interfaces",
}
KNOWN = {
    "forward_command_controller/ForwardCommandController": FORWARD_COMMAND,
    "joint_trajectory_controller/JointTrajectoryController": JOINT_TRAJECTORY,
    "joint_state_broadcaster/JointStateBroadcaster": BASE,
}


def parameters(file: Path, node: str) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text(encoding="utf-8"))[node]["ros__parameters"])


def flat(table: dict[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key


@pytest.mark.parametrize("file", [FORWARD, TRAJECTORY], ids=lambda file: file.stem)
def test_every_parameter_is_one_of_the_controllers(file: Path) -> None:
    manager = parameters(file, "controller_manager")
    assert isinstance(manager.pop("update_rate"), int)
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    controllers = {name: entry["type"] for name, entry in manager.items()}
    assert set(document) <= {"controller_manager", "/**/computed_torque_node", *controllers}
    for name, kind in controllers.items():
        own = parameters(file, name) if name in document else {}
        joints = own.get("joints", [])
        for parameter in flat(own):
            known = parameter
            for joint in joints:
                known = known.replace(f".{joint}.", ".<joint>.")
            assert known in KNOWN[kind], f"{name}: {parameter}"


def test_forward_command_controller_passes_efforts_on() -> None:
    """forward_command_controller.cpp: it claims <joint>/<interface_name> for each joint, in this order."""
    own = parameters(FORWARD, "forward_effort_controller")
    assert own["interface_name"] == "effort"
    assert own["joints"] == parameters(FORWARD, "/**/computed_torque_node")["joints"] == list(panda().joint_names)


def test_joint_trajectory_controller_adds_the_effort_of_points() -> None:
    """joint_trajectory_controller.cpp, on_configure and update: it does where effort is its only command interface.

    Then it wants position and velocity as state interfaces, and gains for each joint, which are 0 by default.
    """
    own = parameters(TRAJECTORY, "arm_controller")
    assert own["command_interfaces"] == ["effort"]
    assert {"position", "velocity"} <= set(own["state_interfaces"])
    assert own["joints"] == list(panda().joint_names) == parameters(TRAJECTORY, "/**/computed_torque_node")["joints"]
    assert list(own["gains"]) == own["joints"]
    assert all(gains["p"] > 0.0 and gains["d"] > 0.0 for gains in own["gains"].values())
    assert {name for name, value in own["constraints"].items() if isinstance(value, dict)} == set(own["joints"])
    numbers = [value for table in (own["gains"], own["constraints"]) for value in _leaves(table)]
    assert all(isinstance(value, float) for value in numbers), "ROS takes no integer for a double"


def _leaves(table: dict[str, Any]) -> Iterator[Any]:
    for value in table.values():
        yield from _leaves(value) if isinstance(value, dict) else [value]


@pytest.mark.parametrize("file", [FORWARD, TRAJECTORY], ids=lambda file: file.stem)
@pytest.mark.parametrize("node", ["/computed_torque_node", "/left/arm/computed_torque_node"])
def test_our_node_takes_its_part(file: Path, node: str) -> None:
    own = parameters(file, "/**/computed_torque_node")
    assert set(flat(own)) <= {parameter.name for parameter in ALL}
    values = read_parameter_file(file, node, ALL)
    assert values("joints") == own["joints"]
    Tuning(panda(), read_settings(values))
    read_tolerances(values, panda().joint_names)


@pytest.mark.parametrize("file", [FORWARD, TRAJECTORY], ids=lambda file: file.stem)
def test_ros_itself_reads_the_files(file: Path) -> None:
    """Its parser is not YAML's: it takes neither anchors nor lists of lists."""
    context = rclpy.Context()
    context.init(args=["--ros-args", "--params-file", str(file)])
    try:
        for name, namespace in (("computed_torque_node", "/arm"), ("controller_manager", "")):
            node = rclpy.create_node(
                name, namespace=namespace, context=context, automatically_declare_parameters_from_overrides=True
            )
            key = "/**/computed_torque_node" if namespace else name
            for parameter, value in parameters(file, key).items():
                if not isinstance(value, dict):
                    assert node.get_parameter(parameter).value == value
            node.destroy_node()
    finally:
        context.try_shutdown()


def test_moveit_finds_the_action() -> None:
    """moveit_simple_controller_manager.cpp: the action is <controller's name>/<action_ns>, joints must be given."""
    document = yaml.safe_load(MOVEIT.read_text(encoding="utf-8"))
    assert set(document) == {"moveit_controller_manager", "moveit_simple_controller_manager"}
    assert document["moveit_controller_manager"].endswith("/MoveItSimpleControllerManager")
    manager = document["moveit_simple_controller_manager"]
    (name,) = manager.pop("controller_names")
    (controller,) = manager.values()
    assert (
        set(controller) == {"type", "action_ns", "default", "joints"} and controller["type"] == "FollowJointTrajectory"
    )
    assert f"{name}/{controller['action_ns']}" == "computed_torque_node/follow_joint_trajectory"
    assert controller["joints"] == list(panda().joint_names) and controller["default"] is True


def panda() -> RobotModel:
    return RobotModel.from_urdf_file(robot_urdf("panda"))
