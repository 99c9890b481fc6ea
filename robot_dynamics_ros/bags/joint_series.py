"""Joint motion out of bags: JointState messages as arrays."""

from __future__ import annotations

import struct
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.bags.storage import JOINT_STATE, TEXT
from robot_dynamics_ros.control import configuration
from robot_dynamics_ros.control.configuration import Configuration
from robot_dynamics_ros.errors import BagError, BagWarning, RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER, CdrReader, padding
from robot_dynamics_ros.messages.joint_state import Renaming, renaming
from robot_dynamics_ros.progress import progress

_FIELDS = ("position", "velocity", "effort")
_NAMES = HEADER + 8  # where frame_id and names begin, after the stamp
_BATCH = 1024
_MOST_LAYOUTS = 64
_NOT_WHOLE = "are no whole JointState"


@dataclass(frozen=True, eq=False)
class JointSeries:
    """JointState messages of one topic as arrays: m messages of n joints.

    Stamps and times of arrival are nanoseconds (m,); position, velocity and effort are (m, n), NaN where
    a message left the field empty.
    """

    joint_names: tuple[str, ...]
    stamps: NDArray[np.int64]
    received: NDArray[np.int64]
    position: Array
    velocity: Array
    effort: Array

    def in_order(self, joint_names: Sequence[str]) -> JointSeries:
        """Return the columns of these joints, in this order; BagError where one is not there."""
        if tuple(joint_names) == self.joint_names:
            return self  # a long recording is not copied
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise BagError(
                f"the recording has no joint {', '.join(missing)}, only {', '.join(self.joint_names)}. "
                "Cure: name joints that it has, or rename them"
            )
        columns = [self.joint_names.index(name) for name in joint_names]
        fields = (table[:, columns] for table in (self.position, self.velocity, self.effort))
        return JointSeries(tuple(joint_names), self.stamps, self.received, *fields)


def read_joint_states(
    path: str | Path,
    topics: Sequence[str],
    rename: Mapping[str, str] | None = None,
    joint_names: Sequence[str] | None = None,
) -> dict[str, JointSeries]:
    """Return the sensor_msgs/JointState messages of each topic, in the order of their arrival.

    ``rename`` maps names of joints, or what they begin with: ``{"fer_": "panda_"}``; a whole name comes before a
    beginning, a long beginning before a short one. The series have the joints ``joint_names`` (after renaming), or
    those of the topic's first message, and their order. Messages of other joints only are passed over; those that
    lack some of the joints, and those that are no whole JointState, are left out with a BagWarning that counts them.

    Raises BagError, naming bag, topic and cure, where the bag cannot be read, or a topic is missing, is of another
    type, or has no message of the joints.
    """
    with BagReader(path) as reader:
        _check_topics(reader, topics)
        tables = {topic: _SeriesTable(renaming(rename or {}), joint_names) for topic in topics}
        found = progress(reader.messages(topics), f"reading {reader.path.name}", reader.count(topics))
        for topic, kind, received, data in found:
            if kind == JOINT_STATE:
                tables[topic].add(received, data)
    return {topic: table.series(f"{path}: {topic}") for topic, table in tables.items()}


