"""Goals of trajectories: tolerances, monitoring, and execution from acceptance to result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS, Motion, per_joint
from robot_dynamics_ros.control.parameters import GOAL_TIME, GOAL_TOLERANCE, PATH_TOLERANCE, STOPPED_VELOCITY_TOLERANCE
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError, TrajectoryError, TrajectoryOverError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.parameters.kinds import Values

_NEAR = float(np.finfo(np.float32).eps)  # values that near to -1 are -1 in joint_trajectory_controller (JTC), too
_EARLY = 0.1  # of a period: a cycle that is a bit early counts as the one that is due
_WHAT = ("position", "velocity")
_UNIT = ("rad or m", "rad/s or m/s")
_BLIND = "the trajectory is over; whether the arm is there, nobody knows without joint_states"


class Code(IntEnum):
    """Results of a goal, numbered as in control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class JointTolerance(NamedTuple):
    """Tolerances of a goal for one joint, in rad or m, and a second: 0 as the parameters say, -1 no tolerance."""

    name: str
    position: float
    velocity: float
    acceleration: float = 0.0


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Allowed errors, infinite where any is allowed.

    ``path`` and ``goal`` (2, n) are of position (rad or m) and velocity; ``goal_time`` (s) is the time after the end
    of the trajectory within which the joints must arrive.
    """

    path: Array
    goal: Array
    goal_time: float

    def requested(
        self,
        joint_names: Sequence[str],
        path: Iterable[JointTolerance],
        goal: Iterable[JointTolerance],
        goal_time: float,
    ) -> Tolerances:
        """Return these with what a goal asks for; ``goal_time`` in s.

        Tolerances of accelerations, which are not measured, are checked for sense only.
        Raises JointNamesError for another joint, TrajectoryError for a number below 0 that is not -1, or none.
        """
        return Tolerances(
            _requested(self.path, "path_tolerance", path, joint_names),
            _requested(self.goal, "goal_tolerance", goal, joint_names),
            _resolved(self.goal_time, goal_time, "goal_time_tolerance"),
        )


def read_tolerances(values: Values, joint_names: Sequence[str]) -> Tolerances:
    """Return the tolerances of goals that ask for none; RobotDynamicsError names the parameter, value and cure."""
    path, goal = np.full((2, 2, len(joint_names)), np.inf)
    for tolerances, parameter in ((path, PATH_TOLERANCE), (goal, GOAL_TOLERANCE)):
        if given := parameter.read(values):
            tolerances[0] = per_joint(parameter.name, given, joint_names)
    goal[1] = STOPPED_VELOCITY_TOLERANCE.read(values)
    path[path == 0.0] = goal[goal == 0.0] = np.inf
    return Tolerances(path, goal, GOAL_TIME.read(values) or math.inf)


def _requested(default: Array, field: str, requested: Iterable[JointTolerance], joint_names: Sequence[str]) -> Array:
    tolerances = default.copy()
    for name, position, velocity, acceleration in requested:
        if name not in joint_names:
            raise JointNamesError(
                f"{field}: joint '{name}' is not controlled here; use the joints {', '.join(joint_names)}"
            )
        j = joint_names.index(name)
        where = f"{field} of joint '{name}'"
        tolerances[0, j] = _resolved(default[0, j], position, f"{where}: position")
        tolerances[1, j] = _resolved(default[1, j], velocity, f"{where}: velocity")
        _resolved(math.inf, acceleration, f"{where}: acceleration")
    return tolerances


def _resolved(default: float, requested: float, what: str) -> float:
    """Return a tolerance as JointTolerance.msg defines it: positive as it is, 0 the default, -1 none."""
    if requested > 0.0:
        return requested
    if requested == 0.0:
        return default
    if abs(requested + 1.0) < _NEAR:
        return math.inf
    raise TrajectoryError(f"{what} is {requested:g}; give a positive number, 0 for the parameter's or -1 for none")


class Outcome(NamedTuple):
    """Result of a goal, and a sentence about it."""

    code: Code
    message: str


class GoalMonitor:
    """Check of one goal in each cycle, in trajectory time: a reduced speed delays its end and every deadline."""

    def __init__(self, joint_names: Sequence[str], tolerances: Tolerances, end: float) -> None:
        """The trajectory of these n joints ends at trajectory time ``end`` (s)."""
        self._names = tuple(joint_names)
        self._tolerances = tolerances
        self._end = end
        self._first = True

    def check(self, time: float, error: Array | None) -> Outcome | None:
        """Return the outcome of the goal, or None while it runs.

        ``time`` (s) is the cycle's trajectory time, ``error`` (2, n) desired less measured position (rad or m) and
        velocity, None where an open-loop law runs without joint_states: then the goal succeeds at its end.
        """
        first, self._first = self._first, False
        late = time - self._end
        if error is not None and (first or late < 0.0):  # the first also where the trajectory is a single point
            off = self._off(error, self._tolerances.path, "path tolerance")
            if off:
                return Outcome(Code.PATH_TOLERANCE_VIOLATED, off)
        if late < 0.0:
            return None
        if error is None:
            return Outcome(Code.SUCCESSFUL, _BLIND)
        off = self._off(error, self._tolerances.goal, "goal tolerance")
        if not off:
            return Outcome(Code.SUCCESSFUL, "goal reached")
        if late > self._tolerances.goal_time:
            return Outcome(Code.GOAL_TOLERANCE_VIOLATED, f"{late:.3f} s after its end, {off}")
        return None

    def _off(self, error: Array, tolerance: Array, name: str) -> str:
        """Return a text on the joint that is farthest outside its tolerance; empty where all are inside."""
        size = np.abs(error)
        outside = ~(size <= tolerance)  # so is NaN
        if not outside.any():
            return ""
        row, j = np.unravel_index(np.argmax(np.where(outside, size / tolerance, 0.0)), size.shape)
        return (
            f'joint "{self._names[j]}": {_WHAT[row]} error {error[row, j]:.4g} is over the {name} '
            f"{tolerance[row, j]:.4g} {_UNIT[row]}"
        )


def refusal(error: RobotDynamicsError) -> Outcome:
    """Return the outcome of a goal that cannot be followed."""
    if isinstance(error, JointNamesError):
        return Outcome(Code.INVALID_JOINTS, str(error))
    if isinstance(error, TrajectoryOverError):
        return Outcome(Code.OLD_HEADER_TIMESTAMP, str(error))
    return Outcome(Code.INVALID_GOAL, str(error))


class Ending(Enum):
    """Final status of a goal, as of an action."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


