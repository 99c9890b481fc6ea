"""What the controller says of itself: the log, and /diagnostics once a second and on each transition."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.safety import Mode, Transition
from robot_dynamics_ros.nodes.diagnostics import ERROR, OK, WARN, diagnostics_message


class ControllerReport:
    """The topic /diagnostics, and the log of every transition."""

    def __init__(self, node: LifecycleNode, robot: str) -> None:
        self._node = node
        self._robot = robot
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", QoSProfile(depth=10))
        self.begin()

    def begin(self) -> None:
        """A controller starts, that counts from zero."""
        self._cycles, self._since, self._clamped = 0, time.monotonic(), 0

    def transitions(self, controller: Controller, stamp: int) -> None:
        """Publish and log the transitions since the last call, each by itself; ``stamp`` (ns) is that of the state."""
        for transition in controller.take_transitions():
            self._log(transition)
            self._publish(controller, stamp, transition)

    def waiting(self, controller: Controller) -> None:
        """Say that nothing is commanded yet, and why."""
        self._node.get_logger().warning(
            f"nothing is commanded yet: {controller.feedback.trouble}", throttle_duration_sec=5.0
        )

    def regularly(self, controller: Controller, stamp: int) -> None:
        """Publish the state of things; ``stamp`` (ns) is that of the last joint_states."""
        self._publish(controller, stamp, None)
        self._cycles, self._since, self._clamped = controller.cycles, time.monotonic(), controller.clamped_cycles

    def inactive(self) -> None:
        """Publish that there is nothing to tell."""
        self._send(OK, "inactive", {"mode": "inactive"})

    def destroy(self) -> None:
        """Take the topic out of the graph."""
        self._node.destroy_publisher(self._publisher)

    def _log(self, transition: Transition) -> None:
        logger = self._node.get_logger()
        text = f"{transition.before.value} -> {transition.after.value}"
        if transition.after is Mode.ACTIVE:
            logger.info(f"{text}: the fault is cleared, the arm holds where it is")
        elif transition.after is Mode.FAULT:
            logger.warning(
                f"{text}: every check passes again. Cure: `ros2 service call {self._node.get_fully_qualified_name()}"
                "/clear_fault std_srvs/srv/Trigger`, or fault_reset: auto"
            )
        else:
            logger.error(f"{text}: {transition.fault.message}")

    def _publish(self, controller: Controller, stamp: int, transition: Transition | None) -> None:
        now, clock = time.monotonic(), self._node.get_clock().now()
        mode = controller.mode if transition is None else transition.after
        fault = controller.fault if transition is None else transition.fault
        if mode is Mode.ACTIVE and transition is None:
            fault = None  # that is over
        feedback = controller.feedback
        level, message = OK, mode.value
        if mode is not Mode.ACTIVE:
            level, message = ERROR, mode.value if fault is None else f"{mode.value}: {fault.message}"
        elif controller.cycles == 0:
            level, message = WARN, f"waiting: {feedback.trouble}"
        elif controller.clamped_cycles > self._clamped:
            level, message = WARN, "active, at the effort limit"
        values: dict[str, object] = {
            "law": controller.settings.law,
            "mode": mode.value,
            "previous mode": "" if transition is None else transition.before.value,
            "cause": "" if fault is None else fault.cause.value,
            "joint": "" if fault is None else fault.joint,
            "value": "" if fault is None else fault.value,
            "faults": controller.fault_count,
            "cycles": controller.cycles,
            "rate": (controller.cycles - self._cycles) / max(now - self._since, 1e-3),
            "late cycles": controller.late_cycles,
            "clamped cycles": controller.clamped_cycles,
            "rate limited cycles": controller.slowed_cycles,
            "state age": feedback.age(now) if feedback.known else "",
            "stamp age": (clock.nanoseconds - stamp) * 1e-9 if feedback.known else "",
            "speed scaling": controller.speed_scaling,
        }
        self._send(level, message, values)

    def _send(self, level: bytes, message: str, values: dict[str, object]) -> None:
        stamp = self._node.get_clock().now().to_msg()
        name = f"{self._node.get_fully_qualified_name().lstrip('/')}: controller"
        self._publisher.publish(diagnostics_message(stamp, name, self._robot, level, message, values))
