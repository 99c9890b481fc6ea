"""Closed loops within a step: what is measured of them, and the way back to where they are closed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.kernels.loops import Loops, measure_loops, unpack_loops
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.simulation.arrays import POSITION, VELOCITY, Arm, Buffers, State
from robot_dynamics_ros.simulation.closure import let_through, minimise, stop_exactly
from robot_dynamics_ros.simulation.coupled import line_ends
from robot_dynamics_ros.simulation.elimination import contains
from robot_dynamics_ros.simulation.free_motion import along
from robot_dynamics_ros.simulation.stick_slip import BACKWARD, FORWARD, STUCK, WALL_LOWER
from robot_dynamics_ros.simulation.stick_slip import LOWER as LEAST
from robot_dynamics_ros.simulation.stick_slip import UPPER as MOST

_CORRECTIONS = 10  # of positions after a step, at most; two are usual
_SETTLED = 1e-13  # m, and m or rad: smaller corrections change nothing


class Chain(NamedTuple):
    """The loops, what was last measured of them, and their impulse in the step so far."""

    loops: Loops
    world: Array  # (bodies, 12) scratch
    gap: Array  # (3 loops,)
    jacobian: Array  # (3 loops, n)
    drift: Array  # (3 loops,)
    wanted: Array  # (3 loops,) scratch
    impulse: Array  # (3 loops,)


@allocating_kernel
def make_chain(arm: Arm, n: int) -> Chain:
    """The chain of an arm with loops at the beginning of a step."""
    loops = unpack_loops(arm.structure, arm.numbers)
    rows, bodies = 3 * loops.bodies.shape[0], arm.robot.bodies.shape[0]
    gap, drift, wanted, impulse = np.empty(rows), np.empty(rows), np.empty(rows), np.zeros(rows)
    return Chain(loops, np.empty((bodies, 12)), gap, np.empty((rows, n)), drift, wanted, impulse)


@kernel
def measure(arm: Arm, q: Array, v: Array, buffers: Buffers, chain: Chain) -> None:
    """Write gap, Jacobian and drift at q, v (n,) to ``chain``."""
    measure_loops(arm.robot, chain.loops, q, v, buffers.work, chain.world, chain.gap, chain.jacobian, chain.drift)


@kernel
def _only_coordinate(direction: Array) -> int:
    """Which coordinate a line is, or -1."""
    found = -1
    for j in range(direction.shape[0]):
        if direction[j] != 0.0:
            if direction[j] != 1.0 or found >= 0:
                return -1
            found = j
    return found


@allocating_kernel
def close_positions(arm: Arm, state: State, buffers: Buffers, chain: Chain) -> None:
    """Take the position after the step back to the closed loops; what is held or at a limit stays there."""
    directions, matrix, n = arm.joints.directions, buffers.motion[2:], state.position.shape[0]
    position, velocity = buffers.vectors[POSITION], buffers.vectors[VELOCITY]
    ends, count = line_ends(arm.joints, state, buffers), buffers.lines.shape[0]
    chosen, wanted = np.zeros(count, np.bool_), np.empty(count)
    change, none = np.zeros(n), np.zeros(n)
    for _ in range(_CORRECTIONS):
        measure(arm, position, velocity, buffers, chain)
        for i in range(chain.gap.shape[0]):
            chain.wanted[i] = -chain.gap[i]
        for k in range(count):
            chosen[k] = not math.isnan(ends[k])
            wanted[k] = ends[k] - along(directions, k, position)
        minimise(matrix, none, let_through(chain.jacobian, chain.wanted, n), directions, chosen, wanted, change)
        largest = 0.0
        for j in range(n):
            position[j] += change[j]
            largest = max(largest, abs(change[j]))
        more = line_ends(arm.joints, state, buffers)
        beyond = False
        for k in range(count):
            # Closing the loops may take others past their limits.
            if math.isnan(ends[k]) and not math.isnan(more[k]):
                ends[k], beyond = more[k], True
        if not (beyond or largest > _SETTLED):
            break
    for k in range(ends.shape[0]):
        j = _only_coordinate(directions[k])
        if j >= 0 and abs(position[j] - ends[k]) <= _SETTLED:
            position[j] = ends[k]


@allocating_kernel
def close_velocities(arm: Arm, buffers: Buffers, chain: Chain) -> None:
    """Take the velocity to what the loops let through where they were measured last; what is held stays so."""
    directions, lines, matrix = arm.joints.directions, buffers.lines, buffers.motion[2:]
    velocity, count = buffers.vectors[VELOCITY], buffers.lines.shape[0]
    chosen, targets = np.zeros(count, np.bool_), np.zeros(count)
    momentum = np.empty(velocity.shape[0])
    for k in range(count):
        segment = buffers.pattern[k]
        chosen[k] = segment != FORWARD and segment != BACKWARD
        if chosen[k] and segment != STUCK:
            targets[k] = lines[k, LEAST if segment == WALL_LOWER else MOST]
    for i in range(velocity.shape[0]):
        momentum[i] = along(matrix, i, velocity)
    chain.wanted[:] = 0.0
    motions = let_through(chain.jacobian, chain.wanted, velocity.shape[0])
    _, equations = minimise(matrix, momentum, motions, directions, chosen, targets, velocity)
    if equations.rank > 0:
        for k in range(count):
            chosen[k] = contains(equations.members, equations.rank, k)
        stop_exactly(motions, directions, chosen, targets, velocity)
