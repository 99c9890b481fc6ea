"""Recursive Newton-Euler in the links' own frames: Craig (6.45)-(6.53), Tsai (9.49)-(9.70), Milicevic Table 2.

Link frames are Craig's, with z on the link's own joint. Craig writes the recursion for turning joints; Tsai's and
Milicevic's sliding ones are here, too. Tsai carries gravity along as a force, (9.60) and (9.65); here the base
accelerates against it, which comes to the same. Tsai (9.58) has a bracket closed too late: only the acceleration of
the parent's origin is turned into the link's frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree, coordinates, link_tree, to_coordinates
from robot_dynamics_ros.formulations.rigid_body import euler_moment, newton_force
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

Z = np.array([0.0, 0.0, 1.0])


def newton_euler_links(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return tau (n,) for q, qd, qdd (n,), every vector of a link in its frame; Nm or N.

    Without the friction of Tsai (9.70). Rotors as Tsai (9.157) says. RobotDynamicsError for a wrong shape.
    """
    tree = link_tree(robot)
    return _recursion(tree, *coordinates(tree, q=q, qd=qd, qdd=qdd))[2]


def joint_reactions(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> tuple[Array, Array]:
    """Return f and n (links, 3): force, N, and moment, Nm, on each link by its parent, Tsai (9.65)-(9.66).

    For q, qd, qdd (n,). At the origin of the link's frame, which lies on the joint's axis, and in its axes: the z
    component of the moment, or of a sliding joint's force, is what drives the joint. RobotDynamicsError for a wrong
    shape.
    """
    tree = link_tree(robot)
    f, n, _ = _recursion(tree, *coordinates(tree, q=q, qd=qd, qdd=qdd))
    return np.array(f), np.array(n)


def _recursion(tree: LinkTree, q: Array, qd: Array, qdd: Array) -> tuple[list[Array], list[Array], Array]:
    """f, n and tau."""
    rates, accelerations = tree.couplings @ qd, tree.couplings @ qdd
    placements = [link.placed(x) for link, x in zip(tree.links, tree.joint_positions(q), strict=True)]
    w: list[Array] = []
    dw: list[Array] = []
    dv: list[Array] = []
    F: list[Array] = []
    N: list[Array] = []
    for i, link in enumerate(tree.links):
        R, P = placements[i]
        if link.parent == BASE:
            w_i, dw_i, dv_i = np.zeros(3), np.zeros(3), R.T @ -tree.gravity
        else:
            w_p, dw_p = w[link.parent], dw[link.parent]
            w_i, dw_i = R.T @ w_p, R.T @ dw_p
            # Craig (6.47), Tsai (9.58)
            dv_i = R.T @ (dv[link.parent] + np.cross(dw_p, P) + np.cross(w_p, np.cross(w_p, P)))
        motion, push = rates[i] * Z, accelerations[i] * Z
        if link.prismatic:
            dv_i = dv_i + push + 2.0 * np.cross(w_i, motion)  # Tsai (9.58)
        else:
            dw_i = dw_i + push + np.cross(w_i, motion)  # Craig (6.46), Tsai (9.53)
            w_i = w_i + motion  # Craig (6.45), Tsai (9.50)
        w.append(w_i)
        dw.append(dw_i)
        dv.append(dv_i)
        # Craig (6.48), Tsai (9.59)
        dv_c = dv_i + np.cross(dw_i, link.com) + np.cross(w_i, np.cross(w_i, link.com))
        F.append(newton_force(link.mass, dv_c))  # Craig (6.49), Tsai (9.61)
        N.append(euler_moment(link.inertia, w_i, dw_i))  # Craig (6.50), Tsai (9.62)
    spin_torques = _turn_rotors(tree, qd, qdd, w, dw, N)
    f, n = list(F), [N_i + np.cross(link.com, F_i) for N_i, link, F_i in zip(N, tree.links, F, strict=True)]
    tau = [np.float64(0.0)] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link, (R, P) = tree.links[i], placements[i]
        tau[i] = (f[i] if link.prismatic else n[i]) @ Z  # Craig (6.53), Tsai (9.69)
        if link.parent != BASE:
            f_i = R @ f[i]  # Tsai (9.67)
            f[link.parent] = f[link.parent] + f_i  # Craig (6.51), Tsai (9.65)
            n[link.parent] = n[link.parent] + R @ n[i] + np.cross(P, f_i)  # Craig (6.52), Tsai (9.66), (9.68)
    return f, n, sum(spin_torques, to_coordinates(tree, np.array(tau)))


def _turn_rotors(tree: LinkTree, qd: Array, qdd: Array, w: list[Array], dw: list[Array], N: list[Array]) -> list[Array]:
    """Return the torques (n,) that spin the rotors up; add to N the moments that the carriers must give for it.

    By the energy of Tsai (9.157): the spin's momentum I s e turns with the carrier.
    """
    torques = []
    for rotor, ratio in zip(tree.rotors, tree.rotor_couplings, strict=True):
        e, c, spin, spin_up = rotor.axis, rotor.carrier, ratio @ qd, ratio @ qdd
        if c != BASE:
            N[c] = N[c] + rotor.inertia * (spin_up * e + spin * np.cross(w[c], e))
            spin_up = spin_up + e @ dw[c]
        torques.append(ratio * rotor.inertia * spin_up)
    return torques
