"""One step of a robot with friction, as one compiled function: rk4 and semi_implicit.

Both find a free motion first and then let friction and limits act on its velocity (stick_slip). The free
motion already has smooth friction (viscous and sigmoid), the Coulomb torque of joints that slide, and
whatever holds the joints that rest: only joints that start or stop are left to stick_slip.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.composite_body import gather_composites
from robot_dynamics_ros.kernels.friction import grip, logistic, smooth_friction
from robot_dynamics_ros.kernels.layout import (
    COULOMB,
    COULOMB_NEGATIVE,
    SIGMOID_AMPLITUDE,
    SIGMOID_SHIFT,
    SIGMOID_SLOPE,
    VISCOUS,
    WORK_SIZE,
    Robot,
)
from robot_dynamics_ros.kernels.newton_euler import bias_torque
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.simulation.stick_slip import (
    BACKWARD,
    FORWARD,
    FREE,
    GRIP_BACKWARD,
    GRIP_FORWARD,
    HELD,
    IMPULSE,
    JOINTS_SIZE,
    LOWER,
    STUCK,
    UPPER,
    VELOCITY,
    WALL_LOWER,
    WALL_UPPER,
    solve,
)

OK, NOT_POSITIVE_DEFINITE, NOT_FINITE = 0, 1, 2
RK4, SEMI_IMPLICIT = 0, 1
INTEGRATORS = {"rk4": RK4, "semi_implicit": SEMI_IMPLICIT}

Outcome = tuple[int, int, int, float]
"""Status, the joint to blame (-1: none), linear systems solved, residual of the friction problem."""


class Arm(NamedTuple):
    """What does not change from step to step."""

    robot: Robot
    friction: Floats  # (n, 11), see kernels/layout.py
    lower: Floats  # (n,) position limits
    upper: Floats


class State(NamedTuple):
    """What a step renews, and leaves alone if it fails."""

    position: Floats  # (n,)
    velocity: Floats  # (n,)
    pattern: Ints  # (n,) segments of stick_slip
    impulse: Floats  # (n,) of friction and limits in the last step; never read


class Buffers(NamedTuple):
    """Scratch arrays, made once for many steps."""

    work: Floats  # of the kernels
    joints: Floats  # (n, 10) the friction problem
    pattern: Ints  # (n,)
    matrix: Floats  # (n, n)
    spare: Floats  # (n, n)
    factor: Floats  # (n, n)
    held: NDArray[np.bool_]  # (n,) joints at rest that stay so in the free motion
    drive: Floats  # (n,) the given torque and that of joints that slide
    load: Floats  # (n,) torque that is left to accelerate the joints
    free: Floats  # (n,) position of the free motion
    position: Floats  # (n,)
    velocity: Floats  # (n,)
    acceleration: Floats  # (n,)


@kernel
def make_buffers(robot: Robot, n: int) -> Buffers:
    """Scratch arrays for ``n`` joints."""
    return Buffers(
        np.empty((robot.tree.shape[0], WORK_SIZE)),
        np.empty((n, JOINTS_SIZE)),
        np.empty(n, np.int64),
        np.empty((n, n)),
        np.empty((n, n)),
        np.empty((n, n)),
        np.empty(n, np.bool_),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
    )


@kernel
def friction_slope(friction: Floats, j: int, rate: float) -> float:
    """Slope of joint j's smooth friction over its rate, kept at or above 0."""
    slope = friction[j, SIGMOID_SLOPE]
    sigmoid = logistic(slope * (rate + friction[j, SIGMOID_SHIFT]))
    rise = friction[j, SIGMOID_AMPLITUDE] * slope * sigmoid * (1.0 - sigmoid)
    total: float = friction[j, VISCOUS] + rise
    return max(total, 0.0)


