"""Arms whose free motions are computed at once: what comes before and after, arm by arm."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.arrays import FORCE, MOVES, OK, STIFFNESS, VECTORS, Buffers, Crowd, Joints, State
from robot_dynamics_ros.simulation.free_motion import go_freely, pose_problem, subtract_smooth_friction
from robot_dynamics_ros.simulation.friction_step import renew
from robot_dynamics_ros.simulation.separable import goes_on_freely, settle
from robot_dynamics_ros.simulation.stick_slip import LINE_SIZE

LANES = 16
"""Arms in a block: with more, what they keep leaves the nearest cache."""


class Block(NamedTuple):
    """What a block of arms keeps between the two parts of a step; the first axis has LANES places."""

    lines: Array  # (LANES, K, LINE_SIZE)
    vectors: Array  # (LANES, VECTORS, n)
    pattern: IntArray  # (LANES, K)
    force: Array  # (LANES, n)
    stiffness: Array  # (LANES, n)
    moves: Array  # (LANES, n)
    motions: Array  # (LANES, 2, n) acceleration and reaction
    done: NDArray[np.bool_]  # (LANES,) whether the step has been taken


@allocating_kernel
def make_block(n: int, lines: int) -> Block:
    """Scratch arrays for arms of ``n`` coordinates and so many lines."""
    return Block(
        np.empty((LANES, lines, LINE_SIZE)),
        np.empty((LANES, VECTORS, n)),
        np.empty((LANES, lines), np.int64),
        np.empty((LANES, n)),
        np.empty((LANES, n)),
        np.empty((LANES, n)),
        np.empty((LANES, 2, n)),
        np.empty(LANES, np.bool_),
    )


@kernel
def begin_steps(
    joints: Joints, dt: float, tau: Array, crowd: Crowd, first: int, buffers: Buffers, block: Block
) -> None:
    """Pose the problems of arms ``first`` and on, ``tau`` (arms, n), and write what their free motions depend on."""
    for k in range(tau.shape[0]):
        i = first + k
        own = Joints(crowd.friction[i], joints.lines, joints.factors, joints.ranges, joints.directions)
        state = State(crowd.position[i], crowd.velocity[i], crowd.pattern[i], crowd.impulse[i])
        vectors = block.vectors[k]
        scratch = Buffers(
            buffers.work, block.lines[k], block.pattern[k], buffers.motion, buffers.spare, buffers.factor, vectors
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
    crowd: Crowd,
    first: int,
    buffers: Buffers,
    block: Block,
) -> None:
    """Renew the states of arms where friction and limits leave the free motion as it is; count their steps.

    The others, and all where the free motions could not be computed ``together``, are left to be done alone.
    """
    for k in range(outcomes.shape[0]):
        i, motion = first + k, block.motions[k]
        block.done[k] = together and outcomes[k, 0] == OK
        for j in range(motion.shape[1]):
            block.done[k] = block.done[k] and math.isfinite(motion[0, j])
        if block.done[k]:
            state = State(crowd.position[i], crowd.velocity[i], crowd.pattern[i], crowd.impulse[i])
            scratch = Buffers(
                buffers.work,
                block.lines[k],
                block.pattern[k],
                buffers.motion,
                buffers.spare,
                buffers.factor,
                block.vectors[k],
            )
            go_freely(dt, state, motion, scratch)
            block.done[k] = goes_on_freely(state, scratch)
            if block.done[k]:
                settle(joints, dt, state, scratch)
                renew(state, scratch, 0, 0.0)
                outcomes[k, 2] += 1
