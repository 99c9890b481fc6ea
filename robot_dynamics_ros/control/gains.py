"""Feedback gains, and numbers for each joint, as users give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array


def per_joint(
    name: str,
    values: Sequence[float],
    joint_names: Sequence[str],
    *,
    most: float = np.finfo(float).max,
    of: str = "joint",
) -> Array:
    """Return ``values``, n of them or one for all, as (n,); each must lie in 0..``most``.

    Raises RobotDynamicsError naming the setting, the joint (or what else they are numbers ``of``) and the cure.
    """
    array = np.array(values, dtype=np.float64)
    n = len(joint_names)
    if array.shape == (1,):
        array = np.repeat(array, n)
    if array.shape != (n,):
        raise RobotDynamicsError(f"{name}: {array.size} numbers. Cure: give one, or {n}: for {', '.join(joint_names)}")
    for joint, value in zip(joint_names, array.tolist(), strict=True):
        if not 0.0 <= value <= most:
            what = "finite numbers, at least 0" if most > 1e300 and most < np.inf else f"numbers from 0 to {most:g}"
            raise RobotDynamicsError(f'{name}: {value} for {of} "{joint}". Cure: give {what}')
    return array


def per_joint_limit(name: str, values: Sequence[float], joint_names: Sequence[str]) -> Array:
    """Return limits (n,), infinite where ``values`` is empty; as ``per_joint``, but none may be zero."""
    if len(values) == 0:
        return np.full(len(joint_names), np.inf)
    limits = per_joint(name, values, joint_names, most=np.inf)
    for joint, value in zip(joint_names, limits.tolist(), strict=True):
        if value == 0.0:
            raise RobotDynamicsError(f'{name}: 0 for joint "{joint}". Cure: give more, or leave it empty for no limit')
    return limits


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains (n,) on the errors of position and velocity, and on the integral of the position's.

    For `computed_torque` they are accelerations (1/s^2, 1/s, 1/s^3), for the other laws torques (Nm/rad, Nms/rad).
    """

    kp: Array
    kd: Array
    ki: Array
