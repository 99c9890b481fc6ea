"""Joint friction as a function of the joint's rate.

Viscous and Coulomb: Craig (6.110)-(6.112), the Coulomb level by direction. Sigmoid: Gaz et al. 2019,
"Dynamic identification of the Franka Emika Panda robot", the published Panda model.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    SIGMOID_AMPLITUDE,
    SIGMOID_SHIFT,
    SIGMOID_SLOPE,
    VISCOUS,
)
from robot_dynamics_ros.kernels.types import Floats


@kernel
def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    power = math.exp(x)
    return power / (1.0 + power)


@kernel
def smooth_friction(joint: Floats, rate: float) -> float:
    """The part of a joint's friction that is a smooth function of its rate: viscous and sigmoid."""
    slope, shift = joint[SIGMOID_SLOPE], joint[SIGMOID_SHIFT]
    sigmoid = logistic(slope * (rate + shift)) - logistic(slope * shift)
    return float(joint[VISCOUS] * rate + joint[SIGMOID_AMPLITUDE] * sigmoid)


@kernel
def coulomb_friction(joint: Floats, rate: float) -> float:
    """The Coulomb torque of a sliding joint; 0 at rest, where it is whatever holds the joint."""
    if rate > 0.0:
        return float(joint[COULOMB])
    if rate < 0.0:
        return -float(joint[COULOMB_NEGATIVE])
    return 0.0


@kernel
def friction(joints: Floats, qd: Floats, tau: Floats) -> None:
    """Write the torque that friction takes from each joint to ``tau`` (n,)."""
    for j in range(qd.shape[0]):
        tau[j] = smooth_friction(joints[j], qd[j]) + coulomb_friction(joints[j], qd[j])
