"""Execution of kernels as plain Python on symbolic scalars, which records their arithmetic.

A symbolic scalar is an ``Expression`` of a ``Trace`` (codegen.expressions). To trace an algorithm is to run its kernel
once on such scalars for the given robot. A guard is a comparison that is assumed to be true and checked by the
generated code. ``topology`` and ``parameters`` are the flat model arrays of a robot, from kernels.layout.pack.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.codegen.expressions import (
    CONSTANT,
    GREATER,
    INPUT,
    Expression,
    Node,
    Scalar,
    Trace,
)
from robot_dynamics_ros.dynamics.kernels.composite_body import composite_body
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import (
    solve_fixed_mode_motion,
    solve_motion,
)
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.kinematics import (
    jacobian,
    jacobian_dot_qd,
    link_pose,
)
from robot_dynamics_ros.dynamics.kernels.layout import (
    BODY_SIZE,
    MASS,
    WORK_SIZE,
    ModelArrays,
    coordinate_count,
    unpack,
)
from robot_dynamics_ros.dynamics.kernels.newton_euler import (
    bias_torque,
    gravity_torque,
    newton_euler,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

Scalars = NDArray[np.object_]


class Algorithm(NamedTuple):
    """Kernel that can be generated for one robot; the constants of this module are all of them.

    Attributes
    ----------
    name
        Name of the kernel and of its generated versions.
    vectors
        Names of the arguments of shape (n,), in order.
    result
        Name of the argument to which the result is written.
    kernel
        General kernel, a function of robot, link, vectors, scratch arrays and result.
    scratch
        Names of the scratch arrays, in order.
    shape
        Function of the number of coordinates that returns the shape of the result.
    """

    name: str
    vectors: tuple[str, ...]
    result: str
    kernel: Callable[..., Any]
    scratch: tuple[str, ...]
    shape: Callable[[int], tuple[int, ...]]


INVERSE_DYNAMICS = Algorithm(
    "inverse_dynamics",
    ("q", "qd", "qdd"),
    "tau",
    newton_euler,
    ("wrenches", "work"),
    lambda n: (n,),
)
GRAVITY_TORQUE = Algorithm(
    "gravity_torque",
    ("q",),
    "tau",
    gravity_torque,
    ("wrenches", "work"),
    lambda n: (n,),
)
MASS_MATRIX = Algorithm(
    "mass_matrix", ("q",), "matrix", composite_body, ("work",), lambda n: (n, n)
)
FORWARD_DYNAMICS = Algorithm(
    "forward_dynamics",
    ("q", "qd", "tau"),
    "qdd",
    solve_motion,
    ("wrenches", "work", "matrix"),
    lambda n: (n,),
)
FIXED_MODE_MOTION = Algorithm(
    "own_fixed_mode_motion",
    ("q", "qd", "force", "stiffness", "moves"),
    "motion",
    solve_fixed_mode_motion,
    ("wrenches", "work", "matrix"),
    lambda n: (2 + n, n),
)

# Only in exported code.
BIAS_TORQUE = Algorithm(
    "bias_torque",
    ("q", "qd"),
    "tau",
    bias_torque,
    ("wrenches", "work"),
    lambda n: (n,),
)
POSE = Algorithm("pose", ("q",), "pose", link_pose, ("work", "world"), lambda n: (4, 4))
JACOBIAN = Algorithm(
    "jacobian", ("q",), "jacobian", jacobian, ("work", "world"), lambda n: (6, n)
)
JACOBIAN_DOT_QD = Algorithm(
    "jacobian_dot_qd",
    ("q", "qd"),
    "product",
    jacobian_dot_qd,
    ("work", "world"),
    lambda n: (6,),
)


class LinkPlacement(NamedTuple):
    """Link of POSE, JACOBIAN or JACOBIAN_DOT_QD.

    ``body`` is the index of its body, -1 for the fixed base. ``frame`` (12,) is the link's frame in the body's:
    rotation row by row (9), then origin (3), m.
    """

    body: int
    frame: Array


class Program(NamedTuple):
    """Algorithm traced for one robot.

    Attributes
    ----------
    algorithm
        The algorithm.
    parameter_count
        Length of the robot's array ``parameters``.
    n
        Number of independent coordinates.
    trace
        Recorded operations.
    results
        Expressions or known numbers, in the shape of the result: (n,), (n, n) or (2 + n, n).
    guarded
        Coordinate of each guard of the trace: the pivots of the mass matrix.
    """

    algorithm: Algorithm
    parameter_count: int
    n: int
    trace: Trace
    results: Scalars
    guarded: tuple[int, ...]


def trace_algorithm(
    algorithm: Algorithm,
    topology: IntArray,
    parameters: Array,
    inputs: IntArray | None = None,
    link: LinkPlacement | None = None,
) -> Program | None:
    """Return an algorithm's program for the robot with the given model arrays, or None if it cannot be traced.

    ``algorithm`` is a constant of this module, such as INVERSE_DYNAMICS, and ``link`` the link of those that need one.
    ``inputs`` are the indices of the ``parameters`` that are read at run time; all others are folded into the program.
    None: mass, first moment and inertia of each body, so that a payload needs no new program. Tree, placements,
    couplings, rotors and gravity are then folded.

    Forward dynamics, also with locked joints, has one guard for each coordinate: the pivots of the mass matrix, from
    the last coordinate to the first. The result is None for a robot with a pivot that does not depend on the bodies,
    that is, with a coordinate that moves only rotors or nothing.
    """
    n = int(interpreted(coordinate_count)(topology))
    trace = Trace()
    symbols: Any = np.array(parameters.tolist(), dtype=object)
    if inputs is None:
        inputs = interpreted(unpack)(topology, np.arange(len(parameters))).bodies[
            :, MASS:BODY_SIZE
        ]
    for place in inputs.flat:
        symbols[place] = trace.input("parameters", int(place))
    robot: ModelArrays = interpreted(unpack)(topology, symbols)
    vectors: Any = [
        np.array([trace.input(name, j) for j in range(n)], dtype=object)
        for name in algorithm.vectors
    ]
    results = run(algorithm, robot, vectors, link)
    if results is None or (algorithm == FORWARD_DYNAMICS and len(trace.guards) < n):
        return None
    guarded = tuple(n - 1 - k for k in range(len(trace.guards)))
    return Program(algorithm, len(parameters), n, trace, results, guarded)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    GREATER: operator.gt,
}


def specialised(
    program: Program, trace: Trace, replaced: Callable[[Node], Scalar]
) -> Program | int:
    """Return a program in ``trace`` with inputs replaced by other expressions or numbers, and folded again.

    ``replaced`` returns the scalar for an input of the program, an expression of ``trace`` or a number. Guards that are
    then known to hold are left out. If one is known not to hold, the result is its coordinate.
    """
    nodes = program.trace.nodes
    values = dict[int, Any]()
    coordinates = dict(zip(program.trace.guards, program.guarded, strict=True))
    guarded: list[int] = []
    for place in program.trace.needed(program.results.ravel().tolist()):
        node = nodes[place]
        operands = [values[operand] for operand in node.operands]
        if node.operation == INPUT:
            values[place] = replaced(node)
        elif node.operation == CONSTANT:
            values[place] = node.value
        elif node.operation in _OPERATORS:
            values[place] = _OPERATORS[node.operation](*operands)
        elif isinstance(operands[0], Expression):
            values[place] = trace.function(node.operation, operands[0])
        else:
            values[place] = getattr(math, node.operation)(operands[0])
        if node.operation == GREATER:
            if not values[place]:
                return coordinates[place]
            guarded += [coordinates[place]] * (len(trace.guards) - len(guarded))
    results: Scalars = np.empty_like(program.results)
    for index, result in np.ndenumerate(program.results):
        value = values[result.place] if isinstance(result, Expression) else result
        results[index] = (
            -value if isinstance(result, Expression) and result.negative else value
        )
    return program._replace(trace=trace, results=results, guarded=tuple(guarded))


def run(
    algorithm: Algorithm,
    robot: ModelArrays,
    vectors: Sequence[Scalars],
    link: LinkPlacement | None = None,
) -> Scalars | None:
    """Return the results of a general kernel, run as plain Python on arguments (n,) of any number type.

    ``robot`` has the model arrays (from kernels.layout.unpack). ``vectors`` are the arguments that
    ``algorithm.vectors`` names, arrays (n,) of dtype object, and ``link`` that of the algorithms that need one. The
    result is an array of dtype object, or None if the mass matrix is not positive definite.
    """
    n = len(vectors[0])
    scratch = {
        "wrenches": np.empty((0, 6)),
        "work": np.empty((len(robot.tree), WORK_SIZE), dtype=object),
        "matrix": np.empty((n, n), dtype=object),
        "world": np.empty((len(robot.bodies), 12), dtype=object),
    }
    results: Scalars = np.empty(algorithm.shape(n), dtype=object)
    failed = interpreted(algorithm.kernel)(
        robot,
        *(() if link is None else (link.body, link.frame.astype(object))),
        *vectors,
        *(scratch[name] for name in algorithm.scratch),
        results,
    )
    return results if failed is None or failed < 0 else None
