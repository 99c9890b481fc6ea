"""Publishes one trajectory that starts where the arm is, then ends."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.reference import point_to_point, quintic_then_sine
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave
from robot_dynamics_ros.nodes.messages import JointStateReader, trajectory_message
from robot_dynamics_ros.nodes.parameters import (
    declare,
    read_names,
    read_number,
    read_numbers,
    read_text,
)
from robot_dynamics_ros.nodes.spinning import Program, run

_KINDS = ("quintic_then_sine", "point_to_point")


class TrajectoryNode(Program, Node):
    """Waits for joint_states and for whoever listens, publishes on ``joint_trajectory``, and is done.

    The trajectory's stamp is 0: it starts when it arrives. Its points carry position, velocity and
    acceleration.
    """

    def __init__(self) -> None:
        super().__init__("trajectory_node")
        declare(self, "joints", [""], "The joints to move; empty: those of the first joint_states message")
        declare(self, "trajectory.kind", _KINDS[0], " or ".join(_KINDS))
        declare(self, "trajectory.start", [], "Where the motion starts (rad or m); empty: where joint_states say")
        declare(self, "trajectory.center", [0.0], "Where to go, and the middle of the sine (rad or m)")
        declare(self, "trajectory.amplitude", [0.2], "Amplitude of the sine (rad or m)")
        declare(self, "trajectory.frequency", [0.3], "Frequency of the sine (Hz)")
        declare(self, "trajectory.move_time", 3.0, "Seconds from the start to the center")
        declare(
            self,
            "trajectory.total_time",
            10.0,
            "Seconds from start to end; point_to_point takes move_time only",
        )
        declare(self, "trajectory.rate", 20.0, "Points per second; the controller interpolates by quintics")
        declare(self, "listeners", ["computed_torque_node"], "Names of the nodes that must listen before it publishes")
        self._listeners = {name for name in read_names(self, "listeners") if name}
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
        names = [name for name in read_names(self, "joints") if name] or list(state.name)
        measured = JointStateReader(names).read(state)
        if measured is None:
            return None
        start = read_numbers(self, "trajectory.start") or measured[0].tolist()
        return trajectory_message(self._points(names, start))

    def _points(self, names: list[str], start: list[float]) -> TrajectoryPoints:
        kind = read_text(self, "trajectory.kind")
        center = _one_or_all(read_numbers(self, "trajectory.center"))
        move_time = read_number(self, "trajectory.move_time")
        rate = read_number(self, "trajectory.rate")
        if kind == "point_to_point":
            return point_to_point(names, start, center, move_time, rate)
        if kind == "quintic_then_sine":
            return quintic_then_sine(
                names,
                start,
                center,
                _one_or_all(read_numbers(self, "trajectory.amplitude")),
                _one_or_all(read_numbers(self, "trajectory.frequency")),
                move_time,
                read_number(self, "trajectory.total_time"),
                rate,
            )
        raise RobotDynamicsError(f"parameter trajectory.kind: {kind!r} is unknown. Cure: use {' or '.join(_KINDS)}")

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


def _one_or_all(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values


def main() -> None:
    """Publish the trajectory; ends by itself, or on SIGINT or SIGTERM."""
    leave(run(TrajectoryNode))


if __name__ == "__main__":
    main()
