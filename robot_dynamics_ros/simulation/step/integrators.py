"""Integrators of a robot with friction, rk4 and semi_implicit, compiled as one function.

Both first compute the unconstrained motion q_free, v_free, with the friction modes fixed (stick, slip, at limit), then
solve for friction and limits. The new state is q+, v+. M is the mass matrix. A is M for rk4, and M + dt B for
semi_implicit, with the slope B of smooth friction (viscous and sigmoid).

rk4 is the classical Runge-Kutta method: fourth order if no joint breaks away or stops, otherwise q+ = q_free + dt/2 (v+
- v_free). Smooth friction is explicit; the status is TOO_STIFF if it makes the step unstable. semi_implicit is the
semi-implicit Euler method, first order, with q+ = q + dt v+. Smooth friction is implicit, but velocity product terms
are explicit: an arm that moves fast without friction can gain energy.

Arguments: ``arm``, ``given``, ``state``, ``batch`` and ``buffers`` are the tuples Arm, StepInput, State, Batch and
Buffers of arrays; states are updated in place, but not by a step that fails. A status is OK or an error constant of
arrays (NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF, LOOP_OPEN). An Outcome is (status, index of the failing coordinate
or, for LOOP_OPEN, loop, else -1, linear systems solved, residual of the friction problem in rad/s or m/s).
"""

from __future__ import annotations

import math
from typing import Any

from robot_dynamics_ros.dynamics.kernels.compilation import part
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import arrays, separable, stages, vector
from robot_dynamics_ros.simulation.step.arrays import (
    Arm,
    Batch,
    Buffers,
    Kind,
    Memory,
    Outcome,
    State,
    StepInput,
)
from robot_dynamics_ros.simulation.step.separable import Block

RK4 = 0
SEMI_IMPLICIT = 1
INTEGRATORS = {"rk4": RK4, "semi_implicit": SEMI_IMPLICIT}


@part
def _stage(
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    loops: Any,
    buffers: Buffers,
    motion: Array,
) -> tuple[int, int]:
    """Write the unconstrained motion at the rows POSITION and VELOCITY to ``motion``; return status and coordinate.

    Arguments are those of ``separable.fixed_mode_motion``.
    """
    position = buffers.vectors[vector.POSITION]
    velocity = buffers.vectors[vector.VELOCITY]
    stages.subtract_smooth_friction(arm.joints, dt, velocity, buffers)
    failed = separable.fixed_mode_motion(
        arm.kind, arm, dt, weight, wrenches, loops, buffers, motion
    )
    return stages.check_motion(position, motion, failed)


@part
def _rk4_motion(
    arm: Arm, given: StepInput, state: State, loops: Any, buffers: Buffers
) -> tuple[int, int]:
    """Write q_free and v_free of rk4, and A of the first stage; return the status, and the failing coordinate or -1."""
    q = state.position
    v = state.velocity
    dt = given.dt
    vectors = buffers.vectors
    position = vectors[vector.POSITION]
    velocity = vectors[vector.VELOCITY]
    q_free = vectors[vector.UNCONSTRAINED_POSITION]
    v_free = vectors[vector.UNCONSTRAINED_VELOCITY]
    for j in range(q.shape[0]):
        q_free[j] = q[j]
        v_free[j] = v[j]
    for stage in range(4):
        motion = buffers.motion if stage == 0 else buffers.spare
        weight = dt / 3.0 if stage == 1 or stage == 2 else dt / 6.0
        status, bad = _stage(arm, 0.0, weight, given.wrenches, loops, buffers, motion)
        if status == arrays.OK and stage == 0:
            status, bad = stages.check_stiffness(arm.joints, dt, v, buffers)
        if status != arrays.OK:
            return status, bad
        stages.add_reaction_impulse(buffers, motion, weight)
        ahead = dt if stage == 2 else 0.5 * dt
        for j in range(q.shape[0]):
            q_free[j] += weight * velocity[j]
            v_free[j] += weight * motion[0, j]
            position[j] = q[j] + ahead * velocity[j]
            velocity[j] = v[j] + ahead * motion[0, j]
    return arrays.OK, -1


# The unconstrained motion keeps the friction modes of the last step, with the impulse of friction and limits. The
# friction problem starts from both and changes them only where a mode changes.
@part
def step(arm: Arm, given: StepInput, state: State, buffers: Buffers) -> Outcome:
    """Advance ``state`` by one step in place, and return its outcome; a failed step does not complete it."""
    dt = given.dt
    vectors = buffers.vectors
    loops = separable.start_loops(arm.kind, arm)
    stages.set_up_problem(arm.joints, dt, given.tau, state, buffers)
    for j in range(vectors.shape[1]):
        vectors[vector.POSITION, j] = state.position[j]
        vectors[vector.VELOCITY, j] = state.velocity[j]
    if given.integrator == RK4:
        half = 0.5 * dt
        status, bad = _rk4_motion(arm, given, state, loops, buffers)
    else:
        half = dt
        status, bad = _stage(
            arm, dt, dt, given.wrenches, loops, buffers, buffers.motion
        )
        stages.end_unconstrained(dt, state, buffers.motion, buffers)
    if status != arrays.OK:
        return status, bad, 0, 0.0
    stages.raise_bounds_at_reversal(arm.joints, dt, state, buffers)
    outcome: Outcome = separable.finish_step(arm.kind, arm, half, state, loops, buffers)
    return outcome


