"""Description of the machine that a benchmark runs on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


def machine(packages: Sequence[str]) -> str:
    """Return the machine and the versions of these packages in one line."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    cpu = names[0] if names else platform.machine()
    return f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"
