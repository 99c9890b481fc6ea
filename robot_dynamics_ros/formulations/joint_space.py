"""What the forms share: the way between a robot's coordinates q and the joints of its links, q_tree = G q + c."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.formulations.link_tree import LinkTree
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def link_tree(robot: RobotModel | LinkTree) -> LinkTree:
    """Return the links of a model; links stay what they are."""
    return robot if isinstance(robot, LinkTree) else LinkTree.of(robot)


def coordinates(tree: LinkTree, **vectors: ArrayLike) -> list[Array]:
    """Return the vectors as arrays (n,); numbers that are Python objects, such as symbols, stay what they are.

    Raises RobotDynamicsError, with the vector's name, for any other shape.
    """
    n, arrays = tree.couplings.shape[1], []
    for name, values in vectors.items():
        array = np.asarray(values)
        if array.shape != (n,):
            raise RobotDynamicsError(f"{name} has shape {array.shape}. Cure: one number for each of {n} coordinates")
        arrays.append(array if array.dtype == object else array.astype(np.float64))
    return arrays


def to_coordinates(tree: LinkTree, term: Array) -> Array:
    """Take a joint-space term to the coordinates by virtual work: G^T tau, G^T M G, every axis of a tensor by G."""
    for _ in range(term.ndim):
        term = np.moveaxis(term, 0, -1) @ tree.couplings
    return term


def joint_axes(tree: LinkTree, rotations: Array) -> Array:
    """Unit vectors along the joints' axes (links, 3) in the base frame, by the links' rotations.

    Link frames are Craig's, with z on the link's own joint; in Tsai's and Milicevic's that vector is z_{i-1}, and the
    origin on it, here p_i, is p_{i-1}.
    """
    return rotations[:, :, 2]


def velocity_torque(dM: Array, qd: Array) -> Array:
    """Return V (n,), Tsai (9.101), for qd (n,) and the derivatives of M (n, n, n), dM[i, j, k] that of M_ij by q_k."""
    return np.asarray(np.einsum("ijk,j,k->i", dM, qd, qd) - 0.5 * np.einsum("jki,j,k->i", dM, qd, qd))
