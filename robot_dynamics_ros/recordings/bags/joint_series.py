"""Joint motion from bags: JointState messages as arrays.

The joints of a robot may come in several messages, such as those of the arm and of the gripper, at times and rates of
their own. They are merged: the rows are the messages of the joints with most values. The other joints get the values of
a message of the same time, else linear interpolation between two messages; NaN where one is missing
(``JointSeries.at``).

``path`` is a bag's folder or file, or its open reader, which stays open. ``rename`` maps joint names, or their
prefixes, in the bag to new ones, as ``{"fer_": "panda_"}``; whole names have precedence over prefixes, long prefixes
over short ones.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import BagError, BagWarning, did_you_mean
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.recordings.bags.reader import (
    BagReader,
    counted,
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
from robot_dynamics_ros.recordings.thresholds import (
    FEW_LATE,
    INTERPOLATED_STEPS,
    LATE_STEPS,
    MESSAGES_AT_ONCE,
    MOST_OTHER_JOINTS,
    WRAPPED_RANGE,
)

_TABLES = ("stamps", "received", *FIELDS)


@dataclass(frozen=True, eq=False)
class JointSeries:
    """JointState messages of one topic as arrays: m messages of n joints, in order of arrival (``read_joint_states``).

    Header ``stamps`` and times of arrival since 1970, ``received``, are in ns (m,); position (rad or m), velocity and
    effort (Nm or N) are (m, n), in the order of ``joint_names``, NaN for an empty field and where a joint has no value.
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
        fields = {field: getattr(self, field)[:, columns] for field in FIELDS}
        return replace(self, joint_names=tuple(joint_names), **fields)

    def rows(self, chosen: NDArray[Any]) -> JointSeries:
        """Return the messages that a mask (m,) or an array of indices chooses."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _TABLES})

    def between(self, first: int, last: int) -> JointSeries:
        """Return the messages whose stamps are at least ``first`` and at most ``last`` (ns)."""
        return self.rows((self.stamps >= first) & (self.stamps <= last))


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


def unwrapped(position: Array) -> Array:
    """Return the positions (m,) of a joint, rad, continuous where they were recorded modulo 2 pi.

    No joint moves by pi between two messages. Those in degrees or counts, over a larger range, do, and are unchanged.
    """
    return np.unwrap(position) if np.ptp(position) < WRAPPED_RANGE else position


def read_joint_states(
    path: str | Path | BagReader,
    topics: Sequence[str],
    rename: Mapping[str, str] | None = None,
    joint_names: Sequence[str] | None = None,
) -> dict[str, JointSeries]:
    """Return the sensor_msgs/JointState messages of each topic, in order of arrival.

    The series have the joints ``joint_names`` (after renaming) in this order; default: all joints of the topic, those
    with most values first. Joints that come in several messages are merged, at the times of those with most values; a
    BagWarning reports interpolation. If the recorder's clock was set back, the messages are in the order of their
    stamps, with a BagWarning. Messages that add no joint or cannot be decoded are left out; a BagWarning reports their
    number. Messages without any of ``joint_names`` are ignored.

    Raises BagError if the bag cannot be read, or a topic is missing, has another type, lacks one of the joints, or has
    no message that can be used.
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


