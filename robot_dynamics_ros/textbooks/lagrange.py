"""Lagrange's equations: Milicevic (2.1)-(2.15) by 4x4 matrices, and Tsai (9.78)-(9.103) by link Jacobians.

Link frames are Craig's: the axis z_{j-1} and origin O_{j-1} of Tsai are z_j and p_j here. Two misprints of Milicevic
are corrected: (2.4) multiplies its first sum by the accelerations, and gravity enters (2.4) and (2.15) as -m_j g^T U_ji
r_j. Rotors follow Tsai (9.157).

``robot`` is a model or its link tree (``LinkTree.of`` the model), ``links`` the number of moving links. Position q,
velocity qd and acceleration qdd have shape (n,), in rad or m. m_j is the mass of link j, g the acceleration of gravity,
U_ji the derivative of link j's pose by q_i, and r_j its centre of mass. Vectors of a wrong shape raise
RobotDynamicsError.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, Link, LinkTree
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.newton_euler_equations import (
    angular_momentum,
    kinetic_energy,
)
from robot_dynamics_ros.textbooks.shared_terms import (
    checked,
    real,
    rotor_inertia,
    to_coordinates,
    velocity_coupling_of,
)

# Derivative of a joint's own matrix: A_i' = A_i Q.
Q_REVOLUTE = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
Q_PRISMATIC = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


class DynamicCoefficients(NamedTuple):
    """Milicevic's dynamic coefficients of D qdd + h qd qd + c = tau, in kg m^2, kg m or kg, and Nm or N.

    For single joints instead of coordinates (``joint_coefficients``), n is the number of links.

    Attributes
    ----------
    D
        (n, n): inertia (2.11).
    h
        (n, n, n): h[i, k, m] = h_ikm (2.14); its term of torque i is the sum of h_ikm qd_k qd_m over k and m.
    c
        (n,): gravity (2.15).
    """

    D: Array
    h: Array
    c: Array


def pseudo_inertia(link: Link) -> Array:
    """Return J_i (4, 4) of Milicevic (2.3): the mass integral of r r^T over the link, r = (x, y, z, 1) in its frame.

    Units are kg m^2, kg m in the last row and column, and kg in the corner.
    """
    second = (
        0.5 * np.trace(link.inertia) * np.eye(3)
        - link.inertia
        + link.mass * np.outer(link.com, link.com)
    )
    moment = link.mass * link.com
    return np.block(
        [[second, moment[:, None]], [moment[None, :], np.array([[link.mass]])]]
    )


def dynamic_coefficients(
    robot: RobotModel | LinkTree, q: ArrayLike
) -> DynamicCoefficients:
    """Return D, h and c of Milicevic (2.11), (2.14), (2.15) at position q (n,).

    h_ikm are the Christoffel symbols of D. The sum over m of h_ikm qd_m is the Coriolis matrix C for which dD/dt - 2 C
    is skew-symmetric.
    """
    tree, (q,) = checked(robot, q=q)
    rotor_D, rotor_dD = rotor_inertia(tree, q)
    D, h, c = joint_coefficients(tree, q)
    rotor_h = 0.5 * (rotor_dD + rotor_dD.swapaxes(1, 2) - np.moveaxis(rotor_dD, 2, 0))
    return DynamicCoefficients(
        to_coordinates(tree, D) + rotor_D,
        to_coordinates(tree, h) + rotor_h,
        to_coordinates(tree, c),
    )


def named_coefficients(
    robot: RobotModel | LinkTree, q: ArrayLike
) -> dict[str, tuple[float, str]]:
    """Return each coefficient D_ik, h_ikm, c_i at q (n,), and the reason if it is zero: Milicevic below (2.15).

    The keys are such as "D12", "h112" and "c1", with i <= k for D and k <= m for h, which are symmetric. The reason is
    empty for other numbers. A coefficient that is also zero at three random positions is taken to be zero at all.
    """
    tree, (q,) = checked(robot, q=q)
    moves = [
        np.any(tree.couplings[tree.path(j)] != 0.0, axis=0)
        for j in range(len(tree.links))
    ]
    moved = [set(np.flatnonzero(row).tolist()) for row in np.transpose(moves)]
    positions = [q, *np.random.default_rng(0).uniform(-3.0, 3.0, (3, len(q)))]
    named = {}
    for name, *values in zip(
        "Dhc", *(dynamic_coefficients(tree, x) for x in positions), strict=True
    ):
        zero = np.abs(values) <= thresholds.ROUNDING * np.abs(values).max(initial=0.0)
        for index in np.ndindex(values[0].shape):
            symmetric = index if name == "D" else index[1:]
            if list(symmetric) == sorted(symmetric):
                everywhere = all(zeros[index] for zeros in zero)
                reason = (
                    _reason(index, moved)
                    if everywhere
                    else "only at this position"
                    if zero[0][index]
                    else ""
                )
                label = name + ("" if len(q) < 10 else ",").join(
                    str(i + 1) for i in index
                )
                named[label] = (0.0 if reason else float(values[0][index]), reason)
    return named


def _reason(index: tuple[int, ...], moved: list[set[int]]) -> str:
    """Return why a coefficient is zero at all positions; ``moved`` has the links that each coordinate moves."""
    if len(index) == 1:
        return "gravity does no work along this joint"
    if not set.intersection(*(moved[i] for i in index)):
        return "no link is moved by all of these joints"
    if len(index) == 3 and index[0] == max(index) and index[0] in index[1:]:
        return "nonexistent in any arm: the inertia about a joint does not depend on this joint or those before it"
    return "design of the arm: these motions are not coupled"


def generalized_torque(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Array:
    """Return the torque tau (n,), Milicevic (2.5), for q, qd, qdd (n,), without friction; Nm or N."""
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    D, h, c = dynamic_coefficients(tree, q)
    return D @ qdd + h @ qd @ qd + c  # (2.13)


def joint_coefficients(tree: LinkTree, q: Array) -> DynamicCoefficients:
    """Return D, h and c of the joints at q (n,), Milicevic (2.11), (2.14), (2.15).

    There is one joint for each link. Couplings and rotors are omitted, as in the book: each axis has the length
    ``links`` instead of n.
    """
    count = len(tree.links)
    U, UU = pose_derivatives(tree, q)
    J = [pseudo_inertia(link) for link in tree.links]
    gravity = np.append(tree.gravity, 0.0)
    D, h, c = (np.zeros((count,) * axes, dtype=q.dtype) for axes in (2, 3, 1))
    for j, link in enumerate(tree.links):
        path = tree.path(j)
        r = np.append(link.com, 1.0)
        for i in path:
            for k in path:
                D[i, k] += np.trace(U[j, k] @ J[j] @ U[j, i].T)  # (2.11)
                for m in path:
                    h[i, k, m] += np.trace(UU[j, k, m] @ J[j] @ U[j, i].T)  # (2.14)
            c[i] -= link.mass * (gravity @ U[j, i] @ r)  # (2.15)
    return DynamicCoefficients(D, h, c)


def pose_derivatives(
    robot: RobotModel | LinkTree, q: ArrayLike
) -> tuple[dict[tuple[int, int], Array], dict[tuple[int, int, int], Array]]:
    """Return the derivatives U_ij, U_ijk (4, 4) of the links' poses ^0A_i at q (n,): below Milicevic (2.3).

    The keys are (i, j) and (i, j, k), indices in ``LinkTree.links``, with one joint for each link, in rad or m.
    Derivatives by joints that do not move link i are zero and have no key.
    """
    tree, (q,) = checked(robot, q=q)
    Q = [Q_PRISMATIC if link.prismatic else Q_REVOLUTE for link in tree.links]
    A = dict[tuple[int, int], Array]()
    U = dict[tuple[int, int], Array]()
    UU = dict[tuple[int, int, int], Array]()
    for i, (link, position) in enumerate(
        zip(tree.links, tree.joint_positions(q), strict=True)
    ):
        rotation, origin = link.placed(position)
        own = np.block(
            [[rotation, origin[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]
        )  # (2.1)
        A[i, i] = np.eye(4)
        A[BASE, i] = own if link.parent == BASE else A[BASE, link.parent] @ own
        path = tree.path(i)
        for j in path[:-1]:
            A[j, i] = A[j, link.parent] @ own  # ^jA_i
        for j in path:
            U[i, j] = A[BASE, j] @ Q[j] @ A[j, i]
        for place, k in enumerate(path):
            for j in path[: place + 1]:
                UU[i, j, k] = UU[i, k, j] = U[k, j] @ Q[k] @ A[k, i]
    return U, UU


def link_jacobians(robot: RobotModel | LinkTree, q: ArrayLike) -> tuple[Array, Array]:
    """Return the link Jacobians J_v and J_w (links, 3, joints) of Tsai (9.80)-(9.84) at q (n,).

    J_v[i] maps the rates of the joints, one for each link, to the velocity of link i's centre of mass, m/s, J_w[i] to
    its angular velocity, rad/s. Both are in the axes of the base frame.
    """
    tree, (q,) = checked(robot, q=q)
    rotations, p = tree.base_placements(q)
    z = rotations[:, :, 2]
    count = len(tree.links)
    # (9.83), (9.84)
    J_v, J_w = (np.zeros((count, 3, count), dtype=rotations.dtype) for _ in range(2))
    for i, link in enumerate(tree.links):
        p_c = p[i] + rotations[i] @ link.com
        for j in tree.path(i):
            if tree.links[j].prismatic:
                J_v[i, :, j] = z[j]  # (9.81)
            else:
                J_v[i, :, j] = np.cross(z[j], p_c - p[j])  # (9.81)
                J_w[i, :, j] = z[j]  # (9.82)
    return J_v, J_w


def inertia_matrix(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return the manipulator inertia matrix M (n, n), Tsai (9.86), at q (n,), including rotors.

    In kg m^2, kg m or kg.
    """
    tree, (q,) = checked(robot, q=q)
    J_v, J_w = link_jacobians(tree, q)
    M = np.zeros((len(tree.links), len(tree.links)))
    for i, (link, I_i) in enumerate(
        zip(tree.links, _base_inertias(tree, q), strict=True)
    ):
        M += J_v[i].T * link.mass @ J_v[i] + J_w[i].T @ I_i @ J_w[i]  # (9.86)
    return to_coordinates(tree, M) + rotor_inertia(tree, q)[0]


