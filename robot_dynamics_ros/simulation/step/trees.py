"""Arms without loops: the kinds plain and coupled, and blocks of plain arms in SIMD lanes.

The joints of a plain arm each depend on one coordinate, E = I; its ``joints.directions`` is empty. Joints of a coupled
arm depend on several coordinates. Modules ``customised`` and ``loops`` have the other kinds.

Arguments: ``arm``, ``joints``, ``given``, ``state``, ``batch`` and ``buffers`` are the tuples Arm, Joints, StepInput,
State, Batch and Buffers of arrays. The functions ``..._motion`` and ``finish_step`` are those that integrators
describes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.compilation import (
    allocating_kernel,
    forceinlined_kernel,
    inlined,
    kernel,
    threaded_kernel,
)
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import (
    equations_of_motion,
    solve_fixed_mode_motion,
)
from robot_dynamics_ros.dynamics.kernels.friction import smooth_slope
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import arrays, integrators, row, stages
from robot_dynamics_ros.simulation.step.arrays import (
    OK,
    Arm,
    Batch,
    Buffers,
    Joints,
    Outcome,
    State,
    StepInput,
    joints_of,
    state_of,
)
from robot_dynamics_ros.simulation.step.elimination import (
    Equations,
    hold_at_rest,
    no_equations,
    project_position,
)
from robot_dynamics_ros.simulation.step.friction_problem import (
    Problem,
    solve,
    unconstrained_is_solution,
)
from robot_dynamics_ros.simulation.thresholds import LANES


@forceinlined_kernel
def plain_motion(
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Compute ``fixed_mode_motion`` of a plain arm."""
    vectors = buffers.vectors
    return solve_fixed_mode_motion(
        arm.robot,
        vectors[arrays.POSITION],
        vectors[arrays.VELOCITY],
        vectors[arrays.FORCE],
        vectors[arrays.STIFFNESS],
        vectors[arrays.MOVES],
        wrenches,
        buffers.work,
        buffers.factor,
        motion,
    )


# Smooth friction of a joint acts along the direction E_k of its row: with slope b it adds dt b E_k^T E_k to the mass
# matrix in an implicit step, which is not diagonal as for plain arms.
@kernel
def set_up_motion(
    arm: Arm, dt: float, wrenches: Array, buffers: Buffers, motion: Array
) -> None:
    """Write the load, force less bias torque, to ``motion[1]`` (n,), and A = M + dt B to ``motion[2:]`` (n, n).

    The force is the row FORCE of ``buffers.vectors``: motor torque plus Coulomb torque of slipping rows, less smooth
    friction. The bias torque is that of velocity, gravity and ``wrenches``, a field of StepInput, at the rows POSITION
    and VELOCITY. M is the mass matrix, B the slope of smooth friction and ``dt`` (s) the step.
    """
    joints = arm.joints
    q = buffers.vectors[arrays.POSITION]
    v = buffers.vectors[arrays.VELOCITY]
    matrix = motion[2:]
    load = motion[1]
    n = v.shape[0]
    equations_of_motion(arm.robot, q, v, wrenches, buffers.work, load, matrix)
    for j in range(n):
        load[j] = buffers.vectors[arrays.FORCE, j] - load[j]
    if dt > 0.0:
        for i in range(joints.rows.shape[0]):
            direction = joints.directions[joints.rows[i]]
            factor = joints.factors[i]
            rate = factor * row.product(joints.directions, joints.rows[i], v)
            stiffness = dt * factor * factor * smooth_slope(joints.friction[i], rate)
            for j in range(n):
                for other in range(n):
                    matrix[j, other] += stiffness * direction[j] * direction[other]


