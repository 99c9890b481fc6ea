"""What the controller says of itself: the log, and /diagnostics once a second and on each transition."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.safety import Mode, Transition
from robot_dynamics_ros.control.status import OK, WARN, Status, StatusReport, in_words
from robot_dynamics_ros.nodes.black_box import BlackBox
from robot_dynamics_ros.nodes.bounded_log import BoundedLog
from robot_dynamics_ros.nodes.diagnostics import diagnostics_message


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