def inertia_matrix_derivatives(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return the derivatives (n, n, n) of M, Tsai (9.101), at q (n,): [i, j, k] is that of M_ij by q_k.

    A revolute joint k rotates the columns of the joints from k outwards by z_k x. A column of a revolute joint j before
    k changes by z_j times the velocity of the centre of mass due to joint k.
    """
    tree, (q,) = checked(robot, q=q)
    J_v, J_w = link_jacobians(tree, q)
    z = tree.base_placements(q)[0][:, :, 2]
    count = len(tree.links)
    dM = np.zeros((count, count, count))
    for i, (link, I_i) in enumerate(
        zip(tree.links, _base_inertias(tree, q), strict=True)
    ):
        path = tree.path(i)
        for place, k in enumerate(path):
            dJ_v = np.zeros((3, count))
            dJ_w = np.zeros((3, count))
            dI = np.zeros((3, 3))
            for j in path[:place]:
                if not tree.links[j].prismatic:
                    dJ_v[:, j] = np.cross(z[j], J_v[i, :, k])
            if not tree.links[k].prismatic:
                for j in path[place:]:
                    dJ_v[:, j] = np.cross(z[k], J_v[i, :, j])
                    dJ_w[:, j] = np.cross(z[k], J_w[i, :, j])
                # z_k x I_i, since it turns as R I R^T does
                half = np.cross(z[k], I_i.T).T
                dI = half + half.T
            half = dJ_v.T * link.mass @ J_v[i] + dJ_w.T @ I_i @ J_w[i]
            dM[:, :, k] += half + half.T + J_w[i].T @ dI @ J_w[i]
    return to_coordinates(tree, dM) + rotor_inertia(tree, q)[1]


def velocity_coupling(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike
) -> Array:
    """Return the velocity coupling vector V (n,), the Coriolis and centrifugal torque of Tsai (9.101); Nm or N."""
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    return velocity_coupling_of(inertia_matrix_derivatives(tree, q), qd)


def gravity_vector(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return the vector of gravitational forces G (n,), Tsai (9.102), at q (n,); Nm or N.

    It is the torque that holds the robot at rest.
    """
    tree, (q,) = checked(robot, q=q)
    J_v, _ = link_jacobians(tree, q)
    return to_coordinates(
        tree, -np.asarray([link.mass for link in tree.links]) @ (tree.gravity @ J_v)
    )


def generalized_forces(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Array:
    """Return the generalized forces Q = M qdd + V + G (n,), Tsai (9.103), without friction; Nm or N."""
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    return (
        inertia_matrix(tree, q) @ qdd
        + velocity_coupling(tree, q, qd)
        + gravity_vector(tree, q)
    )


def lagrangian_by_traces(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike
) -> float:
    """Return the Lagrangian L = K - P, J, at q and qd (n,): Milicevic (2.3), with the rotors of Tsai (9.157).

    Its triple sum over j and k is that of Tr(dA_i J_i dA_i^T) over the links, with the rate dA_i of a link's pose. P is
    zero for a mass at the origin of the base.
    """
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    U, _ = pose_derivatives(tree, q)
    rotations, p = tree.base_placements(q)
    rates = tree.couplings @ qd
    L = 0.5 * qd @ rotor_inertia(tree, q)[0] @ qd
    for i, link in enumerate(tree.links):
        dA = sum((U[i, j] * rates[j] for j in tree.path(i)), np.zeros((4, 4)))
        L += 0.5 * np.trace(
            dA @ pseudo_inertia(link) @ dA.T
        ) + link.mass * tree.gravity @ (p[i] + rotations[i] @ link.com)
    return float(L)


class BodyState(NamedTuple):
    """Motion of a link in base axes: ``newton_euler_equations`` has the functions of these arguments.

    Attributes
    ----------
    mass, inertia
        Mass, kg, and inertia (3, 3) about the centre of mass, kg m^2.
    p_c, v_c
        Position, m, and velocity, m/s, of the centre of mass (3,).
    w
        Angular velocity (3,), rad/s.
    """

    mass: float
    inertia: Array
    p_c: Array
    v_c: Array
    w: Array


def body_motions(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike
) -> list[BodyState]:
    """Return the motion of each link at q and qd (n,), in the order of ``LinkTree.links``: Tsai (9.80)."""
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    rotations, p = tree.base_placements(q)
    velocities = [J @ tree.couplings @ qd for J in link_jacobians(tree, q)]
    positions = p + np.array(
        [R @ link.com for R, link in zip(rotations, tree.links, strict=True)]
    )
    masses = [link.mass for link in tree.links]
    return [
        BodyState(*body)
        for body in zip(
            masses, _base_inertias(tree, q), positions, *velocities, strict=True
        )
    ]


def link_energies(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike
) -> tuple[Array, Array]:
    """Return kinetic and potential energy (links,) of each link, J, at q and qd (n,): Craig (6.69), (6.73).

    The potential energy is zero at the origin of the base. Rotors are at rest in their carriers.
    """
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    bodies = body_motions(tree, q, qd)
    kinetic = [kinetic_energy(b.mass, b.inertia, b.v_c, b.w) for b in bodies]
    return np.array(kinetic), np.array([-b.mass * tree.gravity @ b.p_c for b in bodies])


def arm_angular_momentum(
    robot: RobotModel | LinkTree,
    q: ArrayLike,
    qd: ArrayLike,
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """Return the angular momentum (3,) of all links about a point of the base, kg m^2/s: Tsai (9.22), exercise 5.

    In base axes, at q and qd (n,). ``point`` (3,) is in the base frame, m. It includes the spin of the rotors.
    """
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    rotations, _ = tree.base_placements(q)
    total = np.zeros(3)
    for b in body_motions(tree, q, qd):
        total += angular_momentum(b.mass, b.inertia, b.p_c - real(point), b.v_c, b.w)
    for rotor, ratio in zip(tree.rotors, tree.rotor_couplings, strict=True):
        axis = (
            rotor.axis
            if rotor.carrier == BASE
            else rotations[rotor.carrier] @ rotor.axis
        )
        total += rotor.inertia * (ratio @ qd) * axis
    return total


def _base_inertias(tree: LinkTree, q: ArrayLike) -> list[Array]:
    """Return the links' inertias about their centres of mass in the axes of the base frame, Tsai (9.79)."""
    rotations, _ = tree.base_placements(q)
    return [
        R @ link.inertia @ R.T for R, link in zip(rotations, tree.links, strict=True)
    ]
