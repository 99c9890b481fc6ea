"""Jobs in forked processes, several at a time, with limits of time and memory."""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_MEMORY = 2 << 30  # bytes in addition to the parent's memory
BUSY = 20.0  # largest ratio of elapsed time to processor time, with other programs running
SLACK = 120.0  # s, additional elapsed time for sleeping
TIMED_OUT = -1


class Job(NamedTuple):
    """Function to run in one process."""

    name: str
    work: Callable[[], int]  # returns the exit code
    limit: float  # s of processor time


class End(NamedTuple):
    """Result of a job."""

    name: str
    code: int  # its exit code; TIMED_OUT; or 128 and the signal that ended it
    seconds: float  # of processor time


def forked(jobs: Iterable[Job], workers: int) -> Iterator[End]:
    """Run jobs in processes without output, which share no mutable state; yield the results."""
    waiting, running = iter(jobs), dict[int, tuple[Job, float]]()
    try:
        while True:
            while len(running) < workers and (job := next(waiting, None)) is not None:
                running[_start(job)] = job, time.monotonic() + SLACK + BUSY * job.limit
            if not running:
                return
            for pid, (job, deadline) in list(running.items()):
                found, status, usage = os.wait4(pid, os.WNOHANG)
                late = not found and time.monotonic() > deadline
                if late:
                    os.killpg(pid, signal.SIGKILL)
                    found, status, usage = os.wait4(pid, 0)
                if found:
                    del running[pid]
                    yield End(job.name, _code(status, late), usage.ru_utime + usage.ru_stime)
            time.sleep(0.01)
    finally:
        for pid in running:
            os.killpg(pid, signal.SIGKILL)
            os.wait4(pid, 0)


def _code(status: int, late: bool) -> int:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return TIMED_OUT if late or number in (signal.SIGXCPU, signal.SIGPROF, signal.SIGALRM) else 128 + number
    return os.WEXITSTATUS(status)


def _start(job: Job) -> int:
    sys.stdout.flush()
    pid = os.fork()
    with suppress(OSError):  # parent and child both set the group; one of the calls may fail
        os.setpgid(pid, pid)
    if pid:
        return pid
    code = 70
    try:
        output = os.open(os.devnull, os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        seconds = math.ceil(job.limit)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        memory = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        code = job.work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
