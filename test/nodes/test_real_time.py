"""Garbage collection, real-time priority and locked memory: what the system allows, and what is said where not."""

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from robot_dynamics_ros.nodes import real_time

ROOT = Path(__file__).resolve().parents[2]
linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")


# The garbage collector


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """Generations that have been collected, one entry each time; the collector works as before in the end."""
    seen: list[int] = []

    def note(phase: str, details: dict[str, int]) -> None:
        if phase == "start":
            seen.append(details["generation"])

    gc.callbacks.append(note)
    yield seen
    gc.callbacks.remove(note)
    gc.unfreeze()
    gc.enable()


class Knot:
    """Only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_kept_away_the_collector_comes_only_when_called(collections: list[int]) -> None:
    real_time.keep_collector_away()
    assert gc.get_freeze_count() > 0
    del collections[:]
    knot = weakref.ref(Knot())
    lists = [[k] for k in range(50_000)]  # far beyond the collector's thresholds
    assert collections == [] and knot() is not None
    real_time.collect()
    assert collections == [2] and knot() is None
    assert len(lists) == 50_000


def test_a_collection_looks_only_at_what_came_since(collections: list[int]) -> None:
    old = Knot()
    real_time.keep_collector_away()
    assert all(known is not old for known in gc.get_objects())
    real_time.let_collector_back()
    assert any(known is old for known in gc.get_objects())


def test_let_back_the_collector_works_by_itself(collections: list[int]) -> None:
    real_time.keep_collector_away()
    real_time.let_collector_back()
    assert gc.isenabled() and gc.get_freeze_count() == 0
    del collections[:]
    lists = [[k] for k in range(50_000)]
    assert len(collections) > 0 and len(lists) == 50_000
    # A full collection of everything is no matter of microseconds: never in between.
    before = collections.count(2)
    real_time.collect()
    assert collections.count(2) == before


# Priority and memory: of a process of its own each

START = """
import os, resource, sys, threading
from robot_dynamics_ros.nodes import real_time

waiting = threading.Event()
threading.Thread(target=waiting.wait, daemon=True).start()

def policies():
    found = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            found.add(os.sched_getscheduler(int(thread)))
        except ProcessLookupError:
            pass  # it has just ended
    return found

def locked():
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmLck"))

def unprivileged():
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (2**19, 2**20))
    if os.getuid() == 0:
        os.setuid(65534)

"""


def _run(code: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "USER": "operator"}
    run = subprocess.run(
        [sys.executable, "-c", START + code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@linux
def test_without_privileges_a_priority_is_refused_and_none_is_needed_for_none() -> None:
    code = "unprivileged(); print(real_time.set_priority(0), policies(), real_time.set_priority(42), sep='|')"
    nothing, policies, warning = _run(code).split("|")
    assert (nothing, policies) == ("None", str({os.SCHED_OTHER}))
    assert "realtime_priority 42" in warning and "operator - rtprio 42" in warning


@linux
def test_a_priority_is_given_to_every_thread() -> None:
    """Zero leaves it as it is, as it leaves that of a process which was started with one."""
    code = """
warning = real_time.set_priority(5)
given = policies()
later = []
thread = threading.Thread(target=lambda: later.append(os.sched_getscheduler(0)))
thread.start(); thread.join()
print(warning, given, later, real_time.set_priority(0), policies(), sep="|")
"""
    warning, given, later, *after = _run(code).split("|")
    if warning != "None":
        pytest.skip(f"this system gives no real-time priority: {warning}")
    assert given == str({os.SCHED_FIFO})
    assert later == str([os.SCHED_FIFO])
    assert after == ["None", given]


@linux
def test_memory_is_not_locked_below_a_limit_even_where_the_soft_one_is_lower() -> None:
    """It could work at first, and the next allocation would end the process."""
    amount, _, warning = _run("unprivileged(); w = real_time.lock_memory(); print(locked(), w, sep='|')").partition("|")
    assert amount == "0" and "lock_memory" in warning


@linux
def test_locked_memory_holds_what_comes_later_too() -> None:
    code = """
warning = real_time.lock_memory()
before = int(locked())
more = bytearray(2**24)
print(warning, before, int(locked()) - before, sep="|")
"""
    warning, before, growth = _run(code).split("|")
    if warning != "None":
        pytest.skip(f"this system locks no memory: {warning}")
    assert int(before) > 0
    assert int(growth) >= 2**14  # kB: what comes later is locked, too


def test_other_platforms_are_told_that_they_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    warnings: list[Any] = [real_time.set_priority(10), real_time.lock_memory()]
    assert all("darwin" in warning for warning in warnings)
    assert real_time.set_priority(0) is None