class _Group:
    """Messages with the joints of ``layout``, in any order, read block by block."""

    def __init__(self, layout: JointStateLayout) -> None:
        self.joint_names = layout.joint_names
        self.names = layout.names
        self._block: list[tuple[int, bytes, JointStateLayout]] = []
        self._parts: dict[str, list[NDArray[Any]]] = defaultdict(list)

    def add(self, received: int, data: bytes, layout: JointStateLayout) -> None:
        """Add a message that arrived at ``received`` (ns)."""
        self._block.append((received, data, layout))
        if len(self._block) == MESSAGES_AT_ONCE:
            self._read_block()

    def _read_block(self) -> None:
        rows_of: dict[JointStateLayout, list[int]] = defaultdict(list)
        for row, (_, _, layout) in enumerate(self._block):
            rows_of[layout].append(row)
        count = len(self._block)
        stamps = np.zeros(count, dtype=np.int64)
        fields = {
            field: np.full((count, len(self.joint_names)), np.nan) for field in FIELDS
        }
        for layout, rows in rows_of.items():
            columns = [layout.joint_names.index(name) for name in self.joint_names]
            table = layout.table([self._block[row][1] for row in rows])
            stamps[rows] = (
                table["sec"].astype(np.int64) * 1_000_000_000 + table["nanosec"]
            )
            for field in layout.fields:
                fields[field][rows] = table[field][:, columns]
        received = np.array(
            [received for received, _, _ in self._block], dtype=np.int64
        )
        self._block.clear()
        for name, values in ({"stamps": stamps, "received": received} | fields).items():
            self._parts[name].append(values)

    @cached_property
    def series(self) -> JointSeries:
        """All messages. Each list is freed once it is concatenated: a long recording is not in memory twice."""
        if self._block:
            self._read_block()
        tables = (np.concatenate(self._parts.pop(name)) for name in _TABLES)
        return JointSeries(self.joint_names, *tables)


class _SeriesTable:
    """Messages of one topic by their joints; ``joint_names`` are those of the series, None for all."""

    def __init__(self, renamed: Renaming, joint_names: Sequence[str] | None) -> None:
        self._joint_names = joint_names
        self._layouts = JointStateLayouts(renamed)
        self._groups: dict[frozenset[str], _Group] = {}
        self._left_out: Counter[str] = Counter()

    def add(self, received: int, data: bytes) -> None:
        """Add a message that arrived at ``received`` (ns)."""
        try:
            layout = self._layouts.find(data)
        except ValueError:
            self._left_out["are not complete JointState messages"] += 1
            return
        names = layout.names
        if layout.irregular:
            self._left_out[
                f"do not have a value in {layout.irregular[0]} for each name"
            ] += 1
        elif len(names) < len(layout.joint_names):
            self._left_out["name a joint twice"] += 1
        elif names:
            if names not in self._groups:
                self._groups[names] = _Group(layout)
            self._groups[names].add(received, data, layout)

    def series(self, where: str) -> JointSeries:
        """Return the series; ``where`` names bag and topic in errors and warnings."""
        groups = list(self._groups.values())
        recorded = list(
            dict.fromkeys(name for group in groups for name in group.joint_names)
        )
        names = recorded if self._joint_names is None else self._joint_names
        parts, missing = _parts(names, groups)
        if missing and self._joint_names is not None:
            parts = []
        for group in groups:
            lacking = [name for name in names if name not in group.names]
            used = any(group.names.issuperset(part) for part in parts)
            if len(lacking) < len(names) and not used:
                self._left_out[f"lack {', '.join(lacking)}"] += len(group.series.stamps)
        left_out = counted(self._left_out)
        if not parts:
            raise BagError(f"{where}: {_nothing(left_out, names, recorded)}")
        first, *others = (
            _in_order_of_stamps(_pooled(part, groups), where) for part in parts
        )
        if left_out:
            text = f"{where}: {left_out}: left out; {len(first.stamps)} are used. Cure: check their publisher"
            warnings.warn(BagWarning(text), stacklevel=1)
        for other in others:
            first = _merged(first, other, where)
        return first.in_order(self._joint_names or first.joint_names)


def _parts(
    names: Sequence[str], groups: Sequence[_Group]
) -> tuple[list[list[str]], list[str]]:
    """Return the joints ``names`` in parts that come together, that with most values first, and missing joints."""
    parts: list[list[str]] = []
    missing = list(names)
    for group in sorted(
        groups,
        key=lambda group: (
            len(group.names.intersection(names)) * len(group.series.stamps)
        ),
        reverse=True,
    ):
        part = [name for name in missing if name in group.names]
        if part and (
            not parts or sum(map(len, parts[1:]), len(part)) <= MOST_OTHER_JOINTS
        ):
            parts.append(part)
            missing = [name for name in missing if name not in part]
    return parts, missing


