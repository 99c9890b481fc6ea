"""Whether a goal's trajectory is followed well enough, and when it has arrived.

The rules are those of joint_trajectory_controller (JTC), ros2_controllers 6.9.0, joint_trajectory_controller.cpp,
`update`: on the way the path's tolerances hold, from the end on the goal's, and `goal_time` after the end those must.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.goal_tolerances import Code, Tolerances
from robot_dynamics_ros.errors import JointNamesError, RobotDynamicsError, TrajectoryOverError
from robot_dynamics_ros.kernels.types import Array

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