@kernel
def _pose_problem(arm: Arm, dt: float, tau: Floats, state: State, buffers: Buffers) -> None:
    """Fill in what is known before the free motion: grips, limits, and the torque on joints that slide."""
    friction, lower, upper = arm.friction, arm.lower, arm.upper
    position, velocity, pattern = state.position, state.velocity, state.pattern
    joints, drive, held = buffers.joints, buffers.drive, buffers.held
    for j in range(tau.shape[0]):
        forward = grip(friction[j], friction[j, COULOMB], position[j], velocity[j])
        backward = grip(friction[j], friction[j, COULOMB_NEGATIVE], position[j], velocity[j])
        joints[j, GRIP_FORWARD], joints[j, GRIP_BACKWARD] = dt * forward, dt * backward
        joints[j, LOWER] = min(0.0, (lower[j] - position[j]) / dt)
        joints[j, UPPER] = max(0.0, (upper[j] - position[j]) / dt)
        drive[j], joints[j, HELD] = tau[j], 0.0
        held[j] = velocity[j] == 0.0 and pattern[j] != FORWARD and pattern[j] != BACKWARD
        if pattern[j] == FORWARD:
            drive[j], joints[j, HELD] = tau[j] - forward, -(dt * forward)
        elif pattern[j] == BACKWARD:
            drive[j], joints[j, HELD] = tau[j] + backward, dt * backward


@kernel
def _accelerate(
    arm: Arm, buffers: Buffers, wrenches: Floats, q: Floats, v: Floats, matrix: Floats, dt: float
) -> tuple[int, int]:
    """Write the free motion's acceleration to the buffers, and A = M + dt B to ``matrix``.

    A a = drive - h - smooth friction + what holds the joints at rest; B is the slope of the smooth friction.
    Returns a status and the joint to blame.
    """
    friction, drive, held, load = arm.friction, buffers.drive, buffers.held, buffers.load
    factor, acceleration = buffers.factor, buffers.acceleration
    n = q.shape[0]
    bias_torque(arm.robot, q, v, wrenches, buffers.work, load)
    gather_composites(arm.robot, buffers.work, matrix)
    for j in range(n):
        load[j] = drive[j] - load[j] - smooth_friction(friction[j], v[j])
        if dt > 0.0:
            matrix[j, j] += dt * friction_slope(friction, j, v[j])
        if not math.isfinite(load[j]):
            return NOT_FINITE, j
    for i in range(n):
        acceleration[i] = 0.0 if held[i] else load[i]
        for k in range(i):
            factor[i, k] = 0.0 if held[i] or held[k] else matrix[i, k]
        factor[i, i] = 1.0 if held[i] else matrix[i, i]
    bad = factorise(factor)
    if bad >= 0:
        return NOT_POSITIVE_DEFINITE, bad
    solve_factorised(factor, acceleration)
    for j in range(n):
        if not math.isfinite(acceleration[j]):
            return NOT_FINITE, j
    return OK, -1


@kernel
def _hold(buffers: Buffers, matrix: Floats, duration: float) -> None:
    """Add the impulse over ``duration`` that keeps the joints at rest: the inertial torque less the load."""
    joints, held, load, acceleration = buffers.joints, buffers.held, buffers.load, buffers.acceleration
    for j in range(load.shape[0]):
        if held[j]:
            total = -load[j]
            for k in range(load.shape[0]):
                total += matrix[j, k] * acceleration[k]
            joints[j, HELD] += duration * total


@kernel
def _finish(arm: Arm, half: float, state: State, buffers: Buffers) -> Outcome:
    """Let friction and limits act, then renew the state: q+ = free position + half (v+ - v_free).

    A joint that was and stays at rest keeps the very bits of its position, and none goes past a limit.
    """
    lower, upper = arm.lower, arm.upper
    joints, pattern, position, free = buffers.joints, buffers.pattern, buffers.position, buffers.free
    old_position, old_velocity = state.position, state.velocity
    n = position.shape[0]
    pattern[:] = state.pattern
    solves, error = solve(buffers.matrix, joints, pattern, buffers.factor, buffers.acceleration)
    for j in range(n):
        q, v = old_position[j], joints[j, VELOCITY]
        lowest, highest = min(q, lower[j]), max(q, upper[j])
        if pattern[j] == WALL_LOWER:
            position[j] = lowest
        elif pattern[j] == WALL_UPPER:
            position[j] = highest
        elif pattern[j] == STUCK and old_velocity[j] == 0.0:
            position[j] = q
        else:
            moved = free[j] + half * (v - joints[j, FREE])
            if not (math.isfinite(moved) and math.isfinite(v)):
                bad = factorise(buffers.matrix)
                if bad >= 0:
                    return NOT_POSITIVE_DEFINITE, bad, solves, error
                return NOT_FINITE, j, solves, error
            position[j] = min(max(moved, lowest), highest)
    velocity, impulse, old_pattern = state.velocity, state.impulse, state.pattern
    for j in range(n):
        old_position[j], velocity[j] = position[j], joints[j, VELOCITY]
        old_pattern[j], impulse[j] = pattern[j], joints[j, IMPULSE]
    return OK, -1, solves, error


