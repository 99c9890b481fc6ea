"""Friction step of arms whose joints each depend on one coordinate (E = I), for one arm and for blocks of arms.

For a customised robot, module ``customised`` overloads the functions with generated code.

The unconstrained motion q_free, v_free is the one with all friction modes fixed (stick, slip, at limit). The friction
problem corrects it where a mode changes; q+, v+ is the new state. A (n, n) is the mass matrix M, with semi_implicit
plus the step size times the slope B of smooth friction (viscous and sigmoid).

Arguments: ``arm``, ``joints``, ``given``, ``state``, ``batch`` and ``buffers`` are the tuples Arm, Joints, StepInput,
State, Batch and Buffers of arrays. ``kind`` is ``arm.kind``, whose class selects the overload, and ``loops`` the result
of ``start_loops``. FORCE, STIFFNESS and MOVES are rows of ``buffers.vectors``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.compilation import by_class, inlined, kernel
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import solve_fixed_mode_motion
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row, stages, vector
from robot_dynamics_ros.simulation.step.arrays import (
    OK,
    Arm,
    Batch,
    Buffers,
    Joints,
    Outcome,
    Separable,
    State,
    StepInput,
    joints_of,
    state_of,
)
from robot_dynamics_ros.simulation.step.stick_slip import (
    modes_unchanged,
    replace_invalid_modes,
    solve,
)


@by_class
def start_loops(kind: Separable, arm: Arm) -> Any:
    """Return the loops of an arm at the beginning of a step; an empty tuple without loops."""
    return ()


@inlined
def stage_inputs(vectors: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return the rows POSITION, VELOCITY, FORCE, STIFFNESS and MOVES: the input of the unconstrained motion."""
    return (
        vectors[vector.POSITION],
        vectors[vector.VELOCITY],
        vectors[vector.FORCE],
        vectors[vector.STIFFNESS],
        vectors[vector.MOVES],
    )


@inlined
def general_motion(arm: Arm, wrenches: Array, buffers: Buffers, motion: Array) -> int:
    """Compute the motion as ``fixed_mode_motion``, for any separable arm."""
    q, v, force, stiffness, moves = stage_inputs(buffers.vectors)
    return solve_fixed_mode_motion(
        arm.robot,
        q,
        v,
        force,
        stiffness,
        moves,
        wrenches,
        buffers.work,
        buffers.factor,
        motion,
    )


