"""Memory of a process, and its growth while inputs are processed."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Sequence
from pathlib import Path

EVERY = 250
"""Number of inputs between two measurements of the memory."""

GROWTH = 5.0
"""Limit of the growth (MB) from the second to the last tenth of a run."""

_PARTS = 10


def held() -> float:
    """Return the present memory (MB) of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def held_at_rest() -> float:
    """Return the memory (MB) after garbage collection."""
    gc.collect()
    return held()


def highest() -> float:
    """Return the largest memory (MB) of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


def growth(samples: Sequence[float]) -> float | None:
    """Return the growth of the minimum from the second to the last tenth of a run; None if it is too short.

    The first tenth is a warm-up. A leak increases the minimum; memory that is freed again does not.
    """
    size = len(samples) // _PARTS
    if size == 0:
        return None
    return min(samples[-size:]) - min(samples[size : 2 * size])
