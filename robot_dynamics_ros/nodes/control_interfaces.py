"""Interfaces that need control_msgs: the action ~/follow_joint_trajectory and the topic ~/controller_state."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.action import server
from rclpy.action.server import CancelResponse, GoalResponse
from rclpy.lifecycle import LifecycleNode
from rclpy.serialization import serialize_message

from robot_dynamics_ros.control.parameters import ACTION_MONITOR_RATE, STATE_PUBLISH_RATE
from robot_dynamics_ros.control.trajectory.goals import (
    Deadline,
    Ending,
    GoalExecution,
    JointTolerance,
    Outcome,
    Progress,
    Tolerances,
    read_tolerances,
    refusal,
)
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError
from robot_dynamics_ros.messages.joint_trajectory import check_size
from robot_dynamics_ros.messages.running_controller import RunningController
from robot_dynamics_ros.nodes.messages import stamp, to_array, trajectory_point
from robot_dynamics_ros.parameters.kinds import Values

try:  # comes with ROS distributions, and is on no package index
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    INSTALLED = False
else:
    INSTALLED = True

ABSENT = (
    "control_msgs is not installed: there is no ~/follow_joint_trajectory (for MoveIt) and no ~/controller_state. "
    "Cure: install ros-$ROS_DISTRO-control-msgs where you want them"
)


class ControlInterfaces:
    """Action server and state publisher of a configured node; without control_msgs they do nothing.

    An inactive node refuses goals. An active one accepts each goal, and aborts at once one that cannot be followed:
    in ROS 2 a refused goal has no result to give the reason.
    """

    def __init__(self, node: LifecycleNode, joint_names: Sequence[str], values: Values) -> None:
        """RobotDynamicsError names a parameter among ``values`` that is not allowed, or does not fit the joints."""
        self._node, self._names = node, tuple(joint_names)
        self._rates = ACTION_MONITOR_RATE.read(values), STATE_PUBLISH_RATE.read(values)
        self._running: RunningController | None = None
        self._execution: GoalExecution | None = None
        self.set(values)
        if not INSTALLED:
            return
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            "~/follow_joint_trajectory",
            _never,
            goal_callback=self._decide,
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
        )
        self._publisher = node.create_publisher(JointTrajectoryControllerState, "~/controller_state", 10)
        self._state = JointTrajectoryControllerState()
        self._state.joint_names = list(joint_names)

    @property
    def owe_results(self) -> bool:
        """True if the executor has still to send results of goals."""
        return INSTALLED and self._server.due > 0

    def set(self, values: Values) -> None:
        """Set the default tolerances of later goals; errors as above."""
        self._tolerances = read_tolerances(values, self._names)

    def begin(self, running: RunningController) -> None:
        """Serve a controller that is active from now on."""
        if INSTALLED:
            monitor_rate, publish_rate = self._rates
            self._running, self._execution = running, GoalExecution(running.controller, monitor_rate)
            self._cycles, self._deadline = 0, Deadline(publish_rate)

    def check(self) -> None:
        """Judge the goal and publish the state; to be called after each cycle, and regularly without cycles."""
        if self._running is not None and self._execution is not None:
            self._execution.check(time.monotonic())
            self._publish_state(self._running)

    def abort(self, why: str) -> None:
        """Abort the present goal, if there is one."""
        if self._execution is not None:
            self._execution.abort(why)

    def end(self) -> None:
        """Refuse goals from now on."""
        self._running = self._execution = None

    def destroy(self) -> None:
        """Destroy the action server and the publisher."""
        if INSTALLED:
            self._server.destroy()
            self._node.destroy_publisher(self._publisher)

    def _publish_state(self, running: RunningController) -> None:
        """Publish the last cycle if it is new, due and subscribed to."""
        controller = running.controller
        command = controller.command
        if command is None or controller.cycles == self._cycles:
            return
        self._cycles = controller.cycles
        if not self._deadline.due(controller.time) or self._publisher.get_subscription_count() == 0:
            return
        message, desired = self._state, command.desired
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

    def _decide(self, goal: Any) -> GoalResponse:
        if self._running is not None:
            return GoalResponse.ACCEPT
        self._node.get_logger().error("goal refused: the node is not active. Cure: activate it")
        return GoalResponse.REJECT

    def _accept(self, handle: Any) -> None:
        handle.execute()
        assert self._running is not None and self._execution is not None
        client = _Client(handle, self._server, self._running, self._node.get_logger())
        try:
            self._execution.check_law()
            tolerances = self._requested_tolerances(handle.request)
            trajectory = self._running.follow(_serialized_trajectory(handle.request))
        except RobotDynamicsError as error:
            client.end(Ending.ABORTED, refusal(error))
        else:
            self._execution.start(client, trajectory, tolerances)

    def _requested_tolerances(self, goal: Any) -> Tolerances:
        path, end = (
            [JointTolerance(one.name, one.position, one.velocity, one.acceleration) for one in tolerances]
            for tolerances in (goal.path_tolerance, goal.goal_tolerance)
        )
        limit = goal.goal_time_tolerance
        return self._tolerances.requested(self._names, path, end, limit.sec + limit.nanosec * 1e-9)

    def _cancel(self, handle: Any) -> CancelResponse:
        if self._execution is not None:
            self._execution.cancel()
        return CancelResponse.ACCEPT


@dataclass
class _Client:
    """Sender of a goal."""

    handle: Any
    server: ActionServer
    running: RunningController
    log: Any

    def progress(self, progress: Progress) -> None:
        """Publish feedback."""
        feedback, desired = FollowJointTrajectory.Feedback(), progress.desired
        feedback.header.stamp = stamp(self.running.state_stamp)
        feedback.joint_names = list(self.running.controller.model.joint_names)
        feedback.desired = trajectory_point((desired.q, desired.qd, desired.qdd), progress.seconds)
        if progress.measured is not None and progress.error is not None:
            feedback.actual = trajectory_point(progress.measured, progress.seconds)
            feedback.error = trajectory_point(progress.error, progress.seconds)
        if hasattr(feedback, "index"):  # control_msgs 6.3.0 on (Kilted)
            points = self.handle.request.trajectory.points
            feedback.index = min(bisect_right(points, progress.seconds, key=_seconds), len(points) - 1)
        self.handle.publish_feedback(feedback)

    def end(self, ending: Ending, outcome: Outcome) -> None:
        """Set the goal's status, and send the result."""
        line = f"goal {ending.value}: {outcome.message}"
        if ending is Ending.ABORTED:
            self.log.warning(line)
        else:
            self.log.info(line)
        {
            Ending.SUCCEEDED: self.handle.succeed,
            Ending.ABORTED: self.handle.abort,
            Ending.CANCELED: self.handle.canceled,
        }[ending]()
        result = FollowJointTrajectory.Result(error_code=int(outcome.code), error_string=outcome.message)
        self.server.finish(self.handle, result)


class ActionServer(server.ActionServer):  # type: ignore[type-arg]
    """Action server whose goals run without a callback that waits for their end.

    rclpy would run such a callback as a coroutine, to which its events executor returns without a pause: four times
    the processor time, and a sixth of the cycles of 1 kHz were lost.

    Attributes
    ----------
    due
        Number of results that the executor has still to send.
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


def _serialized_trajectory(goal: Any) -> bytes:
    """Return a goal as a message of ~/joint_trajectory; JointNamesError if it has multi-degree-of-freedom joints."""
    if goal.multi_dof_trajectory.joint_names or goal.component_path_tolerance or goal.component_goal_tolerance:
        raise JointNamesError("no joint here has several degrees of freedom; give trajectory and its tolerances alone")
    check_size(len(goal.trajectory.points), len(goal.trajectory.joint_names))
    data: bytes = serialize_message(goal.trajectory)
    return data


def _seconds(point: Any) -> float:
    return float(point.time_from_start.sec + point.time_from_start.nanosec * 1e-9)


def _never(handle: Any) -> Any:
    """Take the place of the callback in which rclpy would run a goal to its end."""
    raise NotImplementedError
