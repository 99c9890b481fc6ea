"""One input against the package: it may be taken or refused with a typed error, and nothing else."""

from __future__ import annotations

import os
import resource
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

HANG = 2.0
"""Seconds after which an input counts as one that hangs."""

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
    """Raise Wrong where anything in the block opens a file, such as one that a URDF names."""
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
        Seconds that the slowest input took.
    """

    tried: int = 0
    taken: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    slowest: float = 0.0

    def show(self, run: Callable[[bytes], None], data: bytes) -> str | None:
        """Run an input and take down what came of it; return the kind of failure, or None."""
        self.tried += 1
        begin = time.perf_counter()
        failure = self._outcome(run, data)
        self.slowest = max(self.slowest, time.perf_counter() - begin)
        if failure is None:
            return None
        kind, text = failure
        self.findings.setdefault(kind, (data, text))
        return kind

    def _outcome(self, run: Callable[[bytes], None], data: bytes) -> tuple[str, str] | None:
        try:
            with _alarm(), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", RobotModelWarning)
                warnings.simplefilter("ignore", BagWarning)
                run(data)
        except RobotDynamicsError as refusal:
            self.refusals[type(refusal).__name__] += 1
            return None if "Cure:" in str(refusal) else ("a refusal without a cure", str(refusal))
        except _Hangs:
            return "it hangs", f"more than {HANG} s\n{traceback.format_exc()}"
        except Exception as problem:
            frames = traceback.extract_tb(problem.__traceback__)
            place = frames[-1]
            return f"{type(problem).__name__} in {Path(place.filename).name}:{place.lineno}", traceback.format_exc()
        self.taken += 1
        return None


@contextmanager
def _alarm() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def memory() -> float:
    """Memory that this process holds now, MB (its peak, where the kernel does not tell)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
