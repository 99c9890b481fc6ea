"""The end of a step: where lines end, and the new state."""

from __future__ import annotations

import math

from robot_dynamics_ros.kernels.cholesky import factorise
from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.simulation.arrays import (
    CARRIED,
    FASTEST,
    HIGHEST,
    LOWEST,
    NOT_FINITE,
    NOT_POSITIVE_DEFINITE,
    OK,
    POSITION,
    VELOCITY,
    Buffers,
    Joints,
    Outcome,
    State,
)
from robot_dynamics_ros.simulation.stick_slip import LOWER, STUCK, UPPER, WALL_LOWER, WALL_UPPER


@kernel
def pinned(joints: Joints, buffers: Buffers, k: int, rested: bool, y: float) -> float:
    """Where line k ends exactly: at its limit, or where it was; NaN where neither holds."""
    state, lines, ranges = buffers.pattern[k], buffers.lines, joints.ranges
    if state == STUCK and rested:
        return y
    # A wall may also be that of the largest speed.
    if state == WALL_LOWER and lines[k, LOWER] > -ranges[k, FASTEST]:
        return float(min(y, ranges[k, LOWEST]))
    if state == WALL_UPPER and lines[k, UPPER] < ranges[k, FASTEST]:
        return float(max(y, ranges[k, HIGHEST]))
    return math.nan


@kernel
def renew(state: State, buffers: Buffers, solves: int, error: float) -> Outcome:
    """Take over position, velocity, impulse and pattern from the buffers, unless they are not finite."""
    vectors = buffers.vectors
    for j in range(vectors.shape[1]):
        if not (math.isfinite(vectors[POSITION, j]) and math.isfinite(vectors[VELOCITY, j])):
            bad = factorise(buffers.motion[2:])
            return (NOT_POSITIVE_DEFINITE, bad, solves, error) if bad >= 0 else (NOT_FINITE, j, solves, error)
    for j in range(vectors.shape[1]):
        state.position[j], state.velocity[j] = vectors[POSITION, j], vectors[VELOCITY, j]
        state.impulse[j] = vectors[CARRIED, j]
    for k in range(buffers.pattern.shape[0]):
        state.pattern[k] = buffers.pattern[k]
    return OK, -1, solves, error
