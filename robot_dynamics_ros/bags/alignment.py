"""Alignment of two recordings: named values of messages, and pairs of messages that belong together."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics_ros.bags.storage import JOINT_STATE, Message, message_types
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER, CdrReader, padding
from robot_dynamics_ros.messages.joint_state import Renaming

JOINT_TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
_FIELDS = ("position", "velocity", "effort")
_POINT_FIELDS = ("positions", "velocities", "accelerations", "effort")
_SHORT = 32
_STAMP_END = HEADER + 8


class Contents(NamedTuple):
    """The fields of a message: floating-point ones as arrays (k,), all others as they are."""

    numbers: dict[str, Array]
    exact: dict[str, object]


def known(kind: str) -> bool:
    """Whether messages of this type can be decoded."""
    return kind in message_types().fielddefs


def has_stamp(kind: str) -> bool:
    """Whether messages of this type begin with a std_msgs/Header."""
    fields = message_types().fielddefs[kind][1] if known(kind) else []
    return bool(fields) and fields[0][0] == "header" and fields[0][1][1] == "std_msgs/msg/Header"


def contents(data: bytes, kind: str, rename: Renaming) -> Contents:
    """Return what a message holds; its stamp is left out, as messages are paired by it.

    Names are paths such as ``transforms[0].transform.translation.x``; joints are named: ``panda_joint1
    position``. Long arrays, and the points of a trajectory, are one field. A message that cannot be decoded is
    its bytes.
    """
    if not known(kind):
        return Contents({}, {"bytes": data})
    try:
        message: Any = message_types().deserialize_cdr(data, kind)
    except Exception:  # whatever broken bytes lead to
        return Contents({}, {"bytes": data})
    found = Contents({}, {})
    if kind == JOINT_STATE:
        _joint_state(message, rename, found)
    elif kind == JOINT_TRAJECTORY:
        _trajectory(message, rename, found)
    else:
        _flatten(message, "", found)
    return found


def unique(names: Sequence[str]) -> list[str]:
    """Number names that are there twice."""
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    repeats: dict[str, int] = {}
    result = []
    for name in names:
        repeats[name] = repeats.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({repeats[name]})")
    return result


def _frame(text: str) -> str:
    """Return a frame_id, empty where it is the running number of a command: recordings begin at different ones."""
    return "" if len(text) == 10 and text.isdecimal() else text


def _joint_state(message: Any, rename: Renaming, found: Contents) -> None:
    names = unique([rename(name) for name in message.name])
    found.exact["header.frame_id"] = _frame(message.header.frame_id)
    for field in _FIELDS:
        values = getattr(message, field)
        if len(values) == len(names):
            for name, value in zip(names, values, strict=True):
                found.numbers[f"{name} {field}"] = np.array([value])
        else:
            _flatten_value(values, field, found)


def _trajectory(message: Any, rename: Renaming, found: Contents) -> None:
    names = unique([rename(name) for name in message.joint_names])
    found.exact["header.frame_id"] = message.header.frame_id
    times = [(point.time_from_start.sec, point.time_from_start.nanosec) for point in message.points]
    found.exact["time_from_start"] = times
    for field in _POINT_FIELDS:
        rows = [getattr(point, field) for point in message.points]
        if all(len(row) == len(names) for row in rows):
            table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
            for name, column in zip(names, table.T, strict=True):
                found.numbers[f"{name} {field}"] = column.copy()
        else:
            for i, row in enumerate(rows):
                _flatten_value(row, f"points[{i}].{field}", found)


def _flatten(message: Any, path: str, found: Contents) -> None:
    for field in message.__dataclass_fields__:
        if field != "__msgtype__" and not (path == "header" and field == "stamp"):
            _flatten_value(getattr(message, field), f"{path}.{field}" if path else field, found)


def _flatten_value(value: Any, path: str, found: Contents) -> None:
    if isinstance(value, float):
        found.numbers[path] = np.array([value])
    elif isinstance(value, np.ndarray):
        if value.dtype.kind != "f":
            found.exact[path] = (value.dtype.str, value.tobytes()) if len(value) > _SHORT else value.tolist()
        elif len(value) > _SHORT:
            found.numbers[path] = value.astype(np.float64)
        else:
            numbers = value.astype(np.float64)
            for i in range(len(numbers)):
                found.numbers[f"{path}[{i}]"] = numbers[i : i + 1]
    elif isinstance(value, list) and value and hasattr(value[0], "__dataclass_fields__"):
        for i, item in enumerate(value):
            _flatten(item, f"{path}[{i}]", found)
    elif hasattr(value, "__dataclass_fields__"):
        _flatten(value, path, found)
    else:
        found.exact[path] = value


class JointStateLayout:
    """Where the numbers stand in JointState messages of one sender, so that many are read at once."""

    def __init__(self, data: bytes, rename: Renaming) -> None:
        """Raise ValueError, KeyError or struct.error where a message has not a number for each name, or none."""
        order = BYTE_ORDERS[data[:2]]
        reader = CdrReader(order, memoryview(data)[HEADER:])
        reader.stamp()
        self.frame_id, self._frame_end = _frame(reader.text()), HEADER + reader.at
        names = [reader.text() for _ in range(reader.number())]
        self.joint_names = unique([rename(name) for name in names])
        self._begin, self._same, self._size = data[:2], data[self._frame_end : HEADER + reader.at], len(data)
        self._frame = data[_STAMP_END : self._frame_end]
        self._format = order + "f8"
        self._lengths: list[tuple[slice, bytes]] = []
        self._starts: dict[str, int] = {}
        for field in _FIELDS:
            count = reader.number()
            if count not in (0, len(names)):
                raise ValueError
            place = slice(HEADER + reader.at - 4, HEADER + reader.at)
            self._lengths.append((place, data[place]))
            if count:
                reader.at += padding(reader.at, 8)
                self._starts[field] = HEADER + reader.at
                reader.at += 8 * count
        if HEADER + reader.at > len(data):
            raise ValueError

    @property
    def fields(self) -> list[str]:
        """The fields that have numbers."""
        return list(self._starts)

    def fits(self, data: bytes) -> bool:
        """Whether another message has the same layout, names and frame_id."""
        return (
            len(data) == self._size
            and data.startswith(self._same, self._frame_end)
            and self._has_frame(data)
            and data.startswith(self._begin)
            and all(data[place] == length for place, length in self._lengths)
        )

    def _has_frame(self, data: bytes) -> bool:
        frame = data[_STAMP_END : self._frame_end]
        return frame == self._frame or (not self.frame_id and frame[:4] == self._frame[:4] and frame[4:-1].isdigit())

    def numbers(self, messages: Sequence[bytes]) -> dict[str, Array]:
        """Return each field of m messages that fit, (n, m): a row a joint."""
        table = np.frombuffer(b"".join(messages), np.uint8).reshape(len(messages), self._size)
        width = 8 * len(self.joint_names)
        rows = {}
        for field, start in self._starts.items():
            values = np.ascontiguousarray(table[:, start : start + width]).view(self._format)
            rows[field] = np.ascontiguousarray(values.T, dtype=np.float64)
        return rows


def joint_state_layout(data: bytes, rename: Renaming) -> JointStateLayout | None:
    """Return the layout of a message, None where it is irregular or no whole JointState."""
    try:
        return JointStateLayout(data, rename)
    except (ValueError, KeyError, struct.error):
        return None


class Times:
    """When the messages of one topic were: header.stamp where they have one, else their arrival (ns)."""

    def __init__(self, stamped: bool) -> None:
        self.stamped = stamped
        self._times = array("q")

    def add(self, message: Message) -> None:
        """Take in the next message; ValueError where it is too short for a stamp."""
        if not self.stamped:
            self._times.append(message.received)
            return
        data = message.data
        order = BYTE_ORDERS.get(data[:2])
        if order is None or len(data) < HEADER + 8:
            raise ValueError(f"message {len(self._times)} of {len(data)} bytes has no stamp")
        name = "little" if order == "<" else "big"
        seconds = int.from_bytes(data[4:8], name, signed=True)  # type: ignore[arg-type]
        nanoseconds = int.from_bytes(data[8:12], name)  # type: ignore[arg-type]
        self._times.append(seconds * 1_000_000_000 + nanoseconds)

    @property
    def values(self) -> IntArray:
        """All of them (m,), ns."""
        return np.frombuffer(self._times, dtype=np.int64) if self._times else np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Pairs of messages of one topic: message ``a[k]`` of A and ``b[k]`` of B, in the order of A.

    ``only_a`` and ``only_b`` are the messages without a partner. Numbers count from 0 on the topic.
    """

    a: IntArray
    b: IntArray
    only_a: IntArray
    only_b: IntArray


