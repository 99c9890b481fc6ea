"""Step of arms without loops whose joints depend on several coordinates: overloads of module separable.

``arm``, ``joints``, ``state`` and ``buffers`` are the tuples of that name in arrays. Row k of E (K, n), the field
``directions`` of ``joints``, is the direction of constraint row k. Rows that stick, at rest, and rows at a limit keep
their positions E_k q exactly, up to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import equations_of_motion
from robot_dynamics_ros.dynamics.kernels.friction import smooth_slope
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.simulation.step import row, vector
from robot_dynamics_ros.simulation.step.arrays import (
    Arm,
    Buffers,
    Coupled,
    Joints,
    Outcome,
    State,
)
from robot_dynamics_ros.simulation.step.coupled import Problem, solve_coupled
from robot_dynamics_ros.simulation.step.elimination import (
    hold_at_rest,
    project_position,
)
from robot_dynamics_ros.simulation.step.stages import (
    exact_position,
    row_product,
    update_state,
)


# Smooth friction of a joint acts along the direction E_k of its row: with slope b it adds dt b E_k^T E_k to the mass
# matrix in an implicit step, which is not diagonal as for separable arms.
@kernel
def set_up_motion(
    arm: Arm, dt: float, wrenches: Array, buffers: Buffers, motion: Array
) -> None:
    """Write the load, force less bias torque, to ``motion[1]`` (n,), and A = M + dt B to ``motion[2:]`` (n, n).

    The force is the row FORCE of ``buffers.vectors``: motor torque plus Coulomb torque of slipping rows, less smooth
    friction. The bias torque is that of velocity, gravity and ``wrenches``, a field of StepInput, at the rows POSITION
    and VELOCITY. M is the mass matrix, B the slope of smooth friction and ``dt`` (s) the step.
    """
    joints = arm.joints
    q = buffers.vectors[vector.POSITION]
    v = buffers.vectors[vector.VELOCITY]
    matrix = motion[2:]
    load = motion[1]
    n = v.shape[0]
    equations_of_motion(arm.robot, q, v, wrenches, buffers.work, load, matrix)
    for j in range(n):
        load[j] = buffers.vectors[vector.FORCE, j] - load[j]
    if dt > 0.0:
        for i in range(joints.rows.shape[0]):
            k = joints.rows[i]
            factor = joints.factors[i]
            rate = factor * row_product(joints.directions, k, v)
            stiffness = dt * factor * factor * smooth_slope(joints.friction[i], rate)
            for j in range(n):
                for other in range(n):
                    matrix[j, other] += (
                        stiffness
                        * joints.directions[k, j]
                        * joints.directions[k, other]
                    )


def fixed_mode_motion(
    kind: Coupled,
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    loops: Any,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Overload of ``separable.fixed_mode_motion``."""
    set_up_motion(arm, dt, wrenches, buffers, motion)
    return hold_at_rest(motion[2:], arm.joints.directions, buffers.rows, motion)


# The step computes coordinates, but stuck rows and limits constrain combinations of them. The new position is therefore
# projected to the targets of these rows, so that errors of rounding and integration do not add up to a drift.
@allocating_kernel
def row_targets(joints: Joints, state: State, buffers: Buffers) -> Array:
    """Return the exact new positions (K,) of rows that stick, are at a limit or would pass one; NaN for the others.

    Positions are E_k q, rad or m. A row that sticks has a target only if it was at rest before the step. ``state`` is
    the state before the step; ``buffers`` have the new positions, modes and bounds.
    """
    directions = joints.directions
    position = buffers.vectors[vector.POSITION]
    targets = np.empty(directions.shape[0])
    for k in range(directions.shape[0]):
        y = row_product(directions, k, state.position)
        targets[k] = exact_position(
            joints, buffers, k, row_product(directions, k, state.velocity) == 0.0, y
        )
        if math.isnan(targets[k]):
            lowest = min(y, joints.ranges[k, row.LOWEST])
            highest = max(y, joints.ranges[k, row.HIGHEST])
            end = row_product(directions, k, position)
            if end < lowest or end > highest:
                targets[k] = min(max(end, lowest), highest)
    return targets


@allocating_kernel
def _solve_friction(
    joints: Joints, half: float, state: State, buffers: Buffers
) -> tuple[int, float]:
    """Solve the friction problem and write the new position, velocity and impulse to the buffers.

    Positions of stuck rows and limits are exact up to rounding. Returns the number of linear systems solved and the
    residual, rad/s or m/s.
    """
    rows = buffers.rows
    directions = joints.directions
    vectors = buffers.vectors
    count = buffers.modes.shape[0]
    position = vectors[vector.POSITION]
    velocity = vectors[vector.VELOCITY]
    for k in range(count):
        buffers.modes[k] = state.modes[k]
    free = vectors[vector.UNCONSTRAINED_VELOCITY]
    impulse = vectors[vector.CONSTRAINT_IMPULSE]
    problem = Problem(
        buffers.motion[2:], directions, rows, buffers.modes, free, impulse
    )
    solves, error = solve_coupled(problem, velocity)
    for j in range(position.shape[0]):
        position[j] = vectors[vector.UNCONSTRAINED_POSITION, j] + half * (
            velocity[j] - free[j]
        )
        impulse[j] = 0.0
        for k in range(count):
            impulse[j] += directions[k, j] * rows[k, row.IMPULSE]
    project_position(directions, row_targets(joints, state, buffers), position)
    return solves, error


def finish_step(
    kind: Coupled, arm: Arm, half: float, state: State, loops: Any, buffers: Buffers
) -> Outcome:
    """Overload of ``separable.finish_step``."""
    solves, error = _solve_friction(arm.joints, half, state, buffers)
    return update_state(state, buffers, solves, error)
