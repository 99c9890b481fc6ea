"""Reader of bags, and selection of their topics."""

from __future__ import annotations

import re
import struct
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from rosbags.interfaces import ConnectionExtRosbag2, QosDurability
from rosbags.rosbag2 import Reader

from robot_dynamics_ros.base.errors import BagError, BagWarning, did_you_mean
from robot_dynamics_ros.base.plain_yaml import load_yaml
from robot_dynamics_ros.recordings.bags import recovery
from robot_dynamics_ros.recordings.bags.storage import (
    BOOL,
    JOINT_STATE,
    TEXT,
    ZSTD,
    Message,
    in_order_of_arrival,
    zstd,
)
from robot_dynamics_ros.recordings.messages.cdr import CdrReader
from robot_dynamics_ros.recordings.thresholds import BYTES_AT_ONCE, LARGEST_UNPACKED

CONFIGURATION_TOPIC = "configuration"
"""Last part of the name of the topic with robot and parameters of a controller."""

_COMPANIONS = {
    "joint_states": {"robot_description": TEXT},
    "command_states": {
        CONFIGURATION_TOPIC: TEXT,
        "emergency_stop": BOOL,
        "brakes_engaged": BOOL,
    },
}


def companions(topics: Iterable[str]) -> dict[str, str]:
    """Return the latched topics that describe the robot or controller of these ``topics``, with their types.

    Each joint_states has robot_description in its namespace; each command_states has configuration, emergency_stop and
    brakes_engaged.
    """
    parts = [topic.rpartition("/") for topic in topics]
    return {
        f"{parent}/{companion}": kind
        for parent, _, name in parts
        for companion, kind in _COMPANIONS.get(name, {}).items()
    }


def find_topic(
    reader: BagReader,
    name: str,
    kind: str,
    given: str | None = None,
    others: Collection[str] = (),
) -> str | None:
    """Return the topic ``given`` if not None, else the only topic whose last part is ``name``; None if there is none.

    ``kind`` is its type, such as ``sensor_msgs/msg/JointState``; with several topics ``name`` those of this type count.
    ``others`` are topics that are not searched.
    Raises BagError if ``given`` is missing, the topic has another type, or several fit.
    """
    if given is not None:
        topic = given if given.startswith("/") else f"/{given}"
    else:
        named = [
            topic
            for topic in reader.topics
            if topic.rsplit("/", 1)[-1] == name and topic not in others
        ]
        fitting = [topic for topic in named if reader.topics[topic] == kind] or named
        if not fitting:
            return None
        if len(fitting) > 1:
            raise BagError(
                f"{reader.path}: several topics {name}. Cure: choose one of {', '.join(sorted(fitting))}"
            )
        topic = fitting[0]
    require_topic(reader, topic, kind)
    return topic


def command_topic(reader: BagReader, states: str = "") -> str | None:
    """Return the topic of commands: the only one named command_states, other than ``states``; None if there is none.

    Raises BagError if there are several of type JointState, or the only one has another type.
    """
    return find_topic(reader, "command_states", JOINT_STATE, others=[states])


def require_topic(reader: BagReader, topic: str, kind: str) -> None:
    """Raise BagError if the bag lacks ``topic`` or it is not of type ``kind``; the cure lists topics of this type."""
    fitting = sorted(
        other for other, its_kind in reader.topics.items() if its_kind == kind
    )
    cure = (
        f"choose one of {', '.join(fitting)}"
        if fitting
        else f"record a topic of type {kind}"
    )
    if topic not in reader.topics:
        raise BagError(
            f"{reader.path}: no topic {topic}. Cure: {cure}{did_you_mean(topic, fitting)}"
        )
    if reader.topics[topic] != kind:
        raise BagError(
            f"{reader.path}: {topic} has type {reader.topics[topic]}, not {kind}. Cure: {cure}"
        )


def require_topics(reader: BagReader, topics: Collection[str]) -> None:
    """Raise BagError if the bag lacks some of the ``topics``; the cure lists those that it has."""
    missing = [topic for topic in topics if topic not in reader.topics]
    if missing:
        known = ", ".join(sorted(reader.topics)) or "another bag; this one is empty"
        near = did_you_mean(missing[0], reader.topics)
        raise BagError(
            f"{reader.path}: no topic {', '.join(missing)}. Cure: choose from {known}{near}"
        )


