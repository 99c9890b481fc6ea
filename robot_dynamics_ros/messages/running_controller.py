"""The controller from its activation to its deactivation: messages in, commands out, live or out of a bag."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from robot_dynamics_ros.control.activation_check import check_activation, holding_effort
from robot_dynamics_ros.control.controller import Command, Controller
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.task_space import pose_of
from robot_dynamics_ros.control.trajectory.files import joined, trajectory_effort
from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import HEADER, POSE, TWIST, read_target
from robot_dynamics_ros.messages.joint_state import (
    JointsMissing,
    JointStateReader,
    Renaming,
    Sample,
    stamp_of,
    unchanged,
)
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory, with_points
from robot_dynamics_ros.model import RobotModel

_UNSTAMPED = "joint_states have no header.stamp, so that delays cannot be seen. Cure: set it in the driver"
_AT_REST = 0.01  # rad/s or m/s
_NANOSECONDS = 1_000_000_000
_TICKS = 1 << 36  # a second


def is_engaged(data: bytes) -> bool:
    """Return the emergency stop that a std_msgs/Bool carries; bytes that are none never release it."""
    return data[HEADER : HEADER + 1] != b"\0"


class Outputs(Protocol):
    """The receiver of commands."""

    def command(self, command: Command, answered: int) -> None:
        """Take a command, with the stamp (ns) of the state that it answers."""

    def repeat(self) -> None:
        """Take what was commanded last once more, as an answer to the same state."""

    def unsolicited(self, command: Command) -> None:
        """Take a command that answers no state."""

    def external_torque(self, torque: Array, at: int) -> None:
        """Take the observed external torque (n,), with the stamp (ns) of the state."""

    @property
    def has_trajectory_subscribers(self) -> bool:
        """True if anybody takes what ``trajectory`` is given."""

    def trajectory(self, data: bytes) -> None:
        """Take a trajectory with effort, serialized."""


class Report(Protocol):
    """The receiver of the controller's changes of mode."""

    def transitions(self, controller: Controller, stamp: int) -> None:
        """Report the transitions since the last call; ``stamp`` (ns) is that of the state."""

    def waiting(self, controller: Controller) -> None:
        """Report that nothing is commanded yet, and why."""


class Log(Protocol):
    """The part of rclpy's loggers that is used here."""

    def info(self, message: str) -> object:
        """Log an event."""

    def warning(self, message: str, *, throttle_duration_sec: float = ...) -> object:
        """Log a warning, at most once in so many seconds."""

    def error(self, message: str, *, throttle_duration_sec: float = ...) -> object:
        """Log an error, at most once in so many seconds."""


class Clocks(Protocol):
    """The two times that a controller needs."""

    def steady(self) -> float:
        """Return seconds that never stand still or jump."""

    def now(self) -> int:
        """Return nanoseconds by the clock that an update rate follows."""


