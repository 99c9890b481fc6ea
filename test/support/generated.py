"""Generated source as plain Python, and the general kernels to compare it with."""

from collections.abc import Callable
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
    trace_algorithm,
)
from robot_dynamics_ros.dynamics.kernels import entries
from robot_dynamics_ros.dynamics.kernels.entries import GeneralKernels
from robot_dynamics_ros.dynamics.model import RobotModel
from support.arms import Array

ALGORITHMS = (INVERSE_DYNAMICS, GRAVITY_TORQUE, MASS_MATRIX, FORWARD_DYNAMICS)
GENERAL: dict[str, Callable[..., int]] = {
    x.name: getattr(entries, x.name) for x in ALGORITHMS
}


def kernels_of(model: RobotModel) -> GeneralKernels:
    """The general kernels of a model, whose arrays can be written to."""
    return GeneralKernels(
        model.kernels.topology.copy(), model.kernels.parameters.copy()
    )


def plain(
    algorithm: Algorithm, robot: GeneralKernels, batch: bool = False
) -> Callable[..., int]:
    """The function of the generated source, not compiled."""
    program = trace_algorithm(algorithm, robot.topology, robot.parameters)
    assert program is not None
    names: dict[str, Any] = {}
    source = (batch_source if batch else function_source)(program)
    exec(source.replace("@kernel\n", "").replace("@batch_kernel\n", ""), names)
    function: Callable[..., int] = names[algorithm.name + batch * "_batch"]
    return function


def random_vectors(algorithm: Algorithm, seed: int, *shape: int) -> list[Array]:
    """Positions within (-pi, pi), and whatever else the algorithm takes."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(-np.pi, np.pi, shape) for _ in algorithm.vectors]


def result(algorithm: Algorithm, n: int, *batch: int) -> Array:
    """A result of the right shape, not yet written."""
    return np.full((*batch, *algorithm.shape(n)), np.nan)


def general(
    algorithm: Algorithm, robot: GeneralKernels, *vectors: Array
) -> tuple[int, Array]:
    """Status and result of the general kernel for one state."""
    out = result(algorithm, len(vectors[0]))
    parameters = entries.with_scratch(robot.topology, robot.parameters)
    return GENERAL[algorithm.name](robot.topology, parameters, *vectors, out), out
