"""Fourier trajectories: formula, rest at both ends, and refused arguments."""

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BPoly

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.runs.generators import fourier, fourier_wave

SINE = np.array([[0.3, -0.5, 0.2], [0.1, 0.1, -0.2]])
COSINE = np.array([[0.4, 0.1, -0.2], [-0.6, 0.0, 0.2]])  # b1 + 2 b2 + 3 b3 = 0
SERIES: Any = dict(
    joint_names=("a", "b"), start=[0.5, -1.0], center=[0.1, 0.2], sine=SINE, cosine=COSINE, base_frequency=0.25,
    cycles=2, move_time=1.5, rate=500.0,
)  # fmt: skip


def test_wave_is_the_papers() -> None:
    """Swevers et al. 1997 (5) by plain loops, and its derivatives by central differences."""
    times = np.linspace(0.0, 4.0, 2001)
    w = 1.7
    q, qd, qdd = fourier_wave(times, SINE, COSINE, w)
    for j in range(2):
        expected = sum(
            SINE[j, k] / (w * (k + 1)) * np.sin(w * (k + 1) * times)
            - COSINE[j, k] / (w * (k + 1)) * np.cos(w * (k + 1) * times)
            for k in range(3)
        )
        np.testing.assert_allclose(q[:, j], expected, rtol=0, atol=1e-14)
    h = times[1]
    np.testing.assert_allclose((q[2:] - q[:-2]) / (2 * h), qd[1:-1], atol=1e-4)
    np.testing.assert_allclose((qd[2:] - qd[:-2]) / (2 * h), qdd[1:-1], atol=1e-4)


def test_a_quintic_leads_to_whole_periods_of_the_series() -> None:
    """SciPy's quintic from `start` at rest to the value of the series at time 0."""
    points = fourier(**SERIES)
    assert (points.times[0], points.times[-1]) == (0.0, 1.5 + 8.0)
    w = 2 * np.pi * 0.25
    center = np.array([0.1, 0.2])
    rest = np.zeros(2)
    first = center - (COSINE / (w * np.arange(1, 4))).sum(axis=1)
    quintic = BPoly.from_derivatives(
        [0.0, 1.5], np.array([[[0.5, -1.0], rest, rest], [first, rest, rest]])
    )
    moving = points.times <= 1.5
    series = fourier_wave(points.times[~moving] - 1.5, SINE, COSINE, w)
    for k, values in enumerate(
        (points.positions, points.velocities, points.accelerations)
    ):
        np.testing.assert_allclose(
            values[moving], quintic(points.times[moving], k), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            values[~moving], series[k] + center * (k == 0), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        (dict(sine=[]), "sine"),
        (dict(sine=[0.1, 0.2, 0.3]), "sine"),
        (dict(sine=SINE[:, np.newaxis]), "sine"),
        (dict(sine=SINE[:, :2]), "cosine"),
        (dict(sine=1e-6 * (SINE + 0.1)), "'a'.*velocity"),
        (dict(cosine=COSINE * [[1.0], [2.0]] + [[0.0], [0.1]]), "'b'.*acceleration"),
        (dict(center=[0.0] * 3), "center"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, object], culprit: str) -> None:
    with pytest.raises(TrajectoryError, match=culprit):
        fourier(**{**SERIES, **change})


def test_a_joint_may_stand_still() -> None:
    points = fourier(
        **{**SERIES, "sine": SINE * [[1.0], [0.0]], "cosine": COSINE * [[1.0], [0.0]]}
    )
    np.testing.assert_array_equal(points.positions[points.times > 1.5, 1], 0.2)
