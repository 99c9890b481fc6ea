"""Linear equality constraints E_k v = b_k, solved by Gauss-Jordan elimination: friction rows and loops.

E_k is row k of a matrix of directions (K, n), one row for each constraint row or each coordinate of a loop's gap; v has
n coordinates. Elimination with full pivoting expresses pivot coordinates v_p by the others v_f, v_p = b' - F v_f, and
detects linearly dependent rows. A row that is a single coordinate is satisfied exactly, a combination of coordinates up
to rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import (
    allocating_kernel,
    inlined,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row
from robot_dynamics_ros.simulation.thresholds import DEPENDENCE_TOLERANCE


class Equations(NamedTuple):
    """Reduced row echelon form of the constraints, in the first ``rank`` rows; the others are undefined.

    Attributes
    ----------
    table
        (n, 2 n + 1): coefficients c (n,), mixture m (n,) and right-hand side b of each equation c v = b. A coefficient
        is 1 in the equation's own pivot column, 0 in the other pivot columns. c is the sum over i of m_i times the
        original row of equation i.
    pivots
        (n,): pivot column of each equation.
    members
        (n,): index of the original row of each equation; -1 for those to which the elimination added rows.
    rank
        Number of equations.
    """

    table: Array
    pivots: IntArray
    members: IntArray
    rank: int


@allocating_kernel
def no_equations(n: int) -> Equations:
    """Return an empty set of equations for ``n`` coordinates."""
    integers = np.empty((2, n), np.int64)
    return Equations(np.empty((n, 2 * n + 1)), integers[0], integers[1], 0)


@kernel
def _subtract(one: Array, pivot: int, others: Array, count: int) -> None:
    """Subtract multiples of a row from the first ``count`` of other rows, so that these are 0 in the pivot column."""
    for k in range(count):
        share = others[k, pivot]
        if share != 0.0:
            for j in range(one.shape[0]):
                others[k, j] -= share * one[j]
            others[k, pivot] = 0.0


# The next pivot is the largest coefficient of all rows that are left, relative to the smallest one that counts. What
# remains of a dependent row is rounding error only: such rows are recognised and left over. The mixture records how the
# original rows combine, from which their multipliers follow.
@allocating_kernel
def eliminate(
    base: Equations,
    directions: Array,
    chosen: NDArray[np.bool_],
    targets: Array,
    group: int,
    tolerance: float,
    most: int,
) -> Equations:
    """Return the equations ``base`` and E_k v = targets[k] of the ``chosen`` rows in reduced form, in new arrays.

    E is ``directions`` (K, n), ``targets`` (K,) are the right-hand sides, ``chosen`` (K,) is True for rows to use. Rows
    that elimination reduces below ``tolerance`` times the largest coefficient of their ``group`` of rows depend
    linearly on others; they are skipped, also if their targets contradict. Elimination ends at rank ``most``.
    """
    count, n = directions.shape
    width = 2 * n + 1
    table = np.zeros((n, width))
    pivots = np.full(n, -1)
    members = np.full(n, -1)
    rank = base.rank
    left = np.zeros((count, width))
    least = np.full(count, math.inf)
    for k in range(count):
        if chosen[k]:
            first = k - k % group
            largest = 0.0
            for j in range(n):
                left[k, j] = directions[k, j]
                for i in range(first, first + group):
                    largest = max(largest, abs(directions[i, j]))
            left[k, 2 * n] = targets[k]
            least[k] = tolerance * largest
    for i in range(rank):
        pivots[i] = base.pivots[i]
        for j in range(width):
            table[i, j] = base.table[i, j]
        _subtract(table[i], pivots[i], left, count)
    while rank < min(n, most):
        largest = 1.0
        source = -1
        pivot = -1
        for k in range(count):
            if least[k] < math.inf:
                for j in range(n):
                    size = abs(left[k, j])
                    if size > largest * least[k]:
                        largest = size / least[k]
                        source = k
                        pivot = j
        if source < 0:
            break
        least[source] = math.inf
        left[source, n + rank] = 1.0
        leading = left[source, pivot]
        for j in range(width):
            table[rank, j] = left[source, j] / leading
        _subtract(table[rank], pivot, table, rank)
        _subtract(table[rank], pivot, left, count)
        pivots[rank] = pivot
        members[rank] = source
        rank += 1
    return Equations(table, pivots, members, rank)


@inlined
def add_rows(
    base: Equations, directions: Array, chosen: NDArray[np.bool_], targets: Array
) -> Equations:
    """Return the equations ``base`` with those of the ``chosen`` constraint rows, as ``eliminate`` does."""
    n = directions.shape[1]
    return eliminate(base, directions, chosen, targets, 1, DEPENDENCE_TOLERANCE, n)


@kernel
def satisfy(equations: Equations, v: Array) -> None:
    """Change the pivot coordinates of ``v`` (n,) so that it satisfies the equations; the others are unchanged."""
    n = v.shape[0]
    for i in range(equations.rank):
        total = equations.table[i, 2 * n]
        for j in range(n):
            if j != equations.pivots[i]:
                total -= equations.table[i, j] * v[j]
        v[equations.pivots[i]] = total


@allocating_kernel
def minimise_in_null_space(
    equations: Equations, matrix: Array, force: Array, result: Array
) -> int:
    """Write to ``result`` (n,) the minimiser of 1/2 x^T A x - force^T x over all x with E_k x = 0 for each equation.

    A is ``matrix`` (n, n), symmetric with both triangles; ``force`` has shape (n,). The right-hand sides are not used.
    Returns -1, or the coordinate at which A, reduced to the null space, is not positive definite; ``result`` is then 0.
    """
    n = force.shape[0]
    d = n - equations.rank
    table = equations.table
    pivots = equations.pivots
    others = np.empty(d, np.int64)
    reduced = np.empty((d, d))
    values = np.empty(d)
    pull = np.empty(n)
    is_pivot = np.zeros(n, np.bool_)
    for i in range(equations.rank):
        is_pivot[pivots[i]] = True
    a = 0
    for j in range(n):
        if not is_pivot[j]:
            others[a] = j
            a += 1
    # Vector a of the basis has a 1 at coordinate j of the others, and -table[i, j] at pivot i.
    for a in range(d):
        j = others[a]
        values[a] = force[j]
        for k in range(n):
            pull[k] = matrix[k, j]
        for i in range(equations.rank):
            share = table[i, j]
            if share != 0.0:
                values[a] -= share * force[pivots[i]]
                for k in range(n):
                    pull[k] -= share * matrix[k, pivots[i]]
        for b in range(a, d):  # the lower triangle
            reduced[b, a] = pull[others[b]]
            for i in range(equations.rank):
                reduced[b, a] -= table[i, others[b]] * pull[pivots[i]]
    result[:] = 0.0
    bad = factorise(reduced)
    if bad >= 0:
        return int(others[bad])
    solve_factorised(reduced, values)
    for a in range(d):
        result[others[a]] = values[a]
        for i in range(equations.rank):
            result[pivots[i]] -= table[i, others[a]] * values[a]
    return -1


@allocating_kernel
def minimise(equations: Equations, matrix: Array, force: Array, x: Array) -> int:
    """Change ``x`` (n,) to the minimiser of 1/2 x^T A x - force^T x that satisfies the equations.

    Arguments and result are those of ``minimise_in_null_space``.
    """
    left = np.empty(x.shape[0])
    step = np.empty(x.shape[0])
    satisfy(equations, x)
    for i in range(x.shape[0]):
        left[i] = force[i] - row.product(matrix, i, x)
    failed = minimise_in_null_space(equations, matrix, left, step)
    for i in range(x.shape[0]):
        x[i] += step[i]
    satisfy(equations, x)
    return failed


@kernel
def multiplier(equations: Equations, pull: Array, i: int) -> float:
    """Return the multiplier of equation ``i``: element i of those with sum_i lambda_i E_i = ``pull`` (n,).

    E_i is the original row of the equation.
    """
    n = pull.shape[0]
    total = 0.0
    for m in range(equations.rank):
        total += equations.table[m, n + i] * pull[equations.pivots[m]]
    return total


@allocating_kernel
def hold_at_rest(
    base: Equations, matrix: Array, directions: Array, rows: Array, motion: Array
) -> tuple[int, Array]:
    """Solve A a = load + reactions for the acceleration a (n,) with which rows at rest do not accelerate, E_k a = 0.

    a also satisfies ``base``, the equations of the loops. ``motion`` (2 or more, n) is changed: row 1 has the load
    (n,), the applied less the bias torque, and receives the reaction (n,) of the rows at rest; row 0 receives a. Units
    are rad/s^2 or m/s^2, and Nm or N. ``matrix`` A (n, n) is the mass matrix, with both triangles, to which an implicit
    integrator adds the step times the slope of smooth friction. ``directions`` is E (K, n). A row k is at rest if the
    column AT_REST of ``rows`` (K, SIZE), with the columns of module ``row``, is 1. Returns -1, or the coordinate at
    which A, reduced to the moving directions, is not positive definite; ``motion`` is then no solution. Also returns
    the reaction (n,) of ``base``.
    """
    n = motion.shape[1]
    zero = np.zeros(rows.shape[0])
    equations = add_rows(base, directions, rows[:, row.AT_REST] > 0.0, zero)
    motion[0] = 0.0
    failed = minimise(equations, matrix, motion[1], motion[0])
    pull = np.empty(n)
    for i in range(n):
        pull[i] = row.product(matrix, i, motion[0]) - motion[1, i]
    motion[1] = 0.0
    for i in range(base.rank, equations.rank):
        share = multiplier(equations, pull, i)
        row.add_along(directions, equations.members[i], share, motion[1])
    return failed, pull - motion[1]


@allocating_kernel
def project_position(directions: Array, targets: Array, position: Array) -> None:
    """Change ``position`` (n,) so that E_k position = targets[k] up to rounding, and exactly for single coordinates.

    E is ``directions`` (K, n), ``targets`` is (K,), rad or m; rows with target NaN are not constrained. Only the pivot
    coordinates of the elimination change.
    """
    none = no_equations(position.shape[0])
    satisfy(add_rows(none, directions, ~np.isnan(targets), targets), position)
