"""The step of robots with closed loops; it takes the place of ``integrators.step``.

Each stage's acceleration keeps G qdd + dG/dt qd = 0. Friction and limits then act on the velocities that the loops
let through at the free motion's end, v = N u with G N = 0: the problem of ``coupled_stick_slip`` with N^T A N and the
lines E N. Several joints of one loop may stick where one of them would do: the motion is unique, their share is not.
At last positions and velocities go back to the closed loops, by the smallest change as kinetic energy measures it.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.arrays import (
    CARRIED,
    FREE_POSITION,
    FREE_VELOCITY,
    LOOP_OPEN,
    OK,
    POSITION,
    VELOCITY,
    Arm,
    Buffers,
    Outcome,
    State,
)
from robot_dynamics_ros.simulation.chain import Chain, close_positions, close_velocities, make_chain, measure
from robot_dynamics_ros.simulation.closure import (
    add_loop_forces,
    expand_motion,
    let_through,
    minimise,
    reduced_lines,
    reduced_matrix,
    reduced_vector,
)
from robot_dynamics_ros.simulation.coupled import pose_motion
from robot_dynamics_ros.simulation.coupled_stick_slip import solve_coupled
from robot_dynamics_ros.simulation.free_motion import (
    along,
    carry,
    check_motion,
    grip_at_rest,
    pose_problem,
    subtract_smooth_friction,
)
from robot_dynamics_ros.simulation.friction_step import renew
from robot_dynamics_ros.simulation.integrators import RK4
from robot_dynamics_ros.simulation.stick_slip import (
    GRIP_BACKWARD,
    GRIP_FORWARD,
    IMPULSE,
    RESTS,
    STUCK,
    WALL_LOWER,
    WALL_UPPER,
)
from robot_dynamics_ros.simulation.stick_slip import LOWER as LEAST
from robot_dynamics_ros.simulation.stick_slip import UPPER as MOST
from robot_dynamics_ros.simulation.stick_slip import VELOCITY as LINE_VELOCITY

OPEN = 1e-5
"""A wider gap than this (m) is no closed loop."""


@allocating_kernel
def _free_motion(
    arm: Arm,
    dt: float,
    duration: float,
    most: int,
    q: Array,
    v: Array,
    wrenches: Array,
    buffers: Buffers,
    chain: Chain,
    motion: Array,
) -> tuple[int, int, int]:
    """As ``integrators.free_motion``, and carry what holds lines and loops for ``duration``.

    At most ``most`` of the loops' equations count as independent: in between, a mechanism that moves only by its
    special shape has more. Returns status, coordinate to blame, and their number.
    """
    joints, n = arm.joints, v.shape[0]
    subtract_smooth_friction(joints, dt, v, buffers)
    measure(arm, q, v, buffers, chain)
    for i in range(chain.drift.shape[0]):
        chain.wanted[i] = -chain.drift[i]
    motions = let_through(chain.jacobian, chain.wanted, most)
    pose_motion(arm, dt, q, v, wrenches, buffers, motion)
    acceleration, load, matrix = motion[0], motion[1], motion[2:]
    at_rest, rest = np.zeros(buffers.lines.shape[0], np.bool_), np.zeros(buffers.lines.shape[0])
    for k in range(rest.shape[0]):
        at_rest[k] = buffers.lines[k, RESTS] > 0.0
    failed, equations = minimise(matrix, load, motions, joints.directions, at_rest, rest, acceleration)
    status, bad = check_motion(q, motion, failed)
    if status != OK:
        return status, bad, 0
    left = np.empty(n)
    for i in range(n):
        left[i] = along(matrix, i, acceleration) - load[i]
    motion[1, :] = 0.0
    pull = reduced_vector(left, motions.basis)
    for i in range(equations.rank):
        share = 0.0
        for row in range(equations.rank):
            share += equations.mixture[row, i] * pull[equations.pivots[row]]
        for j in range(n):
            motion[1, j] += share * joints.directions[equations.members[i], j]
    for j in range(n):
        left[j] -= motion[1, j]
    carry(buffers, motion, duration)
    add_loop_forces(chain.jacobian, motions.followers, left, duration, chain.impulse)
    return OK, -1, motions.followers.shape[0]


@kernel
def _name_walls(lines: Array, pattern: IntArray) -> None:
    """Tell lines that a limit holds from those that friction holds."""
    for k in range(pattern.shape[0]):
        if pattern[k] == STUCK:
            if lines[k, LEAST] == 0.0 and lines[k, IMPULSE] >= lines[k, GRIP_BACKWARD]:
                pattern[k] = WALL_LOWER
            elif lines[k, MOST] == 0.0 and lines[k, IMPULSE] <= -lines[k, GRIP_FORWARD]:
                pattern[k] = WALL_UPPER


@allocating_kernel
def _let_friction_act(arm: Arm, most: int, state: State, buffers: Buffers, chain: Chain) -> tuple[int, float]:
    """Write velocity and impulse after friction and limits, add the loops' impulse; solves and residual as ``settle``.

    On the way the free velocity loses what breaks the loops.
    """
    vectors, lines, n = buffers.vectors, buffers.lines, state.position.shape[0]
    directions, matrix = arm.joints.directions, buffers.motion[2:]
    free, carried, velocity = vectors[FREE_VELOCITY], vectors[CARRIED], vectors[VELOCITY]
    measure(arm, vectors[FREE_POSITION], free, buffers, chain)
    chain.wanted[:] = 0.0
    motions = let_through(chain.jacobian, chain.wanted, most)
    small, left, count = reduced_matrix(matrix, motions.basis), np.empty(n), motions.free.shape[0]
    for i in range(n):
        left[i] = along(matrix, i, free)
    start, factor = reduced_vector(left, motions.basis), small.copy()
    if factorise(factor) >= 0:
        start[:] = math.nan
    solve_factorised(factor, start)
    for k in range(lines.shape[0]):
        buffers.pattern[k] = state.pattern[k]
        lines[k, IMPULSE] = lines[k, LINE_VELOCITY] = 0.0
    u, solves, error = np.zeros(count), 0, 0.0
    if count > 0:
        held = reduced_vector(carried, motions.basis)
        rows = reduced_lines(directions, motions.basis)
        solves, error = solve_coupled(small, rows, lines, buffers.pattern, start, held, u)
    _name_walls(lines, buffers.pattern)
    expand_motion(motions, u, velocity)
    for i in range(n):
        left[i] = carried[i] - along(matrix, i, free) + along(matrix, i, velocity)
        carried[i] = 0.0
        for k in range(lines.shape[0]):
            carried[i] += directions[k, i] * lines[k, IMPULSE]
        left[i] -= carried[i]
    add_loop_forces(chain.jacobian, motions.followers, left, 1.0, chain.impulse)
    return solves, error


@kernel
def _at_rest(velocity: Array) -> bool:
    for j in range(velocity.shape[0]):
        if velocity[j] != 0.0:
            return False
    return True


@allocating_kernel
def _finish(arm: Arm, dt: float, half: float, most: int, state: State, buffers: Buffers, chain: Chain) -> Outcome:
    """Let friction and limits act, close the loops, renew the state; a coordinate at rest keeps its very bits."""
    vectors, n = buffers.vectors, state.position.shape[0]
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    grip_at_rest(arm.joints, dt, state, buffers)
    solves, error = _let_friction_act(arm, most, state, buffers, chain)
    if not (_at_rest(state.velocity) and _at_rest(velocity)):
        for j in range(n):
            position[j] = vectors[FREE_POSITION, j] + half * (velocity[j] - vectors[FREE_VELOCITY, j])
        close_positions(arm, state, buffers, chain)
        close_velocities(arm, buffers, chain)
        for i in range(chain.gap.shape[0]):
            if abs(chain.gap[i]) > OPEN:
                return LOOP_OPEN, i // 3, solves, error
    for j in range(n):
        if state.velocity[j] == 0.0 and velocity[j] == 0.0:
            position[j] = state.position[j]
    outcome = renew(state, buffers, solves, error)
    if outcome[0] == OK:
        for i in range(chain.impulse.shape[0]):
            state.impulse[n + i] = chain.impulse[i]
    return outcome


@allocating_kernel
def step(arm: Arm, integrator: int, dt: float, tau: Array, wrenches: Array, state: State, buffers: Buffers) -> Outcome:
    """As ``integrators.rk4_step``, or ``integrators.semi_implicit_step``, whose free motion has one stage."""
    q, v, vectors, n = state.position, state.velocity, buffers.vectors, state.position.shape[0]
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    chain, most = make_chain(arm, n), n
    stages, implicit, half = (4, 0.0, 0.5 * dt) if integrator == RK4 else (1, dt, dt)
    pose_problem(arm.joints, dt, tau, state, buffers)
    for j in range(n):
        position[j], velocity[j] = q[j], v[j]
        vectors[FREE_POSITION, j], vectors[FREE_VELOCITY, j] = q[j], v[j]
    for stage in range(stages):
        motion = buffers.motion if stage == 0 else buffers.spare
        weight = dt if stages == 1 else dt / 3.0 if stage == 1 or stage == 2 else dt / 6.0
        status, bad, rank = _free_motion(
            arm, implicit, weight, most, position, velocity, wrenches, buffers, chain, motion
        )
        if status != OK:
            return status, bad, 0, 0.0
        most = rank if stage == 0 else most
        ahead = dt if stage == 2 else 0.5 * dt
        for j in range(n):
            vectors[FREE_POSITION, j] += weight * velocity[j]
            vectors[FREE_VELOCITY, j] += weight * motion[0, j]
            position[j] = q[j] + ahead * velocity[j]
            velocity[j] = v[j] + ahead * motion[0, j]
    if stages == 1:
        for j in range(n):
            vectors[FREE_POSITION, j] = q[j] + dt * vectors[FREE_VELOCITY, j]
    return _finish(arm, dt, half, most, state, buffers, chain)
