"""Forward dynamics: qdd = M^-1 (tau - h), Craig (6.115), by composite bodies and Cholesky."""

from __future__ import annotations

from robot_dynamics_ros.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.composite_body import gather_composites
from robot_dynamics_ros.kernels.layout import Robot
from robot_dynamics_ros.kernels.newton_euler import bias_torque
from robot_dynamics_ros.kernels.types import Floats


@kernel
def solve_motion(
    robot: Robot,
    q: Floats,
    qd: Floats,
    tau: Floats,
    wrenches: Floats,
    work: Floats,
    matrix: Floats,
    qdd: Floats,
) -> int:
    """Write the acceleration (n,) under torque ``tau`` to ``qdd``, friction left out.

    ``matrix`` (n, n) is scratch. Returns -1, or the coordinate at which the mass matrix is found not
    positive definite.
    """
    bias_torque(robot, q, qd, wrenches, work, qdd)
    gather_composites(robot, work, matrix)
    failed = factorise(matrix)
    if failed >= 0:
        return failed
    for j in range(q.shape[0]):
        qdd[j] = tau[j] - qdd[j]
    solve_factorised(matrix, qdd)
    return -1
