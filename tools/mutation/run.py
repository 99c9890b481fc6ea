"""Execution of mutants: pytest imports and collects once, then each mutant runs in a fork of this process.

In the fork, changed functions get new code in all modules that have imported them. For code that runs during the
import, the fork removes the package and the tests from sys.modules and imports them again.
"""

from __future__ import annotations

import gc
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import hypothesis
import pytest

from tools.mutation.forks import BUSY, SLACK, TIMED_OUT, Job, forked
from tools.mutation.mutants import Mutant, Mutants
from tools.mutation.selection import PASSED, Selection, lines_run, tracer_of

FAILED = 1
_CHECK = 1.0  # s, limit of the tests without a mutant
_PATIENCE = 2.0  # s of processor time in addition to ten times the duration of a test
#: No output, to save time; the same order and examples in each run.
_OPTIONS = ["-q", "--capture=no", "--tb=no", "--disable-warnings", "--timeout=0", "-p", "no:cacheprovider"]


class Session:
    """Pytest plugin that calls a function instead of running the collected tests."""

    def __init__(self, instead: Callable[[Session], None], sources: list[Path]) -> None:
        self.instead = instead
        self.tracer = tracer_of(sources)
        self.items: dict[str, pytest.Item] = {}
        self.limits: dict[str, float] = {}  # s of processor time for a test
        self.session: Any = None
        self.note: Path | None = None  # file for the name of the running test

    def start(self, tests: list[str]) -> None:
        """Collect the tests, then call the function."""
        os.environ["HYPOTHESIS_PROFILE"] = "mutation"
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # without shrinking
        checks = list(hypothesis.HealthCheck)
        hypothesis.settings.register_profile(
            "mutation",
            max_examples=10,
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            suppress_health_check=checks,
        )
        self.tracer.start()
        code = pytest.main([*_OPTIONS, "--continue-on-collection-errors", *tests], plugins=[self])
        if not self.items or code == pytest.ExitCode.INTERNAL_ERROR:
            raise SystemExit(f"pytest ended with {code!r}. Cure: make the tests run without mutants first")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Call the function after collection."""
        self.tracer.stop()
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all forks
        self.instead(self)
        return True

    def imported(self, files: dict[str, Path]) -> dict[str, set[int]]:
        """Return the lines that run before the tests."""
        return {file: set(lines) for file, lines in lines_run(self.tracer, files).items()}

    def run(self, *names: str) -> int:
        """Run tests up to the first failure; a test that takes too long ends the process."""
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            self.begin(item.nodeid)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.session.testsfailed:
                return FAILED
        return PASSED

    def begin(self, name: str) -> None:
        """Register the start of a test and set its time limit."""
        if self.note is not None:
            self.note.write_text(name)
        limit = self.limits.get(name, 0.0)
        signal.setitimer(signal.ITIMER_PROF, limit)
        signal.setitimer(signal.ITIMER_REAL, limit and SLACK + BUSY * limit)


class Outcome(NamedTuple):
    """Result of a mutant."""

    key: str
    result: str  # killed, timeout, survived or untested
    test: str  # test that detected it
    seconds: float  # of processor time


class Trial:
    """Runs of the mutants of some files."""

    def __init__(
        self, session: Session, files: dict[str, Mutants], selection: Selection, cap: float, notes: Path
    ) -> None:
        self.session, self.files, self.selection, self.cap = session, files, selection, cap
        self.notes = notes  # a folder
        session.limits = {name: _PATIENCE + 10.0 * selection.seconds([name]) for name in session.items}
        self.functions = _functions({str(mutants.path) for mutants in files.values()})

    def results(self, mutants: list[Mutant], workers: int) -> Iterator[Outcome]:
        """Yield the results of mutants."""
        self._check(mutants, workers)
        jobs = []
        for mutant in sorted(mutants, key=self.selection.is_imported):  # import-time mutants take longer: last
            tests = self._capped(self.selection.tests_of(mutant), self.cap)
            if tests:
                way = self._imported_anew if self.selection.is_imported(mutant) else self._in_place
                jobs.append(self._job(mutant.key, partial(way, self.files[mutant.file], mutant), tests))
            else:
                yield Outcome(mutant.key, "untested", "", 0.0)
        for end in forked(jobs, workers):
            note = self._note(end.name)
            test = note.read_text() if note.exists() else "(import)"
            note.unlink(missing_ok=True)
            if end.code == PASSED:
                yield Outcome(end.name, "survived", "", end.seconds)
            else:
                yield Outcome(end.name, "timeout" if end.code == TIMED_OUT else "killed", test, end.seconds)

    def _check(self, mutants: list[Mutant], workers: int) -> None:
        """Check that an unchanged file passes; otherwise every mutant would count as killed."""
        jobs = []
        for name, imported in sorted({(mutant.file, self.selection.is_imported(mutant)) for mutant in mutants}):
            if tests := self._capped(self.selection.tests_of_file(name), _CHECK):
                way = self._imported_anew if imported else self._in_place
                jobs.append(self._job(f"{name} ({way.__name__})", partial(way, self.files[name], None), tests))
        for end in forked(jobs, workers):
            if end.code != PASSED:
                failed = self._note(end.name).read_text()
                print(f"excluded, fails after other tests without a mutant ({end.name}): {failed}", file=sys.stderr)
                self.selection.leave_out(failed)

    def _note(self, job: str) -> Path:
        return self.notes / f"{hashlib.sha256(job.encode()).hexdigest()[:16]}.note"

    def _job(self, name: str, work: Callable[[list[str]], int], tests: list[str]) -> Job:
        def noted() -> int:
            self.session.note = self._note(name)
            return work(tests)

        return Job(name, noted, 5.0 * _PATIENCE + 10.0 * self.selection.seconds(tests))

    def _capped(self, tests: list[str], cap: float) -> list[str]:
        """Return the first tests within the time limit, at least one."""
        total, taken = 0.0, tests[:1]
        for name in tests:
            total += self.selection.seconds([name])
            if total <= cap and name not in taken:
                taken.append(name)
        return taken

    def _in_place(self, file: Mutants, mutant: Mutant | None, tests: list[str]) -> int:
        for place, new in _codes(file.compiled(mutant)):
            for function in self.functions.get((str(file.path), *place), ()):
                if function.__code__ != new:
                    function.__code__ = new
        return self.session.run(*tests)

    def _imported_anew(self, file: Mutants, mutant: Mutant | None, tests: list[str]) -> int:
        config = self.session.session.config
        for name, module in list(sys.modules.items()):
            place = str(getattr(module, "__file__", None) or "")
            of_tests = place.startswith(str(config.rootpath)) or name.startswith(("benchmarks.", "tools."))
            if of_tests and not name.startswith(("tools.mutation", "__main__")):
                del sys.modules[name]
        sys.meta_path.insert(0, _Finder(file, mutant))
        base = config._tmp_path_factory.getbasetemp() / str(os.getpid())
        return int(pytest.main([*_OPTIONS, "--exitfirst", f"--basetemp={base}", *tests], [_Begin(self.session)]))


class _Begin:
    """Pytest plugin that reports the start of each test to a session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Report the start of a test."""
        self.session.begin(nodeid)


class _Finder(MetaPathFinder):
    """Finder of one module, with a change."""

    def __init__(self, file: Mutants, mutant: Mutant | None) -> None:
        self.file, self.mutant = file, mutant

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return the spec of the changed module; None for all other modules."""
        if fullname.rpartition(".")[2] != self.file.path.stem:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin == str(self.file.path):
            spec.loader = _Loader(fullname, spec.origin, self.file, self.mutant)
            return spec
        return None


class _Loader(SourceFileLoader, Loader):
    def __init__(self, fullname: str, path: str, file: Mutants, mutant: Mutant | None) -> None:
        super().__init__(fullname, path)
        self.file, self.mutant = file, mutant

    def get_code(self, fullname: str) -> CodeType:
        """Return the changed code, without a cache file."""
        return self.file.compiled(self.mutant)


def _functions(paths: set[str]) -> dict[tuple[str, str, int], list[FunctionType]]:
    """Return all existing functions of these files by file, name and line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in paths:
            code = thing.__code__
            found.setdefault((code.co_filename, code.co_name, code.co_firstlineno), []).append(thing)
    gc.freeze()  # forks need not copy what they do not change
    return found


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield (inner.co_name, inner.co_firstlineno), inner
            yield from _codes(inner)
