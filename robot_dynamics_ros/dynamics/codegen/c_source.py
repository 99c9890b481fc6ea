"""Dynamics of one robot as C99: signatures of the functions, and their source code.

The functions are straight-line programs from the traces that the customised kernels are made of. Inertial parameters
are folded into them as constants; gravity and a payload are arguments.

The time that compilers need for a function grows faster than its length. Therefore a program with more than
``LARGEST_C_FUNCTION`` operations is written as parts, functions of at most so many operations that pass intermediate
results in an array w.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill, indent
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.codegen.expressions import (
    CONSTANT,
    INPUT,
    Expression,
    Node,
    Scalar,
    Trace,
)
from robot_dynamics_ros.dynamics.codegen.statements import C, Statements
from robot_dynamics_ros.dynamics.codegen.tracing import (
    BIAS_TORQUE,
    FORWARD_DYNAMICS,
    GRAVITY_TORQUE,
    INVERSE_DYNAMICS,
    JACOBIAN,
    JACOBIAN_DOT_QD,
    MASS_MATRIX,
    POSE,
    Algorithm,
    LinkPlacement,
    Program,
    Scalars,
    specialised,
    trace_algorithm,
)
from robot_dynamics_ros.dynamics.kernels.composite_body import add_inertia
from robot_dynamics_ros.dynamics.kernels.friction import depends_on_load
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import (
    AFTER,
    BODY_SIZE,
    FIRST,
    MASS,
    ROTOR_INERTIA,
    coordinate_count,
    unpack,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.thresholds import LARGEST_C_FUNCTION

_WIDTH = 110  # characters of a line of comments and declarations


class Tree(NamedTuple):
    """Robot to write as C.

    Attributes
    ----------
    name
        Prefix of all C names, an identifier.
    topology, parameters
        Flat model arrays, without the payload.
    friction
        Friction table (bodies, FRICTION_SIZE).
    payload
        Link that carries the payload.
    links
        Links with pose and Jacobian, by the identifiers that end the names of their functions.
    """

    name: str
    topology: IntArray
    parameters: Array
    friction: Array
    payload: LinkPlacement
    links: Mapping[str, LinkPlacement]

    @property
    def n(self) -> int:
        """Number of independent coordinates."""
        return int(interpreted(coordinate_count)(self.topology))


class Signature(NamedTuple):
    """C function.

    Attributes
    ----------
    name
        Name without the robot's prefix.
    arguments
        Names of the arguments, keys of the sizes that ``sizes`` returns.
    result
        Name of the argument to which the result is written.
    shape
        Shape of the result; elements are stored row by row.
    comment
        Contract of the function.
    status
        True if the function returns a status.
    """

    name: str
    arguments: tuple[str, ...]
    result: str
    shape: tuple[int, ...]
    comment: str
    status: bool = False

    @property
    def size(self) -> int:
        """Number of elements of the result."""
        return int(np.prod(self.shape))


def sizes(n: int) -> dict[str, int]:
    """Return the size of each argument of the functions of a robot with ``n`` coordinates; 0 for a number."""
    vectors = ("q", "qd", "qdd", "tau", "load", "q_d", "qd_d", "qdd_d", "kp", "kd")
    others = {
        "gravity": 3,
        "payload": 10,
        "com": 3,
        "inertia": 6,
        "mass": 0,
        "smoothing_velocity": 0,
    }
    return dict.fromkeys(vectors, n) | others


def signatures(robot: Tree) -> list[Signature]:
    """Return the functions of a robot, in the order of the files."""
    n = robot.n
    fixed = [
        Signature(
            "make_payload",
            ("mass", "com", "inertia"),
            "payload",
            (10,),
            "Payload of the given mass, centre of mass, and inertia (ixx ixy ixz iyy iyz izz) about the centre of "
            "mass, in the frame of the payload's link.",
        ),
        Signature(
            "inverse_dynamics",
            ("q", "qd", "qdd", "gravity", "payload"),
            "tau",
            (n,),
            "Torque of the motion q, qd, qdd, without friction.",
        ),
        Signature(
            "gravity_torque",
            ("q", "gravity", "payload"),
            "tau",
            (n,),
            "Torque that holds the robot at rest.",
        ),
        Signature(
            "bias_torque",
            ("q", "qd", "gravity", "payload"),
            "tau",
            (n,),
            "Torque at zero acceleration: velocity products and gravity.",
        ),
        Signature(
            "mass_matrix",
            ("q", "payload"),
            "matrix",
            (n, n),
            "Mass matrix with rotors, both triangles.",
        ),
        Signature(
            "forward_dynamics",
            ("q", "qd", "tau", "gravity", "payload"),
            "qdd",
            (n,),
            "Acceleration under the torque tau, without friction. Returns a status; qdd is unchanged unless it is "
            f"{robot.name.upper()}_OK.",
            True,
        ),
        Signature(
            "gear_load",
            ("q", "qd", "qdd", "gravity", "payload"),
            "load",
            (n,),
            "Torque that the gears transmit to the links: inverse dynamics without rotors. It is an argument of "
            "friction_torque.",
        ),
        Signature(
            "friction_torque",
            ("q", "qd", "load", "smoothing_velocity"),
            "tau",
            (n,),
            "Torque that overcomes friction at q, qd. load is that of gear_load, or zeros if no friction depends on "
            "it. Below the speed smoothing_velocity of a joint, friction is proportional to velocity; 0: dry friction "
            "jumps at rest, where it is 0.",
        ),
        Signature(
            "computed_torque",
            ("q", "qd", "q_d", "qd_d", "qdd_d", "kp", "kd", "gravity", "payload"),
            "tau",
            (n,),
            "Computed-torque law: inverse dynamics at q, qd for the acceleration qdd_d + kd (qd_d - qd) + kp (q_d - "
            "q), without friction.",
        ),
    ]
    kinematic = [
        signature
        for link in robot.links
        for signature in (
            Signature(
                f"pose_{link}",
                ("q",),
                "pose",
                (4, 4),
                "Homogeneous matrix of the link in the root frame.",
            ),
            Signature(
                f"jacobian_{link}",
                ("q",),
                "jacobian",
                (6, n),
                "Jacobian of the origin of the link's frame in root axes, linear rows first.",
            ),
            Signature(
                f"jacobian_dot_qd_{link}",
                ("q", "qd"),
                "product",
                (6,),
                "Linear and angular acceleration of the link's frame at zero qdd, in root axes.",
            ),
        )
    ]
    return fixed + kinematic


def prototype(robot: Tree, signature: Signature) -> str:
    """Return the declaration of a function, without semicolon."""
    restrict = f"{robot.name.upper()}_RESTRICT"
    size = sizes(robot.n)
    arguments = [
        f"const double *{restrict} {x}" if size[x] else f"double {x}"
        for x in signature.arguments
    ]
    arguments.append(f"double *{restrict} {signature.result}")
    kind = "int" if signature.status else "void"
    first, *others = arguments
    lines = [f"{kind} {robot.name}_{signature.name}({first}"]
    for argument in others:  # broken only between arguments
        if len(lines[-1]) + len(argument) > _WIDTH:
            lines[-1] += ","
            lines.append(f"    {argument}")
        else:
            lines[-1] += f", {argument}"
    return "\n".join(lines) + ")"


def comment(text: str) -> str:
    """Return a C comment of one or more lines."""
    return (
        "/* "
        + fill(text, width=_WIDTH, subsequent_indent="   ", break_long_words=False)
        + " */"
    )


def table(rows: Iterable[Iterable[float]]) -> str:
    """Return the initializer of an array of arrays of doubles."""
    return "{\n" + ",\n".join("    " + initializer(row) for row in rows) + "}"


def initializer(values: Iterable[float]) -> str:
    """Return the initializer of an array of doubles."""
    return "{" + ", ".join(map(number, values)) + "}"


def number(value: float) -> str:
    """Return a C expression that has exactly this value; infinity is HUGE_VAL."""
    if np.isfinite(value):
        return repr(float(value))
    return "HUGE_VAL" if value > 0.0 else "-HUGE_VAL"


def functions(robot: Tree) -> str:
    """Return the definitions of all functions but make_payload and computed_torque, which are the same for all robots.

    Also the table and the functions of friction are not included.
    """
    writer = _Writer(robot)
    bodies = {x.name: writer.traced(x, x.name) for x in _ALGORITHMS}
    bodies |= {
        "gear_load": writer.gear_load(),
        "friction_torque": Body(_friction(robot)),
    }
    for link, placement in robot.links.items():
        for algorithm in (POSE, JACOBIAN, JACOBIAN_DOT_QD):
            name = f"{algorithm.name}_{link}"
            bodies[name] = writer.traced(algorithm, name, placement)
    size = sizes(robot.n)
    texts = []
    for signature in signatures(robot):
        if signature.name in bodies:
            lines, parts = bodies[signature.name]
            if signature.status:
                terms = [
                    f"{x}[{i}]" for x in signature.arguments for i in range(size[x])
                ]
                lines = [finite(robot.name, terms), *lines]
            text = indent("\n".join(lines), "    ")
            texts += [*parts, f"{prototype(robot, signature)}\n{{\n{text}\n}}\n"]
    return "\n".join(texts)


_ALGORITHMS = (
    INVERSE_DYNAMICS,
    GRAVITY_TORQUE,
    BIAS_TORQUE,
    MASS_MATRIX,
    FORWARD_DYNAMICS,
)


class _Writer:
    """Bodies of the traced functions of a robot."""

    def __init__(self, robot: Tree) -> None:
        self.robot = robot
        places = interpreted(unpack)(robot.topology, np.arange(len(robot.parameters)))
        self._rotor_inertias = places.rotors[:, ROTOR_INERTIA]
        masses = places.bodies[:, MASS:BODY_SIZE]
        self._inputs = np.concatenate(
            [places.gravity, masses.ravel(), self._rotor_inertias]
        )
        self._payload_places = (
            masses[robot.payload.body] if robot.payload.body >= 0 else masses[0, :0]
        )

    def traced(
        self, algorithm: Algorithm, name: str, link: LinkPlacement | None = None
    ) -> Body:
        """Return the body of the function of an algorithm."""
        return self._body(algorithm, name, algorithm.result, link)

    def gear_load(self) -> Body:
        """Return the body of inverse dynamics without rotors."""
        if len(self._rotor_inertias):
            return self._body(INVERSE_DYNAMICS, "gear_load", "load", None, rotors=False)
        return Body(
            [f"{self.robot.name}_inverse_dynamics(q, qd, qdd, gravity, payload, load);"]
        )

    def _body(
        self,
        algorithm: Algorithm,
        name: str,
        result: str,
        link: LinkPlacement | None,
        rotors: bool = True,
    ) -> Body:
        """Return the body of a function that writes ``result``; without ``rotors``, their inertias are zero."""
        robot = self.robot
        program = trace_algorithm(
            algorithm, robot.topology, robot.parameters, self._inputs, link
        )
        trace = Trace()
        values = self._values(trace, rotors)
        if link is not None:
            values[:3] = [0.0] * 3  # kinematics do not depend on gravity

        def replaced(node: Node) -> Scalar:
            if node.array == "parameters":
                return values[node.element]  # type: ignore[no-any-return]
            return trace.input(node.array, node.element)

        own = 0 if program is None else specialised(program, trace, replaced)
        names = {
            *algorithm.vectors,
            *(() if link else ("payload",) if algorithm == MASS_MATRIX else _CONTEXT),
        }
        if isinstance(own, int):
            return Body([*unused(names | {result}), singular(robot.name, own)])
        return body(own, result, names, robot.name, name)

    def _values(self, trace: Trace, rotors: bool) -> Scalars:
        """Return the model parameters, as numbers and as expressions of gravity and payload."""
        values: Scalars = np.array(self.robot.parameters.tolist(), dtype=object)
        values[:3] = [trace.input("gravity", k) for k in range(3)]
        if not rotors:
            values[self._rotor_inertias] = 0.0
        if len(self._payload_places):
            carrier = values[self._payload_places]
            payload = np.array(
                [trace.input("payload", k) for k in range(10)], dtype=object
            )
            interpreted(add_inertia)(
                self.robot.payload.frame.astype(object), payload, carrier
            )
            values[self._payload_places] = carrier
        return values


_CONTEXT = ("gravity", "payload")


def friction_rows(robot: Tree) -> list[int]:
    """Return the indices of the joints that have friction."""
    return [i for i, row in enumerate(robot.friction) if row.any()]


def _friction(robot: Tree) -> list[str]:
    """Return the statements of friction_torque: G^T f(G q, G qd), with the coupling matrix G."""
    model = interpreted(unpack)(robot.topology, robot.parameters)
    terms: list[list[str]] = [[] for _ in range(robot.n)]
    lines = []
    names = {"q", "qd", "load", "smoothing_velocity"}
    for k, i in enumerate(friction_rows(robot)):
        own = slice(model.tree[i, FIRST], model.tree[i, AFTER])
        entries = [
            *zip(
                model.coordinates[own].tolist(),
                model.factors[own].tolist(),
                strict=True,
            )
        ]
        position, rate = (
            " + ".join(_scaled(factor, f"{x}[{c}]") for c, factor in entries)
            for x in ("q", "qd")
        )
        loaded = interpreted(depends_on_load)(robot.friction[i])
        load = f"load[{entries[0][0]}]" if loaded else "0.0"
        arguments = (
            f"&{robot.name}_joints[{k}], {position}, {rate}, {load}, smoothing_velocity"
        )
        lines.append(f"const double f{i} = {robot.name}_joint_friction({arguments});")
        names -= {"q", "qd", "smoothing_velocity", *(["load"] if loaded else [])}
        for c, factor in entries:
            terms[c].append(_scaled(factor, f"f{i}"))
    lines += [
        f"tau[{c}] = {' + '.join(term) or '0.0'};" for c, term in enumerate(terms)
    ]
    return [*unused(names), *lines]


def _scaled(factor: float, text: str) -> str:
    return text if factor == 1.0 else f"{number(factor)} * {text}"


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
    total = fill(" + ".join(terms), width=_WIDTH, break_on_hyphens=False)
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
        operations[i : i + LARGEST_C_FUNCTION]
        for i in range(0, len(operations), LARGEST_C_FUNCTION)
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
