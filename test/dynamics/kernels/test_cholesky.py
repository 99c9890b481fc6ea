"""Cholesky factorisation from the last row to the first, compared with NumPy's solution."""

import numpy as np
import pytest

from robot_dynamics_ros.dynamics.kernels.cholesky import factorise, solve_factorised
from support.comparing import assert_close

SCALES = [1e-25, 1.0, 1e25]  # the result must not depend on units


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_factor_and_solution(n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix = root @ root.T + np.eye(n)
    b = rng.normal(size=n)
    factor = scale * matrix
    x = scale * b
    assert factorise(factor) == -1
    solve_factorised(factor, x)
    assert_close(x, np.linalg.solve(matrix, b), 1e-13)
    lower = np.tril(factor, -1) + np.diag(1.0 / np.diag(factor))
    assert_close(lower.T @ lower / scale, matrix, 1e-14)


@pytest.mark.parametrize("scale", SCALES)
def test_indefinite_matrices_are_reported(scale: float) -> None:
    """The first row in processing order is returned, also for a matrix that is singular up to rounding."""
    for matrix, row in [
        ([[2.0, 1.0], [1.0, 0.5]], 0),
        ([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], 1),
        ([[1.0, 0.0], [0.0, 0.0]], 1),
        ([[1.0 + 2.0**-52, 1.0], [1.0, 1.0]], 0),
        ([[1.0, 0.0], [0.0, np.nan]], 1),
    ]:
        assert factorise(scale * np.array(matrix)) == row
