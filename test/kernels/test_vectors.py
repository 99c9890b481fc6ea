"""Three-vectors as scalars, against NumPy's."""

import numpy as np
from comparing import assert_close

from robot_dynamics_ros.kernels.vectors import cross, rotate, rotate_back


def test_products() -> None:
    rng = np.random.default_rng(1)
    a, b, matrix = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, (3, 3))
    assert_close(cross(*a, *b), np.cross(a, b), 1e-15)
    assert_close(rotate(matrix.ravel(), *a), matrix @ a, 1e-15)
    assert_close(rotate_back(matrix.ravel(), *a), matrix.T @ a, 1e-15)
