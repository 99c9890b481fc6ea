"""Friction step of arms with closed loops, with projection of position and velocity to the loop constraints.

A loop holds a point of link a at a point of link b. ``arm``, ``state`` and ``buffers`` are the tuples Arm, State and
Buffers of arrays, and ``loop_state`` is a LoopState. Constraint rows are the directions in which friction and limits
act. A (n, n) is the mass matrix, with semi_implicit plus the step size times the slope of smooth friction.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.kinematics import Loops, measure_loops, unpack_loops
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.simulation.arrays import (
    CONSTRAINT_IMPULSE,
    LOOP_OPEN,
    OK,
    POSITION,
    UNCONSTRAINED_POSITION,
    UNCONSTRAINED_VELOCITY,
    VELOCITY,
    Arm,
    Buffers,
    Looped,
    Outcome,
    State,
)
from robot_dynamics_ros.simulation.coupled import row_targets, set_up_motion, solve_coupled
from robot_dynamics_ros.simulation.elimination import contains, multiplier
from robot_dynamics_ros.simulation.integrators import RK4, plant_step, step
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
from robot_dynamics_ros.simulation.step_stages import (
    add_reaction_impulse,
    check_motion,
    raise_bounds_at_reversal,
    row_product,
    set_up_problem,
    subtract_smooth_friction,
    update_state,
)
from robot_dynamics_ros.simulation.stick_slip import AT_REST, FRICTIONLESS, IMPULSE, label_modes, slips, target_velocity
from robot_dynamics_ros.simulation.stick_slip import VELOCITY as ROW_VELOCITY

_MAX_CORRECTIONS = 10  # Newton iterations of the position projection, at most; two are usual
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
    """

    loops: Loops
    world: Array
    gap: Array
    jacobian: Array
    drift: Array
    impulse: Array


@allocating_kernel
def make_loop_state(arm: Arm, n: int) -> LoopState:
    """Return the loop state of an arm with ``n`` coordinates at the beginning of a step.

    The impulse is 0; the other results are uninitialised until ``measure``.
    """
    loops = unpack_loops(arm.structure, arm.numbers)
    size, bodies = 3 * loops.bodies.shape[0], arm.robot.bodies.shape[0]
    gap, drift, impulse = np.empty(size), np.empty(size), np.zeros(size)
    return LoopState(loops, np.empty((bodies, 12)), gap, np.empty((size, n)), drift, impulse)


@kernel
def measure(arm: Arm, q: Array, v: Array, buffers: Buffers, loop_state: LoopState) -> None:
    """Write gap, Jacobian and drift at ``q``, ``v`` (n,) to ``loop_state``.

    The field ``work`` of ``buffers`` is scratch.
    """
    loops, world, gap, jacobian, drift, _ = loop_state
    measure_loops(arm.robot, loops, q, v, buffers.work, world, gap, jacobian, drift)


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


@allocating_kernel
def close_positions(arm: Arm, state: State, buffers: Buffers, loop_state: LoopState) -> None:
    """Change the new position in ``buffers`` so that the loops are closed, by the least change in the metric A.

    Constraint rows that stick or are at a limit keep their positions. ``state`` is that before the step. Afterwards
    ``loop_state`` has the remaining gap, which the caller has to check.
    """
    directions, matrix, n = arm.joints.directions, buffers.motion[2:], state.position.shape[0]
    position, velocity = buffers.vectors[POSITION], buffers.vectors[VELOCITY]
    ends, count = row_targets(arm.joints, state, buffers), buffers.rows.shape[0]
    chosen, required = np.zeros(count, np.bool_), np.empty(count)
    change, none = np.zeros(n), np.zeros(n)
    for _ in range(_MAX_CORRECTIONS):
        measure(arm, position, velocity, buffers, loop_state)
        for k in range(count):
            chosen[k] = not math.isnan(ends[k])
            required[k] = ends[k] - row_product(directions, k, position)
        motions = null_space(loop_state.jacobian, -loop_state.gap, n)
        minimise(matrix, none, motions, directions, chosen, required, change)
        largest = 0.0
        for j in range(n):
            position[j] += change[j]
            largest = max(largest, abs(change[j]))
        more = row_targets(arm.joints, state, buffers)
        beyond = False
        for k in range(count):
            # The projection may move further rows past their limits.
            if math.isnan(ends[k]) and not math.isnan(more[k]):
                ends[k], beyond = more[k], True
        if not (beyond or largest > _CONVERGED):
            break
    for k in range(ends.shape[0]):
        j = _only_coordinate(directions[k])
        if j >= 0 and abs(position[j] - ends[k]) <= _CONVERGED:
            position[j] = ends[k]


