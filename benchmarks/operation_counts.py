"""Operation counts of the kernels, compared with printed counts.

``python -m benchmarks.operation_counts`` prints the tables of docs/benchmarks.md; ``--write docs/benchmarks.md``
updates them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction as _F
from typing import Any, NamedTuple

import numpy as np

from benchmarks.counting import Counted
from benchmarks.document import markdown_table, print_report, report_parser
from benchmarks.robots import random_chain, shipped
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.codegen.expressions import Scalar, Trace
from robot_dynamics_ros.dynamics.codegen.tracing import (
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    MASS_MATRIX,
    Algorithm,
    run,
    trace_algorithm,
)
from robot_dynamics_ros.dynamics.kernels.layout import (
    BODY_SIZE,
    REVOLUTE,
    ROTOR_SIZE,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.model.model_data import views

COMMAND = "python -m benchmarks.operation_counts"
ALGORITHMS = (INVERSE_DYNAMICS, GRAVITY_TORQUE, MASS_MATRIX, FORWARD_DYNAMICS)
LARGEST = 12
SHOWN = (1, 2, 3, 6, 7, LARGEST)  # joints, in the table

# Robots of this package and their dynamics files; the planar arm with the point masses of Craig 6.7.
ROBOTS = {
    "panda": "panda",
    "ur5e": "ur5e",
    "puma560": "puma560",
    "scara": "scara",
    "planar_2r": "planar_2r_craig",
}


class Count(NamedTuple):
    """Multiplications, and additions including subtractions."""

    multiplications: int
    additions: int

    def __str__(self) -> str:
        return f"{self.multiplications}/{self.additions}"


Polynomial = tuple[int | _F, ...]
"""Coefficients, the highest power first."""


PRINTED: dict[str, tuple[Polynomial, Polynomial]] = {
    "Craig 6.13, Newton-Euler": ((126, -99), (106, -92)),
    "Craig 6.13, Lagrangian": ((32, 86, 171, 53, -128), (25, 66, 129, 42, -96)),
    "Milicevic Table 3, Newton-Euler": ((132, 0), (111, -4)),
    "Milicevic Table 3, d'Alembert": (
        (_F(13, 6), _F(105, 2), _F(268, 3), 69),
        (_F(4, 3), 44, _F(146, 3), 45),
    ),
    "Milicevic Table 3, Lagrange-Euler": (
        (_F(128, 3), _F(512, 3), _F(739, 3), _F(160, 3), 0),
        (_F(98, 3), _F(781, 6), _F(559, 3), _F(245, 6), 0),
    ),
}
"""Printed counts of inverse dynamics, multiplications and additions, for n joints (Craig's: n at least 2)."""

CRAIG_PLANAR_ARM = Count(30, 13)
"""Craig 6.13, "about": the closed form of his section 6.7, two links with point masses."""


def printed(source: str, n: int) -> Count:
    """Return a printed count for n joints."""

    def value(polynomial: Polynomial) -> int:
        return int(
            sum(
                coefficient * n**power
                for power, coefficient in enumerate(reversed(polynomial))
            )
        )

    multiplications, additions = PRINTED[source]
    return Count(value(multiplications), value(additions))


def general_count(algorithm: Algorithm, n: int) -> Count:
    """Return the count of a general kernel for a chain of n revolute joints with arbitrary placements and inertias."""
    tally: Counter[str] = Counter()
    robot = _random_arm(n, tally)
    states = iter(np.random.default_rng(n).normal(size=4 * n).tolist())
    _run(algorithm, robot, n, lambda _vector, _joint: Counted(next(states), tally))
    return _count(tally)


def customised_count(algorithm: Algorithm, model: RobotModel) -> Count:
    """Return the count of the generated kernel of a robot, whose masses and inertias are arguments."""
    program = trace_algorithm(
        algorithm, model.kernels.topology, model.kernels.parameters
    )
    assert program is not None
    return _count(operations(program.trace, program.results.ravel().tolist()))


def folded_count(algorithm: Algorithm, model: RobotModel) -> Count:
    """Return the count of a kernel in which masses and inertias are constants, too, for a fixed payload."""
    trace = Trace()
    robot = views(model.kernels.topology, model.kernels.parameters)
    known = robot._replace(
        **{name: np.frompyfunc(float, 1, 1)(getattr(robot, name)) for name in _NUMBERS}
    )
    results = _run(algorithm, known, model.n, trace.input).ravel().tolist()
    return _count(operations(trace, results))


def operations(trace: Trace, results: Iterable[Scalar]) -> Counter[str]:
    """Return the number of each operation ("+", "-", "*", "/", ">", "sin", "cos", "sqrt") for ``results``.

    Each recorded operation that ``results`` or the guards need counts once. Negations are not counted.
    """
    nodes = [trace.nodes[place] for place in trace.needed(results)]
    return Counter(node.operation for node in nodes if node.operands)


_NUMBERS = ("factors", "bodies", "rotors", "gravity")


def _run(
    algorithm: Algorithm, robot: ModelArrays, n: int, number: Callable[[str, int], Any]
) -> Any:
    """Run the Python source of a kernel and return its results; ``number(vector, joint)`` makes its arguments."""
    vectors: Any = [np.empty(n, dtype=object) for _ in algorithm.vectors]
    for name, vector in zip(algorithm.vectors, vectors, strict=True):
        vector[:] = [number(name, joint) for joint in range(n)]
    results = run(algorithm, robot, vectors)
    assert results is not None
    return results


def _random_arm(n: int, tally: Counter[str]) -> ModelArrays:
    chain = random_chain(n)
    bodies = np.empty((n, BODY_SIZE))
    for body, link in zip(bodies, chain.links, strict=True):
        mass = link.mass
        com = link.com
        inertia = link.inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))
        body[:] = (
            *link.rotation.flat,
            *link.position,
            mass,
            *(mass * com),
            *inertia[np.triu_indices(3)],
        )
    tree = np.array([[i - 1, REVOLUTE, i, i + 1] for i in range(n)])
    numbers = {
        "factors": np.ones(n),
        "bodies": bodies,
        "rotors": np.empty((0, ROTOR_SIZE)),
        "gravity": chain.gravity,
    }
    counted = np.frompyfunc(lambda number: Counted(number, tally), 1, 1)
    objects = {name: counted(values) for name, values in numbers.items()}
    return ModelArrays(tree=tree, coordinates=np.arange(n), **objects)


