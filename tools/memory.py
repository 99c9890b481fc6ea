"""Memory of processes (Linux)."""

from __future__ import annotations

import os
from pathlib import Path


def resident(process: int | str = "self") -> float:
    """Return the resident memory (MB) of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") * 1e-6
