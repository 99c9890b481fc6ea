"""From a robot to its own compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from robot_dynamics_ros.codegen.blocks import batch_source
from robot_dynamics_ros.codegen.straight_line import function_source
from robot_dynamics_ros.codegen.tracing import Algorithm, trace_algorithm
from robot_dynamics_ros.kernels.compilation import compile_for, load_source
from robot_dynamics_ros.kernels.types import Array, IntArray

Kernel = Callable[..., int]


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
