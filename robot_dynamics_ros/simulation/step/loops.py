"""Arms with closed loops: friction step with projection of position and velocity to the loop constraints.

A loop holds a point of link a at a point of link b. G (3 loops, n) is the Jacobian of the loop constraints. Velocities,
accelerations and changes of position x satisfy G x = b; the equations of the loops are the independent ones of these in
reduced form. K is the number of constraint rows, the directions E_k in which friction and limits act.

``arm``, ``state`` and ``buffers`` are the tuples Arm, State and Buffers of arrays. A (n, n) is the mass matrix, with
semi_implicit plus the step size times the slope of smooth friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import (
    allocating_kernel,
    kernel,
    threaded_kernel,
)
from robot_dynamics_ros.dynamics.kernels.kinematics import measure_loops, unpack_loops
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import arrays, integrators, row
from robot_dynamics_ros.simulation.step.arrays import (
    LOOP_OPEN,
    OK,
    Arm,
    Batch,
    Buffers,
    Outcome,
    State,
    StepInput,
)
from robot_dynamics_ros.simulation.step.elimination import (
    Equations,
    add_rows,
    eliminate,
    hold_at_rest,
    minimise,
    no_equations,
    project_position,
    satisfy,
)
from robot_dynamics_ros.simulation.step.friction_problem import (
    Problem,
    solve_modes,
)
from robot_dynamics_ros.simulation.step.stages import update_state, write_targets
from robot_dynamics_ros.simulation.step.trees import (
    Block,
    set_up_motion,
    solve_problem,
)
from robot_dynamics_ros.simulation.thresholds import (
    LARGEST_GAP,
    LOOP_RANK_TOLERANCE,
    PROJECTION_CONVERGED,
    PROJECTION_ITERATIONS,
)


class Closure(NamedTuple):
    """Constraint errors of the loops at a state.

    Attributes
    ----------
    gap
        (3 loops,): vector from point a to point b of each loop in root axes, m.
    jacobian
        (3 loops, n): derivative of ``gap`` by q.
    drift
        (3 loops,): second derivative of ``gap`` by time at zero joint acceleration, m/s^2.
    """

    gap: Array
    jacobian: Array
    drift: Array


@allocating_kernel
def _measure(arm: Arm, q: Array, v: Array, buffers: Buffers) -> Closure:
    """Return the constraint errors at ``q``, ``v`` (n,); the field ``work`` of ``buffers`` is scratch."""
    size = buffers.loop_impulse.shape[0]
    closure = Closure(np.empty(size), np.empty((size, q.shape[0])), np.empty(size))
    measure_loops(
        arm.robot,
        unpack_loops(arm.structure, arm.numbers),
        q,
        v,
        buffers.work,
        np.empty((arm.robot.bodies.shape[0], 12)),
        closure.gap,
        closure.jacobian,
        closure.drift,
    )
    return closure


# Full pivoting finds the rank: the constraints of a planar loop normal to its plane vanish, and so do those that other
# loops imply.
@allocating_kernel
def _loop_equations(jacobian: Array, required: Array, most: int) -> Equations:
    """Return the equations G x = ``required`` (3 loops,) in reduced form, with a rank of at most ``most``.

    G is ``jacobian`` (3 loops, n).
    """
    none = no_equations(jacobian.shape[1])
    every = np.ones(required.shape[0], np.bool_)
    return eliminate(none, jacobian, every, required, 3, LOOP_RANK_TOLERANCE, most)


@allocating_kernel
def add_loop_forces(
    closure: Closure, loops: Equations, torque: Array, weight: float, forces: Array
) -> None:
    """Add ``weight`` times the minimum-norm solution (3 loops,) of G^T x = ``torque`` (n,) to ``forces`` (3 loops,).

    ``loops`` are the equations of the loops.
    """
    rank = loops.rank
    columns = np.empty((rank, forces.shape[0]))
    gram = np.empty((rank, rank))
    share = np.empty(rank)
    for a in range(rank):
        columns[a] = closure.jacobian[:, loops.pivots[a]]
        share[a] = torque[loops.pivots[a]]
        for b in range(a + 1):
            gram[a, b] = row.product(columns, b, columns[a])
    if factorise(gram) < 0:
        solve_factorised(gram, share)
        for a in range(rank):
            forces += weight * share[a] * columns[a]


@allocating_kernel
def looped_motion(
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Compute ``fixed_mode_motion`` of an arm with loops, and the rank of the loops in the first stage."""
    rank = buffers.loop_rank
    vectors = buffers.vectors
    directions = arm.joints.directions
    closure = _measure(arm, vectors[arrays.POSITION], vectors[arrays.VELOCITY], buffers)
    loops = _loop_equations(closure.jacobian, -closure.drift, rank[0])
    if rank[0] > motion.shape[1]:
        rank[0] = loops.rank
    set_up_motion(arm, dt, wrenches, buffers, motion)
    failed, torque = hold_at_rest(loops, motion[2:], directions, buffers.rows, motion)
    if failed < 0:
        add_loop_forces(closure, loops, torque, weight, buffers.loop_impulse)
    return failed


