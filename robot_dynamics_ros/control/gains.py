"""Feedback gains, given directly or by natural frequency and damping ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains (n,) on position and velocity error.

    For `computed_torque` they are accelerations (1/s^2, 1/s), for the other laws torques (Nm/rad, Nms/rad).
    """

    kp: Array
    kd: Array


def spread(name: str, values: Sequence[float], joint_names: Sequence[str]) -> Array:
    """One non-negative number for each joint: ``values`` holds n of them, or one for all.

    Raises RobotDynamicsError naming the gain, the joint and the cure.
    """
    array = np.array(values, dtype=np.float64)
    n = len(joint_names)
    if array.shape == (1,):
        array = np.repeat(array, n)
    if array.shape != (n,):
        raise RobotDynamicsError(f"{name}: {array.size} numbers. Cure: give one, or {n}: for {', '.join(joint_names)}")
    for joint, value in zip(joint_names, array, strict=True):
        if not (np.isfinite(value) and value >= 0.0):
            raise RobotDynamicsError(f'{name}: {value} for joint "{joint}". Cure: give finite numbers, at least 0')
    return array


def gains_from_frequency(natural_frequency: Array, damping_ratio: Array, inertia: Array) -> Gains:
    """Gains that let the error swing as e'' + 2 zeta omega e' + omega^2 e = 0.

    ``natural_frequency`` (rad/s), ``damping_ratio`` and ``inertia`` have shape (n,). Where gains are
    accelerations, ``inertia`` is one; for torque laws it is the diagonal of M at the pose of the start,
    so that each joint alone swings alike.
    """
    return Gains(inertia * natural_frequency**2, inertia * 2.0 * damping_ratio * natural_frequency)
