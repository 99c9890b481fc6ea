"""Velocities and forces of one rigid body seen from two frames on it: Craig (5.68)-(5.71), (5.100)-(5.106).

A velocity is (6,): of the frame's origin, then angular. A force is (6,): force, then the moment about the frame's
origin. Both are in the axes of their frame. A pose (4, 4) is the frame B seen from the frame A: Craig's T with A above
and B below.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array

_ORTHONORMAL = 1e-6


def cross_matrix(p: ArrayLike) -> Array:
    """Matrix (3, 3) that makes p x a of a vector a, p (3,): Craig (5.101)."""
    x, y, z = np.asarray(p, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def velocity_transform(pose: ArrayLike) -> Array:
    """T_v (6, 6), with v_A = T_v v_B: Craig (5.103); of the inverse pose it is (5.100).

    ``pose`` (4, 4) is the frame B seen from A, m. Raises RobotDynamicsError where it is none.
    """
    r, p = _parts(pose)
    return np.block([[r, cross_matrix(p) @ r], [np.zeros((3, 3)), r]])


def force_transform(pose: ArrayLike) -> Array:
    """T_f (6, 6), with F_A = T_f F_B: Craig (5.105). It is the transpose of the velocity transform from A to B.

    ``pose`` (4, 4) is the frame B seen from A, m. Raises RobotDynamicsError where it is none.
    """
    r, p = _parts(pose)
    return np.block([[r, np.zeros((3, 3))], [cross_matrix(p) @ r, r]])


def inverse_pose(pose: ArrayLike) -> Array:
    """The frame A seen from B (4, 4), by the frame B seen from A. Raises RobotDynamicsError where it is no pose."""
    r, p = _parts(pose)
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = r.T, -r.T @ p
    return inverse


def rotated_jacobian(rotation: ArrayLike, jacobian: ArrayLike) -> Array:
    """Jacobian (6, n) in the axes of A, by that in the axes of B and B's axes seen from A (3, 3): Craig (5.71).

    The reference point stays; ``velocity_transform`` moves it too.
    """
    r, j = np.asarray(rotation, dtype=np.float64), np.asarray(jacobian, dtype=np.float64)
    return np.vstack([r @ j[:3], r @ j[3:]])


def _parts(pose: ArrayLike) -> tuple[Array, Array]:
    """Rotation (3, 3) and position (3,) of a pose."""
    t = np.asarray(pose, dtype=np.float64)
    if t.shape != (4, 4):
        raise RobotDynamicsError(f"a pose has shape {t.shape}. Cure: give a matrix (4, 4)")
    r = t[:3, :3]
    if not np.abs(r.T @ r - np.eye(3)).max() < _ORTHONORMAL or np.linalg.det(r) < 0.0:
        raise RobotDynamicsError(
            f"a pose's upper left part is no rotation: {r.tolist()}. Cure: give orthonormal, right-handed axes"
        )
    return r, t[:3, 3]
