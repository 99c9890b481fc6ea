"""The dynamics at the hand: F = Mx xdd + Vx + Gx, Craig (6.91)-(6.109), Tsai (9.173)-(9.178).

x is what ``Task`` names of the hand's motion. Where the arm has more joints than x has components, J has many inverses;
Jbar here is the one with which joint torques that make no force at the hand do not move it either: Khatib 1987, "A
unified approach for motion and force control of robot manipulators: the operational space formulation".
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.frame_transforms import rotated_jacobian
from robot_dynamics_ros.formulations.resolved_rate import require_regular
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

ALL = (0, 1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Task:
    """What of a link's motion is x.

    Attributes
    ----------
    link
        The hand: the link whose frame moves.
    rows
        Which of velocity x y z and angular velocity x y z count, as 0 to 5: m of them.
    own_axes
        Whether in the link's own, turning axes, as Craig's example 6.6 does; else in those of the root. xdd is the
        rate of the components of xd in these axes.
    """

    link: str
    rows: tuple[int, ...] = ALL
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
    singular_values
        Of J, the largest first (m,).
    """

    mass: Array
    velocity_terms: Array
    gravity: Array
    jacobian: Array
    inverse: Array
    singular_values: Array


def cartesian_dynamics(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, task: Task, *, damping: float = 0.0
) -> CartesianDynamics:
    """Mx, Vx, Gx of Craig (6.99), Tsai (9.175), (9.178), for any arm; rotors and couplings count.

    Parameters
    ----------
    q, qd
        Positions and rates (n,).
    damping
        Above 0: a direction of x for which J has a smaller singular value gets the mass that it would have with this
        one, so that everything stays finite at a singularity. Nothing changes where all are larger.

    Raises
    ------
    RobotDynamicsError
        At a singularity, without damping, naming q and the smallest singular value; for more components than joints;
        for an unknown link or row.
    """
    j, jdot_qd = _jacobian(model, q, qd, task)
    if damping <= 0.0 or j.shape[0] > j.shape[1]:
        require_regular(j, q)
    m = model.mass_matrix(q)
    g = model.gravity_torque(q)
    v = model.bias_torque(q, qd) - g
    u, sigma, v_t = np.linalg.svd(j, full_matrices=False)
    if j.shape[0] == j.shape[1] and sigma[-1] >= damping:
        inverse = np.asarray(np.linalg.inv(j), dtype=np.float64)
        mass = inverse.T @ m @ inverse  # (6.99)
    else:
        m_inverse = np.linalg.inv(m)
        missing = np.maximum(damping**2 - sigma**2, 0.0) * np.einsum("ki,ij,kj->k", v_t, m_inverse, v_t)
        # Khatib 1987; a damped direction yields to forces as one with the singular value ``damping``.
        mass = np.linalg.inv(j @ m_inverse @ j.T + (u * missing) @ u.T)
        inverse = m_inverse @ j.T @ mass
    return CartesianDynamics(mass, inverse.T @ v - mass @ jdot_qd, inverse.T @ g, j, inverse, sigma)


def configuration_space_form(
    model: RobotModel, q: ArrayLike, task: Task, *, damping: float = 0.0
) -> tuple[Array, Array]:
    """Bx (n, n (n - 1) / 2) and Cx (n, n) of tau = J^T Mx xdd + Bx [qd qd] + Cx [qd^2] + G, Craig (6.105)-(6.109).

    [qd qd] is (qd1 qd2, qd1 qd3, ..., qd(n-1) qdn), (6.106), [qd^2] is (qd1^2, ..., qdn^2), (6.107). q (n,), and the
    rest as ``cartesian_dynamics``. Where m < n it is the part of the torque that J^T makes, with J^T Gx in place of G.
    """

    def velocity_torque(qd: Array) -> Array:
        found = cartesian_dynamics(model, q, qd, task, damping=damping)
        return np.asarray(found.jacobian.T @ found.velocity_terms)

    # J^T Vx is quadratic in qd: each coefficient from unit rates.
    unit = np.eye(model.n)
    c = np.column_stack([velocity_torque(e) for e in unit])
    pairs = itertools.combinations(range(model.n), 2)
    b = [velocity_torque(unit[i] + unit[k]) - c[:, i] - c[:, k] for i, k in pairs]
    return np.column_stack(b) if b else np.zeros((model.n, 0)), c


def _jacobian(model: RobotModel, q: ArrayLike, qd: ArrayLike, task: Task) -> tuple[Array, Array]:
    """J (m, n) and dJ/dt qd (m,), Craig (6.95), (6.96)."""
    rows = list(task.rows)
    if not rows or len(set(rows)) < len(rows) or not set(rows) <= set(ALL):
        raise RobotDynamicsError(f"rows {task.rows}. Cure: choose different ones of 0 to 5: linear, then angular")
    j, jdot_qd = model.jacobian(q, task.link), model.jacobian_dot_qd(q, qd, task.link)
    if task.own_axes:
        to_link = model.link_pose(q, task.link)[:3, :3].T
        velocity = j @ np.asarray(qd, dtype=np.float64)
        spin = velocity[3:]
        # d/dt (R^T v) = R^T (dv/dt - w x v).
        turning = np.concatenate([np.cross(spin, velocity[:3]), np.cross(spin, velocity[3:])])
        jdot_qd = rotated_jacobian(to_link, (jdot_qd - turning)[:, None])[:, 0]
        j = rotated_jacobian(to_link, j)
    return j[rows], jdot_qd[rows]
