"""Recursive Newton-Euler in the base frame: Milicevic Table 1.

Link frames are Craig's: the axis and origin that the book calls z_{i-1} and p_{i-1} are z_i and p_i here, so that
p*_i leads from the parent's origin and turns with the parent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree, coordinates, joint_axes, link_tree, to_coordinates
from robot_dynamics_ros.formulations.rigid_body import euler_moment, newton_force
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def newton_euler_base(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return tau (n,) for q, qd, qdd (n,) by Milicevic Table 1, every vector in the base frame; Nm or N.

    Without the table's friction b_i qd_i. Rotors as Tsai (9.157) says. RobotDynamicsError for a wrong shape.
    """
    tree = link_tree(robot)
    q, qd, qdd = coordinates(tree, q=q, qd=qd, qdd=qdd)
    rates, accelerations = tree.couplings @ qd, tree.couplings @ qdd
    rotations, p = tree.base_placements(q)
    z = joint_axes(tree, rotations)
    w: list[Array] = []
    dw: list[Array] = []
    dv: list[Array] = []
    F: list[Array] = []
    M: list[Array] = []
    p_star: list[Array] = []
    for i, link in enumerate(tree.links):  # forward equations
        if link.parent == BASE:
            p_star.append(p[i])
            w_i, dw_i, dv_i = np.zeros(3), np.zeros(3), -tree.gravity  # as if the base accelerated against gravity
        else:
            p_star.append(p[i] - p[link.parent])
            w_i, dw_i = w[link.parent], dw[link.parent]
            dv_i = dv[link.parent] + np.cross(dw_i, p_star[i]) + np.cross(w_i, np.cross(w_i, p_star[i]))
        motion, push = rates[i] * z[i], accelerations[i] * z[i]
        if link.prismatic:
            dv_i = dv_i + push + 2.0 * np.cross(w_i, motion)
        else:
            w_i, dw_i = w_i + motion, dw_i + push + np.cross(w_i, motion)
        w.append(w_i)
        dw.append(dw_i)
        dv.append(dv_i)
        s = rotations[i] @ link.com
        a_bar = np.cross(dw_i, s) + np.cross(w_i, np.cross(w_i, s)) + dv_i
        F.append(newton_force(link.mass, a_bar))  # at the centre of mass
        M.append(euler_moment(rotations[i] @ link.inertia @ rotations[i].T, w_i, dw_i))
    spin_torques: list[Array] = []  # Tsai (9.157)
    for rotor, N in zip(tree.rotors, tree.rotor_couplings, strict=True):
        spin, spin_up = N @ qd, N @ qdd
        if rotor.carrier != BASE:
            e, c = rotations[rotor.carrier] @ rotor.axis, rotor.carrier
            M[c] = M[c] + rotor.inertia * (spin_up * e + spin * np.cross(w[c], e))
            spin_up = spin_up + e @ dw[c]
        spin_torques.append(N * rotor.inertia * spin_up)
    f, n = list(F), [m + np.cross(R @ k.com, x) for m, R, k, x in zip(M, rotations, tree.links, F, strict=True)]
    tau = [np.float64(0.0)] * len(tree.links)
    for i in reversed(range(len(tree.links))):  # backward equations; f_i and n_i act at p_i
        link = tree.links[i]
        tau[i] = (f[i] if link.prismatic else n[i]) @ z[i]
        if link.parent != BASE:
            f[link.parent] = f[link.parent] + f[i]
            n[link.parent] = n[link.parent] + n[i] + np.cross(p_star[i], f[i])
    return sum(spin_torques, to_coordinates(tree, np.array(tau)))
