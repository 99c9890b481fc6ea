"""Bag files of every kind: message types, and channels with messages and their times of arrival."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from robot_dynamics_ros.plain_yaml import NotPlainYaml, load_yaml

JOINT_STATE = "sensor_msgs/msg/JointState"
DIAGNOSTIC_ARRAY = "diagnostic_msgs/msg/DiagnosticArray"
BOOL = "std_msgs/msg/Bool"
TEXT = "std_msgs/msg/String"


@cache
def message_types() -> Typestore:
    """Return the types of the newest ROS 2; the first call takes a tenth of a second, which --help need not."""
    return get_typestore(Stores.LATEST)


def text_message(text: str) -> bytes:
    """Return a serialized std_msgs/String."""
    store: Any = message_types()
    return bytes(store.serialize_cdr(store.types[TEXT](data=text), TEXT))


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = [
    "LARGEST",
    "ZSTD",
    "Channel",
    "Message",
    "Profiles",
    "Room",
    "Storage",
    "in_order_of_arrival",
    "is_latched",
    "unpacked",
    "zstd",
]

ZSTD = b"\x28\xb5\x2f\xfd"
"""How zstd data begins; no CDR message does."""

LARGEST = 1 << 27
"""Bytes to which a chunk or a message may unpack: a few kB can be made to stand for any number of them."""

_LONGEST_QOS = 1 << 16  # characters; a publisher's profile has some hundred


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


@dataclass
class Room:
    """Memory (bytes) that is left for chunks that overlap in time: they are held together, and few kB can name many."""

    left: int = 4 * LARGEST


@dataclass
class Profiles:
    """What the publishers of a file offered, as far as it may be read: each text once, ``left`` characters in all."""

    left: int = 1 << 18
    _known: dict[str, bool] = field(default_factory=dict)

    def latched(self, offered_qos: object) -> bool:
        """Tell as ``is_latched``; what is no text, or too long, offers nothing."""
        if not isinstance(offered_qos, str):
            return False
        if offered_qos not in self._known:
            self.left -= len(offered_qos)
            self._known[offered_qos] = self.left >= 0 and is_latched(offered_qos)
        return self._known[offered_qos]


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


def unpacked(data: bytes, most: int = LARGEST) -> bytes:
    """Return what zstd packed; ZstdError where it is damaged, ValueError where it is more than ``most`` bytes."""
    parts = []
    while data:
        frame = zstd.ZstdDecompressor()
        part = frame.decompress(data, max_length=most + 1)
        most -= len(part)
        if most < 0:
            raise ValueError("it unpacks to more than it may")
        if not frame.eof:
            raise ValueError("the packed data breaks off")
        parts.append(part)
        data = frame.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def is_latched(offered_qos: str) -> bool:
    """Whether a publisher offered transient local durability, by rosbag2's YAML, which has a number or a name."""
    try:
        profiles = load_yaml(offered_qos) or [] if len(offered_qos) <= _LONGEST_QOS else []
        return any(profile["durability"] in (1, "transient_local") for profile in profiles)
    except (NotPlainYaml, KeyError, TypeError, AttributeError):
        return False