@by_class
def fixed_mode_motion(
    kind: Separable,
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    loops: Any,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Write acceleration, reaction of the rows at rest, and A = M + dt B to ``motion`` (2 + n, n).

    Row 0 is the acceleration, row 1 the reaction (Nm or N), and the others are A. ``buffers.vectors`` have the state in
    POSITION and VELOCITY, and have been filled by stages.subtract_smooth_friction. ``wrenches`` is a field of
    StepInput. The impulses of the loops over the time ``weight`` (s) are added to ``loops``. Returns -1, or the
    coordinate at which A, reduced to the moving joints, is not positive definite.
    """
    return general_motion(arm, wrenches, buffers, motion)


@by_class
def finish_step(
    kind: Separable, arm: Arm, half: float, state: State, loops: Any, buffers: Buffers
) -> Outcome:
    """Solve for friction and limits, then update the state: q+ = q_free + half (v+ - v_free), with ``half`` in s.

    ``state`` is that before the step, and the unconstrained motion is in ``buffers``.
    """
    solves, error = solve_separable(arm.joints, half, state, buffers)
    return stages.update_state(state, buffers, solves, error)


@kernel
def _set_up_problem(state: State, buffers: Buffers) -> None:
    """Copy the unconstrained motion and the modes of the last step to the friction problem."""
    rows = buffers.rows
    vectors = buffers.vectors
    for j in range(rows.shape[0]):
        rows[j, row.UNCONSTRAINED] = vectors[vector.UNCONSTRAINED_VELOCITY, j]
        rows[j, row.INITIAL_IMPULSE] = vectors[vector.CONSTRAINT_IMPULSE, j]
        buffers.modes[j] = state.modes[j]


@kernel
def motion_unchanged(state: State, buffers: Buffers) -> bool:
    """Return True if the unconstrained motion satisfies the friction and limit conditions without a change of mode.

    ``state`` is that before the step. ``buffers`` have the unconstrained motion in ``vectors``, and bounds and velocity
    limits in ``rows``; the rest of ``rows`` and the ``modes`` are written.
    """
    _set_up_problem(state, buffers)
    replace_invalid_modes(buffers.rows, buffers.modes)
    return modes_unchanged(buffers.rows, buffers.modes)


# Positions follow from the change of velocity, averaged over the step as the integrator does. They are rounded to what
# must be exact: a joint that remains stuck keeps its position bit for bit, and one that reaches a limit ends there.
@kernel
def solve_separable(
    joints: Joints, half: float, state: State, buffers: Buffers
) -> tuple[int, float]:
    """Solve the friction problem and write the new position, velocity and impulse to the buffers.

    q+ = q_free + half (v+ - v_free), with ``half`` in s, clamped to the position limits. The position of a joint that
    remains stuck is unchanged exactly. ``state`` is that before the step, and the unconstrained motion is in
    ``buffers``. Returns the number of linear systems solved and the residual, rad/s or m/s.
    """
    rows = buffers.rows
    vectors = buffers.vectors
    _set_up_problem(state, buffers)
    solves, error = solve(
        buffers.motion[2:], rows, buffers.modes, buffers.factor, vectors[vector.SCRATCH]
    )
    for j in range(rows.shape[0]):
        q = state.position[j]
        v = rows[j, row.VELOCITY]
        vectors[vector.VELOCITY, j] = v
        vectors[vector.CONSTRAINT_IMPULSE, j] = rows[j, row.IMPULSE]
        place = stages.exact_position(joints, buffers, j, state.velocity[j] == 0.0, q)
        if math.isnan(place):
            lowest = min(q, joints.ranges[j, row.LOWEST])
            highest = max(q, joints.ranges[j, row.HIGHEST])
            moved = vectors[vector.UNCONSTRAINED_POSITION, j] + half * (
                v - rows[j, row.UNCONSTRAINED]
            )
            place = moved if math.isnan(moved) else min(max(moved, lowest), highest)
        vectors[vector.POSITION, j] = place
    return solves, error


LANES = 16
"""Arms in a block; the intermediate results of larger blocks would not fit the L1 cache."""


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
        np.empty((LANES, vector.SIZE, n)),
        np.empty((LANES, 2, n)),
        np.empty(LANES, np.bool_),
    )


@by_class
def fixed_mode_motions(kind: Separable, batch: Batch, block: Block) -> bool:
    """Write acceleration and reaction of the arms of a block, without external wrenches, to ``block.motions``.

    The input is the state of the arms in ``batch`` and the rows FORCE, STIFFNESS and MOVES of ``block.vectors``.
    Returns True if all motions have been computed. False: the mass matrix of an arm is not positive definite, or there
    is no batched implementation, as here; ``block.motions`` is then undefined.
    """
    return False


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
    )


@kernel
def begin_steps(
    joints: Joints, given: StepInput, batch: Batch, buffers: Buffers, block: Block
) -> None:
    """Write the input of ``fixed_mode_motions`` to ``block``, for a batch of up to LANES arms.

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
    """Update the states of arms whose modes do not change, set ``block.done`` of all arms, and count the steps.

    ``together`` is the result of ``fixed_mode_motions``. ``outcomes`` (arms, 3) are status, failing coordinate and
    steps, of which steps are increased by 1. Arms that are not done have to take the step one by one, unless their
    status is not OK; so do all arms if ``together`` is False. ``joints`` has the limits, which all arms share.
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
            block.done[k] = motion_unchanged(state, scratch)
            if block.done[k]:
                solve_separable(joints, dt, state, scratch)
                stages.update_state(state, scratch, 0, 0.0)
                outcomes[k, 2] += 1
