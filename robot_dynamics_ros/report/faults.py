"""What nodes said of themselves on /diagnostics: changes of mode, and troubles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from robot_dynamics_ros.bags.message_types import DIAGNOSTIC_ARRAY, message_types
from robot_dynamics_ros.bags.storage import Message

LEVELS = ("OK", "WARN", "ERROR", "STALE")


@dataclass(frozen=True)
class Event:
    """A status that is new: another mode, or a level above OK that was not there before.

    ``received`` is when it arrived (ns). Texts are those of the message; mode, before, cause, joint and value are
    empty where the sender does not tell.
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


@dataclass(frozen=True)
class Diagnostics:
    """All that a recording's diagnostics say.

    Attributes
    ----------
    events
        What changed.
    modes
        Of each sender that has modes: when (ns of arrival), and in which it was, whenever it said so.
    count
        How many messages there are.
    """

    events: tuple[Event, ...]
    modes: dict[str, tuple[tuple[int, str], ...]]
    count: int


def read_diagnostics(messages: Iterable[Message]) -> Diagnostics:
    """Return what diagnostic_msgs/DiagnosticArray messages say; broken ones are passed over."""
    events: list[Event] = []
    modes: dict[str, list[tuple[int, str]]] = {}
    last: dict[str, tuple[str, str]] = {}
    count = 0
    for message in messages:
        count += 1
        try:
            array: Any = message_types().deserialize_cdr(message.data, DIAGNOSTIC_ARRAY)
        except Exception:  # whatever broken bytes lead to
            continue
        for status in array.status:
            event = _event(status, message.received)
            if event.mode:
                modes.setdefault(event.sender, []).append((event.received, event.mode))
            said = event.level, event.mode or event.message
            known = last.get(event.sender, ("OK", event.mode or event.message))
            last[event.sender] = said
            if event.before or (said != known and "OK" != event.level):
                events.append(event)
    return Diagnostics(tuple(events), {name: tuple(found) for name, found in modes.items()}, count)


def _event(status: Any, received: int) -> Event:
    values = {pair.key: pair.value for pair in status.values}
    level = status.level[0] if isinstance(status.level, bytes) else int(status.level)
    return Event(
        received,
        status.name,
        LEVELS[level] if 0 <= level < len(LEVELS) else str(level),
        status.message,
        values.get("mode", ""),
        values.get("previous mode", ""),
        values.get("cause", ""),
        values.get("joint", ""),
        values.get("value", ""),
    )
