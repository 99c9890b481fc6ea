"""Friction step of arms whose joints each depend on one coordinate (E = I), for one arm and for blocks of arms.

For a customised robot, ``steps`` overloads ``fixed_mode_motion`` and ``fixed_mode_motions`` with generated code.

Arguments: ``arm``, ``joints``, ``state``, ``batch`` and ``buffers`` are the tuples Arm, Joints, State, BatchState and
Buffers of arrays. ``kind`` is ``arm.kind``, whose class selects the overload. ``dt`` is the step size (s).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.compilation import by_class, inlined, kernel
from robot_dynamics_ros.kernels.forward_dynamics import solve_fixed_mode_motion
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.arrays import (
    CONSTRAINT_IMPULSE,
    FORCE,
    HIGHEST,
    LOWEST,
    MOVES,
    OK,
    POSITION,
    SCRATCH,
    STIFFNESS,
    UNCONSTRAINED_POSITION,
    UNCONSTRAINED_VELOCITY,
    VECTORS,
    VELOCITY,
    Arm,
    BatchState,
    Buffers,
    Joints,
    Separable,
    State,
    joints_of,
    state_of,
)
from robot_dynamics_ros.simulation.step_stages import (
    end_unconstrained,
    exact_position,
    set_up_problem,
    subtract_smooth_friction,
    update_state,
)
from robot_dynamics_ros.simulation.stick_slip import (
    IMPULSE,
    INITIAL_IMPULSE,
    ROW_SIZE,
    UNCONSTRAINED,
    modes_unchanged,
    replace_invalid_modes,
    solve,
)
from robot_dynamics_ros.simulation.stick_slip import VELOCITY as ROW_VELOCITY


@by_class
def fixed_mode_motion(
    kind: Separable, arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array
) -> int:
    """Write acceleration, reaction of the joints at rest, and A = M + dt B to ``motion`` (2 + n, n).

    ``q`` and ``v`` (n,) are the state, B is the slope of smooth friction. ``buffers.vectors`` have been filled by
    step_stages.subtract_smooth_friction; ``wrenches`` are as for kernels/newton_euler. Returns -1, or the coordinate at
    which the factorisation of A fails.
    """
    force, stiffness, moves = buffers.vectors[FORCE], buffers.vectors[STIFFNESS], buffers.vectors[MOVES]
    return solve_fixed_mode_motion(
        arm.robot, q, v, force, stiffness, moves, wrenches, buffers.work, buffers.factor, motion
    )


@by_class
def fixed_mode_motions(
    kind: Separable, numbers: Array, q: Array, v: Array, force: Array, stiffness: Array, moves: Array, motions: Array
) -> bool:
    """Write acceleration and reaction of many arms without external wrenches to ``motions`` (count, 2, n).

    ``numbers`` (count, elements) are the arms' parameters; the other arguments are (count, n): state, and the rows
    FORCE, STIFFNESS and MOVES of ``Buffers.vectors``. Returns False if there is no batched implementation, as here;
    ``motions`` is then undefined.
    """
    return False


@kernel
def _set_up_problem(state: State, buffers: Buffers) -> None:
    """Copy the unconstrained motion and the modes of the last step to the friction problem."""
    rows, vectors = buffers.rows, buffers.vectors
    for j in range(rows.shape[0]):
        rows[j, UNCONSTRAINED], rows[j, INITIAL_IMPULSE] = (
            vectors[UNCONSTRAINED_VELOCITY, j],
            vectors[CONSTRAINT_IMPULSE, j],
        )
        buffers.modes[j] = state.modes[j]


@kernel
def motion_unchanged(state: State, buffers: Buffers) -> bool:
    """Return True if the unconstrained motion satisfies the friction and limit conditions without a change of mode.

    ``state`` is that before the step; ``buffers`` have the unconstrained motion, and receive the friction problem.
    """
    _set_up_problem(state, buffers)
    replace_invalid_modes(buffers.rows, buffers.modes)
    return modes_unchanged(buffers.rows, buffers.modes)


@kernel
def solve_separable(joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """Solve the friction problem and write the new position, velocity and impulse to the buffers.

    q+ = q_free + half (v+ - v_free), with ``half`` in s, clamped to the position limits. The position of a joint that
    remains stuck is unchanged exactly. ``state`` is that before the step, and the unconstrained motion is in
    ``buffers``. Returns the number of linear systems solved and the residual, a velocity.
    """
    rows, vectors = buffers.rows, buffers.vectors
    _set_up_problem(state, buffers)
    solves, error = solve(buffers.motion[2:], rows, buffers.modes, buffers.factor, vectors[SCRATCH])
    for j in range(rows.shape[0]):
        q, v = state.position[j], rows[j, ROW_VELOCITY]
        vectors[VELOCITY, j], vectors[CONSTRAINT_IMPULSE, j] = v, rows[j, IMPULSE]
        place = exact_position(joints, buffers, j, state.velocity[j] == 0.0, q)
        if math.isnan(place):
            lowest, highest = min(q, joints.ranges[j, LOWEST]), max(q, joints.ranges[j, HIGHEST])
            moved = vectors[UNCONSTRAINED_POSITION, j] + half * (v - rows[j, UNCONSTRAINED])
            place = moved if math.isnan(moved) else min(max(moved, lowest), highest)
        vectors[POSITION, j] = place
    return solves, error


@by_class
def solve_friction(kind: Separable, joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """Solve the friction problem; overloaded for each kind of arm. Arguments and results as for ``solve_separable``."""
    return solve_separable(joints, half, state, buffers)


LANES = 16
"""Arms in a block; the intermediate results of larger blocks would not fit the L1 cache."""


class Block(NamedTuple):
    """Intermediate results of a block of arms between ``begin_steps`` and ``end_steps``.

    Attributes
    ----------
    rows
        (LANES, K, ROW_SIZE): friction problems.
    vectors
        (LANES, VECTORS, n): as in ``Buffers``.
    modes
        (LANES, K).
    force, stiffness, moves
        (LANES, n): inputs of ``fixed_mode_motions``.
    motions
        (LANES, 2, n): acceleration and reaction.
    done
        (LANES,): True where the step is complete.
    """

    rows: Array
    vectors: Array
    modes: IntArray
    force: Array
    stiffness: Array
    moves: Array
    motions: Array
    done: NDArray[np.bool_]


def make_block(n: int, rows: int) -> Block:
    """Return uninitialised scratch arrays for arms with ``n`` coordinates and ``rows`` constraint rows."""
    return Block(
        np.empty((LANES, rows, ROW_SIZE)),
        np.empty((LANES, VECTORS, n)),
        np.empty((LANES, rows), np.int64),
        np.empty((LANES, n)),
        np.empty((LANES, n)),
        np.empty((LANES, n)),
        np.empty((LANES, 2, n)),
        np.empty(LANES, np.bool_),
    )


@inlined
def _scratch(buffers: Buffers, block: Block, k: int) -> Buffers:
    """Return the buffers of arm k of the block."""
    return Buffers(
        buffers.work, block.rows[k], block.modes[k], buffers.motion, buffers.spare, buffers.factor, block.vectors[k]
    )


@kernel
def begin_steps(
    joints: Joints, dt: float, tau: Array, batch: BatchState, first: int, buffers: Buffers, block: Block
) -> None:
    """Write the inputs of ``fixed_mode_motions`` to ``block``, for the arms from ``first`` on, under ``tau`` (arms, n).

    ``joints`` are those that all arms share, except for their friction.
    """
    for k in range(tau.shape[0]):
        own, state = joints_of(joints, batch, first + k), state_of(batch, first + k)
        vectors, scratch = block.vectors[k], _scratch(buffers, block, k)
        set_up_problem(own, dt, tau[k], state, scratch)
        subtract_smooth_friction(own, dt, state.velocity, scratch)
        for j in range(tau.shape[1]):
            block.force[k, j], block.stiffness[k, j] = vectors[FORCE, j], vectors[STIFFNESS, j]
            block.moves[k, j] = vectors[MOVES, j]


@kernel
def end_steps(
    joints: Joints,
    dt: float,
    together: bool,
    outcomes: IntArray,
    batch: BatchState,
    first: int,
    buffers: Buffers,
    block: Block,
) -> None:
    """Update the states of arms whose modes do not change, set their ``done`` flags and count their steps.

    ``together`` is the result of ``fixed_mode_motions``, which wrote ``block.motions``. ``outcomes`` (arms, 3) are
    status, failing coordinate and steps of the arms from ``first`` on. The other arms have to take the step one by one;
    so do all arms if ``together`` is False.
    """
    for k in range(outcomes.shape[0]):
        motion = block.motions[k]
        block.done[k] = together and outcomes[k, 0] == OK
        for j in range(motion.shape[1]):
            block.done[k] = block.done[k] and math.isfinite(motion[0, j])
        if block.done[k]:
            state, scratch = state_of(batch, first + k), _scratch(buffers, block, k)
            end_unconstrained(dt, state, motion, scratch)
            block.done[k] = motion_unchanged(state, scratch)
            if block.done[k]:
                solve_separable(joints, dt, state, scratch)
                update_state(state, scratch, 0, 0.0)
                outcomes[k, 2] += 1
