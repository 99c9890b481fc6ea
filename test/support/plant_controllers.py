"""Controllers that other processes can load."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from support.arms import Array


@dataclass
class ComputedTorque:
    """Controller ID(q, qd, kp (goal - q) - kd qd) + F(qd), for one or many states."""

    model: RobotModel
    goal: Any
    kp: float = 100.0
    kd: float = 20.0

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        acceleration = self.kp * (np.asarray(self.goal) - q) - self.kd * qd
        return self.model.inverse_dynamics(
            q, qd, acceleration
        ) + self.model.friction_torque(q, qd, 0.05)


@dataclass
class Integral:
    """Controller with state: -20 (q + sum q), over all plants it has been called for."""

    total: Any = field(default=0.0)

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        self.total = self.total + q
        return -20.0 * (q + 0.01 * self.total)


@dataclass
class Broken:
    """Controller with zero torque until `time`, then NaN for plants beyond `position`."""

    time: float
    position: float

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        return np.where((t >= self.time) & (q > self.position), np.nan, 0.0)
