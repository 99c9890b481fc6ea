"""Torque that makes up for joint friction along the desired motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.model import RobotModel

Array = NDArray[np.float64]


def friction_compensation(model: RobotModel, q_d: Array, qd_d: Array, smoothing_velocity: float) -> Array:
    """Friction torque F(qd_d) (n,), brought down to zero below ``smoothing_velocity`` (rad/s or m/s).

    Without that a reversal would be a step of twice the Coulomb torque. Craig (6.110)-(6.114).
    """
    if smoothing_velocity <= 0.0:
        return model.friction_torque(q_d, qd_d)
    speed = np.abs(qd_d)
    sliding = np.copysign(np.maximum(speed, smoothing_velocity), qd_d)
    return model.friction_torque(q_d, sliding) * np.minimum(speed / smoothing_velocity, 1.0)
