"""Linearity in the parameters: regressor and minimal parameters of a given robot, Spong (9.121)-(9.133).

The ten parameters of every link and the rotors' inertias suffice, tau = Y Theta (``RobotModel.regressor``); fewer do,
since joints couple the links. Which, is found numerically by ``identification.base_parameters``, Gautier 1990.

In print (9.121) lacks qdd behind D; (9.124) is m2 lc2^2 + I2, (9.129) m2 lc2, (9.131) lacks g, and in (9.132) the
sin q2 term of row 1 is -(qd2^2 + 2 qd1 qd2), the third entry of row 2 qdd1 + qdd2. Spong's five parameters are minimal
where l1 is not known: Theta_2 is l1 Theta_5, so where lengths are known, as here, four are left, without gravity three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.base_parameters import BaseParameters

_STATES = 60  # random ones for each joint: many more equations than the ten parameters of a link
_SPEED, _ACCELERATION = 3.0, 10.0  # rad/s, rad/s^2 or in m


@dataclass(frozen=True, eq=False)
class MinimalParameters:
    """The fewest parameters that give the robot's torque: tau = Y(q, qd, qdd) Theta, Spong (9.121).

    Attributes
    ----------
    model
        The robot.
    base
        How they combine ``RobotModel.parameter_names``: theta = base.combination @ inertial parameters.
    """

    model: RobotModel
    base: BaseParameters

    @property
    def names(self) -> tuple[str, ...]:
        """Each as a sum (r,), like "link1.mcx + 0.5 link2.mass"."""
        return self.base.names

    @property
    def theta(self) -> Array:
        """Their values (r,) for the robot, payload included, SI units: Spong (9.133)."""
        return np.asarray(self.base.combination @ self.model.inertial_parameters)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The inertial parameters that no torque depends on."""
        names = self.model.parameter_names
        return tuple(names[k] for k in self.base.without_effect.tolist())

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y (..., n, r) of Spong (9.132) at q, qd, qdd (..., n): the columns of the independent parameters."""
        return np.asarray(self.model.regressor(q, qd, qdd)[..., self.base.independent])


def minimal_parameters(model: RobotModel) -> MinimalParameters:
    """Find the minimal parameters of a robot, Spong (9.121), from its regressor at random states in its limits.

    They are the same at each call. What gravity alone shows counts where the model has gravity.
    """
    rng = np.random.default_rng(0)
    count = _STATES * model.n
    limited = np.isfinite(model.position_lower) & np.isfinite(model.position_upper)
    q = rng.uniform(
        np.where(limited, model.position_lower, -np.pi),
        np.where(limited, model.position_upper, np.pi),
        (count, model.n),
    )
    qd = rng.uniform(-_SPEED, _SPEED, (count, model.n))
    qdd = rng.uniform(-_ACCELERATION, _ACCELERATION, (count, model.n))
    columns = model.regressor(q, qd, qdd).reshape(-1, len(model.parameter_names))
    return MinimalParameters(model, BaseParameters.of(columns, model.parameter_names))
