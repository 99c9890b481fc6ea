"""Trajectory goals (FollowJointTrajectory): tolerances, monitoring and execution from acceptance to result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.base.errors import (
    JointNamesError,
    RobotDynamicsError,
    TrajectoryError,
    TrajectoryOverError,
    did_you_mean,
)
from robot_dynamics_ros.control.configuration.settings import NodeSettings
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.thresholds import EARLY_CYCLE
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.dynamics.kernels.types import Array

# tolerance of -1, as in joint_trajectory_controller (JTC)
_NEAR = float(np.finfo(np.float32).eps)
_QUANTITY = ("position", "velocity")
_UNIT = ("rad or m", "rad/s or m/s")
_NO_FEEDBACK = "the trajectory has ended; the position is unknown without joint_states"

ToleranceRow = tuple[str, float, float, float]
"""Fields of control_msgs/JointTolerance: name of the joint; tolerances of position, velocity and acceleration."""


class Code(IntEnum):
    """Result codes of control_msgs/action/FollowJointTrajectory, with the names and values of its constants.

    SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED.
    """

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Tolerances of a goal; infinite: not checked.

    Attributes
    ----------
    joint_names
        Names of the n joints.
    path, goal
        Allowed errors (2, n) of position (rad or m) and velocity, during the motion and at its end.
    goal_time
        Time (s), by trajectory time, after the end of the trajectory within which the joints have to arrive.
    """

    joint_names: Sequence[str]
    path: Array
    goal: Array
    goal_time: float

    @classmethod
    def of(cls, settings: NodeSettings, joint_names: Sequence[str]) -> Tolerances:
        """Return the default tolerances of goals for the n joints ``joint_names``.

        Raises RobotDynamicsError, naming parameter and cure, for lists that are neither one number nor n.
        """
        settings.check_sizes(joint_names)
        path, goal = np.full((2, 2, len(joint_names)), np.inf)
        path[0] = settings.path_tolerance or math.inf
        goal[0] = settings.goal_tolerance or math.inf
        goal[1] = settings.stopped_velocity_tolerance
        path[path == 0.0] = goal[goal == 0.0] = np.inf
        return cls(joint_names, path, goal, settings.goal_time or math.inf)

    def requested(
        self,
        path: Iterable[ToleranceRow],
        goal: Iterable[ToleranceRow],
        goal_time: float,
    ) -> Tolerances:
        """Return these tolerances with those of a goal for its ``path`` and its end, ``goal``; ``goal_time`` is in s.

        In all of them 0 keeps the present value, and -1 disables the check. Acceleration tolerances are validated, but
        have no effect, as accelerations are not measured.

        Raises JointNamesError for an unknown joint, and TrajectoryError for NaN and negative numbers other than -1.
        """
        return Tolerances(
            self.joint_names,
            _requested(self.path, "path_tolerance", path, self.joint_names),
            _requested(self.goal, "goal_tolerance", goal, self.joint_names),
            _resolved(self.goal_time, goal_time, "goal_time_tolerance"),
        )

    def check(
        self, late: float, error: Array | None, is_first: bool
    ) -> tuple[Code, str] | None:
        """Return code and message of the result of a goal, or None while it runs.

        ``late`` (s) is the trajectory time since the end of the trajectory. ``error`` (2, n) is desired minus measured
        position (rad or m) and velocity, or None for an open-loop law without joint_states; the goal then succeeds at
        its end. In the cycle that ``is_first`` the path is checked also for a single-point trajectory.
        """
        if error is not None and (is_first or late < 0.0):
            if off := self._off(error, self.path, "path tolerance"):
                return Code.PATH_TOLERANCE_VIOLATED, off
        if late < 0.0:
            return None
        if error is None:
            return Code.SUCCESSFUL, _NO_FEEDBACK
        off = self._off(error, self.goal, "goal tolerance")
        if not off:
            return Code.SUCCESSFUL, "goal reached"
        if late > self.goal_time:
            return (
                Code.GOAL_TOLERANCE_VIOLATED,
                f"{late:.3f} s after the end of the trajectory, {off}",
            )
        return None

    def _off(self, error: Array, tolerance: Array, name: str) -> str:
        """Return a message for the joint that is farthest outside its tolerance; "" if all are within."""
        size = np.abs(error)
        outside = ~(size <= tolerance)  # True for NaN
        if not outside.any():
            return ""
        row, j = divmod(
            int(np.argmax(np.where(outside, size / tolerance, 0.0))),
            len(self.joint_names),
        )
        return (
            f'joint "{self.joint_names[j]}": {_QUANTITY[row]} error {error[row, j]:.4g} exceeds the {name} '
            f"{tolerance[row, j]:.4g} {_UNIT[row]}"
        )


def _requested(
    default: Array,
    field: str,
    requested: Iterable[ToleranceRow],
    joint_names: Sequence[str],
) -> Array:
    tolerances = default.copy()
    for name, position, velocity, acceleration in requested:
        if name not in joint_names:
            raise JointNamesError(
                f"{field}: joint '{name}' is not controlled here. Cure: use the joints {', '.join(joint_names)}"
                + did_you_mean(name, joint_names)
            )
        j = joint_names.index(name)
        where = f"{field} of joint '{name}'"
        tolerances[0, j] = _resolved(default[0, j], position, f"{where}: position")
        tolerances[1, j] = _resolved(default[1, j], velocity, f"{where}: velocity")
        _resolved(math.inf, acceleration, f"{where}: acceleration")
    return tolerances


