"""Compiled kernels as plain Python, so that they run on other numbers than floats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.codegen.expressions import COS, SIN, SQRT, Trace
from robot_dynamics_ros.kernels.composite_body import composite_body
from robot_dynamics_ros.kernels.forward_dynamics import solve_fixed_mode_motion, solve_motion
from robot_dynamics_ros.kernels.layout import BODY_SIZE, MASS, WORK_SIZE, ModelArrays, coordinate_count, unpack
from robot_dynamics_ros.kernels.newton_euler import gravity_torque, newton_euler
from robot_dynamics_ros.kernels.types import Array, IntArray


class _Mathematics:
    """Replacement of ``math`` that calls a number's own sine, cosine and root where it has them."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(math, name)
        if name not in (SIN, COS, SQRT):
            return function
        return lambda x: getattr(x, name)() if hasattr(x, name) else function(x)


_MATHEMATICS = _Mathematics()


@cache
def interpreted(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The plain-Python twin of a kernel, whose calls go to the twins of the other kernels.

    It takes arrays of dtype object filled with any numbers that have the operators ``+ - * / >`` and the methods
    ``sin``, ``cos`` and ``sqrt``. It works alike where numba is missing or switched off.
    """
    function = getattr(kernel, "py_func", kernel)
    names = function.__globals__
    used = {name: _twin(names[name]) for name in function.__code__.co_names if name in names}
    defaults = tuple(_twin(value) for value in function.__defaults__ or ())
    twin = FunctionType(function.__code__, {**names, **used}, function.__name__, defaults, function.__closure__)
    twin.__doc__ = function.__doc__
    return twin


def _twin(value: Any) -> Any:
    if value is math:
        return _MATHEMATICS
    return interpreted(value) if hasattr(value, "py_func") or isinstance(value, FunctionType) else value


Scalars = NDArray[np.object_]


class Algorithm(NamedTuple):
    """A kernel that can be customised."""

    name: str
    vectors: tuple[str, ...]  # arguments of shape (n,)
    result: str
    axes: int  # of the result


INVERSE_DYNAMICS = Algorithm("inverse_dynamics", ("q", "qd", "qdd"), "tau", 1)
GRAVITY_TORQUE = Algorithm("gravity_torque", ("q",), "tau", 1)
MASS_MATRIX = Algorithm("mass_matrix", ("q",), "matrix", 2)
FORWARD_DYNAMICS = Algorithm("forward_dynamics", ("q", "qd", "tau"), "qdd", 1)
FIXED_MODE_MOTION = Algorithm(
    "own_fixed_mode_motion", ("q", "qd", "force", "stiffness", "moves"), "motion", 2
)  # (2 + n, n)


class Program(NamedTuple):
    """An algorithm for one robot."""

    algorithm: Algorithm
    numbers: int  # how many numbers the robot has
    n: int  # independent coordinates
    trace: Trace
    results: Scalars  # (n,) or (n, n) or (2 + n, n)


def trace_algorithm(algorithm: Algorithm, structure: IntArray, numbers: Array) -> Program | None:
    """Trace an algorithm for the robot that ``layout.pack`` made.

    Folded in: the tree, placements, couplings, rotors and gravity. Read from ``numbers`` at run time: mass, first
    moment and inertia of every body, so that a payload needs no new program.

    Forward dynamics, with joints held or not, has one guard a coordinate, the last coordinate's first: the pivots of
    the mass matrix. It is None for the rare robot of which a pivot does not depend on the bodies (a coordinate that
    only spins rotors, or moves nothing).
    """
    n = int(interpreted(coordinate_count)(structure))
    trace = Trace()
    symbols: Any = np.array(numbers.tolist(), dtype=object)
    places: IntArray = interpreted(unpack)(structure, np.arange(len(numbers))).bodies[:, MASS:BODY_SIZE]
    for place in places.flat:
        symbols[place] = trace.input("numbers", int(place))
    robot: ModelArrays = interpreted(unpack)(structure, symbols)
    vectors: Any = [np.array([trace.input(name, j) for j in range(n)], dtype=object) for name in algorithm.vectors]
    results = run(algorithm, robot, vectors)
    if results is None or (algorithm == FORWARD_DYNAMICS and len(trace.guards) < n):
        return None
    return Program(algorithm, len(numbers), n, trace, results)


def run(algorithm: Algorithm, robot: ModelArrays, vectors: Sequence[Scalars]) -> Scalars | None:
    """Results of the general kernel's plain-Python source for arguments (n,) of any kind of numbers.

    None where the mass matrix is found not positive definite.
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