def read_joint_names(path: str | Path, topic: str, rename: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the joints that ``read_joint_states`` finds on a topic, from its first messages; errors as there."""
    with BagReader(path) as reader:
        _check_topics(reader, [topic])
        table = _SeriesTable(renaming(rename or {}), None)
        for message in reader.messages([topic]):
            table.add(message.received, message.data)
            if table.joint_names is not None:
                return table.joint_names
    return table.series(f"{path}: {topic}").joint_names


def read_description(path: str | Path) -> str | None:
    """Return the URDF that was first published on a topic robot_description; None where the bag has none.

    Raises BagError where the bag cannot be read.
    """
    return next((text for _, text in _texts(path, "robot_description") if text), None)


def read_configuration(path: str | Path, near: str) -> tuple[str, Configuration] | None:
    """Return the first configuration of a controller in a bag, after its topic; None where the bag has none.

    Only controllers in the namespace of the topic ``near``, or below it, count. Raises BagError where the bag cannot be
    read.
    """
    namespace = near.rpartition("/")[0] + "/"
    for topic, text in _texts(path, configuration.TOPIC):
        if not topic.startswith(namespace):
            continue
        found = Configuration.parse(text)
        if found is not None:
            return topic, found
        warnings.warn(f"{path}: {topic}: it is no configuration that can be read, and is left out", stacklevel=2)
    return None


def _texts(path: str | Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield topic and text of the messages on topics of this name."""
    with BagReader(path) as reader:
        topics = [topic for topic, kind in reader.topics.items() if kind == TEXT and topic.rpartition("/")[2] == name]
        for message in reader.messages(topics):
            order = BYTE_ORDERS.get(message.data[:2])
            try:
                yield message.topic, CdrReader(order or "<", memoryview(message.data)[HEADER:]).text()
            except (struct.error, ValueError):
                continue


def _check_topics(reader: BagReader, topics: Iterable[str]) -> None:
    fitting = ", ".join(topic for topic, kind in reader.topics.items() if kind == JOINT_STATE)
    cure = f"name one of {fitting}" if fitting else f"record a topic of type {JOINT_STATE}"
    for topic in topics:
        kind = reader.topics.get(topic)
        if kind is None:
            raise BagError(f"{reader.path}: no topic {topic}. Cure: {cure}")
        if kind != JOINT_STATE:
            raise BagError(f"{reader.path}: {topic} holds {kind}. Cure: {cure}")


class _StateLayout:
    """Messages that differ in nothing but stamp, text of frame_id, and numbers, so that many are read at once.

    Raises ValueError, which says what is wrong with it, for bytes that cannot be used.
    """

    def __init__(self, data: bytes) -> None:
        reader = CdrReader(BYTE_ORDERS.get(data[:2], "<"), memoryview(data)[HEADER:])
        try:
            reader.stamp()
            reader.text()
            self._frame_end = HEADER + reader.at
            self.names = reader.names()
            names_end = HEADER + reader.at
            places, problem = self._read_fields(reader, len(self.names))
        except (struct.error, ValueError, RobotDynamicsError):
            places, problem = {}, _NOT_WHOLE
        if problem or data[:2] not in BYTE_ORDERS or HEADER + reader.at > len(data):
            raise ValueError(problem or _NOT_WHOLE)
        order = reader.order
        self._head, self._same, self._size = data[:HEADER], data[self._frame_end : names_end], len(data)
        self._frame_length = data[_NAMES : _NAMES + 4]
        formats = {"sec": order + "i4", "nanosec": order + "u4"} | {f: f"({len(self.names)},){order}f8" for f in places}
        offsets = [HEADER, HEADER + 4, *places.values()]
        self.fields = frozenset(places)
        self.record = np.dtype(
            {"names": list(formats), "formats": list(formats.values()), "offsets": offsets, "itemsize": len(data)}
        )
        self.rows: list[int] = []
        self.messages: list[bytes] = []

    def _read_fields(self, reader: CdrReader, n: int) -> tuple[dict[str, int], str]:
        """Return where the numbers of the fields begin that are not empty, and what is wrong with them."""
        places: dict[str, int] = {}
        lengths, ends = [], []
        for field in _FIELDS:
            length = reader.number()
            if length not in (0, n):
                return {}, f"have not a number in {field} for each name"
            lengths.append(length)
            ends.append(HEADER + reader.at)
            if length:
                reader.at += padding(reader.at, 8)
                places[field] = HEADER + reader.at
                reader.at += 8 * n
        first, second, third = ends
        self._lengths = struct.Struct(f"{reader.order}I{second - first - 4}xI{third - second - 4}xI")
        self._lengths_at, self._expected = first - 4, tuple(lengths)
        return places, ""

    def fits(self, data: bytes) -> bool:
        """Whether a message has this layout."""
        return (
            len(data) == self._size
            and data.startswith(self._same, self._frame_end)
            and data.startswith(self._frame_length, _NAMES)
            and data.startswith(self._head)
            and self._lengths.unpack_from(data, self._lengths_at) == self._expected
        )

    def place(self, joint_names: Sequence[str], renamed: Renaming) -> str:
        """Find the joints among the names; return why the messages cannot be used, or nothing.

        ``columns`` (n,) is where each joint stands; empty where they name none of the joints.
        """
        names = [renamed(name) for name in self.names]
        self.columns = np.array([names.index(name) for name in joint_names if name in names], dtype=np.intp)
        if len(set(names)) < len(names):
            return "name a joint twice"
        if 0 < len(self.columns) < len(joint_names):
            return f"lack {', '.join(name for name in joint_names if name not in names)}"
        return ""


class _SeriesTable:
    """The messages of one topic while they come: growing arrays, no Python object for a row.

    ``joint_names`` are the joints to find; None until the first message tells them.
    """

    def __init__(self, renamed: Renaming, joint_names: Sequence[str] | None) -> None:
        self._renamed = renamed
        self.joint_names = None if joint_names is None else tuple(joint_names)
        self._others: set[str] = set()
        self._layouts: list[_StateLayout] = []
        self._bad: dict[_StateLayout, str] = {}
        self._left_out: Counter[str] = Counter()
        self._count = 0
        self._stamps = np.empty(0, dtype=np.int64)
        self._received = np.empty(0, dtype=np.int64)
        self._fields = np.empty((0, 0, 0))

    def add(self, received: int, data: bytes) -> None:
        """Take a message in."""
        for layout in self._layouts:
            if layout.fits(data):
                break
        else:
            try:
                layout = self._new_layout(data)
            except ValueError as problem:
                self._left_out[str(problem)] += 1
                return
        if layout in self._bad:
            self._left_out[self._bad[layout]] += 1
        elif len(layout.columns):
            if self._count == len(self._stamps):
                self._grow()
            self._received[self._count] = received
            layout.rows.append(self._count)
            layout.messages.append(data)
            self._count += 1
            if len(layout.rows) == _BATCH:
                self._store(layout)

    def _new_layout(self, data: bytes) -> _StateLayout:
        layout = _StateLayout(data)
        if self.joint_names is None and layout.names:
            self.joint_names = tuple(dict.fromkeys(self._renamed(name) for name in layout.names))
        self._others.update(self._renamed(name) for name in layout.names)
        if reason := layout.place(self.joint_names or (), self._renamed):
            self._bad[layout] = reason
        if len(self._layouts) == _MOST_LAYOUTS:  # a frame_id that is never the same
            for old in self._layouts:
                self._store(old)
            self._layouts.clear()
            self._bad = {layout: reason} if reason else {}
        self._layouts.append(layout)
        return layout

    def _grow(self) -> None:
        n = len(self.joint_names or ())
        size = max(_BATCH, 2 * self._count)
        stamps, received, fields = self._stamps, self._received, self._fields
        self._stamps, self._received = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        self._fields = np.empty((3, size, n))
        if self._count:
            self._stamps[: self._count], self._received[: self._count] = stamps, received
            self._fields[:, : self._count] = fields

    def _store(self, layout: _StateLayout) -> None:
        """Read the messages of a layout that have come."""
        if not layout.rows:
            return
        table = np.frombuffer(b"".join(layout.messages), layout.record)
        self._stamps[layout.rows] = table["sec"].astype(np.int64) * 1_000_000_000 + table["nanosec"]
        for k, field in enumerate(_FIELDS):
            self._fields[k, layout.rows] = table[field][:, layout.columns] if field in layout.fields else np.nan
        layout.rows.clear()
        layout.messages.clear()

    def series(self, where: str) -> JointSeries:
        """Return what has come; ``where`` are bag and topic, for what is said of them."""
        for layout in self._layouts:
            self._store(layout)
        said = "; ".join(f"{count} messages {reason}" for reason, count in self._left_out.items())
        if not self._count:
            raise BagError(f"{where}: {self._nothing(said)}")
        if said:
            text = f"{where}: {said}: left out; {self._count} are used. Cure: see what published them"
            warnings.warn(BagWarning(text), stacklevel=1)
        m = self._count
        assert self.joint_names is not None
        return JointSeries(self.joint_names, self._stamps[:m], self._received[:m], *self._fields[:, :m])

    def _nothing(self, said: str) -> str:
        if said:
            return f"no message can be used: {said}. Cure: see what published them"
        if self._others:
            return (
                f"no message names {', '.join(self.joint_names or ())}; there are {', '.join(sorted(self._others))}. "
                "Cure: rename them, or name another topic"
            )
        return "no messages that name a joint. Cure: record that topic while the robot's driver runs"
