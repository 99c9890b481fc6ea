"""Controllers that other processes can load."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from support.arms import Array


@dataclass
class ComputedTorque:
    """ID(q, qd, kp (goal - q) - kd qd) + F(qd), of one state or many."""

    model: RobotModel
    goal: Any
    kp: float = 100.0
    kd: float = 20.0

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        acceleration = self.kp * (np.asarray(self.goal) - q) - self.kd * qd
        return self.model.inverse_dynamics(q, qd, acceleration) + self.model.friction_torque(q, qd, 0.05)


@dataclass
class Integral:
    """One that remembers: -20 (q + sum q), of all plants it has seen."""

    total: Any = field(default=0.0)

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        self.total = self.total + q
        return -20.0 * (q + 0.01 * self.total)


@dataclass
class Broken:
    """No torque until `time`, then not a number for plants that are beyond `position`."""

    time: float
    position: float

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        return np.where((t >= self.time) & (q > self.position), np.nan, 0.0)
