"""Compiled kernels that are generated for one robot.

A generated kernel is a function (parameters, q, ..., result) -> status. Its arguments are C-contiguous float64 arrays:
the robot's model array ``parameters``, the vectors that ``algorithm.vectors`` names, and the result, which it writes.
The status is OK, of a single state also WRONG_SHAPE, or SINGULAR + j if the mass matrix is not positive definite at
coordinate j (constants of kernels/entries). ``topology`` and ``parameters`` are the flat model arrays of a robot, from
kernels.layout.pack.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from robot_dynamics_ros.dynamics.codegen.loading import load_source
from robot_dynamics_ros.dynamics.codegen.source import batch_source, function_source
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
    trace_algorithm,
)
from robot_dynamics_ros.dynamics.kernels.compilation import compile_for
from robot_dynamics_ros.dynamics.kernels.entries import GeneralKernels, Kernel
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import MASS, unpack
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

_ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (INVERSE_DYNAMICS, GRAVITY_TORQUE, MASS_MATRIX, FORWARD_DYNAMICS)
}


def customised_kernel(
    algorithm: Algorithm,
    topology: IntArray,
    parameters: Array,
    *,
    batch: bool = False,
) -> Kernel | None:
    """Return the kernel of an algorithm for one robot, or None if it cannot be traced.

    ``algorithm`` is a constant of tracing, such as INVERSE_DYNAMICS. None: forward dynamics of a robot with a
    coordinate that moves no body. Robots that differ only in the inertial parameters of their bodies share a kernel.
    Without numba the same source runs as plain Python.

    Vectors have shape (n,). The results equal those of the general kernel bit for bit, except for the sign of a zero
    and for values that overflow. With ``batch``, vectors have shape (count, n), the result (count, ...), and a singular
    mass matrix of state i gives the status SINGULAR + i n + j. The batched kernel releases the GIL. It has its own sine
    and cosine, so that it agrees with the single-state kernel up to rounding.
    """
    program = trace_algorithm(algorithm, topology, parameters)
    if program is None:
        return None
    if not batch:
        return _generated(function_source(program), algorithm.name)
    kernel = _generated(batch_source(program), f"{algorithm.name}_batch")
    states = "float64[:,::1]"
    result = f"float64[{program.results.ndim * ':,'}::1]"
    compile_for(
        kernel, f"int64(float64[::1], {len(algorithm.vectors) * f'{states}, '}{result})"
    )
    return kernel


def _generated(source: str, name: str) -> Kernel:
    kernel: Kernel = load_source(source, name)[name]
    return kernel


class CustomisedKernels(GeneralKernels):
    """Kernels that are generated for one robot's tree, placements, couplings, rotors and gravity.

    The interface is that of the base class ``GeneralKernels``. Each kernel is generated at its first access. The
    derivatives use the general kernel, and so does forward dynamics if a coordinate moves no body.

    Parameters
    ----------
    topology, parameters
        Flat model arrays of the robot.
    generated
        Kernels by name that were generated for the same robot with other inertias, and that are used again; None for
        the first of such robots.
    """

    customised = True

    def __init__(
        self,
        topology: IntArray,
        parameters: Array,
        generated: dict[str, Kernel | None] | None = None,
    ) -> None:
        super().__init__(topology, parameters)
        self._generated = {} if generated is None else generated

    def with_parameters(self, parameters: Array) -> CustomisedKernels:
        """Return the kernels of a robot with other parameters; generated ones are used again if they are the same."""
        same = np.array_equal(
            _folded(self.topology, parameters), _folded(self.topology, self.parameters)
        )
        return CustomisedKernels(
            self.topology, parameters, self._generated if same else None
        )

    def _single(self, entry: Kernel) -> tuple[Kernel, tuple[Array | IntArray, ...]]:
        own = self._own(entry)
        return super()._single(entry) if own is None else (own, self._fixed[1:])

    def batch(self, entry: Kernel) -> Kernel:
        """Return this robot's own batched function, or the general one if there is none."""
        own = self._own(entry)
        return super().batch(entry) if own is None else partial(own, *self._fixed[1:])

    def _own(self, general: Kernel) -> Kernel | None:
        """Return this robot's kernel for a general one, or None if there is none."""
        name = general.__name__
        if name not in self._generated:
            algorithm = _ALGORITHMS.get(name.removesuffix("_batch"))
            arrays = self.topology, self.parameters
            self._generated[name] = (
                None
                if algorithm is None
                else customised_kernel(
                    algorithm, *arrays, batch=name.endswith("_batch")
                )
            )
        return self._generated[name]


def _folded(topology: IntArray, parameters: Array) -> Array:
    """Return the parameters that are constants of generated kernels, zeros in place of the others."""
    folded = parameters.copy()
    interpreted(unpack)(topology, folded).bodies[:, MASS:] = 0.0
    return folded
