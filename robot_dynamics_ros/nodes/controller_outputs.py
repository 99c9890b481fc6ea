"""What the controller publishes in each cycle, serialized here: rclpy takes three times as long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.controller import Command
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.effort_commands import EffortWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.nodes.black_box import BlackBox

_NONE: Array = np.empty(0)
_LONGEST_DEADLINE = 3600.0  # s


class ControllerOutputs:
    """The topics that a configured controller publishes, but for those of diagnostics and control_msgs."""

    def __init__(self, node: LifecycleNode, joint_names: Sequence[str], longest_gap: float, box: BlackBox) -> None:
        """``longest_gap``: time (s) between two effort_commands that is offered as deadline and lease; inf: none."""
        overridable = QoSOverridingOptions.with_default_policies()
        heartbeat = QoSOverridingOptions([*overridable.policy_kinds, QoSPolicyKind.DEADLINE])
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        if longest_gap < _LONGEST_DEADLINE:
            reliable.deadline = reliable.liveliness_lease_duration = Duration(seconds=longest_gap)
            # Manual liveliness would say the same as the deadline, for another 12 us a cycle.
            reliable.liveliness = LivelinessPolicy.AUTOMATIC
        self._node, self._box = node, box
        self._efforts = node.create_publisher(
            Float64MultiArray, "effort_commands", reliable, qos_overriding_options=heartbeat
        )
        self._states = node.create_publisher(
            JointState, "~/command_states", QoSProfile(depth=10), qos_overriding_options=overridable
        )
        self._external = node.create_publisher(JointState, "~/external_torque", QoSProfile(depth=10))
        self._trajectories = node.create_publisher(
            JointTrajectory, "~/joint_trajectory_with_effort", QoSProfile(depth=5)
        )
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._configuration = node.create_publisher(String, "~/configuration", latched)
        self._effort = EffortWriter(len(joint_names))
        self._joint_state = JointStateWriter(joint_names)
        self._command_state = JointStateWriter(joint_names, numbered=True)
        self._number = 0
        self._last: tuple[Command, int] | None = None

    def command(self, command: Command, answered: int) -> None:
        """Publish a command, with the stamp (ns) of the state that it answers."""
        self._number += 1
        self._publish(command, answered)

    def _publish(self, command: Command, answered: int) -> None:
        self._last = command, answered
        self.effort(command.effort)
        desired = command.desired
        data = self._command_state.write(answered, desired.q, desired.qd, command.effort, self._number)
        self._states.publish(data)
        self._box.add("~/command_states", data)

    def repeat(self) -> None:
        """Publish what was commanded last once more, as an answer to the same state."""
        if self._last is not None:
            self._publish(*self._last)

    def unasked(self, command: Command) -> None:
        """Publish a command that answers no state."""
        self.effort(command.effort)
        if self._last is not None:
            self._last = command, self._last[1]

    def effort(self, effort: Array) -> None:
        """Publish efforts (n,)."""
        data = self._effort.write(effort)
        self._efforts.publish(data)
        self._box.add("effort_commands", data)

    def external_torque(self, torque: Array, at: int) -> None:
        """Publish the observed external torque (n,), with the stamp (ns) of the state."""
        self._external.publish(self._joint_state.write(at, _NONE, _NONE, torque))

    @property
    def trajectory_is_wanted(self) -> bool:
        """Whether anybody listens to ~/joint_trajectory_with_effort."""
        return bool(self._trajectories.get_subscription_count() > 0)

    def trajectory(self, data: bytes) -> None:
        """Publish a trajectory with effort, serialized."""
        self._trajectories.publish(data)

    def configuration(self, text: str) -> None:
        """Publish the robot and the parameters, for recorders."""
        data = serialize_message(String(data=text))
        self._configuration.publish(data)
        self._box.add("~/configuration", data)

    def flush(self) -> None:
        """Wait until whoever takes the efforts has them."""
        self._efforts.wait_for_all_acked(Duration(seconds=0.5))

    def destroy(self) -> None:
        """Take the topics out of the graph."""
        for publisher in (self._efforts, self._states, self._external, self._trajectories, self._configuration):
            self._node.destroy_publisher(publisher)
