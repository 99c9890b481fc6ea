"""Fewer points that look like all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.kernels.types import Array


def extremes(values: Array, points: int) -> NDArray[np.intp]:
    """Return which of m values to draw, increasing: not many more than ``points``, and none of the peaks is lost.

    Each of points / 2 equally long stretches keeps its smallest and its largest value, and one NaN where it has any,
    so that gaps stay gaps; the first and the last value stay.
    """
    m = len(values)
    if m <= points:
        return np.arange(m)
    length = -(-m // max(1, points // 2))
    # The last stretch is filled up with repetitions of the last value.
    rows = np.minimum(np.arange(-(-m // length) * length), m - 1).reshape(-1, length)
    table = values[rows]
    missing = np.isnan(table)
    first = np.arange(len(rows)) * length
    lowest = np.argmin(np.where(missing, np.inf, table), axis=1) + first
    highest = np.argmax(np.where(missing, -np.inf, table), axis=1) + first
    gaps = (np.argmax(missing, axis=1) + first)[missing.any(axis=1)]
    kept = np.unique(np.concatenate([[0, m - 1], lowest, highest, gaps]))
    return kept[kept < m]
