"""Propagation of velocities and static forces between frames and from link to link: Craig (5.14)-(5.111).

A velocity (6,) is that of a frame's origin (m/s), followed by the angular velocity (rad/s). A force (6,) has the force
(N), followed by the moment (Nm) about the frame's origin. Both are in the axes of their frame. A pose (4, 4) of frame B
in frame A is Craig's T with superscript A and subscript B, with columns the axes and origin (m) of B in A. Static
forces do not include weights, which are in G(q). Forces of the end effector on the environment are positive, and so are
the torques that they require. q and qd have shape (n,), in rad or m; another shape raises ValueError. ``link`` is any
link's name; its frame is that of the URDF. The frame of a moving link in ``LinkTree`` has the z axis on its joint, and
``links`` is their number.

Functions that take a rotation R or a pose use the nearest rotation. R^T R may differ from the identity by
``tolerance``; 2e-3 is enough for axes that are printed with three decimals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree
from robot_dynamics_ros.textbooks import thresholds
from robot_dynamics_ros.textbooks.shared_terms import cross, frame_on_body, real, shaped

_Z = np.array([0.0, 0.0, 1.0])


def cross_matrix(p: ArrayLike) -> Array:
    """Return the matrix (3, 3) of the cross product p x, for p (3,): Craig (5.101)."""
    x, y, z = real(p)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def angular_velocity(
    rotation: ArrayLike, rate: ArrayLike, tolerance: float = thresholds.ORTHONORMAL
) -> Array:
    """Return the angular velocity w (3,), rad/s, of a rotating frame from dR/dt R^T = S(w): Craig (5.37), Spong (9.42).

    Parameters
    ----------
    rotation, rate
        R (3, 3), with the axes of the frame as columns, and its time derivative (3, 3), 1/s. w is in the axes of R's
        rows.
    tolerance
        Largest accepted error of R^T R, and of the skew symmetry of dR/dt R^T relative to its largest element.

    Raises
    ------
    RobotDynamicsError
        If R is not a rotation or dR/dt not its derivative.
    """
    r = _rotation("rotation", rotation, tolerance)
    s = shaped("rate", rate, (3, 3), "pass dR/dt") @ r.T
    if not np.abs(s + s.T).max() <= tolerance * np.abs(s).max():
        raise RobotDynamicsError(
            f"dR/dt R^T is not skew-symmetric: {s.tolist()}. Cure: pass the derivative of R"
        )
    return np.array([s[2, 1] - s[1, 2], s[0, 2] - s[2, 0], s[1, 0] - s[0, 1]]) / 2.0


def angle_rate_matrix(axes: str, angles: ArrayLike) -> Array:
    """Return E (3, 3) with w = E angles' for any of the 24 sets of angles: Craig (5.41), (5.42).

    w, in the axes of the fixed frame, is the angular velocity of the frame that the angles orient.

    Parameters
    ----------
    axes
        Axes of the three rotations, in their order: "ZYZ" (capitals) about axes of the moving frame, Euler angles;
        "xyz" about axes of the fixed frame.
    angles
        Angles (3,), rad, in the same order.

    Raises
    ------
    RobotDynamicsError
        For an unknown set, and angles of another shape.
    """
    # imported here, since it delays `inspect`
    from scipy.spatial.transform import Rotation

    order = axes.lower()
    values = shaped("angles", angles, (3,), "pass three angles in rad")
    if (
        len(axes) != 3
        or not set(order) <= set("xyz")
        or order[1] in (order[0], order[2])
        or axes not in (order, order.upper())
    ):
        raise RobotDynamicsError(
            f'axes are "{axes}". Cure: name three, such as "ZYZ" (moving) or "xyz" (fixed axes)'
        )
    turn = np.eye(3)
    columns = []
    # A rotation about fixed axes is the one about moving axes in reverse order.
    sequence = [0, 1, 2] if axes.isupper() else [2, 1, 0]
    for k in sequence:
        columns.append(turn[:, "xyz".index(order[k])])
        turn = turn @ Rotation.from_euler(order[k], values[k]).as_matrix()
    return np.column_stack([columns[k] for k in sequence])


def velocity_transform(
    pose: ArrayLike, tolerance: float = thresholds.ORTHONORMAL
) -> Array:
    """Return T_v (6, 6) with v_A = T_v v_B: Craig (5.103), and (5.100) for the inverse pose.

    v_A and v_B are the velocities of frames A and B that are fixed to one body, each in its own axes. ``pose`` (4, 4)
    is frame B in A, m. Raises RobotDynamicsError if it is not a pose.
    """
    r, p = _rotation_and_position(pose, tolerance)
    return np.block([[r, cross_matrix(p) @ r], [np.zeros((3, 3)), r]])


def force_transform(
    pose: ArrayLike, tolerance: float = thresholds.ORTHONORMAL
) -> Array:
    """Return T_f (6, 6) with F_A = T_f F_B: Craig (5.105). It is the transpose of the velocity transform from A to B.

    F_A and F_B are the same force, with the moment about the origin and in the axes of A and of B. ``pose`` (4, 4) is
    frame B in A, m. Raises RobotDynamicsError if it is not a pose.
    """
    r, p = _rotation_and_position(pose, tolerance)
    return np.block([[r, np.zeros((3, 3))], [cross_matrix(p) @ r, r]])


def inverse_pose(pose: ArrayLike, tolerance: float = thresholds.ORTHONORMAL) -> Array:
    """Return the pose (4, 4) of frame A in B from that of B in A. Raises RobotDynamicsError if it is not a pose."""
    r, p = _rotation_and_position(pose, tolerance)
    inverse = np.eye(4)
    inverse[:3, :3] = r.T
    inverse[:3, 3] = -r.T @ p
    return inverse


def rotated_jacobian(rotation: ArrayLike, jacobian: ArrayLike) -> Array:
    """Return a Jacobian (6, n) in the axes of A from one in the axes of B: Craig (5.71).

    ``rotation`` (3, 3) has the axes of B in A as columns. The reference point is unchanged; ``velocity_transform`` also
    moves it.
    """
    r = real(rotation)
    j = real(jacobian)
    return np.vstack([r @ j[:3], r @ j[3:]])


def link_velocities(tree: LinkTree, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Return angular velocities w, rad/s, and origin velocities v, m/s, (links, 3), of and in the links' frames.

    They are propagated from the base outwards: Craig (5.45)-(5.48). ``tree`` has the links (``LinkTree.of`` a model).
    q, qd (n,) are positions and rates of the independent coordinates, in rad or m.
    """
    positions = tree.joint_positions(q)
    joint_rates = tree.couplings @ np.asarray(qd)
    w, v = (np.zeros((len(tree.links), 3), dtype=positions.dtype) for _ in range(2))
    for i, (link, position, rate) in enumerate(
        zip(tree.links, positions, joint_rates, strict=True)
    ):
        r, p = link.placed(position)
        w_parent, v_parent = (
            (np.zeros(3), np.zeros(3))
            if link.parent == BASE
            else (w[link.parent], v[link.parent])
        )
        w[i] = r.T @ w_parent  # (5.48)
        v[i] = r.T @ (v_parent + cross(w_parent, p))  # (5.47)
        if link.prismatic:
            v[i] += rate * _Z  # (5.48)
        else:
            w[i] += rate * _Z  # (5.45)
    return w, v


