"""Diagnostics and logs of the nodes: /diagnostics once a second and on each change."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from robot_dynamics_ros.control.status import plain

_PERIOD = 1.0  # s
_MOST_LINES = 100  # in that time, from one place in the code: what a person may have sent, and no flood


@dataclass(slots=True)
class _Place:
    """What one place in the code has said since ``begin`` (s), and what of it was left out."""

    begin: float
    lines: int = 0
    left_out: int = 0


class BoundedLog:
    """Writes to a logger of rclpy, at most 100 lines a second from one place in the code.

    A line that others were left out before says how many.
    """

    def __init__(self, logger: Any, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns seconds."""
        self._logger = logger
        self._clock = clock
        self._places: dict[tuple[str, int], _Place] = {}

    def info(self, message: str) -> None:
        """Say what happens."""
        text = self._bounded(message, 0.0)
        if text:
            self._logger.info(text)

    def warning(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Say what is doubtful; once in so many seconds where that is more than 0."""
        text = self._bounded(message, throttle_duration_sec)
        if text:
            self._logger.warning(text)

    def error(self, message: str, *, throttle_duration_sec: float = 0.0) -> None:
        """Say what is wrong; once in so many seconds where that is more than 0."""
        text = self._bounded(message, throttle_duration_sec)
        if text:
            self._logger.error(text)

    def _bounded(self, message: str, throttle: float) -> str:
        """Return what to write, nothing where there has been enough of it."""
        period, most = (throttle, 1) if throttle > 0.0 else (_PERIOD, _MOST_LINES)
        caller, now = sys._getframe(2), self._clock()
        key = caller.f_code.co_filename, caller.f_lineno
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = _Place(now)
        elif now - place.begin >= period:
            place.begin, place.lines = now, 0
        if place.lines >= most:
            place.left_out += 1
            return ""
        place.lines += 1
        left_out, place.left_out = place.left_out, 0
        return f"{message} (and {left_out} more like it before)" if left_out else message


# Bytes: that is what rclpy makes of the message's type byte.
OK: bytes = DiagnosticStatus.OK
WARN: bytes = DiagnosticStatus.WARN
ERROR: bytes = DiagnosticStatus.ERROR
STALE: bytes = DiagnosticStatus.STALE


def diagnostics_message(
    stamp: Time, name: str, hardware_id: str, level: bytes, message: str, values: dict[str, object]
) -> DiagnosticArray:
    """Return one status; ``values`` become texts, see ``plain``.

    By convention ``name`` is "<node name>: <what>" and ``hardware_id`` the robot's name (REP 107 and
    diagnostic_updater).
    """
    pairs = [KeyValue(key=key, value=plain(value)) for key, value in values.items()]
    status = DiagnosticStatus(level=level, name=name, message=message, hardware_id=hardware_id, values=pairs)
    result = DiagnosticArray(status=[status])
    result.header.stamp = stamp
    return result
