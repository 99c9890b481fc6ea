"""Goals of trajectories: tolerances, monitoring, and execution from acceptance to result."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.laws import LAWS, Motion, per_joint
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError, TrajectoryError, TrajectoryOverError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.parameters.kinds import NOT_NEGATIVE, RATE, Number, Numbers, Parameter, Values

_ERASED = -1.0
_NEAR = float(np.finfo(np.float32).eps)  # that near to -1 is -1, in JTC


class Code(IntEnum):
    """What became of a goal, as control_msgs/action/FollowJointTrajectory numbers it."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(frozen=True)
class GoalConstraints:
    """What a user sets; sequences hold one number for each joint, one for all, or nothing, and 0 is no tolerance.

    Attributes
    ----------
    stopped_velocity_tolerance
        Velocity error (rad/s or m/s) at the end of a trajectory up to which a joint has arrived.
    goal_time
        How long (s) after the end of a trajectory the joints may take to arrive; 0: as long as they need.
    path_tolerance, goal_tolerance
        Position error (rad or m) that is allowed on the way, and at the end.
    """

    stopped_velocity_tolerance: float = 0.01
    goal_time: float = 0.0
    path_tolerance: Sequence[float] = ()
    goal_tolerance: Sequence[float] = ()


class JointTolerance(NamedTuple):
    """What a goal asks for one joint, in rad or m, and a second: 0 as the parameters say, -1 no tolerance."""

    name: str
    position: float
    velocity: float
    acceleration: float = 0.0


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Errors that are allowed, infinite where any is.

    ``path`` and ``goal`` (2, n) are of position (rad or m) and velocity; ``goal_time`` (s) is how long after its
    end a trajectory may take to arrive.
    """

    path: Array
    goal: Array
    goal_time: float

    @classmethod
    def default(cls, constraints: GoalConstraints, joint_names: Sequence[str]) -> Tolerances:
        """Return what holds for a goal that asks for nothing; RobotDynamicsError names a bad parameter."""
        n = len(joint_names)
        path, goal = np.full((2, n), np.inf), np.full((2, n), np.inf)
        for row, name in ((path, "path_tolerance"), (goal, "goal_tolerance")):
            given = getattr(constraints, name)
            if len(given) > 0:
                row[0] = _or_none(per_joint(f"constraints.{name}", given, joint_names))
        goal[1] = _or_none(np.array(constraints.stopped_velocity_tolerance))
        return cls(path, goal, constraints.goal_time or math.inf)

    def asked(
        self,
        joint_names: Sequence[str],
        path: Iterable[JointTolerance],
        goal: Iterable[JointTolerance],
        goal_time: float,
    ) -> Tolerances:
        """Return these with what a goal asks for; ``goal_time`` in s.

        Accelerations are not measured: their tolerances are checked for sense, as the others, and hold nothing up.
        Raises JointNamesError for another joint, TrajectoryError for a number below 0 that is not -1, or none.
        """
        return Tolerances(
            _asked(self.path, "path_tolerance", path, joint_names),
            _asked(self.goal, "goal_tolerance", goal, joint_names),
            _resolved(self.goal_time, goal_time, "goal_time_tolerance"),
        )


def _or_none(tolerances: Array) -> Array:
    return np.where(tolerances > 0.0, tolerances, np.inf)


def _asked(default: Array, field: str, asked: Iterable[JointTolerance], joint_names: Sequence[str]) -> Array:
    tolerances = default.copy()
    for name, position, velocity, acceleration in asked:
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


def _resolved(default: float, asked: float, what: str) -> float:
    """What JointTolerance.msg says: positive as it is, 0 the default, -1 no tolerance."""
    if asked > 0.0:
        return asked
    if asked == 0.0:
        return default
    if abs(asked - _ERASED) < _NEAR:
        return math.inf
    raise TrajectoryError(f"{what} is {asked:g}; give a positive number, 0 for the parameter's or -1 for none")


STOPPED_VELOCITY_TOLERANCE = Number(
    "constraints.stopped_velocity_tolerance",
    0.01,
    "Velocity error (rad/s or m/s) up to which a joint has arrived at the end of a goal's trajectory; 0: any",
    NOT_NEGATIVE,
    when="run",
)
GOAL_TIME = Number(
    "constraints.goal_time",
    0.0,
    "Seconds after the end of a goal's trajectory within which the joints must arrive; 0: as long as they take",
    NOT_NEGATIVE,
    when="run",
)
PATH_TOLERANCE = Numbers(
    "constraints.path_tolerance",
    [],
    "Position error (rad or m) on the way at which a goal is aborted; 0 or empty: none",
    NOT_NEGATIVE,
    when="run",
)
GOAL_TOLERANCE = Numbers(
    "constraints.goal_tolerance",
    [],
    "Position error (rad or m) up to which a joint has arrived at the end of a goal's trajectory; 0 or empty: any",
    NOT_NEGATIVE,
    when="run",
)
ACTION_MONITOR_RATE = Number("action_monitor_rate", 20.0, "Feedback (Hz) of a goal of ~/follow_joint_trajectory", RATE)
STATE_PUBLISH_RATE = Number("state_publish_rate", 50.0, "Messages (Hz) of ~/controller_state", RATE)

GOAL: tuple[Parameter[Any], ...] = (
    STOPPED_VELOCITY_TOLERANCE,
    GOAL_TIME,
    PATH_TOLERANCE,
    GOAL_TOLERANCE,
    ACTION_MONITOR_RATE,
    STATE_PUBLISH_RATE,
)


def read_tolerances(values: Values, joint_names: Sequence[str]) -> Tolerances:
    """Return the tolerances of goals; RobotDynamicsError names the parameter, its value and the cure."""
    constraints = GoalConstraints(
        stopped_velocity_tolerance=STOPPED_VELOCITY_TOLERANCE.read(values),
        goal_time=GOAL_TIME.read(values),
        path_tolerance=PATH_TOLERANCE.read(values),
        goal_tolerance=GOAL_TOLERANCE.read(values),
    )
    return Tolerances.default(constraints, joint_names)


_WHAT = ("position", "velocity")
_UNIT = ("rad or m", "rad/s or m/s")
_BLIND = "the trajectory is over; whether the arm is there, nobody knows without joint_states"


class Outcome(NamedTuple):
    """What became of a goal, and in words."""

    code: Code
    message: str


class GoalMonitor:
    """Judges one goal, cycle by cycle, in trajectory time: a reduced speed puts off its end and every deadline."""

    def __init__(self, joint_names: Sequence[str], tolerances: Tolerances, end: float) -> None:
        """The trajectory of these n joints ends at trajectory time ``end`` (s)."""
        self._names = tuple(joint_names)
        self._tolerances = tolerances
        self._end = end
        self._first = True

    def check(self, time: float, error: Array | None) -> Outcome | None:
        """Return what became of the goal, or None while it runs.

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
        """Say which joint is farthest outside, as a multiple of its tolerance; empty where all are inside."""
        size = np.abs(error)
        outside = ~(size <= tolerance)  # so is NaN
        if not outside.any():
            return ""
        row, j = np.unravel_index(np.argmax(np.where(outside, size / tolerance, 0.0)), size.shape)
        return (
            f'joint "{self._names[j]}": {_WHAT[row]} error {error[row, j]:.4g} is over the {name} '
            f"{tolerance[row, j]:.4g} {_UNIT[row]}"
        )


