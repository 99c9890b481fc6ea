"""How much memory a process holds, and whether it grows while inputs come and go."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Sequence
from pathlib import Path

EVERY = 250
"""Inputs from one look at the memory to the next."""

GROWTH = 5.0
"""MB by which it may grow from the second to the last tenth of a run."""

_PARTS = 10


def held() -> float:
    """Memory that this process holds now, MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def held_at_rest() -> float:
    """Memory (MB) without what only waits to be collected."""
    gc.collect()
    return held()


def highest() -> float:
    """Memory that this process has ever held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


def growth(samples: Sequence[float]) -> float | None:
    """By how much the floor rises from the second to the last tenth of a run; None where it is too short to tell.

    The first tenth warms up. What leaks raises the least that is held, what is freed again does not.
    """
    size = len(samples) // _PARTS
    if size == 0:
        return None
    return min(samples[-size:]) - min(samples[size : 2 * size])