@kernel
def rk4_step(arm: Arm, dt: float, tau: Floats, wrenches: Floats, state: State, buffers: Buffers) -> Outcome:
    """Classical Runge-Kutta step of ``dt`` seconds under torque ``tau`` (n,), A = M(q).

    Fourth order while no joint starts or stops; where one does, q+ = q_free + dt/2 (v+ - v_free).
    """
    q, v = state.position, state.velocity
    joints, free, position, velocity = buffers.joints, buffers.free, buffers.position, buffers.velocity
    acceleration = buffers.acceleration
    n = q.shape[0]
    _pose_problem(arm, dt, tau, state, buffers)
    for j in range(n):
        position[j], velocity[j] = q[j], v[j]
        free[j], joints[j, FREE] = q[j], v[j]
    for stage in range(4):
        matrix = buffers.matrix if stage == 0 else buffers.spare
        status, bad = _accelerate(arm, buffers, wrenches, position, velocity, matrix, 0.0)
        if status != OK:
            return status, bad, 0, 0.0
        weight = dt / 3.0 if stage == 1 or stage == 2 else dt / 6.0
        _hold(buffers, matrix, weight)
        ahead = dt if stage == 2 else 0.5 * dt
        for j in range(n):
            free[j] += weight * velocity[j]
            joints[j, FREE] += weight * acceleration[j]
            position[j] = q[j] + ahead * velocity[j]
            velocity[j] = v[j] + ahead * acceleration[j]
    return _finish(arm, 0.5 * dt, state, buffers)


@kernel
def semi_implicit_step(arm: Arm, dt: float, tau: Floats, wrenches: Floats, state: State, buffers: Buffers) -> Outcome:
    """First order step of ``dt`` seconds under torque ``tau`` (n,), several times as fast as rk4.

    Smooth friction is implicit, A = M + dt B with B its slope, and q+ = q + dt v+. Velocity terms are
    explicit: an arm that spins fast without friction can gain energy.
    """
    q, v = state.position, state.velocity
    joints, free, acceleration = buffers.joints, buffers.free, buffers.acceleration
    _pose_problem(arm, dt, tau, state, buffers)
    status, bad = _accelerate(arm, buffers, wrenches, q, v, buffers.matrix, dt)
    if status != OK:
        return status, bad, 0, 0.0
    _hold(buffers, buffers.matrix, dt)
    for j in range(q.shape[0]):
        joints[j, FREE] = v[j] + dt * acceleration[j]
        free[j] = q[j] + dt * joints[j, FREE]
    return _finish(arm, dt, state, buffers)


@kernel
def advance(
    arm: Arm, integrator: int, dt: float, count: int, tau: Floats, wrenches: Floats, state: State
) -> tuple[int, int, int, int, float]:
    """Take ``count`` steps under constant torque ``tau`` (n,); stop before one that fails.

    Returns status, joint to blame, steps taken, linear systems solved, largest residual of them all.
    """
    buffers = make_buffers(arm.robot, tau.shape[0])
    total, worst = 0, 0.0
    for k in range(count):
        if integrator == RK4:
            status, joint, solves, error = rk4_step(arm, dt, tau, wrenches, state, buffers)
        else:
            status, joint, solves, error = semi_implicit_step(arm, dt, tau, wrenches, state, buffers)
        total += solves
        worst = max(worst, error)
        if status != OK:
            return status, joint, k, total, worst
    return OK, -1, count, total, worst