def read_texts(reader: BagReader, name: str) -> Iterator[tuple[str, str]]:
    """Yield topic and text of the messages of type std_msgs/String on all topics whose last part is ``name``.

    Messages that cannot be decoded are left out. Raises BagError if reading stops.
    """
    topics = [
        topic
        for topic, kind in reader.topics.items()
        if kind == TEXT and topic.rpartition("/")[2] == name
    ]
    for message in reader.messages(topics):
        with suppress(struct.error, ValueError):
            yield message.topic, CdrReader(message.data).text()


def read_description(path: str | Path | BagReader) -> str | None:
    """Return the first URDF on any topic named robot_description, in any namespace; None if the bag has none.

    Raises BagError if the bag cannot be read.
    """
    with opened(path) as reader:
        texts = read_texts(reader, "robot_description")
        return next((text for _, text in texts if text), None)


def counted(left_out: Mapping[str, int]) -> str:
    """Return a text with the number of messages by the reason why they are left out."""
    return "; ".join(
        f"{number} messages {reason}" for reason, number in left_out.items()
    )


@contextmanager
def opened(bag: str | Path | BagReader) -> Iterator[BagReader]:
    """Yield ``bag`` if it is a reader, which stays open, else a reader of this folder or file, which is closed after.

    Raises BagError if the bag cannot be read.
    """
    if isinstance(bag, BagReader):
        yield bag
    else:
        with BagReader(bag) as reader:
            yield reader


_INT64 = 1 << 63
_ENDS = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")
_ROS1 = b"#ROSBAG V"
_METADATA = "metadata.yaml"


