"""Configurations for ros2_control and MoveIt agree with the controller's; no controller runs on them here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.control.configuration.settings import (
    ALL,
    NodeSettings,
    read_settings,
)
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.goals import Tolerances

CONFIG = Path(__file__).resolve().parent.parent / "config"
FORWARD, TRAJECTORY, DRIVES = (
    CONFIG / f"ros2_control_{name}.yaml"
    for name in ("forward_effort", "joint_trajectory", "forward_drives")
)
OURS = "/**/computed_torque_node"
EACH = pytest.mark.parametrize(
    "file", [FORWARD, TRAJECTORY, DRIVES], ids=lambda file: file.stem
)


def parameters(file: Path, node: str) -> dict[str, Any]:
    return dict(
        yaml.safe_load(file.read_text(encoding="utf-8"))[node]["ros__parameters"]
    )


def flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        yield from (
            flat(value, f"{prefix}{key}.")
            if isinstance(value, dict)
            else [(prefix + key, value)]
        )


def panda() -> RobotModel:
    return RobotModel.from_urdf_file(robot_urdf("panda"))


def test_controllers_have_the_effort_interfaces_and_joint_order() -> None:
    """See joint_trajectory_controller.cpp with effort as its only command interface; its gains default to 0."""
    forward = parameters(FORWARD, "forward_effort_controller")
    arm = parameters(TRAJECTORY, "arm_controller")
    for file, joints in ((FORWARD, forward["joints"]), (TRAJECTORY, arm["joints"])):
        assert joints == parameters(file, OURS)["joints"] == list(panda().joint_names)
    assert forward["interface_name"] == "effort" and arm["command_interfaces"] == [
        "effort"
    ]
    assert {"position", "velocity"} <= set(arm["state_interfaces"])
    assert list(arm["gains"]) == arm["joints"]
    assert all(gains["p"] > 0.0 and gains["d"] > 0.0 for gains in arm["gains"].values())
    assert {
        name for name, value in arm["constraints"].items() if isinstance(value, dict)
    } == set(arm["joints"])
    numbers = [
        value
        for table in (arm["gains"], arm["constraints"])
        for _, value in flat(table)
    ]
    assert all(isinstance(value, float) for value in numbers), (
        "ROS takes no integer for a double"
    )


def test_each_command_interface_of_the_drives_has_a_controller() -> None:
    own = parameters(DRIVES, OURS)
    manager = parameters(DRIVES, "controller_manager")
    for interface in own["command_interfaces"]:
        controller = parameters(DRIVES, f"forward_{interface}_controller")
        assert controller == {"interface_name": interface, "joints": own["joints"]}
        assert (
            manager[f"forward_{interface}_controller"]["type"]
            == "forward_command_controller/ForwardCommandController"
        )


@EACH
def test_node_accepts_its_parameters_of_the_file(file: Path) -> None:
    own = parameters(file, OURS)
    assert {name for name, _ in flat(own)} <= {parameter.name for parameter in ALL}
    values = read_parameter_file(file, "/left/arm/computed_torque_node", ALL)
    assert values("joints") == own["joints"]
    Tuning(panda(), read_settings(values))
    Tolerances.of(NodeSettings.read(values), panda().joint_names)


@EACH
def test_parser_of_ros_reads_the_files(file: Path) -> None:
    """ROS's parser is not a YAML parser: it accepts neither anchors nor lists of lists."""
    context = rclpy.Context()
    context.init(args=["--ros-args", "--params-file", str(file)])
    try:
        for name, namespace, key in (
            ("computed_torque_node", "/arm", OURS),
            ("controller_manager", "", None),
        ):
            node = rclpy.create_node(
                name,
                namespace=namespace,
                context=context,
                automatically_declare_parameters_from_overrides=True,
            )
            for parameter, value in parameters(file, key or name).items():
                if not isinstance(value, dict):
                    assert node.get_parameter(parameter).value == value
            node.destroy_node()
    finally:
        context.try_shutdown()


def test_moveit_finds_the_action() -> None:
    """moveit_simple_controller_manager.cpp: the action is <controller's name>/<action_ns>, joints are required."""
    document = yaml.safe_load(
        (CONFIG / "moveit_controllers.yaml").read_text(encoding="utf-8")
    )
    manager = document["moveit_simple_controller_manager"]
    (name,) = manager["controller_names"]
    assert (
        f"{name}/{manager[name]['action_ns']}"
        == "computed_torque_node/follow_joint_trajectory"
    )
    assert manager[name]["type"] == "FollowJointTrajectory"
    assert manager[name]["joints"] == list(panda().joint_names)