class RunningController:
    """A ``Controller`` connected with messages and clocks. Messages are bytes (see cdr), stamps are nanoseconds.

    Attributes
    ----------
    controller
        The controller.
    state_stamp
        Stamp of the last joint_states that could be used.
    """

    def __init__(
        self,
        robot: RobotModel,
        settings: ControllerSettings,
        clocks: Clocks,
        outputs: Outputs,
        report: Report,
        log: Log,
        renamed: Renaming = unchanged,
    ) -> None:
        """``renamed`` maps the joint names of messages to the robot's."""
        self._robot = robot
        self.controller = Controller(robot, settings)
        self.state_stamp = 0
        self._answers_states = settings.update_rate == 0.0
        self._clocks = clocks
        self._outputs = outputs
        self._report = report
        self._log = log
        self._renamed = renamed
        self._reader = JointStateReader(robot.joint_names, renamed=renamed)
        names = ", ".join(robot.joint_names)
        self._foreign = f"joint_states name none of {names}. Cure: publish them by their names in the URDF"
        self._to_check = self._compares_effort = False
        self._last = b""
        self._damped = False
        self._pending: bytes | None = None
        self._origin: int | None = None
        self._refused = 0
        self._effort_slices: list[Iterator[None]] = []

    def check_start(self, received: Iterable[bytes], compare_effort: bool) -> None:
        """Check that the arm rests and, to ``compare_effort``, that the measured efforts agree with the model.

        It takes the last of the joint_states ``received`` before, or else the first to come. Raises RobotDynamicsError
        where a check fails; the arm must not be commanded then.
        """
        self._to_check, self._compares_effort = True, compare_effort
        samples = [sample for data in received if (sample := self._sample(data)) is not None]
        steps = np.diff([sample.at for sample in samples])
        if (steps > 0).any():
            self.controller.period = float(steps[steps > 0].min()) * 1e-9
        if samples:
            self._check_start(samples[-1])

    def _sample(self, data: bytes) -> Sample | None:
        try:
            return self._reader.read(data)
        except RobotDynamicsError:
            return None

    def _check_start(self, sample: Sample) -> None:
        self._to_check = False
        speed = np.zeros(1) if sample.qd is None else np.abs(np.nan_to_num(sample.qd))
        limit = self.controller.settings.safety.activation_max_velocity
        if speed.max() > limit:
            j = int(np.argmax(speed))
            raise RobotDynamicsError(
                f'joint "{self._robot.joint_names[j]}" moves at {speed[j]:.3g}, over activation_max_velocity '
                f"{limit:g}. Cure: stop the arm by its brakes or by the controller that moves it, then activate"
            )
        self.controller.check_start(sample.q)
        if not self._compares_effort:
            return
        if speed.max() > _AT_REST:
            self._log.warning("activation_check: the arm moves, so that its effort cannot be compared")
            return
        for warning in check_activation(self._robot, sample.q, sample.effort):
            self._log.warning(warning)
        if not self.controller.settings.robot_compensates_gravity:
            self.controller.start_effort = holding_effort(self._robot, sample.q, sample.effort)

    def receive_state(self, data: bytes) -> None:
        """Take in joint_states; where there is no update rate, answer them.

        Raises RobotDynamicsError as ``check_start``, where that has waited for them.
        """
        steady, feedback = self._clocks.steady(), self.controller.feedback
        if feedback.stale(steady) is not None:
            self.watch()  # its timer stands still with the process, as after SIGSTOP: then a state may come first
        try:
            sample = self._reader.read(data)
        except JointsMissing as error:
            feedback.note_incomplete(str(error))
            self._log.warning(str(error), throttle_duration_sec=1.0)  # an error when it stays so
            return
        except RobotDynamicsError as error:
            feedback.reject(steady, str(error))
            return self._refuse_state(stamp_of(data) or self.state_stamp, steady)
        if sample is None:
            feedback.note_incomplete(self._foreign)
            return
        if data == self._last:  # the last state once more, as simulations send it that wait or pause
            feedback.receive(steady)
            if self._answers_states:
                self._outputs.repeat()
            return
        at = sample.at or self._arrival(steady)
        if at == 0:
            return
        if self._to_check:
            self._check_start(sample)
        origin = self._origin
        if not self.controller.measure(self._seconds(at), steady, sample.q, sample.qd):
            self._origin = origin
            return self._refuse_state(at, steady)
        self.state_stamp = self._refused = at
        if not self._answers_states or self._cycle(at, steady, at):
            self._last = data

    def _arrival(self, steady: float) -> int:
        """Return the time (ns) of a state that has no stamp; 0 where such a state is refused."""
        if self.controller.settings.safety.unstamped_states == "arrival":
            self._log.warning(_UNSTAMPED, throttle_duration_sec=math.inf)
            return self._clocks.now()
        self.controller.feedback.reject(steady, _UNSTAMPED)
        self._refuse_state(self.state_stamp, steady)
        return 0

    def _refuse_state(self, at: int, steady: float) -> None:
        """Answer a message of stamp ``at`` (ns) that cannot be used: one for each new stamp, as with those that can.

        Its time is not used. The first one ends the law's work; the others get the decision that was made, since cycles
        for many bad messages would keep the node from the good ones. ``watch`` runs meanwhile.
        """
        controller = self.controller
        if not self._answers_states:
            return
        if not controller.needs_state:
            self.state_stamp = at
            self._cycle(at, steady, at)
        elif controller.command is None:
            self._report.waiting(controller)
        elif controller.mode is Mode.ACTIVE:
            self._refused = at
            self._cycle(self.state_stamp, steady, at)
        elif at > self._refused:
            self._refused = at
            self._outputs.command(controller.command, at)

    def receive_trajectory(self, data: bytes) -> bool:
        """Follow a trajectory, now or as soon as the time is known; return whether it is followed now."""
        if self._time_is_unknown:
            self._pending = data
            self._log.info("trajectory waits for the first joint_states")
            return False
        try:
            self.follow(data)
        except RobotDynamicsError as error:
            self._log.error(f"trajectory refused: {error}")
            return False
        return True

    def follow(self, data: bytes) -> Trajectory:
        """Follow a trajectory from now on, and return it; errors as ``Controller.follow``."""
        if self._time_is_unknown:
            raise RobotDynamicsError("the time is not known yet. Cure: wait for joint_states")
        now = self._now()
        start, points = read_trajectory(data, self._renamed)
        trajectory = self.controller.follow(points, None if start == 0 else self._seconds(start), now)
        self._log.info(f"following a trajectory of {len(points.times)} points, {trajectory.duration:.3f} s")
        if self._outputs.has_trajectory_subscribers:
            self._effort_slices.append(
                self._with_effort(data, points, trajectory, self.controller.dropped_trajectories)
            )
        return trajectory

    @property
    def _time_is_unknown(self) -> bool:
        return self._origin is None and self._answers_states

    def receive_target(self, topic: str, data: bytes) -> None:
        """Take in a pose of the end effector, or the velocity or acceleration at it; ``topic`` is one of TARGETS."""
        try:
            self._follow_target(topic, data)
        except RobotDynamicsError as error:
            self._log.error(f"~/{topic} refused: {error}", throttle_duration_sec=1.0)

    def _follow_target(self, topic: str, data: bytes) -> None:
        targets = self.controller.targets()
        stamp, frame, numbers = read_target(topic, data)
        root = self._robot.link_names[0]
        if frame not in ("", root):
            raise RobotDynamicsError(
                f'frame_id "{frame}" is not the root link. Cure: transform it to "{root}" with tf2'
            )
        now = self._now()
        if topic != POSE:
            targets.feed_forward("twist" if topic == TWIST else "acceleration", numbers, stamp, now)
            return
        first = targets.empty
        targets.follow(pose_of(numbers[:3], numbers[3:]), stamp, self._seconds(stamp) if stamp else now, now)
        if first:
            self._log.info("the end effector follows ~/target_pose")

    def clear_fault(self) -> None:
        """Go back to active; RobotDynamicsError names the check that still fails."""
        try:
            self.controller.clear_fault(self._clocks.steady())
        finally:
            self._report.transitions(self.controller, self.state_stamp)

    def tick(self) -> None:
        """One cycle of an update rate."""
        self._cycle(self._clocks.now(), self._clocks.steady(), self.state_stamp)

    def watch(self) -> None:
        """Do what a cycle would do where no message comes to start one."""
        command = self.controller.watch(self._clocks.steady())
        if command is not None:
            self._outputs.unsolicited(command)
            self._report.transitions(self.controller, self.state_stamp)

    def _cycle(self, at: int, steady: float, answered: int) -> bool:
        """Give a command where there is one, as an answer to a stamp (ns); return whether there is."""
        command = self.controller.update(self._seconds(at), steady)
        if command is None:
            self._report.waiting(self.controller)
        else:
            self._outputs.command(command, answered)
            self._report_cycle(command)
        if self._effort_slices and next(self._effort_slices[0], self) is self:
            del self._effort_slices[0]
        if self._pending is not None:
            data, self._pending = self._pending, None
            self.receive_trajectory(data)
        return command is not None

    def _report_cycle(self, command: Command) -> None:
        if command.saturated:
            self._log.warning(f"effort limit reached by {', '.join(command.saturated)}", throttle_duration_sec=1.0)
        if self.controller.external_torque is not None:
            self._outputs.external_torque(self.controller.external_torque, self.state_stamp)
        end_effector = self.controller.end_effector
        if end_effector is not None and end_effector.damped and not self._damped:
            self._log.warning(
                "the end effector is near a singularity (smallest singular value "
                f"{end_effector.smallest_singular_value:.3g}) and lags in the direction that is lost. "
                "Cure: keep targets within reach, or leave out task_space.components",
                throttle_duration_sec=1.0,
            )
        self._damped = end_effector is not None and end_effector.damped
        self._report.transitions(self.controller, self.state_stamp)

    def _now(self) -> float:
        """Return the time at which a message of stamp 0 takes effect."""
        return self.controller.time if self._answers_states else self._seconds(self._clocks.now())

    def _with_effort(self, data: bytes, points: TrajectoryPoints, trajectory: Trajectory, drops: int) -> Iterator[None]:
        """Compute a trajectory with effort, for a joint_trajectory_controller that adds it, a part each cycle."""
        controller, settings = self.controller, self.controller.settings
        smoothing = settings.friction_smoothing_velocity if settings.friction_compensation else None
        period, slices = settings.trajectory_effort_period, []
        try:
            for part in trajectory_effort(controller.model, trajectory, points.joint_names, period, smoothing):
                slices.append(part)
                yield
                if controller.dropped_trajectories != drops:
                    return
            self._outputs.trajectory(with_points(data, joined(slices)))
        except RobotDynamicsError as error:
            self._log.error(f"~/joint_trajectory_with_effort: {error}")

    def _seconds(self, at: int) -> float:
        """Return the time since the first one asked for.

        In steps of 2^-36 s (15 ps) counted from 1970: of such times float64 holds every difference exactly, up to 36
        hours, so that commands do not depend, by rounding, on which message was the first.
        """
        ticks = (at * _TICKS + _NANOSECONDS // 2) // _NANOSECONDS
        if self._origin is None:
            self._origin = ticks
        return (ticks - self._origin) / _TICKS
