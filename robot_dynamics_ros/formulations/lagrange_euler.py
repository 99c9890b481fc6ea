"""Lagrange-Euler by 4x4 matrices and pseudo-inertias: Milicevic (2.1)-(2.15), D qdd + h + c = tau.

Link frames are Craig's. Two misprints are put right: (2.4) multiplies its first sum by the accelerations, and gravity
enters (2.4) and (2.15) as -m_j g^T U_ji r_j. Rotors follow Tsai (9.157). Vectors of a wrong shape raise
RobotDynamicsError.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.formulations.link_tree import BASE, Link, LinkTree, checked, rotor_inertia, to_coordinates
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

# Derivative of a joint's own matrix: A_i' = A_i Q.
Q_REVOLUTE = np.array([[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
Q_PRISMATIC = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


class DynamicCoefficients(NamedTuple):
    """Milicevic's dynamic coefficients: D (n, n) (2.11), h[i, k, m] = h_ikm (n, n, n) (2.14), c (n,) (2.15)."""

    D: Array
    h: Array
    c: Array


def pseudo_inertia(link: Link) -> Array:
    """Return J_i (4, 4) of Milicevic (2.3): the integral of r r^T over the link, r = (x, y, z, 1) in its frame."""
    second = 0.5 * np.trace(link.inertia) * np.eye(3) - link.inertia + link.mass * np.outer(link.com, link.com)
    moment = link.mass * link.com
    return np.block([[second, moment[:, None]], [moment[None, :], np.array([[link.mass]])]])


def dynamic_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> DynamicCoefficients:
    """Return D, h and c for q (n,).

    h_ikm are the Christoffel symbols of D: sum_m h_ikm qd_m is the Coriolis matrix with dD/dt - 2 C skew.
    """
    tree, (q,) = checked(robot, q=q)
    rotor_D, rotor_dD = rotor_inertia(tree, q)
    D, h, c = joint_coefficients(tree, q)
    rotor_h = 0.5 * (rotor_dD + rotor_dD.swapaxes(1, 2) - np.moveaxis(rotor_dD, 2, 0))
    return DynamicCoefficients(
        to_coordinates(tree, D) + rotor_D, to_coordinates(tree, h) + rotor_h, to_coordinates(tree, c)
    )


def generalized_torque(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return tau (n,), Milicevic (2.5), for q, qd, qdd (n,): without friction; Nm or N."""
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    D, h, c = dynamic_coefficients(tree, q)
    return D @ qdd + h @ qd @ qd + c  # (2.13)


def joint_coefficients(tree: LinkTree, q: Array) -> DynamicCoefficients:
    """Return D, h, c of the joints themselves, as the book has them: no couplings, no rotors; q (n,) as above."""
    count = len(tree.links)
    U, UU = _derivatives(tree, q)
    J = [pseudo_inertia(link) for link in tree.links]
    gravity = np.append(tree.gravity, 0.0)
    D, h, c = (np.zeros((count,) * axes, dtype=q.dtype) for axes in (2, 3, 1))
    for j, link in enumerate(tree.links):
        path, r = tree.path(j), np.append(link.com, 1.0)
        for i in path:
            for k in path:
                D[i, k] += np.trace(U[j, k] @ J[j] @ U[j, i].T)  # (2.11)
                for m in path:
                    h[i, k, m] += np.trace(UU[j, k, m] @ J[j] @ U[j, i].T)  # (2.14)
            c[i] -= link.mass * (gravity @ U[j, i] @ r)  # (2.15)
    return DynamicCoefficients(D, h, c)


def _derivatives(tree: LinkTree, q: Array) -> tuple[dict[tuple[int, int], Array], dict[tuple[int, int, int], Array]]:
    """U[i, j] and UU[i, j, k]: first and second derivatives of ^0A_i by the joints, below (2.3)."""
    Q = [Q_PRISMATIC if link.prismatic else Q_REVOLUTE for link in tree.links]
    A: dict[tuple[int, int], Array] = {}
    U: dict[tuple[int, int], Array] = {}
    UU: dict[tuple[int, int, int], Array] = {}
    for i, (link, position) in enumerate(zip(tree.links, tree.joint_positions(q), strict=True)):
        rotation, origin = link.placed(position)
        own = np.block([[rotation, origin[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])  # (2.1)
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
