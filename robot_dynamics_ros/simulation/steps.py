"""Compiled steps of a robot: those of its kind of arm, or those of a customised robot.

One function for all kinds of arms would take several times as long to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.arm import make_arm
from robot_dynamics_ros.simulation.step.integrators import Kind
from robot_dynamics_ros.simulation.step.loops import LOOPED
from robot_dynamics_ros.simulation.step.trees import COUPLED, LANES, PLAIN

_TEMPLATE = Path(__file__).with_name("step") / "customised.py"


def _general_kind(model: RobotModel) -> Kind:
    """Return the kind of a robot's arm, without generated code."""
    if model.loops:
        return LOOPED
    is_plain = len(make_arm(model, velocity_limits=False).joints.directions) == 0
    return PLAIN if is_plain else COUPLED


def step_of(model: RobotModel) -> Callable[..., Any]:
    """Return the compiled step function of the general kernels for a robot."""
    return _general_kind(model).plant_step


def kind_for(model: RobotModel) -> Kind:
    """Return the kind of a robot's arm.

    That of a customised plain arm uses its generated forward dynamics in steps without external wrenches.
    """
    general = _general_kind(model)
    if not model.kernels.customised or general is not PLAIN:
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
    kind: Kind = own["CUSTOMISED"]
    return kind
