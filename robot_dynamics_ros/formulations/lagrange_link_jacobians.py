"""Lagrange's equations by link Jacobians: Tsai (9.78)-(9.103), M(q) qdd + V(q, qd) + G(q) = Q.

Link frames are Craig's: the axis and origin that the book calls z_{j-1} and O_{j-1} are z_j and p_j here. Rotors
follow Tsai (9.157). Vectors of a wrong shape raise RobotDynamicsError.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.formulations.link_tree import (
    LinkTree,
    checked,
    rotor_inertia,
    to_coordinates,
    velocity_coupling_of,
)
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def link_jacobians(robot: RobotModel | LinkTree, q: ArrayLike) -> tuple[Array, Array]:
    """Return J_v and J_w (links, 3, joints) for q (n,): the link Jacobians of Tsai (9.80).

    J_v[i] gives the velocity of link i's centre of mass, m/s, J_w[i] its angular velocity, rad/s, both in the base
    frame, by the rates of the joints that move the links.
    """
    tree, (q,) = checked(robot, q=q)
    rotations, p = tree.base_placements(q)
    z, count = rotations[:, :, 2], len(tree.links)
    J_v, J_w = np.zeros((count, 3, count)), np.zeros((count, 3, count))  # (9.83), (9.84)
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
    """Return the manipulator inertia matrix M (n, n), Tsai (9.86), for q (n,)."""
    tree, (q,) = checked(robot, q=q)
    J_v, J_w = link_jacobians(tree, q)
    M = np.zeros((len(tree.links), len(tree.links)))
    for i, (link, I_i) in enumerate(zip(tree.links, _base_inertias(tree, q), strict=True)):
        M += J_v[i].T * link.mass @ J_v[i] + J_w[i].T @ I_i @ J_w[i]  # (9.86)
    return to_coordinates(tree, M) + rotor_inertia(tree, q)[0]


def inertia_matrix_derivatives(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return the derivatives (n, n, n) of M that Tsai (9.101) needs: [i, j, k] is that of M_ij by q_k.

    For q (n,). From the rules for the columns: a revolute joint k turns what it carries by z_k x; a column of a joint
    j before k changes by z_j x what joint k does to the centre of mass.
    """
    tree, (q,) = checked(robot, q=q)
    J_v, J_w = link_jacobians(tree, q)
    z = tree.base_placements(q)[0][:, :, 2]
    count = len(tree.links)
    dM = np.zeros((count, count, count))
    for i, (link, I_i) in enumerate(zip(tree.links, _base_inertias(tree, q), strict=True)):
        path = tree.path(i)
        for place, k in enumerate(path):
            turns = not tree.links[k].prismatic
            dJ_v, dJ_w, dI = np.zeros((3, count)), np.zeros((3, count)), np.zeros((3, 3))
            for j in path[:place]:
                if not tree.links[j].prismatic:
                    dJ_v[:, j] = np.cross(z[j], J_v[i, :, k])
            if turns:
                for j in path[place:]:
                    dJ_v[:, j] = np.cross(z[k], J_v[i, :, j])
                    dJ_w[:, j] = np.cross(z[k], J_w[i, :, j])
                half = np.cross(z[k], I_i.T).T  # z_k x I_i, since it turns as R I R^T does
                dI = half + half.T
            half = dJ_v.T * link.mass @ J_v[i] + dJ_w.T @ I_i @ J_w[i]
            dM[:, :, k] += half + half.T + J_w[i].T @ dI @ J_w[i]
    return to_coordinates(tree, dM) + rotor_inertia(tree, q)[1]


def velocity_coupling(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the velocity coupling vector V (n,), Tsai (9.101), for q, qd (n,); Nm or N."""
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    return velocity_coupling_of(inertia_matrix_derivatives(tree, q), qd)


def gravity_vector(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """Return the vector of gravitational forces G (n,), Tsai (9.102), for q (n,); Nm or N."""
    tree, (q,) = checked(robot, q=q)
    J_v, _ = link_jacobians(tree, q)
    return to_coordinates(tree, -np.asarray([link.mass for link in tree.links]) @ (tree.gravity @ J_v))


def generalized_forces(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return Q (n,), Tsai (9.103), for q, qd, qdd (n,): what the joints give, friction left out; Nm or N."""
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    return inertia_matrix(tree, q) @ qdd + velocity_coupling(tree, q, qd) + gravity_vector(tree, q)


def _base_inertias(tree: LinkTree, q: ArrayLike) -> list[Array]:
    """Inertias about the centres of mass in the base frame, Tsai (9.79)."""
    rotations, _ = tree.base_placements(q)
    return [R @ link.inertia @ R.T for R, link in zip(rotations, tree.links, strict=True)]
