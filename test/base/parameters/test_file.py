"""Parameter files read without ROS, compared with rclpy on the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from rclpy.node import Node

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.resources import find_resource, robot_names
from robot_dynamics_ros.control.configuration import settings as controller
from robot_dynamics_ros.control.configuration.settings import NodeSettings
from robot_dynamics_ros.ros.nodes.node_parameters import declare

NODE = "/arm/computed_torque_node"
FILES = {
    "any": {
        "/**": {
            "ros__parameters": {
                "law": "pd",
                "gains": {"kp": [1.0, 2.0], "kd": [3.0]},
                "joints": ["a", "b"],
            }
        }
    },
    "own": {NODE: {"ros__parameters": {"law": "pd", "state_timeout": 0.5}}},
    "nested": {
        "arm": {
            "computed_torque_node": {
                "ros__parameters": {"update_rate": 100, "on_fault": "zero"}
            }
        }
    },
    "own wins": {
        NODE: {"ros__parameters": {"law": "pd_plus"}},
        "/**": {"ros__parameters": {"law": "pd", "gains": {"damping_ratio": [0.7]}}},
        "/other": {"ros__parameters": {"law": "feedforward"}},
    },
}


def _as_rclpy_reads(file: Path) -> Any:
    context = rclpy.Context()
    context.init()
    try:
        arguments = ["--ros-args", "--params-file", str(file)]
        node = Node(
            "computed_torque_node",
            namespace="/arm",
            context=context,
            cli_args=arguments,
        )
        declare(node, *controller.ALL)
        values = {
            parameter.name: parameter.read(
                lambda name: node.get_parameter_or(name).value
            )
            for parameter in controller.ALL
        }
        node.destroy_node()
    finally:
        context.try_shutdown()
    return values


def _without_rclpy(file: Path | None) -> Any:
    values = read_parameter_file(file, NODE, controller.ALL)
    return {parameter.name: parameter.read(values) for parameter in controller.ALL}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_values_equal_those_of_a_node(content: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    expected = _as_rclpy_reads(file)
    assert _without_rclpy(file) == expected
    assert expected != _without_rclpy(None)


@pytest.mark.parametrize("robot", robot_names())
def test_files_of_the_shipped_robots(robot: str) -> None:
    file = find_resource("config", f"{robot}.yaml")
    assert _without_rclpy(file) == _as_rclpy_reads(file)


def test_values_as_ros_writes_them(tmp_path: Path) -> None:
    """1e-3 is a number in ROS and a text in YAML 1.1; off is a boolean in both."""
    file = tmp_path / "parameters.yaml"
    lines = (
        "ramp_time: 1e-3",
        "state_timeout: .inf",
        "gains:",
        "  kp: [1e2]",
        "trajectory_limits: off",
    )
    file.write_text(
        "/**:\n  ros__parameters:\n" + "".join(f"    {line}\n" for line in lines)
    )
    values = _without_rclpy(file)
    assert (values["ramp_time"], values["gains.kp"], values["trajectory_limits"]) == (
        1e-3,
        (100.0,),
        "off",
    )
    assert values == _as_rclpy_reads(file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "No such file"),
        ("a: [", "YAML"),
        ("law: pd", "ros__parameters"),
        ("[1, 2]", "ros__parameters"),
        ("plant: {ros__parameters: {law: pd}}", "/plant"),
        ("/**: {ros__parameters: {law: pd}, gains: {ki: 3}}", "/gains/ki"),
        ("/**: {ros__parameters: }", "/ros__parameters"),
    ],
)
def test_other_files_are_refused(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(RobotDynamicsError) as caught:
        read_parameter_file(file, NODE, controller.ALL)
    assert str(caught.value).startswith(f"{file}: ") and words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("law", False), ("trajectory_limits", True), ("black_box_directory", False)],
)
def test_a_boolean_is_a_text_only_if_its_word_is_a_choice(
    name: str, value: bool
) -> None:
    (parameter,) = (parameter for parameter in controller.ALL if parameter.name == name)
    with pytest.raises(RobotDynamicsError, match=f"{value} is not allowed"):
        parameter.check(value)


@pytest.mark.parametrize(
    "names", [["cell/stop"], ["/a", "/b/"], ["/1"], ["~/stop"], "/a"]
)
def test_topics_have_full_names(names: object) -> None:
    topics = NodeSettings.parameters()["emergency_stop_topics"]
    assert topics.check(["/cell/stop_1"]) == ("/cell/stop_1",)
    with pytest.raises(RobotDynamicsError, match="full names"):
        topics.check(names)


def test_an_integer_beyond_all_floats_is_refused() -> None:
    with pytest.raises(RobotDynamicsError, match="black_box_seconds"):
        NodeSettings(black_box_seconds=10**400)


def test_unknown_parameters_of_this_node_alone_are_named(tmp_path: Path) -> None:
    path = tmp_path / "unknown.yaml"
    own = {
        "robot_file": "a",
        "use_sim_time": True,
        "qos_overrides": {"/joint_states": {"subscription": {"depth": 1}}},
    }
    tables = {
        "/**": {"ros__parameters": {"frame": "a"}},
        "computed_torque_node": {"ros__parameters": own},
    }
    path.write_text(yaml.safe_dump(tables))
    with pytest.warns(
        RobotModelWarning, match="parameter robot_file is unknown"
    ) as warned:
        read_parameter_file(path, "/computed_torque_node", controller.ALL)
    assert len(warned) == 1


def test_a_misspelt_parameter_is_named_with_the_one_that_is_meant(
    tmp_path: Path,
) -> None:
    path = tmp_path / "typo.yaml"
    path.write_text(
        yaml.safe_dump(
            {"/**": {"ros__parameters": {"gains": {"natural_freqency": [3.0]}}}}
        )
    )
    with pytest.warns(RobotModelWarning, match=r"gains\.natural_frequency"):
        read_parameter_file(path, NODE, controller.ALL)
