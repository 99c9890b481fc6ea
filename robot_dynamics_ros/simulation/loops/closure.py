"""General solution x = offset + basis u of the loop constraints G x = b.

G (3 loops, n) is the Jacobian of the loop constraints, and x (n,) a velocity, an acceleration or a change of position.
Gauss-Jordan elimination with full pivoting determines the rank of G, as planar loops have dependent constraints, and
chooses the d = n - rank independent coordinates u. K is the number of constraint rows, the directions E_k in which
friction and limits act. Results are new arrays unless a function writes to an argument.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from robot_dynamics_ros.dynamics.kernels.compilation import allocating_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.simulation.step.elimination import (
    Equations,
    eliminate,
    minimise_in_null_space,
    satisfy,
)

RANK_TOLERANCE = 1e-5
"""Relative rank tolerance of the loop constraints: a planar mechanism stays planar with angles such as 1.5708."""

_NOISE = 1e-11  # relative: the loops lock a row whose reduced coefficients are smaller


class Motions(NamedTuple):
    """General solution x = offset + basis u of the loop constraints, with d = n - rank.

    Attributes
    ----------
    basis
        (n, d): columns span the null space of G.
    offset
        (n,): the solution with u = 0.
    free
        (d,): indices of the independent coordinates u.
    dependent
        (rank,): indices of the dependent coordinates.
    """

    basis: Array
    offset: Array
    free: IntArray
    dependent: IntArray


# Full pivoting finds the rank: the constraints of a planar loop normal to its plane vanish, and so do those that other
# loops imply. Each pivot makes one coordinate depend on the others, which are the independent ones.
@allocating_kernel
def null_space(jacobian: Array, required: Array, most: int) -> Motions:
    """Return the solutions of G x = ``required`` (3 loops,).

    G is ``jacobian`` (3 loops, n). Elimination stops at rank ``most``. Equations that depend linearly on others are
    dropped, also if they contradict.
    """
    equations, n = jacobian.shape
    table = jacobian.copy()
    values = required.copy()
    sizes = np.zeros(equations)
    for i in range(0, equations, 3):
        sizes[i : i + 3] = np.abs(jacobian[i : i + 3]).max()
    # row of each dependent coordinate
    pivots = np.full(n, -1)
    used = np.zeros(equations, np.bool_)
    rank = 0
    while rank < min(most, equations, n):
        largest = RANK_TOLERANCE
        row = -1
        column = -1
        for i in range(equations):
            if not used[i] and sizes[i] > 0.0:
                for j in range(n):
                    if abs(table[i, j]) / sizes[i] > largest:
                        largest = abs(table[i, j]) / sizes[i]
                        row = i
                        column = j
        if row < 0:
            break
        leading = table[row, column]
        values[row] /= leading
        table[row] /= leading
        for i in range(equations):
            share = table[i, column]
            if i != row and share != 0.0:
                values[i] -= share * values[row]
                table[i] -= share * table[row]
                table[i, column] = 0.0
        pivots[column] = row
        used[row] = True
        rank += 1
    free = np.flatnonzero(pivots < 0)
    dependent = np.flatnonzero(pivots >= 0)
    basis = np.zeros((n, n - rank))
    offset = np.zeros(n)
    for a in range(n - rank):
        basis[free[a], a] = 1.0
        for b in range(rank):
            basis[dependent[b], a] = -table[pivots[dependent[b]], free[a]]
    for b in range(rank):
        offset[dependent[b]] = values[pivots[dependent[b]]]
    return Motions(basis, offset, free, dependent)


@allocating_kernel
def reduced_matrix(matrix: Array, basis: Array) -> Array:
    """Return B^T A B (d, d), for ``matrix`` A (n, n), symmetric with both triangles, and ``basis`` B (n, d)."""
    n, d = basis.shape
    product = np.zeros((d, d))
    for a in range(d):
        for i in range(n):
            pull = 0.0
            for j in range(n):
                pull += matrix[i, j] * basis[j, a]
            for b in range(a + 1):
                product[a, b] += basis[i, b] * pull
    for a in range(d):
        for b in range(a):
            product[b, a] = product[a, b]
    return product


@allocating_kernel
def reduced_vector(vector: Array, basis: Array) -> Array:
    """Return B^T ``vector`` (d,), for ``basis`` B (n, d) and ``vector`` (n,)."""
    result = np.zeros(basis.shape[1])
    for a in range(basis.shape[1]):
        for i in range(basis.shape[0]):
            result[a] += basis[i, a] * vector[i]
    return result


@allocating_kernel
def reduced_rows(directions: Array, basis: Array) -> Array:
    """Return E B (K, d), with exact zeros for rows that the loops lock.

    E is ``directions`` (K, n), B is ``basis`` (n, d).
    """
    rows, n = directions.shape
    product = np.zeros((rows, basis.shape[1]))
    for k in range(rows):
        for a in range(basis.shape[1]):
            size = 0.0
            for j in range(n):
                part = directions[k, j] * basis[j, a]
                product[k, a] += part
                size = max(size, abs(directions[k, j]), abs(part))
            if abs(product[k, a]) < _NOISE * size:
                product[k, a] = 0.0
    return product


@kernel
def expand_motion(motions: Motions, u: Array, result: Array) -> None:
    """Write offset + basis u to ``result`` (n,), for ``u`` (d,)."""
    for i in range(result.shape[0]):
        result[i] = motions.offset[i]
        for a in range(u.shape[0]):
            result[i] += motions.basis[i, a] * u[a]


@allocating_kernel
def minimise(
    matrix: Array,
    force: Array,
    motions: Motions,
    directions: Array,
    chosen: NDArray[np.bool_],
    targets: Array,
    result: Array,
) -> tuple[int, Equations]:
    """Write to ``result`` (n,) the minimiser of 1/2 x^T A x - force^T x among ``motions`` with E_k x = targets[k].

    A is ``matrix`` (n, n), symmetric with both triangles; E is ``directions`` (K, n), ``force`` is (n,). The
    constraints are those of rows with True in ``chosen`` (K,), with ``targets`` (K,); linearly dependent ones are
    skipped. Returns -1, or the coordinate at which A, reduced to the solutions, is not positive definite, and the
    reduced equations of the rows in terms of u.
    """
    rows = directions.shape[0]
    d = motions.free.shape[0]
    n = result.shape[0]
    required = np.empty(rows)
    for k in range(rows):
        required[k] = targets[k]
        for j in range(n):
            required[k] -= directions[k, j] * motions.offset[j]
    equations = eliminate(reduced_rows(directions, motions.basis), chosen, required)
    u = np.zeros(d)
    step = np.zeros(d)
    left = np.empty(n)
    satisfy(equations, u)
    expand_motion(motions, u, result)
    for i in range(n):
        left[i] = force[i]
        for j in range(n):
            left[i] -= matrix[i, j] * result[j]
    small = reduced_matrix(matrix, motions.basis)
    failed = minimise_in_null_space(
        equations, small, reduced_vector(left, motions.basis), step
    )
    if failed >= 0:
        return int(motions.free[failed]), equations
    u += step
    expand_motion(motions, u, result)
    return -1, equations


@allocating_kernel
def round_to_targets(
    motions: Motions,
    directions: Array,
    chosen: NDArray[np.bool_],
    targets: Array,
    x: Array,
) -> None:
    """Correct rounding errors in ``x`` (n,): chosen rows of a single coordinate get exactly their targets.

    ``x``, which is changed, is the result of ``minimise`` for the same ``motions``, ``directions`` (K, n), ``chosen``
    (K,) and ``targets`` (K,).
    """
    rank = motions.dependent.shape[0]
    n = x.shape[0]
    rows = directions.shape[0]
    table = np.zeros((rows + rank, n))
    all_targets = np.zeros(rows + rank)
    all_chosen = np.ones(rows + rank, np.bool_)
    all_chosen[:rows] = chosen
    all_targets[:rows] = targets
    table[:rows] = directions
    for i in range(rank):
        j = motions.dependent[i]
        all_targets[rows + i] = motions.offset[j]
        table[rows + i, j] = 1.0
        for a in range(n - rank):
            table[rows + i, motions.free[a]] = -motions.basis[j, a]
    satisfy(eliminate(table, all_chosen, all_targets), x)


@allocating_kernel
def add_loop_forces(
    jacobian: Array, dependent: IntArray, torque: Array, weight: float, forces: Array
) -> None:
    """Add ``weight`` times the minimum-norm solution (3 loops,) of G^T x = ``torque`` (n,) to ``forces`` (3 loops,).

    G is ``jacobian`` (3 loops, n); ``dependent`` (rank,) are the indices of its pivot columns, the dependent
    coordinates.
    """
    rank = dependent.shape[0]
    size = jacobian.shape[0]
    gram = np.zeros((rank, rank))
    share = np.empty(rank)
    for a in range(rank):
        share[a] = torque[dependent[a]]
        for b in range(a + 1):
            for i in range(size):
                gram[a, b] += jacobian[i, dependent[a]] * jacobian[i, dependent[b]]
    if factorise(gram) >= 0:
        return
    solve_factorised(gram, share)
    for i in range(size):
        for a in range(rank):
            forces[i] += weight * jacobian[i, dependent[a]] * share[a]
