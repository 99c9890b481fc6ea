"""What a step does for arms with joints that follow several coordinates; it takes the place of ``separable``'s."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.kernels.forward_dynamics import equations_of_motion
from robot_dynamics_ros.kernels.friction import smooth_slope
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.simulation.arrays import (
    CARRIED,
    FORCE,
    HIGHEST,
    LOWEST,
    POSITION,
    UNCONSTRAINED_POSITION,
    UNCONSTRAINED_VELOCITY,
    VELOCITY,
    Arm,
    Buffers,
    Joints,
    State,
)
from robot_dynamics_ros.simulation.coupled_stick_slip import solve_coupled
from robot_dynamics_ros.simulation.elimination import hold_at_rest, pin
from robot_dynamics_ros.simulation.step_stages import along, pinned
from robot_dynamics_ros.simulation.stick_slip import IMPULSE


@kernel
def pose_motion(arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array) -> None:
    """Write the load (n,), the force less M's bias, to the second row of ``motion``, and A = M + dt B below it."""
    joints, n = arm.joints, v.shape[0]
    matrix, load = motion[2:], motion[1]
    equations_of_motion(arm.robot, q, v, wrenches, buffers.work, load, matrix)
    for j in range(n):
        load[j] = buffers.vectors[FORCE, j] - load[j]
    if dt > 0.0:
        for i in range(joints.rows.shape[0]):
            k, factor = joints.rows[i], joints.factors[i]
            rate = factor * along(joints.directions, k, v)
            stiffness = dt * factor * factor * smooth_slope(joints.friction[i], rate)
            for j in range(n):
                for other in range(n):
                    matrix[j, other] += stiffness * joints.directions[k, j] * joints.directions[k, other]


@kernel
def fixed_mode_motion(arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array) -> int:
    """As in ``separable``; the reaction is E^T of that of the rows at rest."""
    pose_motion(arm, dt, q, v, wrenches, buffers, motion)
    return hold_at_rest(motion[2:], arm.joints.directions, buffers.rows, motion)


@allocating_kernel
def row_ends(joints: Joints, state: State, buffers: Buffers) -> Array:
    """Where rows (K,) end: pinned ones, and those that the position after the step has past a limit; NaN: anywhere."""
    directions, position = joints.directions, buffers.vectors[POSITION]
    targets = np.empty(directions.shape[0])
    for k in range(directions.shape[0]):
        y = along(directions, k, state.position)
        targets[k] = pinned(joints, buffers, k, along(directions, k, state.velocity) == 0.0, y)
        if math.isnan(targets[k]):
            lowest, highest = min(y, joints.ranges[k, LOWEST]), max(y, joints.ranges[k, HIGHEST])
            end = along(directions, k, position)
            if end < lowest or end > highest:
                targets[k] = min(max(end, lowest), highest)
    return targets


@allocating_kernel
def solve_friction(joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """As in ``separable``; rows that are held, and those at limits, end where they must to rounding."""
    rows, directions, vectors, count = buffers.rows, joints.directions, buffers.vectors, buffers.modes.shape[0]
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    for k in range(count):
        buffers.modes[k] = state.modes[k]
    solves, error = solve_coupled(
        buffers.motion[2:], directions, rows, buffers.modes, vectors[UNCONSTRAINED_VELOCITY], vectors[CARRIED], velocity
    )
    for j in range(position.shape[0]):
        position[j] = vectors[UNCONSTRAINED_POSITION, j] + half * (velocity[j] - vectors[UNCONSTRAINED_VELOCITY, j])
        vectors[CARRIED, j] = 0.0
        for k in range(count):
            vectors[CARRIED, j] += directions[k, j] * rows[k, IMPULSE]
    pin(directions, row_ends(joints, state, buffers), position)
    return solves, error
