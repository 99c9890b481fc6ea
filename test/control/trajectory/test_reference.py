"""Generated trajectories against finite differences, textbook values and boundary conditions."""

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.runs.generators import point_to_point, quintic_then_sine

NAMES = ("a", "b")
DEMO = dict(
    joint_names=NAMES, start=[0.0, 1.0], center=[0.5, -0.5], amplitude=[0.4, 0.2], frequency=[0.5, 0.8],
    move_time=2.0, total_time=10.0,
)  # fmt: skip


def assert_derivatives(points):
    """Check velocities and accelerations by central differences of second order in the step h."""
    h = points.times[1] - points.times[0]
    for value, slope in (
        (points.positions, points.velocities),
        (points.velocities, points.accelerations),
    ):
        difference = (value[2:] - value[:-2]) / (2 * h)
        # h^2 |f'''|, six times the error bound
        bound = np.abs(np.diff(value, n=3, axis=0)).max() / h
        np.testing.assert_allclose(difference, slope[1:-1], rtol=0, atol=bound + 1e-9)


def test_point_to_point_is_the_minimum_jerk_move():
    points = point_to_point(NAMES, [0.0, 1.0], [2.0, -1.0], 4.0, 500.0)
    for i, q in ((0, [0.0, 1.0]), (1000, [1.0, 0.0]), (-1, [2.0, -1.0])):
        np.testing.assert_allclose(points.positions[i], q, atol=1e-14)
    for i in (0, -1):
        np.testing.assert_array_equal(points.velocities[i], 0.0)
        np.testing.assert_array_equal(points.accelerations[i], 0.0)
    # Flash and Hogan (1985): the peak velocity of a minimum-jerk move is 1.875 times the mean velocity.
    np.testing.assert_allclose(
        points.velocities[1000], [1.875 * 0.5, -1.875 * 0.5], rtol=1e-14
    )
    # The peak acceleration is 10 / sqrt(3) d / T^2, at u = (1 - 1 / sqrt(3)) / 2.
    np.testing.assert_allclose(
        np.abs(points.accelerations).max(), 10 / np.sqrt(3) * 2.0 / 16.0, rtol=1e-5
    )
    assert_derivatives(points)


def test_demo_moves_then_swings_then_rests():
    points = quintic_then_sine(**DEMO, rate=1000.0)
    assert_derivatives(points)
    at = {t: i for i, t in enumerate(np.round(points.times, 9))}
    for t, expected in (
        (0.0, DEMO["start"]),
        (2.0, DEMO["center"]),
        (10.0, DEMO["center"]),
    ):
        np.testing.assert_allclose(points.positions[at[t]], expected, atol=1e-14)
        np.testing.assert_allclose(points.velocities[at[t]], 0.0, atol=1e-12)
        np.testing.assert_allclose(points.accelerations[at[t]], 0.0, atol=1e-12)
    # Half the amplitude in the middle of a fade (a quarter of the sine's 8 s), the full amplitude between the fades.
    middle = (points.times >= 4.0) & (points.times <= 8.0)
    wave = np.array([0.4, 0.2]) * np.sin(
        2 * np.pi * np.array([0.5, 0.8]) * (points.times[:, None] - 2.0)
    )
    np.testing.assert_allclose(
        points.positions[at[3.0]], DEMO["center"] + 0.5 * wave[at[3.0]], atol=1e-13
    )
    np.testing.assert_allclose(
        points.positions[middle], DEMO["center"] + wave[middle], atol=1e-13
    )


@pytest.mark.parametrize(
    ("duration", "rate", "count"),
    [(0.3, 10.0, 4), (1.1, 10.0, 12), (1.0, 3.5, 5), (0.01, 1.0, 2)],
)
def test_grid_has_both_ends_and_at_least_the_rate(duration, rate, count):
    points = point_to_point(NAMES, 0.0, 1.0, duration, rate)
    assert len(points.times) == count
    assert (points.times[0], points.times[-1]) == (0.0, duration)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(start=[0.0] * 3), "start"),
        (dict(center=[0.0] * 3), "center"),
        (dict(frequency=[0.5, 0.0]), "frequency"),
        (dict(total_time=2.0), "total_time 2.0"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(TrajectoryError, match=message):
        quintic_then_sine(**{**DEMO, "rate": 100.0, **change})
