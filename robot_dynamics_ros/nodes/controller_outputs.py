"""What the controller publishes: commands, states and, beside them, log and diagnostics."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.safety import Cause, Mode, Transition
from robot_dynamics_ros.control.status import OK, WARN, Status, StatusReport, in_words
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import EffortWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.nodes.black_box import BlackBox
from robot_dynamics_ros.nodes.diagnostics import BoundedLog, diagnostics_message

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


class ControllerReport:
    """The topic /diagnostics, and the log of every transition.

    Attributes
    ----------
    robot
        The robot's name; empty while it is not known.
    box
        Keeps what is published, and is told of faults; None while there is none.
    other_publishers
        Warning about others that publish what one node alone should; empty while there are none.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self.robot = ""
        self.box: BlackBox | None = None
        self.other_publishers = ""
        self._logger = BoundedLog(node.get_logger())
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
        self.begin()

    def begin(self) -> None:
        """A controller starts, that counts from zero."""
        self._status = StatusReport(time.monotonic())

    def transitions(self, controller: Controller, stamp: int) -> None:
        """Log and publish each transition since the last call; ``stamp`` (ns) is that of the state.

        The stop before the end is only logged.
        """
        for transition in controller.take_transitions():
            self._log(transition)
            if transition.fault.cause is Cause.DEACTIVATED:  # no fault, and the motion that it ends may be complete
                continue
            if self.box is not None and transition.before is Mode.ACTIVE:
                self.box.fault()
            self._publish(controller, stamp, transition)

    def waiting(self, controller: Controller) -> None:
        """Say that nothing is commanded yet, and why."""
        self._logger.warning(f"nothing is commanded yet: {controller.feedback.trouble}", throttle_duration_sec=5.0)

    def regularly(self, controller: Controller, stamp: int) -> None:
        """Publish the state of things; ``stamp`` (ns) is that of the last joint_states."""
        self._publish(controller, stamp, None)
        self._status.told(controller, time.monotonic())

    def without_controller(self, state: str, obstacle: str) -> None:
        """Publish the state of a node that is not active, and what has kept it from the next one, if anything has."""
        level = WARN if obstacle or state == "unconfigured" else OK
        self._send(Status(level, f"{state}: {obstacle}" if obstacle else state, {"mode": state}))

    def _log(self, transition: Transition) -> None:
        service = f"{self._node.get_fully_qualified_name()}/clear_fault"
        level, text = in_words(transition, f"`ros2 service call {service} std_srvs/srv/Trigger`, or fault_reset: auto")
        if level == OK:
            self._logger.info(text)
        elif level == WARN:
            self._logger.warning(text)
        else:
            self._logger.error(text)

    def _publish(self, controller: Controller, stamp: int, transition: Transition | None) -> None:
        stamp_age = (self._node.get_clock().now().nanoseconds - stamp) * 1e-9
        self._send(self._status.status(controller, time.monotonic(), stamp_age, transition))

    def _send(self, status: Status) -> None:
        if self.other_publishers and status.level == OK:
            status = Status(WARN, f"{status.message}: {self.other_publishers}", status.values)
        stamp = self._node.get_clock().now().to_msg()
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: controller"
        data = serialize_message(diagnostics_message(stamp, name, self.robot, bytes([status.level]), *status[1:]))
        self._publisher.publish(data)
        if self.box is not None:
            self.box.add("/diagnostics", data)
