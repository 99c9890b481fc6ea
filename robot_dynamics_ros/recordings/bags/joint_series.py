"""Joint motion from bags: JointState messages as arrays.

``path`` is a bag's folder or file, or its open reader, which stays open. ``rename`` maps joint names, or their
prefixes, in the bag to new ones, as ``{"fer_": "panda_"}``; whole names have precedence over prefixes, long prefixes
over short ones.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import BagError, BagWarning, did_you_mean
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.recordings.bags.reader import (
    BagReader,
    opened,
    require_topic,
)
from robot_dynamics_ros.recordings.bags.storage import JOINT_STATE
from robot_dynamics_ros.recordings.messages.joint_state import (
    FIELDS,
    JointStateLayout,
    JointStateLayouts,
    Renaming,
    renaming,
)

_BLOCK = 1024  # messages


@dataclass(frozen=True, eq=False)
class JointSeries:
    """JointState messages of one topic as arrays: m messages of n joints, in order of arrival.

    Header ``stamps`` and times of arrival since 1970, ``received``, are in ns (m,); position (rad or m), velocity and
    effort (Nm or N) are (m, n), in the order of ``joint_names``, NaN for an empty field.
    """

    joint_names: tuple[str, ...]
    stamps: IntArray
    received: IntArray
    position: Array
    velocity: Array
    effort: Array

    def in_order(self, joint_names: Sequence[str]) -> JointSeries:
        """Return the series with the columns of ``joint_names``, in this order; raise BagError if one is missing."""
        if tuple(joint_names) == self.joint_names:
            return self  # avoids a copy of a long recording
        missing = [name for name in joint_names if name not in self.joint_names]
        if missing:
            raise BagError(
                f"the recording has no joint {', '.join(missing)}, only {', '.join(self.joint_names)}. "
                f"Cure: choose from these, or rename them{did_you_mean(missing[0], self.joint_names)}"
            )
        columns = [self.joint_names.index(name) for name in joint_names]
        fields = (
            table[:, columns] for table in (self.position, self.velocity, self.effort)
        )
        return JointSeries(tuple(joint_names), self.stamps, self.received, *fields)

    def between(self, first: int, last: int) -> JointSeries:
        """Return the messages whose stamps are at least ``first`` and at most ``last`` (ns)."""
        rows = (self.stamps >= first) & (self.stamps <= last)
        fields = (table[rows] for table in (self.position, self.velocity, self.effort))
        return JointSeries(
            self.joint_names, self.stamps[rows], self.received[rows], *fields
        )


class Answers(NamedTuple):
    """Pairs of a state and the first command with the same stamp, in the order of the states.

    ``states`` and ``commands`` (m,) are indices of messages. ``latency`` (m,), s, is the arrival of the command minus
    that of its state. ``late`` counts commands that arrived after the next state, ``lost`` states without a command,
    between the first and the last state that has one.
    """

    states: NDArray[np.intp]
    commands: NDArray[np.intp]
    latency: Array
    late: int
    lost: int


def answers(state: JointSeries, command: JointSeries) -> Answers:
    """Return the pairs of states and commands; of states that were sent repeatedly the first one counts."""
    _, rows, commands = np.intersect1d(
        state.stamps, command.stamps, return_indices=True
    )
    order = np.argsort(rows)
    rows = rows[order]
    commands = commands[order]
    arrivals = command.received[commands]
    following = np.append(state.received, arrivals.max(initial=0))[rows + 1]
    span = slice(rows[0], rows[-1] + 1) if len(rows) else slice(0)
    lost = len(np.unique(state.stamps[span])) - len(rows)
    latency = np.asarray((arrivals - state.received[rows]) * 1e-9, dtype=np.float64)
    return Answers(rows, commands, latency, int((arrivals > following).sum()), lost)


def read_joint_states(
    path: str | Path | BagReader,
    topics: Sequence[str],
    rename: Mapping[str, str] | None = None,
    joint_names: Sequence[str] | None = None,
) -> dict[str, JointSeries]:
    """Return the sensor_msgs/JointState messages of each topic, in order of arrival.

    The series have the joints ``joint_names`` (after renaming) in this order; default: those of the topic's first
    message that names joints. Messages that lack some of the joints or cannot be decoded are left out; a BagWarning
    reports their number. So are messages without any of the joints, which are reported only if ``joint_names`` is None.

    Raises BagError if the bag cannot be read, or a topic is missing, has another type, or has no message of the joints.
    """
    with opened(path) as reader:
        for topic in topics:
            require_topic(reader, topic, JOINT_STATE)
        tables = {
            topic: _SeriesTable(renaming(rename or {}), joint_names) for topic in topics
        }
        messages = progress(
            reader.messages(topics), f"reading {reader.path.name}", reader.count(topics)
        )
        for topic, kind, received, data in messages:
            if kind == JOINT_STATE:
                tables[topic].add(received, data)
    return {
        topic: table.series(f"{reader.path}: {topic}")
        for topic, table in tables.items()
    }


def read_joint_names(
    path: str | Path | BagReader, topic: str, rename: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return the joints, after renaming, of the first message on ``topic`` (sensor_msgs/JointState) that names joints.

    Raises BagError if the bag cannot be read, or the topic is missing, has another type, or has no message with joints.
    """
    with opened(path) as reader:
        require_topic(reader, topic, JOINT_STATE)
        table = _SeriesTable(renaming(rename or {}), None)
        for message in reader.messages([topic]):
            table.add(message.received, message.data)
            if table.joint_names is not None:
                return table.joint_names
    return table.series(f"{reader.path}: {topic}").joint_names


