"""Forward dynamics: qdd = M^-1 (tau - h), Craig (6.115), by composite bodies and Cholesky."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.composite_body import composite_body
from robot_dynamics_ros.kernels.newton_euler import newton_euler
from robot_dynamics_ros.kernels.types import Floats, Ints


@kernel
def solve_motion(
    tree: Ints,
    bodies: Floats,
    rotors: Floats,
    gravity: Floats,
    q: Floats,
    qd: Floats,
    tau: Floats,
    wrenches: Floats,
    qdd: Floats,
) -> int:
    """Write the acceleration (n,) under torque ``tau`` to ``qdd``, friction left out.

    Returns -1, or the coordinate at which the mass matrix is found not positive definite.
    """
    n = q.shape[0]
    matrix = np.empty((n, n))
    composite_body(tree, bodies, rotors, q, matrix)
    failed = factorise(matrix)
    if failed >= 0:
        return failed
    newton_euler(tree, bodies, rotors, gravity, q, qd, np.zeros(n), wrenches, qdd)
    for j in range(n):
        qdd[j] = tau[j] - qdd[j]
    solve_factorised(matrix, qdd)
    return -1
