"""Source of customised kernels: statements, functions for one state and for many, and the sines of the latter."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from textwrap import indent

from robot_dynamics_ros.codegen.expressions import CONSTANT, COS, GREATER, INPUT, SIN, Expression, Node, Scalar, Trace
from robot_dynamics_ros.codegen.tracing import Program
from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.entries import OK, SINGULAR, WRONG_SHAPE
from robot_dynamics_ros.kernels.types import Array

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


def function_source(program: Program) -> str:
    """Python source of ``(numbers, q, ..., result) -> int``: vectors (n,), the result (n,) or (n, n) is written.

    The function returns OK; or WRONG_SHAPE where an array has not the shape that it must have; or SINGULAR + j where
    the mass matrix is not positive definite at coordinate j (see entries). Then the result is not written.
    """
    algorithm, n = program.algorithm, program.n
    name = algorithm.result
    results = program.results.ravel()

    def read(node: Node) -> str | None:
        return f"{node.array}[{node.element}]" if node.operation == INPUT else None

    def guard(k: int, condition: str) -> str:
        return f"if not {condition}:\n    return {SINGULAR + n - 1 - k}"

    statements = Statements(program.trace, results, read, guard)
    body = [f"if {_wrong_shape(program)}:", f"    return {WRONG_SHAPE}", *statements.lines]
    if algorithm.axes > 1:
        body.append(f"{name} = {name}.reshape({len(results)})")
    # Numba takes long over each of the many zeros of a big robot's mass matrix.
    body.append(f"{name}[:] = 0.0")
    texts = [statements.text(result) for result in results]
    body += [f"{name}[{i}] = {text}" for i, text in enumerate(texts) if text != "0.0"]
    body.append(f"return {OK}")
    header = "import math\n\nfrom robot_dynamics_ros.kernels.compilation import kernel\n\n\n@kernel\n"
    return (
        f"{header}def {algorithm.name}({', '.join(('numbers', *algorithm.vectors, name))}):\n"
        + indent("\n".join(body), "    ")
        + "\n"
    )


BLOCK = 64
"""States in a block."""

_TEMPLATE = """\
import numpy as np

from robot_dynamics_ros.codegen.source import sines_and_cosines
from robot_dynamics_ros.kernels.compilation import batch_kernel

rows = np.array({result_rows})
columns = np.array({columns})


@batch_kernel
def {name}(numbers, {vectors}, {result}):
    count = q.shape[0]
    if {wrong_shapes}:
        return {wrong_shape}
    results = {result}.reshape((count, {size}))
{read_numbers}
    b = np.empty({buffer})
    for first in range(0, count, {block}):
        for k in range({block}):
            state = min(first + k, count - 1)
{read_own_numbers}
            for j in range({n}):
{read_vectors}
        for k in range({block}):
{angles}
        sines_and_cosines(b, {first_angle}, {first_sine}, {first_cosine}, {angle_count})
        for k in range({block}):
            good = True
            held = 0.0
{statements}
            b[{held} + k] = held
        for k in range(min({block}, count - first)):
            if b[{held} + k] < {guards}:
                return int({first_failure} + (first + k) * {n} - b[{held} + k])
            for i in range({size}):
                results[first + k, i] = b[{block} * rows[i] + k]
    return {ok}
"""


class _Rows:
    """The buffer ``b``: a row for each number, in which the states of a block stand side by side."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.count = 0
        self.first: dict[str, int] = {}

    def add(self, part: str, size: int) -> None:
        """Append the rows of a part."""
        self.first[part] = self.count
        self.count += size

    def offset(self, part: str) -> int:
        """Place of a part's first number, of the first state."""
        return self.first[part] * self.block

    def text(self, part: str, index: int) -> str:
        """A part's number of state k."""
        return f"b[{self.offset(part) + index * self.block} + k]"


