"""Cholesky factorisation M = L^T L and solution of small symmetric positive definite systems.

The factorisation runs from the last row to the first. This order keeps the zeros of a branched robot's mass matrix:
Featherstone, Rigid Body Dynamics Algorithms, 6.5.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.thresholds import SMALLEST_PIVOT


@kernel
def factorise(matrix: Array) -> int:
    """Replace the lower triangle of ``matrix`` (n, n) with its factor L, whose diagonal is stored as 1 / L_jj.

    The upper triangle is neither read nor written. Returns -1 on success. Otherwise the matrix is not positive
    definite; returns the row j, counted down from n - 1, at which this was found. The triangle is then incomplete.
    """
    n = matrix.shape[0]
    for j in range(n - 1, -1, -1):
        diagonal = matrix[j, j]
        pivot = diagonal
        for k in range(j + 1, n):
            pivot -= matrix[k, j] * matrix[k, j]
        if not pivot > SMALLEST_PIVOT * diagonal:  # also catches NaN
            return j
        inverse = 1.0 / math.sqrt(pivot)
        matrix[j, j] = inverse
        for i in range(j):
            total = matrix[j, i]
            for k in range(j + 1, n):
                total -= matrix[k, j] * matrix[k, i]
            matrix[j, i] = total * inverse
    return -1


@kernel
def solve_factorised(factor: Array, vector: Array) -> None:
    """Replace ``vector`` b (n,) with the solution x of L^T L x = b.

    ``factor`` (n, n) is the result of a successful ``factorise``; only its lower triangle is read.
    """
    n = factor.shape[0]
    for i in range(n - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, n):
            total -= factor[k, i] * vector[k]
        vector[i] = total * factor[i, i]
    for i in range(n):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total * factor[i, i]
