"""Control laws: from desired and measured motion to joint torque. Pure functions.

Each takes the model, gains, the desired motion and the measured state, and returns the torque (n,)
without friction compensation. With e = q_d - q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.model import RobotModel

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Motion:
    """Position, velocity and acceleration, each (n,)."""

    q: Array
    qd: Array
    qdd: Array


def feedforward(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array) -> Array:
    """ID(q_d, qd_d, qdd_d): open loop, the measured state does not enter. Craig (6.45)-(6.53)."""
    return model.inverse_dynamics(desired.q, desired.qd, desired.qdd)


def computed_torque(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array) -> Array:
    """ID(q, qd, qdd_d + Kd (qd_d - qd) + Kp e): the model inverted at the measured state.

    The error then obeys e'' + Kd e' + Kp e = 0. Craig, Introduction to Robotics, 10.4; Luh, Walker, Paul 1980.
    """
    return model.inverse_dynamics(q, qd, desired.qdd + gains.kd * (desired.qd - qd) + gains.kp * (desired.q - q))


def pd_gravity(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array) -> Array:
    """g(q) + Kp e + Kd (qd_d - qd): holds without error. Takegaki and Arimoto 1981."""
    return model.gravity_torque(q) + pd(model, gains, desired, q, qd)


def pd(model: RobotModel, gains: Gains, desired: Motion, q: Array, qd: Array) -> Array:
    """Kp e + Kd (qd_d - qd): each joint for itself, the baseline."""
    return gains.kp * (desired.q - q) + gains.kd * (desired.qd - qd)


@dataclass(frozen=True)
class Law:
    """A control law and what it needs."""

    torque: Callable[[RobotModel, Gains, Motion, Array, Array], Array]
    needs_state: bool
    gains_are_accelerations: bool
    compensates_friction: bool


LAWS: dict[str, Law] = {
    "feedforward": Law(feedforward, False, True, True),
    "computed_torque": Law(computed_torque, True, True, True),
    "pd_gravity": Law(pd_gravity, True, False, False),
    "pd": Law(pd, True, False, False),
}
