"""Steps of arms each of whose joints follows one coordinate, alone and in blocks.

A customised robot has a ``fixed_mode_motion`` and ``fixed_mode_motions`` of its own (see steps).
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
    CARRIED,
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
    pinned,
    pose_problem,
    renew,
    subtract_smooth_friction,
)
from robot_dynamics_ros.simulation.stick_slip import FREE, HELD, IMPULSE, ROW_SIZE, admit, modes_unchanged, solve
from robot_dynamics_ros.simulation.stick_slip import VELOCITY as ROW_VELOCITY


@by_class
def fixed_mode_motion(
    kind: Separable, arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array
) -> int:
    """Write acceleration, reaction of the joints at rest, and A = M + dt B to ``motion``.

    Returns -1, or the coordinate at which A is found not positive definite.
    """
    force, stiffness, moves = buffers.vectors[FORCE], buffers.vectors[STIFFNESS], buffers.vectors[MOVES]
    return solve_fixed_mode_motion(
        arm.robot, q, v, force, stiffness, moves, wrenches, buffers.work, buffers.factor, motion
    )


@by_class
def fixed_mode_motions(
    kind: Separable, numbers: Array, q: Array, v: Array, force: Array, stiffness: Array, moves: Array, motions: Array
) -> bool:
    """The same for many arms (count, ...) on which no wrench acts; ``motions`` (count, 2, n) are without A.

    Returns True if it has done so; if not, as here, nothing in ``motions`` holds.
    """
    return False


@kernel
def _pose(state: State, buffers: Buffers) -> None:
    """Write the unconstrained motion to its rows."""
    rows, vectors = buffers.rows, buffers.vectors
    for j in range(rows.shape[0]):
        rows[j, FREE], rows[j, HELD] = vectors[UNCONSTRAINED_VELOCITY, j], vectors[CARRIED, j]
        buffers.modes[j] = state.modes[j]


@kernel
def motion_unchanged(state: State, buffers: Buffers) -> bool:
    """True if friction and limits leave the unconstrained motion as it is."""
    _pose(state, buffers)
    admit(buffers.rows, buffers.modes)
    return modes_unchanged(buffers.rows, buffers.modes)


@kernel
def solve_separable(joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """Solve for friction and limits; write position, velocity and impulse after it to the buffers.

    A joint that was and stays at rest keeps the very bits of its position, and none goes past a limit:
    q+ = q_free + half (v+ - v_free). Returns the linear systems solved and the residual.
    """
    rows, vectors = buffers.rows, buffers.vectors
    _pose(state, buffers)
    solves, error = solve(buffers.motion[2:], rows, buffers.modes, buffers.factor, vectors[SCRATCH])
    for j in range(rows.shape[0]):
        q, v = state.position[j], rows[j, ROW_VELOCITY]
        vectors[VELOCITY, j], vectors[CARRIED, j] = v, rows[j, IMPULSE]
        place = pinned(joints, buffers, j, state.velocity[j] == 0.0, q)
        if math.isnan(place):
            lowest, highest = min(q, joints.ranges[j, LOWEST]), max(q, joints.ranges[j, HIGHEST])
            moved = vectors[UNCONSTRAINED_POSITION, j] + half * (v - rows[j, FREE])
            place = moved if math.isnan(moved) else min(max(moved, lowest), highest)
        vectors[POSITION, j] = place
    return solves, error


@by_class
def solve_friction(kind: Separable, joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """``solve_separable``, or what other kinds of arms have in its place."""
    return solve_separable(joints, half, state, buffers)


LANES = 16
"""Arms in a block: with more, what they keep leaves the nearest cache."""


class Block(NamedTuple):
    """What a block of arms keeps between the two parts of a step; the first axis has LANES places."""

    rows: Array  # (LANES, K, ROW_SIZE)
    vectors: Array  # (LANES, VECTORS, n)
    modes: IntArray  # (LANES, K)
    force: Array  # (LANES, n)
    stiffness: Array  # (LANES, n)
    moves: Array  # (LANES, n)
    motions: Array  # (LANES, 2, n) acceleration and reaction
    done: NDArray[np.bool_]  # (LANES,) whether the step has been taken


def make_block(n: int, rows: int) -> Block:
    """Scratch arrays for arms of ``n`` coordinates and so many rows."""
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
    """Pose the problems of arms from ``first`` on under ``tau`` (arms, n); write inputs of ``fixed_mode_motions``."""
    for k in range(tau.shape[0]):
        own, state = joints_of(joints, batch, first + k), state_of(batch, first + k)
        vectors, scratch = block.vectors[k], _scratch(buffers, block, k)
        pose_problem(own, dt, tau[k], state, scratch)
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
    """Renew the states of arms where friction and limits leave the unconstrained motion as it is; count their steps.

    The others, and all where the unconstrained motions could not be computed ``together``, are left to be done alone.
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
                renew(state, scratch, 0, 0.0)
                outcomes[k, 2] += 1
