"""Linear equality constraints E_k v = b_k, solved by Gauss-Jordan elimination.

E_k is row k of a matrix of directions (K, n), one row for each constraint row; v has n coordinates. Elimination
expresses pivot coordinates v_p by the others v_f, v_p = b' - F v_f, and detects linearly dependent rows. A row that is
a single coordinate is satisfied exactly, a combination of coordinates up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step import row

DEPENDENCE_TOLERANCE = 1e-11
"""A row is linearly dependent if elimination reduces it below this share of its largest coefficient."""


class Equations(NamedTuple):
    """Reduced row echelon form of the constraints: table[i] v = targets[i] for i from 0 to ``rank`` - 1.

    Rows from ``rank`` on are 0. Original rows are those of the matrix that was reduced.

    Attributes
    ----------
    table
        (n, n): coefficients; 1 in the row's own pivot column, 0 in the other pivot columns.
    targets
        (n,): right-hand sides.
    mixture
        (n, n): table[i] is the sum over m of mixture[i, m] times the original row with index members[m].
    pivots
        (n,): pivot column of each row; -1 from ``rank`` on.
    members
        (n,): indices of the original rows that are independent, ascending; -1 from ``rank`` on.
    rank
        Number of independent rows.
    """

    table: Array
    targets: Array
    mixture: Array
    pivots: IntArray
    members: IntArray
    rank: int


@kernel
def _subtract(share: float, one: Array, other: Array) -> None:
    """Subtract ``share`` times a row from another one."""
    for j in range(one.shape[0]):
        other[j] -= share * one[j]


@kernel
def contains(numbers: IntArray, count: int, number: int) -> bool:
    """Return True if ``number`` is among the first ``count`` of ``numbers`` (m,)."""
    for k in range(count):
        if numbers[k] == number:
            return True
    return False


# Gauss-Jordan elimination, one row after the other, with the largest coefficient as pivot. What remains of a dependent
# row is rounding error only: such rows are recognised and skipped. The mixture records how the original rows combine,
# from which their multipliers follow.
@allocating_kernel
def eliminate(
    directions: Array, chosen: NDArray[np.bool_], targets: Array
) -> Equations:
    """Reduce the equations E_k v = targets[k] of the ``chosen`` rows to new arrays.

    E is ``directions`` (rows, n). ``chosen`` (rows,) is True for rows to use, ``targets`` (rows,) are the right-hand
    sides. Rows that depend linearly on earlier chosen rows are skipped, also if their targets contradict.
    """
    rows, n = directions.shape
    table = np.zeros((n, n))
    values = np.zeros(n)
    mixture = np.zeros((n, n))
    pivots = np.full(n, -1)
    members = np.full(n, -1)
    rank = 0
    left = np.empty(n)
    part = np.empty(n)
    for k in range(rows):
        if not chosen[k] or rank == n:
            continue
        size = 0.0
        value = targets[k]
        for j in range(n):
            left[j] = directions[k, j]
            part[j] = 0.0
            size = max(size, abs(left[j]))
        part[rank] = 1.0
        for i in range(rank):
            share = left[pivots[i]]
            _subtract(share, table[i], left)
            _subtract(share, mixture[i], part)
            value -= share * values[i]
        pivot = 0
        for j in range(n):
            pivot = j if abs(left[j]) > abs(left[pivot]) else pivot
        leading = left[pivot]
        if not abs(leading) > DEPENDENCE_TOLERANCE * size:
            continue
        for j in range(n):
            table[rank, j] = left[j] / leading
            mixture[rank, j] = part[j] / leading
        values[rank] = value / leading
        for i in range(rank):
            share = table[i, pivot]
            _subtract(share, table[rank], table[i])
            _subtract(share, mixture[rank], mixture[i])
            values[i] -= share * values[rank]
            table[i, pivot] = 0.0
        pivots[rank] = pivot
        members[rank] = k
        rank += 1
    return Equations(table, values, mixture, pivots, members, rank)


@kernel
def satisfy(equations: Equations, vector: Array) -> None:
    """Change the pivot coordinates of ``vector`` (n,) so that it satisfies the equations; the others are unchanged."""
    for i in range(equations.rank):
        total = equations.targets[i]
        for j in range(vector.shape[0]):
            if j != equations.pivots[i]:
                total -= equations.table[i, j] * vector[j]
        vector[equations.pivots[i]] = total


@allocating_kernel
def _free_coordinates(equations: Equations) -> IntArray:
    """Return the coordinates that are not pivots."""
    others = np.ones(equations.targets.shape[0], np.bool_)
    for i in range(equations.rank):
        others[equations.pivots[i]] = False
    return np.flatnonzero(others)


@allocating_kernel
def minimise_in_null_space(
    equations: Equations, matrix: Array, force: Array, result: Array
) -> int:
    """Write to ``result`` (n,) the minimiser of 1/2 x^T A x - force^T x over all x with table x = 0.

    A is ``matrix`` (n, n), symmetric with both triangles; ``force`` has shape (n,). The targets are not used. Returns
    -1, or the coordinate at which A, reduced to the null space, is not positive definite; ``result`` is then unchanged.
    """
    n = force.shape[0]
    others = _free_coordinates(equations)
    basis = np.zeros((n, others.shape[0]))
    for a in range(others.shape[0]):
        basis[others[a], a] = 1.0
        for i in range(equations.rank):
            basis[equations.pivots[i], a] = -equations.table[i, others[a]]
    reduced = np.zeros((others.shape[0], others.shape[0]))
    values = np.zeros(others.shape[0])
    for a in range(others.shape[0]):
        for i in range(n):
            values[a] += basis[i, a] * force[i]
            pull = 0.0
            for j in range(n):
                pull += matrix[i, j] * basis[j, a]
            for b in range(others.shape[0]):
                reduced[b, a] += basis[i, b] * pull
    bad = factorise(reduced)
    if bad >= 0:
        return int(others[bad])
    solve_factorised(reduced, values)
    for i in range(n):
        result[i] = 0.0
        for a in range(others.shape[0]):
            result[i] += basis[i, a] * values[a]
    return -1


@kernel
def multiplier(equations: Equations, pull: Array, i: int) -> float:
    """Return element ``i`` of the multipliers lambda (rank,) that solve sum_m lambda_m E_members[m] = ``pull`` (n,).

    ``i`` is a position in ``equations.members``, from 0 to rank - 1, not the index of an original row.
    """
    total = 0.0
    for k in range(equations.rank):
        total += equations.mixture[k, i] * pull[equations.pivots[k]]
    return total


@allocating_kernel
def hold_at_rest(matrix: Array, directions: Array, rows: Array, motion: Array) -> int:
    """Solve A a = load + reaction for the acceleration a (n,) at which the rows at rest do not accelerate, E_k a = 0.

    ``motion`` (2 or more, n) is changed: row 1 has the load (n,), the applied less the bias torque, and receives the
    reaction (n,); row 0 receives a. Units are rad/s^2 or m/s^2, and Nm or N. ``matrix`` A (n, n) is the mass matrix,
    with both triangles, to which an implicit integrator adds the step times the slope of viscous friction.
    ``directions`` is E (K, n). A row k is at rest if the column AT_REST (stick_slip) of ``rows`` (K, ROW_SIZE) is 1.
    Returns -1, or the coordinate at which A, reduced to the moving directions, is not positive definite; ``motion`` is
    then no solution.
    """
    equations = eliminate(
        directions, rows[:, row.AT_REST] > 0.0, np.zeros(rows.shape[0])
    )
    failed = minimise_in_null_space(equations, matrix, motion[1], motion[0])
    for i in range(motion.shape[1]):
        motion[1, i] = -motion[1, i]
        for j in range(motion.shape[1]):
            motion[1, i] += matrix[i, j] * motion[0, j]
    return failed


@allocating_kernel
def project_position(directions: Array, targets: Array, position: Array) -> None:
    """Change ``position`` (n,) so that E_k position = targets[k] up to rounding.

    E is ``directions`` (K, n), ``targets`` is (K,), rad or m; rows with target NaN are not constrained. Only the pivot
    coordinates of the elimination change. Rows that depend linearly on earlier ones are skipped.
    """
    satisfy(eliminate(directions, ~np.isnan(targets), targets), position)
