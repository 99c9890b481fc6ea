"""From a robot to its own compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from robot_dynamics_ros.codegen.source import batch_source, function_source
from robot_dynamics_ros.codegen.tracing import (
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
    trace_algorithm,
)
from robot_dynamics_ros.kernels.compilation import compile_for, load_source
from robot_dynamics_ros.kernels.direct_calls import direct_call
from robot_dynamics_ros.kernels.general import Call, GeneralKernels, Kernel
from robot_dynamics_ros.kernels.types import Array, IntArray

_ALGORITHMS = {
    algorithm.name: algorithm for algorithm in (INVERSE_DYNAMICS, GRAVITY_TORQUE, MASS_MATRIX, FORWARD_DYNAMICS)
}


def customised_kernel(algorithm: Algorithm, structure: IntArray, numbers: Array) -> Kernel | None:
    """An algorithm for one state of one robot, see ``source.function_source``; None where it has none.

    It computes bit for bit what the general kernel does (but for the sign of a zero, and for what the general kernel
    makes of numbers that are not finite times zero). It takes C-contiguous float64 arrays. Robots that differ only in
    the inertial numbers of their bodies share it. Without numba it is the same source as plain Python.
    """
    program = trace_algorithm(algorithm, structure, numbers)
    return None if program is None else _made(function_source(program), algorithm.name)


def customised_batch(algorithm: Algorithm, structure: IntArray, numbers: Array) -> Kernel | None:
    """The same for many states, see ``source.batch_source``; other threads run meanwhile.

    Its sines and cosines are its own, so that it agrees with the kernel for one state to rounding, not to the bit.
    """
    program = trace_algorithm(algorithm, structure, numbers)
    if program is None:
        return None
    kernel = _made(batch_source(program), f"{algorithm.name}_batch")
    states, result = "float64[:,::1]", f"float64[{algorithm.axes * ':,'}::1]"
    compile_for(kernel, f"int64(float64[::1], {len(algorithm.vectors) * f'{states}, '}{result})")
    return kernel


def _made(source: str, name: str) -> Kernel:
    kernel: Kernel = load_source(source, name)[name]
    return kernel


class CustomisedKernels(GeneralKernels):
    """As GeneralKernels, but compiled for this robot's tree, placements, couplings, rotors and gravity.

    Each is generated when it is first asked for. The derivatives, and forward dynamics where it cannot be traced
    (see tracing), stay the general ones.
    """

    customised = True

    def __init__(self, structure: IntArray, numbers: Array, made: dict[str, Kernel | None] | None = None) -> None:
        super().__init__(structure, numbers)
        self._made = {} if made is None else made

    def with_numbers(self, numbers: Array) -> CustomisedKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return CustomisedKernels(self.structure, numbers, self._made)

    def _single(self, kernel: Kernel, axes: Sequence[int]) -> Call:
        own = self._own(kernel, customised_kernel)
        return super()._single(kernel, axes) if own is None else direct_call(own, self._fixed[1:], axes)

    def _batch(self, kernel: Kernel) -> Kernel:
        own = self._own(kernel, customised_batch)
        return super()._batch(kernel) if own is None else partial(own, *self._fixed[1:])

    def _own(self, general: Kernel, make: Callable[[Algorithm, IntArray, Array], Kernel | None]) -> Kernel | None:
        """Return this robot's own kernel in place of a general one, or None."""
        name = general.__name__
        if name not in self._made:
            algorithm = _ALGORITHMS.get(name.removesuffix("_batch"))
            self._made[name] = None if algorithm is None else make(algorithm, self.structure, self.numbers)
        return self._made[name]
