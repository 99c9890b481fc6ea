"""Python entry points: single-state and batched, and their binding to one robot by ``GeneralKernels``.

``topology`` and ``parameters`` are the model arrays (see layout). Vectors ``q``, ``qd``, ``qdd`` and ``tau`` have shape
(n,), of a batch (count, n), in rad or m, and Nm or N. Results are written to the last arguments, which the caller
allocates. ``wrenches`` (count, bodies, 6) are external forces (N) and moments (Nm) on the bodies, at the origin and in
the axes of the body's frame; NO_WRENCHES is for none. A link is given by its ``body`` (-1: fixed base) and by ``frame``
(12,), the placement of the link in its body's frame: rotation row by row, position.

Inverse and forward dynamics, gravity torque and mass matrix of a state with a value that is not finite are NaN.

Single-state functions check the shapes of their arguments and return OK, WRONG_SHAPE or SINGULAR + j: the mass matrix
is not positive definite at coordinate j, and the result is then undefined. Their argument ``parameters`` is the model
array with scratch memory at its end, from ``with_scratch``; calls that share it must not run concurrently.

Batched functions take C-contiguous arrays (count, ...) whose shapes the caller has checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.kernels import derivatives, kinematics, newton_euler
from robot_dynamics_ros.dynamics.kernels.compilation import (
    COMPILED,
    NO_MACHINE_CODE,
    allocating_kernel,
    batch_kernel,
    compile_only_for,
    inlined,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.composite_body import (
    composite_body,
    potential_energy,
    quadratic_form,
)
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import solve_motion
from robot_dynamics_ros.dynamics.kernels.friction import FRICTION_SIZE, friction
from robot_dynamics_ros.dynamics.kernels.layout import (
    WORK_SIZE,
    WRENCH,
    ModelArrays,
    coordinate_count,
    unpack,
)
from robot_dynamics_ros.dynamics.kernels.regressor import regressor
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

Kernel = Callable[..., int]
Call = Callable[..., Array]  # see state_function

OK = 0
WRONG_SHAPE = 1
SINGULAR = 2  # + j: the mass matrix is not positive definite at coordinate j

NO_WRENCHES: Array = np.empty((1, 0, 6))
"""Argument ``wrenches`` of batched functions for states without external wrenches."""

_FLOAT64 = np.dtype(np.float64)
_ARRAY = np.ndarray  # no masked array
# Plain Python can switch threads during a call, and calls share scratch memory.
_LOCK = RLock()


@allocating_kernel
def make_work(robot: ModelArrays) -> Array:
    """Return an uninitialised work array (bodies + rotors, WORK_SIZE) of one state; layout has its columns."""
    return np.empty((robot.tree.shape[0], WORK_SIZE))


def with_scratch(topology: IntArray, parameters: Array) -> Array:
    """Return a copy of ``parameters`` with uninitialised scratch memory for any single-state function at its end."""
    bodies, rotors, _, n = topology[:4].tolist()
    scratch = np.empty(
        (bodies + rotors) * WORK_SIZE
        + max(n * n, bodies * (12 + derivatives.SPATIAL_SIZE))
    )
    return np.concatenate([parameters, scratch])


@inlined
def _scratch_in(parameters: Array, robot: ModelArrays) -> Array:
    return parameters[3 + robot.bodies.size + robot.rotors.size + robot.factors.size :]


@inlined
def _work_in(parameters: Array, robot: ModelArrays) -> Array:
    rows: int = robot.tree.shape[0]
    return _scratch_in(parameters, robot)[: rows * WORK_SIZE].reshape(rows, WORK_SIZE)


@inlined
def _matrix_in(
    parameters: Array, robot: ModelArrays, first: int, rows: int, columns: int
) -> Array:
    """Return a matrix (rows, columns) in the scratch memory, after the work array and ``first`` other numbers."""
    start: int = robot.tree.shape[0] * WORK_SIZE + first
    return _scratch_in(parameters, robot)[start : start + rows * columns].reshape(
        rows, columns
    )


@inlined
def _no_wrenches(parameters: Array) -> Array:
    return parameters[:0].reshape(0, 6)


@kernel
def all_finite(vector: Array) -> bool:
    """Return True if no element of ``vector`` (n,) is infinite or NaN."""
    differences = 0.0  # a sum without branches is faster
    for x in vector:
        differences += x - x
    return differences == 0.0


@kernel
def inverse_dynamics(
    topology: IntArray, parameters: Array, q: Array, qd: Array, qdd: Array, tau: Array
) -> int:
    """Write the torque for motion ``q``, ``qd``, ``qdd`` without friction to ``tau``. Returns OK or WRONG_SHAPE."""
    n = coordinate_count(topology)
    if q.shape[0] != n or qd.shape[0] != n or qdd.shape[0] != n or tau.shape[0] != n:
        return WRONG_SHAPE
    if not (all_finite(q) and all_finite(qd) and all_finite(qdd)):
        tau[:] = np.nan
        return OK
    robot = unpack(topology, parameters)
    newton_euler.newton_euler(
        robot, q, qd, qdd, _no_wrenches(parameters), _work_in(parameters, robot), tau
    )
    return OK


@kernel
def gravity_torque(topology: IntArray, parameters: Array, q: Array, tau: Array) -> int:
    """Write the torque that holds the robot at rest at ``q`` against gravity to ``tau``. Returns OK or WRONG_SHAPE."""
    n = coordinate_count(topology)
    if q.shape[0] != n or tau.shape[0] != n:
        return WRONG_SHAPE
    if not all_finite(q):
        tau[:] = np.nan
        return OK
    robot = unpack(topology, parameters)
    newton_euler.gravity_torque(
        robot, q, _no_wrenches(parameters), _work_in(parameters, robot), tau
    )
    return OK


@kernel
def mass_matrix(topology: IntArray, parameters: Array, q: Array, matrix: Array) -> int:
    """Write the mass matrix at ``q``, with rotors, to ``matrix`` (n, n), kg m^2, kg m or kg.

    Returns OK or WRONG_SHAPE.
    """
    n = coordinate_count(topology)
    if q.shape[0] != n or matrix.shape[0] != n or matrix.shape[1] != n:
        return WRONG_SHAPE
    if not all_finite(q):
        matrix[:] = np.nan
        return OK
    robot = unpack(topology, parameters)
    composite_body(robot, q, _work_in(parameters, robot), matrix)
    return OK


@kernel
def forward_dynamics(
    topology: IntArray, parameters: Array, q: Array, qd: Array, tau: Array, qdd: Array
) -> int:
    """Write the acceleration under torque ``tau`` at ``q``, ``qd``, without friction, to ``qdd``.

    Returns OK, WRONG_SHAPE, or SINGULAR + j for the coordinate j at which the mass matrix is not positive definite.
    """
    n = coordinate_count(topology)
    if q.shape[0] != n or qd.shape[0] != n or tau.shape[0] != n or qdd.shape[0] != n:
        return WRONG_SHAPE
    if not (all_finite(q) and all_finite(qd) and all_finite(tau)):
        qdd[:] = np.nan
        return OK
    robot = unpack(topology, parameters)
    work = _work_in(parameters, robot)
    matrix = _matrix_in(parameters, robot, 0, n, n)
    failed = solve_motion(
        robot, q, qd, tau, _no_wrenches(parameters), work, matrix, qdd
    )
    return OK if failed < 0 else SINGULAR + failed


@kernel
def inverse_dynamics_derivatives(
    topology: IntArray,
    parameters: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    derivative: Array,
) -> int:
    """Write dtau/dq and dtau/dqd of ``inverse_dynamics`` to ``derivative`` (2, n, n). Returns OK or WRONG_SHAPE.

    Element [0, i, j] is the derivative of torque i by position j, [1, i, j] that by velocity j, in Nm or N, per rad or
    m and per rad/s or m/s.
    """
    n = coordinate_count(topology)
    if q.shape[0] != n or qd.shape[0] != n or qdd.shape[0] != n:
        return WRONG_SHAPE
    if derivative.shape != (2, n, n):
        return WRONG_SHAPE
    robot = unpack(topology, parameters)
    bodies = robot.bodies.shape[0]
    world = _matrix_in(parameters, robot, 0, bodies, 12)
    spatial = _matrix_in(
        parameters, robot, bodies * 12, bodies, derivatives.SPATIAL_SIZE
    )
    derivatives.differentiate(
        robot,
        q,
        qd,
        qdd,
        _work_in(parameters, robot),
        world,
        spatial,
        derivative[0],
        derivative[1],
    )
    return OK


@kernel
def friction_torque(
    topology: IntArray,
    parameters: Array,
    joints: Array,
    fade: Array,
    q: Array,
    qd: Array,
    load: Array,
    tau: Array,
) -> int:
    """Write the friction torque at ``q``, ``qd`` under ``load`` to ``tau``. Returns OK or WRONG_SHAPE.

    ``load`` (n,) is the torque that the gears transmit to the links. ``joints`` is the friction table of
    kernels/friction, flattened: (bodies * FRICTION_SIZE,). ``fade`` (1,) is the joint speed (rad/s or m/s) below which
    friction is scaled down in proportion to velocity; 0: not at all.
    """
    n = coordinate_count(topology)
    if (
        fade.shape[0] != 1
        or q.shape[0] != n
        or qd.shape[0] != n
        or load.shape[0] != n
        or tau.shape[0] != n
    ):
        return WRONG_SHAPE
    robot = unpack(topology, parameters)
    table = joints.reshape((joints.shape[0] // FRICTION_SIZE, FRICTION_SIZE))
    friction(robot, table, fade[0], q, qd, load, _work_in(parameters, robot), tau)
    return OK


@batch_kernel
def inverse_dynamics_batch(
    topology: IntArray,
    parameters: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    tau: Array,
) -> int:
    """Write the torques for the motions ``q``, ``qd``, ``qdd`` without friction to ``tau``. Returns OK."""
    robot = unpack(topology, parameters)
    work = make_work(robot)
    last = wrenches.shape[0] - 1
    for k in range(q.shape[0]):
        if all_finite(q[k]) and all_finite(qd[k]) and all_finite(qdd[k]):
            newton_euler.newton_euler(
                robot, q[k], qd[k], qdd[k], wrenches[min(k, last)], work, tau[k]
            )
        else:
            tau[k] = np.nan
    return OK


@batch_kernel
def mass_matrix_batch(
    topology: IntArray, parameters: Array, q: Array, matrix: Array
) -> int:
    """Write the mass matrices at ``q``, with rotors, to ``matrix`` (count, n, n), kg m^2, kg m or kg. Returns OK."""
    robot = unpack(topology, parameters)
    work = make_work(robot)
    for k in range(q.shape[0]):
        if all_finite(q[k]):
            composite_body(robot, q[k], work, matrix[k])
        else:
            matrix[k] = np.nan
    return OK


@batch_kernel
def forward_dynamics_batch(
    topology: IntArray,
    parameters: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    tau: Array,
    qdd: Array,
) -> int:
    """Write the accelerations under ``tau`` to ``qdd``, up to the first state whose mass matrix is singular.

    Friction is not included. Returns OK, or SINGULAR + k n + j for state k and coordinate j.
    """
    robot = unpack(topology, parameters)
    n: int = q.shape[1]
    work = make_work(robot)
    matrix = np.empty((n, n))
    last = wrenches.shape[0] - 1
    for k in range(q.shape[0]):
        if not (all_finite(q[k]) and all_finite(qd[k]) and all_finite(tau[k])):
            qdd[k] = np.nan
            continue
        failed = solve_motion(
            robot, q[k], qd[k], tau[k], wrenches[min(k, last)], work, matrix, qdd[k]
        )
        if failed >= 0:
            return SINGULAR + k * n + failed
    return OK


@batch_kernel
def inverse_dynamics_derivatives_batch(
    topology: IntArray,
    parameters: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    derivative: Array,
) -> int:
    """Write dtau/dq and dtau/dqd of inverse dynamics without wrenches to ``derivative`` (count, 2, n, n). Returns OK.

    Element [k, 0, i, j] is, at state k, the derivative of torque i by position j, [k, 1, i, j] that by velocity j.
    Units are Nm or N, per rad or m and per rad/s or m/s.
    """
    robot = unpack(topology, parameters)
    bodies = robot.bodies.shape[0]
    work = make_work(robot)
    world = np.empty((bodies, 12))
    spatial = np.empty((bodies, derivatives.SPATIAL_SIZE))
    for k in range(q.shape[0]):
        derivatives.differentiate(
            robot,
            q[k],
            qd[k],
            qdd[k],
            work,
            world,
            spatial,
            derivative[k, 0],
            derivative[k, 1],
        )
    return OK


@batch_kernel
def joint_wrenches_batch(
    topology: IntArray,
    parameters: Array,
    wrenches: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    joint_wrenches: Array,
) -> int:
    """Write the wrench of each body's parent on the body to ``joint_wrenches`` (count, bodies, 6). Returns OK.

    Force (N), then moment (Nm), at the origin and in the axes of the body's frame. Without external wrenches,
    ``wrenches`` has the shape (count, 0, 6).
    """
    robot = unpack(topology, parameters)
    work = make_work(robot)
    tau = np.empty(q.shape[1])
    for k in range(q.shape[0]):
        newton_euler.newton_euler(robot, q[k], qd[k], qdd[k], wrenches[k], work, tau)
        for i in range(robot.bodies.shape[0]):
            for j in range(6):
                joint_wrenches[k, i, j] = work[i, WRENCH + j]
    return OK


@batch_kernel
def regressor_batch(
    topology: IntArray,
    parameters: Array,
    link_rotations: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    columns: Array,
) -> int:
    """Write the transposed regressors of the motions to ``columns`` (count, 10 bodies + rotors, n). Returns OK.

    ``columns[k]`` is Y^T at state k; Y times the parameters is the torque without friction. The parameters of a body
    are mass, first moment (3) and inertia about the origin (ixx ixy ixz iyy iyz izz), in the axes of the body's link,
    then follow the rotors' axial inertias. ``link_rotations`` (bodies, 9) are the axes of each body's link in the
    body's frame, row by row.
    """
    robot = unpack(topology, parameters)
    work = make_work(robot)
    for k in range(q.shape[0]):
        regressor(robot, link_rotations, q[k], qd[k], qdd[k], work, columns[k])
    return OK


@batch_kernel
def friction_batch(
    topology: IntArray,
    parameters: Array,
    joints: Array,
    fade: float,
    q: Array,
    qd: Array,
    load: Array,
    tau: Array,
) -> int:
    """Write the friction torques at ``q``, ``qd`` under ``load`` to ``tau``. Returns OK.

    ``load`` (count, n) are the torques that the gears transmit to the links.
    ``joints`` (bodies, FRICTION_SIZE) is the friction table of kernels/friction. ``fade`` is the joint speed
    (rad/s or m/s) below which friction is scaled down in proportion to velocity; 0: not at all.
    """
    robot = unpack(topology, parameters)
    work = make_work(robot)
    for k in range(q.shape[0]):
        friction(robot, joints, fade, q[k], qd[k], load[k], work, tau[k])
    return OK


@batch_kernel
def link_pose_batch(
    topology: IntArray,
    parameters: Array,
    body: int,
    frame: Array,
    q: Array,
    pose: Array,
) -> int:
    """Write the poses of a link in the root frame, positions in m, to ``pose`` (count, 4, 4). Returns OK."""
    robot = unpack(topology, parameters)
    work = make_work(robot)
    world = np.empty((robot.bodies.shape[0], 12))
    for k in range(q.shape[0]):
        kinematics.link_pose(robot, body, frame, q[k], work, world, pose[k])
    return OK


@batch_kernel
def jacobian_batch(
    topology: IntArray,
    parameters: Array,
    body: int,
    frame: Array,
    q: Array,
    matrix: Array,
) -> int:
    """Write the Jacobians of a link at its origin, in root axes, to ``matrix`` (count, 6, n). Returns OK.

    Rows 0 to 2 give the linear velocity (m/s), 3 to 5 the angular velocity (rad/s).
    """
    robot = unpack(topology, parameters)
    work = make_work(robot)
    world = np.empty((robot.bodies.shape[0], 12))
    for k in range(q.shape[0]):
        kinematics.jacobian(robot, body, frame, q[k], work, world, matrix[k])
    return OK


@batch_kernel
def jacobian_dot_qd_batch(
    topology: IntArray,
    parameters: Array,
    body: int,
    frame: Array,
    q: Array,
    qd: Array,
    product: Array,
) -> int:
    """Write dJ/dt qd of a link to ``product`` (count, 6): its acceleration at zero joint acceleration. Returns OK.

    At the link's origin, in root axes: linear (m/s^2), then angular (rad/s^2).
    """
    robot = unpack(topology, parameters)
    work = make_work(robot)
    world = np.empty((robot.bodies.shape[0], 12))
    for k in range(q.shape[0]):
        kinematics.jacobian_dot_qd(
            robot, body, frame, q[k], qd[k], work, world, product[k]
        )
    return OK


@batch_kernel
def kinetic_energy_batch(
    topology: IntArray, parameters: Array, q: Array, qd: Array, energy: Array
) -> int:
    """Write the kinetic energies (J) at ``q``, ``qd``, including the rotors', to ``energy`` (count,). Returns OK."""
    robot = unpack(topology, parameters)
    n: int = q.shape[1]
    work = make_work(robot)
    matrix = np.empty((n, n))
    for k in range(q.shape[0]):
        composite_body(robot, q[k], work, matrix)
        energy[k] = quadratic_form(matrix, qd[k])
    return OK


