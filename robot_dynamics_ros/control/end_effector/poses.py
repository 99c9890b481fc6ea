"""Poses: errors, rotation vectors, quaternions of messages, and desired motion of a pose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.description.urdf import rotation_from_quaternion
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import QUATERNION_LENGTH

COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
"""Components of a pose: position, and rotation about each axis."""


def pose_error(desired: Array, pose: Array) -> Array:
    """Return translation (3,), m, and rotation vector (3,), rad, from ``pose`` to ``desired``, both (4, 4), as (6,).

    Both are in the root frame's axes. The angle is at most pi; at pi the sign of the axis is arbitrary.
    """
    return np.concatenate(
        [
            desired[:3, 3] - pose[:3, 3],
            rotation_vector(desired[:3, :3] @ pose[:3, :3].T),
        ]
    )


def rotation_vector(r: Array) -> Array:
    """Return axis times angle (3,), rad, of a rotation matrix r (3, 3), accurate at small angles and at pi.

    The angle is from 0 to pi. The matrix is not checked.
    """
    # 4 times the products of the quaternion's (w, x, y, z); the largest row has no cancellation: Shepperd 1978.
    diagonal = np.diag(r)
    trace = diagonal.sum()
    products = np.empty((4, 4))
    products[0, 0] = 1.0 + trace
    products[0, 1:] = products[1:, 0] = (
        r[2, 1] - r[1, 2],
        r[0, 2] - r[2, 0],
        r[1, 0] - r[0, 1],
    )
    products[1:, 1:] = r + r.T
    products[np.arange(1, 4), np.arange(1, 4)] = 1.0 - trace + 2.0 * diagonal
    row = products[np.argmax(np.diag(products))]
    w = row[0]
    v = row[1:] if row[0] >= 0.0 else -row[1:]
    length = np.linalg.norm(v)
    if length == 0.0:
        return np.zeros(3)
    return np.asarray(2.0 * np.arctan2(length, abs(w)) / length * v)


def rotation_matrix(vector: Array) -> Array:
    """Return the rotation matrix (3, 3) of axis times angle (3,), rad, by Rodrigues' formula, Craig (2.80)."""
    angle = math.hypot(*vector)
    x, y, z = vector * np.sinc(angle / (2.0 * np.pi))  # 2 sin(angle / 2) along the axis
    half = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.cos(angle / 2.0) * half + half @ half / 2.0)


def pose_of(position: Array, quaternion: Array) -> Array:
    """Return the pose (4, 4) of a position (3,), m, and a quaternion (4,), x y z w as in geometry_msgs/Pose.

    Raises RobotDynamicsError for a quaternion whose length is not finite or differs from 1 by 1e-3 or more; smaller
    differences are normalised.
    """
    length = float(np.linalg.norm(quaternion))
    if not abs(length - 1.0) < QUATERNION_LENGTH:
        raise RobotDynamicsError(
            f"quaternion {quaternion.tolist()} has length {length:.6g}. Cure: give x y z w of length 1"
        )
    pose = np.eye(4)
    pose[:3, :3] = rotation_from_quaternion(*quaternion / length)
    pose[:3, 3] = position
    return pose


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """Pose (4, 4), twist (6,) and acceleration (6,) of the end effector in the root frame: m, rad, per s, per s^2."""

    pose: Array
    twist: Array
    acceleration: Array
