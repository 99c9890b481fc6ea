"""Lines that each test runs, and its duration; each test is measured once, in a process of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import coverage
from tqdm import tqdm

from tools.mutation.forks import Job, forked
from tools.mutation.mutants import Mutant

PASSED = 0


class Ran(NamedTuple):
    """Measurement of one test."""

    key: str  # hash of its file and of the files that it runs
    passed: bool
    seconds: float
    lines: dict[str, int]  # bit mask of the lines that ran, by file


class Selection:
    """Measurements of the tests of a session, stored in a file; only tests with changed sources are repeated."""

    def __init__(self, path: Path, files: dict[str, Path], imported: dict[str, set[int]]) -> None:
        self.path, self.files = path, files
        self.imported = imported  # lines that run during imports
        self.tests: dict[str, Ran] = {}
        if path.exists():
            self.tests = {name: Ran(*values) for name, values in json.loads(path.read_text()).items()}
        self._digests = {file: _digest(path) for file, path in files.items()}

    def measure(self, tests: dict[str, Path], run: Callable[[str], int], workers: int, longest: float) -> None:
        """Run each test (name and file) that has not run with these sources; ``run`` returns the exit code.

        A test that takes more than ``longest`` s of processor time, with coverage, counts as failed.
        """
        self.tests = {
            name: ran
            for name, ran in self.tests.items()
            if name in tests and ran.key == self._key(tests[name], ran.lines)
        }
        new = [name for name in tests if name not in self.tests]
        places = {name: self.path.with_suffix(f".{k}") for k, name in enumerate(new)}
        jobs = (Job(name, partial(self._traced, name, run, places[name]), longest) for name in new)
        for count, end in enumerate(tqdm(forked(jobs, workers), "tests", len(new), mininterval=10.0)):
            place = places[end.name]
            lines = json.loads(place.read_text()) if place.exists() else {}
            place.unlink(missing_ok=True)
            self.tests[end.name] = Ran(self._key(tests[end.name], lines), end.code == PASSED, end.seconds, lines)
            if count % 500 == 0 or count == len(new) - 1:
                self.path.write_text(json.dumps(self.tests))

    def is_imported(self, mutant: Mutant) -> bool:
        """Return True if the lines of the mutant run when modules are imported."""
        return not self.imported.get(mutant.file, set()).isdisjoint(mutant.lines)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the mutant, most specific first; for import-time code those of its file."""
        bits = sum(1 << line for line in mutant.lines)
        running = self._running(lambda ran: bool(bits & ran.lines.get(mutant.file, 0)))
        if not running and self.is_imported(mutant):
            own = [name for name, ran in self.tests.items() if ran.passed and is_own(name, mutant.file)]
            running = list(dict.fromkeys([*own, *self.tests_of_file(mutant.file)]))
        return _in_turn(running, mutant.file)

    def tests_of_file(self, file: str) -> list[str]:
        """Return the tests that run any line of a file, fastest first."""
        return self._running(lambda ran: file in ran.lines)

    def seconds(self, tests: Iterable[str]) -> float:
        """Return the total duration (s) of tests."""
        return sum(self.tests[name].seconds for name in tests)

    def left_out(self) -> Iterator[str]:
        """Yield tests that fail without any change, or take too long."""
        return (name for name, ran in self.tests.items() if not ran.passed)

    def leave_out(self, test: str) -> None:
        """Exclude a test."""
        if test in self.tests:
            self.tests[test] = self.tests[test]._replace(passed=False)

    def _running(self, condition: Callable[[Ran], bool]) -> list[str]:
        names = [name for name, ran in self.tests.items() if ran.passed and condition(ran)]
        return sorted(names, key=lambda name: self.tests[name].seconds)

    def _key(self, test: Path, lines: Iterable[str]) -> str:
        return " ".join([_digest(test), *(self._digests.get(file, "") for file in sorted(lines))])

    def _traced(self, name: str, run: Callable[[str], int], place: Path) -> int:
        tracer = tracer_of(self.files.values())
        tracer.start()
        code = run(name)
        tracer.stop()
        lines = lines_run(tracer, self.files)
        place.write_text(json.dumps({file: sum(1 << k for k in set(found)) for file, found in lines.items() if found}))
        return code


def tracer_of(sources: Iterable[Path]) -> coverage.Coverage:
    """Return a coverage tracer for the lines of these files, without a data file."""
    return coverage.Coverage(data_file=None, include=[str(path) for path in sources], config_file=False)


def lines_run(tracer: coverage.Coverage, files: dict[str, Path]) -> dict[str, list[int]]:
    """Return the lines of each file that were run."""
    data = tracer.get_data()
    return {file: data.lines(str(path)) or [] for file, path in files.items()}


def is_own(test: str, file: str) -> bool:
    """Return True if a test is in the test file of this file, as test_limits.py is of control/limits.py."""
    return Path(test.split("::")[0]).name.startswith(f"test_{Path(file).stem}")


def _in_turn(tests: list[str], file: str) -> list[str]:
    """Return the file's own tests, then the first of each test file, the second, ..., its folder's first."""
    files: dict[str, list[str]] = {}
    for name in tests:
        files.setdefault(name.split("::")[0], []).append(name)
    folder = file.split("/")[0]
    near = sorted(files.values(), key=lambda names: f"/{folder}/" not in names[0])
    turns = [name for turn in zip_longest(*near) for name in turn if name is not None]
    return sorted(turns, key=lambda name: not is_own(name, file))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
