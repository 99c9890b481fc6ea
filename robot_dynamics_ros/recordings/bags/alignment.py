"""Alignment of two recordings, A and B: pairs of corresponding messages, and their times.

Times and stamps are in ns since 1970, or on the simulated clock of the stamps. Indices count all messages of one topic
in one recording, from 0 and in order of arrival.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import numpy as np

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.progress import progress
from robot_dynamics_ros.dynamics.kernels.types import IntArray
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.recordings.bags.storage import Message, has_stamp
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY
from robot_dynamics_ros.recordings.messages.drive_commands import (
    DRIVE_COMMANDS,
    drive_stamp,
)
from robot_dynamics_ros.recordings.messages.joint_state import BEHIND_STAMP, stamp_of
from robot_dynamics_ros.recordings.thresholds import LEAST_FOR_SHIFT, SHIFT_SAMPLES


@dataclass(frozen=True)
class Place:
    """Location of a message: ``stamp``, ``seconds``, and its indices ``a`` and ``b`` in A and B.

    ``stamp`` is header.stamp (ns), None without a header. ``seconds`` (s) count from the first message of all compared
    topics; 0 if the stamp is not set (zero). ``a`` or ``b`` is None if the message is missing there. ``element`` is the
    index in a long array, or of the point of a trajectory; None for other fields.
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


class MessageTimes(NamedTuple):
    """Times (ns; stamp, else arrival) of a topic's m messages, CRC-32 of the bytes after their stamps: (m,) each."""

    times: IntArray
    checksums: IntArray


def stamp_reader(topic: str, kind: str) -> Callable[[bytes], int | None] | None:
    """Return the function that reads stamps (ns) of messages of the type ``kind``; None if they have none.

    They are those of headers, and of drive_commands. The function returns None for a message without one.
    """
    if has_stamp(kind):
        return stamp_of
    name = topic.rpartition("/")[2]
    if (name, kind) == (DRIVE_COMMANDS, FLOAT64_MULTI_ARRAY):
        return drive_stamp
    return None


def message_times(
    reader: BagReader, topics: Collection[str]
) -> dict[str, MessageTimes]:
    """Return times and checksums of each topic's messages in a bag: stamps by ``stamp_reader``, else times of arrival.

    The stamp of a message that is too short for it is 0, as an unset one. Raises KeyError for a missing topic, and
    BagError if reading stops.
    """
    times, checksums = ({topic: array("q") for topic in topics} for _ in range(2))
    stamps = {topic: stamp_reader(topic, reader.topics[topic]) for topic in topics}
    for message in progress(reader.messages(topics), "aligning", reader.count(topics)):
        read = stamps[message.topic]
        time = message.received if read is None else read(message.data) or 0
        times[message.topic].append(time)
        checksums[message.topic].append(crc32(message.data[BEHIND_STAMP:]))
    return {
        topic: MessageTimes(
            np.array(values, dtype=np.int64), np.array(checksums[topic], dtype=np.int64)
        )
        for topic, values in times.items()
    }


def time_shift(a: MessageTimes, b: MessageTimes, known: int = 0) -> int:
    """Return the constant time (ns) by which the stamps of B are later than those of A; 0 if there is none.

    ``a`` and ``b`` are the times of one topic in A and B, ``known`` is the shift (ns) of another topic to try, or 0. A
    shift is accepted if it pairs more messages than equal stamps do, at least as many with equal content, and at least
    half of those of the shorter recording. Recordings that only begin at different times have no shift.
    """
    same = align(a.times, b.times, stamped=True)
    shortest = min(len(a.times), len(b.times))
    candidates = [known]
    if not known:
        if shortest < LEAST_FOR_SHIFT:
            return 0
        candidates = [int(b.times[k]) - int(a.times[k]) for k in (0, -1)]
        if len(a.times) != len(b.times) or (b.times - a.times != candidates[0]).any():
            if 2 * len(same.a) > shortest:
                return 0
            samples = a.times[
                np.linspace(0, len(a.times) - 1, SHIFT_SAMPLES).astype(np.int64)
            ]
            shifts, counts = np.unique(b.times - samples[:, None], return_counts=True)
            candidates.append(int(shifts[np.argmax(counts)]))

    def pairs_and_equal(shift: int) -> tuple[int, int]:
        pairs = align(a.times, b.times, stamped=True, shift=shift)
        return len(pairs.a), int((a.checksums[pairs.a] == b.checksums[pairs.b]).sum())

    (pairs, equal), _, shift = max(
        (pairs_and_equal(shift), -abs(shift), shift) for shift in candidates
    )
    same_pairs, same_equal = pairs_and_equal(0)
    return (
        shift
        if pairs > same_pairs and 2 * pairs >= shortest and equal >= same_equal
        else 0
    )


