"""Three-vectors as scalars: compiled, they cost nothing beside the arithmetic."""

from __future__ import annotations

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.types import Array

Vector = tuple[float, float, float]


@kernel
def cross(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> Vector:
    """Cross product a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def rotate(r: Array, x: float, y: float, z: float) -> Vector:
    """R v: from the body's axes to its parent's; R is the first nine numbers of ``r``, row by row."""
    return (
        r[0] * x + r[1] * y + r[2] * z,
        r[3] * x + r[4] * y + r[5] * z,
        r[6] * x + r[7] * y + r[8] * z,
    )


@kernel
def rotate_back(r: Array, x: float, y: float, z: float) -> Vector:
    """R^T v: from the parent's axes to the body's."""
    return (
        r[0] * x + r[3] * y + r[6] * z,
        r[1] * x + r[4] * y + r[7] * z,
        r[2] * x + r[5] * y + r[8] * z,
    )