def _count(tally: Mapping[str, int]) -> Count:
    return Count(tally.get("*", 0), tally.get("+", 0) + tally.get("-", 0))


def general_table() -> str:
    """Return a table of the general kernels for some numbers of revolute joints, and of Craig's printed counts."""
    sources = [source for source in PRINTED if source.startswith("Craig")]
    rows = [["n", *(algorithm.name for algorithm in ALGORITHMS), *sources]]
    for n in SHOWN:
        ours = [str(general_count(algorithm, n)) for algorithm in ALGORITHMS]
        books = ["–" if n < 2 else str(printed(source, n)) for source in sources]
        rows.append([str(n), *ours, *books])
    return markdown_table(rows)


def customised_table() -> str:
    """Return a table of the generated kernels of shipped robots."""
    names = [algorithm.name for algorithm in ALGORITHMS]
    constant = f"{INVERSE_DYNAMICS.name}, all constant"
    rows = [["robot", "n", "rotors", *names, constant]]
    for name in ROBOTS:
        model = shipped(name, ROBOTS[name])
        counts = [customised_count(algorithm, model) for algorithm in ALGORITHMS]
        counts.append(folded_count(INVERSE_DYNAMICS, model))
        rotors = str(len(model.rotor_names))
        rows.append([name, str(model.n), rotors, *map(str, counts)])
    return markdown_table(rows)


def report() -> str:
    """Return the counts as Markdown."""
    two, three = (general_count(INVERSE_DYNAMICS, n) for n in (2, 3))
    slopes = [after - before for before, after in zip(two, three, strict=True)]
    terms = [
        f"{slope}n{count - 2 * slope:+d}"
        for slope, count in zip(slopes, two, strict=True)
    ]
    return f"""\
Command: `{COMMAND}`. Multiplications/additions (including subtractions).

The general kernels for n revolute joints in series, with arbitrary placements and inertias; inverse dynamics takes
{terms[0]} multiplications and {terms[1]} additions:

{general_table()}

The customised kernels:

{customised_table()}
"""


if __name__ == "__main__":
    print_report(report_parser(COMMAND, __doc__).parse_args(), report, "make counts")
