"""From a graph of operations to the statements of straight-line Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from robot_dynamics_ros.codegen.expressions import CONSTANT, GREATER, Expression, Node, Scalar, Trace

_LONGEST = 88  # characters of an expression that is still written into the next one


class Statements:
    """Statements that compute some results of a trace.

    Attributes
    ----------
    lines
        The statements in order, some of two or more lines (those of the guards).
    """

    def __init__(
        self,
        trace: Trace,
        results: Iterable[Scalar],
        read: Callable[[Node], str | None],
        guard: Callable[[int, str], str] | None = None,
        functions: str = "math",
    ) -> None:
        """Write the statements.

        Parameters
        ----------
        trace, results
            What is to be computed.
        read
            The text by which a node is read that something else provides (all inputs); None for all others.
        guard
            The statement for the k-th guard and the text of its condition; None: guards are left out.
        functions
            The module of sine, cosine and square root. NumPy's root of a negative number is NaN, Python's an error.
        """
        self.lines: list[str] = []
        self._texts: dict[int, str] = {}
        guards = {place: k for k, place in enumerate(trace.guards)} if guard else {}
        # Results count twice, so that they are computed before the first of them is written: it may be an input, too.
        uses = Counter(
            {value.place: 2 for value in results if isinstance(value, Expression)} | dict.fromkeys(guards, 1)
        )
        given: dict[int, str] = {}
        for place in reversed(range(len(trace.nodes))):
            if uses[place] and (text := read(trace.nodes[place])) is not None:
                given[place] = text
            elif uses[place]:
                uses.update(trace.nodes[place].operands)
        for place in sorted(uses):
            node = trace.nodes[place]
            text = given.get(place) or _operation(node, [self._texts[operand] for operand in node.operands], functions)
            if guard and place in guards:
                self.lines.append(guard(guards[place], text))
            elif node.operation != CONSTANT and (uses[place] > 1 or len(text) > _LONGEST):
                self.lines.append(f"x{place} = {text}")
                text = f"x{place}"
            self._texts[place] = text

    def text(self, result: Scalar) -> str:
        """The text of a result, to stand after the lines."""
        if not isinstance(result, Expression):
            return repr(float(result))
        return f"-{self._texts[result.place]}" if result.negative else self._texts[result.place]


def _operation(node: Node, operands: list[str], functions: str) -> str:
    if node.operation == CONSTANT:
        return repr(node.value)
    if node.operation == GREATER:
        return " > ".join(operands)
    if len(operands) == 2:
        return f"({operands[0]} {node.operation} {operands[1]})"
    return f"{functions}.{node.operation}({operands[0]})"
