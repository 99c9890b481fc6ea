"""robot_dynamics warm-up: afterwards the first start of nodes and commands compiles nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def run(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robot_dynamics_ros.cli.main", *arguments]
    return subprocess.run(command, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True)


def test_an_empty_cache_fails_the_check(tmp_path: Path) -> None:
    check = run(tmp_path, "warm-up", "--check")
    assert check.returncode == 1 and "not compiled" in check.stderr
    assert not [*tmp_path.rglob("*.nbc")]
    assert run(tmp_path, "warm-up", "--clear").returncode == 0
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_afterwards_nothing_is_compiled(tmp_path: Path) -> None:
    assert run(tmp_path, "warm-up").returncode == 0
    assert all(path.stat().st_mode & 0o044 for path in tmp_path.rglob("*"))
    bag = str(tmp_path / "bag")
    for command in (
        ("warm-up", "--check"),
        ("inspect", "scara"),
        ("simulate", "panda", "-o", bag),
        ("replay", bag, "--robot", "panda", "-o", f"{bag}_replayed"),
        ("torque", bag, "--robot", "panda"),
        ("identify", bag, "--robot", "panda", "-o", str(tmp_path / "identified.yaml")),
    ):
        result = run(tmp_path, *command)
        assert result.returncode == 0 and "compiling" not in result.stderr, (command, result.stderr)
