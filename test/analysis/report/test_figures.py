"""Fewer points that keep the visible shape of many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robot_dynamics_ros.analysis.report.figures import extremes


@given(
    arrays(float, st.integers(1, 300), elements=st.floats(-9, 9) | st.just(np.nan)),
    st.integers(2, 60),
)
def test_no_peak_is_lost(values: np.ndarray, points: int) -> None:
    """Each stretch between two neighbours of the kept points lies between the values that are kept around it."""
    kept = extremes(values, points)
    assert (np.diff(kept) > 0).all() and kept[0] == 0 and kept[-1] == len(values) - 1
    assert len(kept) <= max(points, 2) * 1.5 + 3
    finite = np.isfinite(values)
    if finite.any():
        assert np.nanmin(values[kept]) == np.nanmin(values) and np.nanmax(
            values[kept]
        ) == np.nanmax(values)
    assert np.isnan(values[kept]).any() == (~finite).any()


@pytest.mark.parametrize("height", [5.0, -5.0, np.nan])
def test_a_single_sample_of_many_is_kept(height: float) -> None:
    for at in (0, 77_777, 99_999):
        values = np.sin(np.linspace(0, 50, 100_000))
        values[at] = height
        kept = extremes(values, 2000)
        assert at in kept and len(kept) <= 2003


def test_few_points_stay() -> None:
    np.testing.assert_array_equal(extremes(np.zeros(50), 50), np.arange(50))
    assert len(extremes(np.empty(0), 50)) == 0
