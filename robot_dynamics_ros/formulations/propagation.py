"""Velocities and static forces from frame to frame and from link to link: Craig (5.43)-(5.111).

A velocity is (6,): of the frame's origin, then angular. A force is (6,): force, then the moment about the frame's
origin. Both are in the axes of their frame. A pose (4, 4) is the frame B seen from the frame A: Craig's T with A above
and B below. Weights do not enter the static forces; they are G(q). Forces that the end effector applies to the world
are positive, and so are the torques that they take.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.link_tree import BASE, LinkTree

_ORTHONORMAL = 1e-6
_Z = np.array([0.0, 0.0, 1.0])


def cross_matrix(p: ArrayLike) -> Array:
    """Matrix (3, 3) that makes p x a of a vector a, p (3,): Craig (5.101)."""
    x, y, z = np.asarray(p, dtype=np.float64)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def velocity_transform(pose: ArrayLike) -> Array:
    """T_v (6, 6), with v_A = T_v v_B: Craig (5.103); of the inverse pose it is (5.100).

    ``pose`` (4, 4) is the frame B seen from A, m. Raises RobotDynamicsError where it is none.
    """
    r, p = _rotation_and_position(pose)
    return np.block([[r, cross_matrix(p) @ r], [np.zeros((3, 3)), r]])


def force_transform(pose: ArrayLike) -> Array:
    """T_f (6, 6), with F_A = T_f F_B: Craig (5.105). It is the transpose of the velocity transform from A to B.

    ``pose`` (4, 4) is the frame B seen from A, m. Raises RobotDynamicsError where it is none.
    """
    r, p = _rotation_and_position(pose)
    return np.block([[r, np.zeros((3, 3))], [cross_matrix(p) @ r, r]])


def inverse_pose(pose: ArrayLike) -> Array:
    """The frame A seen from B (4, 4), by the frame B seen from A. Raises RobotDynamicsError where it is no pose."""
    r, p = _rotation_and_position(pose)
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = r.T, -r.T @ p
    return inverse


def rotated_jacobian(rotation: ArrayLike, jacobian: ArrayLike) -> Array:
    """Jacobian (6, n) in the axes of A, by that in the axes of B and B's axes seen from A (3, 3): Craig (5.71).

    The reference point stays; ``velocity_transform`` moves it too.
    """
    r, j = np.asarray(rotation, dtype=np.float64), np.asarray(jacobian, dtype=np.float64)
    return np.vstack([r @ j[:3], r @ j[3:]])


def link_velocities(tree: LinkTree, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Angular velocities w (links, 3), rad/s, and velocities v (links, 3) of the origins, m/s, in the links' frames.

    From the base outward, Craig (5.45)-(5.48). q, qd (n,) are positions and rates of the independent coordinates.
    """
    joint_rates = tree.couplings @ np.asarray(qd, dtype=np.float64)
    w, v = np.zeros((len(tree.links), 3)), np.zeros((len(tree.links), 3))
    for i, (link, position, rate) in enumerate(zip(tree.links, tree.joint_positions(q), joint_rates, strict=True)):
        r, p = link.placed(float(position))
        w_parent, v_parent = (np.zeros(3), np.zeros(3)) if link.parent == BASE else (w[link.parent], v[link.parent])
        w[i] = r.T @ w_parent  # (5.48)
        v[i] = r.T @ (v_parent + np.cross(w_parent, p))  # (5.47)
        if link.prismatic:
            v[i] += rate * _Z  # (5.48)
        else:
            w[i] += rate * _Z  # (5.45)
    return w, v


def frame_velocity(model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Velocity (6,) of a link's frame, in its own axes: of its origin, m/s, then angular, rad/s.

    q, qd (n,). Raises RobotDynamicsError for an unknown link.
    """
    body, pose = _frame_on_body(model, link)
    if body == BASE:
        return np.zeros(6)
    w, v = link_velocities(LinkTree.of(model), q, qd)
    r, p = pose[:3, :3], pose[:3, 3]
    # The frame is fixed to the body: (5.45), (5.47) without a joint.
    return np.concatenate([r.T @ (v[body] + np.cross(w[body], p)), r.T @ w[body]])


def velocity_jacobian(model: RobotModel, q: ArrayLike, link: str) -> Array:
    """Jacobian (6, n) of a link's frame, in its own axes, linear rows first: Craig (5.64), (5.66).

    One column for each coordinate: the velocity while that one moves at unit rate. q (n,). Raises RobotDynamicsError
    for an unknown link.
    """
    return np.column_stack([frame_velocity(model, q, unit, link) for unit in np.eye(model.n)])


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
    body, pose = _frame_on_body(model, link)
    f, n = np.zeros((len(tree.links), 3)), np.zeros((len(tree.links), 3))
    if body == BASE:
        return f, n
    f[body], n[body] = (force_transform(pose) @ applied).reshape(2, 3)
    positions, i = tree.joint_positions(q), body
    while (parent := tree.links[i].parent) != BASE:
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


def force_jacobian(model: RobotModel, q: ArrayLike, link: str) -> Array:
    """Jacobian (6, n) of a link's frame, in its own axes, linear rows first, out of statics alone: Craig (5.96).

    Its rows are the torques for one unit force or moment after the other. q (n,). Raises RobotDynamicsError for an
    unknown link.
    """
    return np.array([joint_torques(model, q, unit, link) for unit in np.eye(6)])


def _frame_on_body(model: RobotModel, link: str) -> tuple[int, Array]:
    """Return the index of the moving link that carries a link's frame, or BASE, and the pose (4, 4) there, m."""
    frame = model.link_frames.get(link)
    if frame is None:
        raise RobotDynamicsError(f'no link "{link}". Cure: use one of {", ".join(model.link_names)}')
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.array(frame.rotation).reshape(3, 3), np.array(frame.position)
    return frame.body, pose


def _rotation_and_position(pose: ArrayLike) -> tuple[Array, Array]:
    t = np.asarray(pose, dtype=np.float64)
    if t.shape != (4, 4):
        raise RobotDynamicsError(f"a pose has shape {t.shape}. Cure: give a matrix (4, 4)")
    r = t[:3, :3]
    if not np.abs(r.T @ r - np.eye(3)).max() < _ORTHONORMAL or np.linalg.det(r) < 0.0:
        raise RobotDynamicsError(
            f"a pose's upper left part is no rotation: {r.tolist()}. Cure: give orthonormal, right-handed axes"
        )
    return r, t[:3, 3]
