"""Configuration-space form of the dynamics: Craig (6.63)-(6.65), tau = M qdd + B [qd qd] + C [qd^2] + G.

Its matrices depend on the position alone. They hold the Christoffel symbols of Spong (9.58), each once: c_jjk is the
centrifugal coefficient of joint j, c_ijk and c_jik together the Coriolis coefficient of the pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.formulations.christoffel import christoffel_symbols
from robot_dynamics_ros.formulations.joint_space import coordinates, link_tree
from robot_dynamics_ros.formulations.link_tree import LinkTree
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def velocity_products(qd: ArrayLike) -> Array:
    """[qd qd] (n (n - 1) / 2,), Craig (6.64): qd_1 qd_2, qd_1 qd_3, ... qd_(n-1) qd_n, of qd (n,)."""
    rates = np.asarray(qd, dtype=np.float64)
    first, second = np.triu_indices(len(rates), 1)
    return np.asarray(rates[first] * rates[second])


def velocity_squares(qd: ArrayLike) -> Array:
    """[qd^2] (n,), Craig (6.65), of qd (n,)."""
    return np.asarray(np.asarray(qd, dtype=np.float64) ** 2)


def coriolis_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """B(q) (n, n (n - 1) / 2) of Craig (6.63) at q (n,), columns in the order of ``velocity_products``."""
    c = christoffel_symbols(robot, q)
    first, second = np.triu_indices(len(c), 1)
    return np.asarray(2.0 * c[first, second].T)


def centrifugal_coefficients(robot: RobotModel | LinkTree, q: ArrayLike) -> Array:
    """C(q) (n, n) of Craig (6.63) at q (n,): row k is what the squared rates add to torque k.

    It is no Coriolis matrix: that one is ``christoffel.coriolis_matrix``, which depends on the rates.
    """
    c = christoffel_symbols(robot, q)
    return np.asarray(np.einsum("jjk->kj", c))


def velocity_torque(robot: RobotModel | LinkTree, q: ArrayLike, qd: ArrayLike) -> Array:
    """V(q, qd) = B [qd qd] + C [qd^2] (n,), Craig (6.63), at q and qd (n,), N m or N."""
    (rates,) = coordinates(link_tree(robot), qd=qd)
    products = coriolis_coefficients(robot, q) @ velocity_products(rates)
    return np.asarray(products + centrifugal_coefficients(robot, q) @ velocity_squares(rates))
