"""Statements that compute results of a trace, in the syntax of a language.

A trace is the graph of operations that an algorithm carries out, and a result is an expression of the trace or a known
number. A ``Language`` is all that differs between Python and C.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from robot_dynamics_ros.dynamics.codegen.expressions import (
    CONSTANT,
    GREATER,
    Expression,
    Node,
    Scalar,
    Trace,
)
from robot_dynamics_ros.dynamics.thresholds import LONGEST_INLINED


class Language(NamedTuple):
    """Syntax of a language; operators, names and numbers are the same in all of them.

    Attributes
    ----------
    assignment
        Format of the definition of a new variable, from its ``name`` and the ``text`` of its value.
    function
        Format of a call of a function (sin, cos or sqrt), from its ``name`` and the ``text`` of its argument.
    """

    assignment: str
    function: str


PYTHON = Language("{name} = {text}", "math.{name}({text})")
NUMPY = Language("{name} = {text}", "np.{name}({text})")
"""Python; the root of a negative number is NaN here, and an error with PYTHON."""
C = Language("const double {name} = {text};", "{name}({text})")


class Statements:
    """Statements that compute some results of a trace, as source text.

    Attributes
    ----------
    lines
        The statements in order, as strings without indentation. Those of guards have two or more lines.
    """

    def __init__(
        self,
        trace: Trace,
        results: Iterable[Scalar],
        read: Callable[[Node], str | None],
        guard: Callable[[int, str], str] | None = None,
        language: Language = PYTHON,
    ) -> None:
        """Write the statements.

        Parameters
        ----------
        trace, results
            Expression graph, and the expressions to compute.
        read
            Function that returns the text of a node which is defined elsewhere (this includes all inputs), else
            None.
        guard
            Function that returns the statement for the k-th guard and the text of its condition. If None, guards
            are omitted.
        language
            Language of the statements.
        """
        self.lines: list[str] = []
        self._texts: dict[int, str] = {}
        guards = {place: k for k, place in enumerate(trace.guards)} if guard else {}
        # Results count twice, so that all are computed before the first is written: a result can also be an input.
        uses = Counter(
            {value.place: 2 for value in results if isinstance(value, Expression)}
            | dict.fromkeys(guards, 1)
        )
        given: dict[int, str] = {}
        for place in reversed(range(len(trace.nodes))):
            if uses[place] and (text := read(trace.nodes[place])) is not None:
                given[place] = text
            elif uses[place]:
                uses.update(trace.nodes[place].operands)
        for place in sorted(uses):
            node = trace.nodes[place]
            text = given.get(place) or _operation(
                node, [self._texts[operand] for operand in node.operands], language
            )
            if guard and place in guards:
                self.lines.append(guard(guards[place], text))
            elif node.operation != CONSTANT and (
                uses[place] > 1 or len(text) > LONGEST_INLINED
            ):
                self.lines.append(
                    language.assignment.format(name=f"x{place}", text=text)
                )
                text = f"x{place}"
            self._texts[place] = text

    def text(self, result: Scalar) -> str:
        """Return the source text, an expression, of a result; it is valid after ``lines``.

        ``result`` is one of the ``results`` given to the constructor, or a known number.
        """
        if not isinstance(result, Expression):
            return repr(float(result))
        return (
            f"-{self._texts[result.place]}"
            if result.negative
            else self._texts[result.place]
        )


def _operation(node: Node, operands: list[str], language: Language) -> str:
    if node.operation == CONSTANT:
        return repr(node.value)
    if node.operation == GREATER:
        return " > ".join(operands)
    if len(operands) == 2:
        return f"({operands[0]} {node.operation} {operands[1]})"
    return language.function.format(name=node.operation, text=operands[0])