@allocating_kernel
def close_velocities(arm: Arm, buffers: Buffers, loop_state: LoopState) -> None:
    """Change the new velocity in ``buffers`` so that the loops stay closed, that is, G v = 0 for the loops' Jacobian G.

    Constraint rows that stick or are at a limit keep their velocities. ``loop_state`` has been measured at the new
    position.
    """
    directions, rows, matrix = arm.joints.directions, buffers.rows, buffers.motion[2:]
    velocity, count = buffers.vectors[VELOCITY], buffers.rows.shape[0]
    chosen, targets = np.zeros(count, np.bool_), np.zeros(count)
    momentum = np.empty(velocity.shape[0])
    for k in range(count):
        chosen[k], targets[k] = not slips(buffers.modes[k]), target_velocity(rows, k, buffers.modes[k])
    for i in range(velocity.shape[0]):
        momentum[i] = row_product(matrix, i, velocity)
    motions = null_space(loop_state.jacobian, np.zeros(loop_state.gap.shape[0]), velocity.shape[0])
    _, equations = minimise(matrix, momentum, motions, directions, chosen, targets, velocity)
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
    duration: float,
    most: int,
    q: Array,
    v: Array,
    wrenches: Array,
    buffers: Buffers,
    loop_state: LoopState,
    motion: Array,
) -> tuple[int, int, int]:
    """Compute the unconstrained motion, and add the impulses of rows at rest and of loops over ``duration`` (s).

    At most ``most`` loop constraints count as independent, because overconstrained mechanisms have a higher
    rank at the intermediate states of rk4. Returns status, failing coordinate or -1, and the rank.
    """
    joints, n = arm.joints, v.shape[0]
    subtract_smooth_friction(joints, dt, v, buffers)
    measure(arm, q, v, buffers, loop_state)
    motions = null_space(loop_state.jacobian, -loop_state.drift, most)
    set_up_motion(arm, dt, q, v, wrenches, buffers, motion)
    acceleration, load, matrix = motion[0], motion[1], motion[2:]
    at_rest, rest = np.zeros(buffers.rows.shape[0], np.bool_), np.zeros(buffers.rows.shape[0])
    for k in range(rest.shape[0]):
        at_rest[k] = buffers.rows[k, AT_REST] > 0.0
    failed, equations = minimise(matrix, load, motions, joints.directions, at_rest, rest, acceleration)
    status, bad = check_motion(q, motion, failed)
    if status != OK:
        return status, bad, 0
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
    add_reaction_impulse(buffers, motion, duration)
    add_loop_forces(loop_state.jacobian, motions.dependent, left, duration, loop_state.impulse)
    return OK, -1, motions.dependent.shape[0]


@allocating_kernel
def _solve_friction(arm: Arm, most: int, state: State, buffers: Buffers, loop_state: LoopState) -> tuple[int, float]:
    """Solve the friction problem in the null space of the loops; write velocity and impulse, add the loops' impulse.

    The unconstrained velocity is first projected to that null space. Returns as ``solve_friction``.
    """
    vectors, rows, n = buffers.vectors, buffers.rows, state.position.shape[0]
    directions, matrix = arm.joints.directions, buffers.motion[2:]
    free, prior_impulse, velocity = vectors[UNCONSTRAINED_VELOCITY], vectors[CONSTRAINT_IMPULSE], vectors[VELOCITY]
    measure(arm, vectors[UNCONSTRAINED_POSITION], free, buffers, loop_state)
    motions = null_space(loop_state.jacobian, np.zeros(loop_state.gap.shape[0]), most)
    small, left, count = reduced_matrix(matrix, motions.basis), np.empty(n), motions.free.shape[0]
    for i in range(n):
        left[i] = row_product(matrix, i, free)
    start, factor = reduced_vector(left, motions.basis), small.copy()
    if factorise(factor) >= 0:
        start[:] = math.nan
    solve_factorised(factor, start)
    for k in range(rows.shape[0]):
        buffers.modes[k] = state.modes[k]
        rows[k, IMPULSE] = rows[k, ROW_VELOCITY] = rows[k, FRICTIONLESS] = 0.0
    u, solves, error = np.zeros(count), 0, 0.0
    if count > 0:
        held = reduced_vector(prior_impulse, motions.basis)
        reduced = reduced_rows(directions, motions.basis)
        solves, error = solve_coupled(small, reduced, rows, buffers.modes, start, held, u)
    label_modes(rows, buffers.modes)
    expand_motion(motions, u, velocity)
    for i in range(n):
        left[i] = prior_impulse[i] - row_product(matrix, i, free) + row_product(matrix, i, velocity)
        prior_impulse[i] = 0.0
        for k in range(rows.shape[0]):
            prior_impulse[i] += directions[k, i] * rows[k, IMPULSE]
        left[i] -= prior_impulse[i]
    add_loop_forces(loop_state.jacobian, motions.dependent, left, 1.0, loop_state.impulse)
    return solves, error


