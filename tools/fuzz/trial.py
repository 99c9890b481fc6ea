"""One input against the package: it may be taken or refused with a typed error, and nothing else."""

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
from robot_dynamics_ros.errors import BagWarning
from tools.fuzz import memory
from tools.fuzz.bait import bait

HANG = 2.0
"""Seconds of the processor's time, which other programs do not stretch, after which an input is said to hang."""

WAIT = 60.0
"""Seconds by the clock after which it hangs without computing."""

MOST = 1000.0
"""MB that one input may take."""

_opened: list[str] | None = None


class Wrong(AssertionError):
    """What the package did with an input is not what it promises."""


class _Hangs(BaseException):
    """Comes out of the middle of whatever takes too long."""


def _note_opened(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _opened is not None:
        _opened.append(str(arguments[0]))


sys.addaudithook(_note_opened)


@contextmanager
def no_file_is_opened() -> Iterator[None]:
    """Raise Wrong where Python opens any file in the block, whether a URDF names it or not."""
    global _opened
    _opened = []
    try:
        yield
    finally:
        opened, _opened = _opened, None
    if opened:
        raise Wrong(f"it opened {opened[:3]}")


@dataclass
class Tally:
    """What has happened to the inputs of a target.

    Attributes
    ----------
    tried, taken
        Inputs, and those that were not refused.
    refusals
        How often which part of the package refused, by the kind of error.
    findings
        Kind of failure (exception and place) -> the first input that showed it, and how it failed.
    slowest
        Seconds of the processor's time that the slowest input took.
    """

    tried: int = 0
    taken: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    slowest: float = 0.0

    def show(self, run: Callable[[bytes], None], data: bytes) -> str | None:
        """Run an input and take down what came of it; return the kind of failure, or None."""
        self.tried += 1
        begin, held, highest = time.process_time(), memory.held(), memory.highest()
        failure = self._outcome(run, bait().put_into(data))
        spent = time.process_time() - begin
        taken = memory.highest() - held if memory.highest() > highest else 0.0
        self.slowest = max(self.slowest, spent)
        if failure is None:
            if spent > HANG:  # in one call of a C library
                failure = "it hangs", f"{spent:.1f} s"
            elif taken > MOST:
                failure = "it fills the memory", f"{taken:.0f} MB"
        touched = bait().touched()
        if touched:
            failure = "a file that it names is touched", str(touched)
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
                return "it hangs", "something caught what was to end it"
        except RobotDynamicsError as refusal:
            self.refusals[type(refusal).__name__] += 1
            return None if "Cure:" in str(refusal) else ("a refusal without a cure", str(refusal))
        except _Hangs:
            return "it hangs", traceback.format_exc()
        except Exception as problem:
            frames = traceback.extract_tb(problem.__traceback__)
            place = frames[-1]
            return f"{type(problem).__name__} in {Path(place.filename).name}:{place.lineno}", traceback.format_exc()
        self.taken += 1
        return None


@contextmanager
def _alarms() -> Iterator[list[int]]:
    """Raise _Hangs where the block takes too long, and put the alarm's number into what it is given."""
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
