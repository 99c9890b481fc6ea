"""Fourier motions: their formula, rest at both ends, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BPoly
from scipy.linalg import null_space

from robot_dynamics_ros.control.fourier import fourier, fourier_wave
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.errors import TrajectoryError

NAMES = ("a", "b")
SINE = np.array([[0.3, -0.5, 0.2], [0.1, 0.1, -0.2]])
COSINE = np.array([[0.4, 0.1, -0.2], [-0.6, 0.0, 0.2]])  # b1 + 2 b2 + 3 b3 = 0
SERIES = dict(
    joint_names=NAMES,
    start=[0.5, -1.0],
    center=[0.1, 0.2],
    sine=SINE,
    cosine=COSINE,
    base_frequency=0.25,
    cycles=2,
    move_time=1.5,
    rate=500.0,
)


def test_wave_is_the_papers() -> None:
    """Swevers et al. 1997 (5), term by term with plain loops, and its derivatives by central differences."""
    times, w = np.linspace(0.0, 4.0, 2001), 1.7
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


def test_moves_there_then_follows_whole_periods() -> None:
    points = fourier(**SERIES)  # type: ignore[arg-type]
    assert (points.times[0], points.times[-1]) == (0.0, 1.5 + 8.0)
    assert points.velocities is not None and points.accelerations is not None
    w = 2 * np.pi * 0.25
    first = np.array([0.1, 0.2]) - (COSINE / (w * np.arange(1, 4))).sum(axis=1)
    series = points.times > 1.5
    q, qd, qdd = fourier_wave(points.times[series] - 1.5, SINE, COSINE, w)
    np.testing.assert_allclose(points.positions[series], q + [0.1, 0.2], atol=1e-12)
    np.testing.assert_allclose(points.velocities[series], qd, atol=1e-12)
    np.testing.assert_allclose(points.accelerations[series], qdd, atol=1e-12)
    np.testing.assert_allclose(points.positions[0], [0.5, -1.0], atol=1e-12)
    np.testing.assert_allclose(points.positions[-1], first, atol=1e-12)
    for k in (0, np.searchsorted(points.times, 1.5), -1):
        np.testing.assert_allclose(points.velocities[k], 0.0, atol=1e-9)
        np.testing.assert_allclose(points.accelerations[k], 0.0, atol=1e-9)


def test_the_move_there_is_a_quintic_between_two_states_of_rest() -> None:
    """SciPy's, from `start` to the series' value at time 0."""
    points = fourier(**SERIES)  # type: ignore[arg-type]
    w = 2 * np.pi * 0.25
    first = np.array([0.1, 0.2]) - (COSINE / (w * np.arange(1, 4))).sum(axis=1)
    rest = np.zeros(2)
    quintic = BPoly.from_derivatives([0.0, 1.5], np.array([[[0.5, -1.0], rest, rest], [first, rest, rest]]))
    moving = points.times <= 1.5
    for k, found in enumerate((points.positions, points.velocities, points.accelerations)):
        assert found is not None
        np.testing.assert_allclose(found[moving], quintic(points.times[moving], k), rtol=0, atol=1e-12)


def test_a_joint_may_stand_still() -> None:
    points = fourier(**{**SERIES, "sine": SINE * [[1.0], [0.0]], "cosine": COSINE * [[1.0], [0.0]]})  # type: ignore[arg-type]
    np.testing.assert_array_equal(points.positions[points.times > 1.5, 1], 0.2)


def test_coefficients_may_stand_in_one_row() -> None:
    flat = fourier(**{**SERIES, "sine": SINE.ravel().tolist(), "cosine": COSINE.ravel().tolist()})  # type: ignore[arg-type]
    np.testing.assert_array_equal(flat.positions, fourier(**SERIES).positions)  # type: ignore[arg-type]


@given(st.integers(2, 8), st.floats(0.02, 2.0), st.integers(0, 10_000))
def test_any_series_that_rests_at_its_start_can_be_followed(harmonics: int, frequency: float, seed: int) -> None:
    """The controller takes it: increasing times, and a last point at rest."""
    rng = np.random.default_rng(seed)
    order = np.arange(1.0, harmonics + 1)
    sine = (null_space(np.ones((1, harmonics))) @ rng.normal(size=(harmonics - 1, 2))).T
    cosine = (null_space(order[np.newaxis]) @ rng.normal(size=(harmonics - 1, 2))).T
    points = fourier(NAMES, 0.0, 0.0, sine, cosine, frequency, 1, 1.0, 50.0 * frequency)
    Trajectory.from_points(points, NAMES, 0.0, (np.zeros(2), None, None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(base_frequency=0.0), "base_frequency is 0.0"),
        (dict(move_time=-1.0), "move_time is -1.0"),
        (dict(cycles=0), "cycles is 0; give a whole number"),
        (dict(sine=[]), r"sine has shape \(0,\)"),
        (dict(sine=[0.1, 0.2, 0.3]), "as many numbers for each of 2 joints"),
        (dict(sine=SINE.T), "as many numbers for each of 2 joints"),
        (dict(sine=SINE[:, np.newaxis]), "as many numbers for each of 2 joints"),
        (dict(sine=1e-6 * (SINE + 0.1)), "joint 'a' does not start at rest"),
        (dict(sine=SINE[:, :2], cosine=COSINE), "2 coefficients a joint and cosine 3"),
        (dict(sine=SINE + 0.1), "joint 'a' does not start at rest, it has velocity; make its sine .* sum to zero"),
        (
            dict(cosine=COSINE * [[1.0], [2.0]] + [[0.0], [0.1]]),
            "joint 'b' does not start at rest, it has acceleration",
        ),
        (dict(cosine=np.full((2, 3), np.nan)), "give finite numbers"),
        (dict(cosine="many"), "cosine is 'many'; give numbers"),
        (dict(center=[0.0]), "center has shape"),
    ],
)
def test_bad_arguments_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        fourier(**{**SERIES, **change})  # type: ignore[arg-type]
