"""Arrays of the compiled step: robot, state, scratch buffers and report.

In shapes, n is the number of coordinates, K that of constraint rows and N that of the arms of a batch. A constraint row
k is a direction E_k (n,) in which Coulomb friction and limits act. Its velocity is z_k = E_k v, for the velocity v (n,)
of the coordinates. An arm is separable if each joint depends on one coordinate; its rows are the coordinates, E = I.
Moving joints are all movable joints of the tree, including coupled ones.

The friction mode of a row is one of the constants AT_LOWER, BACKWARD, STUCK, FORWARD and AT_UPPER (0 to 4) of
stick_slip: at its lower limit, slipping backward, held at rest, slipping forward, at its upper limit. The functions
return views of the arrays that they get, unless stated otherwise. Units are SI.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.compilation import inlined
from robot_dynamics_ros.dynamics.kernels.kinematics import Loops, append_loops
from robot_dynamics_ros.dynamics.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    FRICTION_SIZE,
    STATIC,
    WORK_SIZE,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.model_data import views
from robot_dynamics_ros.simulation.stick_slip import AT_LOWER, AT_UPPER, BACKWARD, FORWARD, ROW_SIZE, STUCK

OK, NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF, BAD_ARGUMENTS, LOOP_OPEN = 0, 1, 2, 3, 4, 5

Outcome = tuple[int, int, int, float]
"""Status, failing coordinate or loop (-1: none), linear systems solved, residual of the friction problem."""

# Columns of ``ranges``.
LOWEST, HIGHEST, FASTEST = 0, 1, 2


class Joints(NamedTuple):
    """Friction and limits of an arm with n coordinates and K constraint rows.

    Attributes
    ----------
    friction
        (moving joints, FRICTION_SIZE): friction table, with the columns of kernels/layout.
    rows, factors
        (moving joints,): index of the constraint row of each joint, and its joint velocity per row velocity.
    ranges
        (K, 3): columns LOWEST and HIGHEST, the position limits (rad or m), and FASTEST, the velocity limit (rad/s or
        m/s) of each row; infinite where there is none.
    directions
        E (K, n), or (0, n) where the arm is separable and has no loops.
    """

    friction: Array
    rows: IntArray
    factors: Array
    ranges: Array
    directions: Array


class Separable(NamedTuple):
    """Kind of an arm whose joints each depend on one coordinate, so that friction acts on coordinates; without data.

    As the first argument of a step function, an instance selects the overload of module separable.
    """


class Coupled(NamedTuple):
    """Kind of an arm without loops, with joints that depend on several coordinates; without data.

    As the first argument of a step function, an instance selects the overload of module coupled.
    """


class Looped(NamedTuple):
    """Kind of an arm with closed loops; without data.

    As the first argument of a step function, an instance selects the overload of package loops.
    """


Kind = Separable | Coupled | Looped


class Arm(NamedTuple):
    """Constant data of an arm.

    Attributes
    ----------
    kind
        Instance of Separable, Coupled or Looped, whose class selects the overloads of the step functions.
    robot
        Views of the model arrays as tables.
    structure, numbers
        The flat model arrays ``topology`` (int64) and ``parameters`` (float64) of kernels/layout, with the loops'
        bodies and points appended.
    joints
        Friction and limits.
    """

    kind: Kind
    robot: ModelArrays
    structure: IntArray
    numbers: Array
    joints: Joints


# Indices in the report of ``integrators.plant_step``. Input: number of steps. Output: status, failing coordinate, steps
# taken, linear systems solved, largest residual.
COUNT, STATUS, JOINT, STEPS, SOLVES, RESIDUAL = 0, 1, 2, 3, 4, 5
REPORT = 6


def flatten(joints: Joints, effort_limits: Array) -> Array:
    """Return a new flat array with copies of all arrays of ``joints`` but ``rows``, then ``effort_limits`` (n,).

    The limits are in Nm or N. ``unflatten`` reverses this.
    """
    parts = (joints.friction, joints.factors, joints.ranges, joints.directions, effort_limits)
    return np.concatenate([part.ravel() for part in parts])


@inlined
def unflatten(rows: IntArray, constants: Array, count: int, n: int) -> tuple[Joints, Array]:
    """Return the joints, and the effort limits (n,) in Nm or N, as views of the array that ``flatten`` made.

    ``constants`` is that array, ``rows`` (moving joints,) the constraint row of each joint, ``count`` the number K of
    constraint rows, and ``n`` that of coordinates.
    """
    joints = rows.shape[0]
    factors = joints * FRICTION_SIZE
    ranges = factors + joints
    directions = ranges + 3 * count
    limits = constants.shape[0] - n
    return (
        Joints(
            constants[:factors].reshape(joints, FRICTION_SIZE),
            rows,
            constants[factors:ranges],
            constants[ranges:directions].reshape(count, 3),
            constants[directions:limits].reshape((limits - directions) // n, n),
        ),
        constants[limits:],
    )


class State(NamedTuple):
    """State that a step updates in place; unchanged if the step fails.

    Attributes
    ----------
    position, velocity
        (n,), rad or m, rad/s or m/s.
    modes
        (K,): friction modes.
    impulse
        (n + 3 loops,): impulse of friction and limits on each coordinate in the last step (Nm s or N s), then the
        impulse of link a of each loop on link b, in root axes (N s). Written by a step, not read.
    """

    position: Array
    velocity: Array
    modes: IntArray
    impulse: Array


class BatchState(NamedTuple):
    """States and parameters of N arms with the same tree; a step updates the states in place.

    The state of an arm is unchanged by a step that fails.

    Attributes
    ----------
    numbers
        (N, elements): flat model array ``parameters`` of each arm, with the loops' points appended.
    friction
        (N, moving joints, FRICTION_SIZE): friction table of each arm, with the columns of kernels/layout.
    position, velocity
        (N, n), rad or m, rad/s or m/s.
    modes
        (N, K): friction modes.
    impulse
        (N, n + 3 loops): impulse of friction and limits on each coordinate in the last step (Nm s or N s), then the
        impulse of link a of each loop on link b, in root axes (N s). Written by a step, not read.
    """

    numbers: Array
    friction: Array
    position: Array
    velocity: Array
    modes: IntArray
    impulse: Array


@inlined
def state_of(batch: BatchState, i: int) -> State:
    """Return the state of the arm with index ``i`` of a batch, as views: changes of it change the batch."""
    return State(batch.position[i], batch.velocity[i], batch.modes[i], batch.impulse[i])


@inlined
def joints_of(shared: Joints, batch: BatchState, i: int) -> Joints:
    """Return the joints of the arm with index ``i`` of a batch: ``shared``, but with that arm's friction table."""
    return Joints(batch.friction[i], shared.rows, shared.factors, shared.ranges, shared.directions)


