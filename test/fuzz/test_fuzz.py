"""A short run of each target, the inputs that once failed, and whether the harness sees what it looks for."""

import ctypes
import os
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzz import __main__ as command
from fuzz import bags, memory, trial
from fuzz.__main__ import fuzz
from fuzz.table import rows_of, table
from fuzz.targets import ALL, Messages, Target
from fuzz.trial import Tally, Wrong, no_file_is_opened

from benchmarks.document import rows_in
from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.control.controller import Controller

CASES = sorted(Path(__file__).with_name("cases").glob("*/*.input"))
_FOLLOWING = "".join(
    f'<link name="l{k}"/><joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/>'
    f'<axis xyz="0 0 1"/>{f"""<mimic joint="j{k - 1}"/>""" if k > 1 else ""}</joint>'
    for k in range(1, 5000)
)
#: What once took the square, or the cube, of its length.
LONG = {
    "digits that are no number": ("dynamics file", f"gravity: [0, 0, {'1' * 40_000}x]"),
    "an integer of base 60": ("dynamics file", f"gravity: [0, 0, 1{':1' * 200_000}]"),
    "coordinates": ("dynamics file", f"coordinates: [{', '.join(f'c{k}' for k in range(60_000))}]"),
    "joints that follow each other": ("urdf", f'<robot name="r"><link name="l0"/>{_FOLLOWING}</robot>'),
}


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


@pytest.mark.parametrize("name", LONG)
def test_what_once_took_long(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "HANG", 5.0)  # they took ten and more, and take less than one
    target, text = LONG[name]
    tally = Tally()
    tally.show(ALL[target].run, text.encode())
    assert not tally.findings, next(iter(tally.findings.values()))[1]


def _raises(problem: BaseException) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        raise problem

    return run


def _hangs(data: bytes) -> None:
    end = time.monotonic() + 30.0
    while time.monotonic() < end:
        pass


def _waits(data: bytes) -> None:
    time.sleep(30.0)


def _computes_in_c(data: bytes) -> None:
    """No signal comes through while a C library computes."""
    pow(3, 2_000_000)


def _catches(data: bytes) -> None:
    try:
        _hangs(data)
    except BaseException:
        pass


def _fills(data: bytes) -> None:
    len(b"x" * int((memory.highest() - memory.held() + 300.0) * 1e6))  # more than this process ever held


def _warns(data: bytes) -> None:
    warnings.warn("overflow", RuntimeWarning, stacklevel=1)


def _reads(data: bytes) -> None:
    with no_file_is_opened(), Path(__file__).open("rb"):
        pass


def _reads_in_c(data: bytes) -> None:
    """Python's audit hooks do not see it."""
    library = ctypes.CDLL(None)
    library.fclose.argtypes = [ctypes.c_void_p]
    library.fopen.restype = ctypes.c_void_p
    library.fclose(library.fopen(data, b"r"))


def _removes(data: bytes) -> None:
    os.replace(data, data + b"2")
    os.replace(data + b"2", data)


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (_raises(KeyError("x")), "KeyError in test_fuzz.py"),
        (_raises(RecursionError()), "RecursionError in"),
        (_raises(Wrong("effort [nan]")), "Wrong in"),
        (_raises(RobotDynamicsError("no")), "a refusal without a cure"),
        (_hangs, "it hangs"),
        (_waits, "it hangs"),
        (_computes_in_c, "it hangs"),
        (_catches, "it hangs"),
        (_fills, "it fills the memory"),
        (_warns, "RuntimeWarning in"),
        (_reads, "Wrong in trial.py"),
        (_reads_in_c, "a file that it names is touched"),
        (_removes, "a file that it names is touched"),
    ],
)
def test_failures_are_seen(run: Callable[[bytes], None], kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "HANG", 1.0 if run is _fills else 0.05)
    monkeypatch.setattr(trial, "WAIT", 5.0 if run is not _waits else 0.2)
    monkeypatch.setattr(trial, "MOST", 200.0)
    tally = Tally()
    found = tally.show(run, b"@bait@")
    assert found is not None and found.startswith(kind)
    assert tally.findings[found][0] == b"@bait@"