def batch_source(program: Program, own_numbers: bool = False, block: int = BLOCK) -> str:
    """Python source of ``(numbers, q, ..., result) -> int``: vectors (count, n), the result (count, ...) is written.

    With ``own_numbers`` each state has a robot of its own, that differs in the numbers (count, ...). ``block`` states
    stand side by side.

    The function returns OK; or WRONG_SHAPE where an array has not the shape that it must have; or SINGULAR + i n + j
    where the mass matrix is not positive definite for state i at coordinate j (see entries), i the first such state;
    then later results are missing.

    One buffer with constant offsets leaves a compiler no doubt about what overlaps, so that it does each statement
    for several states at once. The last block is filled up with the last state: what is computed for a state
    depends on nothing but that state.
    """
    algorithm, n, trace = program.algorithm, program.n, program.trace
    results = program.results.ravel()
    needed = [trace.nodes[place] for place in trace.needed(results)]
    columns = [node.element for node in needed if node.array == "numbers"]
    angles = sorted({node.operands[0] for node in needed if node.operation in (SIN, COS)})
    rows = _Rows(block)
    if own_numbers:
        rows.add("numbers", len(columns))
    for vector in algorithm.vectors:
        rows.add(vector, n)
    for part in ("angle", SIN, COS):
        rows.add(part, len(angles))

    def read_input(node: Node) -> str | None:
        if node.operation != INPUT:
            return None
        if node.array == "numbers":
            place = columns.index(node.element)
            return rows.text("numbers", place) if own_numbers else f"number_{node.element}"
        return rows.text(node.array, node.element)

    def read(node: Node) -> str | None:
        if node.operation in (SIN, COS):
            return rows.text(node.operation, angles.index(node.operands[0]))
        return read_input(node)

    def guard(_: int, condition: str) -> str:
        return f"good &= {condition}\nheld += 1.0 * good"

    arguments = [Expression(trace, place, False) for place in angles]
    before = Statements(trace, arguments, read_input, functions="np")
    write_angles = [f"{rows.text('angle', i)} = {before.text(angle)}" for i, angle in enumerate(arguments)]

    main = Statements(trace, results, read, guard, "np")
    texts = [main.text(result) for result in results]
    distinct = list(dict.fromkeys(texts))  # a mass matrix has zeros, and all else twice
    rows.add("result", len(distinct))
    rows.add("held", 1)
    write_results = [f"{rows.text('result', i)} = {text}" for i, text in enumerate(distinct)]
    return _TEMPLATE.format(
        name=f"{algorithm.name}_batch",
        vectors=", ".join(algorithm.vectors),
        result=algorithm.result,
        columns=columns,
        result_rows=[rows.first["result"] + distinct.index(text) for text in texts],
        wrong_shapes=_wrong_shape(program, ("count",) if own_numbers else (), ("count",)),
        n=n,
        size=len(results),
        block=block,
        buffer=rows.count * block,
        read_numbers="" if own_numbers else _indented(1, [f"number_{x} = numbers[{x}]" for x in columns]),
        read_own_numbers=_indented(
            3,
            [
                f"for j in range({len(columns)}):",
                f"    b[{rows.offset('numbers')} + {block} * j + k] = numbers[state, columns[j]]",
            ]
            if own_numbers
            else [],
        ),
        read_vectors=_indented(
            4, [f"b[{rows.offset(x)} + {block} * j + k] = {x}[state, j]" for x in algorithm.vectors]
        ),
        angles=_indented(3, [*before.lines, *write_angles] or ["pass"]),
        first_angle=rows.offset("angle"),
        first_sine=rows.offset(SIN),
        first_cosine=rows.offset(COS),
        angle_count=len(angles) * block,
        statements=_indented(3, [*main.lines, *write_results]),
        held=rows.offset("held"),
        guards=float(len(trace.guards)),
        first_failure=SINGULAR + n - 1,
        ok=OK,
        wrong_shape=WRONG_SHAPE,
    )


def _indented(levels: int, lines: list[str]) -> str:
    return indent("\n".join(lines), levels * "    ")


def _wrong_shape(program: Program, numbers: tuple[str, ...] = (), others: tuple[str, ...] = ()) -> str:
    """Return the condition that a shape is wrong; ``numbers`` and the ``others`` have these leading axes."""
    algorithm = program.algorithm
    shapes: dict[str, tuple[str | int, ...]] = {"numbers": (*numbers, program.numbers)}
    shapes.update(dict.fromkeys(algorithm.vectors, (*others, program.n)))
    shapes[algorithm.result] = (*others, *program.results.shape)
    tests = [f"{array}.shape[{axis}] != {size}" for array, shape in shapes.items() for axis, size in enumerate(shape)]
    return " or ".join(tests)


FARTHEST = 1e5
"""Angles beyond (rad) lose digits in the reduction: they are left to ``math.sin`` and ``math.cos``."""

# pi / 2 in three parts; a whole number below 2**17 times one of the first two is exact.
_FIRST, _SECOND, _THIRD = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
_ROUND = 1.5 * 2.0**52  # added and taken away again, it rounds to a whole number

_S1, _S2, _S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
_S4, _S5, _S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2, _C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
_C4, _C5, _C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


@kernel
def sines_and_cosines(b: Array, angles: int, sines: int, cosines: int, count: int) -> None:
    """Write the sines and cosines of ``count`` angles (rad) in ``b``, each lot from its own place in ``b`` on.

    There are no branches, so that the loop runs on vector registers. The angle is reduced to |r| <= pi/4 by subtracting
    quarter turns in three parts (Cody and Waite, Software Manual for the Elementary Functions, 1980), then two
    polynomials (fdlibm's coefficients) give sin r and cos r. The error is below one unit in the last place or so, the
    same for an angle wherever it is. NaN for angles that are not finite.
    """
    far = 0
    for i in range(count):
        x = b[angles + i]
        quarters = (x * (2.0 / math.pi) + _ROUND) - _ROUND
        r = ((x - quarters * _FIRST) - quarters * _SECOND) - quarters * _THIRD
        z = r * r
        s = r + r * z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))))
        half = 0.5 * z
        w = 1.0 - half
        p = z * z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
        c = w + (((1.0 - w) - half) + p)
        # Sine and cosine of the quarter turns, -1, 0 or 1: halves are rounded to even.
        up = quarters - 2.0 * ((0.5 * quarters + _ROUND) - _ROUND)
        next_quarter = quarters + 1.0
        along = next_quarter - 2.0 * ((0.5 * next_quarter + _ROUND) - _ROUND)
        b[sines + i] = s * along + c * up
        b[cosines + i] = c * along - s * up
        far += 1 if abs(x) > FARTHEST else 0
    if far > 0:
        for i in range(count):
            x = b[angles + i]
            if FARTHEST < abs(x) < math.inf:
                b[sines + i] = math.sin(x)
                b[cosines + i] = math.cos(x)
