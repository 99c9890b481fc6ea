"""Arrays of the compiled step: robot, state, input, scratch buffers, and the memory of a plant.

In shapes, n is the number of coordinates, K that of constraint rows and N that of the arms of a batch. A constraint row
k is a direction E_k (n,) in which Coulomb friction and limits act. Its velocity is z_k = E_k v, for the velocity v (n,)
of the coordinates. E = I if each joint depends on one coordinate.
Moving joints are all movable joints of the tree, including coupled ones.

The friction mode of a row is a constant of module ``row``: at its lower limit, slipping backward, stuck, slipping
forward, or at its upper limit. Functions return views of the arrays that they get, unless stated otherwise. Units are
SI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels import layout
from robot_dynamics_ros.dynamics.kernels.compilation import inlined
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row

OK, NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF, BAD_ARGUMENTS, LOOP_OPEN = range(6)

Outcome = tuple[int, int, int, float]
"""Status, failing coordinate or loop (-1: none), linear systems solved, residual of the friction problem."""

# Columns of a report, of which ``integrators.plant_step`` fills one for each torque. Input: number of steps. Output:
# status, failing coordinate, steps taken, linear systems solved, largest residual. The columns from SAMPLE on are the
# state after the steps: position, velocity, motor torque (n,), impulse (n + 3 loops,) and modes (K,).
COUNT, STATUS, JOINT, STEPS, SOLVES, RESIDUAL, SAMPLE = range(7)

# Rows of ``Buffers.vectors`` (VECTORS, n): intermediate results of a step, for each of the n coordinates.
DRIVE = 0  # motor torque plus Coulomb torque of slipping rows
FORCE = 1  # DRIVE less smooth friction (viscous and sigmoid)
STIFFNESS = 2  # slope of smooth friction times the step size (E = I)
MOVES = 3  # 1, or 0 for a coordinate at rest (E = I)
# impulse of friction and limits: first in the unconstrained motion, then the solution
CONSTRAINT_IMPULSE = 4
UNCONSTRAINED_POSITION = 5  # of the unconstrained motion
UNCONSTRAINED_VELOCITY = 6
POSITION = 7  # of the stage, then the new one
VELOCITY = 8
SCRATCH = 9
EFFORT = 10  # commanded torque clamped to the effort limits
VECTORS = 11


class Joints(NamedTuple):
    """Friction and limits of an arm with n coordinates and K constraint rows.

    Attributes
    ----------
    friction
        (moving joints, FRICTION_SIZE): friction table, with the columns of kernels/friction.
    rows, factors
        (moving joints,): index of the constraint row of each joint, and its joint velocity per row velocity.
    ranges
        (K, 4): position limits (rad or m) and velocity limit (rad/s or m/s), infinite where there is none, and inertia
        of the rotors (kg m^2 or kg), with the columns of module ``row``.
    directions
        E (K, n), or (0, n) for an arm without loops with E = I.
    """

    friction: Array
    rows: IntArray
    factors: Array
    ranges: Array
    directions: Array


class Arm(NamedTuple):
    """Constant data of an arm.

    Attributes
    ----------
    robot
        Views of the model arrays as tables.
    structure, numbers
        The flat model arrays ``topology`` (int64) and ``parameters`` (float64) of kernels/layout, with the loops
        appended by kinematics.append_loops.
    joints
        Friction and limits.
    """

    robot: layout.ModelArrays
    structure: IntArray
    numbers: Array
    joints: Joints


class StepInput(NamedTuple):
    """Input of a step.

    Attributes
    ----------
    integrator, dt
        RK4 or SEMI_IMPLICIT of integrators, and step size (s).
    tau
        Motor torque (n,), Nm or N, within the effort limits; of a batch (N, n).
    wrenches
        External forces (N) and moments (Nm) on the bodies (bodies, 6), at the origin and in the axes of each body's
        frame; (0, 6) for none.
    """

    integrator: int
    dt: float
    tau: Array
    wrenches: Array


class State(NamedTuple):
    """State that a step updates in place; unchanged if the step fails. Arrays of a batch have a leading axis N.

    Attributes
    ----------
    position, velocity
        (n,), rad or m, rad/s or m/s.
    modes
        (K,): friction modes.
    impulse
        (n + 3 loops,): impulse of friction and limits on each coordinate in the last step (Nm s or N s), then the
        impulse of link a of each loop on link b, in root axes (N s). Written by a step, not read.
    velocity_change
        (n,): change of the velocity in the last step, rad/s or m/s.
    """

    position: Array
    velocity: Array
    modes: IntArray
    impulse: Array
    velocity_change: Array


class Batch(NamedTuple):
    """States and parameters of N arms with the same tree; a step updates the states in place.

    Attributes
    ----------
    numbers
        (N, elements): field ``numbers`` of each arm.
    friction
        (N, moving joints, FRICTION_SIZE): friction table of each arm.
    states
        States of the arms, with a leading axis N.
    """

    numbers: Array
    friction: Array
    states: State


@inlined
def joints_of(shared: Joints, batch: Batch, i: int) -> Joints:
    """Return the joints of the arm with index ``i`` of a batch: ``shared``, but with that arm's friction table."""
    return Joints(
        batch.friction[i], shared.rows, shared.factors, shared.ranges, shared.directions
    )


