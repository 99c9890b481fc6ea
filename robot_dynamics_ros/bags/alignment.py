"""Alignment of two recordings: pairs of messages that belong together, and when they were."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.bags.storage import Message, has_stamp
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import IntArray
from robot_dynamics_ros.messages.joint_state import stamp_of
from robot_dynamics_ros.progress import progress


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

    def __str__(self) -> str:
        if self.a is None or self.b is None or self.a == self.b:
            number = f"message {self.b if self.a is None else self.a}"
        else:
            number = f"message {self.a} of A, {self.b} of B"
        parts = [f"{self.seconds:.6f} s", number]
        if self.element is not None:
            parts.append(f"element {self.element}")
        if self.stamp is not None:
            seconds, nanoseconds = divmod(self.stamp, 1_000_000_000)
            parts.append(f"stamp {seconds}.{nanoseconds:09d}")
        return ", ".join(parts)


def message_times(reader: BagReader, topics: Collection[str]) -> dict[str, IntArray]:
    """Return the times of all messages of each topic (m,), ns: header.stamp where they have one, else arrival.

    Raises BagError for a message that is too short for its stamp.
    """
    times = {topic: array("q") for topic in topics}
    stamped = {topic for topic in topics if has_stamp(reader.topics[topic])}
    for message in progress(reader.messages(topics), "aligning", reader.count(topics)):
        own = times[message.topic]
        time = stamp_of(message.data) if message.topic in stamped else message.received
        if time is None:
            raise BagError(
                f"{reader.path}: {message.topic}: message {len(own)} of {len(message.data)} bytes has no stamp. "
                "Cure: see what published it"
            )
        own.append(time)
    return {topic: np.array(values, dtype=np.int64) for topic, values in times.items()}


@dataclass(frozen=True, eq=False)
class Alignment:
    """Pairs of messages of one topic: message ``a[k]`` of A and ``b[k]`` of B, in the order of A.

    Attributes
    ----------
    a, b
        The pairs; messages count from 0 on the topic.
    only_a, only_b
        The messages without a partner.
    times
        The times (ns) of all messages of A and of B.
    stamped
        True if these are stamps, by which messages are paired; else times of arrival.
    starts
        The times (ns) in A and in B from which seconds count.
    """

    a: IntArray
    b: IntArray
    only_a: IntArray
    only_b: IntArray
    times: tuple[IntArray, IntArray]
    stamped: bool
    starts: tuple[int, int]

    def pair(self, k: int, element: int | None = None) -> Place:
        """Return the place of pair ``k``, or of an element of its messages."""
        return self._place(int(self.a[k]), int(self.b[k]), element)

    def first_only(self) -> tuple[Place | None, Place | None]:
        """Return the places of the first message without a partner in A, and of that in B."""
        first_a = self._place(int(self.only_a[0]), None) if len(self.only_a) else None
        return first_a, self._place(None, int(self.only_b[0])) if len(self.only_b) else None

    def _place(self, a: int | None, b: int | None, element: int | None = None) -> Place:
        time = int(self.times[1][b] if a is None else self.times[0][a])
        seconds = (time - self.starts[a is None]) * 1e-9
        unset = self.stamped and time == 0  # as in trajectories that begin when they come
        return Place(time if self.stamped else None, 0.0 if unset else seconds, a, b, element)


def align(a: IntArray, b: IntArray, stamped: bool, starts: tuple[int, int] = (0, 0)) -> Alignment:
    """Pair messages of the same stamp, repeated ones in their order; those without stamps by their order alone."""
    if stamped:
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
    only_a, only_b = np.delete(np.arange(len(a)), in_a), np.delete(np.arange(len(b)), in_b)
    return Alignment(in_a, in_b, only_a, only_b, (a, b), stamped, starts)


def _repeats(codes: IntArray) -> IntArray:
    """Return for each code how many equal ones stand before it."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered)
    repeats = np.empty(len(codes), dtype=np.int64)
    repeats[order] = np.arange(len(codes)) - starts
    return repeats


def paired(a: Iterable[Message], b: Iterable[Message], pairs: Alignment) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes of each pair; both streams are read once, and only what is out of order is kept.

    Raises BagError where a damaged recording has fewer messages than when its times were read.
    """
    has_partner = np.zeros(int(pairs.b.max(initial=-1)) + 1, dtype=bool)
    has_partner[pairs.b] = True
    waiting: dict[int, bytes] = {}
    rest_a, rest_b = enumerate(a), enumerate(b)
    try:
        for i, k in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
            data_a = next(message.data for number, message in rest_a if number == i)
            while k not in waiting:
                number, message = next(rest_b)
                if number < len(has_partner) and has_partner[number]:
                    waiting[number] = message.data
            yield data_a, waiting.pop(k)
    except StopIteration:
        raise BagError("a damaged recording changes while it is read. Cure: copy it again") from None