class Buffers(NamedTuple):
    """Scratch arrays, reused in all steps.

    Attributes
    ----------
    work
        (bodies + rotors, WORK_SIZE): scratch of the kernels, with the columns of kernels/layout.
    rows
        (K, ROW_SIZE): friction problem and its solution, with the columns of stick_slip.
    modes
        (K,): friction modes of the new state.
    motion
        (2 + n, n): acceleration (row 0), reaction of the rows at rest (row 1), and the mass matrix, to which
        semi_implicit adds the slope of smooth friction times the step size, at the start of the step.
    spare
        (2 + n, n): the same at the intermediate stages of rk4.
    factor
        (n, n): Cholesky factor.
    vectors
        (VECTORS, n), rows: DRIVE, motor torque plus Coulomb torque of slipping rows; FORCE, DRIVE less viscous and
        sigmoid friction; STIFFNESS, slope of this friction times step size; MOVES, 0 for coordinates at rest, else 1;
        CONSTRAINT_IMPULSE, impulse of friction and limits; UNCONSTRAINED_POSITION and UNCONSTRAINED_VELOCITY, result
        with modes fixed; POSITION and VELOCITY, new state; SCRATCH; EFFORT, motor torque within the effort limits.
    """

    work: Array
    rows: Array
    modes: IntArray
    motion: Array
    spare: Array
    factor: Array
    vectors: Array


# Rows of ``vectors``.
DRIVE = 0  # motor torque plus Coulomb torque of slipping rows
FORCE = 1  # DRIVE less smooth friction
STIFFNESS = 2  # slope of smooth friction times the step size
MOVES = 3  # 1, or 0 for a coordinate at rest (separable arms)
CONSTRAINT_IMPULSE = 4  # impulse of friction and limits: first in the unconstrained motion, then the solution
UNCONSTRAINED_POSITION = 5
UNCONSTRAINED_VELOCITY = 6
POSITION = 7
VELOCITY = 8
SCRATCH = 9
EFFORT = 10  # commanded torque clamped to the effort limits
VECTORS = 11


def make_scratch(robot: ModelArrays, n: int, rows: int) -> Array:
    """Return uninitialised memory (elements,) for ``buffers_in``, of a robot with given model arrays.

    ``n`` is its number of coordinates, ``rows`` that of its constraint rows.
    """
    return np.empty(robot.tree.shape[0] * WORK_SIZE + rows * ROW_SIZE + 2 * (2 + n) * n + n * n + VECTORS * n)


@inlined
def buffers_in(scratch: Array, modes: IntArray, robot: ModelArrays, n: int) -> Buffers:
    """Return the buffers of a robot with ``n`` coordinates, as views of ``scratch`` and ``modes`` (K,).

    ``make_scratch`` made ``scratch`` for the same ``robot`` and ``n``.
    """
    tree_rows, rows = robot.tree.shape[0], modes.shape[0]
    problem = tree_rows * WORK_SIZE
    motion = problem + rows * ROW_SIZE
    spare = motion + (2 + n) * n
    factor = spare + (2 + n) * n
    vectors = factor + n * n
    return Buffers(
        scratch[:problem].reshape(tree_rows, WORK_SIZE),
        scratch[problem:motion].reshape(rows, ROW_SIZE),
        modes,
        scratch[motion:spare].reshape(2 + n, n),
        scratch[spare:factor].reshape(2 + n, n),
        scratch[factor:vectors].reshape(n, n),
        scratch[vectors:].reshape(VECTORS, n),
    )


