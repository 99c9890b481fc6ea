"""Friction step of arms with closed loops, with projection of position and velocity to the loop constraints.

A loop holds a point of link a at a point of link b. ``arm``, ``state`` and ``buffers`` are the tuples Arm, State and
Buffers of arrays, and ``loops`` is a LoopState. Constraint rows are the directions in which friction and limits
act. A (n, n) is the mass matrix, with semi_implicit plus the step size times the slope of smooth friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.kinematics import (
    Loops,
    measure_loops,
    unpack_loops,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.loops.closure import (
    add_loop_forces,
    expand_motion,
    minimise,
    null_space,
    reduced_matrix,
    reduced_rows,
    reduced_vector,
    round_to_targets,
)
from robot_dynamics_ros.simulation.step import row, vector
from robot_dynamics_ros.simulation.step.arrays import (
    LOOP_OPEN,
    OK,
    Arm,
    Buffers,
    Looped,
    Outcome,
    State,
)
from robot_dynamics_ros.simulation.step.coupled import Problem, solve_coupled
from robot_dynamics_ros.simulation.step.coupled_step import row_targets, set_up_motion
from robot_dynamics_ros.simulation.step.elimination import contains, multiplier
from robot_dynamics_ros.simulation.step.stages import row_product, update_state

# Newton iterations of the position projection, at most; two are usual
_MAX_CORRECTIONS = 10
_CONVERGED = 1e-13  # m or rad: convergence tolerance of the position projection


class LoopState(NamedTuple):
    """Loops of an arm, their constraint errors at the last evaluated state, and their impulse in this step.

    Attributes
    ----------
    loops
        Bodies and points of the loops.
    world
        (bodies, 12): scratch.
    gap
        (3 loops,): vector from point a to point b of each loop in root axes, m.
    jacobian
        (3 loops, n): derivative of ``gap`` by q.
    drift
        (3 loops,): second derivative of ``gap`` by time at zero joint acceleration, m/s^2.
    impulse
        (3 loops,): impulse of link a of each loop on link b in this step, root axes, N s.
    rank
        (1,): number of independent loop constraints at the start of the step; n + 1 before it is known. Overconstrained
        mechanisms have a higher rank at the intermediate states of rk4.
    """

    loops: Loops
    world: Array
    gap: Array
    jacobian: Array
    drift: Array
    impulse: Array
    rank: IntArray


@allocating_kernel
def make_loop_state(arm: Arm) -> LoopState:
    """Return the loop state of an arm at the beginning of a step.

    The impulse is 0 and the rank n + 1, which means unknown; gap, Jacobian and drift are uninitialised until
    ``measure``.
    """
    loops = unpack_loops(arm.structure, arm.numbers)
    size = 3 * loops.bodies.shape[0]
    n = arm.joints.directions.shape[1]
    world = np.empty((arm.robot.bodies.shape[0], 12))
    gap = np.empty(size)
    drift = np.empty(size)
    return LoopState(
        loops, world, gap, np.empty((size, n)), drift, np.zeros(size), np.full(1, n + 1)
    )


@kernel
def measure(arm: Arm, q: Array, v: Array, loops: LoopState, buffers: Buffers) -> None:
    """Write gap, Jacobian and drift at ``q``, ``v`` (n,) to ``loops``.

    The field ``work`` of ``buffers`` is scratch.
    """
    measure_loops(
        arm.robot,
        loops.loops,
        q,
        v,
        buffers.work,
        loops.world,
        loops.gap,
        loops.jacobian,
        loops.drift,
    )


@kernel
def _only_coordinate(direction: Array) -> int:
    """Return the coordinate that a row consists of, or -1 if the row combines several or scales one."""
    coordinate = -1
    for j in range(direction.shape[0]):
        if direction[j] != 0.0:
            if direction[j] != 1.0 or coordinate >= 0:
                return -1
            coordinate = j
    return coordinate


# Newton's method on the gaps of the loops. Each correction is the least in kinetic energy, the metric A, among those
# that close the linearised loops and keep the positions of stuck rows and of rows at a limit.
@allocating_kernel
def close_positions(arm: Arm, state: State, loops: LoopState, buffers: Buffers) -> None:
    """Change the new position in ``buffers`` so that the loops are closed, by the least change in the metric A.

    Constraint rows that stick or are at a limit keep their positions. ``state`` is that before the step. Afterwards
    ``loops`` has the remaining gap, which the caller has to check.
    """
    directions = arm.joints.directions
    matrix = buffers.motion[2:]
    n = state.position.shape[0]
    position = buffers.vectors[vector.POSITION]
    velocity = buffers.vectors[vector.VELOCITY]
    ends = row_targets(arm.joints, state, buffers)
    count = buffers.rows.shape[0]
    required = np.empty(count)
    change = np.zeros(n)
    none = np.zeros(n)
    for _ in range(_MAX_CORRECTIONS):
        measure(arm, position, velocity, loops, buffers)
        chosen = ~np.isnan(ends)
        for k in range(count):
            required[k] = ends[k] - row_product(directions, k, position)
        motions = null_space(loops.jacobian, -loops.gap, n)
        minimise(matrix, none, motions, directions, chosen, required, change)
        position += change
        # The projection may move further rows past their limits.
        more = np.where(chosen, ends, row_targets(arm.joints, state, buffers))
        beyond = np.isnan(more).sum() < np.isnan(ends).sum()
        ends = more
        if not (beyond or np.abs(change).max() > _CONVERGED):
            break
    for k in range(ends.shape[0]):
        j = _only_coordinate(directions[k])
        if j >= 0 and abs(position[j] - ends[k]) <= _CONVERGED:
            position[j] = ends[k]


@allocating_kernel
def close_velocities(arm: Arm, loops: LoopState, buffers: Buffers) -> None:
    """Change the new velocity in ``buffers`` so that the loops stay closed, that is, G v = 0 for the loops' Jacobian G.

    Constraint rows that stick or are at a limit keep their velocities. ``loops`` has been measured at the new
    position.
    """
    directions = arm.joints.directions
    rows = buffers.rows
    matrix = buffers.motion[2:]
    velocity = buffers.vectors[vector.VELOCITY]
    count = buffers.rows.shape[0]
    chosen = np.zeros(count, np.bool_)
    targets = np.zeros(count)
    momentum = np.empty(velocity.shape[0])
    for k in range(count):
        chosen[k] = not row.slips(buffers.modes[k])
        targets[k] = row.target_velocity(rows, k, buffers.modes[k])
    for i in range(velocity.shape[0]):
        momentum[i] = row_product(matrix, i, velocity)
    motions = null_space(
        loops.jacobian, np.zeros(loops.gap.shape[0]), velocity.shape[0]
    )
    _, equations = minimise(
        matrix, momentum, motions, directions, chosen, targets, velocity
    )
    if equations.rank > 0:
        for k in range(count):
            chosen[k] = contains(equations.members, equations.rank, k)
        round_to_targets(motions, directions, chosen, targets, velocity)


MAX_GAP = 1e-5
"""Largest gap (m) of a closed loop."""


@allocating_kernel
def _unconstrained_motion(
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    loops: LoopState,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Overload of ``separable.fixed_mode_motion``, which also sets the rank of the loops in the first stage."""
    joints = arm.joints
    q = buffers.vectors[vector.POSITION]
    v = buffers.vectors[vector.VELOCITY]
    n = v.shape[0]
    measure(arm, q, v, loops, buffers)
    motions = null_space(loops.jacobian, -loops.drift, loops.rank[0])
    loops.rank[0] = motions.dependent.shape[0] if loops.rank[0] > n else loops.rank[0]
    set_up_motion(arm, dt, wrenches, buffers, motion)
    acceleration = motion[0]
    load = motion[1]
    matrix = motion[2:]
    at_rest = buffers.rows[:, row.AT_REST] > 0.0
    failed, equations = minimise(
        matrix,
        load,
        motions,
        joints.directions,
        at_rest,
        np.zeros(at_rest.shape[0]),
        acceleration,
    )
    if failed >= 0:
        return failed
    left = np.empty(n)
    for i in range(n):
        left[i] = row_product(matrix, i, acceleration) - load[i]
    motion[1, :] = 0.0
    pull = reduced_vector(left, motions.basis)
    for i in range(equations.rank):
        share = multiplier(equations, pull, i)
        for j in range(n):
            motion[1, j] += share * joints.directions[equations.members[i], j]
    for j in range(n):
        left[j] -= motion[1, j]
    add_loop_forces(loops.jacobian, motions.dependent, left, weight, loops.impulse)
    return -1


