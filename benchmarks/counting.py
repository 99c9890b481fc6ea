"""Numbers that count the arithmetic operations on them."""

from __future__ import annotations

import math
from collections import Counter


class Counted(float):
    """Float whose operations are counted in a tally, by the keys ``+ - * /``, ``sin``, ``cos``, ``sqrt``.

    Every operation counts, also with the operands 0 and 1; a negation does not.
    """

    __slots__ = ("tally",)
    tally: Counter[str]

    def __new__(cls, value: float, tally: Counter[str]) -> Counted:
        """Return a number that counts in ``tally``."""
        number = super().__new__(cls, value)
        number.tally = tally
        return number

    def _done(self, operation: str, result: float) -> Counted:
        self.tally[operation] += 1
        return Counted(result, self.tally)

    def __neg__(self) -> Counted:
        return Counted(-float(self), self.tally)

    def __add__(self, other: float) -> Counted:
        return self._done("+", float(self) + float(other))

    def __sub__(self, other: float) -> Counted:
        return self._done("-", float(self) - float(other))

    def __rsub__(self, other: float) -> Counted:
        return self._done("-", float(other) - float(self))

    def __mul__(self, other: float) -> Counted:
        return self._done("*", float(self) * float(other))

    def __truediv__(self, other: float) -> Counted:
        return self._done("/", float(self) / float(other))

    def __rtruediv__(self, other: float) -> Counted:
        return self._done("/", float(other) / float(self))

    __radd__ = __add__
    __rmul__ = __mul__

    def sin(self) -> Counted:
        """Sine."""
        return self._done("sin", math.sin(self))

    def cos(self) -> Counted:
        """Cosine."""
        return self._done("cos", math.cos(self))

    def sqrt(self) -> Counted:
        """Return the square root."""
        return self._done("sqrt", math.sqrt(self))