_SAME = 1e-12


def make_arm(model: RobotModel, velocity_limits: bool) -> Arm:
    """Return the constant data of a robot, as copies.

    ``velocity_limits``: True to use the velocity limits of the URDF, False for infinite ones.
    """
    rows, factors, directions = _rows(model.coupling_matrix[: len(model.moving_joints)])
    ranges = np.tile([-math.inf, math.inf, math.inf], (len(directions), 1))
    for (lower, upper, fastest), row, factor in zip(model.moving_joint_limits, rows, factors, strict=True):
        low, high = sorted((lower / factor, upper / factor))
        ranges[row, LOWEST] = max(ranges[row, LOWEST], low)
        ranges[row, HIGHEST] = min(ranges[row, HIGHEST], high)
        if velocity_limits:
            ranges[row, FASTEST] = min(ranges[row, FASTEST], fastest / abs(factor))
    separable = np.array_equal(directions, np.eye(model.n))
    structure, numbers = model.kernels.topology.copy(), model.kernels.parameters.copy()
    if model.loops:
        structure, numbers = append_loops(structure, numbers, _loops(model))
    elif separable:
        directions = np.empty((0, model.n))
    joints = Joints(model.friction_parameters.copy(), rows, factors, ranges, directions)
    kind: Kind = Looped() if model.loops else Separable() if separable else Coupled()
    return Arm(kind, views(structure, numbers), structure, numbers, joints)


def initial_modes(joints: Joints, velocity: Array) -> IntArray:
    """Return the modes (K,) of the constraint rows before the first step, at the ``velocity`` (n,).

    A row at rest with Coulomb or static friction is STUCK. The others are BACKWARD if they move backward, else FORWARD.
    """
    rates = velocity if len(joints.directions) == 0 else joints.directions @ velocity
    dry = np.zeros(len(joints.ranges))
    np.maximum.at(dry, joints.rows, joints.friction[:, [COULOMB, COULOMB_NEGATIVE, STATIC]].max(axis=1))
    # A row without Coulomb friction is never stuck, even at rest.
    modes: IntArray = np.where((rates == 0.0) & (dry > 0.0), STUCK, np.where(rates < 0.0, BACKWARD, FORWARD))
    return modes.astype(np.int64)


def stuck_joints(model: RobotModel, joints: Joints, velocity: Array, modes: IntArray) -> NDArray[np.bool_]:
    """Return an array (..., n): True for coordinates held at rest by friction, and not by a limit.

    ``model`` and ``joints`` are of the same robot, ``velocity`` (..., n) and ``modes`` (..., K) its state. A robot with
    loops: True for all coordinates at rest if any joint is stuck, as it may hold them through the loop.
    """
    if len(joints.directions) == 0:
        return np.equal(modes, STUCK)
    moves = joints.directions != 0.0
    at_limit = (moves & np.isin(modes, (AT_LOWER, AT_UPPER))[..., None]).any(axis=-2)
    reach = np.ones_like(moves) if model.loops else moves
    sticks = (reach & (modes == STUCK)[..., None]).any(axis=-2)
    return np.asarray((velocity == 0.0) & sticks & ~at_limit)


def _loops(model: RobotModel) -> Loops:
    """Return the model's loops, with points in the bodies' frames."""
    bodies, points = [], []
    for loop in model.loops:
        for link, point in ((loop.link_a, loop.point_a), (loop.link_b, loop.point_b)):
            frame = model.link_frames[link]
            bodies.append(frame.body)
            points.append(frame.position + frame.rotation @ point)
    return Loops(np.array(bodies, np.int64).reshape(-1, 2), np.array(points).reshape(-1, 6))


def _rows(matrix: Array) -> tuple[IntArray, Array, Array]:
    """Return constraint row and factor of each joint of ``matrix`` (joints, n), and the rows' directions (K, n)."""
    leading = (matrix != 0.0).argmax(axis=1)
    factors = matrix[np.arange(len(matrix)), leading]
    along = matrix / factors[:, None]
    if np.all((matrix != 0.0).sum(axis=1) == 1):
        return leading.astype(np.int64), factors, np.eye(matrix.shape[1])
    rows = np.empty(len(matrix), np.int64)
    directions: list[Array] = []
    for i, vector in enumerate(along):
        same = [k for k, other in enumerate(directions) if np.abs(vector - other).max() <= _SAME * np.abs(vector).max()]
        rows[i] = same[0] if same else len(directions)
        if not same:
            directions.append(vector)
    return rows, factors, np.array(directions)
