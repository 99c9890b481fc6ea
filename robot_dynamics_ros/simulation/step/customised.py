"""Template of the step functions of one customised robot.

``steps.steps_for`` loads a copy of this module for each robot, in which ``own_fixed_mode_motion`` and
``own_fixed_mode_motion_batch`` are the robot's generated kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from robot_dynamics_ros.dynamics.kernels.compilation import kernel, threaded_kernel
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import integrators, separable, vector
from robot_dynamics_ros.simulation.step.arrays import (
    Arm,
    Batch,
    Buffers,
    Separable,
    StepInput,
)

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics.kernels.entries import Kernel

    own_fixed_mode_motion = own_fixed_mode_motion_batch = cast("Kernel", None)


class Customised(Separable):
    """Kind of the robot's arm; without data."""


def _fixed_mode_motion(
    kind: Customised,
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    loops: Any,
    buffers: Buffers,
    motion: Array,
) -> int:
    if wrenches.shape[0] > 0:
        return separable.general_motion(arm, wrenches, buffers, motion)
    q, v, force, stiffness, moves = separable.stage_inputs(buffers.vectors)
    status = own_fixed_mode_motion(arm.numbers, q, v, force, stiffness, moves, motion)
    return -1 if status == OK else status - SINGULAR


def _fixed_mode_motions(kind: Customised, batch: Batch, block: separable.Block) -> bool:
    count = batch.numbers.shape[0]
    states = batch.states
    force = block.vectors[:count, vector.FORCE]
    moves = block.vectors[:count, vector.MOVES]
    stiffness = block.vectors[:count, vector.STIFFNESS]
    motions = block.motions[:count]
    status = own_fixed_mode_motion_batch(
        batch.numbers,
        states.position,
        states.velocity,
        force,
        stiffness,
        moves,
        motions,
    )
    return status == OK


separable.fixed_mode_motion.register(Customised, _fixed_mode_motion)
separable.fixed_mode_motions.register(Customised, _fixed_mode_motions)


@kernel
def plant_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, report: Array
) -> int:
    """Take steps of a plant as ``integrators.plant_step`` does."""
    return integrators.plant_step(Customised(), integers, floats, tau, wrenches, report)


@threaded_kernel
def advance(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: separable.Block,
) -> None:
    """Take steps of a batch as ``steps.advance`` does, with SIMD where that is possible."""
    if given.integrator == integrators.SEMI_IMPLICIT:
        integrators.advance_together(arm, given, count, batch, outcomes, buffers, block)
    else:
        integrators.advance_each(arm, given, count, batch, outcomes, buffers)