def _pooled(joint_names: Sequence[str], groups: Sequence[_Group]) -> JointSeries:
    """Return all messages that have ``joint_names``, in order of arrival."""
    series = [
        group.series.in_order(joint_names)
        for group in groups
        if group.names.issuperset(joint_names)
    ]
    if len(series) == 1:
        return series[0]
    tables = (
        np.concatenate([getattr(one, name) for one in series]) for name in _TABLES
    )
    pooled = JointSeries(tuple(joint_names), *tables)
    return pooled.rows(np.argsort(pooled.received, kind="stable"))


def _nothing(left_out: str, names: Sequence[str], recorded: Sequence[str]) -> str:
    """Return the reason why no series of the joints ``names`` can be made."""
    if left_out:
        return f"no message can be used: {left_out}. Cure: check their publisher"
    if recorded:
        return (
            f"no message has joints {', '.join(names)}; there are {', '.join(sorted(recorded))}. "
            "Cure: rename joints, or choose another topic"
        )
    return "no messages with joint names. Cure: record this topic while the robot's driver runs"


def _in_order_of_stamps(series: JointSeries, where: str) -> JointSeries:
    """Return the messages in the order of their stamps if the recorder's clock was set back, else ``series``.

    The order of arrival then alternates between two parts of the motion. If the clock of the stamps was set back, or a
    simulation was restarted, it is that of the motion, and few stamps are before the last one.
    """
    stamps = series.stamps
    order = np.argsort(stamps, kind="stable")
    moved = np.count_nonzero(order != np.arange(len(order)))
    period = np.median(np.diff(stamps[order], append=stamps[order[-1:]]))
    if (
        np.count_nonzero(np.diff(stamps) < -LATE_STEPS * period)
        < FEW_LATE + 0.1 * moved
    ):
        return series
    text = f"{where}: the recorder's clock was set back: {moved} messages are sorted by stamps"
    warnings.warn(BagWarning(text), stacklevel=1)
    return series.rows(order)


def _merged(first: JointSeries, other: JointSeries, where: str) -> JointSeries:
    """Return ``first`` with the joints of ``other`` at its times, by stamps that do not decrease, else by arrival.

    Values between two messages are interpolated linearly; they are NaN if these are more than 2.5 median steps apart,
    and outside all messages.
    """
    both = (first, other)
    stamped = all(one.stamps.any() and (np.diff(one.stamps) >= 0).all() for one in both)
    times, own = (one.stamps if stamped else one.received for one in both)
    before = (np.searchsorted(own, times, side="right") - 1).clip(0)
    after = np.searchsorted(own, times).clip(max=len(own) - 1)
    step = own[after] - own[before]  # 0 at a message
    if step.any():
        names = ", ".join(other.joint_names)
        text = f"{where}: {names} come in other messages, and are interpolated at the times of the rest"
        warnings.warn(BagWarning(text), stacklevel=1)
        position = np.apply_along_axis(unwrapped, 0, other.position)
        other = replace(other, position=position)
    gap = step > INTERPOLATED_STEPS * np.median(np.diff(own, append=own[-1:]))
    places = np.where(gap, -1.0, times - own[0])  # -1: outside, thus NaN
    nodes = (own - own[0]).astype(np.float64)

    def at_times(column: Array) -> Array:
        return np.interp(places, nodes, column, np.nan, np.nan)

    fields = {
        field: np.hstack(
            [
                getattr(first, field),
                np.apply_along_axis(at_times, 0, getattr(other, field)),
            ]
        )
        for field in FIELDS
    }
    return replace(first, joint_names=first.joint_names + other.joint_names, **fields)
