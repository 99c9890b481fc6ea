"""Timing of libraries that take turns, so that other loads on the machine affect all of them equally."""

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
    """Function and the arguments of each of its calls."""

    function: Callable[..., Any]
    calls: Sequence[tuple[Any, ...]]


def available_cores(required: int) -> list[int]:
    """Return the first ``required`` processor cores that this process may use; SystemExit if there are fewer."""
    if not hasattr(os, "sched_setaffinity"):
        raise SystemExit(
            "The benchmark sets CPU affinity, which is only possible on Linux. Cure: run it on Linux"
        )
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < required:
        raise SystemExit(
            f"The batches need {required} processor cores, {len(cores)} are available. Cure: allow more cores"
        )
    return cores[:required]


@contextmanager
def bound_to(cores: Sequence[int]) -> Iterator[None]:
    """Run this thread, and threads that it starts in the context, on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def interleaved(
    libraries: Mapping[str, Timed], rounds: int, block: int, *, warm: bool = False
) -> dict[str, Floats]:
    """Return the time per call (s), (rounds,), of each library; each has a turn of ``block`` calls in every round.

    A round continues in ``calls`` after the last call of the round before, and wraps around. Every second round has the
    reverse order of libraries. With ``warm`` a turn begins with a call that is not timed, because threads of the
    previous library may still be active.
    """
    times: dict[str, list[float]] = {name: [] for name in libraries}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for turn in range(-1, rounds):  # the first call is a warm-up
            for name in list(libraries)[:: 1 if turn % 2 else -1]:
                function, calls = libraries[name]
                part = [
                    calls[(max(turn, 0) * block + k) % len(calls)] for k in range(block)
                ]
                if warm:
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
