"""Storage of bags: message types, diagnostic statuses, messages in order of arrival, and writing to MCAP."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from robot_dynamics_ros.base.errors import BagError

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
"""First bytes of zstd data; no CDR message begins with them."""


@cache
def message_types() -> Typestore:
    """Return rosbags' store of the message types of the newest ROS 2; the first call takes a tenth of a second."""
    return get_typestore(Stores.LATEST)


def known(kind: str) -> bool:
    """Return True if rosbags defines the message type ``kind``, such as ``sensor_msgs/msg/JointState``."""
    return kind in message_types().fielddefs


def has_stamp(kind: str) -> bool:
    """Return True if the message type ``kind`` begins with a std_msgs/Header; False for unknown types."""
    fields = message_types().fielddefs[kind][1] if known(kind) else []
    return (
        bool(fields)
        and fields[0][0] == "header"
        and fields[0][1][1] == "std_msgs/msg/Header"
    )


def text_message(text: str) -> bytes:
    """Return ``text`` as a serialized std_msgs/String (CDR)."""
    store: Any = message_types()
    return bytes(store.serialize_cdr(store.types[TEXT](data=text), TEXT))


class Message(NamedTuple):
    """Message of a bag: ``topic``, its type ``kind``, such as ``sensor_msgs/msg/JointState``, and its content.

    ``received`` is the time of arrival at the recorder (ns since 1970), ``data`` the serialized content (CDR).
    """

    topic: str
    kind: str
    received: int
    data: bytes


def in_order_of_arrival(
    parts: Iterable[tuple[int, Callable[[], Iterable[Message]]]],
) -> Iterator[Message]:
    """Merge parts, each in order of arrival, into one sequence; messages of equal time are in the order of the parts.

    Each part has the time (ns) of its first message and a function that opens it, called when the sequence gets there.
    """

    def opened_late(
        start: int, open_part: Callable[[], Iterable[Message]]
    ) -> Iterator[Message]:
        yield Message("", "", start, b"")  # placeholder that delays the opening
        yield from open_part()

    arrival = attrgetter("received")
    for message in heapq.merge(
        *(opened_late(start, open_part) for start, open_part in parts), key=arrival
    ):
        if message.topic:
            yield message


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


_NO_TIME = QosTime(0, 0)  # unset deadline, lifespan and lease
RELIABLE = Qos(
    QosHistory.KEEP_LAST,
    10,
    QosReliability.RELIABLE,
    QosDurability.VOLATILE,
    _NO_TIME,
    _NO_TIME,
    QosLiveliness.AUTOMATIC,
    _NO_TIME,
    avoid_ros_namespace_conventions=False,
)
"""Quality of service of ROS's default profile."""
LATCHED = RELIABLE._replace(depth=1, durability=QosDurability.TRANSIENT_LOCAL)
"""Quality of service of robot_description: late subscribers receive the last message."""

_FILE = "bag.mcap"


class BagWriter:
    """Writer of an MCAP bag, and a context manager that closes it.

    The same messages give the same bytes. The file is named bag.mcap. ``path`` is the folder of the bag, which must not
    exist yet. ``topics`` maps topic names to message types, such as ``sensor_msgs/msg/JointState``, ``qos`` topic names
    to the QoS profiles of their publishers; default: reliable, volatile, depth 10. The attribute ``path`` is as given.

    Raises BagError if the folder exists or cannot be created, a type is unknown, or the disk is full.
    """

    def __init__(
        self,
        path: str | Path,
        topics: Mapping[str, str],
        qos: Mapping[str, Sequence[Qos]] | None = None,
    ) -> None:
        self.path = path
        self._unsaved = 0
        for topic, kind in topics.items():
            if not known(kind):
                raise BagError(
                    f"{path}: {topic}: message type {kind} is unknown. Cure: leave that topic out"
                )
        try:
            # Humble and later read version 8; version 9 needs Jazzy.
            self._writer = Writer(
                Path(path), version=8, storage_plugin=StoragePlugin.MCAP
            )
            self._writer.open()
            storage = self._writer.storage
            assert isinstance(storage, McapWriter)
            # rosbags names it after the folder
            storage.path = storage.path.rename(storage.path.with_name(_FILE))
        except (WriterError, OSError) as error:
            raise BagError(
                f"{path}: cannot create the bag: {error}. Cure: name another, new folder"
            ) from None
        self._connections: dict[str, Connection] = {}
        for topic, kind in topics.items():
            self.add_topic(topic, kind, (qos or {}).get(topic) or [RELIABLE])

    def add_topic(self, topic: str, kind: str, qos: Sequence[Qos]) -> None:
        """Add a topic with the message type ``kind``, which must be known, and the QoS profiles of its publishers."""
        self._connections[topic] = self._writer.add_connection(
            topic, kind, typestore=message_types(), offered_qos_profiles=qos
        )

    def write(self, topic: str, nanoseconds: int, message: bytes) -> None:
        """Write a serialized message (CDR) of a topic that was added before; BagError if the disk is full.

        ``nanoseconds`` is its time of reception, since 1970. Up to a megabyte of messages is buffered until ``flush``.
        """
        self._unsaved += 1
        with self._saving():
            self._writer.write(self._connections[topic], nanoseconds, message)

    def flush(self) -> None:
        """Pass all buffered messages to the operating system, so that a killed process loses none of them.

        Raises BagError if the disk is full.
        """
        storage = self._writer.storage
        if isinstance(storage, McapWriter) and storage.chunk.msgs:
            with self._saving():
                storage.close_chunk()
                storage.bio.flush()
            self._unsaved = 0

    def close(self) -> None:
        """Write the index and close the bag; BagError if the disk is full. No effect after a write error."""
        if self._writer.storage is not None:
            with self._saving():
                self._writer.close()

    @contextmanager
    def _saving(self) -> Iterator[None]:
        """Close the bag on a write error; its complete chunks remain readable."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):
                self._writer.abort()
            raise BagError(
                f"{self.path}: cannot write: {error.strerror}. Up to {self._unsaved} messages are lost; earlier "
                "messages can be read. Cure: free disk space, then record to a new bag"
            ) from None

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
