"""A short run of each fuzzer, and inputs that failed in the past."""

from collections.abc import Callable
from pathlib import Path

import pytest

from robot_dynamics_ros import RobotDynamicsError
from tools.fuzz import trial
from tools.fuzz.__main__ import fuzz
from tools.fuzz.targets import ALL
from tools.fuzz.trial import Tally

CASES = sorted(
    (Path(__file__).resolve().parents[1] / "tools" / "fuzz" / "cases").glob("*/*.input")
)
_FOLLOWING = "".join(
    f'<link name="l{k}"/><joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/>'
    f'<axis xyz="0 0 1"/>{f"""<mimic joint="j{k - 1}"/>""" if k > 1 else ""}</joint>'
    for k in range(1, 5000)
)
#: What once took the square, or the cube, of its length.
LONG = {
    "digits that are no number": ("dynamics file", f"gravity: [0, 0, {'1' * 40_000}x]"),
    "an integer of base 60": ("dynamics file", f"gravity: [0, 0, 1{':1' * 200_000}]"),
    "coordinates": (
        "dynamics file",
        f"coordinates: [{', '.join(f'c{k}' for k in range(60_000))}]",
    ),
    "joints that follow each other": (
        "urdf",
        f'<robot name="r"><link name="l0"/>{_FOLLOWING}</robot>',
    ),
}


def _findings(target: str, data: bytes) -> dict[str, str]:
    """Return each kind of failure with its message, without the input, which may be long."""
    tally = Tally()
    tally.show(ALL[target].run, data)
    return {kind: text for kind, (_, text) in tally.findings.items()}


@pytest.mark.parametrize("name", ALL)
def test_random_inputs_are_accepted_or_refused(name: str) -> None:
    tally, _ = fuzz(ALL[name], 7, 60)
    assert not tally.findings, next(iter(tally.findings.values()))[1]
    assert tally.tried == 60 and tally.taken > 1
    # what a controller refuses, it logs
    assert name == "messages" or tally.refused > 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_inputs_of_former_failures(case: Path) -> None:
    assert not _findings(case.parent.name.replace("_", " "), case.read_bytes())


@pytest.mark.parametrize("name", LONG)
def test_inputs_of_former_delays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # s of processor time: they took ten and more, and take at most two
    monkeypatch.setattr(trial, "HANG", 5.0)
    target, text = LONG[name]
    assert not _findings(target, text.encode())


def _raises(error: Exception) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        raise error

    return run


def test_fuzzer_detects_a_failure() -> None:
    tally = Tally()
    assert str(tally.show(_raises(KeyError("x")), b"a")).startswith("KeyError in")
    assert (
        tally.show(_raises(RobotDynamicsError("no")), b"b")
        == "a refusal without a cure"
    )
    assert tally.show(_raises(RobotDynamicsError("no. Cure: yes")), b"c") is None
    assert sorted(data for data, _ in tally.findings.values()) == [b"a", b"b"]