@batch_kernel
def potential_energy_batch(
    topology: IntArray, parameters: Array, q: Array, energy: Array
) -> int:
    """Write the potential energies at ``q``, J, to ``energy`` (count,). Returns OK.

    The energy is -m g . c: mass m of the moving bodies, acceleration of gravity g, and their centre of mass c from the
    root frame's origin.
    """
    robot = unpack(topology, parameters)
    work = make_work(robot)
    for k in range(q.shape[0]):
        energy[k] = potential_energy(robot, q[k], work)
    return OK


# One function for each number of vectors: passing on a tuple of arguments would take a tenth of a microsecond more.
def state_function(
    entry: Kernel,
    fixed: Sequence[Array | IntArray],
    vectors: int,
    shape: tuple[int, ...],
    otherwise: Call,
) -> Call:
    """Compile a single-state function of this module, and return a function of one state that returns its result.

    Parameters
    ----------
    entry
        Takes arrays, the last of which is the result, and returns a status.
    fixed
        First arguments of ``entry``, C-contiguous int64 or float64 arrays of shape (count,). They are not copied.
    vectors
        Number of further arguments (n,) of ``entry``, and of arguments of the returned function: one or three.
    shape
        Shape of the result.
    otherwise
        Function of the same arguments, for other objects than C-contiguous, writeable float64 arrays of the right
        shape, and if ``entry`` fails.
    """
    if COMPILED:
        # numba finds the machine code by the types of all arguments; it does not check the byte order.
        kinds = [f"{array.dtype}[::1]" for array in fixed] + vectors * ["float64[::1]"]
        result = f"float64[{(len(shape) - 1) * ':,'}::1]"
        compile_only_for(entry, f"int64({', '.join(kinds)}, {result})")
        bound = partial(entry, *fixed)
    else:
        bound = partial(_interpreted, entry, fixed)

    def of_one(q: Any) -> Array:
        try:
            if type(q) is _ARRAY and q.dtype is _FLOAT64:
                result = np.empty(shape)
                if bound(q, result) == OK:
                    return result
        except NO_MACHINE_CODE:
            pass
        return otherwise(q)

    def of_three(first: Any, second: Any, third: Any) -> Array:
        try:
            if (
                type(first) is type(second) is type(third) is _ARRAY
                and first.dtype is second.dtype is third.dtype is _FLOAT64
            ):
                result = np.empty(shape)
                if bound(first, second, third, result) == OK:
                    return result
        except NO_MACHINE_CODE:
            pass
        return otherwise(first, second, third)

    return of_one if vectors == 1 else of_three


