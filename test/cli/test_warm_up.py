"""robot_dynamics warm-up: afterwards the first start of nodes and commands compiles nothing."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from robot_dynamics_ros.dynamics.kernels.compilation import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


def run(cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "robot_dynamics_ros.cli.main", *arguments]
    return subprocess.run(
        command,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )


RECORDING = (
    Path(__file__).resolve().parents[2]
    / "recordings"
    / "panda_exciting_trajectory.mcap"
)


@pytest.mark.slow
def test_a_terminal_shows_the_number_of_kernels(tmp_path: Path) -> None:
    """Command identify counts all kernels that it compiles; torque uses a part of them."""
    words = [
        "identify",
        str(RECORDING),
        "--robot",
        "panda",
        "--rename",
        "fer_=panda_",
        "-o",
        str(tmp_path / "new"),
    ]
    command = [sys.executable, "-m", "robot_dynamics_ros.cli.main", *words]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    shown = b""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=terminal
    ) as process:
        os.close(terminal)
        with suppress(OSError):  # the process has ended
            while True:
                shown += os.read(ours, 4096)
    os.close(ours)
    assert process.returncode == 0
    counts = re.findall(rb"compiling: (\d) of 8 kernels", shown)
    assert int(counts[-1]) >= 6 and shown.count(b"compiling the dynamics kernels") == 1


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
        assert result.returncode == 0 and "compiling" not in result.stderr, (
            command,
            result.stderr,
        )
