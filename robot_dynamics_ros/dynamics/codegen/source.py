"""Source code of customised kernels: single-state and batched functions, and the sine and cosine of the latter.

A trace is the graph of operations that an algorithm carries out, and a result is an expression of the trace or a known
number. A guard is a comparison that tracing assumed to be true. OK, WRONG_SHAPE and SINGULAR are constants of
kernels/entries. ``parameters`` is the flat model array of that name, from kernels.layout.pack.
"""

from __future__ import annotations

import math
from textwrap import indent

from robot_dynamics_ros.dynamics.codegen.expressions import (
    COS,
    INPUT,
    SIN,
    Expression,
    Node,
)
from robot_dynamics_ros.dynamics.codegen.statements import NUMPY, Statements
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FIXED_MODE_MOTION,
    Algorithm,
    Program,
)
from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.entries import OK, SINGULAR, WRONG_SHAPE
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import BATCH_BLOCK


def function_source(program: Program) -> str:
    """Return the source of a module with a single-state kernel ``(parameters, q, ..., result) -> int``.

    The kernel has the name of the program's algorithm, and its vectors and result as arguments, float64 arrays. Vectors
    have shape (n,), the result (n,), (n, n) or (2 + n, n). It returns OK, or WRONG_SHAPE for an array of the wrong
    shape, or SINGULAR + j if the mass matrix is not positive definite at coordinate j. It writes the result only if it
    returns OK. The result is NaN if a vector is not finite, except for FIXED_MODE_MOTION.
    """
    algorithm = program.algorithm
    name = algorithm.result
    results = program.results.ravel()

    def read(node: Node) -> str | None:
        return f"{node.array}[{node.element}]" if node.operation == INPUT else None

    def guard(k: int, condition: str) -> str:
        return f"if not {condition}:\n    return {SINGULAR + program.guarded[k]}"

    statements = Statements(program.trace, results, read, guard)
    body = [
        f"if {_wrong_shape(program)}:",
        f"    return {WRONG_SHAPE}",
        *(
            f"if not all_finite({vector}):\n    {name}[:] = math.nan\n    return {OK}"
            for vector in _checked(algorithm)
        ),
        *statements.lines,
    ]
    if program.results.ndim > 1:
        body.append(f"{name} = {name}.reshape({len(results)})")
    # One assignment: compiling a statement for each zero of a large robot's mass matrix takes long.
    body.append(f"{name}[:] = 0.0")
    texts = [statements.text(result) for result in results]
    body += [f"{name}[{i}] = {text}" for i, text in enumerate(texts) if text != "0.0"]
    body.append(f"return {OK}")
    header = (
        "import math\n\n"
        "from robot_dynamics_ros.dynamics.kernels.compilation import kernel\n"
        "from robot_dynamics_ros.dynamics.kernels.entries import all_finite\n\n\n@kernel\n"
    )
    return (
        f"{header}def {algorithm.name}({', '.join(('parameters', *algorithm.vectors, name))}):\n"
        + indent("\n".join(body), "    ")
        + "\n"
    )


_TEMPLATE = """\
import numpy as np

from robot_dynamics_ros.dynamics.codegen.source import sines_and_cosines
from robot_dynamics_ros.dynamics.kernels.compilation import batch_kernel

rows = np.array({result_rows})
columns = np.array({columns})


@batch_kernel
def {name}(parameters, {vectors}, {result}):
    count = q.shape[0]
    results = {result}.reshape((count, {size}))
{read_parameters}
    b = np.empty({buffer})
    for first in range(0, count, {block}):
        for k in range({block}):
            state = min(first + k, count - 1)
{read_own_parameters}
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
            if b[{finite} + k] != 0.0:
                results[first + k, :] = np.nan
                continue
            if b[{held} + k] < {guards}:
                return int({first_failure} + (first + k) * {n} - b[{held} + k])
            for i in range({size}):
                results[first + k, i] = b[{block} * rows[i] + k]
    return {ok}
"""


