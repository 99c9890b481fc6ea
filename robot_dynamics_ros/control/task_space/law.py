"""Computed torque in task space: from the desired motion of the hand to joint torque. A pure function.

x is the pose of a link; velocities and forces of it are (6,), linear then angular, in the root's axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.task_space.poses import pose_error
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
"""What a pose consists of: the position, and the rotation about each axis."""
ALL = (0, 1, 2, 3, 4, 5)


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
        On the errors of pose and velocity of the hand, accelerations: 1/s^2 and 1/s, (6,). kd above 0.
    posture_kp, posture_kd
        The same for what the joints of a redundant arm can do without moving the hand, (n,). At a singularity of any
        arm posture_kd is all that damps the direction that is lost. posture_kd above 0.
    linear_velocity, angular_velocity
        How fast (m/s, rad/s) the hand goes to where it is to be, beyond the desired velocity; inf: as the gains say.
    singular_value
        Directions in which the hand moves less than this at joint rates of unit length (m or rad, by rad or m) are
        damped: they get the mass that the hand would have with this one. Above 0.
    """

    kp: Array
    kd: Array
    posture_kp: Array
    posture_kd: Array
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    singular_value: float = 0.03


class TaskTorque(NamedTuple):
    """A torque and how well the hand can follow it."""

    torque: Array
    """(n,), Nm or N."""
    error: Array
    """``pose_error`` (6,), zero where the hand is not to follow."""
    joint_velocities: Array
    """(n,), rad/s or m/s: those that the desired velocity of the hand takes, by the dynamically consistent inverse."""
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
    posture: Motion | None = None,
    joint_velocities: Array | None = None,
) -> TaskTorque:
    """J^T F + (I - J^T Jbar^T)(M qdd0 + V + G) with F = Mx (xdd_d + Kd e' + Kp e) + Vx + Gx, without friction.

    The error of the hand then obeys e'' + Kd e' + Kp e = 0, where e is ``pose_error``. What the joints can do besides
    follows the posture p by qdd0 = pdd + posture_kd (pd - qd) + posture_kp (p - q) through the dynamically consistent
    Jbar, so that it does not move the hand. Craig (6.99), (6.104) with the control of 10.4 at the hand; Khatib 1987;
    orientation Luh, Walker and Paul 1980. The torque is finite at singularities, where the mass in the directions that
    are lost is bounded.

    Where e is large, Kp e = Kd xd with xd the velocity of approach (Khatib 1987, "A unified approach", velocity
    saturation): xd = Kp/Kd e is shortened, not turned, to the velocities that the gains allow, less near the
    singularities ahead (``_before_singularities``), then for the joints. So is Kp/Kd (p - q) of the posture.

    Parameters
    ----------
    link
        The hand.
    q, qd
        Measured positions and velocities (n,).
    rows
        Which of x y z, rotation about x y z are to follow, as 0 to 5, at most n of them; the others are free.
    posture
        How the joints are to move as far as the hand allows; None: anywhere, they are only damped.
    joint_velocities
        Least and largest velocity (2, n) of each joint, rad/s or m/s: half of it is for the way to the goal, a quarter
        for the way to the posture. The target's own motion comes on top. None: no limits.

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
    error = np.zeros(6)
    error[select] = pose_error(desired.pose, model.link_pose(q, link))[select]
    j = model.jacobian(q, link)[select]
    m = model.mass_matrix(q)
    u, sigma, v_t = np.linalg.svd(j)
    smallest = float(sigma[-1])
    mass, inverse = _task_mass(j, m, u, sigma, v_t[: len(rows)], gains.singular_value)
    approach = _before_singularities(
        gains, _approach(gains, error)[select], u, sigma, v_t, lambda way: model.jacobian_dot_qd(q, way, link)[select]
    )
    approach *= _share(0.5, inverse @ approach, joint_velocities)
    command = desired.acceleration[select] + gains.kd[select] * (desired.twist[select] + approach - j @ qd)
    free = -gains.posture_kd * qd
    if posture is not None:
        # Only in the null space of J, as it would pull against the goal, and away from singularities, where that turns.
        null = v_t[len(rows) :]
        velocity = gains.posture_kp / gains.posture_kd * (posture.q - q)
        velocity = null.T @ np.linalg.solve(null @ m @ null.T, null @ (m @ velocity))
        velocity *= _share(0.25, velocity, joint_velocities) * min(1.0, max(0.0, smallest / gains.singular_value - 1.0))
        free += posture.qdd + gains.posture_kd * (posture.qd + velocity)
    # The same as in the first line, with Vx and Gx put in: what lies beyond qdd0 is the task's.
    beyond = command - model.jacobian_dot_qd(q, qd, link)[select] - j @ free
    torque = model.inverse_dynamics(q, qd, free) + j.T @ (mass @ beyond)
    return TaskTorque(torque, error, inverse @ desired.twist[select], smallest, smallest < gains.singular_value)


def _task_mass(j: Array, m: Array, u: Array, sigma: Array, v_t: Array, least: float) -> tuple[Array, Array]:
    """Mx = (J M^-1 J^T)^-1, Craig (6.99), as if no singular value of J (m, n) were below ``least``.

    With Jbar = M^-1 J^T Mx (n, m).
    """
    m_inverse = np.linalg.inv(m)
    inverse = m_inverse @ j.T
    mobility = j @ inverse
    if sigma[-1] < least:
        # In a direction u_k that is nearly lost, sigma_k^2 v_k^T M^-1 v_k is what the hand yields to a force.
        missing = np.maximum(least**2 - sigma**2, 0.0) * np.einsum("ki,ij,kj->k", v_t, m_inverse, v_t)
        mobility += (u * missing) @ u.T
    mass = np.asarray(np.linalg.inv(mobility), dtype=np.float64)
    return mass, inverse @ mass


def _approach(gains: TaskGains, error: Array) -> Array:
    """Kp/Kd e (6,), shortened to what the hand may do."""
    velocity = gains.kp / gains.kd * error
    for part, most in ((slice(0, 3), gains.linear_velocity), (slice(3, 6), gains.angular_velocity)):
        speed = math.hypot(*velocity[part])
        if speed > most:
            velocity[part] *= most / speed
    return velocity


def _before_singularities(
    gains: TaskGains, approach: Array, u: Array, sigma: Array, v_t: Array, bend: Callable[[Array], Array]
) -> Array:
    """Return the velocity of approach (m,), shortened along the singular vectors u whose singularity lies ahead.

    The joints move along v at s' = xd / sigma, which changes sigma by s' dsigma/ds: with a constant xd they converge to
    the singularity at the rate -xd dsigma/ds / sigma^2. Up to a quarter of Kd the loop of their velocity is damped
    critically; faster ones swing about the singularity. ``bend`` returns dJ/ds v (m,) along a vector v (n,).
    """
    rate = 0.25 * min(gains.kd.min(), gains.posture_kd.min())
    for k, most in enumerate(rate * np.maximum(sigma, gains.singular_value) ** 2):
        along = float(u[:, k] @ approach)
        if abs(along) > most:  # dsigma/ds is of the size of the arm, m or rad
            # Close to it v turns in the space of v and the null space: the trace bounds the slope of every direction.
            ways = [v_t[k], *(v_t[len(sigma) :] if sigma[k] < gains.singular_value else ())]
            slope = sum(max(0.0, -math.copysign(1.0, along) * float(u[:, k] @ bend(way))) for way in ways)
            if abs(along) * slope > most:
                approach = approach - (along - math.copysign(most / slope, along)) * u[:, k]
    return approach


def _share(part: float, velocity: Array, limits: Array | None) -> float:
    """Return the share, up to 1, of a velocity (n,) of the joints that keeps to this part of their limits."""
    if limits is None:
        return 1.0
    room = part * np.where(velocity > 0.0, np.maximum(limits[1], 1e-9), np.minimum(limits[0], -1e-9))
    return float(1.0 / max(1.0, (velocity / room).max()))
