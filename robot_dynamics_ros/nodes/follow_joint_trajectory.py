"""What needs control_msgs: the action ~/follow_joint_trajectory and the topic ~/controller_state."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.action import server
from rclpy.action.server import CancelResponse, GoalResponse
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message

from robot_dynamics_ros.control.trajectory.goals import (
    Deadline,
    Ending,
    GoalExecution,
    JointTolerance,
    Outcome,
    Progress,
    Tolerances,
    refusal,
)
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError
from robot_dynamics_ros.messages.joint_trajectory import check_size
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


class TrajectoryGoals:
    """The action server. Where the node is inactive it refuses goals; one that cannot be followed it aborts at once.

    A refused goal has no result in ROS 2, an aborted one says why it cannot be followed.

    Attributes
    ----------
    tolerances
        What holds for a goal that asks for nothing.
    """

    def __init__(self, node: LifecycleNode, joint_names: Sequence[str], tolerances: Tolerances) -> None:
        self._log = node.get_logger()
        self.tolerances = tolerances
        self._names = tuple(joint_names)
        self._running: RunningController | None = None
        self._execution: GoalExecution | None = None
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            "~/follow_joint_trajectory",
            _never,
            goal_callback=self._decide,
            handle_accepted_callback=self._take,
            cancel_callback=self._cancel,
        )

    @property
    def owes_results(self) -> bool:
        """Whether results wait for the executor to send them."""
        return self._server.due > 0

    def begin(self, running: RunningController, progress_rate: float) -> None:
        """Take goals for a controller that is active now; their clients hear of it so many times a second."""
        self._running, self._execution = running, GoalExecution(running.controller, progress_rate)

    def check(self) -> None:
        """Look at what the controller did: after each cycle, and where cycles fail to come."""
        if self._execution is not None:
            self._execution.check(time.monotonic())

    def abort(self, why: str) -> None:
        """End the goal that runs, if one does."""
        if self._execution is not None:
            self._execution.abort(why)

    def end(self) -> None:
        """Take no goals from now on."""
        self._running = self._execution = None

    def destroy(self) -> None:
        """Take the action out of the graph."""
        self._server.destroy()

    def _decide(self, goal: Any) -> GoalResponse:
        if self._running is not None:
            return GoalResponse.ACCEPT
        self._log.error("goal refused: the node is not active. Cure: activate it")
        return GoalResponse.REJECT

    def _take(self, handle: Any) -> None:
        handle.execute()
        assert self._running is not None and self._execution is not None
        client = _Client(handle, self._server, self._names, self._running, self._log)
        try:
            self._execution.check_law()
            tolerances = self._asked(handle.request)
            trajectory = self._running.follow(_trajectory(handle.request))
        except RobotDynamicsError as problem:
            client.end(Ending.ABORTED, refusal(problem))
        else:
            self._execution.start(client, trajectory, tolerances)

    def _asked(self, goal: Any) -> Tolerances:
        path, end = (
            [JointTolerance(one.name, one.position, one.velocity, one.acceleration) for one in asked]
            for asked in (goal.path_tolerance, goal.goal_tolerance)
        )
        limit = goal.goal_time_tolerance
        return self.tolerances.asked(self._names, path, end, limit.sec + limit.nanosec * 1e-9)

    def _cancel(self, handle: Any) -> CancelResponse:
        if self._execution is not None:
            self._execution.cancel()
        return CancelResponse.ACCEPT


class _Client:
    """Who has sent a goal."""

    def __init__(
        self, handle: Any, server: ActionServer, joint_names: Sequence[str], running: RunningController, log: Any
    ) -> None:
        self._handle = handle
        self._server = server
        self._names = list(joint_names)
        self._running = running
        self._log = log
        self._points = handle.request.trajectory.points

    def progress(self, progress: Progress) -> None:
        """Publish feedback."""
        feedback, desired = FollowJointTrajectory.Feedback(), progress.desired
        feedback.header.stamp = stamp(self._running.state_stamp)
        feedback.joint_names = self._names
        feedback.desired = trajectory_point((desired.q, desired.qd, desired.qdd), progress.seconds)
        if progress.measured is not None and progress.error is not None:
            feedback.actual = trajectory_point(progress.measured, progress.seconds)
            feedback.error = trajectory_point(progress.error, progress.seconds)
        if hasattr(feedback, "index"):  # control_msgs 6.3.0 on (Kilted)
            passed = bisect_right(self._points, progress.seconds, key=_seconds)
            feedback.index = min(passed, len(self._points) - 1)
        self._handle.publish_feedback(feedback)

    def end(self, ending: Ending, outcome: Outcome) -> None:
        """Set the goal's status, and send the result."""
        line = f"goal {ending.value}: {outcome.message}"
        if ending is Ending.ABORTED:
            self._log.warning(line)
        else:
            self._log.info(line)
        {
            Ending.SUCCEEDED: self._handle.succeed,
            Ending.ABORTED: self._handle.abort,
            Ending.CANCELED: self._handle.canceled,
        }[ending]()
        result = FollowJointTrajectory.Result(error_code=int(outcome.code), error_string=outcome.message)
        self._server.finish(self._handle, result)


class ActionServer(server.ActionServer):  # type: ignore[type-arg]
    """An action server whose goals run without a callback that waits for their end.

    rclpy would run such a callback as a coroutine, and its events executor comes back to that without a pause. While
    a goal ran, that took four times the processor time, and a sixth of the cycles of 1 kHz were lost.

    Attributes
    ----------
    due
        How many results the executor has still to send.
    """

    due = 0

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Run a callback that ends a goal; none for one that has begun."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)

    def finish(self, handle: Any, result: Any) -> None:
        """Send the result of a goal that is over."""

        def give(_: Any) -> Any:
            self.due -= 1
            return result

        self.due += 1
        self.notify_execute(handle, give)


def _trajectory(goal: Any) -> bytes:
    """Return what ~/joint_trajectory would bring; JointNamesError for joints of several degrees of freedom."""
    if goal.multi_dof_trajectory.joint_names or goal.component_path_tolerance or goal.component_goal_tolerance:
        raise JointNamesError("no joint here has several degrees of freedom; give trajectory and its tolerances alone")
    check_size(len(goal.trajectory.points), len(goal.trajectory.joint_names))
    data: bytes = serialize_message(goal.trajectory)
    return data


def _seconds(point: Any) -> float:
    return float(point.time_from_start.sec + point.time_from_start.nanosec * 1e-9)


def _never(handle: Any) -> Any:
    """Stand where rclpy wants a callback that runs a goal to its end."""
    raise NotImplementedError