@allocating_kernel
def _solve_problem(arm: Arm, buffers: Buffers) -> tuple[int, float]:
    """Solve the friction problem among the velocities that keep the loops closed at the unconstrained position.

    Writes velocity and impulse, and adds the loops' impulse. Returns the number of linear systems solved and the
    residual, rad/s or m/s.
    """
    vectors = buffers.vectors
    matrix = buffers.motion[2:]
    free = vectors[arrays.UNCONSTRAINED_VELOCITY]
    impulse = vectors[arrays.CONSTRAINT_IMPULSE]
    closure = _measure(arm, vectors[arrays.UNCONSTRAINED_POSITION], free, buffers)
    zero = np.zeros(closure.gap.shape[0])
    loops = _loop_equations(closure.jacobian, zero, buffers.loop_rank[0])
    torque = impulse.copy()
    solves, error = solve_problem(arm.joints, buffers, loops)
    row.label_modes(buffers.rows, buffers.modes)
    change = vectors[arrays.VELOCITY] - free
    for i in range(free.shape[0]):
        torque[i] += row.product(matrix, i, change)
    torque -= impulse
    add_loop_forces(closure, loops, torque, 1.0, buffers.loop_impulse)
    return solves, error


# Newton's method on the gaps of the loops. Each correction is the least in kinetic energy, the metric A, among those
# that close the linearised loops and keep the positions of stuck rows and of rows at a limit.
@allocating_kernel
def _close_positions(arm: Arm, state: State, buffers: Buffers) -> Closure:
    """Change the new position in ``buffers`` so that the loops are closed, by the least change in the metric A.

    Constraint rows that stick or are at a limit keep their positions. ``state`` is that before the step. Returns the
    remaining errors, which the caller has to check.
    """
    directions = arm.joints.directions
    rows = buffers.rows
    n = state.position.shape[0]
    position = buffers.vectors[arrays.POSITION]
    velocity = buffers.vectors[arrays.VELOCITY]
    write_targets(arm.joints, state, buffers)
    ends = rows[:, row.TARGET].copy()
    closure = _measure(arm, position, velocity, buffers)
    for _ in range(PROJECTION_ITERATIONS):
        known = ~np.isnan(ends)
        required = ends.copy()
        for k in range(ends.shape[0]):
            required[k] -= row.product(directions, k, position)
        loops = _loop_equations(closure.jacobian, -closure.gap, n)
        equations = add_rows(loops, directions, known, required)
        change = np.zeros(n)
        minimise(equations, buffers.motion[2:], np.zeros(n), change)
        position += change
        # The projection may move further rows past their limits.
        write_targets(arm.joints, state, buffers)
        beyond = False
        for k in range(ends.shape[0]):
            if not known[k] and not math.isnan(rows[k, row.TARGET]):
                ends[k] = rows[k, row.TARGET]
                beyond = True
        if not (beyond or np.abs(change).max() > PROJECTION_CONVERGED):
            break
        closure = _measure(arm, position, velocity, buffers)
    for k in range(ends.shape[0]):
        y = row.product(directions, k, position)
        ends[k] = ends[k] if abs(y - ends[k]) <= PROJECTION_CONVERGED else math.nan
    project_position(directions, ends, position)
    return closure


