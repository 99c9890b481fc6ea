"""Stopping with a bounded deceleration, each joint for itself."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.kernels.types import Array


def stop(time: float, q: Array, qd: Array, deceleration: Array) -> Trajectory:
    """Return the motion from position q and velocity qd (n,) at `time` (s) to rest, without effort.

    Each joint slows down by its own constant `deceleration` (n,), positive, and stands after |qd| / a seconds
    and qd^2 / (2 a) of way (uniformly accelerated motion); so does joint_trajectory_controller's
    decelerate_on_cancel, from the measured state.
    """
    brake = -np.copysign(deceleration, qd)
    until = np.abs(qd) / deceleration
    rest = q + 0.5 * qd * until
    knots = np.unique(np.append(until, 0.0))
    coefficients = np.zeros((len(knots), 3, 4, len(q)))
    for block, begin in enumerate(knots):
        moving = begin < until
        velocity = np.where(moving, qd + brake * begin, 0.0)
        acceleration = np.where(moving, brake, 0.0)
        coefficients[block, 2, 0] = np.where(moving, q + begin * (qd + 0.5 * brake * begin), rest)
        coefficients[block, 1, 0] = coefficients[block, 2, 1] = velocity
        coefficients[block, 0, 0] = 0.5 * acceleration
        coefficients[block, 1, 1] = coefficients[block, 2, 2] = acceleration
    holds = np.zeros((2, 4, len(q)))
    holds[0, 0], holds[1] = q, coefficients[-1, -1]
    return Trajectory(time, knots, holds, coefficients)
