"""Differences between the messages of one topic in two recordings, field by field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.bags.alignment import Alignment, Contents, JointStateLayout, contents, joint_state_layout
from robot_dynamics_ros.bags.storage import JOINT_STATE
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.messages.joint_state import Renaming


@dataclass(frozen=True)
class Tolerance:
    """NumPy's rule: a and b agree where |a - b| <= atol + rtol |b|."""

    atol: float = 0.0
    rtol: float = 0.0


@dataclass(frozen=True)
class Place:
    """A message: its header.stamp (ns, None: it has none), seconds from the start, and its number on the topic.

    ``a`` and ``b`` are its numbers in the two recordings, from 0; None where it is not there. ``element`` is the
    place in a long array, or the point of a trajectory.
    """

    stamp: int | None
    seconds: float
    a: int | None
    b: int | None
    element: int | None = None


@dataclass(frozen=True)
class FieldDifference:
    """One field of a topic, such as ``panda_joint1 position``, in both recordings.

    Attributes
    ----------
    name
        The field; units are those of the message.
    count
        How many numbers, or texts, were compared.
    beyond
        How many of them differ by more than the tolerance.
    only_a, only_b
        In how many messages only one recording has the field.
    largest, rms
        Largest and root mean square difference; None for what is no floating-point number. inf where one of
        two numbers is not finite.
    largest_at, a, b
        Where the largest difference is, and what stands there; for texts and integers, the first one.
    first_at
        Where the first difference beyond the tolerance is.
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

    @property
    def matches(self) -> bool:
        """Whether nothing differs by more than the tolerance."""
        return not (self.beyond or self.only_a or self.only_b)

    @property
    def equal(self) -> bool:
        """Whether nothing differs at all."""
        return self.matches and not self.largest


def difference(a: Array, b: Array) -> Array:
    """Return |a - b|; 0 where both are NaN or the same infinity, inf where only one is or they differ in sign."""
    with np.errstate(invalid="ignore", over="ignore"):
        result = np.abs(a - b)
    result[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    result[np.isnan(result)] = np.inf
    return result


class NumberDifferences:
    """Takes in the floating-point numbers of one field, block by block."""

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self.count = self.beyond = 0
        self.largest = self._squares = 0.0
        self.largest_at: tuple[int, int] | None = None
        self.first_at: tuple[int, int] | None = None
        self.a = self.b = 0.0

    def add(self, a: Array, b: Array, pairs: IntArray, elements: IntArray | None = None) -> None:
        """``pairs`` says to which pair of messages each number (m,) belongs, ``elements`` where in it."""
        self.count += len(a)
        # Most blocks are the same, NaN too: bit for bit.
        if np.array_equal(a.view(np.int64), b.view(np.int64)):
            return
        found = difference(a, b)
        with np.errstate(over="ignore"):
            self._squares += float(np.dot(found, found))
        k = int(np.argmax(found))

        def place(k: int) -> tuple[int, int]:
            return int(pairs[k]), -1 if elements is None else int(elements[k])

        if found[k] > self.largest:
            self.largest, self.largest_at = float(found[k]), place(k)
            self.a, self.b = float(a[k]), float(b[k])
        with np.errstate(invalid="ignore", over="ignore"):
            allowed = self._tolerance.atol + self._tolerance.rtol * np.abs(b)
            beyond = (found > 0.0) & (~(found <= allowed) | np.isinf(found))
        if beyond.any():
            self.beyond += int(beyond.sum())
            if self.first_at is None:
                self.first_at = place(int(np.argmax(beyond)))

    @property
    def rms(self) -> float:
        """Root mean square difference."""
        return float(np.sqrt(self._squares / self.count)) if self.count else 0.0


class Exact:
    """Takes in what must be equal: texts, integers, bytes."""

    def __init__(self) -> None:
        self.count = self.beyond = 0
        self.first_at: tuple[int, int] | None = None
        self.a: object = None
        self.b: object = None

    def add(self, a: object, b: object, pair: int) -> None:
        """Compare the values of one pair of messages."""
        self.count += 1
        if a != b:
            self.beyond += 1
            if self.first_at is None:
                self.first_at, self.a, self.b = (pair, -1), a, b


_BLOCK = 1024


@dataclass(frozen=True)
class TopicDifference:
    """One topic of both recordings.

    Attributes
    ----------
    topic, kind
        Its name and the type of its messages.
    stamped
        Whether messages were paired by header.stamp; else by their order on the topic.
    count
        How many pairs of messages were compared.
    only_a, only_b
        How many messages have no partner in the other recording.
    first_only_a, first_only_b
        The first of each.
    fields
        All that both messages of a pair, or one of them, hold.
    common
        Whether only pairs matter.
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

    @property
    def matches(self) -> bool:
        """Whether every message has a partner that it agrees with; where only pairs matter, every pair agrees."""
        alone = self.only_a or self.only_b
        complete = (self.common and self.count > 0) or not alone
        return complete and all(field.matches for field in self.fields)

    @property
    def largest(self) -> float:
        """The largest difference of floating-point numbers."""
        return max((field.largest or 0.0 for field in self.fields), default=0.0)


