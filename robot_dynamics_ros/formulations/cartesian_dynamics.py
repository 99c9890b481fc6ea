"""The end effector's motion and forces: Craig (5.72), resolved-rate motion (Whitney 1969), and (6.90)-(6.109)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.propagation import rotated_jacobian
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_SINGULAR = 1e-8


def smallest_singular_value(jacobian: ArrayLike) -> float:
    """Velocity, m/s or rad/s, in the end effector's slowest direction at joint rates of unit length: 0 if singular.

    ``jacobian`` (m, n), m <= n.
    """
    return float(np.linalg.svd(np.asarray(jacobian, dtype=np.float64), compute_uv=False)[-1])


def require_regular(jacobian: Array, q: ArrayLike) -> None:
    """Raise RobotDynamicsError, naming the configuration q (n,), where J (m, n) lacks full row rank: Craig 5.8."""
    rows, columns = jacobian.shape
    if rows > columns:
        raise RobotDynamicsError(
            f"{rows} components of the end effector's velocity, but {columns} joints. "
            f"Cure: choose at most {columns} rows of the Jacobian"
        )
    values = np.linalg.svd(jacobian, compute_uv=False)
    if not values[-1] > _SINGULAR * values[0]:
        raise RobotDynamicsError(
            f"the Jacobian is singular at q = {np.asarray(q).tolist()}: its smallest singular value is "
            f"{values[-1]:.3g}, the largest {values[0]:.3g}. Cure: ask for fewer rows, or for another q"
        )


def joint_rates(jacobian: ArrayLike, velocity: ArrayLike, q: ArrayLike) -> Array:
    """Joint rates (n,), rad/s or m/s, for a velocity (m,) of the end effector: J^-1 v, Craig (5.72).

    With more joints than components they are the smallest that give the velocity. ``jacobian`` (m, n) and ``velocity``
    are in the same axes, m <= n, m/s and rad/s; q (n,) is named in the error. Raises RobotDynamicsError at a
    singularity, and for more components than joints.
    """
    j, v = np.asarray(jacobian, dtype=np.float64), np.asarray(velocity, dtype=np.float64)
    require_regular(j, q)
    rates = np.linalg.solve(j, v) if j.shape[0] == j.shape[1] else np.linalg.pinv(j) @ v
    return np.asarray(rates, dtype=np.float64)


def resolved_rate_motion(
    jacobian: Callable[[Array], ArrayLike],
    velocity: ArrayLike,
    q: ArrayLike,
    *,
    step: float,
    steps: int,
) -> tuple[Array, Array]:
    """Positions (steps + 1, n) and rates (steps + 1, n) for a constant velocity (m,), from q (n,).

    Euler steps of ``step`` seconds, the Jacobian anew at each: Craig, exercise 5 for MATLAB. ``jacobian`` gives (m, n)
    at a position (n,). Errors as ``joint_rates``.
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
    """Components of a link's motion that are x.

    Attributes
    ----------
    link
        The end-effector link, whose frame moves.
    rows
        Components of velocity x y z and angular velocity x y z that count, as 0 to 5: m of them.
    own_axes
        True if in the link's own, turning axes, as Craig's example 6.6 does; else in those of the root. xdd is the
        rate of the components of xd in these axes.
    """

    link: str
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    own_axes: bool = False


@dataclass(frozen=True, eq=False)
class CartesianDynamics:
    """F = Mx xdd + Vx + Gx at one state.

    Attributes
    ----------
    mass, velocity_terms, gravity
        Mx (m, m), Vx (m,), Gx (m,); kg, N or Nm, and so on, by the components of x.
    jacobian
        J (m, n), xd = J qd.
    inverse
        Jbar (n, m), dynamically consistent: M^-1 J^T Mx; J^-1 where m = n.
    """

    mass: Array
    velocity_terms: Array
    gravity: Array
    jacobian: Array
    inverse: Array


def cartesian_dynamics(model: RobotModel, q: ArrayLike, qd: ArrayLike, task: Task) -> CartesianDynamics:
    """Mx, Vx, Gx of Craig (6.99), Tsai (9.175), (9.178), for any arm at q, qd (n,); rotors and couplings count.

    Raises RobotDynamicsError at a singularity, naming q and the smallest singular value; for more components than
    joints; for an unknown link or row.
    """
    j, jdot_qd = _jacobian(model, q, qd, task)
    require_regular(j, q)
    m = model.mass_matrix(q)
    g = model.gravity_torque(q)
    v = model.bias_torque(q, qd) - g
    if j.shape[0] == j.shape[1]:
        inverse = np.asarray(np.linalg.inv(j), dtype=np.float64)
        mass = inverse.T @ m @ inverse  # (6.99)
    else:
        m_inverse = np.linalg.inv(m)
        mass = np.asarray(np.linalg.inv(j @ m_inverse @ j.T), dtype=np.float64)  # Khatib 1987
        inverse = m_inverse @ j.T @ mass
    return CartesianDynamics(mass, inverse.T @ v - mass @ jdot_qd, inverse.T @ g, j, inverse)


def configuration_space_form(model: RobotModel, q: ArrayLike, task: Task) -> tuple[Array, Array]:
    """Bx (n, n (n - 1) / 2) and Cx (n, n) of tau = J^T Mx xdd + Bx [qd qd] + Cx [qd^2] + G, Craig (6.105)-(6.109).

    [qd qd] is (qd1 qd2, qd1 qd3, ..., qd(n-1) qdn), (6.106), [qd^2] is (qd1^2, ..., qdn^2), (6.107). q (n,), and the
    rest as ``cartesian_dynamics``. Where m < n it is the part of the torque that J^T makes, with J^T Gx in place of G.
    """

    def velocity_torque(qd: Array) -> Array:
        form = cartesian_dynamics(model, q, qd, task)
        return np.asarray(form.jacobian.T @ form.velocity_terms)

    # J^T Vx is quadratic in qd: each coefficient from unit rates.
    unit = np.eye(model.n)
    c = np.column_stack([velocity_torque(e) for e in unit])
    pairs = itertools.combinations(range(model.n), 2)
    b = [velocity_torque(unit[i] + unit[k]) - c[:, i] - c[:, k] for i, k in pairs]
    return np.column_stack(b) if b else np.zeros((model.n, 0)), c


def _jacobian(model: RobotModel, q: ArrayLike, qd: ArrayLike, task: Task) -> tuple[Array, Array]:
    """J (m, n) and dJ/dt qd (m,), Craig (6.95), (6.96)."""
    rows = list(task.rows)
    if not rows or len(set(rows)) < len(rows) or not set(rows) <= set(range(6)):
        raise RobotDynamicsError(f"rows {task.rows}. Cure: choose different ones of 0 to 5: linear, then angular")
    j, jdot_qd = model.jacobian(q, task.link), model.jacobian_dot_qd(q, qd, task.link)
    if task.own_axes:
        to_link = model.link_pose(q, task.link)[:3, :3].T
        velocity = j @ np.asarray(qd, dtype=np.float64)
        spin = velocity[3:]
        # d/dt (R^T v) = R^T (dv/dt - w x v).
        turning = np.concatenate([np.cross(spin, velocity[:3]), np.cross(spin, spin)])
        jdot_qd = rotated_jacobian(to_link, (jdot_qd - turning)[:, None])[:, 0]
        j = rotated_jacobian(to_link, j)
    return j[rows], jdot_qd[rows]
