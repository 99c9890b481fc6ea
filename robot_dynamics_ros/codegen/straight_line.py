"""Source of a customised kernel for one state: a straight line of statements."""

from __future__ import annotations

from textwrap import indent

from robot_dynamics_ros.codegen.expressions import INPUT, Node
from robot_dynamics_ros.codegen.statements import Statements
from robot_dynamics_ros.codegen.tracing import Program
from robot_dynamics_ros.kernels.entries import OK, SINGULAR, WRONG_SHAPE


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
    shapes = {"numbers": (program.numbers,), **dict.fromkeys(algorithm.vectors, (n,)), name: program.results.shape}
    tests = [f"{array}.shape[{axis}] != {size}" for array, shape in shapes.items() for axis, size in enumerate(shape)]
    body = [f"if {' or '.join(tests)}:", f"    return {WRONG_SHAPE}", *statements.lines]
    if algorithm.axes > 1:
        body.append(f"{name} = {name}.reshape({len(results)})")
    # Numba takes long over each of the many zeros of a big robot's mass matrix.
    body.append(f"{name}[:] = 0.0")
    texts = [statements.text(result) for result in results]
    body += [f"{name}[{i}] = {text}" for i, text in enumerate(texts) if text != "0.0"]
    body.append(f"return {OK}")
    header = "import math\n\nfrom robot_dynamics_ros.kernels.compilation import kernel\n\n\n@kernel\n"
    return f"{header}def {algorithm.name}({', '.join(shapes)}):\n" + indent("\n".join(body), "    ") + "\n"
