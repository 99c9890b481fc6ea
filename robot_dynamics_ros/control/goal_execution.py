"""One goal at a time, from its acceptance to its end: what an action server does, without the server.

The rules are those of joint_trajectory_controller (JTC), ros2_controllers 6.9.0: a new goal replaces the one that
runs, which ends as INVALID_GOAL, as it does when the controller is deactivated; a goal that ends badly stops the arm.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np

from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.goal_monitor import GoalMonitor, Outcome
from robot_dynamics_ros.control.goal_tolerances import Code, Tolerances
from robot_dynamics_ros.control.laws import LAWS, Motion
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array

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