class Progress(NamedTuple):
    """Progress of a goal: ``seconds`` of trajectory time since its start, desired and measured motion.

    ``error`` (2, n) is desired less ``measured`` (2, n): position, velocity; both None without joint_states.
    """

    seconds: float
    desired: Motion
    measured: Array | None
    error: Array | None


class GoalEvent(NamedTuple):
    """What is to be told of a goal: its progress, and how it ended if it did."""

    progress: Progress | None = None
    ending: Ending | None = None
    outcome: Outcome | None = None


class Deadline:
    """Deadlines at ``rate`` (Hz), on a clock that may jump."""

    def __init__(self, rate: float) -> None:
        self._period = 1.0 / rate
        self._next = -math.inf

    def due(self, time: float) -> bool:
        """Return True, and set the next deadline, if one has come at ``time`` (s)."""
        wait = self._next - time
        if _EARLY * self._period < wait < 2.0 * self._period:  # else the clock has jumped back
            return False
        kept = abs(wait) < self._period
        self._next = (self._next if kept else time) + self._period
        return True


class GoalExecution:
    """Execution of one goal on a controller; ``progress_rate`` (Hz) is by the controller's time."""

    def __init__(
        self, controller: Controller, progress_rate: float, trajectory: Trajectory, tolerances: Tolerances
    ) -> None:
        """The controller follows the goal's ``trajectory`` already."""
        self._controller = controller
        self._monitor = GoalMonitor(controller.model.joint_names, tolerances, trajectory.end_time)
        self._start = trajectory.start_time
        self._deadline = Deadline(progress_rate)
        self._cycles = controller.cycles  # its first cycle is still to come
        self._drops = controller.dropped_trajectories
        self._canceled = False

    def cancel(self) -> None:
        """Stop the arm; the goal ends at the next ``check``, after the answer to its client's request."""
        self._controller.cancel()
        self._canceled = True

    def check(self, steady: float) -> GoalEvent:
        """Check the goal; to be called after each cycle, and regularly where cycles fail to come, until it has ended.

        ``steady`` (s) is the time by which the age of joint_states counts.
        """
        controller = self._controller
        if self._canceled:
            return GoalEvent(None, Ending.CANCELED, Outcome(Code.SUCCESSFUL, "canceled by its client"))
        if controller.mode is not Mode.ACTIVE:
            cause = "" if controller.fault is None else f": {controller.fault.message}"
            return aborted(f"the controller went to {controller.mode.value}{cause}")
        if not LAWS[controller.settings.law].follows:
            return aborted(f"the law is {controller.settings.law} now, which follows no trajectory")
        if controller.dropped_trajectories != self._drops:
            return aborted("its trajectory was dropped")
        if controller.command is None or controller.cycles == self._cycles:
            return GoalEvent()
        self._cycles = controller.cycles
        return self._check_tolerances(self._progress(controller.command.desired, steady))

    def _check_tolerances(self, progress: Progress) -> GoalEvent:
        outcome = self._monitor.check(self._controller.trajectory_time, progress.error)
        due = self._deadline.due(self._controller.time)
        if outcome is None:
            return GoalEvent(progress if due else None)
        if outcome.code is Code.SUCCESSFUL:
            return GoalEvent(progress, Ending.SUCCEEDED, outcome)
        self._controller.cancel()
        return GoalEvent(progress, Ending.ABORTED, outcome)

    def _progress(self, desired: Motion, steady: float) -> Progress:
        controller = self._controller
        seconds, feedback = controller.trajectory_time - self._start, controller.feedback
        if not (controller.needs_state or (feedback.known and feedback.stale(steady) is None)):
            return Progress(seconds, desired, None, None)
        q, qd = feedback.state
        return Progress(seconds, desired, feedback.state, np.array([desired.q - q, desired.qd - qd]))


def aborted(reason: str) -> GoalEvent:
    """Return the end of a goal that is given up."""
    return GoalEvent(None, Ending.ABORTED, Outcome(Code.INVALID_GOAL, reason))


def check_law(controller: Controller) -> None:
    """Raise RobotDynamicsError where the law does not let the joints follow a goal."""
    law = controller.settings.law
    if not LAWS[law].follows:
        raise RobotDynamicsError(f"the law {law} follows no trajectory of the joints. Cure: set another law")