class _File:
    """A .mcap or .db3 file, read by rosbags."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = Reader(path)
        self._reader.open()
        self.start_time = self._reader.start_time
        self.connections = self._reader.connections
        self.close = self._reader.close

    def messages(
        self, topics: Collection[str], left_out: Counter[str]
    ) -> Iterator[Message]:
        """Yield the messages of these topics, in order of arrival; count those without a valid time in ``left_out``."""
        chosen = [
            connection for connection in self.connections if connection.topic in topics
        ]
        left = recovery.most_unpacked(self._path)
        try:
            for connection, received, data in (
                self._reader.messages(chosen) if chosen else ()
            ):
                if (
                    type(data) is not bytes
                    or type(received) is not int
                    or not -_INT64 <= received < _INT64
                ):
                    left_out["have no time of arrival below 2^63 ns"] += 1
                    continue
                left -= len(data)
                if left < 0:
                    raise ValueError("more messages than the file can hold")
                yield Message(connection.topic, connection.msgtype, received, data)
        except Exception as error:  # damaged files raise errors of many types
            raise BagError(
                f"{self._path}: reading stopped: {error}. Cure: copy it again"
            ) from None


class BagReader:
    """Reader of a bag, and a context manager that closes it.

    A bag is a recorder's folder, with or without ``metadata.yaml``, or one of its files alone: MCAP or sqlite3,
    compressed by message, by chunk or as a whole. Damaged or unfinished bags are read as far as possible; a BagWarning
    reports the loss. Bags and their folders are not modified; unpacked data is stored in a temporary folder.

    Attributes
    ----------
    path
        The folder or the file.
    topics
        Topic names to types, such as ``sensor_msgs/msg/JointState``.
    latched
        Names of the topics with a transient local publisher.

    Raises
    ------
    BagError
        If there is no bag, or it cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._losses: list[str] = []
        self._stack = ExitStack()
        self._counts: Counter[str] = Counter()
        self._storages: list[_File] = []
        self.topics: dict[str, str] = {}
        latched = set()
        try:
            self._open()
            for connection in (
                connection
                for storage in self._storages
                for connection in storage.connections
            ):
                offered = connection.ext
                assert isinstance(offered, ConnectionExtRosbag2)
                if offered.serialization_format != "cdr":
                    raise self._error(
                        f"{connection.topic} is serialized as {offered.serialization_format or 'an unknown format'}",
                        "convert the bag to cdr, by `ros2 bag convert`",
                    )
                self.topics.setdefault(connection.topic, connection.msgtype)
                if any(
                    qos.durability is QosDurability.TRANSIENT_LOCAL
                    for qos in offered.offered_qos_profiles
                ):
                    latched.add(connection.topic)
        except BaseException:
            self._stack.close()
            raise
        self.latched = frozenset(latched)
        self._report_losses()

    def close(self) -> None:
        """Close the files, and remove unpacked data."""
        self._stack.close()

    def __enter__(self) -> BagReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def count(self, topics: Collection[str] | None = None) -> int:
        """Return the number of messages of these topics (default: all) in the bag's index, which may be incomplete.

        Missing topics count 0. A bag that had to be recovered may have more messages than are counted.
        """
        if not self._counts:
            for storage in self._storages:
                for connection in storage.connections:
                    self._counts[connection.topic] += connection.msgcount
        return sum(
            self._counts[topic]
            for topic in set(self.topics if topics is None else topics)
        )

    def messages(self, topics: Collection[str] | None = None) -> Iterator[Message]:
        """Yield the messages of these topics (default: all), in order of arrival; missing topics have none.

        Messages of equal time are in the order in which they were written. The bag is not read into memory. Damaged
        compressed messages, and those whose time of arrival is no 64-bit integer, are left out; a BagWarning at the end
        reports their number. Raises BagError if reading stops.
        """
        chosen = set(self.topics if topics is None else topics)
        left_out: Counter[str] = Counter()
        damage = ""
        parts = [
            (storage.start_time, partial(storage.messages, chosen, left_out))
            for storage in self._storages
        ]
        for message in in_order_of_arrival(parts):
            if message.data.startswith(ZSTD):
                data, error = recovery.unpacked("zstd", message.data, LARGEST_UNPACKED)
                if error:
                    damage = damage or f", the first on {message.topic}: {error}"
                    left_out["cannot be unpacked"] += 1
                    continue
                message = message._replace(data=data)
            yield message
        if left_out:
            text = f"{self.path}: {counted(left_out)}{damage}: left out"
            warnings.warn(
                BagWarning(f"{text}. Cure: record or copy it again, or use the rest"),
                stacklevel=1,
            )

    def _open(self) -> None:
        try:
            files = self._files() if self.path.is_dir() else [self.path]
            # opening a pipe blocks
            if self.path.exists() and not all(file.is_file() for file in files):
                raise self._error("neither a file nor a folder", "check the path")
            for file in files:
                self._open_file(file, alone=len(files) == 1)
        except FileNotFoundError:
            raise self._error(
                "there is no such file or folder", "check the path"
            ) from None
        except PermissionError as error:
            raise self._error(
                f"no permission to read {error.filename}", "ask its owner, or copy it"
            ) from None
        except (OSError, zstd.ZstdError) as error:
            raise self._error(
                f"cannot read the bag: {error}", "copy it to this machine again"
            ) from None

    def _files(self) -> list[Path]:
        """Return the storage files of the folder, in order of recording."""
        files = self._files_by_metadata()
        if not files:
            stored = [
                file
                for file in self.path.iterdir()
                if file.name.endswith(_ENDS) and file.is_file()
            ]
            # A recorder that is killed while it compresses a file leaves the file and an incomplete copy.
            names = {file.name for file in stored}
            files = [
                file
                for file in stored
                if file.suffix != ".zstd" or file.stem not in names
            ]
            files.sort(
                key=lambda file: [
                    (int(n) if n else 0, text)
                    for n, text in re.findall(r"(\d*)(\D*)", file.name)
                ]
            )
            if not files:
                raise self._error(
                    f"cannot read the bag: no {', '.join(_ENDS)} file in the folder",
                    "check the path",
                )
            self._losses.append(
                f"{_METADATA} is missing or incomplete, so the recorder was killed: the last messages may be missing"
            )
        return files

    def _files_by_metadata(self) -> list[Path]:
        """Return the files that metadata.yaml lists; none if it is missing or incomplete."""
        try:
            text = (self.path / _METADATA).read_text(encoding="utf-8")
            information: dict[str, Any] = load_yaml(text)["rosbag2_bagfile_information"]
            files = [
                self.path / PurePath(name).name
                for name in information["relative_file_paths"]
            ]
            entries = information["topics_with_message_count"]
            counts = Counter(
                {
                    str(entry["topic_metadata"]["name"]): int(entry["message_count"])
                    for entry in entries
                }
            )
        except (FileNotFoundError, KeyError, TypeError, ValueError):
            return []
        existing = [file for file in files if file.is_file()]
        if len(existing) < len(files):
            missing = ", ".join(file.name for file in files if file not in existing)
            if not existing:
                raise self._error(
                    f"cannot read the bag: {missing} is missing",
                    "copy the whole folder",
                )
            self._losses.append(f"{missing} is missing")
        self._counts = counts
        return existing

    def _open_file(self, file: Path, *, alone: bool) -> None:
        """Open a storage file by its content; skip an empty one of several."""
        head = _head(file)
        if head.startswith(ZSTD):
            file = self._unpacked(file)
            head = _head(file)
        if not head:
            if alone:
                raise self._error(
                    f"cannot read the bag: {file.name} is empty", "record again"
                )
            self._losses.append(f"{file.name} is empty")
            return
        try:
            storage = self._storage(file, head)
        except ValueError as error:
            raise self._error(
                f"cannot read the bag: {file.name}: {error}",
                "name a ROS 2 bag; robot_dynamics import makes one of CSV, MAT and NPZ files",
            ) from None
        self._stack.callback(storage.close)
        self._storages.append(storage)

    def _storage(self, file: Path, head: bytes) -> _File:
        """Return an opened storage file, recovered if it is damaged; ValueError if it is not a bag."""
        if head.startswith(recovery.MCAP):
            suffix = ".mcap"
            is_bounded = recovery.mcap_is_bounded
        elif head.startswith(recovery.SQLITE):
            file = recovery.without_journal(file, self._scratch)
            suffix = ".db3"
            is_bounded = recovery.sqlite_is_bounded
        elif head.startswith(_ROS1):
            raise self._error(
                "a ROS 1 bag", f"`rosbags-convert --src {file} --dst FOLDER`"
            )
        else:
            raise ValueError("neither MCAP nor sqlite3")
        if is_bounded(file):
            with suppress(Exception):  # damaged files raise errors of many types
                return _File(self._plainly_named(file, suffix))
        path, losses = recovery.rebuild(file, self._scratch())
        self._losses += losses
        return _File(path)

    def _plainly_named(self, file: Path, suffix: str) -> Path:
        """Return the file, or a link to it: rosbags selects by the suffix, and sqlite3 parses the path as a URL."""
        if file.suffix == suffix and re.fullmatch(r"[\w ./+=@,-]+", str(file)):
            return file
        link = self._scratch() / f"bag{suffix}"
        link.symlink_to(file.absolute())
        return link

    def _unpacked(self, file: Path) -> Path:
        """Unpack a file that is compressed as a whole, as far as possible."""
        target = self._scratch() / file.name.removesuffix(".zstd")
        most = recovery.most_unpacked(file)
        with zstd.open(file, "rb") as packed, target.open("wb") as plain:
            try:
                while piece := packed.read(BYTES_AT_ONCE):
                    plain.write(piece)
                    if plain.tell() > most:
                        raise self._error(
                            f"{file.name} unpacks to more than {most * 1e-9:.1f} GB, {most // file.stat().st_size} "
                            "times its size",
                            "if you trust it, unpack it by `unzstd`",
                        )
            except EOFError:
                self._losses.append(f"{file.name} is truncated")
        return target

    def _scratch(self) -> Path:
        """Return a new temporary folder, which is removed when the bag is closed."""
        return Path(
            self._stack.enter_context(TemporaryDirectory(prefix="robot_dynamics_bag_"))
        )

    def _error(self, reason: str, cure: str) -> BagError:
        return BagError(f"{self.path}: {reason}. Cure: {cure}")

    def _report_losses(self) -> None:
        if not self._losses:
            return
        expected = sum(self._counts.values())
        self._counts.clear()  # counts of the undamaged bag
        counts = f" ({self.count()} of {expected} messages remain)" if expected else ""
        text = f"{self.path}: {'; '.join(self._losses)}{counts}. Cure: record or copy it again, or use the rest"
        warnings.warn(BagWarning(text), stacklevel=1)


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(16)
