"""Who starts a command for the first time is told why it takes so long, and afterwards not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros.kernels.compilation import COMPILED

PROGRAM = """
from robot_dynamics_ros.cli.first_run import announce_compilation, compilation_announced
with compilation_announced("torque"):
    pass
announce_compilation("model")
"""


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_only_the_first_run_says_so(tmp_path: Path) -> None:
    """The first block came to its end, what ``model`` stands for never did."""
    said = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stderr.splitlines()
        for _ in range(2)
    ]
    assert [len(lines) for lines in said] == [2, 1]
    assert all(line.startswith("first run: compiling") and str(tmp_path) in line for line in said[0])
