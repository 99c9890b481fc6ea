"""The numbers that a parameter may be."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Generic, Literal, TypeGuard, TypeVar

from robot_dynamics_ros.errors import RobotDynamicsError


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


T = TypeVar("T")

Values = Callable[[str], object]
"""The value of the parameter of a name, as rclpy gives it: a node's present values, candidates, or a file's."""

When = Literal["start", "configure", "run"]

PER_JOINT = "one for each joint, or one for all"


@dataclass(frozen=True, eq=False)
class Parameter(ABC, Generic[T]):
    """A parameter of a node.

    Attributes
    ----------
    name, default, description
        As ROS tools show them; the description has no full stop at its end.
    when
        start: read-only, it matters only when the process starts. configure: read when the node is configured, or
        learns its robot. run: may change at any time.
    """

    name: str
    default: T
    description: str
    _: KW_ONLY
    when: When = "configure"

    def read(self, values: Values) -> T:
        """Return its value, converted; RobotDynamicsError names the parameter, the value and the cure."""
        return self.check(values(self.name))

    @abstractmethod
    def check(self, value: object) -> T:
        """Return ``value``, converted; RobotDynamicsError names the parameter, the value and the cure."""

    @abstractmethod
    def allowed(self) -> str:
        """Return what it may be, in words."""

    def constraints(self) -> str:
        """Return what type and range do not say."""
        return ""

    def refuse(self, value: object, where: str = "", hint: str = "") -> RobotDynamicsError:
        """Return the error for a value that is not allowed; None is a parameter file's `[]`, or was deleted."""
        shown = "no value" if value is None else repr(value)
        return RobotDynamicsError(
            f"parameter {self.name}: {shown}{where} is not allowed. Cure: give {self.allowed()}{hint}"
        )


@dataclass(frozen=True, eq=False)
class Text(Parameter[str]):
    """A text, or one of ``choices``."""

    choices: tuple[str, ...] = ()

    def check(self, value: object) -> str:
        """Return the text."""
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            raise self.refuse(value)
        return value

    def allowed(self) -> str:
        """Return the choices, where there are any."""
        return f"one of {', '.join(self.choices)}" if self.choices else "a text, in quotes"

    def constraints(self) -> str:
        """Return the choices."""
        return self.allowed() if self.choices else ""


@dataclass(frozen=True, eq=False)
class Flag(Parameter[bool]):
    """True or false."""

    def check(self, value: object) -> bool:
        """Return the truth value."""
        if not isinstance(value, bool):
            raise self.refuse(value)
        return value

    def allowed(self) -> str:
        """Return both."""
        return "true or false"


@dataclass(frozen=True, eq=False)
class Number(Parameter[float]):
    """A number within bounds."""

    within: Bounds = ANY

    def check(self, value: object) -> float:
        """Return the number; integers count."""
        if not _is_number(value) or float(value) not in self.within:
            raise self.refuse(value)
        return float(value)

    def allowed(self) -> str:
        """Return the bounds."""
        return self.within.phrase("a number")

    def constraints(self) -> str:
        """Return what the range does not say."""
        return "" if self.within.is_only_a_range else self.allowed()


@dataclass(frozen=True, eq=False)
class WholeNumber(Parameter[int]):
    """A whole number from ``least`` to ``most``."""

    least: int
    most: int

    def check(self, value: object) -> int:
        """Return the number."""
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise self.refuse(value)
        return value

    def allowed(self) -> str:
        """Return the range."""
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, eq=False)
class Numbers(Parameter[Sequence[float]]):
    """A list of numbers, each within bounds; a single number counts as a list of one.

    Only where the default is empty may it be empty. ``how_many`` says in words how many, and ``count`` checks it.
    """

    within: Bounds = ANY
    how_many: str = PER_JOINT
    count: int | None = None

    def check(self, value: object) -> tuple[float, ...]:
        """Return the numbers; integers count, and None as no number."""
        if isinstance(value, str):
            # What `ros2 param set` makes of [1, 2.5].
            raise self.refuse(value, hint="; all of them with decimal points, or none, as [1.0, 2.5]")
        items = _items(value)
        for k, item in enumerate(items, start=1):
            if not _is_number(item) or float(item) not in self.within:
                raise self.refuse(item, where=f" (number {k} of {len(items)})" if len(items) > 1 else "")
        numbers = tuple(float(item) for item in items if _is_number(item))
        expected = self.count is None or len(numbers) == self.count
        if not (expected if numbers else len(self.default) == 0):
            raise self.refuse(list(numbers))
        return numbers

    def allowed(self) -> str:
        """Return bounds and number."""
        return f"{self.within.phrase('numbers')}, {self.how_many}{', or []' if len(self.default) == 0 else ''}"

    def constraints(self) -> str:
        """Return all of it: ROS has no ranges for lists."""
        return self.allowed()


@dataclass(frozen=True, eq=False)
class Names(Parameter[Sequence[str]]):
    """A list of names, which may be empty; an empty name is none."""

    def check(self, value: object) -> tuple[str, ...]:
        """Return the names; none of them is empty, as [""] is how some write an empty list."""
        items = _items(value)
        if isinstance(value, str) or not all(isinstance(item, str) for item in items):
            raise self.refuse(value)
        return tuple(str(item) for item in items if item)

    def allowed(self) -> str:
        """Return what it may be."""
        return "a list of names"


def _is_number(value: object) -> TypeGuard[int | float]:
    """Return True for a float, or an integer that float can hold."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)


def _items(value: object) -> Sequence[object]:
    """Return the elements; a parameter file's `[]` is None."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple | array) else (value,)
