"""Statements of traced programs as C; large programs are split into several functions.

The time that compilers need for a function grows faster than its length. Therefore a program with more than ``LARGEST``
operations is written as parts, functions of at most so many operations that pass intermediate results in an array w.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill, indent
from typing import NamedTuple

from robot_dynamics_ros.dynamics.codegen.expressions import (
    CONSTANT,
    INPUT,
    Expression,
    Node,
)
from robot_dynamics_ros.dynamics.codegen.statements import C, Statements
from robot_dynamics_ros.dynamics.codegen.tracing import FORWARD_DYNAMICS, Program

LARGEST = 2000
"""Number of operations in a function."""


class Body(NamedTuple):
    """Statements of a function, and the definitions of the static functions that it calls."""

    lines: list[str]
    parts: Sequence[str] = ()


def unused(names: Iterable[str]) -> list[str]:
    """Return statements that prevent warnings of unused arguments."""
    return [f"(void){name};" for name in sorted(names)]


def singular(robot: str, coordinate: int) -> str:
    """Return the statement for a mass matrix that is not positive definite at ``coordinate``."""
    return f"return {robot.upper()}_SINGULAR + {coordinate};"


def finite(robot: str, terms: Iterable[str]) -> str:
    """Return the statement for terms that are not all finite.

    It tests their sum, which is much faster than a test of each; sums of finite terms overflow beyond 1e307 only.
    """
    total = fill(" + ".join(terms), width=110, break_on_hyphens=False)
    macro = robot.upper()
    return f"if (!(fabs({total}) <= DBL_MAX)) {{\n    return {macro}_NOT_FINITE;\n}}"


def body(
    program: Program, result: str, arguments: set[str], robot: str, name: str
) -> Body:
    """Return the body of a function that computes a program.

    Parameters
    ----------
    program
        The program; its status is returned if it has one.
    result, arguments
        Array that is written, and arrays that can be read.
    robot, name
        Prefix of all C names, and name of the function, from which those of its parts are formed.
    """
    trace = program.trace
    results = program.results.ravel().tolist()
    needed = trace.needed(results)
    operations = [
        place
        for place in needed
        if trace.nodes[place].operation not in (INPUT, CONSTANT)
    ]
    # The comparisons of the guards are operations of the last part; until then results may be NaN.
    operations.sort(key=set(trace.guards).__contains__)
    pieces = [
        operations[i : i + LARGEST] for i in range(0, len(operations), LARGEST)
    ] or [[]]
    home = {place: k for k, piece in enumerate(pieces) for place in piece}
    last = len(pieces) - 1
    leaving = {
        operand
        for place in operations
        for operand in trace.nodes[place].operands
        if home.get(operand, last) < home[place]
    }
    leaving |= {
        x.place
        for x in results
        if isinstance(x, Expression) and home.get(x.place, last) < last
    }
    slots = {place: k for k, place in enumerate(sorted(leaving))}
    index = {node: place for place, node in enumerate(trace.nodes)}
    status = program.algorithm == FORWARD_DYNAMICS
    macro = robot.upper()

    def guard(k: int, condition: str) -> str:
        return f"if (!({condition})) {{\n    {singular(robot, program.guarded[k])}\n}}"

    def piece(k: int) -> tuple[set[str], list[str]]:
        """Return the arrays that a part reads, and its statements."""
        read_arrays: set[str] = set()

        def read(node: Node) -> str | None:
            if node.operation == INPUT:
                read_arrays.add(node.array)
                return f"{node.array}[{node.element}]"
            if home.get(index[node], k) < k:
                read_arrays.add("w")
                return f"w[{slots[index[node]]}]"
            return None

        stored = [
            Expression(trace, place, False) for place in slots if home[place] == k
        ]
        values = results if k == last else stored
        targets = range(len(results)) if k == last else [slots[x.place] for x in stored]
        statements = Statements(trace, values, read, guard if k == last else None, C)
        array = result if k == last else "w"
        outputs = [statements.text(x) for x in values]
        checks = [finite(robot, outputs)] if status and k == last else []
        writes = [
            f"{array}[{i}] = {text};" for i, text in zip(targets, outputs, strict=True)
        ]
        return read_arrays, [*statements.lines, *checks, *writes]

    texts = [piece(k) for k in range(last + 1)]
    used = set[str]().union(*(arrays for arrays, _ in texts))
    end = [f"return {macro}_OK;"] if status else []
    if last == 0:
        return Body([*unused(arguments - used), *texts[0][1], *end])
    lines = [*unused(arguments - used), f"double w[{len(slots)}];"]
    parts = []
    for k, (arrays, statements) in enumerate(texts):
        inputs = sorted(arrays - {"w"})
        passed = [*inputs, "w", *([result] if k == last else [])]
        kinds = [
            *(f"const double *{macro}_RESTRICT {x}" for x in inputs),
            f"double *{macro}_RESTRICT w",
            f"double *{macro}_RESTRICT {result}",
        ]
        kind = "int" if status and k == last else "void"
        text = indent("\n".join([*statements, *(end if k == last else [])]), "    ")
        parts.append(
            f"{macro}_NOT_INLINED static {kind} {robot}_{name}_{k}({', '.join(kinds[: len(passed)])})\n"
            f"{{\n{text}\n}}\n"
        )
        lines.append(
            f"{'return ' if kind == 'int' else ''}{robot}_{name}_{k}({', '.join(passed)});"
        )
    return Body(lines, parts)
