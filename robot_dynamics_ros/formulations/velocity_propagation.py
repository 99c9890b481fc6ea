"""Velocities from link to link, outward from the base, each in its own link's frame: Craig (5.43)-(5.48)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

Z = np.array([0.0, 0.0, 1.0])


def link_velocities(tree: LinkTree, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Angular velocities w (links, 3), rad/s, and velocities v (links, 3) of the origins, m/s, in the links' frames.

    q, qd (n,) are positions and rates of the independent coordinates.
    """
    joint_rates = tree.couplings @ np.asarray(qd, dtype=np.float64)
    w, v = np.zeros((len(tree.links), 3)), np.zeros((len(tree.links), 3))
    for i, (link, position, rate) in enumerate(zip(tree.links, tree.joint_positions(q), joint_rates, strict=True)):
        r, p = link.placed(float(position))
        w_parent, v_parent = (np.zeros(3), np.zeros(3)) if link.parent == BASE else (w[link.parent], v[link.parent])
        if link.prismatic:
            w[i] = r.T @ w_parent  # (5.48)
            v[i] = r.T @ (v_parent + np.cross(w_parent, p)) + rate * Z
        else:
            w[i] = r.T @ w_parent + rate * Z  # (5.45)
            v[i] = r.T @ (v_parent + np.cross(w_parent, p))  # (5.47)
    return w, v


def frame_velocity(model: RobotModel, q: ArrayLike, qd: ArrayLike, link: str) -> Array:
    """Velocity (6,) of a link's frame, in its own axes: of its origin, m/s, then angular, rad/s.

    q, qd (n,). Raises RobotDynamicsError for an unknown link.
    """
    body, r, p = frame_on_body(model, link)
    if body == BASE:
        return np.zeros(6)
    w, v = link_velocities(LinkTree.of(model), q, qd)
    # The frame is fixed to the body: (5.45), (5.47) without a joint.
    return np.concatenate([r.T @ (v[body] + np.cross(w[body], p)), r.T @ w[body]])


def jacobian(model: RobotModel, q: ArrayLike, link: str) -> Array:
    """Jacobian (6, n) of a link's frame, in its own axes, linear rows first: Craig (5.64), (5.66).

    One column for each coordinate: the velocity while that one moves at unit rate. q (n,). Raises RobotDynamicsError
    for an unknown link.
    """
    return np.column_stack([frame_velocity(model, q, unit, link) for unit in np.eye(model.n)])


def frame_on_body(model: RobotModel, link: str) -> tuple[int, Array, Array]:
    """Number of the moving link that carries a link's frame, or BASE; rotation (3, 3) and origin (3,) there, m.

    Raises RobotDynamicsError for an unknown link.
    """
    frame = model.packed.frames.get(link)
    if frame is None:
        raise RobotDynamicsError(f'no link "{link}". Cure: use one of {", ".join(model.link_names)}')
    return frame.body, np.array(frame.rotation).reshape(3, 3), np.array(frame.position)
