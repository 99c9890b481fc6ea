"""How much the numbers of two recordings differ, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.kernels.types import Array, IntArray


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


class Numbers:
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
