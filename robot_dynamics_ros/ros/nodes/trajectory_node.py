"""Trajectory node: sends one trajectory that starts at the measured position, and exits when it has ended."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.action.client import ActionClient
from rclpy.duration import Duration
from rclpy.qos import qos_profile_sensor_data
from rclpy.task import Future
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.thresholds import LARGEST_MAGNITUDE
from robot_dynamics_ros.ros.conversions import nanoseconds, stamp, trajectory_message
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram, run
from robot_dynamics_ros.ros.thresholds import MOST_UNANSWERED_REPORTS, REPORT_TIMEOUT
from robot_dynamics_ros.runs import trajectory_parameters as parameters

try:  # part of ROS distributions, not available on PyPI
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

_SUCCEEDED = 4  # STATUS_SUCCEEDED of action_msgs/msg/GoalStatus


class TrajectoryNode(NodeProgram):
    """Node that waits for joint_states and for subscribers, sends one trajectory, and exits when the motion has ended.

    The namespace of the topic ``joint_trajectory``, after remapping, is the name of the controller. The trajectory is
    sent as a goal of its action follow_joint_trajectory if that exists and the topic has no other subscriber, such as a
    recorder; otherwise it is published. The node waits until a controller of this package is active and reads the
    progress of the motion from /diagnostics. With other controllers that have no action, the node exits after
    publishing. Waiting before the trajectory is sent has no time limit. The exit code is 1 if the trajectory was
    rejected or not completed, or if /diagnostics are missing for ten seconds during the motion.

    The stamp of the trajectory is 0, so that it starts when it is received, or that of the newest joint_states plus
    ``trajectory.start_delay``. Its points have position, velocity and acceleration. A trajectory from a file is
    published unchanged; without a delay it does not need joint_states.
    """

    def __init__(self, **options: Any) -> None:
        """Create the node; ``options`` are keyword arguments of ``rclpy.node.Node``."""
        super().__init__("trajectory_node", parameters.ALL, **options)
        self._listeners = set(parameters.LISTENERS.read(self.values))
        self._file: JointTrajectory | None = None
        self._delay = parameters.START_DELAY.read(self.values)
        self._state: JointState | None = None
        self._publisher = self.create_publisher(JointTrajectory, "joint_trajectory", 1)
        self._controller = self._publisher.topic_name.rpartition("/")[0]
        self._action: ActionClient[Any, Any, Any] | None = None
        if FollowJointTrajectory is not None:
            self._action = ActionClient(
                self,
                FollowJointTrajectory,
                f"{self._controller}/follow_joint_trajectory",
            )
        self._status: DiagnosticStatus | None = None
        # counts in /diagnostics when the trajectory was published
        self._before: dict[str, str] | None = None
        self._reports = 0
        self._reported = 0.0  # s, steady time
        self._sent = False
        self.create_subscription(
            JointState, "joint_states", self._receive_state, qos_profile_sensor_data
        )
        self.create_subscription(
            DiagnosticArray, "/diagnostics", self._receive_status, 100
        )
        self.create_steady_timer(0.1, self._send_when_ready)

    def _receive_state(self, message: JointState) -> None:
        q = message.position
        if len(q) != len(message.name) or not all(
            abs(value) <= LARGEST_MAGNITUDE for value in q
        ):
            self.get_logger().error(
                f"joint_states: ignored a message of {len(message.name)} names and {len(message.position)} positions "
                "(different numbers, or implausible positions). Cure: check its publisher",
                throttle_duration_sec=5.0,
            )
            return
        self._state = message

    def _receive_status(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == f"{self._controller.lstrip('/')}: controller":
                self._status = status
                self._reported = time.monotonic()
                if self._before is not None and not self.done:
                    self._check_progress(status, self._before, _values(status))

    def _check_progress(
        self, status: DiagnosticStatus, before: dict[str, str], now: dict[str, str]
    ) -> None:
        """End the node when the published trajectory has ended or is not followed."""
        if now["mode"] != "active":
            return self._give_up(f"the controller is not active: {status.message}")
        if now["dropped trajectories"] != before["dropped trajectories"]:
            return self._give_up("the controller has dropped it")
        if now["refused trajectories"] != before["refused trajectories"]:
            return self._give_up(f"the controller has refused it: {now['refusal']}")
        accepted = int(now["trajectories"]) - int(before["trajectories"])
        self._reports += accepted == 0
        if self._reports >= MOST_UNANSWERED_REPORTS:
            self._give_up("the controller has not received it. Cure: send it again")
        elif accepted > 1:
            self._give_up("another trajectory has replaced it")
        elif accepted and now["following"] == "false":
            self._succeed()

    def _receive_answer(self, future: Future[Any]) -> None:
        handle: Any = future.result()
        if handle.accepted:
            handle.get_result_async().add_done_callback(self._receive_result)
        else:
            self._give_up(
                "the controller has rejected the goal. Cure: see the controller's log"
            )

    def _receive_result(self, future: Future[Any]) -> None:
        answer: Any = future.result()
        if answer.status == _SUCCEEDED:
            self._succeed()
        else:
            self._give_up(
                answer.result.error_string
                or f"the goal has ended with status {answer.status}"
            )

    def _give_up(self, why: str) -> None:
        self.fail(
            RobotDynamicsError(
                f"{self._controller} has not completed the trajectory: {why}"
            )
        )

    def _succeed(self) -> None:
        self.get_logger().info("the trajectory is completed")
        self.done = True

    def _make(self) -> JointTrajectory | None:
        """Return the trajectory from the measured position; None if the position is not known yet."""
        try:
            if parameters.KIND.read(self.values) == parameters.FROM_FILE:
                self._file = self._file or trajectory_message(
                    parameters.trajectory_of_file(self.values)
                )
                return self._file
            return None if self._state is None else self._trajectory(self._state)
        except RobotDynamicsError as error:
            self.get_logger().error(
                f"no trajectory: {error}", throttle_duration_sec=5.0
            )
            return None

    def _trajectory(self, state: JointState) -> JointTrajectory | None:
        names = list(parameters.JOINTS.read(self.values)) or list(state.name)
        measured = dict(zip(state.name, state.position, strict=False))
        missing = [name for name in names if name not in measured]
        if len(missing) == len(names):
            return None  # the message is from other joints
        if missing:
            raise RobotDynamicsError(
                f"joint_states: no position of {', '.join(missing)}. Cure: publish all joints in one message, or set "
                "the parameter joints"
            )
        start = list(parameters.START.read(self.values)) or [
            measured[name] for name in names
        ]
        return trajectory_message(parameters.trajectory_from(self.values, names, start))

    def _send_when_ready(self) -> None:
        if (
            self._before is not None
            and not self.done
            and time.monotonic() - self._reported > REPORT_TIMEOUT
        ):
            self._give_up(f"no report for {REPORT_TIMEOUT:g} s")
        if self.done or self._sent:
            return
        message = self._make()
        if message is None or (self._delay > 0.0 and self._state is None):
            from_file = (
                message is None
                and self.values(parameters.KIND.name) == parameters.FROM_FILE
            )
            source = parameters.FILE.name if from_file else "joint_states"
            self.get_logger().info(f"waiting for {source}", throttle_duration_sec=5.0)
        elif missing := self._missing_listeners():
            self.get_logger().info(
                f"waiting for {', '.join(sorted(missing))} to subscribe to {self._publisher.topic_name}",
                throttle_duration_sec=5.0,
            )
        elif self._is_ours and (obstacle := self._obstacle()):
            self.get_logger().info(
                f"waiting for {self._controller}: {obstacle}", throttle_duration_sec=5.0
            )
        else:
            self._send(message)

    def _send(self, message: JointTrajectory) -> None:
        self._sent = True
        if self._state is not None and self._delay > 0.0:
            message.header.stamp = stamp(
                nanoseconds(self._state.header.stamp) + round(self._delay * 1e9)
            )
        alone = self._publisher.get_subscription_count() <= 1
        if (
            alone
            and self._action is not None
            and self._action.wait_for_server(timeout_sec=1.0)
        ):
            goal = FollowJointTrajectory.Goal(trajectory=message)
            self._action.send_goal_async(goal).add_done_callback(self._receive_answer)
            self.get_logger().info(
                f"sent a goal of {len(message.points)} points to {self._controller}"
            )
            return
        self._publisher.publish(message)
        # short: signals are not handled meanwhile
        if not self._publisher.wait_for_all_acked(Duration(seconds=1.0)):
            self.get_logger().warning(
                "not every subscriber acknowledged the trajectory within a second"
            )
        self.get_logger().info(
            f"published a trajectory of {len(message.points)} points"
        )
        if self._is_ours and self._status is not None:
            self._before = _values(self._status)
            self._reported = time.monotonic()
        else:
            self.done = True

    @property
    def _is_ours(self) -> bool:
        """True if the controller is one of this package, which publishes /diagnostics."""
        return self.count_publishers(f"{self._controller}/command_states") > 0

    def _obstacle(self) -> str:
        """Return the reason why the controller cannot accept a trajectory yet; empty if it can."""
        if self._status is None:
            return "no message on /diagnostics yet"
        values = _values(self._status)
        return (
            ""
            if values["mode"] == "active" and values["cycles"] != "0"
            else str(self._status.message)
        )

    def _missing_listeners(self) -> set[str]:
        """Return the names of required nodes that have not subscribed yet."""
        endpoints = self.get_subscriptions_info_by_topic(self._publisher.topic_name)
        if self._publisher.get_subscription_count() < len(self._listeners):
            return self._listeners  # discovered, but not connected
        return self._listeners - {endpoint.node_name for endpoint in endpoints}


def _values(status: DiagnosticStatus) -> dict[str, str]:
    return {pair.key: pair.value for pair in status.values}


main = partial(run, TrajectoryNode, parameters.ALL)

if __name__ == "__main__":
    main()
