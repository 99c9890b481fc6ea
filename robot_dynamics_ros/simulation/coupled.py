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
    FREE_POSITION,
    FREE_VELOCITY,
    HIGHEST,
    LOWEST,
    POSITION,
    VELOCITY,
    Arm,
    Buffers,
    Joints,
    State,
)
from robot_dynamics_ros.simulation.coupled_stick_slip import solve_coupled
from robot_dynamics_ros.simulation.elimination import hold_at_rest, pin
from robot_dynamics_ros.simulation.free_motion import along
from robot_dynamics_ros.simulation.friction_step import pinned
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
        for i in range(joints.lines.shape[0]):
            k, factor = joints.lines[i], joints.factors[i]
            rate = factor * along(joints.directions, k, v)
            stiffness = dt * factor * factor * smooth_slope(joints.friction[i], rate)
            for j in range(n):
                for other in range(n):
                    matrix[j, other] += stiffness * joints.directions[k, j] * joints.directions[k, other]


@kernel
def held_motion(arm: Arm, dt: float, q: Array, v: Array, wrenches: Array, buffers: Buffers, motion: Array) -> int:
    """As in ``separable``; the reaction is E^T of that of the lines at rest."""
    pose_motion(arm, dt, q, v, wrenches, buffers, motion)
    return hold_at_rest(motion[2:], arm.joints.directions, buffers.lines, motion)


@allocating_kernel
def line_ends(joints: Joints, state: State, buffers: Buffers) -> Array:
    """Where lines (K,) end: pinned ones, and those that the position after the step has past a limit; NaN: anywhere."""
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
def settle(joints: Joints, half: float, state: State, buffers: Buffers) -> tuple[int, float]:
    """As in ``separable``; lines that are held, and those at limits, end where they must to rounding."""
    lines, directions, vectors, count = buffers.lines, joints.directions, buffers.vectors, buffers.pattern.shape[0]
    position, velocity = vectors[POSITION], vectors[VELOCITY]
    for k in range(count):
        buffers.pattern[k] = state.pattern[k]
    solves, error = solve_coupled(
        buffers.motion[2:], directions, lines, buffers.pattern, vectors[FREE_VELOCITY], vectors[CARRIED], velocity
    )
    for j in range(position.shape[0]):
        position[j] = vectors[FREE_POSITION, j] + half * (velocity[j] - vectors[FREE_VELOCITY, j])
        vectors[CARRIED, j] = 0.0
        for k in range(count):
            vectors[CARRIED, j] += directions[k, j] * lines[k, IMPULSE]
    pin(directions, line_ends(joints, state, buffers), position)
    return solves, error
