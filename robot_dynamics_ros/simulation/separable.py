"""What a step does for arms each of whose joints follows one coordinate.

Customised code puts one robot's own ``fixed_mode_motion`` and ``fixed_mode_motions`` in their place (see steps).
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.kernels.compilation import allocating_kernel, inlined, kernel
from robot_dynamics_ros.kernels.forward_dynamics import solve_fixed_mode_motion
from robot_dynamics_ros.kernels.layout import WORK_SIZE, unpack
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.simulation.arrays import (
    CARRIED,
    FORCE,
    HIGHEST,
    LOWEST,
    MOVES,
    POSITION,
    SCRATCH,
    STIFFNESS,
    UNCONSTRAINED_POSITION,
    UNCONSTRAINED_VELOCITY,
    VELOCITY,
    Arm,
    Buffers,
    Joints,
    State,
)
from robot_dynamics_ros.simulation.step_stages import pinned
from robot_dynamics_ros.simulation.stick_slip import FREE, HELD, IMPULSE, admit, modes_unchanged, solve
from robot_dynamics_ros.simulation.stick_slip import VELOCITY as ROW_VELOCITY


@inlined
def fixed_mode_motion(arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array) -> int:
    """Write acceleration, reaction of the joints at rest, and A = M + dt B to ``motion``.

    Returns -1, or the coordinate at which A is found not positive definite.
    """
    force, stiffness, moves = buffers.vectors[FORCE], buffers.vectors[STIFFNESS], buffers.vectors[MOVES]
    return solve_fixed_mode_motion(
        arm.robot, q, v, force, stiffness, moves, wrenches, buffers.work, buffers.factor, motion
    )


@allocating_kernel
def fixed_mode_motions(
    arm: Arm, numbers: Array, q: Array, v: Array, force: Array, stiffness: Array, moves: Array, motions: Array
) -> bool:
    """The same for many arms (count, ...) on which no wrench acts; ``motions`` (count, 2, n) are without A.

    Returns whether each A is positive definite; if not, nothing in ``motions`` holds.
    """
    n, nothing = q.shape[1], np.empty((0, 6))
    work, factor, motion = np.empty((arm.robot.tree.shape[0], WORK_SIZE)), np.empty((n, n)), np.empty((2 + n, n))
    for k in range(q.shape[0]):
        robot = unpack(arm.structure, numbers[k])
        if (
            solve_fixed_mode_motion(robot, q[k], v[k], force[k], stiffness[k], moves[k], nothing, work, factor, motion)
            >= 0
        ):
            return False
        motions[k] = motion[:2]
    return True


@kernel
def _pose(state: State, buffers: Buffers) -> None:
    """Write the unconstrained motion to its rows."""
    rows, vectors = buffers.rows, buffers.vectors
    for j in range(rows.shape[0]):
        rows[j, FREE], rows[j, HELD] = vectors[UNCONSTRAINED_VELOCITY, j], vectors[CARRIED, j]
        buffers.modes[j] = state.modes[j]


@kernel
def motion_unchanged(state: State, buffers: Buffers) -> bool:
    """Whether friction and limits leave the unconstrained motion as it is."""
    _pose(state, buffers)
    admit(buffers.rows, buffers.modes)
    return modes_unchanged(buffers.rows, buffers.modes)


@kernel
def solve_friction(joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
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
