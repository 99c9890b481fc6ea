"""Comparison relative to the size of the terms: rounding errors grow with the summands, not with the sum."""

import numpy as np
from numpy.typing import ArrayLike


def assert_close(
    got: ArrayLike, expected: ArrayLike, tolerance: float, scale: float = 0.0
) -> None:
    """Assert |got - expected| <= tolerance * max(1, scale, max |expected|) and equal shapes."""
    got = np.asarray(got, dtype=float)
    expected = np.asarray(expected, dtype=float)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    size = max(1.0, scale, float(np.abs(expected).max(initial=0.0)))
    error = float(np.abs(got - expected).max(initial=0.0))
    assert error <= tolerance * size, (
        f"error {error:.3e} is over {tolerance:g} * {size:.3g}\n{got}\n{expected}"
    )
