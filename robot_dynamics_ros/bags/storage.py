"""What every kind of bag file holds: messages of channels, each with its time of arrival."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple, Protocol

import yaml

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["ZSTD", "Channel", "Message", "Storage", "in_order_of_arrival", "is_latched", "zstd"]

ZSTD = b"\x28\xb5\x2f\xfd"
"""How zstd data begins; no CDR message does."""


class Message(NamedTuple):
    """A message as it came over the wire.

    Attributes
    ----------
    topic, kind
        Its topic and type, such as ``sensor_msgs/msg/JointState``.
    received
        When it arrived, in nanoseconds.
    data
        CDR.
    """

    topic: str
    kind: str
    received: int
    data: bytes


class Channel(NamedTuple):
    """A topic as a storage file knows it; ``latched``: its publishers kept messages for those who came later."""

    topic: str
    kind: str
    encoding: str
    latched: bool


class Storage(Protocol):
    """A storage file.

    Attributes
    ----------
    channels
        The channels by their number in the file.
    start
        When the first message arrived (ns).
    losses
        What is known to be missing, in words.
    """

    channels: dict[int, Channel]
    start: int
    losses: list[str]

    def counts(self) -> Mapping[int, int]:
        """Return the number of messages of each channel."""

    def messages(self, numbers: Collection[int]) -> Iterator[Message]:
        """Yield the messages of these channels, in order of arrival."""

    def close(self) -> None:
        """Close the file."""


def in_order_of_arrival(parts: Iterable[tuple[int, Callable[[], Iterable[Message]]]]) -> Iterator[Message]:
    """Merge parts, each in order by itself, into one; what came at the same time stays in the order of the parts.

    A part is the time of its first message (ns) and what opens it, which is called only once its time has come.
    """
    arrival = attrgetter("received")
    for message in heapq.merge(*(_opened_late(start, open_part) for start, open_part in parts), key=arrival):
        if message.topic:
            yield message


def _opened_late(start: int, open_part: Callable[[], Iterable[Message]]) -> Iterator[Message]:
    yield Message("", "", start, b"")  # stands for the part until its time has come
    yield from open_part()


def is_latched(offered_qos: str) -> bool:
    """Whether a publisher offered transient local durability, by rosbag2's YAML, which has a number or a name."""
    try:
        profiles = yaml.safe_load(offered_qos) or []
        return any(profile["durability"] in (1, "transient_local") for profile in profiles)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return False
