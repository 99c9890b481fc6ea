"""Garbage collection, real-time priority and locked memory, with and without the required privileges."""

import gc
import os
import weakref
from collections.abc import Iterator

import pytest

from robot_dynamics_ros.ros import realtime as real_time
from support.python_process import run_python


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """Return a list of the generations collected; restore the collector at the end."""
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
    """Object with a reference cycle, which only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_is_collected_only_on_request_until_collection_is_enabled(
    collections: list[int],
) -> None:
    old = Knot()
    real_time.disable_garbage_collection()
    assert gc.get_freeze_count() > 0
    del collections[:]
    knot = weakref.ref(Knot())
    lists = [[k] for k in range(50_000)]  # far beyond the collector's thresholds
    assert collections == [] and knot() is not None
    real_time.collect_garbage()
    assert collections == [2] and knot() is None
    assert all(known is not old for known in gc.get_objects()), (
        "only what came since is looked at"
    )

    real_time.enable_garbage_collection()
    assert gc.isenabled() and gc.get_freeze_count() == 0
    assert any(known is old for known in gc.get_objects())
    del collections[:]
    lists += [[k] for k in range(50_000)]
    assert collections
    # A full collection of everything is no matter of microseconds: never in between.
    before = collections.count(2)
    real_time.collect_garbage()
    assert collections.count(2) == before and len(lists) == 100_000


# Priority and memory: of a process of its own each

START = """
import contextlib, os, resource, sys, threading
from robot_dynamics_ros.ros import realtime as real_time

waiting = threading.Event()
threading.Thread(target=waiting.wait, daemon=True).start()

def policies():
    values = set()
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            values.add(os.sched_getscheduler(int(thread)))
    return values

def locked():
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmLck"))

def unprivileged():
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (2**19, 2**20))
    if os.getuid() == 0:
        os.setuid(65534)

"""


def _run(code: str) -> list[str]:
    """Return the words that this code prints in a separate process, joined with |."""
    run = run_python("-c", START + code, USER="operator")
    return run.stdout.strip().split("|")


def test_without_privileges_both_are_refused_and_none_is_needed_for_none() -> None:
    """Memory is not locked below a limit, even if only the soft limit is lower: the next allocation would be fatal."""
    nothing, policies, priority, memory, amount = _run("""
unprivileged()
print(real_time.set_priority(0), policies(), real_time.set_priority(42), real_time.lock_memory(), locked(), sep="|")
""")
    assert (nothing, policies) == ("None", str({os.SCHED_OTHER}))
    assert "realtime_priority 42" in priority and "operator - rtprio 42" in priority
    assert "lock_memory" in memory and amount == "0"


def test_a_priority_is_given_to_every_thread() -> None:
    """Zero leaves the priority unchanged, also that of a process started with one."""
    warning, given, later, *after = _run("""
warning = real_time.set_priority(5)
given, later = policies(), []
thread = threading.Thread(target=lambda: later.append(os.sched_getscheduler(0)))
thread.start()
thread.join()
print(warning, given, later, real_time.set_priority(0), policies(), sep="|")
""")
    if warning != "None":
        pytest.skip(f"this system gives no real-time priority: {warning}")
    assert (given, later, after) == (
        str({os.SCHED_FIFO}),
        str([os.SCHED_FIFO]),
        ["None", given],
    )


def test_memory_allocated_later_is_locked_too() -> None:
    warning, before, growth = _run("""
warning = real_time.lock_memory()
before = int(locked())
more = bytearray(2**24)
print(warning, before, int(locked()) - before, sep="|")
""")
    if warning != "None":
        pytest.skip(f"this system locks no memory: {warning}")
    assert int(before) > 0 and int(growth) >= 2**14  # kB
