"""Clocks: libraries take turns, so that whatever slows the machine down slows all of them."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from benchmarks.robots import Floats


class Timed(NamedTuple):
    """A function and the arguments of each of its calls."""

    function: Callable[..., Any]
    calls: Sequence[tuple[Any, ...]]


def available_cores(required: int) -> list[int]:
    """The first ``required`` processor cores that this process may use; leaves the program where there are fewer."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit("The benchmark binds itself to processor cores, which only Linux offers. Cure: run it there")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < required:
        raise SystemExit(f"The batches need {required} processor cores, there is {len(cores)}. Cure: allow it more")
    return cores[:required]


@contextmanager
def bound_to(cores: Sequence[int]) -> Iterator[None]:
    """Run this thread, and threads that it starts meanwhile, on these cores only; afterwards where it ran before."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def interleaved(libraries: Mapping[str, Timed], rounds: int, block: int, *, settle: bool = False) -> dict[str, Floats]:
    """Time of one call in seconds (rounds,) for each library; in every round each has a turn of ``block`` calls.

    A round goes on in ``calls`` where the one before stopped, and starts again at the end. Every second round goes
    through the libraries backwards. With ``settle`` a turn begins with a call outside the clock: the threads of
    the library before it may still be spinning.
    """
    times: dict[str, list[float]] = {name: [] for name in libraries}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for turn in range(-1, rounds):  # the first one warms up
            for name in list(libraries)[:: 1 if turn % 2 else -1]:
                function, calls = libraries[name]
                part = [calls[(max(turn, 0) * block + k) % len(calls)] for k in range(block)]
                if settle:
                    function(*part[0])
                before = time.perf_counter()
                for arguments in part:
                    function(*arguments)
                elapsed = time.perf_counter() - before
                if turn >= 0:
                    times[name].append(elapsed / block)
    finally:
        if enabled:
            gc.enable()
    return {name: np.array(values) for name, values in times.items()}
