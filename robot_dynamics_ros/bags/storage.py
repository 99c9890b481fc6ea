"""Storage files of bags: message types, channels, and messages in order of arrival."""

from __future__ import annotations

import heapq
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

JOINT_STATE = "sensor_msgs/msg/JointState"
JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
DIAGNOSTIC_ARRAY = "diagnostic_msgs/msg/DiagnosticArray"
BOOL = "std_msgs/msg/Bool"
TEXT = "std_msgs/msg/String"

ZSTD = b"\x28\xb5\x2f\xfd"
"""The first bytes of zstd data; no CDR message begins with them."""

LARGEST = 1 << 27
"""Bytes to which a chunk or a message may unpack: a few kB can be made to stand for any number of them."""

_LATCHED = re.compile(r"""\bdurability["']?\s*:\s*["']?(1|transient_local)\b""")


@cache
def message_types() -> Typestore:
    """Return the message types of the newest ROS 2, loaded at the first call (a tenth of a second)."""
    return get_typestore(Stores.LATEST)


def known(kind: str) -> bool:
    """Return True if messages of this type can be decoded."""
    return kind in message_types().fielddefs


def has_stamp(kind: str) -> bool:
    """Return True if messages of this type begin with a std_msgs/Header."""
    fields = message_types().fielddefs[kind][1] if known(kind) else []
    return bool(fields) and fields[0][0] == "header" and fields[0][1][1] == "std_msgs/msg/Header"


def text_message(text: str) -> bytes:
    """Return a serialized std_msgs/String."""
    store: Any = message_types()
    return bytes(store.serialize_cdr(store.types[TEXT](data=text), TEXT))


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
    """A topic of a storage file; ``latched``: its publishers offered transient local durability."""

    topic: str
    kind: str
    encoding: str
    latched: bool


@dataclass
class Room:
    """Memory (bytes) left for the unpacked chunks of a bag that overlap in time, which are held together."""

    left: int = 4 * LARGEST


def in_order_of_arrival(parts: Iterable[tuple[int, Callable[[], Iterable[Message]]]]) -> Iterator[Message]:
    """Merge parts, each in order by itself, into one; messages of the same time stay in the order of the parts.

    A part is the time of its first message (ns) and a function that opens it, called only once its time has come.
    """

    def opened_late(start: int, open_part: Callable[[], Iterable[Message]]) -> Iterator[Message]:
        yield Message("", "", start, b"")  # stands for the part until its time has come
        yield from open_part()

    arrival = attrgetter("received")
    for message in heapq.merge(*(opened_late(start, open_part) for start, open_part in parts), key=arrival):
        if message.topic:
            yield message


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


def is_latched(offered_qos: object) -> bool:
    """Return True if a publisher offered transient local durability, by rosbag2's YAML: a number or a name."""
    return isinstance(offered_qos, str) and _LATCHED.search(offered_qos) is not None