@inlined
def arm_of(shared: Arm, batch: Batch, i: int) -> Arm:
    """Return the arm with index ``i`` of a batch: ``shared``, but with that arm's parameters and friction table."""
    robot = layout.unpack(shared.structure, batch.numbers[i])
    return Arm(
        robot,
        shared.structure,
        batch.numbers[i],
        joints_of(shared.joints, batch, i),
    )


@inlined
def state_of(states: State, i: int | slice) -> State:
    """Return the state of arm ``i`` of a batch, or the states of a slice, as views: changes change the batch."""
    return State(
        states.position[i],
        states.velocity[i],
        states.modes[i],
        states.impulse[i],
        states.velocity_change[i],
    )


@inlined
def arms_of(batch: Batch, first: int, after: int) -> Batch:
    """Return the part of a batch with the arms from index ``first`` to ``after`` - 1."""
    part = slice(first, after)
    return Batch(
        batch.numbers[part], batch.friction[part], state_of(batch.states, part)
    )


@inlined
def report_columns(state: State) -> int:
    """Return the number of columns of a report on plants with this ``state``."""
    n: int = state.position.shape[-1]
    impulses: int = state.impulse.shape[-1]
    modes: int = state.modes.shape[-1]
    return SAMPLE + 3 * n + impulses + modes


class Buffers(NamedTuple):
    """Scratch arrays, reused in all steps.

    Attributes
    ----------
    work
        (bodies + rotors, WORK_SIZE): scratch of the kernels, with the columns of kernels/layout.
    rows
        (K, row.SIZE): friction problem and its solution, with the columns of module ``row``.
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
        (VECTORS, n): intermediate results.
    loop_rank
        (1,): number of independent loop constraints at the start of the step; n + 1 before it is known. Overconstrained
        mechanisms have a higher rank at the intermediate states of rk4.
    loop_impulse
        (3 loops,): impulse of link a of each loop on link b in this step, root axes, N s.
    """

    work: Array
    rows: Array
    modes: IntArray
    motion: Array
    spare: Array
    factor: Array
    vectors: Array
    loop_rank: IntArray
    loop_impulse: Array


def make_buffers(arm: Arm) -> Buffers:
    """Return new, uninitialised buffers for steps of an arm."""
    n = arm.joints.directions.shape[1]
    count = len(arm.joints.ranges)
    return Buffers(
        np.empty((len(arm.robot.tree), layout.WORK_SIZE)),
        np.empty((count, row.SIZE)),
        np.empty(count, np.int64),
        np.empty((2 + n, n)),
        np.empty((2 + n, n)),
        np.empty((n, n)),
        np.empty((VECTORS, n)),
        np.empty(1, np.int64),
        np.empty(3 * arm.structure[-1]),
    )


class Memory(NamedTuple):
    """All arrays of a plant, in two flat arrays: few arguments make the call of a compiled step fast.

    The first elements of ``integers`` are, for each array in ``integers`` and then in ``floats``, its first element,
    and its number of rows and columns.
    """

    integers: IntArray
    floats: Array


