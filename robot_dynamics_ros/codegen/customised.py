"""From a robot to its own compiled kernels."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any
from uuid import uuid4

from robot_dynamics_ros.codegen.blocks import batch_source
from robot_dynamics_ros.codegen.straight_line import function_source
from robot_dynamics_ros.codegen.tracing import Algorithm, trace_algorithm
from robot_dynamics_ros.kernels.compilation import COMPILED, batch_kernel, cache_directory, kernel, only_for
from robot_dynamics_ros.kernels.types import Floats, Ints

Kernel = Callable[..., int]


def customised_kernel(algorithm: Algorithm, structure: Ints, numbers: Floats) -> Kernel | None:
    """An algorithm for one state of one robot, see ``straight_line.function_source``; None where it has none.

    It computes bit for bit what the general kernel does (but for the sign of a zero, and for what the general kernel
    makes of numbers that are not finite times zero). It takes C-contiguous float64 arrays and raises TypeError for
    all else. Robots that differ only in the inertial numbers of their bodies share it. Without numba it is the
    same source as plain Python.
    """
    program = trace_algorithm(algorithm, structure, numbers)
    return None if program is None else _made(function_source(program), algorithm, 0)


def customised_batch(algorithm: Algorithm, structure: Ints, numbers: Floats) -> Kernel | None:
    """The same for many states, see ``blocks.batch_source``; other threads run meanwhile.

    Its sines and cosines are its own, so that it agrees with the kernel for one state to rounding, not to the bit.
    """
    program = trace_algorithm(algorithm, structure, numbers)
    return None if program is None else _made(batch_source(program), algorithm, 1)


@cache
def _made(source: str, algorithm: Algorithm, batch_axes: int) -> Kernel:
    name = algorithm.name + batch_axes * "_batch"
    function: Kernel = _load(source, name)[name]
    arrays = ["float64[::1]", *len(algorithm.vectors) * [_array(1 + batch_axes)], _array(algorithm.axes + batch_axes)]
    made: Kernel = only_for((batch_kernel if batch_axes else kernel)(function), f"int64({', '.join(arrays)})")
    return made


def _array(axes: int) -> str:
    return f"float64[{(axes - 1) * ':,'}::1]"


def _load(source: str, name: str) -> dict[str, Any]:
    """Names that the source defines. Numba keeps what it compiles only of functions that stand in a file."""
    folder = cache_directory() if COMPILED else None
    names: dict[str, Any] = {}
    if folder is None:
        exec(compile(source, f"<{name}>", "exec"), names)
        return names
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = folder / f"{name}_{digest}.py"
    _write_once(path, source.encode())
    spec = util.spec_from_file_location(f"robot_dynamics_ros_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module  # numba looks there when it loads what it has kept
    spec.loader.exec_module(module)
    return vars(module)


def _write_once(path: Path, content: bytes) -> None:
    """Write a whole file or none, though other processes do the same; its time of change is numba's key."""
    if path.exists() and path.read_bytes() == content:
        return
    temporary = path.with_suffix(f".{uuid4().hex}")
    temporary.write_bytes(content)
    temporary.replace(path)
