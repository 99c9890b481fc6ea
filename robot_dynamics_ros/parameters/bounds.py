"""The numbers that a parameter may be."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class Bounds:
    """The numbers from ``least`` to ``most``, never NaN.

    Attributes
    ----------
    above
        Whether ``least`` itself is left out.
    infinite
        Whether infinity is one of them, where ``most`` is.
    or_zero
        Whether zero is one of them, wherever ``least`` is.
    """

    least: float = -math.inf
    most: float = math.inf
    _: KW_ONLY
    above: bool = False
    infinite: bool = False
    or_zero: bool = False

    def __contains__(self, value: float) -> bool:
        if value == 0.0 and self.or_zero:
            return True
        inside = self.least < value <= self.most or (value == self.least and not self.above)
        return inside and (self.infinite or math.isfinite(value))

    def phrase(self, noun: str) -> str:
        """Return "a number from 0 to 1" where ``noun`` is "a number"."""
        if not math.isinf(self.most):
            noun += f" above {self.least:g}, at most" if self.above else f" from {self.least:g} to"
            noun += f" {self.most:g}"
        elif not math.isinf(self.least):
            noun += f" above {self.least:g}" if self.above else f" of at least {self.least:g}"
        noun += " or .inf" if self.infinite else ""
        return f"0, or {noun}" if self.or_zero else noun

    @property
    def is_range(self) -> bool:
        """Whether both ends are finite, so that ROS tools can show a range."""
        return not (math.isinf(self.least) or math.isinf(self.most))

    @property
    def is_only_a_range(self) -> bool:
        """Whether the range says it all."""
        return self.is_range and not (self.above or self.or_zero)


ANY = Bounds()
NOT_NEGATIVE = Bounds(0.0)
POSITIVE = Bounds(0.0, above=True)
NOT_NEGATIVE_OR_INFINITE = Bounds(0.0, infinite=True)
POSITIVE_OR_INFINITE = Bounds(0.0, above=True, infinite=True)
RATE = Bounds(1e-3, 1e5)
"""Rates (Hz) that a timer can keep."""
RATE_OR_ZERO = Bounds(1e-3, 1e5, or_zero=True)
