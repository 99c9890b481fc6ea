"""Background threads, and a process exit that does not wait for them.

Python runs signal handlers in the main thread, between its own instructions: a compiler stays in machine code for
seconds, and loses the exception of a handler that runs in one of its callbacks.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NoReturn

_started: list[Future[object]] = []


def run_in_background(work: Callable[[], object]) -> Future[object]:
    """Start ``work`` in a thread; a process that may end before the work does must end by ``exit_process``."""
    executor = ThreadPoolExecutor(1)
    _started.append(executor.submit(work))
    executor.shutdown(wait=False)
    return _started[-1]


def exit_process(code: int) -> NoReturn:
    """End the process; at once if work in the background is unfinished, since an orderly exit would wait for it."""
    if not all(future.done() for future in _started):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    gc.collect()  # destroys the node and its middleware entities, shared memory included
    gc.freeze()  # skips the destruction of all other objects, which takes most of a second
    sys.exit(code)
