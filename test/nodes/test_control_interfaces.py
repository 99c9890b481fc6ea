"""A node where control_msgs is not installed."""

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest
import rclpy

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.nodes import control_interfaces
from robot_dynamics_ros.nodes.computed_torque_node import ComputedTorqueNode
from robot_dynamics_ros.nodes.control_interfaces import ControlInterfaces
from robot_dynamics_ros.parameters.controller import ALL

DEFAULTS: dict[str, Any] = {parameter.name: parameter.default for parameter in ALL}
NAMES = ("joint1", "joint2")


def test_without_control_msgs_nothing_is_there_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_interfaces, "INSTALLED", False)
    node: Any = SimpleNamespace()  # that can make no topic
    interfaces = ControlInterfaces(node, NAMES, DEFAULTS.get)
    interfaces.begin(node)
    interfaces.check()
    interfaces.abort("why")
    interfaces.end()
    assert not interfaces.owe_results
    interfaces.destroy()


@pytest.mark.parametrize("installed", [False, control_interfaces.INSTALLED])
def test_parameters_are_checked_with_and_without_it(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_interfaces, "INSTALLED", installed)
    for name, value in (("constraints.path_tolerance", [0.1] * 3), ("state_publish_rate", 0.0)):
        with pytest.raises(RobotDynamicsError, match=name):
            ControlInterfaces(SimpleNamespace(), NAMES, {**DEFAULTS, name: value}.get)  # type: ignore[arg-type]


@pytest.mark.skipif(find_spec("control_msgs") is not None, reason="control_msgs is installed")
def test_the_node_says_so_once(capfd: pytest.CaptureFixture[str]) -> None:
    rclpy.init()
    try:
        node = ComputedTorqueNode()
        log = capfd.readouterr().err
        assert log.count("control_msgs is not installed: there is no ~/follow_joint_trajectory") == 1, log
        assert "waiting for the topic robot_description" in log
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