def align(times_a: Times, times_b: Times) -> Alignment:
    """Pair messages of the same stamp, repeated ones in their order; those without stamps by their order alone."""
    a, b = times_a.values, times_b.values
    if times_a.stamped:
        codes = np.unique(np.concatenate([a, b]), return_inverse=True)[1].reshape(-1).astype(np.int64)
        code_a, code_b = codes[: len(a)], codes[len(a) :]
        repeat_a, repeat_b = _repeats(code_a), _repeats(code_b)
        width = 1 + max(repeat_a.max(initial=0), repeat_b.max(initial=0))
        key_a, key_b = code_a * width + repeat_a, code_b * width + repeat_b
    else:
        key_a, key_b = np.arange(len(a)), np.arange(len(b))
    _, in_a, in_b = np.intersect1d(key_a, key_b, assume_unique=True, return_indices=True)
    order = np.argsort(in_a)
    in_a, in_b = in_a[order], in_b[order]
    return Alignment(in_a, in_b, _others(len(a), in_a), _others(len(b), in_b))


def _repeats(codes: IntArray) -> IntArray:
    """How many equal codes stand before each."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered)
    repeats = np.empty(len(codes), dtype=np.int64)
    repeats[order] = np.arange(len(codes)) - starts
    return repeats


def _others(count: int, taken: IntArray) -> IntArray:
    free = np.ones(count, dtype=bool)
    free[taken] = False
    return np.flatnonzero(free)


def paired(a: Iterable[Message], b: Iterable[Message], pairs: Alignment) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes of each pair; both streams are read once, and only what is out of order is kept."""
    wanted = np.zeros(int(pairs.b.max(initial=-1)) + 1, dtype=bool)
    wanted[pairs.b] = True
    waiting: dict[int, bytes] = {}
    rest_b = enumerate(b)
    rest_a = enumerate(a)
    for i, k in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
        data_a = next(message.data for number, message in rest_a if number == i)
        while k not in waiting:
            number, message = next(rest_b)
            if wanted[number]:
                waiting[number] = message.data
        yield data_a, waiting.pop(k)
