"""Computed torque in task space: from the desired motion of the hand to joint torque. A pure function.

x is the pose of a link; velocities and forces of it are (6,), linear then angular, in the root's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model import RobotModel

Array = NDArray[np.float64]

ALL = (0, 1, 2, 3, 4, 5)
_UNIT_LENGTH = 1e-3


@dataclass(frozen=True, eq=False)
class TaskMotion:
    """Pose (4, 4), velocity (6,) and acceleration (6,) of the hand, in the root frame: m, rad/s and so on."""

    pose: Array
    twist: Array
    acceleration: Array

    @classmethod
    def at_rest(cls, pose: ArrayLike) -> TaskMotion:
        """Stay at a pose (4, 4)."""
        return cls(np.array(pose, dtype=np.float64), np.zeros(6), np.zeros(6))


@dataclass(frozen=True, eq=False)
class TaskGains:
    """Gains of ``task_space_computed_torque``.

    Attributes
    ----------
    kp, kd
        On the errors of pose and velocity of the hand, accelerations: 1/s^2 and 1/s, (6,).
    posture_kp, posture_kd
        The same for what the joints can do without moving the hand, (n,): redundant arms, and every arm at a
        singularity, where posture_kd is all that damps the direction that is lost.
    posture
        Where the joints are to be as far as the hand allows (n,), rad or m; None: anywhere, they are only damped.
    singular_value
        Directions in which the hand moves less than this at joint rates of unit length (m or rad, by rad or m) are
        damped: they get the mass that the hand would have with this one. Above 0. Small values stretch the arm stiffly
        towards a goal beyond its reach: with a goal 0.5 m too far, at 12 rad/s and 1 kHz, 0.05 holds a UR5e still,
        while 0.03 does not.
    """

    kp: Array
    kd: Array
    posture_kp: Array
    posture_kd: Array
    posture: Array | None = None
    singular_value: float = 0.05


class TaskTorque(NamedTuple):
    """A torque and how well the hand can follow it."""

    torque: Array
    """(n,), Nm or N."""
    smallest_singular_value: float
    """Of the Jacobian; 0 at a singularity."""
    damped: bool
    """Whether it is below the gains' ``singular_value``, so that the hand lags in some direction."""


def task_space_computed_torque(
    model: RobotModel,
    gains: TaskGains,
    link: str,
    desired: TaskMotion,
    q: Array,
    qd: Array,
    rows: tuple[int, ...] = ALL,
) -> TaskTorque:
    """J^T F + (I - J^T Jbar^T)(M qdd0 + V + G) with F = Mx (xdd_d + Kd e' + Kp e) + Vx + Gx, without friction.

    The error of the hand then obeys e'' + Kd e' + Kp e = 0, where e is ``pose_error``. What the joints can do besides
    follows qdd0 = posture_kp (posture - q) - posture_kd qd through the dynamically consistent Jbar, so that it does not
    move the hand. Craig (6.99), (6.104) with the control of 10.4 at the hand; Khatib 1987; orientation Luh, Walker and
    Paul 1980. The torque is finite at singularities, where the mass in the directions that are lost is bounded.

    Parameters
    ----------
    link
        The hand.
    q, qd
        Measured positions and velocities (n,).
    rows
        Which of x y z, rotation about x y z are to follow, as 0 to 5, at most n of them; the others are free.

    Raises
    ------
    RobotDynamicsError
        For an unknown link or row, for more rows than joints, for anything but n finite numbers, and for joints that
        move no mass.
    """
    if not rows or not set(rows) <= set(ALL) or len(set(rows)) < len(rows):
        raise RobotDynamicsError(f"rows {rows}. Cure: choose different ones of 0 to 5: x y z, rotation about x y z")
    if len(rows) > model.n:
        raise RobotDynamicsError(
            f"{len(rows)} components of the hand's motion are to follow, but there are {model.n} joints. "
            f"Cure: choose at most {model.n} rows"
        )
    model.require_mass()
    q, qd = model.vector("q", q), model.vector("qd", qd)
    if not (np.isfinite(q).all() and np.isfinite(qd).all()):
        raise RobotDynamicsError(f"q = {q.tolist()}, qd = {qd.tolist()}. Cure: give finite positions and velocities")
    select = list(rows)
    jacobian = model.jacobian(q, link)
    error = pose_error(desired.pose, model.link_pose(q, link))
    command = desired.acceleration + gains.kd * (desired.twist - jacobian @ qd) + gains.kp * error
    free = -gains.posture_kd * qd
    if gains.posture is not None:
        free = free + gains.posture_kp * (gains.posture - q)
    j = jacobian[select]
    mass, smallest = _task_mass(j, model.mass_matrix(q), gains.singular_value)
    # The same as in the first line, with Vx and Gx put in: what lies beyond qdd0 is the task's.
    beyond = command[select] - model.jacobian_dot_qd(q, qd, link)[select] - j @ free
    torque = model.inverse_dynamics(q, qd, free) + j.T @ (mass @ beyond)
    return TaskTorque(torque, smallest, smallest < gains.singular_value)


