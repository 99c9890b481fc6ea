"""Many states at once: leading axes put in a row, spread over the cores, and put back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from robot_dynamics_ros.kernels.compilation import numba
from robot_dynamics_ros.kernels.entries import OK
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model.arguments import own_axes

# Fewer states than this are not worth another thread; whole blocks for kernels that work in blocks of 64.
_LEAST = 512
_BLOCK = 64


def cores() -> int:
    """Number of processor cores that this process may use, at most NUMBA_NUM_THREADS."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return count if numba is None else min(count, numba.config.NUMBA_NUM_THREADS)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads of this process (a fork has none); the compiled loops run on them without Python's lock."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="robot_dynamics")


def spread_over(
    function: Callable[..., int],
    batch: tuple[int, ...],
    arguments: Mapping[str, Array],
    results: Sequence[Array],
) -> int:
    """Call ``function(*arguments, *results)`` for every state of ``batch``, on all cores.

    Arguments are repeated over the axes of ``batch`` that they lack; results are C-contiguous and have
    them all. Returns the function's status, OK, or else the least: one that counts states from the first.
    """
    count = math.prod(batch)
    arrays = [_in_a_row(array, batch, own_axes(name), count) for name, array in arguments.items()]
    arrays += [result.reshape((count, *result.shape[len(batch) :])) for result in results]
    parts = min(cores(), count // _LEAST)
    if parts < 2:
        return function(*arrays)
    size = -(-count // parts // _BLOCK) * _BLOCK

    def run(start: int) -> int:
        status = function(*(array[start : start + size] for array in arrays))
        return status if status == OK else status + start * arrays[0].shape[1]

    return min((status for status in _pool(os.getpid()).map(run, range(0, count, size)) if status != OK), default=OK)


def over_rows(function: Callable[[slice], None], count: int, block: int) -> None:
    """Call ``function`` for parts of ``count`` rows, whole blocks each, on all cores at once."""
    size = max(1, -(-count // cores() // block)) * block
    parts = [slice(start, start + size) for start in range(0, count, size)]
    if len(parts) == 1:
        function(parts[0])
    else:
        list(_pool(os.getpid()).map(function, parts))


def _in_a_row(array: Array, batch: tuple[int, ...], axes: int, count: int) -> Array:
    own = array.shape[array.ndim - axes :]
    if array.shape != batch + own:
        # A copy even where the view is contiguous: views are read-only, and numba would compile for that.
        array = np.array(np.broadcast_to(array, batch + own), order="C")
    return array.reshape((count, *own))
