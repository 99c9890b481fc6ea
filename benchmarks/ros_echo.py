"""Echo node for comparison with the controller: publishes the controller's messages without any computation.

``python -m benchmarks.ros_echo --ros-args -p efforts_only:=true`` omits ~/command_states.
"""

from __future__ import annotations

from array import array

from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run

JOINTS = 7


class EchoNode(NodeProgram):
    """Node that responds to each joint_states message with constant, preallocated messages."""

    def __init__(self) -> None:
        super().__init__("echo_node")
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        numbers = array("d", [1.0] * JOINTS)
        self._effort = Float64MultiArray(data=numbers)
        self._state = JointState(
            name=[f"panda_joint{i}" for i in range(1, JOINTS + 1)],
            position=numbers,
            velocity=numbers,
            effort=numbers,
        )
        self._efforts = self.create_publisher(
            Float64MultiArray, "effort_commands", reliable
        )
        self.declare_parameter("efforts_only", False)
        only = self.get_parameter("efforts_only").value
        self._states = (
            None
            if only
            else self.create_publisher(
                JointState, "~/command_states", QoSProfile(depth=10)
            )
        )
        self.create_subscription(JointState, "joint_states", self._answer, best_effort)

    def _answer(self, message: JointState) -> None:
        self._efforts.publish(self._effort)
        if self._states is not None:
            self._state.header.stamp = message.header.stamp
            self._states.publish(self._state)


if __name__ == "__main__":
    run(EchoNode, ())