class _SeriesTable:
    """Messages of one topic, read block by block; ``joint_names`` is None until a message names joints."""

    def __init__(self, renamed: Renaming, joint_names: Sequence[str] | None) -> None:
        self.joint_names = None if joint_names is None else tuple(joint_names)
        self._layouts = JointStateLayouts(renamed)
        self._block: list[tuple[int, bytes, JointStateLayout]] = []
        self._parts: dict[str, list[NDArray[Any]]] = defaultdict(list)
        self._recorded_names: set[str] = set()
        self._left_out: Counter[str] = Counter()
        self._given = joint_names is not None

    def add(self, received: int, data: bytes) -> None:
        """Add a message that arrived at ``received`` (ns)."""
        try:
            layout = self._layouts.find(data)
        except ValueError:
            self._left_out["are not complete JointState messages"] += 1
            return
        if layout.irregular:
            self._left_out[
                f"do not have a value in {layout.irregular} for each name"
            ] += 1
            return
        if self.joint_names is None and layout.joint_names:
            self.joint_names = tuple(dict.fromkeys(layout.joint_names))
        self._block.append((received, data, layout))
        if len(self._block) == _BLOCK:
            self._read_block()

    def _read_block(self) -> None:
        joint_names = self.joint_names or ()
        rows_of: dict[JointStateLayout, list[int]] = defaultdict(list)
        for row, (_, _, layout) in enumerate(self._block):
            rows_of[layout].append(row)
        used = np.zeros(len(self._block), dtype=bool)
        stamps = np.zeros(len(self._block), dtype=np.int64)
        fields = {
            field: np.full((len(self._block), len(joint_names)), np.nan)
            for field in FIELDS
        }
        for layout, rows in rows_of.items():
            names = layout.joint_names
            self._recorded_names.update(names)
            missing = [name for name in joint_names if name not in names]
            if len(set(names)) < len(names):
                self._left_out["name a joint twice"] += len(rows)
            elif 0 < len(missing) < len(joint_names):
                self._left_out[f"lack {', '.join(missing)}"] += len(rows)
            elif missing:
                if not self._given:
                    others = ", ".join(names) or "without names"
                    self._left_out[
                        f"have other joints ({others}) than {', '.join(joint_names)}"
                    ] += len(rows)
            elif joint_names:
                columns = [names.index(name) for name in joint_names]
                table = layout.table([self._block[row][1] for row in rows])
                used[rows] = True
                stamps[rows] = (
                    table["sec"].astype(np.int64) * 1_000_000_000 + table["nanosec"]
                )
                for field in layout.fields:
                    fields[field][rows] = table[field][:, columns]
        received = np.array(
            [received for received, _, _ in self._block], dtype=np.int64
        )
        self._block.clear()
        if used.any():
            for name, values in {
                "stamps": stamps,
                "received": received,
                **fields,
            }.items():
                self._parts[name].append(values[used])

    def series(self, where: str) -> JointSeries:
        """Return the series; ``where`` names bag and topic in errors and warnings."""
        if self._block:
            self._read_block()
        count = sum(len(part) for part in self._parts["stamps"])
        left_out = "; ".join(
            f"{number} messages {reason}" for reason, number in self._left_out.items()
        )
        if not count:
            raise BagError(f"{where}: {self._nothing(left_out)}")
        if left_out:
            text = f"{where}: {left_out}: left out; {count} are used. Cure: check their publisher"
            warnings.warn(BagWarning(text), stacklevel=1)
        assert self.joint_names is not None
        # Each list is freed once it is concatenated, so that a long recording is not in memory twice.
        return JointSeries(
            self.joint_names,
            *(
                np.concatenate(self._parts.pop(name))
                for name in ("stamps", "received", *FIELDS)
            ),
        )

    def _nothing(self, left_out: str) -> str:
        if left_out:
            return f"no message can be used: {left_out}. Cure: check their publisher"
        if self._recorded_names:
            recorded = ", ".join(sorted(self._recorded_names))
            return (
                f"no message has joints {', '.join(self.joint_names or ())}; there are {recorded}. "
                "Cure: rename joints, or choose another topic"
            )
        return "no messages with joint names. Cure: record this topic while the robot's driver runs"
