"""Messages for /diagnostics."""

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from robot_dynamics_ros.nodes.computed_torque_node import ComputedTorqueNode


def test_an_unconfigured_node_reports_the_reason(context: rclpy.Context) -> None:
    """The node accepts rclpy's options, so that several nodes can share a process."""
    parameters = [Parameter("robot_description", value="<robot"), Parameter("autostart", value=False)]
    node = ComputedTorqueNode(context=context, namespace="left", parameter_overrides=parameters)
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
    assert (status.level, status.name) == (DiagnosticStatus.WARN, "left/computed_torque_node: controller")
    assert status.message == "unconfigured"
    node.trigger_configure()
    assert last().message.startswith("unconfigured: URDF: ")
    executor.shutdown()
    node.destroy_node()
