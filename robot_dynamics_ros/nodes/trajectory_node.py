"""Publishes one trajectory that starts where the arm is, then ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.reference import point_to_point, quintic_then_sine
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave
from robot_dynamics_ros.nodes.messages import trajectory_message
from robot_dynamics_ros.nodes.parameters import declare, present_values
from robot_dynamics_ros.nodes.spinning import Program, run
from robot_dynamics_ros.parameters.bounds import POSITIVE
from robot_dynamics_ros.parameters.kinds import Names, Number, Numbers, Parameter, Text

JOINTS = Names("joints", [], "The joints to move; empty: those of the first joint_states message")
KIND = Text(
    "trajectory.kind",
    "quintic_then_sine",
    "Move to the center and swing about it, or only move there",
    choices=("quintic_then_sine", "point_to_point"),
)
START = Numbers(
    "trajectory.start",
    [],
    "Where the motion starts (rad or m); empty: where joint_states say",
    how_many="one for each joint",
)
CENTER = Numbers("trajectory.center", [0.0], "Where to go, and the middle of the sine (rad or m)")
AMPLITUDE = Numbers("trajectory.amplitude", [0.2], "Amplitude of the sine (rad or m)")
FREQUENCY = Numbers("trajectory.frequency", [0.3], "Frequency of the sine (Hz)")
MOVE_TIME = Number("trajectory.move_time", 3.0, "Seconds from the start to the center", POSITIVE)
TOTAL_TIME = Number(
    "trajectory.total_time", 10.0, "Seconds from start to end; point_to_point takes move_time only", POSITIVE
)
RATE = Number("trajectory.rate", 20.0, "Points per second; the controller interpolates by quintics", POSITIVE)
LISTENERS = Names(
    "listeners",
    ["computed_torque_node"],
    "Names of the nodes that must listen before it publishes",
    when="start",
)

ALL: tuple[Parameter[Any], ...] = (
    JOINTS,
    KIND,
    START,
    CENTER,
    AMPLITUDE,
    FREQUENCY,
    MOVE_TIME,
    TOTAL_TIME,
    RATE,
    LISTENERS,
)


class TrajectoryNode(Program, Node):
    """Waits for joint_states and for whoever listens, publishes on ``joint_trajectory``, and is done.

    The trajectory's stamp is 0: it starts when it arrives. Its points carry position, velocity and
    acceleration.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_node")
        declare(self, *ALL)
        self._values = present_values(self)
        self._listeners = set(LISTENERS.read(self._values))
        self._message: JointTrajectory | None = None
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
        self._publisher = self.create_publisher(JointTrajectory, "joint_trajectory", reliable)
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_subscription(JointState, "joint_states", self._receive_state, best_effort)
        self.create_timer(0.1, self._publish_when_heard)

    def _receive_state(self, message: JointState) -> None:
        if self._message is not None or self.done:
            return
        try:
            self._message = self._trajectory(message)
        except RobotDynamicsError as problem:
            self.get_logger().error(f"no trajectory: {problem}", throttle_duration_sec=5.0)

    def _trajectory(self, state: JointState) -> JointTrajectory | None:
        names = list(JOINTS.read(self._values)) or list(state.name)
        measured = dict(zip(state.name, state.position, strict=False))
        missing = [name for name in names if name not in measured]
        if len(missing) == len(names):
            return None  # a message of other joints
        if missing:
            raise RobotDynamicsError(f"joint_states do not tell where {', '.join(missing)} are. Cure: see joints")
        start = list(START.read(self._values)) or [measured[name] for name in names]
        return trajectory_message(self._points(names, start))

    def _points(self, names: list[str], start: list[float]) -> TrajectoryPoints:
        values = self._values
        center = _one_or_all(CENTER.read(values))
        move_time, rate = MOVE_TIME.read(values), RATE.read(values)
        if KIND.read(values) == "point_to_point":
            return point_to_point(names, start, center, move_time, rate)
        return quintic_then_sine(
            names,
            start,
            center,
            _one_or_all(AMPLITUDE.read(values)),
            _one_or_all(FREQUENCY.read(values)),
            move_time,
            TOTAL_TIME.read(values),
            rate,
        )

    def _publish_when_heard(self) -> None:
        if self._message is None:
            self.get_logger().info("waiting for joint_states", throttle_duration_sec=5.0)
        elif missing := self._missing_listeners():
            self.get_logger().info(
                f"waiting for {', '.join(sorted(missing))} to listen to {self._publisher.topic_name}",
                throttle_duration_sec=5.0,
            )
        elif not self.done:
            self._publisher.publish(self._message)
            if not self._publisher.wait_for_all_acked(Duration(seconds=1.0)):  # signals wait meanwhile
                self.get_logger().warning("not every subscriber confirmed the trajectory within a second")
            self.get_logger().info(f"published a trajectory of {len(self._message.points)} points")
            self.done = True

    def _missing_listeners(self) -> set[str]:
        """Nodes that do not listen yet; a recorder or `ros2 topic echo` may have come before the controller."""
        endpoints = self.get_subscriptions_info_by_topic(self._publisher.topic_name)
        if self._publisher.get_subscription_count() < len(self._listeners):
            return self._listeners  # in the graph already, but not connected
        return self._listeners - {endpoint.node_name for endpoint in endpoints}


def _one_or_all(values: Sequence[float]) -> float | Sequence[float]:
    return values[0] if len(values) == 1 else values


def main() -> None:
    """Publish the trajectory; ends by itself, or on SIGINT or SIGTERM."""
    leave(run(TrajectoryNode))


if __name__ == "__main__":
    main()
