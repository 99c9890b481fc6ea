"""Trial of one input: the package may accept it or raise a typed error, nothing else."""

from __future__ import annotations

import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from robot_dynamics_ros import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.base.errors import BagWarning
from tools.fuzz import memory
from tools.fuzz.bait import bait

HANG = 2.0
"""Limit of the processor time (s) of an input, which other programs do not affect."""

WAIT = 60.0
"""Limit of the elapsed time (s) of an input, for code that waits without computing."""

MOST = 1000.0
"""Limit of the memory (MB) that one input may use."""

_opened: list[str] | None = None


class Wrong(AssertionError):
    """Result that violates a guarantee of the package."""


class _Hangs(BaseException):
    """Exception that is raised inside code that takes too long."""


def _note_opened(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _opened is not None:
        _opened.append(str(arguments[0]))


sys.addaudithook(_note_opened)


@contextmanager
def no_file_is_opened() -> Iterator[None]:
    """Raise Wrong if Python opens any file in the context."""
    global _opened
    _opened = []
    try:
        yield
    finally:
        opened, _opened = _opened, None
    if opened:
        raise Wrong(f"files were opened: {opened[:3]}")


@dataclass
class Tally:
    """Results of the inputs of a target.

    Attributes
    ----------
    tried, taken
        Number of inputs, and of accepted ones.
    refusals
        Number of refusals by module of the package and type of error.
    findings
        First input with each kind of failure (exception and place), and the failure.
    slowest
        Processor time (s) of the slowest input.
    """

    tried: int = 0
    taken: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    slowest: float = 0.0

    def show(self, run: Callable[[bytes], None], data: bytes) -> str | None:
        """Run an input and record the result; return the kind of failure, or None."""
        self.tried += 1
        begin, held, highest = time.process_time(), memory.held(), memory.highest()
        failure = self._outcome(run, bait().put_into(data))
        spent = time.process_time() - begin
        taken = memory.highest() - held if memory.highest() > highest else 0.0
        self.slowest = max(self.slowest, spent)
        if failure is None:
            if spent > HANG:  # in one call of a C library
                failure = "timeout", f"{spent:.1f} s"
            elif taken > MOST:
                failure = "too much memory", f"{taken:.0f} MB"
        touched = bait().touched()
        if touched:
            failure = "a file that the input names was accessed", str(touched)
        if failure is None:
            return None
        kind, text = failure
        self.findings.setdefault(kind, (data, text))
        return kind

    def _outcome(self, run: Callable[[bytes], None], data: bytes) -> tuple[str, str] | None:
        try:
            with _alarms() as rung, warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", RobotModelWarning)
                warnings.simplefilter("ignore", BagWarning)
                run(data)
            if rung:
                return "timeout", "an exception handler caught the timeout"
        except RobotDynamicsError as refusal:
            self.refusals[type(refusal).__name__] += 1
            return None if "Cure:" in str(refusal) else ("a refusal without a cure", str(refusal))
        except _Hangs:
            return "timeout", traceback.format_exc()
        except Exception as problem:
            frames = traceback.extract_tb(problem.__traceback__)
            place = frames[-1]
            return f"{type(problem).__name__} in {Path(place.filename).name}:{place.lineno}", traceback.format_exc()
        self.taken += 1
        return None


@contextmanager
def _alarms() -> Iterator[list[int]]:
    """Raise _Hangs if the context takes too long, and append the signal number to the yielded list."""
    rung: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        rung.append(number)
        raise _Hangs

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, HANG), (signal.SIGALRM, signal.ITIMER_REAL, WAIT))
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield rung
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0.0)
            signal.signal(number, handler)