class _Rows:
    """Layout of the buffer ``b``: one row for each number, with the values of all states of a block."""

    def __init__(self, block: int) -> None:
        self.block = block
        self.count = 0
        self.first: dict[str, int] = {}

    def add(self, part: str, size: int) -> None:
        """Append ``size`` rows for ``part``."""
        self.first[part] = self.count
        self.count += size

    def offset(self, part: str) -> int:
        """Return the index in the buffer of a part's first number for the first state."""
        return self.first[part] * self.block

    def text(self, part: str, index: int) -> str:
        """Return the text of number ``index`` of a part for state k."""
        return f"b[{self.offset(part) + index * self.block} + k]"


def batch_source(
    program: Program, own_parameters: bool = False, block: int = BATCH_BLOCK
) -> str:
    """Return the source of a module with a batched kernel ``(parameters, q, ..., result) -> int``.

    The kernel is named after the algorithm, with "_batch" appended. Vectors have shape (count, n), the result (count,
    ...), all float64; the caller has checked the shapes. It returns OK, or SINGULAR + i n + j if the mass matrix of
    state i is not positive definite at coordinate j. State i is the first such state; later results are not
    written. The result of a state is NaN if a vector is not finite, except for FIXED_MODE_MOTION.

    States are processed in blocks, in one buffer with constant offsets. So the compiler knows that its rows do not
    overlap, and vectorizes each statement. The last block is filled with copies of the last state. The result of a
    state does not depend on any other state.

    Parameters
    ----------
    program
        The traced algorithm.
    own_parameters
        True if each state has its own robot with parameters (count, ...); the robots share all folded values.
    block
        Number of states in a block.
    """
    algorithm = program.algorithm
    n = program.n
    trace = program.trace
    results = program.results.ravel()
    needed = [trace.nodes[place] for place in trace.needed(results)]
    columns = [node.element for node in needed if node.array == "parameters"]
    angles = sorted(
        {node.operands[0] for node in needed if node.operation in (SIN, COS)}
    )
    rows = _Rows(block)
    if own_parameters:
        rows.add("parameters", len(columns))
    for vector in algorithm.vectors:
        rows.add(vector, n)
    for part in ("angle", SIN, COS):
        rows.add(part, len(angles))

    def read_input(node: Node) -> str | None:
        if node.operation != INPUT:
            return None
        if node.array == "parameters":
            place = columns.index(node.element)
            return (
                rows.text("parameters", place)
                if own_parameters
                else f"parameter_{node.element}"
            )
        return rows.text(node.array, node.element)

    def read(node: Node) -> str | None:
        if node.operation in (SIN, COS):
            return rows.text(node.operation, angles.index(node.operands[0]))
        return read_input(node)

    def guard(_: int, condition: str) -> str:
        return f"good &= {condition}\nheld += 1.0 * good"

    arguments = [Expression(trace, place, False) for place in angles]
    before = Statements(trace, arguments, read_input, language=NUMPY)
    write_angles = [
        f"{rows.text('angle', i)} = {before.text(angle)}"
        for i, angle in enumerate(arguments)
    ]

    main = Statements(trace, results, read, guard, NUMPY)
    texts = [main.text(result) for result in results]
    # a mass matrix has zeros, and all other elements twice
    distinct = list(dict.fromkeys(texts))
    rows.add("result", len(distinct))
    rows.add("held", 1)
    rows.add("finite", 1)
    write_results = [
        f"{rows.text('result', i)} = {text}" for i, text in enumerate(distinct)
    ]
    # zero, or NaN if a value is not finite
    given = [rows.text(vector, j) for vector in _checked(algorithm) for j in range(n)]
    differences = " + ".join(f"({x} - {x})" for x in given) or "0.0"
    write_results.append(f"{rows.text('finite', 0)} = {differences}")
    return _TEMPLATE.format(
        name=f"{algorithm.name}_batch",
        vectors=", ".join(algorithm.vectors),
        result=algorithm.result,
        columns=columns,
        result_rows=[rows.first["result"] + distinct.index(text) for text in texts],
        n=n,
        size=len(results),
        block=block,
        buffer=rows.count * block,
        read_parameters=""
        if own_parameters
        else _indented(1, [f"parameter_{x} = parameters[{x}]" for x in columns]),
        read_own_parameters=_indented(
            3,
            [
                f"for j in range({len(columns)}):",
                f"    b[{rows.offset('parameters')} + {block} * j + k] = parameters[state, columns[j]]",
            ]
            if own_parameters
            else [],
        ),
        read_vectors=_indented(
            4,
            [
                f"b[{rows.offset(x)} + {block} * j + k] = {x}[state, j]"
                for x in algorithm.vectors
            ],
        ),
        angles=_indented(3, [*before.lines, *write_angles] or ["pass"]),
        first_angle=rows.offset("angle"),
        first_sine=rows.offset(SIN),
        first_cosine=rows.offset(COS),
        angle_count=len(angles) * block,
        statements=_indented(3, [*main.lines, *write_results]),
        held=rows.offset("held"),
        finite=rows.offset("finite"),
        guards=float(len(trace.guards)),
        first_failure=SINGULAR + n - 1,
        ok=OK,
    )


