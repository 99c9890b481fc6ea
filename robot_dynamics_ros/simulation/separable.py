"""Friction step of arms whose joints each depend on one coordinate (E = I), for one arm and for blocks of arms.

For a customised robot, ``steps`` overloads ``fixed_mode_motion`` and ``fixed_mode_motions`` with generated code.

The unconstrained motion q_free, v_free is the one with all friction modes fixed (stick, slip, at limit). The friction
problem corrects it where a mode changes; q+, v+ is the new state. A (n, n) is the mass matrix M, with semi_implicit
plus the step size times the slope B of smooth friction (viscous and sigmoid).

Arguments: ``arm``, ``joints``, ``state``, ``batch`` and ``buffers`` are the tuples Arm, Joints, State, BatchState and
Buffers of arrays. ``kind`` is ``arm.kind``, whose class selects the overload. ``dt`` is the step size (s). FORCE,
STIFFNESS and MOVES are rows of ``buffers.vectors``: the applied torque with the friction of the unconstrained motion
(Nm or N), dt B, and 0 for joints at rest, else 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.compilation import by_class, inlined, kernel
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import solve_fixed_mode_motion
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
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

    Row 0 is the acceleration, row 1 the reaction (Nm or N), and the others are A. ``q`` and ``v`` (n,) are the state.
    ``buffers.vectors`` have been filled by step_stages.subtract_smooth_friction. ``wrenches`` (bodies, 6), or (0, 6)
    for none, are external forces (N) and moments (Nm) at the origin and in the axes of each body's frame. Returns -1,
    or the coordinate at which A, reduced to the moving joints, is not positive definite.
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

    ``numbers`` (count, elements) are the arms' model arrays ``parameters``. The others are (count, n): position ``q``
    and velocity ``v``, and the rows FORCE, STIFFNESS and MOVES. Returns True if all motions have been computed. False:
    the mass matrix of an arm is not positive definite, or there is no batched implementation, as here; ``motions`` is
    then undefined.
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

    ``state`` is that before the step. ``buffers`` have the unconstrained motion in ``vectors``, and bounds and velocity
    limits in ``rows``; the rest of ``rows`` and the ``modes`` are written.
    """
    _set_up_problem(state, buffers)
    replace_invalid_modes(buffers.rows, buffers.modes)
    return modes_unchanged(buffers.rows, buffers.modes)


@kernel
def solve_separable(joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """Solve the friction problem and write the new position, velocity and impulse to the buffers.

    q+ = q_free + half (v+ - v_free), with ``half`` in s, clamped to the position limits. The position of a joint that
    remains stuck is unchanged exactly. ``state`` is that before the step, and the unconstrained motion is in
    ``buffers``. Returns the number of linear systems solved and the residual, rad/s or m/s.
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
    """Solve the friction problem and write the new position, velocity and impulse to the buffers.

    Overloaded for each kind of arm. q+ = q_free + half (v+ - v_free), with ``half`` in s, within the position limits.
    ``state`` is that before the step, and the unconstrained motion is in ``buffers``. Returns the number of linear
    systems solved and the residual, rad/s or m/s.
    """
    return solve_separable(joints, half, state, buffers)


LANES = 16
"""Arms in a block; the intermediate results of larger blocks would not fit the L1 cache."""


class Block(NamedTuple):
    """Intermediate results of a block of up to LANES arms between ``begin_steps`` and ``end_steps``; K = n.

    Attributes
    ----------
    rows
        (LANES, K, ROW_SIZE): friction problems, with the columns of stick_slip.
    vectors
        (LANES, VECTORS, n): vectors of each arm, with the rows of ``Buffers.vectors``.
    modes
        (LANES, K): friction modes.
    force, stiffness, moves
        (LANES, n): rows FORCE, STIFFNESS and MOVES, the inputs of ``fixed_mode_motions``.
    motions
        (LANES, 2, n): unconstrained acceleration (rad/s^2 or m/s^2) and reaction (Nm or N).
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
    """Return uninitialised scratch arrays for LANES arms with ``n`` coordinates and ``rows`` constraint rows each."""
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

    ``first`` is the index in ``batch`` of the block's first arm. ``tau`` is the motor torque (Nm or N) of the block's
    arms, up to LANES. ``joints`` has the limits, which all arms share; the friction is that of ``batch``.
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
    """Update the states of arms whose modes do not change, set ``block.done`` of all arms, and count the steps.

    ``together`` is the result of ``fixed_mode_motions``, which wrote ``block.motions``. ``first`` is the index in
    ``batch`` of the block's first arm. ``outcomes`` (arms, 3) of the block's arms are status, failing coordinate and
    steps, of which steps are increased by 1. Arms that are not done have to take the step one by one, unless their
    status is not OK; so do all arms if ``together`` is False. ``joints`` has the limits, which all arms share.
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
