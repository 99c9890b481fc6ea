"""Writing serialised messages to an MCAP bag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from rosbags.rosbag2 import StoragePlugin, Writer, WriterError
from rosbags.rosbag2.storage_mcap import McapWriter

from robot_dynamics_ros.bags.message_types import message_types
from robot_dynamics_ros.errors import BagError


class BagWriter:
    """Writes messages as they came over the wire (CDR); a context manager that closes the bag.

    Parameters
    ----------
    path
        The folder of the bag, which must not exist yet.
    topics
        Topic name to message type, such as ``sensor_msgs/msg/JointState``.

    Raises
    ------
    BagError
        Where the folder exists or cannot be made, a type is unknown, or the disk is full; it names the culprit and the
        cure.
    """

    def __init__(self, path: str | Path, topics: Mapping[str, str]) -> None:
        self._path = path
        self._unsaved = 0
        types = message_types()
        for topic, kind in topics.items():
            if kind not in types.fielddefs:
                raise BagError(f"{path}: {topic}: message type {kind} is unknown. Cure: leave that topic out")
        try:
            self._writer = Writer(Path(path), version=9, storage_plugin=StoragePlugin.MCAP)
            self._writer.open()
        except (WriterError, OSError) as problem:
            raise BagError(f"{path}: cannot make the bag: {problem}. Cure: name a folder that does not exist") from None
        self._connections = {
            topic: self._writer.add_connection(topic, kind, typestore=types) for topic, kind in topics.items()
        }

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
        except OSError as problem:
            with suppress(OSError):
                self._writer.abort()
            raise BagError(
                f"{self._path}: cannot write: {problem.strerror}. Up to {self._unsaved} messages are lost, what was "
                "written before stays and can be read. Cure: make room, then begin another bag"
            ) from None

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
