"""Black box: a bag of the last messages that the controller received and published before a fault."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from typing import Any

from robot_dynamics_ros.base.background import run_in_background
from robot_dynamics_ros.base.errors import BagError, without_cure
from robot_dynamics_ros.recordings.bags.storage import (
    BOOL,
    LATCHED,
    BagWriter,
    message_types,
)
from robot_dynamics_ros.recordings.thresholds import (
    FAULT_BUFFER,
    MOST_FAULT_BAGS,
    SWITCH_INTERVAL,
    TIME_AFTER_FAULT,
)

CONFIGURATION = "~/configuration"
# valid until the next message, as those of type Bool
_LASTING = (CONFIGURATION, "~/speed_scaling_factor", "~/payload")


class BlackBox:
    """Buffer of the newest messages, which a thread writes to a bag 0.3 s after a fault.

    ``topics`` maps names in the node to full name and type. A bag contains the messages since the previous bag, at most
    ``seconds`` and 64 MB, preceded by the last older message of configuration, speed scaling, payload, brakes and
    each emergency stop. The newest 10 bags of this process are kept. If ``seconds`` is 0, nothing is stored or written.
    """

    def __init__(
        self,
        topics: Mapping[str, tuple[str, str]],
        seconds: float,
        directory: Path,
        name: str,
        logger: Any,
    ) -> None:
        """Create a black box; it is disabled if ``seconds`` is 0.

        ``topics`` maps names in the node to full name and type. Bags are written to ``directory``; their names begin
        with ``name``. ``logger`` has the methods info and error.
        """
        self._topics = dict(topics)
        self._seconds = seconds
        self._directory = directory
        self._name = name
        self._logger = logger
        self._messages: deque[tuple[str, int, bytes]] = deque()
        self._size = 0
        self._lasting: dict[str, bytes] = {}
        self._due = math.inf
        self._saved_at = -math.inf
        self._writing: Future[object] | None = None
        self._bags: list[Path] = []
        if seconds > 0.0:
            message_types()  # takes 0.1 s, too long for a control cycle

    def add(self, topic: str, data: bytes) -> None:
        """Add a serialized message (CDR), which has just arrived; ``topic`` is a key of the argument ``topics``."""
        if self._seconds > 0.0:
            self._messages.append((topic, time.time_ns(), data))
            self._size += len(data)
            if self._size > FAULT_BUFFER:
                self._trim(0)

    def fault(self) -> None:
        """Request a bag, which ``work`` writes 0.3 s later, but not before the previous bag is ``seconds`` old."""
        if self._seconds > 0.0:
            self._due = min(
                self._due,
                max(
                    time.monotonic() + TIME_AFTER_FAULT, self._saved_at + self._seconds
                ),
            )

    def work(self) -> None:
        """Remove old messages, and start to write a requested bag whose time has come; call this once a second.

        A bag that cannot be written is logged as an error, not raised.
        """
        self._trim(time.time_ns() - round(self._seconds * 1e9))
        if time.monotonic() >= self._due and (
            self._writing is None or self._writing.done()
        ):
            self._save()

    def finish(self) -> None:
        """Write a requested bag at once, and wait until all bags are written; errors are logged, not raised."""
        if self._due < math.inf:
            self._save()
        if self._writing is not None:
            self._writing.result()

    def _trim(self, since: int) -> None:
        while self._messages and (
            self._messages[0][1] < since or self._size > FAULT_BUFFER
        ):
            topic, _, data = self._messages.popleft()
            self._size -= len(data)
            if topic in _LASTING or self._topics[topic][1] == BOOL:
                self._lasting[topic] = data

    def _save(self) -> None:
        self._due = math.inf
        self._saved_at = time.monotonic()
        begin = self._messages[0][1] if self._messages else time.time_ns()
        messages = [
            (topic, begin, data) for topic, data in self._lasting.items()
        ] + list(self._messages)
        self._writing = run_in_background(lambda: self._write(messages))

    def _write(self, messages: list[tuple[str, int, bytes]]) -> None:
        path = self._directory / f"{self._name}_{datetime.now():%Y%m%d_%H%M%S}"
        kinds = dict(self._topics[name] for name, _, _ in messages)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with BagWriter(
                path, kinds, {self._topics[CONFIGURATION][0]: [LATCHED]}
            ) as writer:
                for name, at, data in messages:
                    writer.write(self._topics[name][0], at, data)
        except (BagError, OSError) as error:
            reason = without_cure(str(error))
            self._logger.error(
                f"black box: {reason}. Cure: set black_box_directory to a writable folder with space"
            )
            return
        finally:
            sys.setswitchinterval(interval)
        self._logger.info(f"black box: the messages before the fault are in {path}")
        self._bags.append(path)
        if len(self._bags) > MOST_FAULT_BAGS:
            shutil.rmtree(self._bags.pop(0), ignore_errors=True)