# Velocities that keep the loops closed are v = B u, with u the independent coordinates. Substitution gives the friction
# problem of a coupled arm with coordinates u, matrix B^T A B and directions E B.
@allocating_kernel
def _solve_friction(
    arm: Arm, state: State, loops: LoopState, buffers: Buffers
) -> tuple[int, float]:
    """Solve the friction problem in the null space of the loops; write velocity and impulse, add the loops' impulse.

    The unconstrained velocity is first projected to that null space. Returns the number of linear systems
    solved and the residual, rad/s or m/s.
    """
    vectors = buffers.vectors
    rows = buffers.rows
    n = state.position.shape[0]
    directions = arm.joints.directions
    matrix = buffers.motion[2:]
    free = vectors[vector.UNCONSTRAINED_VELOCITY]
    velocity = vectors[vector.VELOCITY]
    prior_impulse = vectors[vector.CONSTRAINT_IMPULSE]
    measure(arm, vectors[vector.UNCONSTRAINED_POSITION], free, loops, buffers)
    motions = null_space(loops.jacobian, np.zeros(loops.gap.shape[0]), loops.rank[0])
    small = reduced_matrix(matrix, motions.basis)
    left = np.empty(n)
    count = motions.free.shape[0]
    for i in range(n):
        left[i] = row_product(matrix, i, free)
    start = reduced_vector(left, motions.basis)
    factor = small.copy()
    if factorise(factor) >= 0:
        start[:] = math.nan
    solve_factorised(factor, start)
    for k in range(rows.shape[0]):
        buffers.modes[k] = state.modes[k]
        rows[k, row.IMPULSE] = rows[k, row.VELOCITY] = rows[k, row.FRICTIONLESS] = 0.0
    u = np.zeros(count)
    solves = 0
    error = 0.0
    if count > 0:
        prior = reduced_vector(prior_impulse, motions.basis)
        reduced = reduced_rows(directions, motions.basis)
        solves, error = solve_coupled(
            Problem(small, reduced, rows, buffers.modes, start, prior), u
        )
    row.label_modes(rows, buffers.modes)
    expand_motion(motions, u, velocity)
    for i in range(n):
        left[i] = (
            prior_impulse[i]
            - row_product(matrix, i, free)
            + row_product(matrix, i, velocity)
        )
        prior_impulse[i] = 0.0
        for k in range(rows.shape[0]):
            prior_impulse[i] += directions[k, i] * rows[k, row.IMPULSE]
        left[i] -= prior_impulse[i]
    add_loop_forces(loops.jacobian, motions.dependent, left, 1.0, loops.impulse)
    return solves, error


