"""The topic ~/controller_state, as joint_trajectory_controller has it: what is desired, measured and commanded."""

from __future__ import annotations

from collections.abc import Sequence

from control_msgs.msg import JointTrajectoryControllerState
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from robot_dynamics_ros.control.goal_execution import Deadline
from robot_dynamics_ros.messages.running_controller import RunningController
from robot_dynamics_ros.nodes.messages import stamp, to_array, trajectory_point


class ControllerState:
    """Publishes what the last cycle did, where somebody listens."""

    def __init__(self, node: LifecycleNode, joint_names: Sequence[str]) -> None:
        self._node = node
        self._publisher = node.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", QoSProfile(depth=10)
        )
        self._message = JointTrajectoryControllerState()
        self._message.joint_names = list(joint_names)
        self._cycles = 0

    def begin(self, rate: float) -> None:
        """A controller starts; publish its cycles so many times (Hz) a second of its time."""
        self._deadline = Deadline(rate)
        self._cycles = 0

    def check(self, running: RunningController) -> None:
        """Publish the last cycle where that is due and has not been looked at before."""
        controller = running.controller
        command = controller.command
        if command is None or controller.cycles == self._cycles:
            return
        self._cycles = controller.cycles
        if not self._deadline.due(controller.time) or self._publisher.get_subscription_count() == 0:
            return
        message, desired = self._message, command.desired
        message.header.stamp = stamp(running.state_stamp)
        message.reference = trajectory_point((desired.q, desired.qd, desired.qdd))
        if controller.feedback.known:
            q, qd = controller.feedback.state
            message.feedback = trajectory_point((q, qd))
            message.error = trajectory_point((desired.q - q, desired.qd - qd))
        message.output.effort = to_array(command.effort)
        if hasattr(message, "speed_scaling_factor"):  # control_msgs 5.3.0 on (Jazzy)
            message.speed_scaling_factor = controller.speed_scaling
        self._publisher.publish(message)

    def destroy(self) -> None:
        """Take the topic out of the graph."""
        self._node.destroy_publisher(self._publisher)