def frame_velocity(model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Return the velocity (6,) of a link's frame in its own axes: of its origin, m/s, then angular, rad/s.

    q and qd have shape (n,). Raises RobotDynamicsError for an unknown link.
    """
    body, pose = frame_on_body(model, link)
    if body == BASE:
        return np.zeros(6)
    w, v = link_velocities(LinkTree.of(model), q, qd)
    r = pose[:3, :3]
    p = pose[:3, 3]
    # The frame is fixed to the body: (5.45), (5.47) without a joint.
    return np.concatenate([r.T @ (v[body] + cross(w[body], p)), r.T @ w[body]])


def velocity_jacobian(model: RobotModel, q: ArrayLike, link: str) -> Array:
    """Return the Jacobian (6, n) of a link's frame in its own axes, linear rows first: Craig (5.64), (5.66).

    Column k is the velocity at unit rate of coordinate k. q has shape (n,). Raises RobotDynamicsError for an unknown
    link.
    """
    return np.column_stack(
        [frame_velocity(model, q, unit, link) for unit in np.eye(model.n)]
    )


def link_forces(
    model: RobotModel, q: ArrayLike, force: ArrayLike, link: str
) -> tuple[Array, Array]:
    """Return forces f, N, and moments n, Nm, (links, 3) on each moving link from its parent: Craig (5.80), (5.81).

    They are at the origin and in the axes of the moving link's frame in ``LinkTree``, in the order of its ``links``,
    and zero for links that do not carry the link to which the force is applied.

    Parameters
    ----------
    model
        The robot.
    q
        Position (n,).
    force
        Force (N), then moment (Nm), (6,), of the link on the environment, at the origin and in the axes of its frame.
    link
        Name of the link.

    Raises
    ------
    RobotDynamicsError
        For an unknown link, and for a ``force`` that is not six numbers.
    """
    applied = shaped("force", force, (6,), "pass force, then moment")
    tree = LinkTree.of(model)
    body, pose = frame_on_body(model, link)
    f = np.zeros((len(tree.links), 3))
    n = np.zeros((len(tree.links), 3))
    if body == BASE:
        return f, n
    f[body], n[body] = (force_transform(pose) @ applied).reshape(2, 3)
    positions = tree.joint_positions(q)
    i = body
    while (parent := tree.links[i].parent) != BASE:
        r, p = tree.links[i].placed(float(positions[i]))
        f[parent] = r @ f[i]  # (5.80)
        n[parent] = r @ n[i] + cross(p, f[parent])  # (5.81)
        i = parent
    return f, n


def joint_torques(
    model: RobotModel, q: ArrayLike, force: ArrayLike, link: str
) -> Array:
    """Return the torques (n,), Nm or N, for a static force of a link: tau = J^T F, Craig (5.82), (5.83), (5.96).

    J is the link's Jacobian at the origin and in the axes of its frame. ``force`` F (6,), force (N), then moment (Nm),
    is that of the link on the environment, also there. Coupled joints follow by virtual work, tau = G^T tau_tree.
    Raises RobotDynamicsError for an unknown link, and for a ``force`` that is not six numbers.
    """
    tree = LinkTree.of(model)
    f, n = link_forces(model, q, force, link)
    along_axes = [
        f[i, 2] if part.prismatic else n[i, 2] for i, part in enumerate(tree.links)
    ]
    return np.asarray(tree.couplings.T @ np.array(along_axes))


def force_jacobian(model: RobotModel, q: ArrayLike, link: str) -> Array:
    """Return the Jacobian (6, n) of a link's frame in its own axes, linear rows first, from statics: Craig (5.96).

    Row k is the torque (n,) for a unit force (k from 0 to 2) or moment (3 to 5) of the link on the environment. Raises
    RobotDynamicsError for an unknown link.
    """
    return np.array([joint_torques(model, q, unit, link) for unit in np.eye(6)])


def _rotation_and_position(pose: ArrayLike, tolerance: float) -> tuple[Array, Array]:
    t = shaped("pose", pose, (4, 4), "pass a homogeneous transform")
    if not np.array_equal(t[3], [0.0, 0.0, 0.0, 1.0]) or not np.isfinite(t).all():
        raise RobotDynamicsError(
            f"pose: {t.tolist()} is not finite, or does not end in 0 0 0 1. Cure: pass a pose"
        )
    return _rotation("pose", t[:3, :3], tolerance), t[:3, 3]


def _rotation(name: str, matrix: ArrayLike, tolerance: float) -> Array:
    r = shaped(name, matrix, (3, 3), "pass a rotation matrix")
    error = np.abs(r.T @ r - np.eye(3)).max()
    if not error < tolerance or np.linalg.det(r) < 0.0:
        raise RobotDynamicsError(
            f"{name}: {r.tolist()} is not a rotation, since R^T R differs from 1 by {error:.2g}. "
            "Cure: pass orthonormal, right-handed axes, or a larger tolerance for rounded ones"
        )
    left, _, right = np.linalg.svd(r)
    return np.asarray(left @ right)
