"""Task-space control law: joint torque for the desired motion of the end effector.

x is the pose of the end-effector link in the root frame. Twists, accelerations and wrenches are (6,), linear then
angular, at the origin of the end-effector link in the root frame's axes. The components of a pose are x y z, rx ry rz:
position, and rotation about each axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.end_effector.poses import TaskMotion, pose_error
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


@dataclass(frozen=True, eq=False)
class TaskGains:
    """Gains of ``task_space_computed_torque``.

    Attributes
    ----------
    kp, kd
        Gains (6,) of the pose and velocity errors of the end effector, 1/s^2 and 1/s; kd positive.
    posture_kp, posture_kd
        Gains (n,) of the joint motion in the null space of the Jacobian, 1/s^2 and 1/s; posture_kd positive. At a
        singularity posture_kd alone damps the singular direction.
    linear_velocity, angular_velocity
        Largest velocity (m/s, rad/s) of the approach relative to the desired velocity; inf: not limited.
    singular_value
        Threshold of damping, positive: in directions with a smaller singular value of the Jacobian (m or rad, per rad
        or m), the task-space mass is computed with this value instead, so that it stays bounded.
    """

    kp: Array
    kd: Array
    posture_kp: Array
    posture_kd: Array
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    singular_value: float = 0.03


class TaskTorque(NamedTuple):
    """Torque of the task-space control law, with its errors and conditioning.

    Attributes
    ----------
    torque
        Joint torque (n,), Nm or N.
    error
        Translation (m) and rotation vector (rad) from measured to desired pose, (6,), root axes; 0 in free components.
    joint_velocities
        Joint velocities (n,), rad/s or m/s, of the desired twist, by the dynamically consistent inverse.
    smallest_singular_value
        Smallest singular value of the Jacobian of the controlled components; 0 at a singularity.
    damped
        True if it is below the gains' ``singular_value``; the end effector then does not follow in that direction.
    """

    torque: Array
    error: Array
    joint_velocities: Array
    smallest_singular_value: float
    damped: bool

    def singularity(self) -> str:
        """Return the text of a warning that motion is damped."""
        return (
            "the end effector is near a singularity, and does not follow in the singular direction: smallest singular "
            f"value {self.smallest_singular_value:.3g}. Cure: keep targets within reach, or remove components from "
            "task_space.components"
        )


def task_space_computed_torque(
    model: RobotModel,
    gains: TaskGains,
    link: str,
    desired: TaskMotion,
    q: Array,
    qd: Array,
    rows: tuple[int, ...],
    posture: Motion,
    allowed_velocities: Array,
) -> TaskTorque:
    """Return J^T F + (I - J^T Jbar^T)(M qdd0 + V + G), F = Mx (xdd_d + Kd e' + Kp e) + Vx + Gx, without friction.

    J is the Jacobian of the end-effector link. M, V and G are mass matrix, velocity terms and gravity torque of the
    joint-space dynamics, Mx, Vx and Gx those of the task-space dynamics, and xdd_d is the desired acceleration. The
    error dynamics of the end effector are e'' + Kd e' + Kp e = 0, where e (6,) is translation (m) and rotation vector
    (rad) from the measured to the desired pose. In the null space, by the dynamically consistent inverse Jbar, the
    joints follow the posture p, pd, pdd: qdd0 = pdd + posture_kd (pd - qd) + posture_kp (p - q). Craig (6.99), (6.104)
    with the control of 10.4; Khatib 1987; orientation Luh, Walker and Paul 1980. The torque is finite at singularities,
    because the task-space mass is bounded in singular directions.

    For large e the velocity of approach xd = Kp/Kd e is saturated with its direction kept (Khatib 1987, "A unified
    approach"), so that Kp e = Kd xd. It is limited by the velocities in the gains, near singularities by the distance
    to them, and by the allowed velocities. The velocity Kp/Kd (p - q) of the posture is saturated in the same way.

    Parameters
    ----------
    model
        Robot model, all of whose joints move mass.
    gains
        Gains and limits of the law.
    link
        End-effector link.
    desired
        Desired motion of the end effector.
    q, qd
        Measured positions and velocities (n,), finite.
    rows
        Different indices 0 to 5 of the controlled components, of position x y z and rotation about x y z; at most n.
        The other components are free.
    posture
        Desired joint motion in the null space.
    allowed_velocities
        Smallest and largest velocities (2, K), rad/s or m/s, of the rows of ``model.limit_rows``; infinite for no
        limit. The approach to the target uses half of them, that to the posture a quarter; the motion of the target is
        added.

    Raises
    ------
    RobotDynamicsError
        For an unknown link.
    """
    select = list(rows)
    error = np.zeros(6)
    error[select] = pose_error(desired.pose, model.link_pose(q, link))[select]
    j = model.jacobian(q, link)[select]
    m = model.mass_matrix(q)
    u, sigma, v_t = np.linalg.svd(j)
    smallest = float(sigma[-1])
    mass, inverse = _task_mass(j, m, u, sigma, v_t[: len(rows)], gains.singular_value)
    approach = _before_singularities(
        gains,
        _approach(gains, error)[select],
        u,
        sigma,
        v_t,
        lambda way: model.jacobian_dot_qd(q, way, link)[select],
    )
    approach *= _share(
        0.5, model.limit_rows.rates(inverse @ approach), allowed_velocities
    )
    command = desired.acceleration[select] + gains.kd[select] * (
        desired.twist[select] + approach - j @ qd
    )
    # Projected to the null space, so that saturation does not act on the end effector; zero near singularities.
    null = v_t[len(rows) :]
    velocity = gains.posture_kp / gains.posture_kd * (posture.q - q)
    velocity = null.T @ np.linalg.solve(null @ m @ null.T, null @ (m @ velocity))
    velocity *= _share(
        0.25, model.limit_rows.rates(velocity), allowed_velocities
    ) * min(1.0, max(0.0, smallest / gains.singular_value - 1.0))
    free = -gains.posture_kd * qd + (
        posture.qdd + gains.posture_kd * (posture.qd + velocity)
    )
    # The equation of the docstring with Vx and Gx inserted.
    beyond = command - model.jacobian_dot_qd(q, qd, link)[select] - j @ free
    torque = model.inverse_dynamics(q, qd, free) + j.T @ (mass @ beyond)
    return TaskTorque(
        torque,
        error,
        inverse @ desired.twist[select],
        smallest,
        smallest < gains.singular_value,
    )


def _task_mass(
    j: Array, m: Array, u: Array, sigma: Array, v_t: Array, least: float
) -> tuple[Array, Array]:
    """Return Mx = (J M^-1 J^T)^-1 (m, m), Craig (6.99), and Jbar = M^-1 J^T Mx (n, m).

    Singular values of J (m, n) below ``least`` are replaced by it.
    """
    m_inverse = np.linalg.inv(m)
    inverse = m_inverse @ j.T
    mobility = j @ inverse
    if sigma[-1] < least:
        # In a nearly singular direction u_k the mobility of the end effector is sigma_k^2 v_k^T M^-1 v_k.
        missing = np.maximum(least**2 - sigma**2, 0.0) * np.einsum(
            "ki,ij,kj->k", v_t, m_inverse, v_t
        )
        mobility += (u * missing) @ u.T
    mass = np.asarray(np.linalg.inv(mobility), dtype=np.float64)
    return mass, inverse @ mass


def _approach(gains: TaskGains, error: Array) -> Array:
    """Return Kp/Kd e (6,), saturated to the velocities in the gains."""
    velocity = gains.kp / gains.kd * error
    for part, most in (
        (slice(0, 3), gains.linear_velocity),
        (slice(3, 6), gains.angular_velocity),
    ):
        speed = math.hypot(*velocity[part])
        if speed > most:
            velocity[part] *= most / speed
    return velocity


def _before_singularities(
    gains: TaskGains,
    approach: Array,
    u: Array,
    sigma: Array,
    v_t: Array,
    bend: Callable[[Array], Array],
) -> Array:
    """Return the velocity of approach (m,), reduced along singular vectors u in which it leads to a singularity.

    The joints move along v at s' = xd / sigma, which changes sigma by s' dsigma/ds: with a constant xd they converge to
    the singularity at the rate -xd dsigma/ds / sigma^2. Up to a quarter of Kd the velocity loop is critically damped;
    at higher rates the joints oscillate about the singularity. ``bend`` returns dJ/ds v (m,) along a vector v (n,).
    """
    rate = 0.25 * min(gains.kd.min(), gains.posture_kd.min())
    for k, most in enumerate(rate * np.maximum(sigma, gains.singular_value) ** 2):
        along = float(u[:, k] @ approach)
        if abs(along) > most:
            # Near the singularity v rotates within v and the null space; the trace bounds the slope in all directions.
            ways = [
                v_t[k],
                *(v_t[len(sigma) :] if sigma[k] < gains.singular_value else ()),
            ]
            slope = sum(
                max(0.0, -math.copysign(1.0, along) * float(u[:, k] @ bend(way)))
                for way in ways
            )
            if abs(along) * slope > most:
                approach = (
                    approach - (along - math.copysign(most / slope, along)) * u[:, k]
                )
    return approach


def _share(part: float, velocity: Array, limits: Array) -> float:
    """Return the factor, at most 1, that scales a joint velocity (n,) to within ``part`` of the limits (2, n)."""
    room = part * np.where(
        velocity > 0.0, np.maximum(limits[1], 1e-9), np.minimum(limits[0], -1e-9)
    )
    return float(1.0 / max(1.0, (velocity / room).max()))
