"""Integrators of a robot with friction, rk4 and semi_implicit.

Both first compute the unconstrained motion q_free, v_free, with the friction modes fixed (stick, slip, at limit), then
solve for friction and limits. The new state is q+, v+. M is the mass matrix. A is M for rk4, and M + dt B for
semi_implicit, with the slope B of smooth friction (viscous and sigmoid).

rk4 is the classical Runge-Kutta method: fourth order if no joint breaks away or stops, otherwise q+ = q_free + dt/2 (v+
- v_free). Smooth friction is explicit; the status is TOO_STIFF if it makes the step unstable. semi_implicit is the
semi-implicit Euler method, first order, with q+ = q + dt v+. Smooth friction is implicit, but velocity product terms
are explicit: an arm that moves fast without friction can gain energy.

A kind of arms differs from others in two kernels, which the functions here get as arguments:

``fixed_mode_motion(arm, dt, weight, wrenches, buffers, motion)`` writes acceleration, reaction of the rows at rest, and
A = M + dt B to ``motion`` (2 + n, n). Row 0 is the acceleration, row 1 the reaction (Nm or N), and the others are A.
``buffers.vectors`` have the state in POSITION and VELOCITY, and have been filled by stages.subtract_smooth_friction.
``wrenches`` is a field of StepInput. The impulses of the loops over the time ``weight`` (s) are added to
``buffers.loop_impulse``. It returns -1, or the coordinate at which A, reduced to the moving rows, is not positive
definite.

``finish_step(arm, half, state, buffers)`` solves for friction and limits, then updates the state: q+ = q_free + half
(v+ - v_free), with ``half`` in s. ``state`` is that before the step, and the unconstrained motion is in ``buffers``. It
returns the Outcome.

Each kind compiles them as one pair of kernels, its ``Kind``. Arguments: ``arm``, ``given``, ``state``, ``batch`` and
``buffers`` are the tuples Arm, StepInput, State, Batch and Buffers of arrays; states are updated in place, but not by a
step that fails. A status is OK or an error constant of arrays (NOT_POSITIVE_DEFINITE, NOT_FINITE, TOO_STIFF,
LOOP_OPEN). An Outcome is (status, index of the failing coordinate or, for LOOP_OPEN, loop, else -1, linear systems
solved, residual of the friction problem in rad/s or m/s).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.kernels.compilation import (
    forceinlined_kernel,
    inlined,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import arrays, stages
from robot_dynamics_ros.simulation.step.arrays import (
    Arm,
    Batch,
    Buffers,
    Memory,
    Outcome,
    State,
    StepInput,
)

RK4 = 0
SEMI_IMPLICIT = 1
INTEGRATORS = {"rk4": RK4, "semi_implicit": SEMI_IMPLICIT}

Compiled = Callable[..., Any]


class Kind(NamedTuple):
    """Compiled steps of a kind of arms.

    Attributes
    ----------
    plant_step
        Step of one arm: the function ``plant_step`` of this module without its first two arguments.
    advance
        Steps of a batch, (arm, given, count, batch, outcomes, buffers, block): ``advance_each`` of this module without
        its first two arguments, but with the scratch ``block`` of module trees, which only customised arms use.
    """

    plant_step: Compiled
    advance: Compiled


@inlined
def _stage(
    fixed_mode_motion: Compiled,
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    buffers: Buffers,
    motion: Array,
) -> tuple[int, int]:
    """Write the unconstrained motion at the rows POSITION and VELOCITY to ``motion``; return status and coordinate.

    Arguments are those of ``fixed_mode_motion``.
    """
    velocity = buffers.vectors[arrays.VELOCITY]
    stages.subtract_smooth_friction(arm.joints, dt, velocity, buffers)
    failed = fixed_mode_motion(arm, dt, weight, wrenches, buffers, motion)
    return stages.check_motion(buffers.vectors[arrays.POSITION], motion, failed)


# The unconstrained motion keeps the friction modes of the last step, with the impulse of friction and limits. The
# friction problem starts from both and changes them only where a mode changes.
@inlined
def step(
    fixed_mode_motion: Compiled,
    finish_step: Compiled,
    arm: Arm,
    given: StepInput,
    state: State,
    buffers: Buffers,
) -> Outcome:
    """Advance ``state`` by one step in place, and return its outcome; a failed step does not change ``state``."""
    dt = given.dt
    stages.set_up_problem(arm.joints, dt, given.tau, state, buffers)
    implicit = given.integrator == SEMI_IMPLICIT
    for stage in range(1 if implicit else 4):
        motion = buffers.motion if stage == 0 else buffers.spare
        weight = dt if implicit else dt / 3.0 if 0 < stage < 3 else dt / 6.0
        status, bad = _stage(
            fixed_mode_motion,
            arm,
            dt if implicit else 0.0,
            weight,
            given.wrenches,
            buffers,
            motion,
        )
        if status == arrays.OK and stage == 0 and not implicit:
            status, bad = stages.check_stiffness(
                arm.joints, dt, state.velocity, buffers
            )
        if status != arrays.OK:
            return status, bad, 0, 0.0
        if implicit:
            stages.end_unconstrained(dt, state, motion, buffers)
        else:
            stages.end_rk4_stage(stage, dt, weight, state, motion, buffers)
    stages.raise_bounds_at_reversal(arm.joints, dt, state, buffers)
    half = dt if implicit else 0.5 * dt
    outcome: Outcome = finish_step(arm, half, state, buffers)
    return outcome


@inlined
def take_steps(
    fixed_mode_motion: Compiled,
    finish_step: Compiled,
    arm: Arm,
    given: StepInput,
    count: int,
    state: State,
    buffers: Buffers,
) -> tuple[int, int, int, int, float]:
    """Take ``count`` steps under constant input; stop at the first that fails.

    Returns the status of the last step, the index of the failing coordinate or loop or -1, the number of completed
    steps, the linear systems solved in all steps, and the largest residual (rad/s or m/s).
    """
    status = arrays.OK
    joint = -1
    steps = 0
    total = 0
    worst = 0.0
    while steps < count:
        status, joint, solves, error = step(
            fixed_mode_motion, finish_step, arm, given, state, buffers
        )
        total += solves
        worst = max(worst, error)
        if status != arrays.OK:
            break
        steps += 1
    return status, joint, steps, total, worst


@forceinlined_kernel
def _write_sample(state: State, effort: Array, report: Array) -> None:
    """Write state and motor torque (n,) of a plant to the columns of a report from SAMPLE on."""
    column = arrays.SAMPLE
    for values in (state.position, state.velocity, effort, state.impulse):
        for value in values:
            report[column] = value
            column += 1
    for mode in state.modes:
        report[column] = mode
        column += 1


@inlined
def plant_step(
    fixed_mode_motion: Compiled,
    finish_step: Compiled,
    integers: IntArray,
    floats: Array,
    tau: Array,
    wrenches: Array,
    reports: Array,
) -> int:
    """Take steps of a plant under a sequence of torques until one fails; for calls from Python.

    Parameters
    ----------
    fixed_mode_motion, finish_step
        Kernels of the plant's kind of arm.
    integers, floats
        Memory of the plant, from arrays.make_memory; state and effort are updated.
    tau
        Motor torques, Nm or N, n for each report one after the other, so that a call with one torque needs no other
        shape. They are clamped to the effort limits here.
    wrenches
        Field of StepInput.
    reports
        Reports one after the other, with the columns that arrays names. COUNT, the number of steps, is read. STATUS,
        JOINT (failing coordinate or loop, or -1), STEPS (completed), SOLVES (linear systems), RESIDUAL (largest) and
        the state after the steps are written.

    Returns
    -------
    int
        The status of the last report written; BAD_ARGUMENTS if ``tau``, ``wrenches`` or ``reports`` have a wrong shape,
        and for a torque that is not finite, whose report is unchanged.
    """
    plant = arrays.plant_arrays(Memory(integers, floats))
    n = plant.effort.shape[0]
    size = arrays.report_columns(plant.state)
    bodies = wrenches.shape[0]
    good = (
        tau.shape[0] * size == reports.shape[0] * n
        and reports.shape[0] % size == 0
        and wrenches.shape[1] == 6
        and (bodies == 0 or bodies == plant.arm.robot.bodies.shape[0])
    )
    status = arrays.OK if good else arrays.BAD_ARGUMENTS
    effort = plant.buffers.vectors[arrays.EFFORT]
    given = StepInput(plant.integrator[0], plant.dt[0], effort, wrenches)
    first = 0
    while status == arrays.OK and first < reports.shape[0]:
        report = reports[first : first + size]
        for j in range(n):
            torque = tau[first // size * n + j]
            limit = plant.effort_limits[j]
            effort[j] = min(max(torque, -limit), limit)
            if not math.isfinite(torque):
                status = arrays.BAD_ARGUMENTS
        if status == arrays.OK:
            status, joint, steps, solves, error = take_steps(
                fixed_mode_motion,
                finish_step,
                plant.arm,
                given,
                int(report[arrays.COUNT]),
                plant.state,
                plant.buffers,
            )
            if steps > 0:
                for j in range(n):
                    plant.effort[j] = effort[j]
            report[arrays.STATUS] = status
            report[arrays.JOINT] = joint
            report[arrays.STEPS] = steps
            report[arrays.SOLVES] = solves
            report[arrays.RESIDUAL] = error
            _write_sample(plant.state, plant.effort, report)
            first += size
    return status


@inlined
def advance_each(
    fixed_mode_motion: Compiled,
    finish_step: Compiled,
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
                fixed_mode_motion,
                finish_step,
                arrays.arm_of(arm, batch, i),
                own,
                count,
                state,
                buffers,
            )
            outcomes[i, 0] = status
            outcomes[i, 1] = joint
            outcomes[i, 2] += steps
