"""Storage of bags: message types, channels, messages in order of arrival, and writing to MCAP."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rosbags.interfaces import Connection, Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from robot_dynamics_ros.errors import BagError

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


_NO_TIME = QosTime(0, 0)  # deadline, lifespan and lease that nobody has set
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
"""The quality of service of ROS's default profile."""
LATCHED = RELIABLE._replace(depth=1, durability=QosDurability.TRANSIENT_LOCAL)
"""The quality of service of robot_description: who comes late receives the last message."""


_FILE = "bag.mcap"


class BagWriter:
    """A bag that is being written, message by message in CDR; a context manager that closes it.

    The same messages give the same bytes, whatever the folder's name: the file in it is bag.mcap.

    Parameters
    ----------
    path
        The folder of the bag, which must not exist yet.
    topics
        Topic name to message type, such as ``sensor_msgs/msg/JointState``.
    qos
        Topic name to what its publishers offered; RELIABLE for a topic without.

    Raises
    ------
    BagError
        Where the folder exists or cannot be made, a type is unknown, or the disk is full; it names the culprit and the
        cure.
    """

    def __init__(
        self, path: str | Path, topics: Mapping[str, str], qos: Mapping[str, Sequence[Qos]] | None = None
    ) -> None:
        self._path = path
        self._unsaved = 0
        types = message_types()
        for topic, kind in topics.items():
            if kind not in types.fielddefs:
                raise BagError(f"{path}: {topic}: message type {kind} is unknown. Cure: leave that topic out")
        try:
            # Version 8 can be read by every distribution from Humble on, 9 only from Jazzy on.
            self._writer = Writer(Path(path), version=8, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
            storage = self._writer.storage
            assert isinstance(storage, McapWriter)
            storage.path = storage.path.rename(storage.path.with_name(_FILE))  # rosbags names it after the folder
        except (WriterError, OSError) as error:
            raise BagError(f"{path}: cannot make the bag: {error}. Cure: name a folder that does not exist") from None
        self._connections: dict[str, Connection] = {}
        for topic, kind in topics.items():
            self.add_topic(topic, kind, (qos or {}).get(topic) or [RELIABLE])

    def add_topic(self, topic: str, kind: str, qos: Sequence[Qos]) -> None:
        """Add a topic of a known type, with what its publishers offer."""
        self._connections[topic] = self._writer.add_connection(
            topic, kind, typestore=message_types(), offered_qos_profiles=qos
        )

    def write(self, topic: str, nanoseconds: int, message: bytes) -> None:
        """Add a serialised message that was received at ``nanoseconds`` (since 1970); BagError where the disk is full.

        It may wait in memory with others until there is a megabyte of them, or until ``flush``.
        """
        self._unsaved += 1
        with self._saving():
            self._writer.write(self._connections[topic], nanoseconds, message)

    def flush(self) -> None:
        """Hand what was written until now to the operating system: a process that is killed then loses none of it.

        Raises BagError where the disk is full.
        """
        storage = self._writer.storage
        if isinstance(storage, McapWriter) and storage.chunk.msgs:
            with self._saving():
                storage.close_chunk()
                storage.bio.flush()
            self._unsaved = 0

    def close(self) -> None:
        """Finish the bag: without this it has no index. BagError where the disk is full; where it was, it has ended."""
        if self._writer.storage is not None:
            with self._saving():
                self._writer.close()

    @contextmanager
    def _saving(self) -> Iterator[None]:
        """End the bag where the system does not take what is written: whole chunks of it can be read all the same."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):
                self._writer.abort()
            raise BagError(
                f"{self._path}: cannot write: {error.strerror}. Up to {self._unsaved} messages are lost, what was "
                "written before stays and can be read. Cure: make room, then begin another bag"
            ) from None

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
