"""Trial of one input: the package may accept it or raise a typed error, nothing else."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from benchmarks.ros_processes import resident
from robot_dynamics_ros import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.base.errors import BagWarning

HANG = 2.0
"""Limit of the processor time (s) of an input, which other programs do not affect."""

WAIT = 60.0
"""Limit of the elapsed time (s) of an input, for code that waits without computing."""

MOST = 1000.0
"""Limit of the memory (MB) that one input may use."""

PLACE = b"@bait@"
"""Placeholder in inputs for the path of a file that must not be accessed, which differs between processes."""

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
        opened = _opened
        _opened = None
    if opened:
        raise Wrong(f"files were opened: {opened[:3]}")


class Bait:
    """File in a folder of its own in which inotify detects accesses, also from C libraries."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="fuzz_")
        self.file = Path(self._folder.name) / "bait"
        self.file.write_text("<robot/>", encoding="utf-8")
        library = ctypes.CDLL(None, use_errno=True)
        self._watch = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if (
            self._watch < 0
            or library.inotify_add_watch(
                self._watch, os.fsencode(self._folder.name), 0xFFF
            )
            < 0
        ):
            raise OSError(
                ctypes.get_errno(),
                "inotify is not available, which detects opened files",
            )

    def touched(self) -> list[str]:
        """Return the names in the folder that were opened, changed or removed since the last call."""
        try:
            data = os.read(self._watch, 1 << 16)
        except BlockingIOError:
            return []
        names = []
        at = 0
        # Watch, mask, cookie, length of the name that follows.
        event = struct.Struct("iIII")
        while at < len(data):
            *_, length = event.unpack_from(data, at)
            at += event.size + length
            # without a name the folder itself was opened, perhaps by a program that lists /tmp
            if length:
                names.append(os.fsdecode(data[at - length : at].rstrip(b"\0")))
        return names


@cache
def bait() -> Bait:
    """Return the bait of this process."""
    return Bait()


def with_bait(data: bytes) -> bytes:
    """Return an input with the path of the bait instead of its placeholder."""
    return data.replace(PLACE, os.fsencode(bait().file))


@dataclass
class Tally:
    """Results of the inputs of a target.

    Attributes
    ----------
    tried, taken, refused
        Number of inputs, of accepted ones, and of those that the package refused with a typed error.
    findings
        First input with each kind of failure (exception and place), and the failure.
    slowest
        Processor time (s) of the slowest input.
    """

    tried: int = 0
    taken: int = 0
    refused: int = 0
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    slowest: float = 0.0

    def cells(self) -> list[str]:
        """Return the numbers as text."""
        return [
            f"{self.tried:,}",
            f"{self.taken:,}",
            f"{self.refused:,}",
            f"{self.slowest:.2f} s",
        ]

    def show(self, run: Callable[[bytes], None], data: bytes) -> str | None:
        """Run an input and record the result; return the kind of failure, or None."""
        self.tried += 1
        begin = time.process_time()
        held = resident()
        highest = _highest()
        failure = self._outcome(run, data)
        spent = time.process_time() - begin
        used = _highest() - held if _highest() > highest else 0.0
        self.slowest = max(self.slowest, spent)
        touched = bait().touched()
        if touched:
            failure = "a file that the input names was accessed", str(touched)
        elif failure is None and spent > HANG:  # in one call of a C library
            failure = "timeout", f"{spent:.1f} s"
        elif failure is None and used > MOST:
            failure = "too much memory", f"{used:.0f} MB"
        if failure is None:
            return None
        kind, text = failure
        self.findings.setdefault(kind, (data, text))
        return kind

    def _outcome(
        self, run: Callable[[bytes], None], data: bytes
    ) -> tuple[str, str] | None:
        try:
            with _alarms() as rung, warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", RobotModelWarning)
                warnings.simplefilter("ignore", BagWarning)
                run(data)
            if rung:
                return "timeout", "an exception handler caught the timeout"
        except RobotDynamicsError as refusal:
            self.refused += 1
            return (
                None
                if "Cure:" in str(refusal)
                else ("a refusal without a cure", str(refusal))
            )
        except _Hangs:
            return "timeout", traceback.format_exc()
        except Exception as problem:
            place = traceback.extract_tb(problem.__traceback__)[-1]
            return (
                f"{type(problem).__name__} in {Path(place.filename).name}:{place.lineno}",
                traceback.format_exc(),
            )
        self.taken += 1
        return None


def _highest() -> float:
    """Return the largest memory (MB) of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


@contextmanager
def _alarms() -> Iterator[list[int]]:
    """Raise _Hangs if the context takes too long, and append the signal number to the yielded list."""
    rung: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        rung.append(number)
        raise _Hangs

    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, HANG),
        (signal.SIGALRM, signal.ITIMER_REAL, WAIT),
    )
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield rung
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0.0)
            signal.signal(number, handler)
