"""Minimal parameters of a robot: Spong (9.121).

The torque is linear in the ten parameters of every link and the rotors' inertias. Fewer parameters suffice, since
joints couple the links; they are the base parameters of the regressor at random states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.base_parameters import BaseParameters
from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

_STATES = 60  # random states for each joint, which give many more equations than parameters
_SPEED, _ACCELERATION = 3.0, 10.0  # rad/s or m/s, rad/s^2 or m/s^2


@dataclass(frozen=True, eq=False)
class MinimalParameters:
    """Smallest set of parameters that determines the robot's torque: tau = Y(q, qd, qdd) Theta, Spong (9.121).

    Attributes
    ----------
    model
        The robot.
    base
        Combinations of ``RobotModel.parameter_names``: theta = base.combination @ inertial parameters.
    """

    model: RobotModel
    base: BaseParameters

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the r minimal parameters as sums of inertial parameters, such as "link1.mcx + 0.5 link2.mass"."""
        return self.base.names

    @property
    def theta(self) -> Array:
        """Values (r,) of the parameters for the robot, including its payload, in SI units: Spong (9.133)."""
        return np.asarray(self.base.combination @ self.model.inertial_parameters)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the inertial parameters that have no effect on the torque."""
        return tuple(self.model.parameter_names[k] for k in self.base.without_effect.tolist())

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return Y (..., n, r) of Spong (9.132) at q, qd, qdd (..., n), rad or m.

        Column i is the torque for a unit value of minimal parameter i; Y Theta is the torque without friction.
        """
        return np.asarray(self.model.regressor(q, qd, qdd)[..., self.base.independent])


def minimal_parameters(model: RobotModel) -> MinimalParameters:
    """Return the minimal parameters of a robot, Spong (9.121), from its regressor at random states in its limits.

    The result is the same at each call. Parameters that only gravity makes visible are included if the model has
    gravity.
    """
    rng = np.random.default_rng(0)
    shape = _STATES * model.n, model.n
    q = rng.uniform(*position_ranges(model), shape)
    qd = rng.uniform(-_SPEED, _SPEED, shape)
    qdd = rng.uniform(-_ACCELERATION, _ACCELERATION, shape)
    columns = model.regressor(q, qd, qdd).reshape(-1, len(model.parameter_names))
    return MinimalParameters(model, BaseParameters.of(columns, model.parameter_names))


def position_ranges(model: RobotModel) -> tuple[Array, Array]:
    """Return lower and upper positions (n,), rad or m: the position limits, or -pi and pi if a joint lacks one."""
    limited = np.isfinite(model.position_lower) & np.isfinite(model.position_upper)
    lower, upper = np.where(limited, model.position_lower, -np.pi), np.where(limited, model.position_upper, np.pi)
    return lower, np.maximum(lower, upper)