class FieldComparison:
    """Takes in pairs of messages of one topic, and says how their fields differ."""

    def __init__(self, kind: str, rename: Renaming, tolerance: Tolerance) -> None:
        self._kind, self._rename, self._tolerance = kind, rename, tolerance
        self._numbers: dict[str, NumberDifferences] = {}
        self._exact: dict[str, Exact] = defaultdict(Exact)
        self._order: dict[str, None] = {}
        self._only: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._first_only: dict[str, int] = {}
        self._layouts: dict[int, list[JointStateLayout]] = defaultdict(list)

    def add(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Compare all pairs."""
        block: list[tuple[bytes, bytes]] = []
        begin = 0
        for pair in pairs:
            block.append(pair)
            if len(block) == _BLOCK:
                self._compare(block, begin)
                begin += len(block)
                block = []
        self._compare(block, begin)

    def _compare(self, block: list[tuple[bytes, bytes]], begin: int) -> None:
        """``begin`` is the number of the first pair."""
        alike: dict[tuple[JointStateLayout, JointStateLayout], list[int]] = defaultdict(list)
        others: list[int] = []
        for k, (a, b) in enumerate(block):
            layouts = (self._layout(a), self._layout(b)) if self._kind == JOINT_STATE else (None, None)
            if layouts[0] is None or layouts[1] is None:
                others.append(k)
            else:
                alike[layouts].append(k)  # type: ignore[index]
        for (layout_a, layout_b), places in alike.items():
            self._joint_states(layout_a, layout_b, [block[k] for k in places], begin + np.array(places, dtype=np.int64))
        self._messages([(begin + k, *block[k]) for k in others])

    def _layout(self, data: bytes) -> JointStateLayout | None:
        known = self._layouts[len(data)]
        for layout in known:
            if layout.fits(data):
                return layout
        found = joint_state_layout(data, self._rename)
        if found is not None:
            known.insert(0, found)
            del known[16:]  # names that change all the time are not remembered for ever
        return found

    def _joint_states(
        self, layout_a: JointStateLayout, layout_b: JointStateLayout, pairs: list[tuple[bytes, bytes]], at: IntArray
    ) -> None:
        for pair in at.tolist():
            self._add_exact("header.frame_id", layout_a.frame_id, layout_b.frame_id, pair)
        a, b = layout_a.numbers([pair[0] for pair in pairs]), layout_b.numbers([pair[1] for pair in pairs])
        rows_a = {(name, field): row for field in a for name, row in zip(layout_a.joint_names, a[field], strict=True)}
        rows_b = {(name, field): row for field in b for name, row in zip(layout_b.joint_names, b[field], strict=True)}
        for key in rows_a | rows_b:
            name = " ".join(key)
            if key in rows_a and key in rows_b:
                self._add_numbers(name, rows_a[key], rows_b[key], at)
            else:
                self._add_only(name, key in rows_b, int(at[0]), len(at))

    def _messages(self, pairs: list[tuple[int, bytes, bytes]]) -> None:
        rows: dict[str, list[tuple[int, Array, Array]]] = defaultdict(list)
        for pair, raw_a, raw_b in pairs:
            a = contents(raw_a, self._kind, self._rename)
            b = a if raw_a == raw_b else contents(raw_b, self._kind, self._rename)
            self._fields_of_one(a, b, pair, rows)
        for name, parts in rows.items():
            lengths = [len(values) for _, values, _ in parts]
            self._add_numbers(
                name,
                np.concatenate([values for _, values, _ in parts]),
                np.concatenate([values for _, _, values in parts]),
                np.repeat(np.array([pair for pair, _, _ in parts], dtype=np.int64), lengths),
                np.concatenate([np.arange(length) if length > 1 else np.full(length, -1) for length in lengths]),
            )

    def _fields_of_one(
        self, a: Contents, b: Contents, pair: int, rows: dict[str, list[tuple[int, Array, Array]]]
    ) -> None:
        for name in a.numbers | b.numbers:
            both = name in a.numbers and name in b.numbers
            if both and len(a.numbers[name]) == len(b.numbers[name]):
                rows[name].append((pair, a.numbers[name], b.numbers[name]))
            elif both:
                self._add_exact(f"length of {name}", len(a.numbers[name]), len(b.numbers[name]), pair)
            else:
                self._add_only(name, name in b.numbers, pair, 1)
        for name in a.exact | b.exact:
            if name in a.exact and name in b.exact:
                self._add_exact(name, a.exact[name], b.exact[name], pair)
            else:
                self._add_only(name, name in b.exact, pair, 1)

    def _add_numbers(self, name: str, a: Array, b: Array, at: IntArray, elements: IntArray | None = None) -> None:
        self._order.setdefault(name)
        if name not in self._numbers:
            self._numbers[name] = NumberDifferences(self._tolerance)
        self._numbers[name].add(a, b, at, elements)

    def _add_exact(self, name: str, a: object, b: object, pair: int) -> None:
        self._order.setdefault(name)
        self._exact[name].add(a, b, pair)

    def _add_only(self, name: str, in_b: bool, pair: int, count: int) -> None:
        self._order.setdefault(name)
        self._only[name][in_b] += count
        self._first_only.setdefault(name, pair)

    def result(self, topic: str, pairs: Alignment, places: Places, common: bool = False) -> TopicDifference:
        """Return what differs; ``places`` tells where, and ``common`` whether only pairs matter."""
        return TopicDifference(
            topic,
            self._kind,
            places.stamped,
            len(pairs.a),
            len(pairs.only_a),
            len(pairs.only_b),
            places.first_only_a(),
            places.first_only_b(),
            tuple(self._field(name, places) for name in self._order),
            common,
        )

    def _field(self, name: str, places: Places) -> FieldDifference:
        only_a, only_b = self._only.get(name, (0, 0))
        found = self._numbers.get(name)
        if found is not None:
            firsts = [at for at in (found.first_at, (self._first_only.get(name, -1), -1)) if at and at[0] >= 0]
            return FieldDifference(
                name,
                found.count,
                found.beyond,
                only_a,
                only_b,
                found.largest,
                found.rms,
                places.pair(found.largest_at),
                places.pair(min(firsts, default=None)),
                found.a,
                found.b,
            )
        exact = self._exact.get(name, Exact())
        first = exact.first_at
        if first is None and name in self._first_only:
            first = self._first_only[name], -1
        at = places.pair(first)
        return FieldDifference(name, exact.count, exact.beyond, only_a, only_b, None, None, at, at, exact.a, exact.b)


class Places:
    """Says of pairs of messages, and of messages without a partner, when they were."""

    def __init__(self, pairs: Alignment, times: tuple[IntArray, IntArray], stamped: bool, starts: tuple[int, int]):
        """``times`` (ns) are those of all messages of A and B, ``starts`` those from which seconds count."""
        self._pairs, self._times, self.stamped, self._starts = pairs, times, stamped, starts

    def pair(self, at: tuple[int, int] | None) -> Place | None:
        """Where a pair and an element of its messages (-1: none) are."""
        if at is None:
            return None
        pair, element = at
        return self._place(int(self._pairs.a[pair]), int(self._pairs.b[pair]), None if element < 0 else element)

    def first_only_a(self) -> Place | None:
        """Where the first message without a partner is in A."""
        return self._place(int(self._pairs.only_a[0]), None, None) if len(self._pairs.only_a) else None

    def first_only_b(self) -> Place | None:
        """Where the first message without a partner is in B."""
        return self._place(None, int(self._pairs.only_b[0]), None) if len(self._pairs.only_b) else None

    def _place(self, a: int | None, b: int | None, element: int | None) -> Place:
        time = int(self._times[1][b] if a is None and b is not None else self._times[0][a])
        seconds = (time - self._starts[a is None]) * 1e-9
        unset = self.stamped and time == 0  # as in trajectories that begin when they come
        return Place(time if self.stamped else None, 0.0 if unset else seconds, a, b, element)
