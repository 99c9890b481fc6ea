"""Motion and dynamics of the end effector.

A Jacobian J (m, n) maps joint rates to the m components of the end effector's velocity, linear (m/s) before angular
(rad/s). Joint positions q are in rad or m, rates in rad/s or m/s. J is singular if its row rank is below m.

Inverse velocity kinematics: Craig (5.72). Resolved-rate motion: Whitney 1969. Cartesian dynamics: Craig (6.90)-(6.109).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.propagation import rotated_jacobian
from robot_dynamics_ros.textbooks.shared_terms import real, shaped


def smallest_singular_value(jacobian: ArrayLike) -> float:
    """Return the smallest singular value of a Jacobian (m, n), m <= n: 0 at a singularity.

    It is the norm of the end effector's velocity (m/s and rad/s) in its slowest direction, for the joint rates of unit
    norm that are best for this direction.
    """
    return float(np.linalg.svd(real(jacobian), compute_uv=False)[-1])


def condition_number(jacobian: ArrayLike) -> float:
    """Return the ratio of the largest to the smallest singular value of a Jacobian (m, n).

    It is 1 at an isotropic point, and infinite at a singularity and for m > n: Craig, exercise 5.8. Velocity components
    of different units have no common measure; choose rows of one unit.
    """
    j = real(jacobian)
    values = np.linalg.svd(j, compute_uv=False)
    return (
        float(values[0] / values[-1])
        if j.shape[0] <= j.shape[1] and values[-1] > 0.0
        else float("inf")
    )


def most_isotropic(jacobian: Callable[[Array], ArrayLike], q: ArrayLike) -> Array:
    """Return the position (n,) near ``q`` (n,) at which the condition number of a Jacobian is least: exercise 5.8.

    An arm has an isotropic point there if the ``condition_number`` is 1. ``jacobian`` is a function of the position
    (n,) that returns J (m, n). The search is local; joint limits are ignored.
    """
    import scipy.optimize  # imported here, since it delays `inspect` by half a second

    def anisotropy(x: Array) -> float:
        return 1.0 - 1.0 / condition_number(jacobian(x))

    start = real(q)
    found = scipy.optimize.minimize(
        anisotropy,
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-14},
    )
    return np.asarray(found.x)


def end_effector_force(jacobian: ArrayLike, tau: ArrayLike, q: ArrayLike) -> Array:
    """Return the static force (m,) of the end effector for joint torques tau (n,): J^-T tau, Craig, exercise 5.10.

    It is the force on the environment, N and Nm, at the point and in the axes of the Jacobian (m, n), without weights.
    For n > m the joints can balance only torques J^T F; the force of the nearest ones is returned. ``q`` (n,) is only
    part of the error message. Raises RobotDynamicsError as ``joint_rates``, and for ``tau`` of another shape.
    """
    j = real(jacobian)
    require_regular(j, q)
    return np.linalg.pinv(j.T) @ shaped(
        "tau", tau, j.shape[1:], "pass a torque for each joint"
    )


def require_regular(jacobian: Array, q: ArrayLike) -> None:
    """Raise RobotDynamicsError if a Jacobian J (m, n) does not have full row rank: Craig 5.8.

    The rank is full if the smallest singular value exceeds 1e-8 times the largest; for m > n it never is. The position
    ``q`` (n,) is only part of the message.
    """
    rows, columns = jacobian.shape
    if rows > columns:
        raise RobotDynamicsError(
            f"{rows} components of the end effector's velocity for {columns} joints. "
            f"Cure: choose at most {columns} rows of the Jacobian"
        )
    values = np.linalg.svd(jacobian, compute_uv=False)
    if not values[-1] > thresholds.SINGULAR * values[0]:
        raise RobotDynamicsError(
            f"the Jacobian is singular at q = {np.asarray(q).tolist()}: its smallest singular value is "
            f"{values[-1]:.3g}, the largest {values[0]:.3g}. Cure: choose fewer rows, or another q"
        )


def joint_rates(jacobian: ArrayLike, velocity: ArrayLike, q: ArrayLike) -> Array:
    """Return the joint rates (n,), rad/s or m/s, for a velocity of the end effector: J^-1 v, Craig (5.72).

    If n > m, they are the rates of least norm.

    Parameters
    ----------
    jacobian
        (m, n), m <= n.
    velocity
        (m,), m/s and rad/s, at the point and in the axes of the Jacobian.
    q
        Position (n,), only for the error message.

    Raises
    ------
    RobotDynamicsError
        At a singularity (smallest singular value at most 1e-8 times the largest), and if m > n.
    """
    j = real(jacobian)
    v = real(velocity)
    require_regular(j, q)
    rates = np.linalg.solve(j, v) if j.shape[0] == j.shape[1] else np.linalg.pinv(j) @ v
    return real(rates)


def resolved_rate_motion(
    jacobian: Callable[[Array], ArrayLike],
    velocity: ArrayLike,
    q: ArrayLike,
    *,
    step: float,
    steps: int,
) -> tuple[Array, Array]:
    """Integrate the motion for a constant velocity of the end effector: Craig, exercise 5 for MATLAB.

    Parameters
    ----------
    jacobian
        Function that returns the Jacobian (m, n) at a position (n,).
    velocity
        (m,), m/s and rad/s, in the axes of the Jacobian.
    q
        Initial position (n,), rad or m.
    step
        Length of an Euler step, s.
    steps
        Number of steps.

    Returns
    -------
    positions, rates
        (steps + 1, n) each, in rad or m, and rad/s or m/s; the first position is ``q``, and each rate is that at the
        position with the same index.

    Raises
    ------
    RobotDynamicsError
        If a position is singular, and if m > n.
    """
    positions = [np.array(q, dtype=np.float64)]
    rates: list[Array] = []
    for _ in range(steps + 1):
        here = positions[-1]
        rates.append(joint_rates(jacobian(here), velocity, here))
        positions.append(here + step * rates[-1])
    return np.array(positions[:-1]), np.array(rates)


@dataclass(frozen=True)
class Task:
    """Components of a link's motion that form the task vector x.

    Creation raises RobotDynamicsError unless there are rows, which differ, from 0 to 5.

    Attributes
    ----------
    link
        Name of the end-effector link.
    rows
        Indices of the m components: 0 to 2 velocity of the link's origin along x y z, 3 to 5 angular velocity about x y
        z.
    own_axes
        True if the components are in the link's moving axes, as in Craig's example 6.6, else in root axes. xdd is
        the time derivative of the components of xd.
    """

    link: str
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    own_axes: bool = False

    def __post_init__(self) -> None:
        """Raise RobotDynamicsError unless there are rows, which differ, from 0 to 5."""
        if (
            not self.rows
            or len(set(self.rows)) < len(self.rows)
            or not set(self.rows) <= set(range(6))
        ):
            raise RobotDynamicsError(
                f"rows are {self.rows}. Cure: choose distinct indices from 0 to 5"
            )


class CartesianDynamics(NamedTuple):
    """Cartesian dynamics F = Mx xdd + Vx + Gx at one state.

    F (m,) is the force (N) and moment (Nm) that acts on the end effector along the m components of x (see ``Task``); xd
    and xdd are the velocity and acceleration of these components.

    Attributes
    ----------
    mass
        Mx (m, m), in kg and kg m^2, depending on the components of x.
    velocity_terms, gravity
        Vx (m,) and Gx (m,), N or Nm.
    jacobian
        J (m, n), xd = J qd.
    inverse
        Dynamically consistent inverse Jbar = M^-1 J^T Mx (n, m), with the joint-space mass matrix M; J^-1 if m = n.
    """

    mass: Array
    velocity_terms: Array
    gravity: Array
    jacobian: Array
    inverse: Array


def cartesian_dynamics(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, task: Task
) -> CartesianDynamics:
    """Return Mx, Vx and Gx of Craig (6.99), Tsai (9.175), (9.178), including rotors and couplings.

    Parameters
    ----------
    model
        The robot.
    q, qd
        Position and velocity (n,).
    task
        Components of the end effector's motion.

    Raises
    ------
    RobotDynamicsError
        At a singularity of the Jacobian, for more components than joints, for vectors of a wrong shape, and for an
        unknown link.
    """
    j, jdot_qd = _jacobian(model, q, qd, task)
    require_regular(j, q)
    m = model.mass_matrix(q)
    g = model.gravity_torque(q)
    v = model.bias_torque(q, qd) - g
    if j.shape[0] == j.shape[1]:
        inverse = real(np.linalg.inv(j))
        mass = inverse.T @ m @ inverse  # (6.99)
    else:
        m_inverse = np.linalg.inv(m)
        # Khatib 1987
        mass = real(np.linalg.inv(j @ m_inverse @ j.T))
        inverse = m_inverse @ j.T @ mass
    return CartesianDynamics(
        mass, inverse.T @ v - mass @ jdot_qd, inverse.T @ g, j, inverse
    )


def link_motion(
    model: RobotModel, link: str, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]:
    """Return pose (..., 4, 4), twist (..., 6) and acceleration (..., 6) of a link's frame for a joint motion (..., n).

    Linear components precede angular ones; root axes, m and rad: Tsai (9.173), (9.176). Raises RobotDynamicsError for
    an unknown link, and for ``q`` of a wrong shape.
    """
    j = model.jacobian(q, link)
    twist, acceleration = (np.einsum("...ij,...j->...i", j, real(x)) for x in (qd, qdd))
    return (
        model.link_pose(q, link),
        twist,
        acceleration + model.jacobian_dot_qd(q, qd, link),
    )


def joint_motion(
    model: RobotModel, q: ArrayLike, xd: ArrayLike, xdd: ArrayLike, task: Task
) -> tuple[Array, Array]:
    """Return rates qd = J^-1 xd and accelerations qdd = J^-1 (xdd - dJ/dt qd), (n,): Tsai (9.172), (9.177).

    The book's second term of qdd lacks a derivative: d(J^-1)/dt xd = -J^-1 dJ/dt qd. For n > m both are those of least
    norm, and qdd is then not the derivative of qd along the motion.

    Parameters
    ----------
    model
        The robot.
    q
        Position (n,), rad or m.
    xd, xdd
        Velocity and acceleration (m,) of the components of ``task``.
    task
        Components of the end effector's motion.

    Raises
    ------
    RobotDynamicsError
        At a singularity, for more components than joints, for an unknown link, and for ``q`` of a wrong shape.
    """
    qd = joint_rates(_jacobian(model, q, np.zeros(model.n), task)[0], xd, q)
    j, jdot_qd = _jacobian(model, q, qd, task)
    return qd, joint_rates(j, real(xdd) - jdot_qd, q)


def configuration_space_form(
    model: RobotModel, q: ArrayLike, task: Task
) -> tuple[Array, Array]:
    """Return Bx and Cx of tau = J^T Mx xdd + Bx [qd qd] + Cx [qd^2] + G, Craig (6.105)-(6.109).

    Bx has shape (n, n (n - 1) / 2), Cx (n, n). [qd qd] is (qd1 qd2, qd1 qd3, ..., qd(n-1) qdn), (6.106), and [qd^2] is
    (qd1^2, ..., qdn^2), (6.107). If m < n, the equation has the part of the torque in the range of J^T, with J^T Gx
    instead of G. tau and G, the gravity torque, are (n,); Mx, Gx and xdd belong to the m components of ``task``.

    ``q`` (n,) is the position, rad or m. Raises RobotDynamicsError at a singularity of the Jacobian, for more
    components than joints, for an unknown link, and for ``q`` of a wrong shape.
    """

    def velocity_torque(qd: Array) -> Array:
        form = cartesian_dynamics(model, q, qd, task)
        return form.jacobian.T @ form.velocity_terms

    # J^T Vx is quadratic in qd. Its values at unit rates give the coefficients.
    unit = np.eye(model.n)
    c = np.column_stack([velocity_torque(e) for e in unit])
    pairs = itertools.combinations(range(model.n), 2)
    b = [velocity_torque(unit[i] + unit[k]) - c[:, i] - c[:, k] for i, k in pairs]
    return np.column_stack(b) if b else np.zeros((model.n, 0)), c


def _jacobian(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, task: Task
) -> tuple[Array, Array]:
    """Return J (m, n) and dJ/dt qd (m,), Craig (6.95), (6.96)."""
    rows = list(task.rows)
    j = model.jacobian(q, task.link)
    jdot_qd = model.jacobian_dot_qd(q, qd, task.link)
    if task.own_axes:
        to_link = model.link_pose(q, task.link)[:3, :3].T
        velocity = j @ real(qd)
        spin = velocity[3:]
        # d/dt (R^T v) = R^T (dv/dt - w x v).
        turning = np.concatenate([np.cross(spin, velocity[:3]), np.cross(spin, spin)])
        jdot_qd = rotated_jacobian(to_link, (jdot_qd - turning)[:, None])[:, 0]
        j = rotated_jacobian(to_link, j)
    return j[rows], jdot_qd[rows]
