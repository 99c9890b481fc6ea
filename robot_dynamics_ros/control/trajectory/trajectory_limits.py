"""Limits of position, velocity, acceleration, jerk and feedforward effort along a trajectory.

Units are rad or m, and s. ``times`` (m,) and ``motion`` (4, n, m) of the knots are as in ``interpolation``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import JointNamesError, TrajectoryError
from robot_dynamics_ros.control.thresholds import (
    ACCELERATION_BETWEEN_POINTS,
    JERK_BETWEEN_POINTS,
    POSITION_LIMIT_EXCESS,
    RATE_LIMIT_EXCESS,
    REST_POINT_VELOCITY,
    STEP_EXCESS,
)
from robot_dynamics_ros.control.trajectory.interpolation import excess
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.joint_limits import (
    SOFT_LOWER,
    SOFT_UPPER,
    VELOCITY,
    LimitRows,
)

_EFFORT_CURE = (
    "give only what the model does not contain, since the law adds gravity and inertia, in Nm or N; or see "
    "trajectory_limits"
)
_QUANTITIES = ("position", "velocity", "acceleration", "jerk")


class TrajectoryLimits(NamedTuple):
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
        Limits (3, n) of acceleration while a joint speeds up and while it slows down, rad/s^2 or m/s^2, and of jerk,
        per s^3; None for none.
    effort
        Largest feedforward effort (n,) of a point, Nm or N; None for none.
    compliance
        Displacement of the joints by efforts that no load opposes, (n, n), rad or m per Nm or N, at most ``step``;
        None: not checked.
    """

    rows: LimitRows
    step: Array
    continuous: NDArray[np.bool_]
    clamp: bool = False
    rates: Array | None = None
    effort: Array | None = None
    compliance: Array | None = None

    def check_joints(self, columns: Sequence[int]) -> None:
        """Raise JointNamesError if a trajectory of the joints ``columns`` has some, not all, that move a limited joint.

        Its motion would also depend on the trajectories of the others.
        """
        names = self.rows.names
        n = len(self.step)
        moves = self.rows.factors != 0.0
        limited = np.isfinite(self.rows.limits[SOFT_LOWER:, n:]).any(axis=0)
        given = moves[:, columns].sum(axis=1)
        for k in np.flatnonzero(
            limited & (given > 0) & (given < moves.sum(axis=1))
        ).tolist():
            together = ", ".join(names[j] for j in np.flatnonzero(moves[k]))
            raise JointNamesError(
                f"joint '{names[n + k]}' has limits and depends on {together}, of which some are missing from the "
                "trajectory. Cure: name all of them"
            )

    def fit(self, motion: Array, start: Array, first: int, at_once: bool) -> Array:
        """Shift continuous joints of ``motion`` by full turns to ``start`` (n,), in place; return the shift (n,), rad.

        ``motion`` (4, n, m) is as in ``interpolation``. With ``clamp``, points beyond the limits are moved to them.
        ``first`` is the index of the first knot that is not over. ``at_once`` is True if it applies at once: then
        TrajectoryError is raised, naming the joint, if its distance from the start exceeds ``step``.
        """
        q, qd = motion[:2]
        turns: Array = (
            self.continuous * np.rint((start - q[:, first]) / math.tau) * math.tau
        )
        if turns.any():
            q += turns[:, np.newaxis]
        if self.clamp:
            lower, upper, velocity = self.rows.limits[
                SOFT_LOWER:, : len(start), np.newaxis
            ]
            inside = np.clip(
                q, np.minimum(lower.T, start).T, np.maximum(upper.T, start).T
            )
            motion[1:3, inside != q] = 0.0
            q[:] = inside
            np.clip(qd, -velocity, velocity, qd)
        step = q[:, first] - start
        for i in np.flatnonzero(
            at_once & (np.abs(step) > self.step + STEP_EXCESS)
        ).tolist():
            raise TrajectoryError(
                f"joint '{self.rows.names[i]}' would step by {step[i]:.6g} at once, more than {self.step[i]:g}. "
                "Cure: start at the arm's position, give the first point a later time, or raise set_point_step_limit"
            )
        return turns

    def check(self, times: Array, motion: Array, degree: int, start: Array) -> None:
        """Raise TrajectoryError for motion or effort beyond the limits, widened to ``start`` (4, n) at the start.

        The polynomials between the knots, ``times`` and ``motion`` as in ``interpolation``, have the ``degree`` 1, 3 or
        5. Linear motion has no limits of acceleration and jerk. At the knots the acceleration may exceed its limit by
        5 %. Within a segment acceleration and jerk may reach 2 and 2.5 times their limits, which interpolation of a
        planner's points can cause. Jumps of acceleration between segments are not checked.
        """
        rows = self.rows
        (lower, upper, velocity) = self.rows.limits[SOFT_LOWER:]
        of_rows = np.array(
            [rows.positions(motion[0].T).T, *(rows.rates(x.T).T for x in motion[1:3])]
        )
        position = rows.positions(start[0])
        rate = rows.rates(start[1])
        fast = (1.0 + RATE_LIMIT_EXCESS) * velocity
        bounds = [
            (
                lower,
                upper,
                np.minimum(lower - POSITION_LIMIT_EXCESS, position),
                np.maximum(upper + POSITION_LIMIT_EXCESS, position),
            ),
            (-velocity, velocity, np.minimum(-fast, rate), np.maximum(fast, rate)),
        ]
        if self.rates is not None:
            either = self.rates[:2].max(axis=0)
            jerk = self.rates[2]
            high = np.maximum(ACCELERATION_BETWEEN_POINTS * either, np.abs(start[2]))
            bounds += [
                (-either, either, -high, high),
                (-jerk, jerk, -JERK_BETWEEN_POINTS * jerk, JERK_BETWEEN_POINTS * jerk),
            ]
        for order, (least, most, low, high) in enumerate(bounds):
            if first := excess(
                times, of_rows if order < 2 else motion, degree, order, low, high
            ):
                time, j, value = first
                above = bool(value > high[j])
                note = ""
                if order < 2:
                    note = rows.owner_note(
                        VELOCITY if order else (SOFT_LOWER, SOFT_UPPER)[above], j
                    )
                raise _beyond(
                    rows.names[j],
                    order,
                    value,
                    time,
                    (most if above else least)[j],
                    note,
                )
        if self.rates is not None:  # limits of acceleration, checked at the knots
            (speeding, slowing, _) = self.rates[:, :, np.newaxis]
            (qd, qdd) = motion[1:3]
            limit = np.where(qd * qdd < 0.0, slowing, speeding)
            limit = np.where(
                np.abs(qd) < REST_POINT_VELOCITY, np.maximum(speeding, slowing), limit
            )
            beyond = np.abs(qdd) > np.maximum(
                (1.0 + RATE_LIMIT_EXCESS) * limit, np.abs(start[2])[:, np.newaxis]
            )
            for j, k in np.argwhere(beyond).tolist():
                raise _beyond(
                    rows.names[j],
                    2,
                    qdd[j, k],
                    times[k],
                    math.copysign(limit[j, k], qdd[j, k]),
                )

        if motion[3].any():
            self._check_effort(times, motion[3], start[3])

    def _check_effort(self, times: Array, effort: Array, start: Array) -> None:
        """Raise TrajectoryError for ``effort`` (n, m) of knots beyond its limits or that of ``start`` (n,)."""
        names = self.rows.names
        if self.effort is not None:
            beyond = np.abs(effort.T) > np.maximum(self.effort, np.abs(start))
            for k, j in np.argwhere(beyond)[:1].tolist():
                raise TrajectoryError(
                    f"joint '{names[j]}' has the effort {effort[j, k]:.6g} at {times[k]:.6g} s, beyond its limit "
                    f"{self.effort[j]:.6g}. Cure: {_EFFORT_CURE}"
                )
        if self.compliance is not None:
            most = np.maximum(self.step, np.abs(self.compliance @ start))
            displacement = (self.compliance @ effort).T
            for k, j in np.argwhere(np.abs(displacement) > most)[:1].tolist():
                raise TrajectoryError(
                    f"the effort at {times[k]:.6g} s moves joint '{names[j]}' by {displacement[k, j]:.3g} if no load "
                    f"opposes it, more than set_point_step_limit {self.step[j]:g}. Cure: {_EFFORT_CURE}"
                )


def rate_limits(model: RobotModel) -> Array | None:
    """Return the limits (3, n) of acceleration and jerk of a model, as in ``TrajectoryLimits``; None if it has none.

    The acceleration limit of a joint without a deceleration limit holds while it slows down too, as in ros2_control.
    """
    acceleration = model.acceleration_limits
    deceleration = model.deceleration_limits
    deceleration = np.where(np.isinf(deceleration), acceleration, deceleration)
    limits = np.array([acceleration, deceleration, model.jerk_limits])
    return limits if np.isfinite(limits).any() else None


def _beyond(
    name: str, order: int, value: float, time: float, limit: float, note: str = ""
) -> TrajectoryError:
    cure = "allow it more time" if order else "keep it within the limit"
    return TrajectoryError(
        f"joint '{name}' reaches the {_QUANTITIES[order]} {value:.6g} in the segment from {time:.6g} s on, "
        f"beyond its limit {limit:.6g}{note}. Cure: {cure}, or see trajectory_limits"
    )
