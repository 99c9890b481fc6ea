"""Interfaces that need control_msgs: the action ~/follow_joint_trajectory and the topic ~/controller_state."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import Any

from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.serialization import serialize_message

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.parameters import ACTION_MONITOR_RATE, STATE_PUBLISH_RATE
from robot_dynamics_ros.control.session import ControllerSession, Now
from robot_dynamics_ros.control.status import OK, WARN, Note
from robot_dynamics_ros.control.trajectory.goals import (
    Deadline,
    Ending,
    GoalEvent,
    GoalExecution,
    JointTolerance,
    Progress,
    Tolerances,
    aborted,
    check_law,
    refusal,
)
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError
from robot_dynamics_ros.messages.joint_trajectory import check_size, read_trajectory
from robot_dynamics_ros.nodes.controller_outputs import ControllerOutputs
from robot_dynamics_ros.nodes.conversions import stamp, to_array, trajectory_point
from robot_dynamics_ros.nodes.node_program import NodeProgram

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
    in ROS 2 a refused goal has no result to give the reason. A goal's execution in the sense of rclpy, a callback that
    returns the result, is deferred to its end, so that no callback waits meanwhile.

    Attributes
    ----------
    tolerances
        Those of goals to come that ask for none.
    """

    def __init__(
        self, node: NodeProgram, session: ControllerSession, outputs: ControllerOutputs, tolerances: Tolerances
    ) -> None:
        """``tolerances`` are those of goals that ask for none."""
        self._node, self._session, self._outputs = node, session, outputs
        self._names = session.robot.joint_names
        self._monitor_rate, publish_rate = ACTION_MONITOR_RATE.read(node.values), STATE_PUBLISH_RATE.read(node.values)
        self._deadline, self._cycles = Deadline(publish_rate), 0
        self._goal: tuple[Any, GoalExecution] | None = None
        self._ended: dict[bytes, GoalEvent] = {}
        self.tolerances = tolerances
        if not INSTALLED:
            return
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            "~/follow_joint_trajectory",
            self._result,
            goal_callback=self._decide,
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
        )
        self._publisher = node.create_publisher(JointTrajectoryControllerState, "~/controller_state", 10)
        self._state = JointTrajectoryControllerState()
        self._state.joint_names = list(self._names)

    @property
    def owe_results(self) -> bool:
        """True if the executor has still to send results of goals."""
        return bool(self._ended)

    def check(self) -> None:
        """Judge the goal and publish the state; to be called after each cycle, and regularly without cycles."""
        if self._goal is not None:
            self._report(*self._goal, self._goal[1].check(time.monotonic()))
        if INSTALLED and self._session.controller is not None:
            self._publish_state(self._session.controller)

    def abort(self, why: str) -> None:
        """Abort the present goal, if there is one."""
        if self._goal is not None:
            self._report(*self._goal, aborted(why))

    def destroy(self) -> None:
        """Destroy the action server and the publisher."""
        if INSTALLED:
            self._server.destroy()
            self._node.destroy_publisher(self._publisher)

    def _publish_state(self, controller: Controller) -> None:
        """Publish the last cycle if it is new, due and subscribed to."""
        command = controller.command
        if command is None or controller.cycles == self._cycles:
            return
        self._cycles = controller.cycles
        if not self._deadline.due(controller.time) or self._publisher.get_subscription_count() == 0:
            return
        message, desired = self._state, command.desired
        message.header.stamp = stamp(self._session.state_stamp)
        message.reference = trajectory_point((desired.q, desired.qd, desired.qdd))
        if controller.feedback.known:
            q, qd = controller.feedback.state
            message.feedback = trajectory_point((q, qd))
            message.error = trajectory_point((desired.q - q, desired.qd - qd))
        message.output.effort = to_array(command.effort)
        if hasattr(message, "speed_scaling_factor"):  # control_msgs 5.3.0 on (Jazzy)
            message.speed_scaling_factor = controller.speed_scaling
        self._publisher.publish(message)

    # A goal, from its request to its result

    def _decide(self, goal: Any) -> GoalResponse:
        if self._session.controller is not None:
            return GoalResponse.ACCEPT
        self._node.get_logger().error("goal refused: the node is not active. Cure: activate it")
        return GoalResponse.REJECT

    def _accept(self, handle: Any) -> None:
        controller = self._session.controller
        assert controller is not None
        now = Now(time.monotonic(), self._node.nanoseconds)
        try:
            check_law(controller)
            tolerances = self._requested_tolerances(handle.request)
            start, points = read_trajectory(_serialized_trajectory(handle.request))
            followed = self._session.follow(points, start, now)
        except RobotDynamicsError as error:
            return self._report(handle, None, GoalEvent(None, Ending.ABORTED, refusal(error)))
        self.abort("replaced by a new goal")
        self._outputs.follow(followed)
        self._goal = handle, GoalExecution(controller, self._monitor_rate, followed.trajectory, tolerances)

    def _requested_tolerances(self, goal: Any) -> Tolerances:
        path, end = (
            [JointTolerance(one.name, one.position, one.velocity, one.acceleration) for one in tolerances]
            for tolerances in (goal.path_tolerance, goal.goal_tolerance)
        )
        limit = goal.goal_time_tolerance
        return self.tolerances.requested(self._names, path, end, limit.sec + limit.nanosec * 1e-9)

    def _cancel(self, handle: Any) -> CancelResponse:
        if self._goal is not None and self._goal[0] is handle:
            self._goal[1].cancel()
        return CancelResponse.ACCEPT

    def _report(self, handle: Any, execution: GoalExecution | None, event: GoalEvent) -> None:
        """Publish the progress of a goal; let rclpy send its result if it has ended."""
        if event.progress is not None:
            handle.publish_feedback(self._feedback(handle, event.progress))
        if event.ending is None or event.outcome is None:
            return
        if self._goal is not None and self._goal[0] is handle:
            self._goal = None
        line = f"goal {event.ending.value}: {event.outcome.message}"
        self._node.log.note(Note(WARN if event.ending is Ending.ABORTED else OK, line))
        self._ended[bytes(handle.goal_id.uuid)] = event
        handle.execute()

    def _result(self, handle: Any) -> Any:
        """Set the goal's final status, and return the result."""
        event = self._ended.pop(bytes(handle.goal_id.uuid))
        assert event.ending is not None and event.outcome is not None
        {
            Ending.SUCCEEDED: handle.succeed,
            Ending.ABORTED: handle.abort,
            Ending.CANCELED: handle.canceled,
        }[event.ending]()
        return FollowJointTrajectory.Result(error_code=int(event.outcome.code), error_string=event.outcome.message)

    def _feedback(self, handle: Any, progress: Progress) -> Any:
        feedback, desired = FollowJointTrajectory.Feedback(), progress.desired
        feedback.header.stamp = stamp(self._session.state_stamp)
        feedback.joint_names = list(self._names)
        feedback.desired = trajectory_point((desired.q, desired.qd, desired.qdd), progress.seconds)
        if progress.measured is not None and progress.error is not None:
            feedback.actual = trajectory_point(progress.measured, progress.seconds)
            feedback.error = trajectory_point(progress.error, progress.seconds)
        if hasattr(feedback, "index"):  # control_msgs 6.3.0 on (Kilted)
            points = handle.request.trajectory.points
            feedback.index = min(bisect_right(points, progress.seconds, key=_seconds), len(points) - 1)
        return feedback


def _serialized_trajectory(goal: Any) -> bytes:
    """Return a goal as a message of ~/joint_trajectory; JointNamesError if it has multi-degree-of-freedom joints."""
    if goal.multi_dof_trajectory.joint_names or goal.component_path_tolerance or goal.component_goal_tolerance:
        raise JointNamesError("no joint here has several degrees of freedom; give trajectory and its tolerances alone")
    check_size(len(goal.trajectory.points), len(goal.trajectory.joint_names))
    data: bytes = serialize_message(goal.trajectory)
    return data


def _seconds(point: Any) -> float:
    return float(point.time_from_start.sec + point.time_from_start.nanosec * 1e-9)
