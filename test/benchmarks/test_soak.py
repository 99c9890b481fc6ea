"""The long run's parts, and a short one of the whole; without judging any time."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import soak
from benchmarks.soak import PARTS, Sample, drift_rows, tenths, verdict
from robot_dynamics_ros.errors import RobotDynamicsError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_short_run() -> None:
    command = [sys.executable, "-m", "benchmarks.soak", "--cycles", "100000", "--seconds", "25"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert outcome.returncode == 0, outcome.stderr
    assert len(re.findall(r"memory of the (?:plant|controller), MB", outcome.stdout)) == 4
    cycles = re.search(r"^([\d,]+) cycles of 1 ms in lockstep", outcome.stdout, re.MULTILINE)
    assert cycles is not None and int(cycles[1].replace(",", "")) >= 100_000
    assert "% of them with a command" in outcome.stdout


def _samples(growth: float = 0.0, leak: int = 0) -> list[Sample]:
    """A hundred seconds; the controller grows by so many MB a tenth of it and opens so many files."""
    return [
        Sample(float(k), 1000 * k, (250.0, 230.0 + growth * (k // 10)), (18, 20 + leak * (k // 10))) for k in range(100)
    ]


def test_nothing_grows() -> None:
    parts = tenths(_samples())
    assert [len(part) for part in parts] == [10] * PARTS
    assert verdict(parts).startswith("Nothing grows")
    assert drift_rows(parts)[2:] == [
        ["memory of the controller, MB", "230.0", "230.0", "+0.00"],
        ["file descriptors of the controller", "20", "20", "+0"],
    ]


@pytest.mark.parametrize(("growth", "leak"), [(1.0, 0), (0.0, 1)])
def test_growth_is_told(growth: float, leak: int) -> None:
    parts = tenths(_samples(growth, leak))
    assert verdict(parts) == f"**It grows**: memory by {8 * growth:.1f} MB, file descriptors by {8 * leak}."


def test_too_short() -> None:
    with pytest.raises(RobotDynamicsError, match="let it run for 20 s"):
        tenths(_samples()[:15])


def test_write_takes_the_whole_length(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(soak, "lockstep", lambda cycles: pytest.fail("it ran"))
    with pytest.raises(SystemExit):
        soak.main(["--cycles", "1000", "--write", "reliability.md"])
    assert "leave out --cycles" in capsys.readouterr().err
