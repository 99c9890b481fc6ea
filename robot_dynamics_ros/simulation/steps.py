"""The compiled steps for a robot: the source of integrators, with what suits the robot in place of ``separable``.

Robots with loops have another function in place of ``integrators.step``.

One compiled function for all robots would take several times as long to compile as each needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from robot_dynamics_ros.kernels.compilation import load_source
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.simulation import integrators
from robot_dynamics_ros.simulation.separable import LANES

_SEPARABLE = """\
from robot_dynamics_ros.simulation.separable import fixed_mode_motion, fixed_mode_motions, solve_friction
"""
_COUPLED = """\
from robot_dynamics_ros.simulation.coupled import fixed_mode_motion, solve_friction
from robot_dynamics_ros.simulation.separable import fixed_mode_motions
"""
_LOOPED = "from robot_dynamics_ros.simulation.loops.step import step\n\n\n"
_BEFORE_STEPS = "@kernel\ndef take_steps("
_CUSTOMISED = """\
from robot_dynamics_ros.kernels.compilation import allocating_kernel
from robot_dynamics_ros.kernels.entries import OK as DONE
from robot_dynamics_ros.kernels.entries import SINGULAR
from robot_dynamics_ros.simulation import separable
from robot_dynamics_ros.simulation.arrays import FORCE, MOVES, STIFFNESS
from robot_dynamics_ros.simulation.separable import solve_friction

{one}
{many}

@kernel
def fixed_mode_motion(arm, dt, q, v, wrenches, buffers, motion):
    if wrenches.shape[0] > 0:
        return separable.fixed_mode_motion(arm, dt, q, v, wrenches, buffers, motion)
    vectors = buffers.vectors
    status = own_fixed_mode_motion(arm.numbers, q, v, vectors[FORCE], vectors[STIFFNESS], vectors[MOVES], motion)
    return -1 if status == DONE else status - SINGULAR


@allocating_kernel
def fixed_mode_motions(arm, numbers, q, v, force, stiffness, moves, motions):
    return own_fixed_mode_motion_batch(numbers, q, v, force, stiffness, moves, motions) == DONE


"""


class Steps(NamedTuple):
    """The compiled functions of integrators for one robot."""

    plant_step: Callable[..., Any]
    advance_each: Callable[..., Any]
    advance_together: Callable[..., Any]


def steps_for(model: RobotModel, separable: bool) -> Steps:
    """Return the steps for a robot; a customised one has its own forward dynamics in them, where no wrench acts.

    Robots with loops have steps of their own, customised or not.
    """
    general = Steps(integrators.plant_step, integrators.advance_each, integrators.advance_together)
    if model.loops:
        return _made(_BEFORE_STEPS, _LOOPED + _BEFORE_STEPS)
    if not separable:
        return _made(_SEPARABLE, _COUPLED)
    if not model.kernels.customised:
        return general
    # Here, so that a model that is not customised does not wait for it.
    from robot_dynamics_ros.codegen.source import batch_source, function_source
    from robot_dynamics_ros.codegen.tracing import FIXED_MODE_MOTION, trace_algorithm

    program = trace_algorithm(FIXED_MODE_MOTION, model.packed.structure, model.packed.numbers)
    if program is None:
        return general
    many = program._replace(results=program.results[:2])
    batch = batch_source(many, own_numbers=True, block=LANES)
    return _made(_SEPARABLE, _CUSTOMISED.format(one=function_source(program), many=batch))


@cache
def _made(part: str, instead: str) -> Steps:
    before, found, after = Path(integrators.__file__).read_text(encoding="utf-8").partition(part)
    assert found
    names = load_source(before + instead + after, "step")
    return Steps(*(names[name] for name in Steps._fields))
