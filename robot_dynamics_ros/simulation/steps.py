"""The compiled steps for a robot: those of its kind, or a customised robot's own.

One compiled function for all robots would take several times as long to compile as each needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from robot_dynamics_ros.kernels.compilation import kernel, load_source, threaded_kernel
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation.arrays import Arm, BatchState, Coupled, Looped, Separable, buffers_in
from robot_dynamics_ros.simulation.coupled import coupled_step
from robot_dynamics_ros.simulation.integrators import advance_each, plant_step
from robot_dynamics_ros.simulation.loops.step import looped_step
from robot_dynamics_ros.simulation.separable import LANES, Block


class Steps(NamedTuple):
    """The compiled ``plant_step`` and ``advance_each`` of integrators for an arm."""

    arm: Arm
    plant_step: Callable[..., Any]
    advance: Callable[..., Any]


@kernel
def separable_step(*arrays: Any) -> int:
    """``plant_step`` of separable arms."""
    return plant_step(Separable(), *arrays)


@threaded_kernel
def advance(
    arm: Arm,
    integrator: int,
    dt: float,
    count: int,
    tau: Array,
    wrenches: Array,
    batch: BatchState,
    outcomes: IntArray,
    scratch: Array,
    next_modes: IntArray,
    block: Block,
) -> None:
    """``advance_each`` of all arms; scratch arrays come last, of which the ``block`` is for customised ones."""
    buffers = buffers_in(scratch, next_modes, arm.robot, tau.shape[1])
    advance_each(arm, integrator, dt, count, tau, wrenches, batch, outcomes, buffers)


_PLANT_STEPS = {Separable: separable_step, Coupled: coupled_step, Looped: looped_step}

_CUSTOMISED = """\
from robot_dynamics_ros.kernels.compilation import threaded_kernel
from robot_dynamics_ros.kernels.entries import OK, SINGULAR
from robot_dynamics_ros.simulation import integrators, separable
from robot_dynamics_ros.simulation.arrays import FORCE, MOVES, STIFFNESS, Separable, buffers_in

{one}
{many}

class Customised(Separable):
    pass


@separable.fixed_mode_motion.register(Customised)
def _(kind, arm, dt, q, v, wrenches, buffers, motion):
    vectors = buffers.vectors
    force, stiffness, moves = vectors[FORCE], vectors[STIFFNESS], vectors[MOVES]
    if wrenches.shape[0] > 0:
        return separable.solve_fixed_mode_motion(
            arm.robot, q, v, force, stiffness, moves, wrenches, buffers.work, buffers.factor, motion
        )
    status = own_fixed_mode_motion(arm.numbers, q, v, force, stiffness, moves, motion)
    return -1 if status == OK else status - SINGULAR


@separable.fixed_mode_motions.register(Customised)
def _(kind, numbers, q, v, force, stiffness, moves, motions):
    return own_fixed_mode_motion_batch(numbers, q, v, force, stiffness, moves, motions) == OK


@kernel
def plant_step(*arrays):
    return integrators.plant_step(Customised(), *arrays)


@threaded_kernel
def advance(arm, integrator, dt, count, tau, wrenches, batch, outcomes, scratch, next_modes, block):
    buffers = buffers_in(scratch, next_modes, arm.robot, tau.shape[1])
    if integrator == integrators.SEMI_IMPLICIT:
        integrators.advance_together(arm, dt, count, tau, wrenches, batch, outcomes, buffers, block)
    else:
        integrators.advance_each(arm, integrator, dt, count, tau, wrenches, batch, outcomes, buffers)
"""


def steps_for(model: RobotModel, arm: Arm) -> Steps:
    """Return the steps for a robot; a customised one has its own forward dynamics in them, where no wrench acts.

    Arms that are not separable have the steps of their kind, customised or not.
    """
    general = Steps(arm, _PLANT_STEPS[type(arm.kind)], advance)
    if not model.kernels.customised or type(arm.kind) is not Separable:
        return general
    # Here, so that a model that is not customised does not wait for it.
    from robot_dynamics_ros.codegen.source import batch_source, function_source
    from robot_dynamics_ros.codegen.tracing import FIXED_MODE_MOTION, trace_algorithm

    program = trace_algorithm(FIXED_MODE_MOTION, model.kernels.topology, model.kernels.parameters)
    if program is None:
        return general
    many = program._replace(results=program.results[:2])
    batch = batch_source(many, own_parameters=True, block=LANES)
    source = _CUSTOMISED.format(one=function_source(program), many=batch)
    own = load_source(source, "step")
    return Steps(arm._replace(kind=own["Customised"]()), own["plant_step"], own["advance"])