def _interpreted(
    entry: Kernel, fixed: Sequence[Array | IntArray], *arrays: Array
) -> int:
    if any(array.ndim != 1 or not array.flags.carray for array in arrays[:-1]):
        raise TypeError
    with _LOCK:
        return entry(*fixed, *arrays)


class GeneralKernels:
    """Kernels of one robot, compiled once for all robots.

    Batched functions take C-contiguous float64 arrays whose shapes the caller has checked, write to the last one, and
    return a status: OK, or SINGULAR + k n + j for a singular mass matrix of state k at coordinate j. Positions are in
    rad or m, torques in Nm or N. Functions of a state from one object share scratch memory.

    Parameters
    ----------
    topology, parameters
        Flat model arrays of a robot, from layout.pack.

    Attributes
    ----------
    topology, parameters
        The model arrays. The kernels use copies.
    customised
        True if the kernels are generated for this robot.
    """

    customised = False

    def __init__(self, topology: IntArray, parameters: Array) -> None:
        self.topology = topology
        self.parameters = parameters
        # Writeable copies: for read-only arrays numba would compile each kernel again.
        self._fixed = topology.copy(), parameters.copy()
        self._with_scratch = self._fixed[0], with_scratch(topology, parameters)

    def with_parameters(self, parameters: Array) -> GeneralKernels:
        """Return the kernels of a robot with the same topology and other ``parameters`` (elements,)."""
        return GeneralKernels(self.topology, parameters)

    def __reduce__(self) -> tuple[Any, ...]:
        # Compiled code is not pickled: the other process compiles it again or loads it from the cache.
        return type(self), (self.topology, self.parameters)

    def function(
        self,
        entry: Kernel,
        vectors: int,
        shape: tuple[int, ...],
        otherwise: Call,
        *bound: Array,
    ) -> Call:
        """Return the ``state_function`` of a single-state function of this module, and compile it.

        ``entry`` has the arguments ``bound`` before its vectors.
        """
        kernel, fixed = self._single(entry)
        return state_function(kernel, [*fixed, *bound], vectors, shape, otherwise)

    def _single(self, entry: Kernel) -> tuple[Kernel, tuple[Array | IntArray, ...]]:
        """Return the single-state kernel of this robot for a function of this module, and its first arguments."""
        return entry, self._with_scratch

    def bound(self, entry: Kernel, *extra: Any) -> Kernel:
        """Return a batched function of this module with the model arrays and its next arguments ``extra`` bound."""
        return partial(entry, *self._fixed, *extra)

    def batch(self, entry: Kernel) -> Kernel:
        """Return the batched function of inverse or forward dynamics without external wrenches and joint friction.

        ``entry`` is that of this module; its vectors and result have shape (count, n).
        """
        return self.bound(entry, NO_WRENCHES)