def _resolved(default: float, requested: float, name: str) -> float:
    """Return a tolerance as defined by JointTolerance.msg: the default for 0, infinite for -1, or a positive value."""
    if requested > 0.0:
        return requested
    if requested == 0.0:
        return default
    if abs(requested + 1.0) < _NEAR:
        return math.inf
    raise TrajectoryError(
        f"{name} is {requested:g}. Cure: give a positive number, 0 for the parameter's default or -1 for none"
    )


class Ending(Enum):
    """Final status of an action goal: SUCCEEDED, ABORTED or CANCELED."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


class Progress(NamedTuple):
    """Progress of a goal.

    Attributes
    ----------
    seconds
        Trajectory time (s) since the start of the goal.
    desired
        Desired motion.
    measured, error
        Measured position (rad or m) and velocity, and desired minus measured, each (2, n); None without joint_states.
    """

    seconds: float
    desired: Motion
    measured: Array | None
    error: Array | None


class GoalEvent(NamedTuple):
    """Event of a goal to report: progress if it is due, else None; final status and result once it has ended."""

    progress: Progress | None = None
    ending: Ending | None = None
    code: Code = Code.SUCCESSFUL
    message: str = ""


class Deadline:
    """Periodic deadlines at ``rate`` (Hz, positive), by a clock that may jump."""

    def __init__(self, rate: float) -> None:
        self._period = 1.0 / rate
        self._next = -math.inf

    def due(self, time: float) -> bool:
        """Return True and set the next deadline if the deadline is reached at ``time`` (s), else False.

        It is reached at the first call, and from a tenth of a period before the deadline on.
        """
        wait = self._next - time
        # A longer wait means that the clock jumped back.
        if EARLY_CYCLE * self._period < wait < 2.0 * self._period:
            return False
        kept = abs(wait) < self._period
        self._next = (self._next if kept else time) + self._period
        return True


class GoalExecution:
    """Execution of one goal by a controller, with progress at ``progress_rate`` (Hz) of the controller's time."""

    def __init__(
        self,
        controller: Controller,
        progress_rate: float,
        trajectory: Trajectory,
        tolerances: Tolerances,
    ) -> None:
        """Monitor the goal's ``trajectory``, which the controller has already accepted, by ``tolerances``."""
        self._controller = controller
        self._tolerances = tolerances
        self._trajectory = trajectory
        self._is_first = True
        self._deadline = Deadline(progress_rate)
        self._cycles = controller.cycles
        self._drops = controller.plan.drops
        self._canceled = False

    def cancel(self) -> None:
        """Stop the arm. The goal ends at the next ``check``, after the response to the cancel request."""
        self._controller.cancel()
        self._canceled = True

    def check(self, steady: float) -> GoalEvent:
        """Check the goal and return its event.

        To be called after each cycle until the goal has ended, and periodically if there are no cycles. ``steady`` (s)
        is the time of the steady clock, which never stops or jumps, for the age of joint_states. Without a new cycle
        the event is empty, unless the goal was canceled or aborted. If a tolerance is violated, the controller's
        trajectories are canceled.
        """
        controller = self._controller
        if self._canceled:
            return GoalEvent(None, Ending.CANCELED, message="canceled by its client")
        if controller.mode is not Mode.ACTIVE:
            cause = (
                ""
                if controller.safety.fault is None
                else f": {controller.safety.fault.message}"
            )
            return aborted(f"the controller changed to {controller.mode.value}{cause}")
        if not controller.tuning.law.follows:
            return aborted(
                f"the law was changed to {controller.settings.law}, which does not follow trajectories"
            )
        if controller.plan.drops != self._drops:
            reason = ": the brakes are engaged" if controller.arm.brakes_engaged else ""
            return aborted(f"the trajectory was dropped{reason}")
        if controller.command is None or controller.cycles == self._cycles:
            return GoalEvent()
        self._cycles = controller.cycles
        progress = self._progress(controller.command.desired, steady)
        late = controller.plan.trajectory_time - self._trajectory.end_time
        result = self._tolerances.check(late, progress.error, self._is_first)
        self._is_first = False
        due = self._deadline.due(controller.clock.time)
        if result is None:
            return GoalEvent(progress if due else None)
        if result[0] is Code.SUCCESSFUL:
            return GoalEvent(progress, Ending.SUCCEEDED, *result)
        controller.cancel()
        return GoalEvent(progress, Ending.ABORTED, *result)

    def _progress(self, desired: Motion, steady: float) -> Progress:
        controller = self._controller
        seconds = controller.plan.trajectory_time - self._trajectory.start_time
        estimator = controller.estimator
        known = estimator.estimate.known and not estimator.stale(steady)
        if not (controller.tuning.law.needs_state or known):
            return Progress(seconds, desired, None, None)
        state = q, qd = estimator.estimate.state
        return Progress(
            seconds, desired, state, np.array([desired.q - q, desired.qd - qd])
        )


def aborted(reason: str) -> GoalEvent:
    """Return the event of an aborted goal with the code INVALID_GOAL; ``reason`` is the error string of its result."""
    return GoalEvent(None, Ending.ABORTED, Code.INVALID_GOAL, reason)


def refused(error: RobotDynamicsError) -> GoalEvent:
    """Return the event of a goal that is aborted at once with ``error``, whose type selects the code."""
    codes: dict[type, Code] = {
        JointNamesError: Code.INVALID_JOINTS,
        TrajectoryOverError: Code.OLD_HEADER_TIMESTAMP,
    }
    return aborted(str(error))._replace(code=codes.get(type(error), Code.INVALID_GOAL))


def check_law(controller: Controller) -> None:
    """Raise RobotDynamicsError if the control law of ``controller`` does not follow joint trajectories."""
    if not controller.tuning.law.follows:
        raise RobotDynamicsError(
            f"the law {controller.settings.law} does not follow joint trajectories. Cure: set another law"
        )
