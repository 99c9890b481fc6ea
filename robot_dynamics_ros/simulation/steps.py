"""Compiled step functions of a robot: those of its kind of arm, or generated ones for a customised robot.

One function for all kinds of arms would take several times as long to compile. The kinds are Separable (each joint
depends on one coordinate), Coupled and Looped of arrays; K is the number of constraint rows, in which friction acts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.kernels.compilation import kernel, load_source, threaded_kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.arrays import Arm, BatchState, Coupled, Looped, Separable, buffers_in
from robot_dynamics_ros.simulation.coupled import coupled_step
from robot_dynamics_ros.simulation.integrators import advance_each, plant_step
from robot_dynamics_ros.simulation.loops.step import looped_step
from robot_dynamics_ros.simulation.separable import LANES, Block


class Steps(NamedTuple):
    """Compiled step functions for an arm.

    Attributes
    ----------
    arm
        The arm, with the kind that selects its overloads.
    plant_step
        Step function of one arm: ``integrators.plant_step`` without its first argument, ``kind``.
    advance
        Step function of a batch of such arms, with the arguments of the function ``advance`` of this module.
    """

    arm: Arm
    plant_step: Callable[..., Any]
    advance: Callable[..., Any]


@kernel
def separable_step(*arrays: Any) -> int:
    """Take steps of a separable arm, and return the status: OK or an error constant of arrays.

    ``arrays`` are the arguments of ``integrators.plant_step`` after ``kind``, in their order.
    """
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
    """Take ``count`` steps of ``dt`` (s) of each arm of a batch, up to the first step that fails.

    ``arm`` has the common data of the arms, ``batch`` the states, which are updated. ``integrator`` is RK4 or
    SEMI_IMPLICIT of integrators, ``tau`` (arms, n) the motor torque (Nm or N). ``wrenches`` (bodies, 6), or (0, 6) for
    none, act on each arm: force (N) and moment (Nm) at the origin and in the axes of each body's frame. ``outcomes``
    (arms, 3) is updated: status, index of the failing coordinate or loop or -1, and completed steps, which are added;
    arms whose status is not OK are skipped. ``scratch`` (from arrays.make_scratch) and ``next_modes`` (K,) are scratch,
    and so is ``block`` (from separable.make_block), which only customised arms use.
    """
    buffers = buffers_in(scratch, next_modes, arm.robot, tau.shape[1])
    advance_each(arm, integrator, dt, count, tau, wrenches, batch, outcomes, buffers)


_PLANT_STEPS = {Separable: separable_step, Coupled: coupled_step, Looped: looped_step}

_CUSTOMISED = """\
from robot_dynamics_ros.dynamics.kernels.compilation import threaded_kernel
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR
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
    """Return the step functions for a robot, of which ``arm`` has the arrays (arrays.make_arm).

    Those of a customised separable arm use its generated forward dynamics in steps without external wrenches. The
    result's ``arm`` then has another kind; pass it to the functions instead of the argument.
    """
    general = Steps(arm, _PLANT_STEPS[type(arm.kind)], advance)
    if not model.kernels.customised or type(arm.kind) is not Separable:
        return general
    # Deferred: only customised models need code generation.
    from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
    from robot_dynamics_ros.dynamics.codegen.tracing import FIXED_MODE_MOTION, trace_algorithm

    program = trace_algorithm(FIXED_MODE_MOTION, model.kernels.topology, model.kernels.parameters)
    if program is None:
        return general
    many = program._replace(results=program.results[:2])
    batch = batch_source(many, own_parameters=True, block=LANES)
    source = _CUSTOMISED.format(one=function_source(program), many=batch)
    own = load_source(source, "step")
    return Steps(arm._replace(kind=own["Customised"]()), own["plant_step"], own["advance"])
