"""Work beside the main thread, and the end of a process that does not wait for it.

Python runs signal handlers in the main thread, between its own instructions: compilers sit in machine code for seconds,
and lose the exception of a handler that runs in one of their callbacks.
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
    """Start ``work`` in a thread; a process that may end before it is done must end by ``leave``."""
    executor = ThreadPoolExecutor(1)
    _started.append(executor.submit(work))
    executor.shutdown(wait=False)
    return _started[-1]


def leave(code: int) -> NoReturn:
    """End the process; at once where work in the background is unfinished: an orderly end would wait for it."""
    if not all(future.done() for future in _started):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    gc.collect()  # the node and what it holds of the middleware, shared memory too
    gc.freeze()  # the rest goes with the process: spares most of a second
    sys.exit(code)
