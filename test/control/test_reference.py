"""References against finite differences, textbook values and their promises at the ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot_dynamics_ros.control.reference import point_to_point, quintic_then_sine, sine
from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.errors import TrajectoryError

NAMES = ("a", "b")
DEMO = dict(
    joint_names=NAMES,
    start=[0.0, 1.0],
    center=[0.5, -0.5],
    amplitude=[0.4, 0.2],
    frequency=[0.5, 0.8],
    move_time=2.0,
    total_time=10.0,
)


def assert_derivatives(points):
    """Check velocities and accelerations by central differences of second order in the step h."""
    h = points.times[1] - points.times[0]
    for value, slope in (
        (points.positions, points.velocities),
        (points.velocities, points.accelerations),
    ):
        difference = (value[2:] - value[:-2]) / (2 * h)
        bound = np.abs(np.diff(value, n=3, axis=0)).max() / h  # h^2 |f'''|, six times the error's bound
        np.testing.assert_allclose(difference, slope[1:-1], rtol=0, atol=bound + 1e-9)


def test_sine_is_a_sine():
    points = sine(NAMES, [0.1, -0.2], [0.5, 0.3], [1.0, 0.25], 2.0, 1000.0)
    np.testing.assert_allclose(points.times, np.arange(2001) / 1000.0, rtol=0, atol=1e-15)
    # Quarter and whole periods: joint a turns at 0.25 s, joint b at 1 s.
    np.testing.assert_allclose(
        points.positions[[0, 250, 1000]],
        [[0.1, -0.2], [0.6, -0.2 + 0.3 * np.sin(np.pi / 8)], [0.1, 0.1]],
        atol=1e-14,
    )
    np.testing.assert_allclose(points.velocities[0], [np.pi, 0.15 * np.pi], rtol=1e-14)
    np.testing.assert_allclose(points.accelerations[250, 0], -0.5 * (2 * np.pi) ** 2, rtol=1e-14)
    assert_derivatives(points)


def test_point_to_point_is_the_minimum_jerk_move():
    points = point_to_point(NAMES, [0.0, 1.0], [2.0, -1.0], 4.0, 500.0)
    for i, q in ((0, [0.0, 1.0]), (1000, [1.0, 0.0]), (-1, [2.0, -1.0])):
        np.testing.assert_allclose(points.positions[i], q, atol=1e-14)
    for i in (0, -1):
        np.testing.assert_array_equal(points.velocities[i], 0.0)
        np.testing.assert_array_equal(points.accelerations[i], 0.0)
    # Flash and Hogan (1985): the peak velocity of a minimum-jerk move is 1.875 times the mean velocity.
    np.testing.assert_allclose(points.velocities[1000], [1.875 * 0.5, -1.875 * 0.5], rtol=1e-14)
    # The peak acceleration is 10 / sqrt(3) d / T^2, at u = (1 - 1 / sqrt(3)) / 2.
    np.testing.assert_allclose(np.abs(points.accelerations).max(), 10 / np.sqrt(3) * 2.0 / 16.0, rtol=1e-5)
    assert_derivatives(points)


def test_demo_moves_then_swings_then_rests():
    points = quintic_then_sine(**DEMO, rate=1000.0)
    assert_derivatives(points)
    at = {t: i for i, t in enumerate(np.round(points.times, 9))}
    np.testing.assert_allclose(points.positions[0], DEMO["start"], atol=1e-15)
    for t in (2.0, 10.0):
        np.testing.assert_allclose(points.positions[at[t]], DEMO["center"], atol=1e-14)
    for t in (0.0, 2.0, 10.0):
        np.testing.assert_allclose(points.velocities[at[t]], 0.0, atol=1e-12)
        np.testing.assert_allclose(points.accelerations[at[t]], 0.0, atol=1e-12)
    # Half of it in the middle of a fade, a quarter of the sine's 8 s.
    half = np.array([0.5, -0.5]) + 0.5 * np.array([0.4, 0.2]) * np.sin(2 * np.pi * np.array([0.5, 0.8]) * 1.0)
    np.testing.assert_allclose(points.positions[at[3.0]], half, atol=1e-13)
    # Full amplitude between the fades of 2 s: joint a at 2.5 periods of 2 s after the move.
    full = (points.times >= 4.0) & (points.times <= 8.0)
    expected = np.array([0.5, -0.5]) + np.array([0.4, 0.2]) * np.sin(
        2 * np.pi * np.array([0.5, 0.8]) * (points.times[full, None] - 2.0)
    )
    np.testing.assert_allclose(points.positions[full], expected, atol=1e-13)


@given(
    move=st.floats(0.2, 3.0),
    swing=st.floats(0.5, 8.0),
    part=st.floats(0.05, 0.5),
    frequency=st.floats(0.1, 3.0),
)
@settings(max_examples=30, deadline=None)
def test_demo_is_c2_and_rests_for_any_times(move, swing, part, frequency):
    total = move + swing
    points = quintic_then_sine(
        NAMES, 0.0, [1.0, -1.0], 0.3, frequency, move, total, 200.0, fade_time=part * (total - move)
    )
    assert points.times[0] == 0.0 and points.times[-1] == total
    assert np.diff(points.times).max() <= 1 / 200.0 + 1e-12
    for i in (0, -1):
        np.testing.assert_allclose(points.velocities[i], 0.0, atol=1e-9)
        np.testing.assert_allclose(points.accelerations[i], 0.0, atol=1e-9)
    # Sampled finer and finer, the steps of a continuous acceleration shrink in proportion.
    fade_time = part * (total - move)
    rate = max(2000.0, 1000.0 / fade_time)
    fine, finer = (
        quintic_then_sine(NAMES, 0.0, [1.0, -1.0], 0.3, frequency, move, total, k * rate, fade_time=fade_time)
        for k in (1.0, 4.0)
    )
    steps = [np.abs(np.diff(x.accelerations, axis=0)).max() for x in (fine, finer)]
    assert steps[1] < 0.3 * steps[0]


def test_reference_can_be_followed_between_its_points():
    coarse, fine = (quintic_then_sine(**DEMO, rate=rate) for rate in (100.0, 1000.0))
    trajectory = Trajectory.from_points(coarse, NAMES, 0.0, (np.array(DEMO["start"]), None, None))
    out = np.empty((4, 2))
    for i in range(0, len(fine.times) - 1, 7):
        assert trajectory.sample_rows(fine.times[i], out)
        np.testing.assert_allclose(out[0], fine.positions[i], atol=1e-9)
        np.testing.assert_allclose(out[1], fine.velocities[i], atol=1e-6)
        np.testing.assert_allclose(out[2], fine.accelerations[i], atol=1e-3)


def test_the_fades_may_meet_in_the_middle_of_a_short_sine():
    points = quintic_then_sine(**{**DEMO, "total_time": 2.5}, rate=1000.0, fade_time=0.25)
    assert_derivatives(points)
    middle = np.array(DEMO["center"]) + np.array(DEMO["amplitude"]) * np.sin(2 * np.pi * np.array([0.5, 0.8]) * 0.25)
    np.testing.assert_allclose(points.positions[2250], middle, atol=1e-12)


@pytest.mark.parametrize(
    ("duration", "rate", "count"), [(0.3, 10.0, 4), (1.1, 10.0, 12), (1.0, 3.5, 5), (0.01, 1.0, 2)]
)
def test_grid_has_both_ends_and_at_least_the_rate(duration, rate, count):
    points = point_to_point(NAMES, 0.0, 1.0, duration, rate)
    assert len(points.times) == count
    assert (points.times[0], points.times[-1]) == (0.0, duration)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(joint_names=()), "joint_names"),
        (dict(joint_names="ab"), "joint_names"),
        (dict(joint_names=("a", "a")), "joint_names"),
        (dict(start=[0.0]), r"start has shape \(1,\); give one number or one for each of 2"),
        (dict(center=[0.0, np.nan]), "center is .*finite"),
        (dict(amplitude="big"), "amplitude is 'big'; give numbers"),
        (dict(frequency=[0.5, 0.0]), "frequency is .*positive"),
        (dict(move_time=0.0), "move_time is 0.0; give a positive number"),
        (dict(total_time=np.inf), "total_time is inf"),
        (dict(total_time=2.0), "total_time 2.0 s leaves no time for the sine"),
        (dict(rate=-1.0), "rate is -1.0"),
        (dict(fade_time=4.5), "fade_time 4.5 s is more than half"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    with pytest.raises(TrajectoryError, match=message):
        quintic_then_sine(**{**DEMO, "rate": 100.0, **change})


def test_bad_durations_are_refused():
    with pytest.raises(TrajectoryError, match="duration is 0"):
        sine(NAMES, 0.0, 1.0, 1.0, 0.0, 100.0)
    with pytest.raises(TrajectoryError, match="duration is nan"):
        point_to_point(NAMES, 0.0, 1.0, np.nan, 100.0)