@part
def take_steps(
    arm: Arm, given: StepInput, count: int, state: State, buffers: Buffers
) -> tuple[int, int, int, int, float]:
    """Take ``count`` steps under constant input; stop at the first that fails.

    Returns the status of the last step, the index of the failing coordinate or loop or -1, the number of completed
    steps, the linear systems solved in all steps, and the largest residual (rad/s or m/s).
    """
    total = 0
    worst = 0.0
    for k in range(count):
        status, joint, solves, error = step(arm, given, state, buffers)
        total += solves
        worst = max(worst, error)
        if status != arrays.OK:
            return status, joint, k, total, worst
    return arrays.OK, -1, count, total, worst


@part
def plant_step(
    kind: Kind,
    integers: IntArray,
    floats: Array,
    tau: Array,
    wrenches: Array,
    report: Array,
) -> int:
    """Take steps of a plant until one fails; for calls from Python.

    Parameters
    ----------
    kind
        Kind of the plant's arm.
    integers, floats
        Memory of the plant, from arrays.make_memory; state and effort are updated.
    tau
        Motor torque (n,), Nm or N, clamped to the effort limits here.
    wrenches
        Field of StepInput.
    report
        (REPORT,), at the indices that arrays names: COUNT, the number of steps, is read. STATUS, JOINT (failing
        coordinate or loop, or -1), STEPS (completed), SOLVES (linear systems) and RESIDUAL (largest) are written.

    Returns
    -------
    int
        The status; BAD_ARGUMENTS, with ``report`` unchanged, if ``tau`` or ``wrenches`` have a wrong shape or ``tau``
        is not finite.
    """
    plant = arrays.plant_arrays(kind, Memory(integers, floats))
    n = plant.effort.shape[0]
    limits = plant.effort_limits
    bodies = (
        wrenches.shape[0] == 0 or wrenches.shape[0] == plant.arm.robot.bodies.shape[0]
    )
    if (
        tau.shape[0] != n
        or report.shape[0] != arrays.REPORT
        or wrenches.shape[1] != 6
        or not bodies
    ):
        return arrays.BAD_ARGUMENTS
    for j in range(n):
        if not math.isfinite(tau[j]):
            return arrays.BAD_ARGUMENTS
    effort = plant.buffers.vectors[vector.EFFORT]
    for j in range(n):
        effort[j] = min(max(tau[j], -limits[j]), limits[j])
    given = StepInput(plant.integrator[0], plant.dt[0], effort, wrenches)
    status, joint, steps, solves, error = take_steps(
        plant.arm, given, int(report[arrays.COUNT]), plant.state, plant.buffers
    )
    if steps > 0:
        for j in range(n):
            plant.effort[j] = effort[j]
    report[arrays.STATUS] = status
    report[arrays.JOINT] = joint
    report[arrays.STEPS] = steps
    report[arrays.SOLVES] = solves
    report[arrays.RESIDUAL] = error
    return status


@part
def advance_each(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
) -> None:
    """Take ``count`` steps of each of the N arms of a batch, up to the first step that fails.

    ``arm`` has their common data. ``outcomes`` (N, 3) is updated: status, index of the failing coordinate or loop or
    -1, and completed steps, which are added. Arms whose status is not OK are skipped.
    """
    for i in range(outcomes.shape[0]):
        if outcomes[i, 0] == arrays.OK:
            own = StepInput(given.integrator, given.dt, given.tau[i], given.wrenches)
            state = arrays.state_of(batch.states, i)
            status, joint, steps, _, _ = take_steps(
                arrays.arm_of(arm, batch, i), own, count, state, buffers
            )
            outcomes[i, 0] = status
            outcomes[i, 1] = joint
            outcomes[i, 2] += steps


# The generated code computes the unconstrained motion of a block of arms, one in each SIMD lane. It is the solution for
# all arms whose friction modes do not change. The few others, whose problem has to be solved, repeat the step alone.
@part
def advance_together(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: Block,
) -> None:
    """Take ``count`` semi_implicit steps of each of the N arms of a batch, with unconstrained motions by SIMD.

    Arguments are those of ``advance_each``, for a kind of arms with generated code (module customised) and without
    ``wrenches`` (0, 6). ``block`` is scratch from separable.make_block.
    """
    for first in range(0, outcomes.shape[0], separable.LANES):
        after = min(first + separable.LANES, outcomes.shape[0])
        own = arrays.arms_of(batch, first, after)
        results = outcomes[first:after]
        lanes = StepInput(
            given.integrator, given.dt, given.tau[first:after], given.wrenches
        )
        for _ in range(count):
            separable.begin_steps(arm.joints, lanes, own, buffers, block)
            together = separable.fixed_mode_motions(arm.kind, own, block)
            separable.end_steps(
                arm.joints, given.dt, together, own, results, buffers, block
            )
            for k in range(after - first):
                if not block.done[k]:
                    alone = StepInput(
                        given.integrator, given.dt, lanes.tau[k : k + 1], given.wrenches
                    )
                    advance_each(
                        arm,
                        alone,
                        1,
                        arrays.arms_of(own, k, k + 1),
                        results[k : k + 1],
                        buffers,
                    )
