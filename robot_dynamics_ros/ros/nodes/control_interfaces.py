"""Interfaces that need control_msgs: the action ~/follow_joint_trajectory and the topic ~/controller_state."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import Any

from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.serialization import serialize_message

from robot_dynamics_ros.base.errors import JointNamesError, RobotDynamicsError
from robot_dynamics_ros.control import goals
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import NodeSettings
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.interface import OK, WARN, Note
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.recordings.messages.joint_trajectory import (
    check_size,
    read_trajectory,
)
from robot_dynamics_ros.ros.conversions import stamp, to_array, trajectory_point
from robot_dynamics_ros.ros.nodes.controller_outputs import ControllerOutputs
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram

try:  # part of ROS distributions, not available on PyPI
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTrajectoryControllerState
except ImportError:
    INSTALLED = False
else:
    INSTALLED = True

ABSENT = (
    "control_msgs is not installed: ~/follow_joint_trajectory (for MoveIt) and ~/controller_state are not available. "
    "Cure: if you need them, install ros-$ROS_DISTRO-control-msgs of a ROS distribution"
)


class ControlInterfaces:
    """Action server and state publisher of a configured node; without control_msgs they do nothing.

    An inactive node rejects goals. An active node accepts every goal and aborts those that it cannot follow, because
    a rejected goal has no result that could state the reason. rclpy's execute callback, which returns the result, is
    called when the goal has ended, so that no callback blocks while the goal is active.

    Attributes
    ----------
    tolerances
        Default tolerances of goals that are received later, by ``tune``.
    """

    def __init__(
        self,
        node: NodeProgram,
        session: ControllerSession,
        outputs: ControllerOutputs,
        settings: NodeSettings,
        tolerances: goals.Tolerances,
    ) -> None:
        """Create the interfaces of ``node`` to the controller of ``session``.

        ``outputs`` publishes commands and events, ``settings`` are those of the node, and ``tolerances`` apply to goals
        that request none.
        """
        self._node = node
        self._session = session
        self._outputs = outputs
        self._names = session.arm.robot.joint_names
        self._monitor_rate = settings.action_monitor_rate
        self._deadline = goals.Deadline(settings.state_publish_rate)
        self._cycles = 0
        self._goal: tuple[Any, goals.GoalExecution] | None = None
        self._ended: dict[bytes, goals.GoalEvent] = {}
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
        self._publisher = node.create_publisher(
            JointTrajectoryControllerState, "~/controller_state", 10
        )
        self._state = JointTrajectoryControllerState()
        self._state.joint_names = list(self._names)

    def tune(self, tolerances: goals.Tolerances) -> None:
        """Set the tolerances of goals that are received later and request none."""
        self.tolerances = tolerances

    @property
    def results_pending(self) -> bool:
        """True if results of goals have not been sent yet."""
        return bool(self._ended)

    def check(self) -> None:
        """Check the active goal, and publish ~/controller_state if due; to be called after each cycle.

        Without cycles it is to be called periodically. The goal's feedback or result is sent.
        """
        if self._goal is not None:
            handle, execution = self._goal
            self._report(handle, execution.check(time.monotonic()))
        if INSTALLED and self._session.controller is not None:
            self._publish_state(self._session.controller)

    def abort(self, why: str) -> None:
        """Abort the active goal, if any; ``why`` is the error string of its result, with the code INVALID_GOAL."""
        if self._goal is not None:
            self._report(self._goal[0], goals.aborted(why))

    def destroy(self) -> None:
        """Destroy the action server and the publisher."""
        if INSTALLED:
            self._server.destroy()
            self._node.destroy_publisher(self._publisher)

    def _publish_state(self, controller: Controller) -> None:
        """Publish the state of the last cycle if it is new, due, and has subscribers."""
        command = controller.command
        if command is None or controller.cycles == self._cycles:
            return
        self._cycles = controller.cycles
        if (
            not self._deadline.due(controller.clock.time)
            or self._publisher.get_subscription_count() == 0
        ):
            return
        message = self._state
        desired = command.desired
        message.header.stamp = stamp(self._session.state_stamp)
        message.reference = trajectory_point((desired.q, desired.qd, desired.qdd))
        estimate = controller.estimator.estimate
        if estimate.known:
            q, qd = estimate.state
            message.feedback = trajectory_point((q, qd))
            message.error = trajectory_point((desired.q - q, desired.qd - qd))
        message.output.effort = to_array(command.effort)
        if hasattr(message, "speed_scaling_factor"):  # since control_msgs 5.3.0 (Jazzy)
            message.speed_scaling_factor = controller.plan.speed
        self._publisher.publish(message)

    # Goals

    def _decide(self, goal: Any) -> GoalResponse:
        if self._session.controller is not None:
            return GoalResponse.ACCEPT
        self._node.get_logger().error(
            "goal rejected: the node is not active. Cure: activate it"
        )
        return GoalResponse.REJECT

    def _accept(self, handle: Any) -> None:
        controller = self._session.controller
        assert controller is not None
        now = Now(time.monotonic(), self._node.nanoseconds)
        try:
            goals.check_law(controller)
            tolerances = self._requested_tolerances(handle.request)
            start, points = read_trajectory(_serialized_trajectory(handle.request))
            followed = self._session.follow(points, start, now)
        except RobotDynamicsError as error:
            controller.refuse(str(error))
            return self._report(handle, goals.refused(error))
        self.abort("replaced by a new goal")
        self._outputs.follow(followed)
        self._goal = (
            handle,
            goals.GoalExecution(
                controller, self._monitor_rate, followed.trajectory, tolerances
            ),
        )

    def _requested_tolerances(self, goal: Any) -> goals.Tolerances:
        path, end = (
            [
                (one.name, one.position, one.velocity, one.acceleration)
                for one in tolerances
            ]
            for tolerances in (goal.path_tolerance, goal.goal_tolerance)
        )
        limit = goal.goal_time_tolerance
        return self.tolerances.requested(path, end, limit.sec + limit.nanosec * 1e-9)

    def _cancel(self, handle: Any) -> CancelResponse:
        if self._goal is not None and self._goal[0] is handle:
            self._goal[1].cancel()
        return CancelResponse.ACCEPT

    def _report(self, handle: Any, event: goals.GoalEvent) -> None:
        """Publish feedback of a goal; if the goal has ended, have rclpy send its result."""
        if event.progress is not None:
            handle.publish_feedback(self._feedback(handle, event.progress))
        if event.ending is None:
            return
        if self._goal is not None and self._goal[0] is handle:
            self._goal = None
        line = f"goal {event.ending.value}: {event.message}"
        self._node.log.note(
            Note(WARN if event.ending is goals.Ending.ABORTED else OK, line)
        )
        self._ended[bytes(handle.goal_id.uuid)] = event
        handle.execute()

    def _result(self, handle: Any) -> Any:
        """Set the final status of the goal and return its result."""
        event = self._ended.pop(bytes(handle.goal_id.uuid))
        assert event.ending is not None
        {
            goals.Ending.SUCCEEDED: handle.succeed,
            goals.Ending.ABORTED: handle.abort,
            goals.Ending.CANCELED: handle.canceled,
        }[event.ending]()
        return FollowJointTrajectory.Result(
            error_code=int(event.code), error_string=event.message
        )

    def _feedback(self, handle: Any, progress: goals.Progress) -> Any:
        feedback = FollowJointTrajectory.Feedback()
        desired = progress.desired
        feedback.header.stamp = stamp(self._session.state_stamp)
        feedback.joint_names = list(self._names)
        feedback.desired = trajectory_point(
            (desired.q, desired.qd, desired.qdd), progress.seconds
        )
        if progress.measured is not None and progress.error is not None:
            feedback.actual = trajectory_point(progress.measured, progress.seconds)
            feedback.error = trajectory_point(progress.error, progress.seconds)
        if hasattr(feedback, "index"):  # since control_msgs 6.3.0 (Kilted)
            points = handle.request.trajectory.points
            feedback.index = min(
                bisect_right(points, progress.seconds, key=_seconds), len(points) - 1
            )
        return feedback


def _serialized_trajectory(goal: Any) -> bytes:
    """Return the goal's trajectory in CDR; JointNamesError if it has multi-DOF joints or component tolerances."""
    if (
        goal.multi_dof_trajectory.joint_names
        or goal.component_path_tolerance
        or goal.component_goal_tolerance
    ):
        raise JointNamesError(
            "the robot has no multi-DOF joints; give only trajectory and its joint tolerances"
        )
    check_size(len(goal.trajectory.points), len(goal.trajectory.joint_names))
    data: bytes = serialize_message(goal.trajectory)
    return data


def _seconds(point: Any) -> float:
    return float(point.time_from_start.sec + point.time_from_start.nanosec * 1e-9)
