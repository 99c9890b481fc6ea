"""Real time for a process: garbage collector, priority and locked memory.

None of this raises if the system refuses: the arm runs as well as it can, and the warning names the cure.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from pathlib import Path

_CAP_IPC_LOCK = 14  # capabilities(7)
_MCL_CURRENT, _MCL_FUTURE = 1, 2  # mlockall(2)


def keep_collector_away() -> None:
    """Collect garbage, exempt all present objects from later collections and disable automatic collection."""
    gc.collect()
    gc.freeze()
    gc.disable()


def collect() -> None:
    """Collect garbage made since ``keep_collector_away``, between two cycles; nothing while collection is automatic.

    Only new objects are visited: microseconds instead of tens of milliseconds.
    """
    if not gc.isenabled():
        gc.collect()


def let_collector_back() -> None:
    """Enable automatic collection of all objects again."""
    gc.unfreeze()
    gc.enable()


def set_priority(priority: int) -> str | None:
    """Give every thread of the process the real-time priority 1 to 99 (SCHED_FIFO); 0 changes nothing.

    Later threads inherit it. To be called on activation: by then the middleware has started the threads that receive
    messages, and the kernels are compiled, which at a real-time priority would keep a core busy for half a minute.
    Returns a warning if the system refuses, else None.
    """
    if priority == 0:
        return None  # keeps a priority given by chrt
    if sys.platform != "linux":
        return f"realtime_priority: {sys.platform} has no SCHED_FIFO, running without"
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))
            except ProcessLookupError:
                continue  # it has just ended
    except OSError as error:
        return (
            f"realtime_priority {priority}: the system refuses ({error.strerror}), running without. Cure: add the "
            f"line `{_user()} - rtprio {priority}` to /etc/security/limits.d/realtime.conf and log in again, or give "
            "the process CAP_SYS_NICE (in a container: --cap-add=SYS_NICE)"
        )
    return None


def lock_memory() -> str | None:
    """Keep all memory of the process, present and future, from being paged out (mlockall).

    To be called once, on configuration: it takes about a second and brings all mapped memory into RAM, half a gigabyte
    instead of the 0.15 in use. Returns a warning if the system refuses, else None.
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


def _memory_limit() -> int | None:
    """Return how many bytes the process may lock, None if all; raise the soft limit to the hard one."""
    import resource  # Unix only

    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    capabilities = re.search(r"^CapEff:\s*(\w+)", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    may_lock = capabilities is not None and int(capabilities[1], 16) >> _CAP_IPC_LOCK & 1
    return None if hard == resource.RLIM_INFINITY or may_lock else hard


def _user() -> str:
    return os.environ.get("USER") or "<user>"
