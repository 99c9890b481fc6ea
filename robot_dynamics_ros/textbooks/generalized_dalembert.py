"""Generalized d'Alembert equations: Milicevic (4.1)-(4.5), D qdd + h_tran + h_rot + c = tau.

Link frames are Craig's: the axis z_{i-1} and origin p_{i-1} of the book are z_i and p_i here. Two corrections of the
print: the sums over links s begin at the joint's own link, with c_s the centre of mass of link s relative to p_s
(p_{s-1} in the book); and the second term of (4.4) is inside the sum over s. The book covers revolute joints only;
prismatic ones follow from the same principle.

``robot`` is a model or its link tree (``LinkTree.of`` the model), ``links`` the number of moving links. Position q,
velocity qd and acceleration qdd have shape (n,), in rad or m. Vectors of a wrong shape raise RobotDynamicsError.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.textbooks.newton_euler_equations import (
    base_axes,
    euler_moment,
    outward_motion,
)
from robot_dynamics_ros.textbooks.shared_terms import (
    checked,
    rotor_inertia,
    to_coordinates,
    velocity_coupling_of,
)


class DalembertTerms(NamedTuple):
    """Terms of the links' rotation and translation, Milicevic (4.2)-(4.5). Rotors are part of the rotation.

    Attributes
    ----------
    D_rot, D_tran
        (n, n): inertia (4.2), kg m^2, kg m or kg.
    h_rot, h_tran
        (n,): velocity terms (4.4) and (4.3), Nm or N.
    c
        (n,): gravity (4.5), Nm or N.
    """

    D_rot: Array
    D_tran: Array
    h_rot: Array
    h_tran: Array
    c: Array


def dalembert_terms(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike
) -> DalembertTerms:
    """Return the terms of Milicevic (4.2)-(4.5) for position q and velocity qd (n,)."""
    tree, (q, qd) = checked(robot, q=q, qd=qd)
    links = DalembertTerms(
        *(
            to_coordinates(tree, term)
            for term in joint_terms(tree, q, tree.couplings @ qd)
        )
    )
    rotors, derivatives = rotor_inertia(tree, q)
    return links._replace(
        D_rot=links.D_rot + rotors,
        h_rot=links.h_rot + velocity_coupling_of(derivatives, qd),
    )


def generalized_torque(
    robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Array:
    """Return the torque (n,), Milicevic (4.1), for q, qd, qdd (n,), without friction; Nm or N."""
    tree, (q, qd, qdd) = checked(robot, q=q, qd=qd, qdd=qdd)
    D_rot, D_tran, h_rot, h_tran, c = dalembert_terms(tree, q, qd)
    return (D_rot + D_tran) @ qdd + h_tran + h_rot + c


def joint_terms(tree: LinkTree, q: Array, rates: Array) -> DalembertTerms:
    """Return the terms (4.2)-(4.5) of the joints, with shapes (links, links) and (links,), at q (n,).

    There is one joint for each link. ``rates`` (links,) are the joints' velocities, rad/s or m/s. Couplings and rotors
    are omitted, as in the book.
    """
    count = len(tree.links)
    rotations, p = tree.base_placements(q)
    z = rotations[:, :, 2]
    D_rot, D_tran, h_rot, h_tran, c = (
        np.zeros(shape, dtype=rates.dtype)
        for shape in [(count, count)] * 2 + [(count,)] * 3
    )
    # the inner sums of (4.3): motion at zero joint acceleration, without gravity
    still = replace(tree, gravity=np.zeros(3))
    axes = base_axes(tree, rotations, p)
    w, dw, a = outward_motion(still, axes, rates, np.zeros(count))
    for s, link in enumerate(tree.links):
        c_s = rotations[s] @ link.com
        r_s = p[s] + c_s
        # the braces of (4.3)
        a_s = a[s] + np.cross(w[s], np.cross(w[s], c_s)) + np.cross(dw[s], c_s)
        revolute = [i for i in tree.path(s) if not tree.links[i].prismatic]
        # ^0I_s, in the axes of the base
        inertia = rotations[s] @ link.inertia @ rotations[s].T
        carried = {
            i: np.cross(z[i], r_s - p[i]) if i in revolute else z[i]
            for i in tree.path(s)
        }
        moment = euler_moment(inertia, w[s], dw[s])
        for place, i in enumerate(tree.path(s)):
            h_tran[i] += link.mass * (a_s @ carried[i])  # (4.3)
            c[i] -= link.mass * (tree.gravity @ carried[i])  # (4.5)
            for j in tree.path(s)[place:]:
                D_tran[i, j] += link.mass * (carried[j] @ carried[i])  # (4.2), i <= j
        for place, i in enumerate(revolute):
            h_rot[i] += z[i] @ moment  # (4.4)
            for j in revolute[place:]:
                D_rot[i, j] += z[i] @ (inertia @ z[j])  # (4.2), i <= j
    for D in (D_rot, D_tran):
        D += np.triu(D, 1).T
    return DalembertTerms(D_rot, D_tran, h_rot, h_tran, c)
