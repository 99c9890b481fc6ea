"""Which message of one recording answers to which of another, and those pairs as a stream."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.bags.storage import Message
from robot_dynamics_ros.kernels.types import IntArray
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER


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
