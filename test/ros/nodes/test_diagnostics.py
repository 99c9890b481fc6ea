"""Messages for /diagnostics."""

import time
from unittest.mock import Mock

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.control.interface import Note
from robot_dynamics_ros.ros.nodes.computed_torque_node import ComputedTorqueNode
from robot_dynamics_ros.ros.nodes.robot import load_robot
from support.ros import URDF


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


def test_a_node_that_waits_for_states_reports_what_it_sees_again_and_again(
    context: rclpy.Context,
) -> None:
    """A gripper publishes in the place of the arm: topic, publisher and joints are named, in status and log."""
    parameters = [
        Parameter("robot_description", value=URDF),
        Parameter("joints", value=["joint1"]),
    ]
    node = ComputedTorqueNode(context=context, parameter_overrides=parameters)
    logged: list[Note] = []
    node.log = Mock(note=logged.append)
    publisher = node.create_publisher(JointState, "joint_states", 1)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def send() -> None:
        publisher.publish(JointState(name=["finger"], position=[0.0]))

    node.create_timer(0.1, send)
    end = time.monotonic() + 60.0
    while len([note for note in logged if "joints seen: finger" in note.text]) < 2:
        assert time.monotonic() < end, logged
        executor.spin_once(timeout_sec=0.1)
    assert "waiting for /joint_states with joint1" in node.obstacle
    assert "/computed_torque_node" in node.obstacle and logged[-1].period > 0.0
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
