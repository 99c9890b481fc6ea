"""Integrators of a robot with friction, rk4 and semi_implicit, compiled as one function.

Both first compute the unconstrained motion q_free, v_free, with the friction modes fixed (stick, slip, at limit), then
solve for friction and limits. The new state is q+, v+. M is the mass matrix. A is M for rk4, and M + dt B for
semi_implicit, with the slope B of smooth friction (viscous and sigmoid).

Arguments: ``arm``, ``state``, ``batch`` and ``buffers`` are the tuples Arm, State, BatchState and Buffers of arrays;
states are updated in place, but not by a step that fails. ``kind`` is ``arm.kind``. ``integrator`` is RK4 or
SEMI_IMPLICIT, ``dt`` the step size (s), and ``tau`` (n,) the motor torque (Nm or N). ``wrenches`` (bodies, 6), or (0,
6) for none, are external forces (N) and moments (Nm) at the origin and in the axes of each body's frame. A status is OK
or an error constant of arrays (NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF, LOOP_OPEN). An Outcome is (status, index
of the failing coordinate or, for LOOP_OPEN, loop, else -1, linear systems solved, residual of the friction problem in
rad/s or m/s).
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.kernels.compilation import by_class, inlined, part
from robot_dynamics_ros.dynamics.kernels.layout import coordinate_count, unpack
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation import separable
from robot_dynamics_ros.simulation.arrays import (
    BAD_ARGUMENTS,
    COUNT,
    EFFORT,
    JOINT,
    OK,
    POSITION,
    REPORT,
    RESIDUAL,
    SOLVES,
    STATUS,
    STEPS,
    UNCONSTRAINED_POSITION,
    UNCONSTRAINED_VELOCITY,
    VELOCITY,
    Arm,
    BatchState,
    Buffers,
    Kind,
    Outcome,
    State,
    buffers_in,
    joints_of,
    state_of,
    unflatten,
)
from robot_dynamics_ros.simulation.separable import fixed_mode_motion, fixed_mode_motions, solve_friction
from robot_dynamics_ros.simulation.step_stages import (
    add_reaction_impulse,
    check_motion,
    check_stiffness,
    end_unconstrained,
    raise_bounds_at_reversal,
    set_up_problem,
    subtract_smooth_friction,
    update_state,
)

RK4, SEMI_IMPLICIT = 0, 1
INTEGRATORS = {"rk4": RK4, "semi_implicit": SEMI_IMPLICIT}


@inlined
def unconstrained_motion(
    arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array
) -> tuple[int, int]:
    """Write acceleration, reaction and A of the unconstrained motion at ``q``, ``v`` (n,) to ``motion`` (2 + n, n).

    Row 0 is the acceleration, row 1 the reaction (Nm or N) of the coordinates at rest, and the others are A. Smooth
    friction is implicit over ``dt`` (s), or explicit if ``dt`` is 0. ``buffers`` were filled by
    step_stages.set_up_problem. Returns the status, and the index of the failing coordinate or -1.
    """
    subtract_smooth_friction(arm.joints, dt, v, buffers)
    return check_motion(q, motion, fixed_mode_motion(arm.kind, arm, dt, q, v, wrenches, buffers, motion))


@inlined
def finish(arm: Arm, dt: float, half: float, state: State, buffers: Buffers) -> Outcome:
    """Solve for friction and limits, then update the state: q+ = q_free + half (v+ - v_free), with ``half`` in s.

    ``state`` is that before the step. ``buffers`` have the unconstrained motion, and A in ``motion[2:]``.
    """
    raise_bounds_at_reversal(arm.joints, dt, state, buffers)
    solves, error = solve_friction(arm.kind, arm.joints, half, state, buffers)
    return update_state(state, buffers, solves, error)


@part
def rk4_step(arm: Arm, dt: float, tau: Array, wrenches: Array, state: State, buffers: Buffers) -> Outcome:
    """Take a classical Runge-Kutta step of ``dt`` seconds under the torque ``tau`` (n,), with A = M(q).

    Fourth order if no joint breaks away or stops; otherwise q+ = q_free + dt/2 (v+ - v_free). Smooth friction is
    explicit. Fails with status TOO_STIFF if it makes the step unstable.
    """
    q, v, vectors = state.position, state.velocity, buffers.vectors
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    set_up_problem(arm.joints, dt, tau, state, buffers)
    for j in range(q.shape[0]):
        position[j], velocity[j] = q[j], v[j]
        vectors[UNCONSTRAINED_POSITION, j], vectors[UNCONSTRAINED_VELOCITY, j] = q[j], v[j]
    for stage in range(4):
        motion = buffers.motion if stage == 0 else buffers.spare
        status, bad = unconstrained_motion(arm, 0.0, position, velocity, wrenches, buffers, motion)
        if status == OK and stage == 0:
            status, bad = check_stiffness(arm.joints, dt, v, buffers)
        if status != OK:
            return status, bad, 0, 0.0
        weight = dt / 3.0 if stage == 1 or stage == 2 else dt / 6.0
        add_reaction_impulse(buffers, motion, weight)
        ahead = dt if stage == 2 else 0.5 * dt
        for j in range(q.shape[0]):
            vectors[UNCONSTRAINED_POSITION, j] += weight * velocity[j]
            vectors[UNCONSTRAINED_VELOCITY, j] += weight * motion[0, j]
            position[j] = q[j] + ahead * velocity[j]
            velocity[j] = v[j] + ahead * motion[0, j]
    return finish(arm, dt, 0.5 * dt, state, buffers)


@part
def semi_implicit_step(arm: Arm, dt: float, tau: Array, wrenches: Array, state: State, buffers: Buffers) -> Outcome:
    """Take a semi-implicit Euler step of ``dt`` seconds under the torque ``tau`` (n,), first order.

    Smooth friction is implicit, A = M + dt B with B its slope, and q+ = q + dt v+. Velocity product terms are explicit:
    an arm that moves fast without friction can gain energy.
    """
    set_up_problem(arm.joints, dt, tau, state, buffers)
    status, bad = unconstrained_motion(arm, dt, state.position, state.velocity, wrenches, buffers, buffers.motion)
    if status != OK:
        return status, bad, 0, 0.0
    end_unconstrained(dt, state, buffers.motion, buffers)
    return finish(arm, dt, dt, state, buffers)


@by_class
def step(
    kind: Kind, arm: Arm, integrator: int, dt: float, tau: Array, wrenches: Array, state: State, buffers: Buffers
) -> Outcome:
    """Take one step of ``dt`` (s) under the torque ``tau`` (n,) and the wrenches on the bodies.

    The class of ``kind`` selects the overload: arms with loops have another one.
    """
    if integrator == RK4:
        return rk4_step(arm, dt, tau, wrenches, state, buffers)
    return semi_implicit_step(arm, dt, tau, wrenches, state, buffers)


@part
def take_steps(
    arm: Arm, integrator: int, dt: float, count: int, tau: Array, wrenches: Array, state: State, buffers: Buffers
) -> tuple[int, int, int, int, float]:
    """Take ``count`` steps under the constant torque ``tau`` (n,); stop at the first that fails.

    Returns the status of the last step, the index of the failing coordinate or loop or -1, the number of completed
    steps, the linear systems solved in all steps, and the largest residual (rad/s or m/s).
    """
    total, worst = 0, 0.0
    for k in range(count):
        status, joint, solves, error = step(arm.kind, arm, integrator, dt, tau, wrenches, state, buffers)
        total += solves
        worst = max(worst, error)
        if status != OK:
            return status, joint, k, total, worst
    return OK, -1, count, total, worst


@part
def plant_step(
    kind: Kind,
    structure: IntArray,
    numbers: Array,
    rows: IntArray,
    constants: Array,
    settings: Array,
    state: Array,
    modes: IntArray,
    scratch: Array,
    next_modes: IntArray,
    tau: Array,
    wrenches: Array,
    report: Array,
) -> int:
    """Take steps of one arm, given in flat arrays, until one fails; for calls from Python.

    Parameters
    ----------
    kind, structure, numbers
        Fields of arrays.Arm.
    rows
        (moving joints,): constraint row of each joint, field of arrays.Joints.
    constants
        Other constants, from arrays.flatten.
    settings
        (2,): integrator and step size (s).
    state
        (4 n + 3 loops,): position, velocity, effort (motor torque in the last step), impulse of friction and limits
        (n,) and of the loops; updated.
    modes
        (K,): friction modes of the K constraint rows, constants of stick_slip; updated.
    scratch, next_modes
        Scratch from arrays.make_scratch, and scratch (K,).
    tau
        (n,): torque, clamped to the effort limits here.
    wrenches
        (bodies, 6), or (0, 6) for none.
    report
        (REPORT,), at the indices that arrays names: COUNT, the number of steps, is read. STATUS, JOINT (failing
        coordinate or loop, or -1), STEPS (completed), SOLVES (linear systems) and RESIDUAL (largest) are written.

    Returns
    -------
    int
        The status; BAD_ARGUMENTS, with ``report`` unchanged, if ``tau`` or ``wrenches`` have a wrong shape or ``tau``
        is not finite.
    """
    n = coordinate_count(structure)
    robot = unpack(structure, numbers)
    bodies = wrenches.shape[0] == 0 or wrenches.shape[0] == robot.bodies.shape[0]
    if tau.shape[0] != n or report.shape[0] != REPORT or wrenches.shape[1] != 6 or not bodies:
        return BAD_ARGUMENTS
    for j in range(n):
        if not math.isfinite(tau[j]):
            return BAD_ARGUMENTS
    joints, limits = unflatten(rows, constants, modes.shape[0], n)
    buffers = buffers_in(scratch, next_modes, robot, n)
    effort = buffers.vectors[EFFORT]
    for j in range(n):
        effort[j] = min(max(tau[j], -limits[j]), limits[j])
    arm, now = Arm(kind, robot, structure, numbers, joints), State(state[:n], state[n : 2 * n], modes, state[3 * n :])
    status, joint, steps, solves, error = take_steps(
        arm, int(settings[0]), settings[1], int(report[COUNT]), effort, wrenches, now, buffers
    )
    if steps > 0:
        for j in range(n):
            state[2 * n + j] = effort[j]
    report[STATUS], report[JOINT], report[STEPS], report[SOLVES], report[RESIDUAL] = status, joint, steps, solves, error
    return status


@part
def advance_each(
    arm: Arm,
    integrator: int,
    dt: float,
    count: int,
    tau: Array,
    wrenches: Array,
    batch: BatchState,
    outcomes: IntArray,
    buffers: Buffers,
) -> None:
    """Take ``count`` steps of each of the N arms of a batch under ``tau`` (N, n), up to the first step that fails.

    ``arm`` has their common data; ``wrenches`` act on each arm. ``outcomes`` (N, 3) is updated: status, index of the
    failing coordinate or loop or -1, and completed steps, which are added. Arms whose status is not OK are skipped.
    """
    for i in range(tau.shape[0]):
        if outcomes[i, 0] == OK:
            joints, state = joints_of(arm.joints, batch, i), state_of(batch, i)
            own = Arm(arm.kind, unpack(arm.structure, batch.numbers[i]), arm.structure, batch.numbers[i], joints)
            status, joint, steps, _, _ = take_steps(own, integrator, dt, count, tau[i], wrenches, state, buffers)
            outcomes[i, 0], outcomes[i, 1] = status, joint
            outcomes[i, 2] += steps


@part
def advance_together(
    arm: Arm,
    dt: float,
    count: int,
    tau: Array,
    wrenches: Array,
    batch: BatchState,
    outcomes: IntArray,
    buffers: Buffers,
    block: separable.Block,
) -> None:
    """Take ``count`` semi_implicit steps of each of the N arms of a batch, with unconstrained motions by SIMD.

    ``arm`` has the common data of the arms, whose kind has generated code (module steps). ``tau`` (N, n) are the
    torques. ``outcomes`` (N, 3) is updated: status, index of the failing coordinate or -1, and completed steps, which
    are added. Arms whose status is not OK are skipped. ``wrenches`` must be empty (0, 6). ``block`` is scratch from
    separable.make_block. An arm of which a joint breaks away, stops or reaches a limit takes its step separately.
    """
    for first in range(0, tau.shape[0], separable.LANES):
        after = min(first + separable.LANES, tau.shape[0])
        lanes = after - first
        for _ in range(count):
            separable.begin_steps(arm.joints, dt, tau[first:after], batch, first, buffers, block)
            together = fixed_mode_motions(
                arm.kind,
                batch.numbers[first:after],
                batch.position[first:after],
                batch.velocity[first:after],
                block.force[:lanes],
                block.stiffness[:lanes],
                block.moves[:lanes],
                block.motions[:lanes],
            )
            separable.end_steps(arm.joints, dt, together, outcomes[first:after], batch, first, buffers, block)
            for k in range(lanes):
                if not block.done[k]:
                    one = slice(first + k, first + k + 1)
                    alone = BatchState(
                        batch.numbers[one],
                        batch.friction[one],
                        batch.position[one],
                        batch.velocity[one],
                        batch.modes[one],
                        batch.impulse[one],
                    )
                    advance_each(arm, SEMI_IMPLICIT, dt, 1, tau[one], wrenches, alone, outcomes[one], buffers)
