"""The controller from its activation to its deactivation: messages in, commands out."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from rclpy.lifecycle import LifecycleNode

from robot_dynamics_ros.control.activation_check import check_activation
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory_effort import trajectory_effort
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.joint_state import JointsMissing, JointStateReader, Sample, stamp_of
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory, with_effort
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.nodes.controller_outputs import ControllerOutputs
from robot_dynamics_ros.nodes.controller_report import ControllerReport

_AT_REST = 0.01  # rad/s or m/s


class RunningController:
    """Connects a ``Controller`` with topics and clocks. Messages are bytes (see cdr), stamps are nanoseconds.

    Attributes
    ----------
    controller
        What decides.
    """

    def __init__(
        self,
        node: LifecycleNode,
        robot: RobotModel,
        settings: ControllerSettings,
        outputs: ControllerOutputs,
        report: ControllerReport,
    ) -> None:
        self._node = node
        self._logger = node.get_logger()
        self._robot = robot
        self.controller = Controller(robot, settings)
        self._answers_states = settings.update_rate == 0.0
        self._outputs = outputs
        self._report = report
        self._reader = JointStateReader(robot.joint_names)
        self._to_check = False
        self._pending: bytes | None = None
        self._origin: int | None = None
        self._answered: int | None = None
        self._state_stamp = 0

    def check_effort(self, heard: Iterable[bytes]) -> None:
        """Compare what the motors do with what the model says, in joint_states ``heard`` before or the first to come.

        The newest of them is the last; a gripper's may be among them. RobotDynamicsError says how they contradict;
        the arm must not be commanded then.
        """
        self._to_check = True
        for data in reversed(list(heard)):
            try:
                sample = self._reader.read(data)
            except RobotDynamicsError:
                continue
            if sample is not None:
                return self._check_effort(sample)

    def _check_effort(self, sample: Sample) -> None:
        self._to_check = False
        if sample.qd is not None and np.abs(sample.qd).max() > _AT_REST:
            self._logger.warning("activation_check: the arm moves, so that its effort tells nothing")
            return
        for warning in check_activation(self._robot, sample.q, sample.effort):
            self._logger.warning(warning)

    def receive_state(self, data: bytes) -> None:
        """Take in joint_states; where there is no update rate, answer them.

        Raises RobotDynamicsError as ``check_effort``, where that has waited for them.
        """
        steady, feedback = time.monotonic(), self.controller.feedback
        try:
            sample = self._reader.read(data)
        except JointsMissing as problem:
            feedback.miss(str(problem))
            self._logger.warning(str(problem), throttle_duration_sec=1.0)  # an error when it stays so
            return
        except RobotDynamicsError as problem:
            at = stamp_of(data) or self._state_stamp
            feedback.reject(steady, str(problem))
        else:
            if sample is None:
                return
            at = sample.at
            if self._answers_states and at == self._answered:
                feedback.hear(steady)
                self._outputs.repeat()
                return
            if self._to_check:
                self._check_effort(sample)
            self.controller.measure(self._seconds(at), steady, sample.q, sample.qd)
        self._state_stamp = at
        if self._answers_states and self._cycle(at, steady):
            self._answered = at

    def receive_trajectory(self, data: bytes) -> None:
        """Follow a trajectory, now or as soon as the time is known."""
        if self._origin is None and self._answers_states:
            self._pending = data
            self._logger.info("trajectory waits for the first joint_states")
        else:
            self._follow(data)

    def clear_fault(self) -> None:
        """Go back to active; RobotDynamicsError says what still fails."""
        try:
            self.controller.clear_fault(time.monotonic())
        finally:
            self._report.transitions(self.controller, self._state_stamp)

    def tick(self) -> None:
        """One cycle of an update rate."""
        self._cycle(self._node.get_clock().now().nanoseconds, time.monotonic())

    def watch(self) -> None:
        """Do what a cycle would do where no message comes to start one."""
        command = self.controller.watch(time.monotonic())
        if command is not None:
            self._outputs.unasked(command)
            self._report.transitions(self.controller, self._state_stamp)

    def report(self) -> None:
        """Publish the state of things."""
        self._report.regularly(self.controller, self._state_stamp)

    def end(self) -> None:
        """Publish the last command: an effort controller keeps it for ever."""
        effort = self.controller.last_effort()
        if effort is not None:
            self._outputs.effort(effort)

    def _cycle(self, at: int, steady: float) -> bool:
        """Publish a command where there is one; return whether there is."""
        command = self.controller.update(self._seconds(at), steady)
        if command is None:
            self._report.waiting(self.controller)
        else:
            self._outputs.command(command, self._state_stamp)
            self._say(command)
        if self._pending is not None:
            data, self._pending = self._pending, None
            self._follow(data)
        return command is not None

    def _say(self, command: Command) -> None:
        if command.saturated:
            self._logger.warning(f"effort limit reached by {', '.join(command.saturated)}", throttle_duration_sec=1.0)
        if self.controller.external_torque is not None:
            self._outputs.external_torque(self.controller.external_torque, self._state_stamp)
        self._report.transitions(self.controller, self._state_stamp)

    def _follow(self, data: bytes) -> None:
        now = self.controller.time
        if not self._answers_states:
            now = self._seconds(self._node.get_clock().now().nanoseconds)
        try:
            start, points = read_trajectory(data)
            trajectory = self.controller.follow(points, None if start == 0 else self._seconds(start), now)
        except RobotDynamicsError as problem:
            self._logger.error(f"trajectory refused: {problem}")
            return
        self._logger.info(f"following a trajectory of {len(points.times)} points, {trajectory.duration:.3f} s")
        if self._outputs.trajectory_is_wanted:
            self._publish_with_effort(data, points, trajectory)

    def _publish_with_effort(self, data: bytes, points: TrajectoryPoints, trajectory: Trajectory) -> None:
        """For a joint_trajectory_controller that adds it."""
        settings = self.controller.settings
        smoothing = settings.friction_smoothing_velocity if settings.friction_compensation else None
        try:
            effort = trajectory_effort(self.controller.model, trajectory, points.joint_names, smoothing)
            self._outputs.trajectory(with_effort(data, effort))
        except RobotDynamicsError as problem:
            self._logger.error(f"~/joint_trajectory_with_effort: {problem}")

    def _seconds(self, at: int) -> float:
        """Time since the first one asked for: small numbers keep their digits."""
        if self._origin is None:
            self._origin = at
        return (at - self._origin) * 1e-9
