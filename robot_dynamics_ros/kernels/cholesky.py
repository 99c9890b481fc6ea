"""Cholesky factorisation and solution of small symmetric positive definite systems."""

from __future__ import annotations

import math

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.types import Floats

# A pivot this small beside its diagonal element is rounding noise: the matrix is singular.
_SMALLEST_PIVOT = 1e-15


@kernel
def factorise(matrix: Floats) -> int:
    """Replace the lower triangle of ``matrix`` by its Cholesky factor.

    Returns -1, or the first row whose pivot is not positive: the matrix is not positive definite.
    """
    for j in range(matrix.shape[0]):
        diagonal = matrix[j, j]
        pivot = diagonal
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if not pivot > _SMALLEST_PIVOT * diagonal:  # also catches NaN
            return j
        root = math.sqrt(pivot)
        matrix[j, j] = root
        for i in range(j + 1, matrix.shape[0]):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / root
    return -1


@kernel
def solve_factorised(factor: Floats, vector: Floats) -> None:
    """Replace ``vector`` b by the solution of L L^T x = b."""
    n = factor.shape[0]
    for i in range(n):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]
    for i in range(n - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, n):
            total -= factor[k, i] * vector[k]
        vector[i] = total / factor[i, i]