def test_what_is_taken_and_what_is_refused_is_counted() -> None:
    tally = Tally()
    assert tally.show(lambda data: None, b"") is None
    assert tally.show(_raises(RobotDynamicsError("bad. Cure: good")), b"") is None
    assert (tally.tried, tally.taken, tally.refusals.total(), len(tally.findings)) == (2, 1, 1, 0)


# What the harness judges


class _Grows(Target):
    name, full = "grows", 1

    def __init__(self) -> None:
        self.kept: list[bytearray] = []

    def make(self, rng: object) -> bytes:
        return b""

    def run(self, data: bytes) -> None:
        self.kept.append(bytearray(b"x") * 1_000_000)


class _FreesAgain(_Grows):
    def run(self, data: bytes) -> None:
        super().run(data)
        self.kept.clear()


@pytest.mark.parametrize(("target", "grows"), [(_Grows(), True), (_FreesAgain(), False)])
def test_memory_that_grows_is_a_finding(target: Target, grows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EVERY", 5)
    tally, growth = fuzz(target, 1, 0.0, 200)
    assert growth is not None and (growth > memory.GROWTH) == grows
    assert list(tally.findings) == (["memory grows"] if grows else [])


def test_growth_is_the_floor_that_rises() -> None:
    assert memory.growth([1.0] * 9) is None
    steady = [50.0, 10.0, 90.0] * 10
    assert memory.growth(steady) == 0.0
    assert memory.growth([value + k for k, value in enumerate(steady)]) == pytest.approx(24.0)
    assert memory.growth([0.0] * 3 + [80.0] * 27) == 0.0  # it warmed up


def _spoils(value: float) -> Callable[..., object]:
    update = Controller.update

    def spoiled(self: Controller, time: float, steady: float) -> object:
        command = update(self, time, steady)
        if command is not None:
            command.effort[-1] = value
        return command

    return spoiled


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e7])
@pytest.mark.parametrize("name", ["urdf", "dynamics file", "messages", "parameters", "parameter file"])
def test_every_effort_is_looked_at(name: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is taken is driven with: no such effort passes."""
    tally, _ = fuzz(ALL[name], 3, 0.0, 20)
    assert tally.taken > 0 and not tally.findings
    monkeypatch.setattr(Controller, "update", _spoils(value))
    monkeypatch.setattr(command, "compile_kernels", lambda: None)
    tally, _ = fuzz(ALL[name], 3, 0.0, 20)
    (kind,) = tally.findings
    assert kind.startswith("Wrong in driven.py") and tally.taken == 0


def test_a_controller_that_says_nothing_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Controller, "update", lambda *_: None)
    monkeypatch.setattr(command, "compile_kernels", lambda: None)
    tally, _ = fuzz(ALL["parameters"], 3, 0.0, 20)
    assert [kind for kind in tally.findings if kind.startswith("Wrong in driven.py")]


def test_a_bag_that_is_changed_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bags, "_read", lambda bag: next(bag.parent.iterdir()).write_bytes(b""))
    with pytest.raises(Wrong, match="not as it was"):
        bags.read(bags.packed({"bag.mcap": b"some", "bag.db3": b"other"}))


# What is written down


def test_the_table_keeps_the_rows_of_others() -> None:
    tally = Tally(tried=1200, taken=700, slowest=0.25)
    tally.refusals["BagError"] = 500
    rows = rows_of([(ALL["bags"], tally, 1.24), (ALL["urdf"], Tally(), None)])
    text = table(rows, list(ALL))
    assert rows_in(f"Machine: x | y.\n\n{text}\n") == rows
    assert rows["bags"][1:] == ["1,200", "700", "500", "0.25 s", "+1.2 MB", "0"]
    assert rows["urdf"][5] == "–" and text.index("| urdf") < text.index("| bags")


def test_messages_are_counted() -> None:
    target = Messages()
    tally, _ = fuzz(target, 1, 0.0, 5)
    assert tally.taken == 5
    count = int(target.counted(5).removeprefix("5 (").split()[0])
    assert 5 * 3 <= count <= 5 * 40


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_seed_makes_the_same_inputs(seed: int) -> None:
    for target in ALL.values():
        first, second = (target.make(random.Random(seed)) for _ in range(2))
        assert first == second
