"""Writing serialised messages to an MCAP bag."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from rosbags.rosbag2 import StoragePlugin, Writer, WriterError

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
        Where the folder exists or cannot be made, or a type is unknown; it names the culprit and the cure.
    """

    def __init__(self, path: str | Path, topics: Mapping[str, str]) -> None:
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
        """Add a serialised message that was received at ``nanoseconds`` (since 1970)."""
        self._writer.write(self._connections[topic], nanoseconds, message)

    def close(self) -> None:
        """Finish the bag: without this it has no index."""
        self._writer.close()

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
