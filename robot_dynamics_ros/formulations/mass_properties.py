"""Mass properties of rigid bodies: Tsai (9.1)-(9.13), (9.29) and Craig (6.16)-(6.28).

Inertia matrices (3, 3) as in Tsai (9.7): moments on the diagonal, products with their minus sign beside it, kg m^2.
Bodies are solid and homogeneous; lengths m, masses kg. Craig writes products without the sign, so that with Tsai's
I_xy = -integral xy dm the parallel axes take m xc yc away. In print Tsai (9.9) has a plus there, and Craig (6.25),
whose products have no sign, a minus; Craig (6.26) is right.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.inertia import steiner


def center_of_mass(masses: ArrayLike, centers: ArrayLike) -> Array:
    """Centre of mass (3,) of parts with masses (k,) and centres (k, 3), Tsai (9.1)."""
    m, c = np.asarray(masses, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    if m.ndim != 1 or c.shape != (len(m), 3) or not m.sum() > 0.0:
        raise RobotDynamicsError(
            f"masses {m.shape}, centers {c.shape}: no centre of mass. Cure: give k masses, some above 0, and k points"
        )
    return np.asarray(m @ c / m.sum())


def box_inertia(mass: float, size: ArrayLike) -> Array:
    """Inertia at its centre of a box with edges (3,) along x, y, z: Tsai (9.12), Craig (6.28)."""
    sides = np.asarray(size, dtype=np.float64)
    if sides.shape != (3,):
        raise RobotDynamicsError(
            f"size has shape {sides.shape}, expected (3,). Cure: give the edges along x, y, z in m"
        )
    a, b, c = (_length("size", side) for side in sides.tolist())
    return np.asarray(_mass(mass) / 12.0 * np.diag([b * b + c * c, c * c + a * a, a * a + b * b]))


def rod_inertia(mass: float, length: float) -> Array:
    """Inertia at its centre of a slender rod along z, Tsai (9.13)."""
    return np.asarray(_mass(mass) * _length("length", length) ** 2 / 12.0 * np.diag([1.0, 1.0, 0.0]))


def cylinder_inertia(mass: float, radius: float, length: float) -> Array:
    """Inertia at its centre of a cylinder along z, by Tsai (9.8); the rod (9.13) where the radius vanishes."""
    r, h = _length("radius", radius), _length("length", length)
    across = (3.0 * r * r + h * h) / 12.0
    return np.asarray(_mass(mass) * np.diag([across, across, r * r / 2.0]))


def sphere_inertia(mass: float, radius: float) -> Array:
    """Inertia at its centre of a sphere, by Tsai (9.8)."""
    return np.asarray(0.4 * _mass(mass) * _length("radius", radius) ** 2 * np.eye(3))


def parallel_axes(mass: float, inertia: ArrayLike, com: ArrayLike) -> Array:
    """Inertia about O of a body whose ``inertia`` (3, 3) at the centre of mass is known, in parallel axes.

    ``com`` (3,) is the centre of mass seen from O, or O seen from it: Craig (6.26), Tsai (9.9) with its products
    corrected.
    """
    return np.asarray(_matrix("inertia", inertia) + steiner(_mass(mass), _vector("com", com)))


def rotated(inertia: ArrayLike, rotation: ArrayLike) -> Array:
    """Inertia (3, 3) in frame A from that in frame C, about the same point: R I R^T, Tsai (9.29).

    ``rotation`` (3, 3) has the axes of C in A as columns.
    """
    r = _matrix("rotation", rotation)
    if not np.allclose(r @ r.T, np.eye(3), rtol=0.0, atol=1e-9):
        raise RobotDynamicsError("rotation is not orthogonal. Cure: give the unit axes of one frame in the other")
    return np.asarray(r @ _matrix("inertia", inertia) @ r.T)


def moment_of_inertia(inertia: ArrayLike, direction: ArrayLike) -> float:
    """Moment about the line along ``direction`` (3,) through the reference point, Tsai (9.5)-(9.6): u^T I u.

    With m r^2 for it, r is the radius of gyration; (9.5) calls the squared distance of one particle so.
    """
    u = _vector("direction", direction)
    length = float(np.linalg.norm(u))
    if not length > 0.0:
        raise RobotDynamicsError("direction is zero. Cure: give the direction of the line")
    return float(u @ _matrix("inertia", inertia) @ u) / length**2


def principal_axes(inertia: ArrayLike) -> tuple[Array, Array]:
    """Principal moments (3,), rising, and axes (3, 3) as the columns of a rotation: Tsai (9.10)-(9.11).

    ``rotated(np.diag(moments), axes)`` gives the inertia back.
    """
    moments, axes = np.linalg.eigh(_matrix("inertia", inertia))
    if np.linalg.det(axes) < 0.0:
        axes[:, 2] *= -1.0  # right-handed; the sign of an axis is free
    return moments, axes


def _mass(mass: float) -> float:
    if not (math.isfinite(mass) and mass >= 0.0):
        raise RobotDynamicsError(f"mass is {mass!r}. Cure: give a finite number of at least 0, in kg")
    return float(mass)


def _length(name: str, length: float) -> float:
    if not (math.isfinite(length) and length >= 0.0):
        raise RobotDynamicsError(f"{name} is {length!r}. Cure: give a finite number of at least 0, in m")
    return float(length)


def _vector(name: str, value: ArrayLike) -> Array:
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape != (3,):
        raise RobotDynamicsError(f"{name} has shape {vector.shape}, expected (3,). Cure: give x y z")
    return vector


def _matrix(name: str, value: ArrayLike) -> Array:
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.shape != (3, 3):
        raise RobotDynamicsError(f"{name} has shape {matrix.shape}, expected (3, 3). Cure: give the whole matrix")
    return matrix
