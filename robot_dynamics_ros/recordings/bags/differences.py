"""Differences between the messages of one topic in two recordings, A and B, field by field.

Numbers a of A and b of B match if |a - b| <= atol + rtol |b|, the tolerance. NaN equals NaN. A Place is the location of
a message: stamp, seconds, and indices in both recordings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base import joint_messages
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.recordings.bags.alignment import Alignment, Place
from robot_dynamics_ros.recordings.bags.storage import (
    JOINT_STATE,
    JOINT_TRAJECTORY,
    message_types,
)
from robot_dynamics_ros.recordings.messages.joint_state import (
    JointStateLayout,
    JointStateLayouts,
    Renaming,
)
from robot_dynamics_ros.recordings.thresholds import (
    FEW_ELEMENTS,
    LEAST_FOR_SHIFT,
    MESSAGES_AT_ONCE,
)


@dataclass(frozen=True)
class FieldDifference:
    """One field of a topic, such as ``panda_joint1 position``, in both recordings; units are those of the message.

    ``count`` values were compared, of which ``beyond`` differ by more than the tolerance. In ``only_a`` and ``only_b``
    paired messages only one recording has the field. ``largest`` and ``rms`` are absolute differences, inf if only one
    of two values is finite. ``mean`` is the sum of the finite differences B - A over ``count``. The three are None for
    values other than floating-point numbers. ``largest_at`` is the place of the largest difference, None if it is 0,
    and ``a`` and ``b`` are its values, then 0.0; for texts and integers those of the first difference. ``first_at`` is
    the first place beyond the tolerance, or with the field in one message only, or None.
    """

    name: str
    count: int
    beyond: int
    only_a: int
    only_b: int
    largest: float | None
    rms: float | None
    largest_at: Place | None
    first_at: Place | None
    a: object = None
    b: object = None
    mean: float | None = None

    @property
    def offset(self) -> float | None:
        """Constant offset B - A: the mean, if the standard deviation is below a seventh of it; else None.

        It is also None for fewer than 3 values, without a difference, and if a difference is infinite.
        """
        if (
            self.mean is None
            or self.rms is None
            or self.count < LEAST_FOR_SHIFT
            or not 0.0 < self.rms < np.inf
        ):
            return None
        return self.mean if abs(self.mean) >= 0.99 * self.rms else None

    @property
    def matches(self) -> bool:
        """True if no value differs by more than the tolerance, and the field is in both messages of all pairs."""
        return not (self.beyond or self.only_a or self.only_b)

    @property
    def equal(self) -> bool:
        """True if the field matches and all its values are equal, without tolerance."""
        return self.matches and not self.largest


@dataclass(frozen=True)
class TopicDifference:
    """One topic of both recordings; ``kind`` is the type of its messages.

    ``count`` pairs of messages were compared, paired by header.stamp if ``stamped`` is True, else by their order.
    ``only_a`` and ``only_b`` messages have no partner; ``first_only_a`` and ``first_only_b`` are the first of them. If
    ``common`` is True, they are no difference. ``fields`` are all fields that a message of a pair has. The stamps of B
    are ``shift`` (ns) later than those of A.
    """

    topic: str
    kind: str
    stamped: bool
    count: int
    only_a: int
    only_b: int
    first_only_a: Place | None
    first_only_b: Place | None
    fields: tuple[FieldDifference, ...]
    common: bool = False
    shift: int = 0

    @property
    def matches(self) -> bool:
        """True if all fields match, the shift is 0, and all messages (with ``common`` at least one) have a partner."""
        if self.shift:
            return False
        alone = self.only_a or self.only_b
        complete = (self.common and self.count > 0) or not alone
        return complete and all(field.matches for field in self.fields)

    @property
    def largest(self) -> float:
        """The largest absolute difference of numbers (float); 0 if there is none, inf if only one of two is finite."""
        return max((field.largest or 0.0 for field in self.fields), default=0.0)


def difference(a: Array, b: Array) -> Array:
    """Return |a - b| elementwise: 0 for two NaN or equal infinities, inf for other pairs that are not both finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.abs(a - b)
    result[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    result[np.isnan(result)] = np.inf
    return result


class _FieldSum:
    """Running sums of the differences of one field; places are (pair, element), element -1 for none."""

    def __init__(self) -> None:
        self.count = self.beyond = 0
        self.only = [0, 0]  # messages of A, of B
        self.largest: float | None = None
        self.squares = self.total = 0.0
        self.largest_at: tuple[int, int] | None = None
        self.first_at: tuple[int, int] | None = None
        self.first_only: tuple[int, int] | None = None
        self.a: object = None
        self.b: object = None

    def add_numbers(
        self,
        a: Array,
        b: Array,
        pairs: IntArray,
        elements: IntArray,
        atol: float,
        rtol: float,
    ) -> None:
        """Compare numbers (m,); ``pairs`` and ``elements`` are their places."""
        self.count += len(a)
        if self.largest is None:
            self.largest = 0.0
            self.a = 0.0
            self.b = 0.0
        # the usual case, NaN included
        if np.array_equal(a.view(np.int64), b.view(np.int64)):
            return
        differences = difference(a, b)
        with np.errstate(invalid="ignore", over="ignore"):
            self.squares += float(np.dot(differences, differences))
            signed = b - a
            self.total += float(np.sum(signed, where=np.isfinite(signed)))
            within = differences <= atol + rtol * np.abs(b)
        k = int(np.argmax(differences))
        if differences[k] > self.largest:
            self.largest = float(differences[k])
            self.largest_at = (int(pairs[k]), int(elements[k]))
            self.a = float(a[k])
            self.b = float(b[k])
        beyond = np.flatnonzero((differences > 0.0) & (~within | np.isinf(differences)))
        if len(beyond):
            self.beyond += len(beyond)
            self.first_at = self.first_at or (
                int(pairs[beyond[0]]),
                int(elements[beyond[0]]),
            )

    def add_integers(self, a: NDArray[Any], b: NDArray[Any], pair: int) -> None:
        """Compare arrays (m,) of integers or booleans, such as images."""
        self.count += len(a)
        differing = np.flatnonzero(a != b)
        self.beyond += len(differing)
        if len(differing) and self.first_at is None:
            k = int(differing[0])
            self.first_at = (pair, k)
            self.a = a[k].item()
            self.b = b[k].item()

    def add_values(self, a: object, b: object, pair: int) -> None:
        """Compare texts or integers."""
        self.count += 1
        if a != b:
            self.beyond += 1
            if self.first_at is None:
                self.first_at = (pair, -1)
                self.a = a
                self.b = b

    def add_only(self, in_b: bool, first: int, count: int) -> None:
        """Count pairs in which only one message has the field; ``first`` is the first pair."""
        self.only[in_b] += count
        self.first_only = self.first_only or (first, -1)

    def result(self, name: str, pairs: Alignment) -> FieldDifference:
        """Return the differences."""

        def place(at: tuple[int, int] | None) -> Place | None:
            return (
                None if at is None else pairs.pair(at[0], None if at[1] < 0 else at[1])
            )

        mean: float | None = None
        if self.largest is None:
            rms = None
            first = self.first_at or self.first_only
            largest_at = first
        else:
            rms = float(np.sqrt(self.squares / max(self.count, 1)))
            largest_at = self.largest_at
            mean = self.total / max(self.count, 1)
            first = min(
                (at for at in (self.first_at, self.first_only) if at), default=None
            )
        counts = self.count, self.beyond, self.only[0], self.only[1]
        return FieldDifference(
            name,
            *counts,
            self.largest,
            rms,
            place(largest_at),
            place(first),
            self.a,
            self.b,
            mean,
        )


class FieldComparison:
    """Comparison of pairs of messages of one topic, B with A: |a - b| <= atol + rtol |b|.

    ``kind`` is the message type, such as ``sensor_msgs/msg/JointState``, and ``rename`` a function from old to new
    joint names. ``atol`` is in the unit of each field. Call ``add`` once, then ``result``.
    """

    def __init__(
        self, kind: str, rename: Renaming, atol: float = 0.0, rtol: float = 0.0
    ) -> None:
        self._kind = kind
        self._rename = rename
        self._tolerance = (atol, rtol)
        self._fields: dict[str, _FieldSum] = defaultdict(_FieldSum)
        self._layouts = JointStateLayouts(rename)

    def add(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Compare all ``pairs``: serialized message (CDR) of A, then of B."""
        rest = iter(pairs)
        begin = 0
        while block := list(islice(rest, MESSAGES_AT_ONCE)):
            # JointState messages of equal layout are compared at once.
            alike: dict[tuple[JointStateLayout, JointStateLayout], list[int]] = (
                defaultdict(list)
            )
            others: list[int] = []
            for k, (a, b) in enumerate(block):
                try:
                    if self._kind != JOINT_STATE:
                        raise ValueError
                    alike[self._layouts.find(a), self._layouts.find(b)].append(k)
                except ValueError:
                    others.append(k)
            for (layout_a, layout_b), rows in alike.items():
                at = begin + np.array(rows, dtype=np.int64)
                self._compare_joint_states(
                    layout_a, layout_b, [block[k] for k in rows], at
                )
            self._compare_messages([(begin + k, *block[k]) for k in others])
            begin += len(block)

    def _compare_joint_states(
        self,
        layout_a: JointStateLayout,
        layout_b: JointStateLayout,
        pairs: list[tuple[bytes, bytes]],
        at: IntArray,
    ) -> None:
        frames = self._fields["header.frame_id"]
        for pair, (a, b) in zip(at.tolist(), pairs, strict=True):
            frame_a = layout_a.frame_id(a)
            frame_b = layout_b.frame_id(b)
            frames.add_values(without_number(frame_a), without_number(frame_b), pair)
        columns_a = _columns(layout_a, [a for a, _ in pairs])
        columns_b = _columns(layout_b, [b for _, b in pairs])
        elements = np.full(len(at), -1)
        for name in columns_a | columns_b:
            if name in columns_a and name in columns_b:
                self._fields[name].add_numbers(
                    columns_a[name], columns_b[name], at, elements, *self._tolerance
                )
            else:
                self._fields[name].add_only(name in columns_b, int(at[0]), len(at))

    def _compare_messages(self, pairs: list[tuple[int, bytes, bytes]]) -> None:
        rows: dict[str, list[tuple[int, Array, Array]]] = defaultdict(list)
        for pair, raw_a, raw_b in pairs:
            a = contents(raw_a, self._kind, self._rename)
            b = a if raw_a == raw_b else contents(raw_b, self._kind, self._rename)
            for name in a | b:
                if name not in a or name not in b:
                    self._fields[name].add_only(name in b, pair, 1)
                elif not isinstance(a[name], np.ndarray):
                    self._fields[name].add_values(a[name], b[name], pair)
                elif len(a[name]) != len(b[name]):
                    self._fields[f"length of {name}"].add_values(
                        len(a[name]), len(b[name]), pair
                    )
                elif a[name].dtype.kind != "f":
                    self._fields[name].add_integers(a[name], b[name], pair)
                else:
                    rows[name].append((pair, a[name], b[name]))
        for name, parts in rows.items():
            numbers, values_a, values_b = zip(*parts, strict=True)
            lengths = [len(values) for values in values_a]
            at = np.repeat(np.array(numbers, dtype=np.int64), lengths)
            elements = np.concatenate(
                [
                    np.arange(length) if length > 1 else np.full(length, -1)
                    for length in lengths
                ]
            )
            all_a = np.concatenate(values_a)
            all_b = np.concatenate(values_b)
            self._fields[name].add_numbers(all_a, all_b, at, elements, *self._tolerance)

    def result(
        self, topic: str, pairs: Alignment, common: bool = False
    ) -> TopicDifference:
        """Return the differences on ``topic``; ``pairs`` is the alignment of the messages that ``add`` has compared.

        If ``common`` is True, messages without a partner are no difference.
        """
        return TopicDifference(
            topic,
            self._kind,
            pairs.stamped,
            len(pairs.a),
            len(pairs.only_a),
            len(pairs.only_b),
            *pairs.first_only(),
            tuple(field.result(name, pairs) for name, field in self._fields.items()),
            common,
            pairs.shift,
        )


def _columns(layout: JointStateLayout, messages: list[bytes]) -> dict[str, Array]:
    """Return the values (m,) of each joint and field in m messages of a layout, by name.

    Values of a field that has not one for each joint are named by their index, such as ``position[0]``.
    """
    names = unique(layout.joint_names)
    table = layout.table(messages)
    columns = {}
    for field in layout.fields:
        values = np.ascontiguousarray(table[field].T, dtype=np.float64)
        regular = field not in layout.irregular
        for k, column in enumerate(values):
            columns[f"{names[k]} {field}" if regular else f"{field}[{k}]"] = column
    return columns


def contents(data: bytes, kind: str, rename: Renaming) -> dict[str, Any]:
    """Return the fields of a serialized message, by name: floating-point numbers as arrays (k,), others unchanged.

    ``kind`` is the message type, and ``rename`` a function from old to new joint names. Names are paths such as
    ``transforms[0].transform.translation.x``, for joints ``panda_joint1 position``. An array of more than 32 numbers is
    one field, as are the values of a joint in all points of a trajectory. The stamp is left out. A message that cannot
    be decoded has the one field "bytes", an array of integers.
    """
    fields: dict[str, Any] = {}
    try:
        message: Any = message_types().deserialize_cdr(data, kind)
    except Exception:  # an unknown type; broken bytes raise errors of many types
        return {"bytes": np.frombuffer(data, np.uint8)}
    if kind == JOINT_TRAJECTORY:
        _trajectory(message, rename, fields)
    else:
        _flatten(message, "", fields)
    return fields


def unique(names: Sequence[str]) -> list[str]:
    """Return the names in their order; names that occur several times get a number, as "a (1)" and "a (2)"."""
    counts = Counter(names)
    repeats = Counter[str]()
    numbered = []
    for name in names:
        repeats[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name} ({repeats[name]})")
    return numbered


def without_number(frame_id: str) -> str:
    """Return ``frame_id``; "" for ten digits, a command's number, which depends on the controller's start."""
    return "" if len(frame_id) == 10 and frame_id.isdecimal() else frame_id


def _trajectory(message: Any, rename: Renaming, fields: dict[str, Any]) -> None:
    names = unique([rename(name) for name in message.joint_names])
    fields["header.frame_id"] = message.header.frame_id
    times = [point.time_from_start for point in message.points]
    fields["time_from_start"] = [(time.sec, time.nanosec) for time in times]
    for field in joint_messages.FIELDS:
        rows = [getattr(point, field) for point in message.points]
        if all(len(row) == len(names) for row in rows):
            table = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
            fields.update(
                {f"{name} {field}": table[:, k].copy() for k, name in enumerate(names)}
            )
        else:
            for i, row in enumerate(rows):
                _flatten_value(row, f"points[{i}].{field}", fields)


def _flatten(message: Any, path: str, fields: dict[str, Any]) -> None:
    for field in message.__dataclass_fields__:
        if field != "__msgtype__" and not (path == "header" and field == "stamp"):
            _flatten_value(
                getattr(message, field), f"{path}.{field}" if path else field, fields
            )


def _flatten_value(value: Any, path: str, fields: dict[str, Any]) -> None:
    if isinstance(value, float):
        fields[path] = np.array([value])
    elif isinstance(value, np.ndarray):
        if len(value) > FEW_ELEMENTS:
            fields[path] = (
                value.astype(np.float64) if value.dtype.kind == "f" else value
            )
        elif value.dtype.kind != "f":
            fields[path] = value.tolist()
        else:
            numbers = value.astype(np.float64)
            fields.update(
                {f"{path}[{i}]": numbers[i : i + 1] for i in range(len(numbers))}
            )
    elif (
        isinstance(value, list) and value and hasattr(value[0], "__dataclass_fields__")
    ):
        for i, item in enumerate(value):
            _flatten(item, f"{path}[{i}]", fields)
    elif hasattr(value, "__dataclass_fields__"):
        _flatten(value, path, fields)
    else:
        fields[path] = value
