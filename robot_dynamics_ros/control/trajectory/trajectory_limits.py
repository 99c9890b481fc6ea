"""Limits of position, velocity, acceleration and jerk along a trajectory.

Units are rad or m, and s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.trajectory.interpolation import Knots, excess
from robot_dynamics_ros.errors import JointNamesError, TrajectoryError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.joint_limits import SOFT_LOWER, SOFT_UPPER, VELOCITY, LimitRows

_TOLERANCE = 1e-3  # rad or m beyond a position limit
_EXCESS = 0.05  # share beyond a limit of velocity or acceleration, as planners check them only at the points
_REST = 1e-6  # rad/s or m/s
_STEP_TOLERANCE = 1e-9  # rad or m
# Factors of acceleration and jerk between the points: interpolation of a planner's motion that switches between its
# limits there reaches 1.8 times the limit of acceleration, and 2.2 times that of jerk.
_ACCELERATION_BETWEEN, _JERK_BETWEEN = 2.0, 2.5
_QUANTITIES = ("position", "velocity", "acceleration", "jerk")


class JointLimits(NamedTuple):
    """Limits of the motion of n joints along a trajectory, infinite for no limit.

    Attributes
    ----------
    rows
        Soft position limits and velocity limits: K rows, the n joints and then joints that depend on several of them.
    step
        Largest distance (n,), rad or m, from the start state to a first point that applies at once.
    continuous
        True (n,) for continuous joints, whose positions are equivalent modulo 2 pi.
    clamp
        True to move points of the n joints beyond their limits to the limits.
    rates
        Limits of acceleration and jerk of the n joints; None for none.
    """

    rows: LimitRows
    step: Array
    continuous: NDArray[np.bool_]
    clamp: bool = False
    rates: RateLimits | None = None

    def check_joints(self, columns: Sequence[int]) -> None:
        """Raise JointNamesError if a trajectory of the joints ``columns`` has some, not all, that move a limited joint.

        Its motion would also depend on the trajectories of the others.
        """
        names, n, moves = self.rows.names, len(self.step), self.rows.factors != 0.0
        limited = np.isfinite(self.rows.limits[SOFT_LOWER:, n:]).any(axis=0)
        given = moves[:, columns].sum(axis=1)
        for k in np.flatnonzero(limited & (given > 0) & (given < moves.sum(axis=1))).tolist():
            together = ", ".join(names[j] for j in np.flatnonzero(moves[k]))
            raise JointNamesError(
                f"joint '{names[n + k]}' has limits and depends on {together}, of which some are missing from the "
                "trajectory. Cure: name all of them"
            )

    def fit(self, knots: Knots, start: Array, first: int, at_once: bool) -> Array:
        """Shift continuous joints of ``knots`` by full turns to ``start`` (n,), in place; return the shift (n,), rad.

        With `clamp`, points beyond the limits are moved to them. `first` is the index of the first knot that is not
        over. `at_once` is True if it applies at once: then TrajectoryError is raised, naming the joint, if its distance
        from the start exceeds `step`.
        """
        q, qd, qdd = knots[1:4]
        turns: Array = self.continuous * np.rint((start - q[first]) / math.tau) * math.tau
        if turns.any():
            q += turns
        if self.clamp:
            lower, upper, velocity = self.rows.limits[SOFT_LOWER:, : len(start)]
            inside = np.clip(q, np.minimum(lower, start), np.maximum(upper, start))
            for x in (qd, qdd):
                x[inside != q] = 0.0
            q[:] = inside
            np.clip(qd, -velocity, velocity, qd)
        step = q[first] - start
        for i in np.flatnonzero(at_once & (np.abs(step) > self.step + _STEP_TOLERANCE)).tolist():
            raise TrajectoryError(
                f"joint '{self.rows.names[i]}' would step by {step[i]:.6g} at once, more than {self.step[i]:g}. "
                "Cure: start at the arm's position, give the first point a later time, or raise set_point_step_limit"
            )
        return turns

    def check(self, knots: Knots, degree: int, start: Sequence[Array]) -> None:
        """Raise TrajectoryError for a motion beyond the limits, widened to the motion at the ``start``.

        That is position, velocity and acceleration, each (n,). The motion interpolates ``knots`` by polynomials of
        ``degree`` 1, 3 or 5. That of a row is linear in it.
        """
        rows, (lower, upper, velocity) = self.rows, self.rows.limits[SOFT_LOWER:]
        of_rows = knots._replace(q=rows.positions(knots.q), qd=rows.rates(knots.qd), qdd=rows.rates(knots.qdd))
        for order, least, most, tolerance, begin in (
            (0, lower, upper, np.array(_TOLERANCE), rows.positions(start[0])),
            (1, -velocity, velocity, _EXCESS * velocity, rows.rates(start[1])),
        ):
            low, high = np.minimum(least - tolerance, begin), np.maximum(most + tolerance, begin)
            if first := excess(of_rows, degree, order, low, high):
                time, j, value = first
                above = bool(value > high[j])
                note = rows.owner_note(VELOCITY if order else (SOFT_LOWER, SOFT_UPPER)[above], j)
                raise _beyond(rows.names[j], order, value, time, (most if above else least)[j], note)
        if self.rates is not None:
            self.rates.check(knots, degree, start[2], rows.names)


class RateLimits(NamedTuple):
    """Limits (n,) of acceleration while a joint speeds up and while it slows down, and of jerk; infinite for none.

    Units are rad/s^2 or m/s^2, and per s^3.
    """

    acceleration: Array
    deceleration: Array
    jerk: Array

    @classmethod
    def of(cls, model: RobotModel) -> RateLimits | None:
        """Return the limits of a model, None if it has none.

        The acceleration limit of a joint without a deceleration limit holds while it slows down too, as in
        ros2_control.
        """
        acceleration, deceleration = model.acceleration_limits, model.deceleration_limits
        deceleration = np.where(np.isinf(deceleration), acceleration, deceleration)
        limits = cls(acceleration, deceleration, model.jerk_limits)
        return limits if np.isfinite(limits).any() else None

    def check(self, knots: Knots, degree: int, start: Array, names: Sequence[str]) -> None:
        """Raise TrajectoryError for a motion beyond the limits, widened to the acceleration (n,) at the ``start``.

        The motion interpolates ``knots`` by polynomials of ``degree`` 3 or 5; linear motion (1) is not checked. At the
        knots the acceleration may exceed its limit by 5 %. Within a segment acceleration and jerk may reach 2 and 2.5
        times their limits, which interpolation of a planner's points can cause. Jumps of acceleration between segments
        are not checked. ``names`` (n) are those of the joints, for the message.
        """
        either = np.maximum(self.acceleration, self.deceleration)
        limit = np.where(knots.qd * knots.qdd < 0.0, self.deceleration, self.acceleration)
        limit = np.where(np.abs(knots.qd) < _REST, either, limit)  # a planner's last point is at rest, but slowing down
        beyond = np.abs(knots.qdd) > np.maximum((1.0 + _EXCESS) * limit, np.abs(start))
        for k, j in np.argwhere(beyond).tolist():
            raise _beyond(names[j], 2, knots.qdd[k, j], knots.times[k], limit[k, j])
        for order, most, high in (
            (2, either, np.maximum(_ACCELERATION_BETWEEN * either, np.abs(start))),
            (3, self.jerk, _JERK_BETWEEN * self.jerk),
        ):
            if first := excess(knots, degree, order, -high, high):
                time, j, value = first
                raise _beyond(names[j], order, value, time, most[j])


def _beyond(name: str, order: int, value: float, time: float, limit: float, note: str = "") -> TrajectoryError:
    cure = "allow it more time" if order else "keep it within the limit"
    return TrajectoryError(
        f"joint '{name}' reaches the {_QUANTITIES[order]} {value:.6g} in the segment from {time:.6g} s on, "
        f"beyond its limit {limit:.6g}{note}. Cure: {cure}, or see trajectory_limits"
    )
