"""The mutation tester itself, on files of which it is known what their tests miss."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mutation.forks import TIMED_OUT, End, Job, forked
from mutation.mutants import Mutants

ROOT = Path(__file__).resolve().parents[2]

SOURCE = """\
LIMIT = 3


def clamp(x):
    if x > LIMIT:
        return LIMIT
    return x


def twice(x):
    return x * 2


def never(x):
    return -x
"""

TESTS = """\
import pytest
from tiny import clamp, never, twice


@pytest.mark.parametrize("x", [2, 3, 5])
def test_clamp(x):
    assert clamp(x) == min(x, 3)


def test_twice():
    assert twice(2) > 2
"""

HALVED = "tiny.py twice: 2 -> 3 in: return x * 2"
NEGATED = "tiny.py never: -x -> x in: return -x"

#: `clamp(3)` is 3 either way.
EQUIVALENT = "tiny.py clamp: x > LIMIT -> x >= LIMIT in: if x > LIMIT:"

RUN = """\
import sys
from pathlib import Path
from mutation.__main__ import main
from mutation.areas import AREAS, Area
AREAS.clear()
AREAS["tiny"] = Area("tiny", ("tiny.py",), ("test_tiny.py",), root=Path.cwd(), reasons=Path.cwd())
sys.exit(main())
"""


def mutation(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}:{folder}"}
    command = [sys.executable, "-c", RUN, "--folder", str(folder / "kept"), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def texts(source: str, tmp_path: Path) -> list[str]:
    (tmp_path / "some.py").write_text(source)
    found = Mutants(tmp_path / "some.py", "some.py")
    for mutant in found.all:
        found.compiled(mutant)
    assert found.compiled(None) == compile(source, str(tmp_path / "some.py"), "exec", dont_inherit=True)
    return [mutant.text for mutant in found.all]


def test_what_weak_tests_miss_survives_until_it_is_tested(tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(SOURCE)
    (tmp_path / "test_tiny.py").write_text(TESTS)
    (tmp_path / "tiny.txt").write_text(f"The bound itself is the same on either side.\n  {EQUIVALENT}\n")
    first = mutation(tmp_path)
    assert (first.returncode, survivors(first)) == (1, [HALVED, NEGATED]), first.stderr
    assert first.stdout.splitlines()[-1].split() == "| **tiny** | 8 | 5 | 0 | 1 | 2 |".split()
    (tmp_path / "test_tiny.py").write_text(f"{TESTS}    assert twice(1) == 2 and never(1) == -1\n")
    second = mutation(tmp_path, "--only", "survivors")
    assert (second.returncode, survivors(second)) == (0, []), second.stderr
    assert second.stdout.splitlines()[-1].split() == "| **tiny** | 8 | 7 | 0 | 1 | 0 |".split()


@pytest.mark.parametrize(
    ("before", "after"), [("8 | 5 | 1 | 1 | 2", "8 | 5 | 1 | 1 | 2"), ("9 | 9 | 0 | 0 | 0", "0 of 8 | 0 | 0 | 0 | 0")]
)
def test_rows_of_files_that_are_not_tried_stay(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(SOURCE)
    (tmp_path / "test_tiny.py").write_text(TESTS)
    (tmp_path / "tiny.txt").write_text("")
    table = f"| file | mutants | a | b | c | d |\n| - | - | - | - | - | - |\n| tiny.py | {before} |"
    document = tmp_path / "document.md"
    document.write_text(f"<!-- begin: make mutation -->\n{table}\n<!-- end: make mutation -->\n")
    run = mutation(tmp_path, "--files", "another.py", "--write", str(document))
    rows = [" ".join(line.split()) for line in document.read_text().splitlines()]
    assert f"| tiny.py | {after} |" in rows and f"| **tiny** | {after} |" in rows, run.stderr


def survivors(run: "subprocess.CompletedProcess[str]") -> list[str]:
    return [line.strip() for line in run.stdout.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a + b", ["a + b -> a - b in: x = a + b"]),
        ("x = 'a' + b", []),
        ("x = -a", ["-a -> a in: x = -a"]),
        ("x = not a", ["not a -> a in: x = not a"]),
        ("x = a < b", ["a < b -> a <= b in: x = a < b", "a < b -> a >= b in: x = a < b"]),
        ("x = a and b", ["a and b -> a or b in: x = a and b"]),
        ("x = True", ["True -> False in: x = True"]),
        ("x = 2", ["2 -> 3 in: x = 2"]),
        ("x = 0.0, 0.5", ["0.0 -> 1.0 in: x = (0.0, 0.5)", "0.5 -> 1.0 in: x = (0.0, 0.5)"]),
        ("x = a if b else c", ["a if b else c -> a in: x = a if b else c", "a if b else c -> c in: x = a if b else c"]),
        ("if a:\n    pass", ["if a: -> if True:", "if a: -> if False:"]),
        ("while a:\n    break", ["while a: -> while False:", "break -> continue"]),
        ("x += a", ["x += a -> x -= a", "x += a -> pass"]),
        ("f(a)", ["f(a) -> pass"]),
        ("x = a + a, a + a", ["a + a -> a - a in: x = (a + a, a + a)", "a + a -> a - a in: x = (a + a, a + a) #2"]),
        ('"""Words."""', []),
        ("def f(x: Literal[1]) -> Literal[2]: ...", []),
        ("raise ValueError(1 + 1)", []),
        ("x = f'{1 + 1}'", []),
        ("_LOG.info('%d', 1)", []),
        ("if TYPE_CHECKING:\n    import a", []),
        ("@cache(size=1)\ndef f(): ...", []),
    ],
)
def test_changes(source: str, expected: list[str], tmp_path: Path) -> None:
    assert texts(source, tmp_path) == expected


def test_forks_end_with_their_code_in_time_and_within_memory() -> None:
    def endless() -> int:
        while True:
            pass

    def greedy() -> int:
        return len(bytearray(3 << 30))

    def long() -> int:
        signal.setitimer(signal.ITIMER_PROF, 0.1)  # as each test gets one
        return endless()

    work = {"three": lambda: 3, "endless": endless, "greedy": greedy, "long": long}
    ends = {end.name: end.code for end in forked([Job(name, job, 1.0) for name, job in work.items()], 2)}
    assert ends == {"three": 3, "endless": TIMED_OUT, "greedy": 70, "long": TIMED_OUT}


def test_forks_that_sleep_for_ever_are_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mutation.forks._SLACK", 0.1)
    (end,) = forked([Job("asleep", lambda: time.sleep(100.0) or 0, 0.01)], 1)
    assert isinstance(end, End) and end.code == TIMED_OUT