def _checked(algorithm: Algorithm) -> tuple[str, ...]:
    """Return the vectors that must be finite, or the result is NaN."""
    return () if algorithm == FIXED_MODE_MOTION else algorithm.vectors


def _indented(levels: int, lines: list[str]) -> str:
    return indent("\n".join(lines), levels * "    ")


def _wrong_shape(program: Program) -> str:
    """Return the condition that an array of a single-state kernel has a wrong shape."""
    algorithm = program.algorithm
    shapes: dict[str, tuple[int, ...]] = {"parameters": (program.parameter_count,)}
    shapes |= dict.fromkeys(algorithm.vectors, (program.n,))
    shapes[algorithm.result] = program.results.shape
    tests = [
        f"{array}.shape[{axis}] != {size}"
        for array, shape in shapes.items()
        for axis, size in enumerate(shape)
    ]
    return " or ".join(tests)


FARTHEST = 1e5
"""Largest angle (rad) that is reduced accurately; ``math.sin`` and ``math.cos`` are used beyond it."""

# pi / 2 in three parts. An integer below 2**17 times either of the first two is exact.
_FIRST = 1.57079632673412561417
_SECOND = 6.07710050630396597660e-11
_THIRD = 2.02226624879595063154e-21
_ROUND = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer

_S1 = -1.66666666666666324348e-01
_S2 = 8.33333333332248946124e-03
_S3 = -1.98412698298579493134e-04
_S4 = 2.75573137070700676789e-06
_S5 = -2.50507602534068634195e-08
_S6 = 1.58969099521155010221e-10
_C1 = 4.16666666666666019037e-02
_C2 = -1.38888888888741095749e-03
_C3 = 2.48015872894767294178e-05
_C4 = -2.75573143513906633035e-07
_C5 = 2.08757232129817482790e-09
_C6 = -1.13596475577881948265e-11


@kernel
def sines_and_cosines(
    b: Array, angles: int, sines: int, cosines: int, count: int
) -> None:
    """Write the sines and cosines of ``count`` angles (rad) to ``b``.

    ``b`` (elements,) contains the angles and receives the results. ``angles``, ``sines`` and ``cosines`` are the
    indices in ``b`` at which each of them starts. The result is NaN for an angle that is not finite.

    The loop has no branches, so that it can be vectorized. The angle is reduced to |r| <= pi/4 by subtraction of
    quarter turns in three parts (Cody and Waite, Software Manual for the Elementary Functions, 1980). Two polynomials
    with fdlibm's coefficients give sin r and cos r. The error is about one unit in the last place. An angle has the
    same result at every index.
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
