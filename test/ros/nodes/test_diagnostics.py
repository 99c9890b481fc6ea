"""Messages for /diagnostics."""

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.ros.nodes.computed_torque_node import ComputedTorqueNode
from robot_dynamics_ros.ros.nodes.robot import load_robot


def test_an_unconfigured_node_reports_the_reason(context: rclpy.Context) -> None:
    """The node accepts rclpy's options, so that several nodes can share a process."""
    parameters = [
        Parameter("robot_description", value="<robot"),
        Parameter("autostart", value=False),
    ]
    node = ComputedTorqueNode(
        context=context, namespace="left", parameter_overrides=parameters
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    messages: list[DiagnosticArray] = []
    node.create_subscription(DiagnosticArray, "/diagnostics", messages.append, 10)

    def last() -> DiagnosticStatus:
        messages.clear()
        while not messages:
            executor.spin_once(timeout_sec=1.0)
        return messages[0].status[0]

    status = last()
    assert (status.level, status.name) == (
        DiagnosticStatus.WARN,
        "left/computed_torque_node: controller",
    )
    assert status.message == "unconfigured"
    node.trigger_configure()
    assert last().message.startswith("unconfigured: URDF: ")
    executor.shutdown()
    node.destroy_node()


def test_a_robot_that_is_loaded_again_is_logged_once(
    context: rclpy.Context, capfd: pytest.CaptureFixture[str]
) -> None:
    """As after a compilation; link 3 of the PUMA 560 violates the triangle inequality, and its URDF has no friction."""
    node = ComputedTorqueNode(
        context=context, parameter_overrides=[Parameter("autostart", value=False)]
    )
    for _ in range(2):
        load_robot(node, robot_urdf("puma560").read_text(encoding="utf-8"))
    node.destroy_node()
    lines = capfd.readouterr().err.splitlines()
    assert [sum(part in line for line in lines) for part in ("link3", "friction")] == [
        1,
        1,
    ]
