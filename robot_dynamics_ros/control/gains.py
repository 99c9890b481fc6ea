"""Feedback gains, as the laws take them."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics_ros.kernels.types import Array


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains (n,) on the errors of position and velocity, and on the integral of the position's.

    For `computed_torque` they are accelerations (1/s^2, 1/s, 1/s^3), for the other laws torques (Nm/rad, Nms/rad).
    """

    kp: Array
    kd: Array
    ki: Array
