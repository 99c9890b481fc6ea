"""Real-time settings of a process: garbage collection, scheduling priority and memory locking.

No function raises an error if the operating system refuses a setting. It returns a warning with a cure instead, so that
the process can continue without the setting.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import resource
from pathlib import Path

_CAP_IPC_LOCK = 14  # capabilities(7)
# Of mlockall(2).
_MCL_CURRENT = 1
_MCL_FUTURE = 2


def disable_garbage_collection() -> None:
    """Collect garbage, exclude all existing objects from later collections and disable automatic collection.

    Afterwards call ``collect_garbage`` from time to time.
    """
    gc.collect()
    gc.freeze()
    gc.disable()


def collect_garbage() -> None:
    """Collect objects created since ``disable_garbage_collection``; do nothing while automatic collection is enabled.

    Only new objects are visited, which takes microseconds instead of tens of milliseconds.
    """
    if not gc.isenabled():
        gc.collect()


def enable_garbage_collection() -> None:
    """Include all objects in collections again and enable automatic collection."""
    gc.unfreeze()
    gc.enable()


def set_priority(priority: int) -> str | None:
    """Set the real-time priority (SCHED_FIFO) of every thread of the process.

    Threads started later inherit it. Call this on activation: by then the middleware has started its receiving threads
    and the kernels are compiled. A compilation at real-time priority would occupy a core for half a minute.

    Parameters
    ----------
    priority
        1 to 99; 0 leaves the priority unchanged.

    Returns
    -------
    str or None
        A warning if the operating system refuses, else None.
    """
    if priority == 0:
        return None  # keeps a priority given by chrt
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                os.sched_setscheduler(
                    int(thread), os.SCHED_FIFO, os.sched_param(priority)
                )
            except ProcessLookupError:
                continue  # the thread has just ended
    except OSError as error:
        return (
            f"realtime_priority {priority}: the system refuses ({error.strerror}), continuing without real-time "
            f"priority. Cure: add the line `{_user()} - rtprio {priority}` to /etc/security/limits.d/realtime.conf and "
            "log in again, or give the process CAP_SYS_NICE (in a container: --cap-add=SYS_NICE)"
        )
    return None


def lock_memory() -> str | None:
    """Lock all present and future memory of the process into RAM (mlockall).

    Call this once, on configuration. It takes about a second and makes all mapped memory resident: 0.5 GB instead of
    0.15 GB. The soft limit of lockable memory (RLIMIT_MEMLOCK) is first raised to the hard one.

    Returns
    -------
    str or None
        None if the memory is locked, else a warning: if the operating system refuses, and for every finite limit
        without CAP_IPC_LOCK, since an allocation beyond it would end the process.
    """
    cure = (
        f"Cure: add the line `{_user()} - memlock unlimited` to /etc/security/limits.d/realtime.conf and log in "
        "again, or give the process CAP_IPC_LOCK (in a container: --ulimit memlock=-1)"
    )
    limit = _memory_limit()
    if limit is not None:
        # Below the limit mlockall succeeds, but the first allocation beyond it would end the process.
        return f"lock_memory: the limit is {limit / 1e6:.3g} MB, continuing without locked memory. {cure}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        error = os.strerror(ctypes.get_errno())
        return f"lock_memory: the system refuses ({error}), continuing without locked memory. {cure}"
    return None


def _memory_limit() -> int | None:
    """Raise the soft limit of lockable memory to the hard limit; return it in bytes, None if unlimited."""
    soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (hard, hard))
    capabilities = re.search(
        r"^CapEff:\s*(\w+)",
        Path("/proc/self/status").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    may_lock = (
        capabilities is not None and int(capabilities[1], 16) >> _CAP_IPC_LOCK & 1
    )
    return None if hard == resource.RLIM_INFINITY or may_lock else hard


def _user() -> str:
    return os.environ.get("USER") or "<user>"
