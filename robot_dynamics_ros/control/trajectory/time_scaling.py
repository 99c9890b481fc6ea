"""Speed scaling of trajectory time, and the stop of a motion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.dynamics.kernels.types import Array

SPEED_RATE = 2.0
"""Rate of change of the speed factor (1/s): from standstill to full speed in half a second."""


@dataclass(frozen=True, slots=True)
class TimeScaling:
    """Trajectory time s as a function of clock time t, both in seconds and non-decreasing.

    From the clock time `since` on, where s is `scaled` and its rate s' is `speed`, this rate changes linearly by
    `SPEED_RATE`, 2 per second, to `target`. Earlier times are not allowed. By the chain rule, a motion q(s(t)) has the
    velocity s' dq/ds and the acceleration s'^2 d2q/ds2 + s'' dq/ds (Dahl and Nielsen, Torque-limited path following by
    online trajectory time scaling, 1990).
    """

    since: float = 0.0
    scaled: float = 0.0
    speed: float = 1.0
    target: float = 1.0

    def at(self, time: float) -> tuple[float, float, float]:
        """Return trajectory time s (s), speed factor s' and its rate s'' (1/s) at the clock time ``time`` (s)."""
        dt = time - self.since
        change = self.target - self.speed
        if change == 0.0:
            return self.scaled + self.speed * dt, self.speed, 0.0
        ramp = abs(change) / SPEED_RATE
        if dt < ramp:
            rate = math.copysign(SPEED_RATE, change)
            return (
                self.scaled + dt * (self.speed + 0.5 * rate * dt),
                self.speed + rate * dt,
                rate,
            )
        return (
            self.scaled
            + 0.5 * (self.speed + self.target) * ramp
            + self.target * (dt - ramp),
            self.target,
            0.0,
        )

    def toward(self, time: float, target: float) -> TimeScaling:
        """Return the scaling that continuously changes the speed factor to ``target`` from clock ``time`` (s) on."""
        scaled, speed, _ = self.at(time)
        return TimeScaling(time, scaled, speed, target)


def checked_speed(factor: float) -> float:
    """Return the speed factor; RobotDynamicsError unless it is from 0 (standstill) to 1 (full speed)."""
    if not 0.0 <= factor <= 1.0:
        raise RobotDynamicsError(
            f"the speed scaling factor is {factor}. Cure: give a number from 0 to 1"
        )
    return float(factor)


def stop(time: float, q: Array, qd: Array, deceleration: Array) -> Trajectory:
    """Return the motion from position q (rad or m) and velocity qd, (n,), at `time` (s) to rest, with zero effort.

    Each joint has its own constant `deceleration` a (n,), rad/s^2 or m/s^2, positive. It stops after |qd| / a seconds
    and the distance qd^2 / (2 a), as in decelerate_on_cancel of joint_trajectory_controller.
    """
    brake = -np.copysign(deceleration, qd)
    until = np.abs(qd) / deceleration
    rest = q + 0.5 * qd * until
    knots = np.unique(np.append(until, 0.0))
    coefficients = np.zeros((len(knots), 3, 4, len(q)))
    begin = knots[:, None]
    moving = begin < until
    acceleration = np.where(moving, brake, 0.0)
    coefficients[:, 2, 0] = np.where(
        moving, q + begin * (qd + 0.5 * brake * begin), rest
    )
    coefficients[:, 1, 0] = coefficients[:, 2, 1] = np.where(
        moving, qd + brake * begin, 0.0
    )
    coefficients[:, 0, 0] = 0.5 * acceleration
    coefficients[:, 1, 1] = coefficients[:, 2, 2] = acceleration
    holds = np.zeros((2, 4, len(q)))
    holds[0, 0] = q
    holds[1] = coefficients[-1, -1]
    return Trajectory(
        time, knots, holds, lambda first, after: coefficients[first:after]
    )
