"""Static forces from link to link, inward from the hand, each in its own link's frame: Craig (5.80)-(5.96).

Weights do not enter; they are G(q). What the hand does to the world is positive, and so are the torques that it takes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.frame_transforms import force_transform
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.formulations.velocity_propagation import frame_on_body
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def link_forces(model: RobotModel, q: ArrayLike, force: ArrayLike, link: str) -> tuple[Array, Array]:
    """Forces f (links, 3), N, and moments n (links, 3), Nm, that each moving link receives from its parent.

    At the origin and in the axes of the link's frame (``LinkTree``), while the frame of ``link`` applies ``force`` (6,)
    to the world: force, then moment, at its origin, in its axes. Zero for the links that do not carry it. q (n,).
    Raises RobotDynamicsError for an unknown link and for anything but six numbers.
    """
    applied = np.asarray(force, dtype=np.float64)
    if applied.shape != (6,):
        raise RobotDynamicsError(f"force has shape {applied.shape}. Cure: give (6,): force, then moment")
    tree = LinkTree.of(model)
    body, rotation, position = frame_on_body(model, link)
    f, n = np.zeros((len(tree.links), 3)), np.zeros((len(tree.links), 3))
    if body == BASE:
        return f, n
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    at_body = force_transform(pose) @ applied
    f[body], n[body] = at_body[:3], at_body[3:]
    positions, i = tree.joint_positions(q), body
    while tree.links[i].parent != BASE:
        parent = tree.links[i].parent
        r, p = tree.links[i].placed(float(positions[i]))
        f[parent] = r @ f[i]  # (5.80)
        n[parent] = r @ n[i] + np.cross(p, f[parent])  # (5.81)
        i = parent
    return f, n


def joint_torques(model: RobotModel, q: ArrayLike, force: ArrayLike, link: str) -> Array:
    """Torques (n,), Nm or N, with which the arm applies ``force`` (6,): tau = J^T F, Craig (5.82), (5.83), (5.96).

    Arguments and errors as ``link_forces``; coupled joints by virtual work, tau = G^T tau_tree.
    """
    tree = LinkTree.of(model)
    f, n = link_forces(model, q, force, link)
    along_axes = [f[i, 2] if part.prismatic else n[i, 2] for i, part in enumerate(tree.links)]
    return np.asarray(tree.couplings.T @ np.array(along_axes))


def jacobian(model: RobotModel, q: ArrayLike, link: str) -> Array:
    """Jacobian (6, n) of a link's frame, in its own axes, linear rows first, out of statics alone: Craig (5.96).

    Its rows are the torques for one unit force or moment after the other. q (n,). Raises RobotDynamicsError for an
    unknown link.
    """
    return np.array([joint_torques(model, q, unit, link) for unit in np.eye(6)])
