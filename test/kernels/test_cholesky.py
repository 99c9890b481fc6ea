"""Cholesky factorisation from the last row to the first, against NumPy's own solution."""

import numpy as np
import pytest

from robot_dynamics_ros.kernels.cholesky import factorise, solve_factorised
from support.comparing import assert_close

SCALES = [1e-25, 1.0, 1e25]  # a robot's units are its own affair


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_factor_and_solution(n: int, scale: float) -> None:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, b = root @ root.T + np.eye(n), rng.normal(size=n)
    factor, x = scale * matrix, scale * b
    assert factorise(factor) == -1
    solve_factorised(factor, x)
    assert_close(x, np.linalg.solve(matrix, b), 1e-13)
    lower = np.tril(factor, -1) + np.diag(1.0 / np.diag(factor))
    assert_close(lower.T @ lower / scale, matrix, 1e-14)


@pytest.mark.parametrize("scale", SCALES)
def test_what_is_not_positive_definite_is_found(scale: float) -> None:
    """The row met first, coming from the last one; by rounding noise, too."""
    for matrix, row in [
        ([[2.0, 1.0], [1.0, 0.5]], 0),
        ([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], 1),
        ([[1.0, 0.0], [0.0, 0.0]], 1),
        ([[1.0 + 2.0**-52, 1.0], [1.0, 1.0]], 0),
        ([[1.0, 0.0], [0.0, np.nan]], 1),
    ]:
        assert factorise(scale * np.array(matrix)) == row