@allocating_kernel
def _finish(
    arm: Arm, half: float, state: State, loops: LoopState, buffers: Buffers
) -> Outcome:
    """Solve the friction problem, project to the loops and update the state; coordinates at rest do not change."""
    vectors = buffers.vectors
    n = state.position.shape[0]
    position = vectors[vector.POSITION]
    velocity = vectors[vector.VELOCITY]
    q_free = vectors[vector.UNCONSTRAINED_POSITION]
    v_free = vectors[vector.UNCONSTRAINED_VELOCITY]
    solves, error = _solve_friction(arm, state, loops, buffers)
    if not (np.all(state.velocity == 0.0) and np.all(velocity == 0.0)):
        position[:] = q_free + half * (velocity - v_free)
        close_positions(arm, state, loops, buffers)
        close_velocities(arm, loops, buffers)
        for i in range(loops.gap.shape[0]):
            if abs(loops.gap[i]) > MAX_GAP:
                return LOOP_OPEN, i // 3, solves, error
    for j in range(n):
        if state.velocity[j] == 0.0 and velocity[j] == 0.0:
            position[j] = state.position[j]
    outcome = update_state(state, buffers, solves, error)
    if outcome[0] == OK:
        state.impulse[n:] = loops.impulse
    return outcome


def start_loops(kind: Looped, arm: Arm) -> LoopState:
    """Overload of ``separable.start_loops``."""
    return make_loop_state(arm)


def fixed_mode_motion(
    kind: Looped,
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    loops: LoopState,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Overload of ``separable.fixed_mode_motion``."""
    return _unconstrained_motion(arm, dt, weight, wrenches, loops, buffers, motion)


def finish_step(
    kind: Looped,
    arm: Arm,
    half: float,
    state: State,
    loops: LoopState,
    buffers: Buffers,
) -> Outcome:
    """Overload of ``separable.finish_step``."""
    return _finish(arm, half, state, loops, buffers)
