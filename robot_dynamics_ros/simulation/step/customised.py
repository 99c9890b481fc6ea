"""Template of the kind of one customised robot.

``kind_for`` of simulation.arm loads a copy of this module for each robot, in which ``own_fixed_mode_motion`` and
``own_fixed_mode_motion_batch`` are the robot's generated kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from robot_dynamics_ros.dynamics.kernels.compilation import (
    forceinlined_kernel,
    kernel,
    threaded_kernel,
)
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import arrays, integrators, trees
from robot_dynamics_ros.simulation.step.arrays import Arm, Batch, Buffers, StepInput
from robot_dynamics_ros.simulation.thresholds import LANES

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics.kernels.entries import Kernel

    own_fixed_mode_motion = own_fixed_mode_motion_batch = cast("Kernel", None)


@forceinlined_kernel
def customised_motion(
    arm: Arm,
    dt: float,
    weight: float,
    wrenches: Array,
    buffers: Buffers,
    motion: Array,
) -> int:
    """Compute ``fixed_mode_motion``, which module integrators describes, of the robot."""
    if wrenches.shape[0] > 0:
        return trees.plain_motion(arm, dt, weight, wrenches, buffers, motion)
    vectors = buffers.vectors
    status = own_fixed_mode_motion(
        arm.numbers,
        vectors[arrays.POSITION],
        vectors[arrays.VELOCITY],
        vectors[arrays.FORCE],
        vectors[arrays.STIFFNESS],
        vectors[arrays.MOVES],
        motion,
    )
    return -1 if status == OK else status - SINGULAR


@kernel
def plant_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, reports: Array
) -> int:
    """Take steps of a plant as ``integrators.plant_step`` does."""
    return integrators.plant_step(
        customised_motion, trees.finish_plain, integers, floats, tau, wrenches, reports
    )


# The generated code computes the unconstrained motion of a block of arms, one in each SIMD lane. It is the solution for
# all arms whose friction modes do not change. The few others, whose problem has to be solved, repeat the step alone.
@kernel
def _step_together(
    arm: Arm,
    given: StepInput,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: trees.Block,
) -> None:
    """Take a semi_implicit step of the arms of a block whose friction modes do not change; write ``block.done``."""
    count = outcomes.shape[0]
    trees.begin_steps(arm.joints, given, batch, buffers, block)
    status = own_fixed_mode_motion_batch(
        batch.numbers,
        batch.states.position,
        batch.states.velocity,
        block.vectors[:count, arrays.FORCE],
        block.vectors[:count, arrays.STIFFNESS],
        block.vectors[:count, arrays.MOVES],
        block.motions[:count],
    )
    trees.end_steps(arm.joints, given.dt, status == OK, batch, outcomes, buffers, block)


@threaded_kernel
def advance(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: trees.Block,
) -> None:
    """Take steps of a batch as ``integrators.advance_each`` does, with SIMD where that is possible."""
    together = given.integrator == integrators.SEMI_IMPLICIT
    block.done[:] = False
    for first in range(0, outcomes.shape[0], LANES):
        after = min(first + LANES, outcomes.shape[0])
        own = arrays.arms_of(batch, first, after)
        results = outcomes[first:after]
        tau = given.tau[first:after]
        lanes = StepInput(given.integrator, given.dt, tau, given.wrenches)
        for _ in range(count if together else 1):
            if together:
                _step_together(arm, lanes, own, results, buffers, block)
            for k in range(after - first):
                if not block.done[k]:
                    integrators.advance_each(
                        customised_motion,
                        trees.finish_plain,
                        arm,
                        StepInput(
                            given.integrator, given.dt, tau[k : k + 1], given.wrenches
                        ),
                        1 if together else count,
                        arrays.arms_of(own, k, k + 1),
                        results[k : k + 1],
                        buffers,
                    )


CUSTOMISED = integrators.Kind(plant_step, advance)