@allocating_kernel
def coupled_motion(
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Compute ``fixed_mode_motion`` of a coupled arm."""
    directions = arm.joints.directions
    set_up_motion(arm, dt, wrenches, buffers, motion)
    none = no_equations(motion.shape[1])
    return hold_at_rest(none, motion[2:], directions, buffers.rows, motion)[0]


@allocating_kernel
def solve_problem(
    joints: Joints, buffers: Buffers, loops: Equations
) -> tuple[int, float]:
    """Solve the friction problem among the velocities that satisfy the equations of the ``loops``.

    Writes velocity and impulse, and returns the number of linear systems solved and the residual, rad/s or m/s.
    """
    vectors = buffers.vectors
    n = vectors.shape[1]
    directions = joints.directions
    simultaneous = 1
    if directions.shape[0] == 0:  # E = I
        directions = np.eye(n)
        simultaneous = 3 * n + 10
    problem = Problem(
        buffers.motion[2:],
        directions,
        buffers.rows,
        buffers.modes,
        vectors[arrays.UNCONSTRAINED_VELOCITY],
        vectors[arrays.CONSTRAINT_IMPULSE],
        loops,
    )
    solves, error = solve(problem, simultaneous, vectors[arrays.VELOCITY])
    impulse = vectors[arrays.CONSTRAINT_IMPULSE]
    impulse[:] = 0.0
    for k in range(directions.shape[0]):
        row.add_along(directions, k, buffers.rows[k, row.IMPULSE], impulse)
    return solves, error


# In nearly every step of a plain arm the unconstrained motion is the solution.
@forceinlined_kernel
def keeps_modes(buffers: Buffers) -> bool:
    """Return True if the unconstrained motion of a plain arm satisfies all friction and limit conditions.

    It is then the new velocity in ``buffers``.
    """
    vectors = buffers.vectors
    for j in range(vectors.shape[1]):
        vectors[arrays.VELOCITY, j] = vectors[arrays.UNCONSTRAINED_VELOCITY, j]
    return unconstrained_is_solution(
        buffers.rows,
        buffers.modes,
        vectors[arrays.UNCONSTRAINED_VELOCITY],
        vectors[arrays.CONSTRAINT_IMPULSE],
    )


# Positions follow from the change of velocity, averaged over the step as the integrator does. They are rounded to what
# must be exact: a joint that remains stuck keeps its position bit for bit, and one that reaches a limit ends there.
@forceinlined_kernel
def write_position(joints: Joints, half: float, state: State, buffers: Buffers) -> None:
    """Write the new position, q_free + half (v+ - v_free) with ``half`` in s, and the reported modes to ``buffers``.

    The exact positions, to which the caller has to move the rows, are written to the column TARGET.
    """
    vectors = buffers.vectors
    row.label_modes(buffers.rows, buffers.modes)
    for j in range(vectors.shape[1]):
        change = vectors[arrays.VELOCITY, j] - vectors[arrays.UNCONSTRAINED_VELOCITY, j]
        vectors[arrays.POSITION, j] = (
            vectors[arrays.UNCONSTRAINED_POSITION, j] + half * change
        )
    stages.write_targets(joints, state, buffers)


@inlined
def _accept_velocity(
    joints: Joints,
    half: float,
    state: State,
    buffers: Buffers,
    solves: int,
    error: float,
) -> Outcome:
    """Move a plain arm at its new velocity, and update the state; ``solves`` and ``error`` are for the outcome."""
    write_position(joints, half, state, buffers)
    for k in range(buffers.modes.shape[0]):
        target = buffers.rows[k, row.TARGET]
        if not math.isnan(target):
            buffers.vectors[arrays.POSITION, k] = target
    return stages.update_state(state, buffers, solves, error)


@inlined
def finish_plain(arm: Arm, half: float, state: State, buffers: Buffers) -> Outcome:
    """Compute ``finish_step`` of a plain arm."""
    solves = 0
    error = 0.0
    if not keeps_modes(buffers):
        none = no_equations(buffers.vectors.shape[1])
        solves, error = solve_problem(arm.joints, buffers, none)
    return _accept_velocity(arm.joints, half, state, buffers, solves, error)


@allocating_kernel
def finish_coupled(arm: Arm, half: float, state: State, buffers: Buffers) -> Outcome:
    """Compute ``finish_step`` of a coupled arm."""
    none = no_equations(buffers.vectors.shape[1])
    solves, error = solve_problem(arm.joints, buffers, none)
    write_position(arm.joints, half, state, buffers)
    targets = buffers.rows[:, row.TARGET].copy()
    position = buffers.vectors[arrays.POSITION]
    project_position(arm.joints.directions, targets, position)
    return stages.update_state(state, buffers, solves, error)


class Block(NamedTuple):
    """Intermediate results of a block of up to LANES arms between ``begin_steps`` and ``end_steps``; K = n.

    Attributes
    ----------
    rows, modes, vectors
        (LANES, ...): fields of the Buffers of each arm.
    motions
        (LANES, 2, n): unconstrained acceleration (rad/s^2 or m/s^2) and reaction (Nm or N).
    done
        (LANES,): True where the step is complete.
    """

    rows: Array
    modes: IntArray
    vectors: Array
    motions: Array
    done: NDArray[np.bool_]


def make_block(rows: int, n: int) -> Block:
    """Return uninitialised scratch arrays for LANES arms with ``n`` coordinates and ``rows`` constraint rows each."""
    return Block(
        np.empty((LANES, rows, row.SIZE)),
        np.empty((LANES, rows), np.int64),
        np.empty((LANES, arrays.VECTORS, n)),
        np.empty((LANES, 2, n)),
        np.empty(LANES, np.bool_),
    )


@inlined
def _buffers(buffers: Buffers, block: Block, k: int) -> Buffers:
    """Return the buffers of arm k of the block."""
    return Buffers(
        buffers.work,
        block.rows[k],
        block.modes[k],
        buffers.motion,
        buffers.spare,
        buffers.factor,
        block.vectors[k],
        buffers.loop_rank,
        buffers.loop_impulse,
    )


@kernel
def begin_steps(
    joints: Joints, given: StepInput, batch: Batch, buffers: Buffers, block: Block
) -> None:
    """Write the input of the unconstrained motions to ``block``, for a batch of up to LANES arms.

    ``joints`` has the limits, which all arms share.
    """
    for k in range(given.tau.shape[0]):
        own = joints_of(joints, batch, k)
        state = state_of(batch.states, k)
        scratch = _buffers(buffers, block, k)
        stages.set_up_problem(own, given.dt, given.tau[k], state, scratch)
        stages.subtract_smooth_friction(own, given.dt, state.velocity, scratch)


@kernel
def end_steps(
    joints: Joints,
    dt: float,
    together: bool,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: Block,
) -> None:
    """Complete a semi_implicit step of ``dt`` (s) of the arms whose modes do not change, after ``begin_steps``.

    Their states are updated, and ``block.done`` is set for all arms. ``together`` is True if ``block.motions`` has the
    unconstrained motions. ``outcomes`` (arms, 3) are status, failing coordinate and steps, of which the steps of arms
    that are done are increased by 1. Arms that are not done have to take the step one by one, unless their status is
    not OK. ``joints`` has the limits, which all arms share.
    """
    for k in range(outcomes.shape[0]):
        motion = block.motions[k]
        block.done[k] = together and outcomes[k, 0] == OK
        for j in range(motion.shape[1]):
            block.done[k] = block.done[k] and math.isfinite(motion[0, j])
        if block.done[k]:
            state = state_of(batch.states, k)
            scratch = _buffers(buffers, block, k)
            stages.end_unconstrained(dt, state, motion, scratch)
            block.done[k] = keeps_modes(scratch)
            if block.done[k]:
                _accept_velocity(joints, dt, state, scratch, 0, 0.0)
                outcomes[k, 2] += 1


@kernel
def plain_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, reports: Array
) -> int:
    """Take steps of a plain arm as ``integrators.plant_step`` does."""
    return integrators.plant_step(
        plain_motion, finish_plain, integers, floats, tau, wrenches, reports
    )


@threaded_kernel
def plain_advance(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: Block,
) -> None:
    """Take steps of a batch of plain arms as ``integrators.advance_each`` does."""
    integrators.advance_each(
        plain_motion, finish_plain, arm, given, count, batch, outcomes, buffers
    )


@kernel
def coupled_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, reports: Array
) -> int:
    """Take steps of a coupled arm as ``integrators.plant_step`` does."""
    return integrators.plant_step(
        coupled_motion, finish_coupled, integers, floats, tau, wrenches, reports
    )


@threaded_kernel
def coupled_advance(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: Block,
) -> None:
    """Take steps of a batch of coupled arms as ``integrators.advance_each`` does."""
    integrators.advance_each(
        coupled_motion, finish_coupled, arm, given, count, batch, outcomes, buffers
    )


PLAIN = integrators.Kind(plain_step, plain_advance)
COUPLED = integrators.Kind(coupled_step, coupled_advance)