def refusal(problem: RobotDynamicsError) -> Outcome:
    """Return what becomes of a goal that cannot be followed."""
    if isinstance(problem, JointNamesError):
        return Outcome(Code.INVALID_JOINTS, str(problem))
    if isinstance(problem, TrajectoryOverError):
        return Outcome(Code.OLD_HEADER_TIMESTAMP, str(problem))
    return Outcome(Code.INVALID_GOAL, str(problem))


_EARLY = 0.1  # of a period: where cycles come at the same rate, one that is a bit early is the one that was meant


class Ending(Enum):
    """How a goal ends, as an action's status has it."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


class Progress(NamedTuple):
    """Where a goal is: ``seconds`` of trajectory time since its start, and what the controller wants and measures.

    ``error`` (2, n) is desired less ``measured`` (2, n): position, velocity; both None without joint_states.
    """

    seconds: float
    desired: Motion
    measured: Array | None
    error: Array | None


class Goal(Protocol):
    """Who has sent a goal, and is told of it."""

    def progress(self, progress: Progress) -> None:
        """Take where the goal is."""

    def end(self, ending: Ending, outcome: Outcome) -> None:
        """Take what became of the goal; nothing comes afterwards."""


class Deadline:
    """Says when something is due that is to happen ``rate`` times a second of a clock that may jump."""

    def __init__(self, rate: float) -> None:
        self._period = 1.0 / rate
        self._next = -math.inf

    def due(self, time: float) -> bool:
        """Whether it is due at ``time`` (s); then the next time is set."""
        wait = self._next - time
        if _EARLY * self._period < wait < 2.0 * self._period:  # else the clock has jumped back
            return False
        kept = abs(wait) < self._period
        self._next = (self._next if kept else time) + self._period
        return True


class GoalExecution:
    """Leads one goal at a time through the cycles of a controller."""

    def __init__(self, controller: Controller, progress_rate: float) -> None:
        """``progress_rate`` (Hz): how often a goal is told where it is, by the controller's time."""
        self._controller = controller
        self._names = controller.model.joint_names
        self._rate = progress_rate
        self._goal: Goal | None = None
        self._monitor: GoalMonitor
        self._start = 0.0
        self._deadline = Deadline(progress_rate)
        self._cycles = self._drops = 0
        self._canceled = False

    def check_law(self) -> None:
        """Raise RobotDynamicsError where the law does not let the joints follow a goal."""
        law = self._controller.settings.law
        if not LAWS[law].follows:
            raise RobotDynamicsError(f"the law {law} follows no trajectory of the joints. Cure: set another law")

    def start(self, goal: Goal, trajectory: Trajectory, tolerances: Tolerances) -> None:
        """Lead this goal from now on, whose ``trajectory`` the controller follows already."""
        self.abort("replaced by a new goal")
        self._goal, self._canceled = goal, False
        self._monitor = GoalMonitor(self._names, tolerances, trajectory.end_time)
        self._start = trajectory.start_time
        self._deadline = Deadline(self._rate)
        self._cycles = self._controller.cycles  # its first cycle is still to come
        self._drops = self._controller.dropped_trajectories

    def cancel(self) -> None:
        """Stop the arm; the goal ends at the next ``check``, when its client's request has been answered."""
        if self._goal is not None:
            self._controller.cancel()
            self._canceled = True

    def abort(self, why: str) -> None:
        """End the goal that runs, if one does."""
        self._end(Ending.ABORTED, Outcome(Code.INVALID_GOAL, why))

    def check(self, steady: float) -> None:
        """Look at what the controller did; call it after each cycle, and where cycles fail to come.

        ``steady`` (s) is the time that tells the age of joint_states.
        """
        if self._goal is None:
            return
        controller = self._controller
        if self._canceled:
            self._end(Ending.CANCELED, Outcome(Code.SUCCESSFUL, "canceled by its client"))
        elif controller.mode is not Mode.ACTIVE:
            cause = "" if controller.fault is None else f": {controller.fault.message}"
            self.abort(f"the controller went to {controller.mode.value}{cause}")
        elif not LAWS[controller.settings.law].follows:
            self.abort(f"the law is {controller.settings.law} now, which follows no trajectory")
        elif controller.dropped_trajectories != self._drops:
            self.abort("its trajectory was dropped")
        elif controller.command is not None and controller.cycles > self._cycles:
            self._cycles = controller.cycles
            self._judge(self._goal, _progress(controller, controller.command.desired, self._start, steady))

    def _judge(self, goal: Goal, progress: Progress) -> None:
        outcome = self._monitor.check(self._controller.trajectory_time, progress.error)
        if self._deadline.due(self._controller.time) or outcome is not None:
            goal.progress(progress)
        if outcome is None:
            return
        if outcome.code is Code.SUCCESSFUL:
            self._end(Ending.SUCCEEDED, outcome)
        else:
            self._controller.cancel()
            self._end(Ending.ABORTED, outcome)

    def _end(self, ending: Ending, outcome: Outcome) -> None:
        goal, self._goal = self._goal, None
        if goal is not None:
            goal.end(ending, outcome)


def _progress(controller: Controller, desired: Motion, start: float, steady: float) -> Progress:
    """Return where a goal is whose points' times count from trajectory time ``start`` (s)."""
    seconds = controller.trajectory_time - start
    feedback, needed = controller.feedback, LAWS[controller.settings.law].needs_state
    if not (needed or (feedback.known and feedback.stale(steady) is None)):
        return Progress(seconds, desired, None, None)
    measured = feedback.state
    error = np.empty_like(measured)
    np.subtract(desired.q, measured[0], error[0])
    np.subtract(desired.qd, measured[1], error[1])
    return Progress(seconds, desired, measured, error)
