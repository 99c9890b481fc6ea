"""Execution of kernels as plain Python on symbolic scalars, which records their arithmetic.

A symbolic scalar is an ``Expression`` of a ``Trace`` (codegen.expressions). To trace an algorithm is to run its kernel
once on such scalars for the given robot. A guard is a comparison that is assumed to be true and checked by the
generated code. ``topology`` and ``parameters`` are the flat model arrays of a robot, from kernels.layout.pack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.codegen.expressions import Trace
from robot_dynamics_ros.dynamics.kernels.composite_body import composite_body
from robot_dynamics_ros.dynamics.kernels.forward_dynamics import solve_fixed_mode_motion, solve_motion
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import BODY_SIZE, MASS, WORK_SIZE, ModelArrays, coordinate_count, unpack
from robot_dynamics_ros.dynamics.kernels.newton_euler import gravity_torque, newton_euler
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

Scalars = NDArray[np.object_]


class Algorithm(NamedTuple):
    """Kernel that can be customised, that is, generated for one robot; the constants of this module are all of them.

    Attributes
    ----------
    name
        Name of the kernel and of its generated versions.
    vectors
        Names of the arguments of shape (n,), in order.
    result
        Name of the argument to which the result is written.
    axes
        Number of axes of the result, 1 for a vector, 2 for a matrix.
    """

    name: str
    vectors: tuple[str, ...]
    result: str
    axes: int


INVERSE_DYNAMICS = Algorithm("inverse_dynamics", ("q", "qd", "qdd"), "tau", 1)
GRAVITY_TORQUE = Algorithm("gravity_torque", ("q",), "tau", 1)
MASS_MATRIX = Algorithm("mass_matrix", ("q",), "matrix", 2)
FORWARD_DYNAMICS = Algorithm("forward_dynamics", ("q", "qd", "tau"), "qdd", 1)
FIXED_MODE_MOTION = Algorithm(
    "own_fixed_mode_motion", ("q", "qd", "force", "stiffness", "moves"), "motion", 2
)  # (2 + n, n)


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
    """

    algorithm: Algorithm
    parameter_count: int
    n: int
    trace: Trace
    results: Scalars


def trace_algorithm(algorithm: Algorithm, topology: IntArray, parameters: Array) -> Program | None:
    """Return an algorithm's program for the robot with the given model arrays, or None if it cannot be traced.

    ``algorithm`` is a constant of this module, such as INVERSE_DYNAMICS. Tree, placements, couplings, rotors and
    gravity are folded into the program. Mass, first moment and inertia of each body are read from ``parameters`` at run
    time, so that a payload needs no new program.

    Forward dynamics, also with locked joints, has one guard for each coordinate: the pivots of the mass matrix, from
    the last coordinate to the first. The result is None for a robot with a pivot that does not depend on the bodies,
    that is, with a coordinate that moves only rotors or nothing.
    """
    n = int(interpreted(coordinate_count)(topology))
    trace = Trace()
    symbols: Any = np.array(parameters.tolist(), dtype=object)
    places: IntArray = interpreted(unpack)(topology, np.arange(len(parameters))).bodies[:, MASS:BODY_SIZE]
    for place in places.flat:
        symbols[place] = trace.input("parameters", int(place))
    robot: ModelArrays = interpreted(unpack)(topology, symbols)
    vectors: Any = [np.array([trace.input(name, j) for j in range(n)], dtype=object) for name in algorithm.vectors]
    results = run(algorithm, robot, vectors)
    if results is None or (algorithm == FORWARD_DYNAMICS and len(trace.guards) < n):
        return None
    return Program(algorithm, len(parameters), n, trace, results)


def run(algorithm: Algorithm, robot: ModelArrays, vectors: Sequence[Scalars]) -> Scalars | None:
    """Return the results of a general kernel, run as plain Python on arguments (n,) of any number type.

    ``robot`` has the model arrays (from kernels.layout.unpack). ``vectors`` are the arguments that
    ``algorithm.vectors`` names, arrays (n,) of dtype object. The result is an array of dtype object and
    ``algorithm.axes`` axes, or None if the mass matrix is not positive definite.
    """
    n = len(vectors[0])
    work: Any = np.empty((len(robot.tree), WORK_SIZE), dtype=object)
    results: Scalars = np.empty(algorithm.axes * (n,), dtype=object)
    matrix: Any = np.empty((n, n), dtype=object)
    no_wrenches = np.empty((0, 6))
    if algorithm == INVERSE_DYNAMICS:
        interpreted(newton_euler)(robot, *vectors, no_wrenches, work, results)
    elif algorithm == GRAVITY_TORQUE:
        interpreted(gravity_torque)(robot, *vectors, no_wrenches, work, results)
    elif algorithm == MASS_MATRIX:
        interpreted(composite_body)(robot, *vectors, work, results)
    elif algorithm == FIXED_MODE_MOTION:
        results = np.empty((2 + n, n), dtype=object)
        if interpreted(solve_fixed_mode_motion)(robot, *vectors, no_wrenches, work, matrix, results) >= 0:
            return None
    elif interpreted(solve_motion)(robot, *vectors, no_wrenches, work, matrix, results) >= 0:
        return None
    return results
