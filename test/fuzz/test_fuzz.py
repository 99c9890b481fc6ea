"""A short run of each target, the inputs that once failed, and whether the harness sees what it looks for."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz import trial
from fuzz.__main__ import fuzz
from fuzz.targets import ALL
from fuzz.trial import Tally, Wrong, no_file_is_opened

from robot_dynamics_ros import RobotDynamicsError

CASES = sorted(Path(__file__).with_name("cases").glob("*/*.input"))


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_found(name: str) -> None:
    tally, _ = fuzz(ALL[name], 7, 0.0, 120)
    assert not tally.findings, next(iter(tally.findings.values()))[1]
    assert tally.tried == 120 and tally.taken > 10
    assert name == "messages" or tally.refusals.total() > 10  # what a controller refuses, it logs


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_what_once_failed(case: Path) -> None:
    tally = Tally()
    tally.show(ALL[case.parent.name.replace("_", " ")].run, case.read_bytes())
    assert not tally.findings, next(iter(tally.findings.values()))[1]


def _raises(problem: BaseException) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        raise problem

    return run


def _hangs(data: bytes) -> None:
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        pass


def _warns(data: bytes) -> None:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)


def _reads(data: bytes) -> None:
    with no_file_is_opened(), Path(__file__).open("rb"):
        pass


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (_raises(KeyError("x")), "KeyError in test_fuzz.py"),
        (_raises(RecursionError()), "RecursionError in"),
        (_raises(Wrong("effort [nan]")), "Wrong in"),
        (_raises(RobotDynamicsError("no")), "a refusal without a cure"),
        (_hangs, "it hangs"),
        (_warns, "RuntimeWarning in"),
        (_reads, "Wrong in trial.py"),
    ],
)
def test_failures_are_seen(run: Callable[[bytes], None], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "HANG", 0.2)
    tally = Tally()
    found = tally.show(run, b"input")
    assert found is not None and found.startswith(kind)
    assert tally.findings[found][0] == b"input" and tally.taken == 0


def test_what_is_taken_and_what_is_refused_is_counted() -> None:
    tally = Tally()
    assert tally.show(lambda data: None, b"") is None
    assert tally.show(_raises(RobotDynamicsError("bad. Cure: good")), b"") is None
    assert (tally.tried, tally.taken, tally.refusals.total(), len(tally.findings)) == (2, 1, 1, 0)
