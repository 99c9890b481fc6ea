"""Kinds of node parameters: types, bounds and checks.

A value comes as ROS or a YAML file gives it: bool, int, float, str, a list, or None for no value. ``check`` of each
kind raises RobotDynamicsError, with the parameter, the value and the cure, for a value that is not allowed, None
included unless a list may be empty. ``allowed`` returns a phrase to follow "Cure: set".
"""

from __future__ import annotations

import math
import re
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Generic, Literal, TypeGuard, TypeVar

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError, did_you_mean


@dataclass(frozen=True)
class Bounds:
    """Interval of allowed numbers from ``least`` to ``most``; NaN is never allowed.

    Attributes
    ----------
    least, most
        Ends of the interval, infinite if there is none.
    above
        True if ``least`` itself is excluded.
    infinite
        True if infinity is allowed, provided that ``most`` is infinite.
    or_zero
        True if zero is allowed although it is below ``least``.
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
        inside = self.least < value <= self.most or (
            value == self.least and not self.above
        )
        return inside and (self.infinite or math.isfinite(value))

    def phrase(self, noun: str) -> str:
        """Describe the interval as ``noun`` with its bounds, for example "a number from 0 to 1" for "a number"."""
        if not math.isinf(self.most):
            noun += (
                f" above {self.least:g}, at most"
                if self.above
                else f" from {self.least:g} to"
            )
            noun += f" {self.most:g}"
        elif not math.isinf(self.least):
            noun += (
                f" above {self.least:g}"
                if self.above
                else f" of at least {self.least:g}"
            )
        noun += " or .inf" if self.infinite else ""
        return f"0, or {noun}" if self.or_zero else noun


ANY = Bounds()
NOT_NEGATIVE = Bounds(0.0)
POSITIVE = Bounds(0.0, above=True)
NOT_NEGATIVE_OR_INFINITE = Bounds(0.0, infinite=True)
POSITIVE_OR_INFINITE = Bounds(0.0, above=True, infinite=True)
RATE = Bounds(1e-3, 1e5)
"""Rates (Hz) that a timer can keep."""
RATE_OR_ZERO = Bounds(1e-3, 1e5, or_zero=True)


_SWITCHES = {True: "on", False: "off"}
_TOPIC = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")

T = TypeVar("T")

Values = Callable[[str], object]
"""Lookup of a parameter value by name: current values of a node, candidates of a change, or values of a file."""


def overridden(values: Values, overrides: Mapping[str, object]) -> Values:
    """Return a lookup that prefers ``overrides``, values by name, to ``values``; those that are None are ignored."""
    given = {name: value for name, value in overrides.items() if value is not None}
    return lambda name: given[name] if name in given else values(name)


When = Literal["start", "configure", "run"]

PER_JOINT = "one for each joint, or one for all"


@dataclass(frozen=True, eq=False)
class Parameter(ABC, Generic[T]):
    """Declaration of a node parameter.

    Attributes
    ----------
    name
        Name of the parameter.
    default
        Default value.
    description
        Description that ROS tools show, without a full stop at its end.
    when
        "start": read-only. "configure": read when the node is configured or receives its robot. "run": can be
        changed at any time.
    """

    name: str
    default: T
    description: str
    _: KW_ONLY
    when: When = "configure"

    def read(self, values: Values) -> T:
        """Return the value that ``values`` has under the parameter's name, checked and converted by ``check``.

        ``values`` is called with the name. Raises RobotDynamicsError for a value that is not allowed.
        """
        return self.check(values(self.name))

    @abstractmethod
    def check(self, value: object) -> T:
        """Return ``value`` converted to the parameter's type.

        Raises RobotDynamicsError for a value that is not allowed, None included unless a list may be empty. The message
        contains the parameter, the value and the cure.
        """

    @abstractmethod
    def allowed(self) -> str:
        """Describe the allowed values, to follow "Cure: set"."""

    def refuse(
        self, value: object, where: str = "", hint: str = ""
    ) -> RobotDynamicsError:
        """Return, without raising it, the error for a value that is not allowed.

        Parameters
        ----------
        value
            The value. None is shown as "no value": `[]` in a file, or a deleted parameter.
        where
            Position of the value in a list, for the message.
        hint
            Addition to the cure.
        """
        shown = "no value" if value is None else repr(value)
        return RobotDynamicsError(
            f"parameter {self.name}: {shown}{where} is not allowed. Cure: set {self.allowed()}{hint}"
        )


@dataclass(frozen=True, eq=False)
class Text(Parameter[str]):
    """Text parameter with the attributes of ``Parameter``, optionally restricted to ``choices``; empty: any text."""

    choices: Collection[str] = ()

    def check(self, value: object) -> str:
        """Return the text; RobotDynamicsError for other types and, if there are ``choices``, for other texts.

        A boolean is on or off if that is one of the choices, because YAML 1.1 and ROS read these words as booleans.
        """
        word = _SWITCHES[value] if isinstance(value, bool) and self.choices else value
        if not isinstance(word, str) or (self.choices and word not in self.choices):
            raise self.refuse(value, hint=did_you_mean(word, self.choices))
        return word

    def allowed(self) -> str:
        """Describe the choices: "one of ..." or, without choices, a text."""
        return (
            f"one of {', '.join(self.choices)}" if self.choices else "a text, in quotes"
        )


class Flag(Parameter[bool]):
    """Boolean parameter; its attributes are name, default, description and when, as in ``Parameter``."""

    def check(self, value: object) -> bool:
        """Return the boolean; RobotDynamicsError for other types, numbers included."""
        if not isinstance(value, bool):
            raise self.refuse(value)
        return value

    def allowed(self) -> str:
        """Return "true or false"."""
        return "true or false"


@dataclass(frozen=True, eq=False)
class Number(Parameter[float]):
    """Floating-point parameter in the bounds ``within``. Integers are converted."""

    within: Bounds = ANY

    def check(self, value: object) -> float:
        """Return the number as a float; RobotDynamicsError for other types and for numbers out of bounds."""
        if not is_number(value) or float(value) not in self.within:
            raise self.refuse(value)
        return float(value)

    def allowed(self) -> str:
        """Describe the bounds."""
        return self.within.phrase("a number")


@dataclass(frozen=True, eq=False)
class WholeNumber(Parameter[int]):
    """Integer parameter from ``least`` to ``most``, both included."""

    least: int
    most: int

    def check(self, value: object) -> int:
        """Return the integer; RobotDynamicsError for other types, floats included, and for numbers out of range."""
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not self.least <= value <= self.most
        ):
            raise self.refuse(value)
        return value

    def allowed(self) -> str:
        """Describe the bounds."""
        return f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, eq=False)
class Numbers(Parameter[Sequence[float]]):
    """List of floating-point numbers within bounds. A single number is a list of one element.

    An empty list is allowed if the default is empty, or with ``may_be_empty``.

    Attributes
    ----------
    within
        Bounds of each number.
    how_many
        Required length in words, for messages.
    count
        Required length, or None if it depends on the robot.
    may_be_empty
        True if an empty list is allowed.
    """

    within: Bounds = ANY
    how_many: str = PER_JOINT
    count: int | None = None
    may_be_empty: bool = False

    def check(self, value: object) -> tuple[float, ...]:
        """Return the numbers as a tuple of floats, which is empty for None and [].

        Raises RobotDynamicsError for other types, numbers out of bounds, a length other than ``count``, and no numbers
        unless that is allowed.
        """
        if isinstance(value, str):  # `ros2 param set` sends [1, 2.5] as text
            raise self.refuse(
                value,
                hint="; write all numbers with decimal points or none, as in [1.0, 2.5]",
            )
        items = _items(value)
        for k, item in enumerate(items, start=1):
            if not is_number(item) or float(item) not in self.within:
                raise self.refuse(
                    item,
                    where=f" (number {k} of {len(items)})" if len(items) > 1 else "",
                )
        numbers = tuple(float(item) for item in items if is_number(item))
        allowed = self._may_be_empty()
        if numbers:
            allowed = self.count in (None, len(numbers))
        if not allowed:
            raise self.refuse(list(numbers))
        return numbers

    def check_size(self, numbers: Sequence[float], names: Sequence[str]) -> None:
        """Raise RobotDynamicsError unless ``numbers`` are empty, one for all ``names``, or one for each of them."""
        if len(numbers) not in (0, 1, len(names)):
            raise RobotDynamicsError(
                f"parameter {self.name}: {len(numbers)} numbers. "
                f"Cure: give 1 number, or {len(names)}, one for each of {', '.join(names)}"
            )

    def allowed(self) -> str:
        """Describe bounds and length, and [] if the list may be empty."""
        return f"{self.within.phrase('numbers')}, {self.how_many}{', or []' if self._may_be_empty() else ''}"

    def _may_be_empty(self) -> bool:
        return self.may_be_empty or len(self.default) == 0


class Names(Parameter[Sequence[str]]):
    """List of names, which may be empty; attributes: name, default, description and when, as in ``Parameter``."""

    def check(self, value: object) -> tuple[str, ...]:
        """Return the names as a tuple, without empty ones; RobotDynamicsError for a text and for other types.

        None and [] give an empty tuple.
        """
        items = _items(value)
        if isinstance(value, str) or not all(isinstance(item, str) for item in items):
            raise self.refuse(value)
        return tuple(str(item) for item in items if item)

    def allowed(self) -> str:
        """Describe a list of names."""
        return "a list of names"


class NamedNumbers(Parameter[Any]):
    """List of texts name=number, which may be empty; attributes: name, default, description and when."""

    def check(self, value: object) -> dict[str, float]:
        """Return the numbers by name; RobotDynamicsError for other texts and types, and numbers that are not finite.

        None and [] give no numbers. A mapping, as in ~/configuration, is accepted, too.
        """
        items: list[tuple[Any, Any]] = (
            list(value.items())
            if isinstance(value, Mapping)
            else [_pair(item) for item in _items(value)]
        )
        if not all(
            name and is_number(number) and math.isfinite(number)
            for name, number in items
        ):
            raise self.refuse(value)
        return {name: float(number) for name, number in items}

    def allowed(self) -> str:
        """Describe a list of such texts."""
        return "a list of texts name=number, such as finger_joint=0.02"


class TopicNames(Names):
    """List of full names of topics, which may be empty; attributes as in ``Names``."""

    def check(self, value: object) -> tuple[str, ...]:
        """Return the names as a tuple; RobotDynamicsError as in ``Names``, and for other than full names.

        A full name has a slash before each part, which consists of letters, digits and underscores.
        """
        names = super().check(value)
        if not all(_TOPIC.fullmatch(name) for name in names):
            raise self.refuse(value)
        return names

    def allowed(self) -> str:
        """Describe a list of full names of topics."""
        return "a list of full names of topics, such as /cell/emergency_stop"


@dataclass(frozen=True, eq=False)
class NameSets(Names):
    """List of names that is one of ``choices``, in any order; other attributes as in ``Names``."""

    choices: Sequence[tuple[str, ...]] = ()

    def check(self, value: object) -> tuple[str, ...]:
        """Return the choice with these names; RobotDynamicsError as in ``Names``, and for names of no choice."""
        names = super().check(value)
        for choice in self.choices:
            if sorted(names) == sorted(choice):
                return choice
        raise self.refuse(value)

    def allowed(self) -> str:
        """Describe the choices as lists."""
        return " or ".join(f"[{', '.join(choice)}]" for choice in self.choices)


def setting(
    kind: Callable[..., Parameter[Any]],
    default: Any,
    description: str,
    *arguments: Any,
    name: str = "",
    when: When = "run",
    **options: Any,
) -> Any:
    """Return a dataclass field for a parameter; ``metadata["declare"]`` returns the parameter for the field's name.

    ``kind`` is the class of the parameter. The other arguments are passed to it, ``name`` only if it differs from the
    field's name. A list as the ``default`` is a tuple in the dataclass.
    """

    def declare(field_name: str) -> Parameter[Any]:
        return kind(
            name or field_name, default, description, *arguments, when=when, **options
        )

    return field(
        default=tuple(default) if isinstance(default, list) else default,
        metadata={"declare": declare},
    )


flag, number, numbers, text = (
    partial(setting, kind) for kind in (Flag, Number, Numbers, Text)
)


def is_number(value: object) -> TypeGuard[int | float]:
    """Return True for a float, or for an integer that is not too large for a float."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)


def _items(value: object) -> Sequence[object]:
    """Return the elements of a list, or a single value as a list; None (`[]` in a parameter file) is empty."""
    if value is None:
        return ()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return value if isinstance(value, list | tuple | array) else (value,)


def _pair(item: object) -> tuple[str, object]:
    """Return name and number of a text name=number; the number is None if it is none."""
    name, _, number = item.rpartition("=") if isinstance(item, str) else ("", "", "")
    try:
        return name, float(number)
    except ValueError:
        return name, None
