"""Directions out of files."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.kernels.types import Array

_SHORTEST, _LONGEST = 1e-12, 1e12


def unit_vector(axis: Array, where: str) -> Array:
    """Return an axis (3,) with length 1; RobotModelError, which begins with ``where``, where it has no direction.

    What is too long is refused as well: its length would overflow.
    """
    length = math.hypot(*axis)
    if not _SHORTEST <= length <= _LONGEST:
        what = "zero" if length < _SHORTEST else "too long"
        raise RobotModelError(f"{where} {axis.tolist()} is {what}. Cure: give the direction of the axis")
    return np.asarray(axis / np.linalg.norm(axis))