@allocating_kernel
def _close_velocities(arm: Arm, closure: Closure, buffers: Buffers) -> None:
    """Change the new velocity in ``buffers`` so that the loops stay closed, that is, G v = 0 for the loops' Jacobian G.

    Constraint rows that stick or are at a limit keep their velocities; those of a single coordinate do exactly.
    ``closure`` has been measured at the new position.
    """
    directions = arm.joints.directions
    rows = buffers.rows
    modes = buffers.modes
    velocity = buffers.vectors[arrays.VELOCITY]
    impulse = buffers.vectors[arrays.CONSTRAINT_IMPULSE]
    n = velocity.shape[0]
    loops = _loop_equations(closure.jacobian, np.zeros(closure.gap.shape[0]), n)
    solve_modes(
        Problem(
            buffers.motion[2:], directions, rows, modes, velocity.copy(), impulse, loops
        ),
        velocity,
    )
    targets = np.empty(modes.shape[0])
    for k in range(modes.shape[0]):
        targets[k] = row.target_velocity(rows, k, modes[k])
    # In this order the rows are satisfied exactly, and the loops up to rounding.
    known = rows[:, row.INDEPENDENT] > 0.0
    first = add_rows(no_equations(n), directions, known, targets)
    table = np.ascontiguousarray(loops.table[: loops.rank, :n])
    every = np.ones(loops.rank, np.bool_)
    satisfy(add_rows(first, table, every, np.zeros(loops.rank)), velocity)


@allocating_kernel
def finish_step(arm: Arm, half: float, state: State, buffers: Buffers) -> Outcome:
    """Solve the friction problem, project to the loops and update the state; coordinates at rest do not change.

    Arguments and result are those that integrators describes; LOOP_OPEN is returned if a loop remains open.
    """
    vectors = buffers.vectors
    n = state.position.shape[0]
    position = vectors[arrays.POSITION]
    velocity = vectors[arrays.VELOCITY]
    solves, error = _solve_problem(arm, buffers)
    if np.any(state.velocity != 0.0) or np.any(velocity != 0.0):
        change = velocity - vectors[arrays.UNCONSTRAINED_VELOCITY]
        position[:] = vectors[arrays.UNCONSTRAINED_POSITION] + half * change
        closure = _close_positions(arm, state, buffers)
        _close_velocities(arm, closure, buffers)
        for i in range(closure.gap.shape[0]):
            if abs(closure.gap[i]) > LARGEST_GAP:
                return LOOP_OPEN, i // 3, solves, error
    for j in range(n):
        if state.velocity[j] == 0.0 and velocity[j] == 0.0:
            position[j] = state.position[j]
    outcome = update_state(state, buffers, solves, error)
    if outcome[0] == OK:
        state.impulse[n:] = buffers.loop_impulse
    return outcome


@kernel
def looped_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, reports: Array
) -> int:
    """Take steps of an arm with closed loops as ``integrators.plant_step`` does."""
    return integrators.plant_step(
        looped_motion, finish_step, integers, floats, tau, wrenches, reports
    )


@threaded_kernel
def looped_advance(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: Block,
) -> None:
    """Take steps of a batch of arms with closed loops as ``integrators.advance_each`` does."""
    integrators.advance_each(
        looped_motion, finish_step, arm, given, count, batch, outcomes, buffers
    )


LOOPED = integrators.Kind(looped_step, looped_advance)
