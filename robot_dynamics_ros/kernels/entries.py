"""Python entry points: single-state and batched, and the check of measured states.

``structure`` and ``numbers`` are the robot (see layout). The functions for one state check the shapes of
their arguments and return WRONG_SHAPE, so that the caller need not; the caller makes the results' arrays, and
``scratch`` by ``make_scratch``, so that they allocate nothing. One call at a time may use it.
The batch functions take C-contiguous arrays (count, ...) of shapes that the caller has checked.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.kernels import derivatives, kinematics, newton_euler
from robot_dynamics_ros.kernels.compilation import allocating_kernel, batch_kernel, inlined, kernel
from robot_dynamics_ros.kernels.composite_body import composite_body, potential_energy, quadratic_form
from robot_dynamics_ros.kernels.forward_dynamics import solve_motion
from robot_dynamics_ros.kernels.friction import friction
from robot_dynamics_ros.kernels.layout import FRICTION_SIZE, LOAD, WORK_SIZE, ModelArrays, coordinate_count, unpack
from robot_dynamics_ros.kernels.regressor import regressor
from robot_dynamics_ros.kernels.types import Array, IntArray

OK, WRONG_SHAPE, SINGULAR = 0, 1, 2  # SINGULAR + j: the mass matrix is not positive definite at coordinate j
GOOD, UNCHANGED, OUT_OF_BOUNDS = 0, -1, -2  # of a measured state

NO_WRENCHES: Array = np.empty((1, 0, 6))
"""Of many states on which nothing acts."""


@allocating_kernel
def make_work(robot: ModelArrays) -> Array:
    """Scratch for one state."""
    return np.empty((robot.tree.shape[0], WORK_SIZE))


def make_scratch(structure: IntArray) -> Array:
    """Return a scratch array that serves each of the functions for one state of this robot."""
    bodies, rotors, _, n = structure[:4].tolist()
    return np.empty((bodies + rotors) * WORK_SIZE + max(n * n, bodies * (12 + derivatives.SPATIAL_SIZE)))


@inlined
def _work_in(scratch: Array, robot: ModelArrays) -> Array:
    rows: int = robot.tree.shape[0]
    return scratch[: rows * WORK_SIZE].reshape(rows, WORK_SIZE)


@inlined
def _matrix_in(scratch: Array, robot: ModelArrays, first: int, lines: int, columns: int) -> Array:
    """A matrix behind the work array and ``first`` other numbers."""
    start: int = robot.tree.shape[0] * WORK_SIZE + first
    return scratch[start : start + lines * columns].reshape(lines, columns)


@inlined
def _no_wrenches(scratch: Array) -> Array:
    return scratch[:0].reshape(0, 6)


@kernel
def inverse_dynamics(
    structure: IntArray, numbers: Array, scratch: Array, q: Array, qd: Array, qdd: Array, tau: Array
) -> int:
    """Torque for a motion of one state."""
    n = coordinate_count(structure)
    if q.shape[0] != n or qd.shape[0] != n or qdd.shape[0] != n or tau.shape[0] != n:
        return WRONG_SHAPE
    robot = unpack(structure, numbers)
    newton_euler.newton_euler(robot, q, qd, qdd, _no_wrenches(scratch), _work_in(scratch, robot), tau)
    return OK


@kernel
def gravity_torque(structure: IntArray, numbers: Array, scratch: Array, q: Array, tau: Array) -> int:
    """Torque that holds one state."""
    n = coordinate_count(structure)
    if q.shape[0] != n or tau.shape[0] != n:
        return WRONG_SHAPE
    robot = unpack(structure, numbers)
    newton_euler.gravity_torque(robot, q, _no_wrenches(scratch), _work_in(scratch, robot), tau)
    return OK


@kernel
def mass_matrix(structure: IntArray, numbers: Array, scratch: Array, q: Array, matrix: Array) -> int:
    """Mass matrix of one state."""
    n = coordinate_count(structure)
    if q.shape[0] != n or matrix.shape[0] != n or matrix.shape[1] != n:
        return WRONG_SHAPE
    robot = unpack(structure, numbers)
    composite_body(robot, q, _work_in(scratch, robot), matrix)
    return OK


@kernel
def forward_dynamics(
    structure: IntArray, numbers: Array, scratch: Array, q: Array, qd: Array, tau: Array, qdd: Array
) -> int:
    """Acceleration of one state under a torque."""
    n = coordinate_count(structure)
    if q.shape[0] != n or qd.shape[0] != n or tau.shape[0] != n or qdd.shape[0] != n:
        return WRONG_SHAPE
    robot = unpack(structure, numbers)
    work, matrix = _work_in(scratch, robot), _matrix_in(scratch, robot, 0, n, n)
    failed = solve_motion(robot, q, qd, tau, _no_wrenches(scratch), work, matrix, qdd)
    return OK if failed < 0 else SINGULAR + failed


@kernel
def inverse_dynamics_derivatives(
    structure: IntArray, numbers: Array, scratch: Array, q: Array, qd: Array, qdd: Array, dq: Array, dqd: Array
) -> int:
    """dtau/dq and dtau/dqd of one state."""
    n = coordinate_count(structure)
    if q.shape[0] != n or qd.shape[0] != n or qdd.shape[0] != n:
        return WRONG_SHAPE
    if dq.shape[0] != n or dq.shape[1] != n or dqd.shape[0] != n or dqd.shape[1] != n:
        return WRONG_SHAPE
    robot = unpack(structure, numbers)
    bodies = robot.bodies.shape[0]
    world = _matrix_in(scratch, robot, 0, bodies, 12)
    spatial = _matrix_in(scratch, robot, bodies * 12, bodies, derivatives.SPATIAL_SIZE)
    derivatives.differentiate(robot, q, qd, qdd, _work_in(scratch, robot), world, spatial, dq, dqd)
    return OK


@kernel
def friction_torque(
    structure: IntArray, numbers: Array, scratch: Array, joints: Array, fade: Array, q: Array, qd: Array, tau: Array
) -> int:
    """Friction torque of one state, which fades out below the rate ``fade`` (1,); ``joints`` is flat."""
    n = coordinate_count(structure)
    if fade.shape[0] != 1 or q.shape[0] != n or qd.shape[0] != n or tau.shape[0] != n:
        return WRONG_SHAPE
    robot = unpack(structure, numbers)
    table = joints.reshape((joints.shape[0] // FRICTION_SIZE, FRICTION_SIZE))
    friction(robot, table, fade[0], q, qd, _work_in(scratch, robot), tau)
    return OK


@batch_kernel
def inverse_dynamics_batch(
    structure: IntArray, numbers: Array, wrenches: Array, q: Array, qd: Array, qdd: Array, tau: Array
) -> int:
    """Torques for motions; ``wrenches`` (count, bodies, 6), or NO_WRENCHES."""
    robot = unpack(structure, numbers)
    work, last = make_work(robot), wrenches.shape[0] - 1
    for k in range(q.shape[0]):
        newton_euler.newton_euler(robot, q[k], qd[k], qdd[k], wrenches[min(k, last)], work, tau[k])
    return OK


@batch_kernel
def mass_matrix_batch(structure: IntArray, numbers: Array, q: Array, matrix: Array) -> int:
    """Mass matrices."""
    robot = unpack(structure, numbers)
    work = make_work(robot)
    for k in range(q.shape[0]):
        composite_body(robot, q[k], work, matrix[k])
    return OK


@batch_kernel
def forward_dynamics_batch(
    structure: IntArray, numbers: Array, wrenches: Array, q: Array, qd: Array, tau: Array, qdd: Array
) -> int:
    """Accelerations under torques and wrenches, as above; stops at the first state whose mass matrix is singular."""
    robot = unpack(structure, numbers)
    n: int = q.shape[1]
    work, matrix, last = make_work(robot), np.empty((n, n)), wrenches.shape[0] - 1
    for k in range(q.shape[0]):
        failed = solve_motion(robot, q[k], qd[k], tau[k], wrenches[min(k, last)], work, matrix, qdd[k])
        if failed >= 0:
            return SINGULAR + k * n + failed
    return OK


@batch_kernel
def inverse_dynamics_derivatives_batch(
    structure: IntArray, numbers: Array, q: Array, qd: Array, qdd: Array, dq: Array, dqd: Array
) -> int:
    """dtau/dq and dtau/dqd."""
    robot = unpack(structure, numbers)
    bodies = robot.bodies.shape[0]
    work, world, spatial = make_work(robot), np.empty((bodies, 12)), np.empty((bodies, derivatives.SPATIAL_SIZE))
    for k in range(q.shape[0]):
        derivatives.differentiate(robot, q[k], qd[k], qdd[k], work, world, spatial, dq[k], dqd[k])
    return OK


@batch_kernel
def joint_loads_batch(
    structure: IntArray, numbers: Array, wrenches: Array, q: Array, qd: Array, qdd: Array, loads: Array
) -> int:
    """Force and moment (bodies, 6) that each body's parent exerts on it, at and in the body's frame."""
    robot = unpack(structure, numbers)
    work, tau = make_work(robot), np.empty(q.shape[1])
    for k in range(q.shape[0]):
        newton_euler.newton_euler(robot, q[k], qd[k], qdd[k], wrenches[k], work, tau)
        for i in range(robot.bodies.shape[0]):
            for j in range(6):
                loads[k, i, j] = work[i, LOAD + j]
    return OK


@batch_kernel
def regressor_batch(
    structure: IntArray, numbers: Array, link_rotations: Array, q: Array, qd: Array, qdd: Array, columns: Array
) -> int:
    """Regressors, transposed: (10 bodies + rotors, n)."""
    robot = unpack(structure, numbers)
    work = make_work(robot)
    for k in range(q.shape[0]):
        regressor(robot, link_rotations, q[k], qd[k], qdd[k], work, columns[k])
    return OK


@batch_kernel
def friction_batch(
    structure: IntArray, numbers: Array, joints: Array, fade: float, q: Array, qd: Array, tau: Array
) -> int:
    """Friction torques, which fade out below the rate ``fade``."""
    robot = unpack(structure, numbers)
    work = make_work(robot)
    for k in range(q.shape[0]):
        friction(robot, joints, fade, q[k], qd[k], work, tau[k])
    return OK


@batch_kernel
def link_pose_batch(structure: IntArray, numbers: Array, body: int, frame: Array, q: Array, pose: Array) -> int:
    """Poses of a link."""
    robot = unpack(structure, numbers)
    work, world = make_work(robot), np.empty((robot.bodies.shape[0], 12))
    for k in range(q.shape[0]):
        kinematics.link_pose(robot, body, frame, q[k], work, world, pose[k])
    return OK


@batch_kernel
def jacobian_batch(structure: IntArray, numbers: Array, body: int, frame: Array, q: Array, matrix: Array) -> int:
    """Jacobians of a link."""
    robot = unpack(structure, numbers)
    work, world = make_work(robot), np.empty((robot.bodies.shape[0], 12))
    for k in range(q.shape[0]):
        kinematics.jacobian(robot, body, frame, q[k], work, world, matrix[k])
    return OK


@batch_kernel
def jacobian_dot_qd_batch(
    structure: IntArray, numbers: Array, body: int, frame: Array, q: Array, qd: Array, product: Array
) -> int:
    """Jdot qd of a link."""
    robot = unpack(structure, numbers)
    work, world = make_work(robot), np.empty((robot.bodies.shape[0], 12))
    for k in range(q.shape[0]):
        kinematics.jacobian_dot_qd(robot, body, frame, q[k], qd[k], work, world, product[k])
    return OK


@batch_kernel
def kinetic_energy_batch(structure: IntArray, numbers: Array, q: Array, qd: Array, energy: Array) -> int:
    """Kinetic energies."""
    robot = unpack(structure, numbers)
    n: int = q.shape[1]
    work, matrix = make_work(robot), np.empty((n, n))
    for k in range(q.shape[0]):
        composite_body(robot, q[k], work, matrix)
        energy[k] = quadratic_form(matrix, qd[k])
    return OK


@batch_kernel
def potential_energy_batch(structure: IntArray, numbers: Array, q: Array, energy: Array) -> int:
    """Potential energies."""
    robot = unpack(structure, numbers)
    work = make_work(robot)
    for k in range(q.shape[0]):
        energy[k] = potential_energy(robot, q[k], work)
    return OK


@kernel
def all_within(values: Array, least: Array, most: Array) -> bool:
    """Return True if each of the values (m, n) is in its interval; NaN is in none."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if not least[i, j] <= values[i, j] <= most[i, j]:
                return False
    return True


