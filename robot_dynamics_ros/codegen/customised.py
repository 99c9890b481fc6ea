"""From a robot to its own compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial

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


def customised_kernel(algorithm: Algorithm, structure: IntArray, numbers: Array) -> Kernel | None:
    """An algorithm for one state of one robot, see ``straight_line.function_source``; None where it has none.

    It computes bit for bit what the general kernel does (but for the sign of a zero, and for what the general kernel
    makes of numbers that are not finite times zero). It takes C-contiguous float64 arrays. Robots that differ only in
    the inertial numbers of their bodies share it. Without numba it is the same source as plain Python.
    """
    program = trace_algorithm(algorithm, structure, numbers)
    return None if program is None else _made(function_source(program), algorithm.name)


def customised_batch(algorithm: Algorithm, structure: IntArray, numbers: Array) -> Kernel | None:
    """The same for many states, see ``blocks.batch_source``; other threads run meanwhile.

    Its sines and cosines are its own, so that it agrees with the kernel for one state to rounding, not to the bit.
    """
    program = trace_algorithm(algorithm, structure, numbers)
    if program is None:
        return None
    kernel = _made(batch_source(program), f"{algorithm.name}_batch")
    states, result = "float64[:,::1]", f"float64[{algorithm.axes * ':,'}::1]"
    compile_for(kernel, f"int64(float64[::1], {len(algorithm.vectors) * f'{states}, '}{result})")
    return kernel


@cache
def _made(source: str, name: str) -> Kernel:
    kernel: Kernel = load_source(source, name)[name]
    return kernel


_Make = Callable[[Algorithm, IntArray, Array], "Kernel | None"]


class CustomisedKernels(GeneralKernels):
    """As GeneralKernels, but compiled for this robot's tree, placements, couplings, rotors and gravity.

    Each is generated when it is first asked for. The derivatives, and forward dynamics where it cannot be traced
    (see tracing), stay the general ones.
    """

    customised = True

    def __init__(
        self, structure: IntArray, numbers: Array, made: dict[tuple[Algorithm, _Make], Kernel | None] | None = None
    ) -> None:
        super().__init__(structure, numbers)
        self._made = {} if made is None else made

    def with_numbers(self, numbers: Array) -> CustomisedKernels:
        """Return the kernels of a robot that differs in its bodies' inertia only; nothing is compiled again."""
        return CustomisedKernels(self.structure, numbers, self._made)

    @cached_property
    def inverse_dynamics(self) -> Call:
        """(q, qd, qdd, tau), each (n,)."""
        kernel = self._made_once(INVERSE_DYNAMICS, customised_kernel)
        return super().inverse_dynamics if kernel is None else direct_call(kernel, (self.numbers,), (1, 1, 1, 1))

    @cached_property
    def gravity_torque(self) -> Call:
        """(q, tau), each (n,)."""
        kernel = self._made_once(GRAVITY_TORQUE, customised_kernel)
        return super().gravity_torque if kernel is None else direct_call(kernel, (self.numbers,), (1, 1))

    @cached_property
    def mass_matrix(self) -> Call:
        """(q (n,), matrix (n, n))."""
        kernel = self._made_once(MASS_MATRIX, customised_kernel)
        return super().mass_matrix if kernel is None else direct_call(kernel, (self.numbers,), (1, 2))

    @cached_property
    def forward_dynamics(self) -> Call:
        """(q, qd, tau, qdd), each (n,)."""
        kernel = self._made_once(FORWARD_DYNAMICS, customised_kernel)
        return super().forward_dynamics if kernel is None else direct_call(kernel, (self.numbers,), (1, 1, 1, 1))

    @cached_property
    def inverse_dynamics_batch(self) -> Kernel:
        """(q, qd, qdd, tau), each (count, n)."""
        kernel = self._made_once(INVERSE_DYNAMICS, customised_batch)
        return super().inverse_dynamics_batch if kernel is None else partial(kernel, self.numbers)

    @cached_property
    def forward_dynamics_batch(self) -> Kernel:
        """(q, qd, tau, qdd), each (count, n)."""
        kernel = self._made_once(FORWARD_DYNAMICS, customised_batch)
        return super().forward_dynamics_batch if kernel is None else partial(kernel, self.numbers)

    def _made_once(self, algorithm: Algorithm, make: _Make) -> Kernel | None:
        key = (algorithm, make)
        if key not in self._made:
            self._made[key] = make(algorithm, self.structure, self.numbers)
        return self._made[key]
