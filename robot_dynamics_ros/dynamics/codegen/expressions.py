"""Symbolic scalars that record the arithmetic of a kernel as an expression graph.

Known numbers are floats, whose arithmetic Python evaluates and does not record. Other operations are simplified by
rules that keep every finite result bit for bit, except for the sign of a zero: x + 0, x - x, 0 x, 1 x, -1 x and x / 1
are folded. Equal operations are recorded once, regardless of the order of their operands. A negation is not an
operation: it is a flag of the expression, which a sum or a result evaluates. A scalar is an expression or a float.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import NamedTuple, TypeAlias

ADD = "+"
SUBTRACT = "-"
MULTIPLY = "*"
DIVIDE = "/"
GREATER = ">"
SIN = "sin"
COS = "cos"
SQRT = "sqrt"
INPUT = "input"
CONSTANT = "constant"


class Node(NamedTuple):
    """Operation on other nodes, given by their indices in the trace; or an input; or a constant.

    Attributes
    ----------
    operation
        One of the constants INPUT, CONSTANT, ADD, SUBTRACT, MULTIPLY, DIVIDE, GREATER, SIN, COS and SQRT.
    operands
        Indices of the operands in ``Trace.nodes``; empty for inputs and constants.
    array, element
        For an input ``array[element]``: name of the array, and index.
    value
        For a constant: its value, never negative.
    """

    operation: str
    operands: tuple[int, ...] = ()
    array: str = ""
    element: int = -1
    value: float = 0.0


class Trace:
    """Expression graph recorded by one run of a kernel.

    ``left``, ``right`` and other operands are scalars: expressions of this trace, or floats.

    Attributes
    ----------
    nodes
        List of ``Node``: inputs, constants and operations, each after its operands.
    guards
        Indices in ``nodes`` of the comparisons that were assumed to be true, in the order of evaluation.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.guards: list[int] = []
        self._places: dict[Node, int] = {}

    def input(self, array: str, element: int) -> Expression:
        """Return the input ``array[element]``, whose value is known only when the generated code runs.

        ``array`` is the name of an argument of that code, ``element`` an index.
        """
        return self._record(Node(INPUT, (), array, element), False)

    def needed(self, results: Iterable[Scalar]) -> list[int]:
        """Return the ascending indices of the nodes that ``results`` and the guards depend on, including themselves."""
        needed = {
            value.place for value in results if isinstance(value, Expression)
        } | set(self.guards)
        for place in reversed(range(len(self.nodes))):
            if place in needed:
                needed.update(self.nodes[place].operands)
        return sorted(needed)

    def sum(self, left: Scalar, right: Scalar) -> Scalar:
        """Return ``left + right``; at least one is an expression. The other is returned for a float 0."""
        if _is_known(left, 0.0):
            return right
        if _is_known(right, 0.0):
            return left
        a, b = sorted(
            (self._lifted(left), self._lifted(right)), key=attrgetter("place")
        )
        if a.negative == b.negative:
            return self._record(Node(ADD, (a.place, b.place)), a.negative)
        if a.place == b.place:
            return 0.0
        return self._record(Node(SUBTRACT, (a.place, b.place)), a.negative)

    def product(self, left: Scalar, right: Scalar) -> Scalar:
        """Return ``left * right``; at least one is an expression. The result is 0.0 for a float 0."""
        if _is_known(left, 0.0) or _is_known(right, 0.0):
            return 0.0
        a, b = sorted(
            (self._lifted(left), self._lifted(right)), key=attrgetter("place")
        )
        sign = a.negative != b.negative
        for one, other in ((a, b), (b, a)):
            if self.nodes[one.place] == _ONE:
                return Expression(self, other.place, sign)
        return self._record(Node(MULTIPLY, (a.place, b.place)), sign)

    def quotient(self, left: Scalar, right: Scalar) -> Scalar:
        """Return ``left / right``; at least one is an expression. The result is 0.0 if ``left`` is a float 0."""
        if _is_known(left, 0.0):
            return 0.0
        a = self._lifted(left)
        b = self._lifted(right)
        sign = a.negative != b.negative
        if self.nodes[b.place] == _ONE:
            return Expression(self, a.place, sign)
        return self._record(Node(DIVIDE, (a.place, b.place)), sign)

    def function(self, name: str, argument: Expression) -> Expression:
        """Return the function ``name`` (SIN, COS or SQRT) of an expression, in rad for the first two.

        The sine and the cosine of a negated angle are computed from the angle itself.
        """
        if name == SQRT:
            return self._record(Node(name, (self._unsigned(argument),)), False)
        return self._record(
            Node(name, (argument.place,)), name == SIN and argument.negative
        )

    def guard(self, greater: Scalar, smaller: Scalar) -> bool:
        """Assume that ``greater > smaller``, record the comparison in ``guards`` and return True.

        The generated code checks it when it runs.
        """
        operands = (
            self._unsigned(self._lifted(greater)),
            self._unsigned(self._lifted(smaller)),
        )
        self.guards.append(self._record(Node(GREATER, operands), False).place)
        return True

    def _record(self, node: Node, negative: bool) -> Expression:
        place = self._places.setdefault(node, len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(node)
        return Expression(self, place, negative)

    def _lifted(self, value: Scalar) -> Expression:
        if isinstance(value, Expression):
            return value
        return self._record(Node(CONSTANT, value=abs(float(value))), value < 0.0)

    def _unsigned(self, value: Expression) -> int:
        if not value.negative:
            return value.place
        zero = self._lifted(0.0)
        return self._record(Node(SUBTRACT, (zero.place, value.place)), False).place


class Expression:
    """Number that is known only when the generated code runs: a node of a trace, or its negative.

    Operators with expressions and floats give a new expression, or a float if the result is known. ``>`` and ``<`` are
    recorded as guards and give True. Any other comparison, and use as a condition, raises TypeError.

    Parameters
    ----------
    trace, place
        Trace, and index of the node in it.
    negative
        True for the negative of the node.
    """

    __slots__ = ("negative", "place", "trace")
    __array_ufunc__ = None  # NumPy scalars then use the operators of this class

    def __init__(self, trace: Trace, place: int, negative: bool) -> None:
        self.trace = trace
        self.place = place
        self.negative = negative

    def __neg__(self) -> Expression:
        return Expression(self.trace, self.place, not self.negative)

    def __add__(self, other: Scalar) -> Scalar:
        return self.trace.sum(self, other)

    def __radd__(self, other: float) -> Scalar:
        return self.trace.sum(other, self)

    def __sub__(self, other: Scalar) -> Scalar:
        return self.trace.sum(self, -other)

    def __rsub__(self, other: float) -> Scalar:
        return self.trace.sum(other, -self)

    def __mul__(self, other: Scalar) -> Scalar:
        return self.trace.product(self, other)

    def __rmul__(self, other: float) -> Scalar:
        return self.trace.product(other, self)

    def __truediv__(self, other: Scalar) -> Scalar:
        return self.trace.quotient(self, other)

    def __rtruediv__(self, other: float) -> Scalar:
        return self.trace.quotient(other, self)

    def sin(self) -> Expression:
        """Return the sine of the expression, in rad."""
        return self.trace.function(SIN, self)

    def cos(self) -> Expression:
        """Return the cosine of the expression, in rad."""
        return self.trace.function(COS, self)

    def sqrt(self) -> Expression:
        """Return the square root of the expression; that of a negative number fails or is NaN in the generated code."""
        return self.trace.function(SQRT, self)

    def __gt__(self, other: Scalar) -> bool:
        return self.trace.guard(self, other)

    def __lt__(self, other: Scalar) -> bool:
        return self.trace.guard(other, self)

    def __eq__(self, other: object) -> bool:
        raise TypeError(_NO_BRANCH)

    def __bool__(self) -> bool:
        raise TypeError(_NO_BRANCH)

    __hash__ = None  # type: ignore[assignment]


Scalar: TypeAlias = Expression | float

_ONE = Node(CONSTANT, value=1.0)
_NO_BRANCH = (
    "the kernel branches on a number that is unknown during tracing. "
    "Cure: branch on the robot's topology, or compare with > if the other branch is an error"
)


def _is_known(value: Scalar, number: float) -> bool:
    return not isinstance(value, Expression) and value == number
