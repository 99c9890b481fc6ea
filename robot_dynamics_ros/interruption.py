"""Work that a signal breaks off at once, though compilers sit in machine code for many seconds.

Python runs signal handlers between its own instructions only, and only in the main thread.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

_unfinished: list[threading.Thread] = []


def run_interruptibly(work: Callable[[], object]) -> None:
    """Run ``work`` in a thread, while the main thread waits: a signal handler that raises ends the wait.

    The work then goes on unheard, so that the process must end by ``leave``. Errors of the work are raised.
    """
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            errors.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    _unfinished.append(thread)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    _unfinished.remove(thread)
    if errors:
        raise errors[0]


def leave(code: int) -> NoReturn:
    """End the process; at once where work was broken off, which still runs and would not survive an orderly end."""
    if _unfinished:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    gc.collect()  # the node and what it holds of the middleware, shared memory too
    gc.freeze()  # the rest goes with the process: spares most of a second
    sys.exit(code)
