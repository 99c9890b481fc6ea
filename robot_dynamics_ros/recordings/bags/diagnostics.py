"""Diagnostic statuses in bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robot_dynamics_ros.recordings.bags.storage import (
    DIAGNOSTIC_ARRAY,
    Message,
    message_types,
)

_LEVELS = ("OK", "WARN", "ERROR", "STALE")


@dataclass(frozen=True)
class Event:
    """A diagnostic status of one sender.

    ``received`` is the time of arrival (ns since 1970, or on a simulated clock), ``level`` OK, WARN, ERROR or STALE.
    Mode, before (the previous mode, in the status of a change of mode only), cause, joint and value are empty where the
    sender does not report them. ``fault`` is True if the sender's level changes to ERROR here, except by deactivation.
    """

    received: int
    sender: str
    level: str
    message: str
    mode: str = ""
    before: str = ""
    cause: str = ""
    joint: str = ""
    value: str = ""
    fault: bool = False


def read_statuses(message: Message) -> list[Event] | None:
    """Return the statuses of a diagnostic_msgs/DiagnosticArray; None if the message cannot be decoded.

    ``fault`` is False in all, since it depends on earlier messages.
    """
    try:
        array: Any = message_types().deserialize_cdr(message.data, DIAGNOSTIC_ARRAY)
    except Exception:  # broken bytes raise errors of many types
        return None
    return [_event(message.received, status) for status in array.status]


def _event(received: int, status: Any) -> Event:
    values = {pair.key: pair.value for pair in status.values}
    level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
    return Event(
        received,
        status.name,
        _LEVELS[level] if 0 <= level < len(_LEVELS) else str(level),
        status.message,
        *(
            values.get(key, "")
            for key in ("mode", "previous mode", "cause", "joint", "value")
        ),
    )
