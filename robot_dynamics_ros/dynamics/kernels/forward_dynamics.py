"""Forward dynamics by composite bodies and Cholesky factorisation: qdd = M^-1 (tau - h), Craig (6.115).

Arguments: ``robot`` has the model arrays (from layout.unpack). ``q``, ``qd``, ``tau`` and ``qdd`` have shape (n,),
in rad or m and Nm or N. ``wrenches`` (bodies, 6) are external forces (N) and moments (Nm) on the bodies, at the origin
and in the axes of the body's frame; shape (0, 6) means none. ``work`` (bodies + rotors, WORK_SIZE) is scratch.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.composite_body import gather_composites
from robot_dynamics_ros.dynamics.kernels.layout import ModelArrays
from robot_dynamics_ros.dynamics.kernels.newton_euler import bias_torque
from robot_dynamics_ros.dynamics.kernels.types import Array


@kernel
def equations_of_motion(
    robot: ModelArrays,
    q: Array,
    qd: Array,
    wrenches: Array,
    work: Array,
    bias: Array,
    matrix: Array,
) -> None:
    """Write h to ``bias`` (n,) and the mass matrix M, both triangles, to ``matrix`` (n, n).

    h is V + G of Craig (6.59), the torque of velocity products and gravity, minus the joint torque of ``wrenches``. The
    torque for an acceleration qdd is M qdd + h.
    """
    bias_torque(robot, q, qd, wrenches, work, bias)
    gather_composites(robot, work, matrix)


@kernel
def solve_motion(
    robot: ModelArrays,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Array,
    work: Array,
    matrix: Array,
    qdd: Array,
) -> int:
    """Write the acceleration under torque ``tau`` without friction to ``qdd``.

    ``matrix`` (n, n) is scratch. Returns -1, or the coordinate at which the mass matrix is not positive definite;
    ``qdd`` is then no acceleration.
    """
    equations_of_motion(robot, q, qd, wrenches, work, qdd, matrix)
    failed = factorise(matrix)
    if failed >= 0:
        return failed
    for j in range(q.shape[0]):
        qdd[j] = tau[j] - qdd[j]
    solve_factorised(matrix, qdd)
    return -1


@kernel
def solve_fixed_mode_motion(
    robot: ModelArrays,
    q: Array,
    qd: Array,
    force: Array,
    stiffness: Array,
    moves: Array,
    wrenches: Array,
    work: Array,
    factor: Array,
    motion: Array,
) -> int:
    """Solve forward dynamics with some joints locked: A qdd + h = force + reaction, A = M + diag(stiffness).

    The operations do not depend on which joints are locked, so that the kernel can be traced (see codegen).

    Parameters
    ----------
    robot, q, qd, wrenches, work
        Defined in the module's docstring.
    force
        (n,): applied torque, Nm or N.
    stiffness
        (n,): added to the diagonal of the mass matrix M, in its units.
    moves
        (n,): 1 for free joints, 0 for locked ones. Locked joints have no acceleration; only they have a reaction.
    factor
        (n, n): scratch.
    motion
        (2 + n, n): result, whose rows are the acceleration (rad/s^2 or m/s^2), the reaction (Nm or N) and A.

    Returns
    -------
    int
        -1, or the coordinate at which A, reduced to the free joints, is not positive definite.
    """
    n = q.shape[0]
    acceleration = motion[0]
    reaction = motion[1]
    matrix = motion[2:]
    equations_of_motion(robot, q, qd, wrenches, work, reaction, matrix)
    for i in range(n):
        matrix[i, i] += stiffness[i]
        for k in range(i):
            factor[i, k] = moves[i] * moves[k] * matrix[i, k]
        factor[i, i] = moves[i] * matrix[i, i] + (1.0 - moves[i])
        reaction[i] = force[i] - reaction[i]
        acceleration[i] = moves[i] * reaction[i]
    failed = factorise(factor)
    if failed >= 0:
        return failed
    solve_factorised(factor, acceleration)
    for i in range(n):
        total = -reaction[i]
        for k in range(n):
            total += matrix[i, k] * acceleration[k]
        reaction[i] = (1.0 - moves[i]) * total
    return -1