def make_memory(arm: Arm, effort_limits: Array, integrator: int, dt: float) -> Memory:
    """Return the memory of a plant with copies of its constant data ``arm`` and ``effort_limits`` (n,), Nm or N.

    ``integrator`` is RK4 or SEMI_IMPLICIT of integrators, ``dt`` the step size (s). State and effort are 0; the caller
    sets the friction modes, of which 0 is AT_LOWER.
    """
    joints = arm.joints
    buffers = make_buffers(arm)
    n = len(effort_limits)
    modes = np.zeros_like(buffers.modes)
    integers = (
        arm.structure,
        joints.rows,
        np.array([integrator]),
        modes,
        buffers.modes,
        buffers.loop_rank,
    )
    constants = (
        arm.numbers,
        joints.friction,
        joints.factors,
        joints.ranges,
        joints.directions,
        effort_limits,
    )
    state = (
        np.array([dt]),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n + len(buffers.loop_impulse)),
        np.zeros(n),
    )
    scratch = (
        buffers.work,
        buffers.rows,
        buffers.motion,
        buffers.spare,
        buffers.factor,
        buffers.vectors,
        buffers.loop_impulse,
    )
    floats = (*constants, *state, *scratch)
    header = 3 * (len(integers) + len(floats))
    places = np.concatenate([_places(integers, header), _places(floats, 0)])
    return Memory(
        np.concatenate([places.ravel(), *integers]).astype(np.int64),
        np.concatenate([a.ravel() for a in floats]),
    )


def _places(arrays: Sequence[Array | IntArray], first: int) -> IntArray:
    """Return first element, rows and columns of arrays that follow each other from element ``first`` on."""
    sizes = [array.size for array in arrays]
    shapes = [(1, *array.shape)[-2:] for array in arrays]
    return np.column_stack([first + np.cumsum([0, *sizes[:-1]]), shapes])


@inlined
def _integers(memory: Memory, k: int) -> IntArray:
    first = memory.integers[3 * k]
    return memory.integers[first : first + memory.integers[3 * k + 2]]


@inlined
def _table(memory: Memory, k: int) -> Array:
    first = memory.integers[3 * k]
    rows = memory.integers[3 * k + 1]
    columns = memory.integers[3 * k + 2]
    return memory.floats[first : first + rows * columns].reshape(rows, columns)


@inlined
def _vector(memory: Memory, k: int) -> Array:
    first = memory.integers[3 * k]
    return memory.floats[first : first + memory.integers[3 * k + 2]]


class PlantArrays(NamedTuple):
    """Arrays of a plant, as views of its memory.

    Attributes
    ----------
    arm
        Constant data.
    effort_limits
        (n,), Nm or N.
    integrator, dt
        (1,): constant of integrators, and step size (s).
    state
        State.
    effort
        (n,): motor torque in the last step, Nm or N.
    buffers
        Scratch.
    """

    arm: Arm
    effort_limits: Array
    integrator: IntArray
    dt: Array
    state: State
    effort: Array
    buffers: Buffers


@inlined
def plant_arrays(memory: Memory) -> PlantArrays:
    """Return the arrays of a plant in the memory that ``make_memory`` made."""
    structure = _integers(memory, 0)
    numbers = _vector(memory, 6)
    joints = Joints(
        _table(memory, 7),
        _integers(memory, 1),
        _vector(memory, 8),
        _table(memory, 9),
        _table(memory, 10),
    )
    return PlantArrays(
        Arm(layout.unpack(structure, numbers), structure, numbers, joints),
        _vector(memory, 11),
        _integers(memory, 2),
        _vector(memory, 12),
        State(
            _vector(memory, 13),
            _vector(memory, 14),
            _integers(memory, 3),
            _vector(memory, 16),
            _vector(memory, 17),
        ),
        _vector(memory, 15),
        Buffers(
            _table(memory, 18),
            _table(memory, 19),
            _integers(memory, 4),
            _table(memory, 20),
            _table(memory, 21),
            _table(memory, 22),
            _table(memory, 23),
            _integers(memory, 5),
            _vector(memory, 24),
        ),
    )