def _task_mass(j: Array, m: Array, least: float) -> tuple[Array, float]:
    """Mx = (J M^-1 J^T)^-1, Craig (6.99), as if no singular value of J (m, n) were below ``least``; the smallest."""
    m_inverse = np.linalg.inv(m)
    u, sigma, v_t = np.linalg.svd(j, full_matrices=False)
    mobility = j @ m_inverse @ j.T
    if sigma[-1] < least:
        # In a direction u_k that is nearly lost, sigma_k^2 v_k^T M^-1 v_k is what the hand yields to a force.
        missing = np.maximum(least**2 - sigma**2, 0.0) * np.einsum("ki,ij,kj->k", v_t, m_inverse, v_t)
        mobility += (u * missing) @ u.T
    return np.asarray(np.linalg.inv(mobility), dtype=np.float64), float(sigma[-1])


def pose_error(desired: Array, pose: Array) -> Array:
    """What leads from a pose to the desired one, both (4, 4): the way (3,), m, then the rotation vector (3,), rad.

    In the root's axes. The angle is at most pi; at pi either axis will do.
    """
    return np.concatenate([desired[:3, 3] - pose[:3, 3], rotation_vector(desired[:3, :3] @ pose[:3, :3].T)])


def rotation_vector(rotation: ArrayLike) -> Array:
    """Axis times angle (3,), rad, of a rotation (3, 3): through its quaternion, exact at small angles and at pi."""
    r = np.asarray(rotation, dtype=np.float64)
    # 4 times the products of (w, x, y, z), whose largest row has no cancellation: Shepperd 1978, as a matrix.
    diagonal = np.diag(r)
    trace = diagonal.sum()
    products = np.empty((4, 4))
    products[0, 0] = 1.0 + trace
    products[0, 1:] = products[1:, 0] = r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]
    products[1:, 1:] = r + r.T
    products[np.arange(1, 4), np.arange(1, 4)] = 1.0 - trace + 2.0 * diagonal
    row = products[np.argmax(np.diag(products))]
    w, v = row[0], row[1:] if row[0] >= 0.0 else -row[1:]
    length = np.linalg.norm(v)
    if length == 0.0:
        return np.zeros(3)
    return np.asarray(2.0 * np.arctan2(length, abs(w)) / length * v)


def pose_of(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """Pose (4, 4) of a position (3,), m, and a quaternion (4,), x y z w as in geometry_msgs/Pose.

    Raises RobotDynamicsError where these are no finite numbers or the quaternion's length is not 1.
    """
    p, given = np.asarray(position, dtype=np.float64), np.asarray(quaternion, dtype=np.float64)
    if p.shape != (3,) or not np.isfinite(p).all():
        raise RobotDynamicsError(f"position {p.tolist()}. Cure: give three finite numbers")
    length = float(np.linalg.norm(given))
    if given.shape != (4,) or not abs(length - 1.0) < _UNIT_LENGTH:
        raise RobotDynamicsError(f"quaternion {given.tolist()} has length {length:.6g}. Cure: give x y z w of length 1")
    x, y, z, w = given / length
    pose = np.eye(4)
    pose[:3, :3] = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    pose[:3, 3] = p
    return pose
