"""Writing serialised messages to an MCAP bag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rosbags.interfaces import Connection, Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter

from robot_dynamics_ros.bags.storage import message_types
from robot_dynamics_ros.errors import BagError

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


class BagWriter:
    """A bag that is being written, message by message in CDR; a context manager that closes it.

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
