"""Outputs of the controller: commands, states, diagnostics and the log of its transitions."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.safety import Cause, Mode
from robot_dynamics_ros.control.status import OK, WARN, Status, StatusReport, in_words
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import EffortWriter
from robot_dynamics_ros.messages.joint_state import JointStateWriter
from robot_dynamics_ros.nodes.black_box import BlackBox
from robot_dynamics_ros.nodes.messages import diagnostics_message
from robot_dynamics_ros.nodes.node_program import NodeProgram

_NONE: Array = np.empty(0)
_MAX_DEADLINE = 3600.0  # s
_DISCOVERY_TIME = 3.0  # s from the activation on


class ControllerOutputs:
    """Topics of a configured controller, except /diagnostics and those of control_msgs."""

    def __init__(self, node: LifecycleNode, joint_names: Sequence[str], longest_gap: float, box: BlackBox) -> None:
        """``longest_gap``: time (s) between two effort_commands, offered as deadline and lease; inf: none."""
        overridable = QoSOverridingOptions.with_default_policies()
        heartbeat = QoSOverridingOptions([*overridable.policy_kinds, QoSPolicyKind.DEADLINE])
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        if longest_gap < _MAX_DEADLINE:
            reliable.deadline = reliable.liveliness_lease_duration = Duration(seconds=longest_gap)
            # Manual liveliness would repeat the deadline, for another 12 us a cycle.
            reliable.liveliness = LivelinessPolicy.AUTOMATIC
        self._node, self._box = node, box
        self._efforts = node.create_publisher(
            Float64MultiArray, "effort_commands", reliable, qos_overriding_options=heartbeat
        )
        self._states = node.create_publisher(JointState, "~/command_states", 10, qos_overriding_options=overridable)
        self._external = node.create_publisher(JointState, "~/external_torque", 10)
        self._trajectories = node.create_publisher(JointTrajectory, "~/joint_trajectory_with_effort", 5)
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
        self._last = command, answered
        self.repeat()

    def repeat(self) -> None:
        """Publish the last command again, as an answer to the same state."""
        if self._last is None:
            return
        command, answered = self._last
        self.effort(command.effort)
        desired = command.desired
        data = self._command_state.write(answered, desired.q, desired.qd, command.effort, self._number)
        self._states.publish(data)
        self._box.add("~/command_states", data)

    def unsolicited(self, command: Command) -> None:
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
    def has_trajectory_subscribers(self) -> bool:
        """True if ~/joint_trajectory_with_effort has a subscription."""
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
        """Wait until the subscribers have received the efforts."""
        self._efforts.wait_for_all_acked(Duration(seconds=0.5))

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher in (self._efforts, self._states, self._external, self._trajectories, self._configuration):
            self._node.destroy_publisher(publisher)


class ControllerReport:
    """Publisher of /diagnostics, and log of every transition.

    Attributes
    ----------
    robot
        The robot's name; empty while it is unknown.
    box
        Recorder of what is published, which writes a bag after a fault; None while there is none.
    other_publishers
        Warning about additional publishers of topics that shall have one; empty while there are none.
    """

    def __init__(self, node: NodeProgram) -> None:
        self._node = node
        self.robot = ""
        self.box: BlackBox | None = None
        self.other_publishers = ""
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.begin()

    def begin(self) -> None:
        """Count from zero, as a controller that starts now."""
        self._status = StatusReport(time.monotonic())

    def transitions(self, controller: Controller, stamp: int) -> None:
        """Log and publish each transition since the last call; ``stamp`` (ns) is that of the state.

        The stop on deactivation is only logged.
        """
        for transition in controller.take_transitions():
            service = f"{self._node.get_fully_qualified_name()}/clear_fault"
            cure = f"`ros2 service call {service} std_srvs/srv/Trigger`, or fault_reset: auto"
            level, text = in_words(transition, cure)
            if level == OK:
                self._node.log.info(text)
            elif level == WARN:
                self._node.log.warning(text)
            else:
                self._node.log.error(text)
            if transition.fault.cause is Cause.DEACTIVATED:  # no fault, and the motion that it ends may be complete
                continue
            if self.box is not None and transition.before is Mode.ACTIVE:
                self.box.fault()
            self._send(self._status.status(controller, time.monotonic(), self._age(stamp), transition))

    def waiting(self, controller: Controller) -> None:
        """Log that nothing is commanded yet, and why."""
        self._node.log.warning(f"nothing is commanded yet: {controller.feedback.trouble}", throttle_duration_sec=5.0)

    def regularly(self, controller: Controller, stamp: int) -> None:
        """Publish the status; ``stamp`` (ns) is that of the last joint_states."""
        self._send(self._status.status(controller, time.monotonic(), self._age(stamp), None))
        self._status.report(controller, time.monotonic())

    def without_controller(self, state: str, obstacle: str) -> None:
        """Publish the state of a node that is not active, and what prevents the next one, if anything does."""
        level = WARN if obstacle or state == "unconfigured" else OK
        self._send(Status(level, f"{state}: {obstacle}" if obstacle else state, {"mode": state}))

    def _age(self, stamp: int) -> float:
        return float(self._node.get_clock().now().nanoseconds - stamp) * 1e-9

    def _send(self, status: Status) -> None:
        if self.other_publishers and status.level == OK:
            status = status._replace(level=WARN, message=f"{status.message}: {self.other_publishers}")
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: controller"
        now = self._node.get_clock().now().to_msg()
        data = serialize_message(diagnostics_message(now, name, self.robot, status))
        self._publisher.publish(data)
        if self.box is not None:
            self.box.add("/diagnostics", data)


def discovery_error(node: Node, topic: str, seconds: float) -> str:
    """Return cause and cure if ``topic`` has publishers and nothing was received in so many seconds, else ""."""
    publishers = node.count_publishers(topic)
    if seconds < _DISCOVERY_TIME or publishers == 0:
        return ""
    name = node.resolve_topic_name(topic)
    return (
        f"{name} has {publishers} {'publisher' if publishers == 1 else 'publishers'}, but nothing has come in "
        f"{seconds:.0f} s. Cure: see that it publishes (`ros2 topic hz {name}`); where this node was killed before "
        "(kill -9), the shared memory between the two may be broken: end this node in order and start it again, else "
        "start the publisher again, too"
    )


def other_publishers(node: Node) -> str:
    """Return cause and cure if others publish effort_commands, or more than one joint_states, else ""."""
    texts, me = [], node.get_fully_qualified_name()
    for topic in ("effort_commands", "joint_states"):
        if node.count_publishers(topic) < 2:  # takes a tenth of the time of the names
            continue
        infos = node.get_publishers_info_by_topic(topic)
        names = sorted(f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in infos)
        if len(names) > 1:  # discovery counts a publisher before its name is known
            if me in names:
                names.remove(me)
            texts.append(f"{node.resolve_topic_name(topic)} is to have one publisher, others are {', '.join(names)}")
    return f"{'; '.join(texts)}. Cure: end all but one publisher of each" if texts else ""