@kernel
def check_state(
    new: Array, last: Array, largest: float, step: Array, speed: Array, dt: float, measures_velocity: bool
) -> int:
    """Return GOOD, UNCHANGED for equal states, OUT_OF_BOUNDS for a number beyond ``largest``, or 1 + a joint.

    That joint is implausible. States (2, n) are positions and velocities, and ``dt`` (s) is the time between them; they
    are not compared where it is not positive. A position may change by ``step`` (n,) and by twice the velocity times
    ``dt``; where no velocity is measured, ``speed`` (n,) stands for twice the velocity. A velocity beyond ``speed`` has
    to move its joint. A joint with an infinite ``step`` is not compared.
    """
    unchanged, wrong, joint = True, False, GOOD
    for j in range(new.shape[1]):
        q, qd = new[0, j], new[1, j]
        wrong = wrong or not (abs(q) <= largest and abs(qd) <= largest)  # nor is NaN
        change = abs(q - last[0, j])
        unchanged = unchanged and change == 0.0 and qd == last[1, j]
        if dt > 0.0 and joint == GOOD and step[j] < math.inf:
            fastest, moves = speed[j], True
            if measures_velocity:
                fastest = 2.0 * max(abs(qd), abs(last[1, j]))
                moves = abs(qd) <= speed[j] or change >= 0.25 * abs(qd) * dt
            if change > step[j] + fastest * dt or not moves:
                joint = 1 + j
    if wrong:
        return OUT_OF_BOUNDS
    return UNCHANGED if unchanged else joint
