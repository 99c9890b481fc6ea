"""Compiled step functions of a robot: those of its kind of arm, or those of a customised robot.

One function for all kinds of arms would take several times as long to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.kernels.compilation import kernel, threaded_kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.arm import make_arm
from robot_dynamics_ros.simulation.loops import step as loop_step
from robot_dynamics_ros.simulation.step import coupled_step as coupled
from robot_dynamics_ros.simulation.step import separable
from robot_dynamics_ros.simulation.step.arrays import (
    Arm,
    Batch,
    Buffers,
    Coupled,
    Looped,
    Separable,
    StepInput,
)
from robot_dynamics_ros.simulation.step.integrators import advance_each, plant_step
from robot_dynamics_ros.simulation.step.separable import LANES, Block

separable.fixed_mode_motion.register(Coupled, coupled.fixed_mode_motion)
separable.finish_step.register(Coupled, coupled.finish_step)
separable.start_loops.register(Looped, loop_step.start_loops)
separable.fixed_mode_motion.register(Looped, loop_step.fixed_mode_motion)
separable.finish_step.register(Looped, loop_step.finish_step)


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
def separable_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, report: Array
) -> int:
    """Take steps of a separable arm as ``integrators.plant_step`` does."""
    return plant_step(Separable(), integers, floats, tau, wrenches, report)


@kernel
def coupled_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, report: Array
) -> int:
    """Take steps of an arm with coupled joints as ``integrators.plant_step`` does."""
    return plant_step(Coupled(), integers, floats, tau, wrenches, report)


@kernel
def looped_step(
    integers: IntArray, floats: Array, tau: Array, wrenches: Array, report: Array
) -> int:
    """Take steps of an arm with closed loops as ``integrators.plant_step`` does."""
    return plant_step(Looped(), integers, floats, tau, wrenches, report)


@threaded_kernel
def advance(
    arm: Arm,
    given: StepInput,
    count: int,
    batch: Batch,
    outcomes: IntArray,
    buffers: Buffers,
    block: Block,
) -> None:
    """Take ``count`` steps of each arm of a batch, up to the first step that fails.

    ``arm`` has the common data of the arms. ``outcomes`` (arms, 3) is updated: status, index of the failing coordinate
    or loop or -1, and completed steps, which are added; arms whose status is not OK are skipped. ``block`` is scratch
    that only customised arms use.
    """
    advance_each(arm, given, count, batch, outcomes, buffers)


_TEMPLATE = Path(__file__).with_name("step") / "customised.py"
_PLANT_STEPS = {Separable: separable_step, Coupled: coupled_step, Looped: looped_step}


def step_of(model: RobotModel) -> Callable[..., Any]:
    """Return the compiled step function of the general kernels for a robot."""
    return _PLANT_STEPS[type(make_arm(model, velocity_limits=False).kind)]


def steps_for(model: RobotModel, arm: Arm) -> Steps:
    """Return the step functions for a robot with the constant data ``arm``.

    Those of a customised separable arm use its generated forward dynamics in steps without external wrenches. The
    result's ``arm`` then has another kind; pass it to the functions instead of the argument.
    """
    general = Steps(arm, _PLANT_STEPS[type(arm.kind)], advance)
    if not model.kernels.customised or type(arm.kind) is not Separable:
        return general
    # Deferred: only customised models need code generation.
    from robot_dynamics_ros.dynamics.codegen.loading import load_source
    from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
    from robot_dynamics_ros.dynamics.codegen.tracing import (
        FIXED_MODE_MOTION,
        trace_algorithm,
    )

    program = trace_algorithm(
        FIXED_MODE_MOTION, model.kernels.topology, model.kernels.parameters
    )
    if program is None:
        return general
    many = program._replace(results=program.results[:2])
    one = function_source(program)
    batch = batch_source(many, own_parameters=True, block=LANES)
    name = FIXED_MODE_MOTION.name
    kernels = {
        name: load_source(one, name)[name],
        f"{name}_batch": load_source(batch, name)[f"{name}_batch"],
    }
    own = load_source(_TEMPLATE.read_text(encoding="utf-8"), "step", **kernels)
    return Steps(
        arm._replace(kind=own["Customised"]()), own["plant_step"], own["advance"]
    )
