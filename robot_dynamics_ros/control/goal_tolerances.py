"""How far a goal's joints may be off: what its message asks for, over what the parameters say.

The rules are those of joint_trajectory_controller (JTC), ros2_controllers 6.9.0, tolerances.hpp; where JTC
passes over a tolerance that makes no sense and takes its defaults, the goal is refused here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.per_joint import per_joint
from robot_dynamics_ros.errors import JointNamesError, TrajectoryError
from robot_dynamics_ros.kernels.types import Array

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
class Constraints:
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
    def default(cls, constraints: Constraints, joint_names: Sequence[str]) -> Tolerances:
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