@dataclass(frozen=True, eq=False)
class Alignment:
    """Pairs of messages of one topic: message ``a[k]`` of A and ``b[k]`` of B, in the order of A.

    ``only_a`` and ``only_b`` are the indices of the messages without a partner. ``times`` are the times (ns) of all
    messages of A and of B, as recorded: stamps, by which they are paired, if ``stamped`` is True; else times of
    arrival, and the order pairs them. ``starts`` are the times (ns) in A and in B from which the seconds of a Place
    count. The stamps of B are ``shift`` (ns) later than those of their partners in A.
    """

    a: IntArray
    b: IntArray
    only_a: IntArray
    only_b: IntArray
    times: tuple[IntArray, IntArray]
    stamped: bool
    starts: tuple[int, int]
    shift: int = 0

    def pair(self, k: int, element: int | None = None) -> Place:
        """Return the place of pair ``k`` (index of ``self.a``), and of ``element`` in its messages unless None."""
        return self._place(int(self.a[k]), int(self.b[k]), element)

    def first_only(self) -> tuple[Place | None, Place | None]:
        """Return the places of the first message of A and of B without a partner; None where all have one."""
        first_a = self._place(int(self.only_a[0]), None) if len(self.only_a) else None
        return first_a, self._place(None, int(self.only_b[0])) if len(
            self.only_b
        ) else None

    def _place(self, a: int | None, b: int | None, element: int | None = None) -> Place:
        time = int(self.times[1][b] if a is None else self.times[0][a])
        seconds = (time - self.starts[a is None]) * 1e-9
        # the stamp of trajectories that start on arrival
        unset = self.stamped and time == 0
        return Place(
            time if self.stamped else None, 0.0 if unset else seconds, a, b, element
        )


def align(
    a: IntArray,
    b: IntArray,
    stamped: bool,
    starts: tuple[int, int] = (0, 0),
    shift: int = 0,
) -> Alignment:
    """Pair messages by equal stamps (ns), repeated stamps in their order; by their order if ``stamped`` is False.

    ``a`` and ``b`` are the times (ns) of all messages of A and B. ``starts`` are the times (ns) in A and in B from
    which the seconds of a Place count. The stamps of B are ``shift`` (ns) later than those of A.
    """
    if stamped:
        codes = (
            np.unique(np.concatenate([a + shift, b]), return_inverse=True)[1]
            .reshape(-1)
            .astype(np.int64)
        )
        code_a = codes[: len(a)]
        code_b = codes[len(a) :]
        repeat_a = _repeats(code_a)
        repeat_b = _repeats(code_b)
        width = 1 + max(repeat_a.max(initial=0), repeat_b.max(initial=0))
        key_a = code_a * width + repeat_a
        key_b = code_b * width + repeat_b
    else:
        key_a = np.arange(len(a))
        key_b = np.arange(len(b))
    _, in_a, in_b = np.intersect1d(
        key_a, key_b, assume_unique=True, return_indices=True
    )
    order = np.argsort(in_a)
    in_a = in_a[order]
    in_b = in_b[order]
    only_a = np.delete(np.arange(len(a)), in_a)
    only_b = np.delete(np.arange(len(b)), in_b)
    return Alignment(in_a, in_b, only_a, only_b, (a, b), stamped, starts, shift)


def _repeats(codes: IntArray) -> IntArray:
    """Return for each code the number of equal codes before it."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.searchsorted(ordered, ordered)
    repeats = np.empty(len(codes), dtype=np.int64)
    repeats[order] = np.arange(len(codes)) - starts
    return repeats


def paired(
    a: Iterable[Message], b: Iterable[Message], pairs: Alignment
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes of the messages of A and B for each of ``pairs``, from all messages ``a`` and ``b`` of the topic.

    Both streams are read once; only messages out of order are kept in memory. Raises BagError if a damaged recording
    has fewer messages than when its times were read.
    """
    has_partner = np.zeros(int(pairs.b.max(initial=-1)) + 1, dtype=bool)
    has_partner[pairs.b] = True
    waiting: dict[int, bytes] = {}
    rest_a = enumerate(a)
    rest_b = enumerate(b)
    try:
        for i, k in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True):
            data_a = next(message.data for number, message in rest_a if number == i)
            while k not in waiting:
                number, message = next(rest_b)
                if number < len(has_partner) and has_partner[number]:
                    waiting[number] = message.data
            yield data_a, waiting.pop(k)
    except StopIteration:
        raise BagError(
            "a recording is damaged, or changed during the comparison. Cure: copy it again"
        ) from None
