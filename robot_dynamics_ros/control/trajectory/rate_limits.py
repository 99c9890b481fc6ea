"""Limits of acceleration, deceleration and jerk along a trajectory, of URDF 1.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.trajectory.trajectory import Knots, excess
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_REST = 1e-6  # rad/s or m/s
_EXCESS = 1.05  # factor at the points, as for velocities
# Factors of acceleration and jerk between the points: interpolation of a planner's motion that switches between its
# limits there reaches 1.8 times the limit of acceleration, and 2.2 times that of jerk.
_BETWEEN = {2: 2.0, 3: 2.5}


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
        beyond = np.abs(knots.qdd) > np.maximum(_EXCESS * limit, np.abs(start))
        if beyond.any():
            k, j = np.argwhere(beyond)[0].tolist()
            raise _error(names[j], 2, float(knots.qdd[k, j]), float(knots.times[k]), float(limit[k, j]))
        for order, most in ((2, either), (3, self.jerk)):
            high = _BETWEEN[order] * most
            if order == 2:
                high = np.maximum(high, np.abs(start))
            first = excess(knots, degree, order, -high, high)
            if first is not None:
                time, j, value = first
                raise _error(names[j], order, value, time, float(most[j]))


def _error(name: str, order: int, value: float, time: float, limit: float) -> TrajectoryError:
    return TrajectoryError(
        f"joint '{name}' reaches the {'acceleration' if order == 2 else 'jerk'} {value:.6g} in the segment from "
        f"{time:.6g} s on, beyond its limit {limit:.6g}. Cure: allow it more time, or see trajectory_limits"
    )
