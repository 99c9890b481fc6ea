"""Publishes one trajectory that starts where the arm is, then ends."""

from __future__ import annotations

from typing import Any

from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.feedback import LARGEST
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave
from robot_dynamics_ros.nodes.messages import nanoseconds, stamp, trajectory_message
from robot_dynamics_ros.nodes.parameters import declare, present_values
from robot_dynamics_ros.nodes.spinning import Program, run
from robot_dynamics_ros.parameters.trajectory import (
    ALL,
    FILE,
    FROM_FILE,
    JOINTS,
    KIND,
    LISTENERS,
    START,
    START_DELAY,
    trajectory_from,
    trajectory_of_file,
)


class TrajectoryNode(Program):
    """Waits for joint_states and for whoever listens, publishes on ``joint_trajectory``, and is done.

    The trajectory's stamp is 0, so that it starts when it arrives, or that of the newest joint_states and
    ``trajectory.start_delay``. Its points carry position, velocity and acceleration. One from a file is published as it
    is, and without delay waits for no joint_states.
    """

    def __init__(self, **options: Any) -> None:
        """``options`` are those of rclpy's Node, as namespace and parameter_overrides."""
        super().__init__("trajectory_node", **options)
        declare(self, *ALL)
        self._values = present_values(self)
        self._listeners = set(LISTENERS.read(self._values))
        self._file: JointTrajectory | None = None
        self._delay = START_DELAY.read(self._values)
        self._now: int | None = None
        self._state: JointState | None = None
        reliable = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
        self._publisher = self.create_publisher(JointTrajectory, "joint_trajectory", reliable)
        best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.create_polled(JointState, "joint_states", self._receive_state, best_effort, raw=False)
        self.create_steady_timer(0.1, self._publish_when_heard)

    def _receive_state(self, message: JointState) -> None:
        if not _is_whole(message):
            self.get_logger().error(
                f"joint_states: a message of {len(message.name)} names and {len(message.position)} positions, or with "
                "positions that cannot be, is ignored. Cure: check its publisher",
                throttle_duration_sec=5.0,
            )
            return
        self._now = nanoseconds(message.header.stamp)
        self._state = message

    def _make(self) -> JointTrajectory | None:
        """The trajectory from where the arm is now; None where that is not known yet."""
        try:
            if self._file is None:
                self._file = self._read_file()
            return self._file or (None if self._state is None else self._trajectory(self._state))
        except RobotDynamicsError as problem:
            self.get_logger().error(f"no trajectory: {problem}", throttle_duration_sec=5.0)
            return None

    def _read_file(self) -> JointTrajectory | None:
        return trajectory_message(trajectory_of_file(self._values)) if KIND.read(self._values) == FROM_FILE else None

    def _trajectory(self, state: JointState) -> JointTrajectory | None:
        if KIND.read(self._values) == FROM_FILE:
            return None
        names = list(JOINTS.read(self._values)) or list(state.name)
        measured = dict(zip(state.name, state.position, strict=False))
        missing = [name for name in names if name not in measured]
        if len(missing) == len(names):
            return None  # a message of other joints
        if missing:
            raise RobotDynamicsError(f"joint_states do not tell where {', '.join(missing)} are. Cure: see joints")
        start = list(START.read(self._values)) or [measured[name] for name in names]
        return trajectory_message(trajectory_from(self._values, names, start))

    def _publish_when_heard(self) -> None:
        if self.done:
            return
        self.poll()
        message = self._make()
        if message is None or (self._delay > 0.0 and self._now is None):
            from_file = message is None and self._values(KIND.name) == FROM_FILE
            source = FILE.name if from_file else "joint_states"
            self.get_logger().info(f"waiting for {source}", throttle_duration_sec=5.0)
        elif missing := self._missing_listeners():
            self.get_logger().info(
                f"waiting for {', '.join(sorted(missing))} to listen to {self._publisher.topic_name}",
                throttle_duration_sec=5.0,
            )
        else:
            if self._now is not None and self._delay > 0.0:
                message.header.stamp = stamp(self._now + round(self._delay * 1e9))
            self._publisher.publish(message)
            if not self._publisher.wait_for_all_acked(Duration(seconds=1.0)):  # signals wait meanwhile
                self.get_logger().warning("not every subscriber confirmed the trajectory within a second")
            self.get_logger().info(f"published a trajectory of {len(message.points)} points")
            self.done = True

    def _missing_listeners(self) -> set[str]:
        """Nodes that do not listen yet; a recorder or `ros2 topic echo` may have come before the controller."""
        endpoints = self.get_subscriptions_info_by_topic(self._publisher.topic_name)
        if self._publisher.get_subscription_count() < len(self._listeners):
            return self._listeners  # in the graph already, but not connected
        return self._listeners - {endpoint.node_name for endpoint in endpoints}


def _is_whole(state: JointState) -> bool:
    """Whether it has a position for each name, and none that no joint can have."""
    return len(state.position) == len(state.name) and all(abs(q) <= LARGEST for q in state.position)


def main() -> None:
    """Publish the trajectory; ends by itself, or on SIGINT or SIGTERM."""
    leave(run(TrajectoryNode))


if __name__ == "__main__":
    main()
