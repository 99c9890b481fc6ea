"""Background threads, and ends of the process that wait neither for them nor for the middleware.

Python runs signal handlers in the main thread, between its own instructions. A compilation in that thread delays them
by seconds, and an exception that a handler raises inside a compiler callback is lost. Compilations therefore run in a
background thread.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

from robot_dynamics_ros.base import thresholds

T = TypeVar("T")


SUCCESS = (0, -signal.SIGALRM)
"""Exit codes of nodes that have done their work; SIGALRM means that the middleware blocked then."""

_started: list[Future[Any]] = []


def run_in_background(work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a new thread and return its future, which has its result or exception.

    A process that can end before the work is done must end with ``exit_process``.
    """
    executor = ThreadPoolExecutor(1)
    future = executor.submit(work)
    _started.append(future)
    executor.shutdown(wait=False)
    return future


def end_after(seconds: float, *, failed: bool = False) -> None:
    """Let this process end in ``seconds``, whatever blocks it; this replaces an earlier limit.

    0 is no limit, and not allowed with ``failed``. It ends by SIGALRM, or if it has ``failed`` with exit code 1 and the
    stacks of its threads on stderr. Both need neither a signal handler nor a thread of Python, which cannot run while
    rclpy calls the middleware: it holds the interpreter lock. Call this in the main thread.
    """
    seconds = min(seconds, thresholds.LONGEST_TIMER)
    faulthandler.cancel_dump_traceback_later()
    if failed:
        faulthandler.dump_traceback_later(seconds, exit=True)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # a second later, in case the interpreter has ended before
    signal.setitimer(signal.ITIMER_REAL, seconds + failed)


def exit_process(code: int) -> NoReturn:
    """End the process with exit code ``code``, without waiting for background work.

    If work of ``run_in_background`` is unfinished, output streams are flushed and the process ends at once, without
    exit handlers. Otherwise SystemExit is raised.
    """
    if not all(future.done() for future in _started):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    # destroys the node and its middleware entities, including shared memory
    gc.collect()
    # excludes all other objects from destruction, which takes most of a second
    gc.freeze()
    sys.exit(code)
