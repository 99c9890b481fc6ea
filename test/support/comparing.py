"""Comparison against the size of the terms: rounding grows with what was summed, not with what is left."""

import numpy as np
from numpy.typing import ArrayLike


def assert_close(got: ArrayLike, expected: ArrayLike, tolerance: float, scale: float = 0.0) -> None:
    """Every |got - expected| is at most tolerance * max(1, scale, max |expected|), and the shapes are equal."""
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
    size = max(1.0, scale, float(np.abs(expected).max(initial=0.0)))
    error = float(np.abs(got - expected).max(initial=0.0))
    assert error <= tolerance * size, f"error {error:.3e} is over {tolerance:g} * {size:.3g}\n{got}\n{expected}"
