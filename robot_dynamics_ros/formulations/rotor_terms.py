"""What spinning rotors add to a robot's kinetic energy: Tsai 9.9."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.formulations.link_tree import (
    BASE,
    LinkTree,
    coordinates,
    joint_axes,
    link_tree,
    velocity_torque,
)
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def rotor_inertia(robot: RobotModel | LinkTree, q: ArrayLike) -> tuple[Array, Array]:
    """Return the rotors' part of the mass matrix and its derivatives, for q (n,).

    Tsai (9.157): rotor j with the axial inertia I, that spins at N qd about the axis e of a carrier with angular
    velocity w, adds I (N qd)^2 / 2 + I (w . e) N qd to the kinetic energy.

    Returns
    -------
    M, dM
        (n, n), kg m^2 where both coordinates turn; dM[i, j, k] is the derivative of M[i, j] by q[k].

    Raises RobotDynamicsError for a wrong shape.
    """
    tree = link_tree(robot)
    (q,) = coordinates(tree, q=q)
    n = len(q)
    M, dM = np.zeros((n, n)), np.zeros((n, n, n))
    rotations, _ = tree.base_placements(q)
    z, G = joint_axes(tree, rotations), tree.couplings
    for rotor, N in zip(tree.rotors, tree.rotor_couplings, strict=True):
        w, dw = np.zeros(len(tree.links)), np.zeros((len(tree.links), len(tree.links)))
        if rotor.carrier != BASE:
            e = rotations[rotor.carrier] @ rotor.axis
            turning = [i for i in tree.path(rotor.carrier) if not tree.links[i].prismatic]
            for place, i in enumerate(turning):
                w[i] = e @ z[i]  # w . e = sum_i w_i qd_i
                for k in turning[place + 1 :]:
                    dw[i, k] = e @ np.cross(z[i], z[k])  # joint k turns e, but not z_i
        w, dw = w @ G, G.T @ dw @ G
        M += rotor.inertia * (np.outer(N, N) + np.outer(w, N) + np.outer(N, w))
        dM += rotor.inertia * (np.einsum("ik,j->ijk", dw, N) + np.einsum("i,jk->ijk", N, dw))
    return M, dM


def rotor_velocity_torque(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """Return the rotors' part of the velocity coupling vector (n,) of Tsai (9.101), for q, qd (n,); Nm or N.

    RobotDynamicsError for a wrong shape.
    """
    tree = link_tree(robot)
    q, qd = coordinates(tree, q=q, qd=qd)
    return velocity_torque(rotor_inertia(tree, q)[1], qd)
