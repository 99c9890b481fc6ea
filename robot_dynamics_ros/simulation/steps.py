"""Compiled steps of a robot: those of its kind of arm, or those of a customised robot.

One function for all kinds of arms would take several times as long to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.simulation.arm import is_plain
from robot_dynamics_ros.simulation.step.integrators import Kind
from robot_dynamics_ros.simulation.step.loops import LOOPED
from robot_dynamics_ros.simulation.step.trees import COUPLED, LANES, PLAIN

_KINDS = 32  # customised robots of a process whose kinds are kept
_TEMPLATE = Path(__file__).with_name("step") / "customised.py"


def _general_kind(model: RobotModel) -> Kind:
    """Return the kind of a robot's arm, without generated code."""
    if is_plain(model):
        return PLAIN
    return LOOPED if model.loops else COUPLED


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
    kernels = model.kernels
    return _customised_kind(kernels.topology.tobytes(), kernels.parameters.tobytes())


@lru_cache(_KINDS)  # tracing takes longer than a thousand steps
def _customised_kind(topology: bytes, parameters: bytes) -> Kind:
    """Return the kind of the customised plain robot with these model arrays; PLAIN if it cannot be traced."""
    # Deferred: only customised models need code generation.
    from robot_dynamics_ros.dynamics.codegen.loading import load_source
    from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
    from robot_dynamics_ros.dynamics.codegen.tracing import (
        FIXED_MODE_MOTION,
        trace_algorithm,
    )

    program = trace_algorithm(
        FIXED_MODE_MOTION,
        np.frombuffer(topology, np.int64),
        np.frombuffer(parameters, np.float64),
    )
    if program is None:
        return PLAIN
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
