"""Arms whose unconstrained motions are computed at once: what comes before and after, arm by arm."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.arrays import (
    FORCE,
    MOVES,
    OK,
    STIFFNESS,
    VECTORS,
    BatchState,
    Buffers,
    Joints,
    State,
)
from robot_dynamics_ros.simulation.separable import motion_unchanged, solve_friction
from robot_dynamics_ros.simulation.step_stages import end_unconstrained, pose_problem, renew, subtract_smooth_friction
from robot_dynamics_ros.simulation.stick_slip import ROW_SIZE

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


@allocating_kernel
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


@kernel
def begin_steps(
    joints: Joints, dt: float, tau: Array, batch: BatchState, first: int, buffers: Buffers, block: Block
) -> None:
    """Pose the problems of arms from ``first`` on under ``tau`` (arms, n); write inputs of ``fixed_mode_motions``."""
    for k in range(tau.shape[0]):
        i = first + k
        own = Joints(batch.friction[i], joints.rows, joints.factors, joints.ranges, joints.directions)
        state = State(batch.position[i], batch.velocity[i], batch.modes[i], batch.impulse[i])
        vectors = block.vectors[k]
        scratch = Buffers(
            buffers.work, block.rows[k], block.modes[k], buffers.motion, buffers.spare, buffers.factor, vectors
        )
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
        i, motion = first + k, block.motions[k]
        block.done[k] = together and outcomes[k, 0] == OK
        for j in range(motion.shape[1]):
            block.done[k] = block.done[k] and math.isfinite(motion[0, j])
        if block.done[k]:
            state = State(batch.position[i], batch.velocity[i], batch.modes[i], batch.impulse[i])
            scratch = Buffers(
                buffers.work,
                block.rows[k],
                block.modes[k],
                buffers.motion,
                buffers.spare,
                buffers.factor,
                block.vectors[k],
            )
            end_unconstrained(dt, state, motion, scratch)
            block.done[k] = motion_unchanged(state, scratch)
            if block.done[k]:
                solve_friction(joints, dt, state, scratch)
                renew(state, scratch, 0, 0.0)
                outcomes[k, 2] += 1
