"""Python as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run_python(
    *arguments: str, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in the folder of the package; kernels are compiled unless ``environment`` disables it."""
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "0",
        "PYTHONPATH": str(ROOT),
        **environment,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=check,
    )
