"""What keeps the operating system and the garbage collector out of the control cycle.

None of this raises where the system refuses: the arm runs as well as it can, and the warning says what to set.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

_CAP_IPC_LOCK = 14  # capabilities(7)
_MCL_CURRENT, _MCL_FUTURE = 1, 2  # mlockall(2)


def keep_collector_away() -> None:
    """Collect garbage a last time, then leave all that lives now alone for good and start no more by itself."""
    gc.collect()
    gc.freeze()
    gc.disable()


def collect() -> None:
    """Collect what became garbage since the collector was kept away; for a quiet moment between two cycles.

    Only objects made since then are looked at, so that this takes microseconds instead of tens of milliseconds.
    Does nothing while the collector works by itself.
    """
    if not gc.isenabled():
        gc.collect()


def let_collector_back() -> None:
    """Let the collector work by itself again, on everything."""
    gc.unfreeze()
    gc.enable()


def set_priority(priority: int) -> str | None:
    """Give every thread of the process the real-time priority 1 to 99 (SCHED_FIFO); 0: all stays as it is.

    Threads that come later inherit it. To be called when the node is activated: by then the middleware has the
    threads that bring the messages, which a priority of the main thread alone would let wait; and the kernels are
    compiled, which at a real-time priority would keep a core from everybody else for half a minute. Returns a
    warning where the system refuses, else None.
    """
    if priority == 0:
        return None  # also where somebody started the process by chrt
    if sys.platform != "linux":
        return f"realtime_priority: {sys.platform} has no SCHED_FIFO, running without"
    try:
        for thread in _threads():
            try:
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
            except ProcessLookupError:
                continue  # it has just ended
    except OSError as problem:
        return (
            f"realtime_priority {priority}: the system refuses ({problem.strerror}), running without. Cure: add the "
            f"line `{_user()} - rtprio {priority}` to /etc/security/limits.d/realtime.conf and log in again, or give "
            "the process CAP_SYS_NICE (in a container: --cap-add=SYS_NICE)"
        )
    return None


def lock_memory() -> str | None:
    """Keep all memory of the process, present and future, from being paged out (mlockall).

    To be called when the node is configured, and once: it takes about a second and brings into memory all that is
    mapped, half a gigabyte where 0.15 were in use. Returns a warning where the system refuses, else None.
    """
    if sys.platform != "linux":
        return f"lock_memory: not on {sys.platform}, running without"
    cure = (
        f"Cure: add the line `{_user()} - memlock unlimited` to /etc/security/limits.d/realtime.conf and log in "
        "again, or give the process CAP_IPC_LOCK (in a container: --ulimit memlock=-1)"
    )
    limit = _memory_limit()
    if limit is not None:
        # Within a limit the call may work, but the next allocation that exceeds it would end the process.
        return f"lock_memory: the process may lock {limit / 1e6:.3g} MB only, running without. {cure}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        return f"lock_memory: the system refuses ({os.strerror(ctypes.get_errno())}), running without. {cure}"
    return None


def _threads() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:
        return [0]  # the calling thread


def _memory_limit() -> int | None:
    """How many bytes the process may lock; None: all. Raises its own limit as far as it may."""
    import resource  # Unix only

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    return None if hard == resource.RLIM_INFINITY or _may_lock() else hard


def _may_lock() -> bool:
    """Whether the process has CAP_IPC_LOCK, for which no limit counts."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")]
    return any(mask >> _CAP_IPC_LOCK & 1 for mask in masks)


def _user() -> str:
    return os.environ.get("USER") or "<user>"