@allocating_kernel
def _finish(
    arm: Arm, dt: float, half: float, most: int, state: State, buffers: Buffers, loop_state: LoopState
) -> Outcome:
    """Solve the friction problem, project to the loops and update the state; coordinates at rest do not change."""
    vectors, n = buffers.vectors, state.position.shape[0]
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    raise_bounds_at_reversal(arm.joints, dt, state, buffers)
    solves, error = _solve_friction(arm, most, state, buffers, loop_state)
    if not (np.all(state.velocity == 0.0) and np.all(velocity == 0.0)):
        for j in range(n):
            position[j] = vectors[UNCONSTRAINED_POSITION, j] + half * (velocity[j] - vectors[UNCONSTRAINED_VELOCITY, j])
        close_positions(arm, state, buffers, loop_state)
        close_velocities(arm, buffers, loop_state)
        for i in range(loop_state.gap.shape[0]):
            if abs(loop_state.gap[i]) > MAX_GAP:
                return LOOP_OPEN, i // 3, solves, error
    for j in range(n):
        if state.velocity[j] == 0.0 and velocity[j] == 0.0:
            position[j] = state.position[j]
    outcome = update_state(state, buffers, solves, error)
    if outcome[0] == OK:
        for i in range(loop_state.impulse.shape[0]):
            state.impulse[n + i] = loop_state.impulse[i]
    return outcome


@allocating_kernel
def _take_step(
    arm: Arm, integrator: int, dt: float, tau: Array, wrenches: Array, state: State, buffers: Buffers
) -> Outcome:
    """Take a step like ``integrators.rk4_step`` (four stages) or ``integrators.semi_implicit_step`` (one stage)."""
    q, v, vectors, n = state.position, state.velocity, buffers.vectors, state.position.shape[0]
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    loop_state, most = make_loop_state(arm, n), n
    stages, implicit, half = (4, 0.0, 0.5 * dt) if integrator == RK4 else (1, dt, dt)
    set_up_problem(arm.joints, dt, tau, state, buffers)
    for j in range(n):
        position[j], velocity[j] = q[j], v[j]
        vectors[UNCONSTRAINED_POSITION, j], vectors[UNCONSTRAINED_VELOCITY, j] = q[j], v[j]
    for stage in range(stages):
        motion = buffers.motion if stage == 0 else buffers.spare
        weight = dt if stages == 1 else dt / 3.0 if stage == 1 or stage == 2 else dt / 6.0
        status, bad, rank = _unconstrained_motion(
            arm, implicit, weight, most, position, velocity, wrenches, buffers, loop_state, motion
        )
        if status != OK:
            return status, bad, 0, 0.0
        most = rank if stage == 0 else most
        ahead = dt if stage == 2 else 0.5 * dt
        for j in range(n):
            vectors[UNCONSTRAINED_POSITION, j] += weight * velocity[j]
            vectors[UNCONSTRAINED_VELOCITY, j] += weight * motion[0, j]
            position[j] = q[j] + ahead * velocity[j]
            velocity[j] = v[j] + ahead * motion[0, j]
    if stages == 1:
        for j in range(n):
            vectors[UNCONSTRAINED_POSITION, j] = q[j] + dt * vectors[UNCONSTRAINED_VELOCITY, j]
    return _finish(arm, dt, half, most, state, buffers, loop_state)


def _step(
    kind: Looped, arm: Arm, integrator: int, dt: float, tau: Array, wrenches: Array, state: State, buffers: Buffers
) -> Outcome:
    return _take_step(arm, integrator, dt, tau, wrenches, state, buffers)


step.register(Looped, _step)


@kernel
def looped_step(*arrays: Any) -> int:
    """Take steps of an arm with closed loops, and return the status: OK or an error constant of arrays.

    ``arrays`` are the arguments of ``integrators.plant_step`` after ``kind``, in their order.
    """
    return plant_step(Looped(), *arrays)
