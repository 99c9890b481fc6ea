"""Recorded motion against closed forms: what the filter leaves, what the derivative says, what is left out."""

import dataclasses
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros.bags import JointSeries
from robot_dynamics_ros.errors import BagError, BagWarning
from robot_dynamics_ros.identification.motion import Motion, Smoothing, recorded_motion

Array = NDArray[np.float64]

NAMES = ("a", "b")
FREQUENCY = np.array([0.5, 1.25])  # Hz
AMPLITUDE = np.array([0.8, 0.3])
EPOCH = 1_700_000_000_000_000_000
DEFAULT = Smoothing()


def wave(time: Array) -> tuple[Array, Array, Array]:
    """q = A sin(w t) and its derivatives, (m, 2)."""
    w = 2 * np.pi * FREQUENCY
    phase = time[:, np.newaxis] * w
    return AMPLITUDE * np.sin(phase), AMPLITUDE * w * np.cos(phase), -AMPLITUDE * w**2 * np.sin(phase)


def recording(time: Array, noise: float = 0.0) -> JointSeries:
    """What a driver records at these times; effort is the position, so that it must come out as it."""
    q, qd, _ = wave(time)
    stamps = EPOCH + np.round(time * 1e9).astype(np.int64)
    effort = q + noise * np.random.default_rng(0).normal(size=q.shape)
    return JointSeries(NAMES, stamps, stamps + 1_000_000, q, qd, effort)


def even(seconds: float = 12.0, rate: float = 100.0) -> Array:
    return np.arange(round(seconds * rate)) / rate


def changed(series: JointSeries, **columns: Callable[[Array], object]) -> JointSeries:
    """The series with copies of some fields, changed in place."""
    copies: dict[str, Any] = {name: getattr(series, name).copy() for name in columns}
    for name, change in columns.items():
        change(copies[name])
    return dataclasses.replace(series, **copies)


def stretches(motion: Motion) -> int:
    steps = np.diff(motion.time)
    return 1 + int(np.count_nonzero(steps > 1.5 * np.median(steps)))


def assert_follows(motion: Motion, start: float = 0.0, atol: float = 2e-3) -> None:
    """Check against the closed form at the motion's own times; ``start`` is the time of the first message."""
    q, qd, qdd = wave(motion.time + start)
    for name, found, expected in (("q", motion.q, q), ("qd", motion.qd, qd), ("tau", motion.tau, q)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)
    np.testing.assert_allclose(motion.qdd, qdd, rtol=0, atol=50 * atol)  # of 18.5 rad/s^2


@pytest.mark.parametrize("cutoff", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("order", [2, 4])
def test_filter_and_derivative_do_what_they_say(cutoff: float, order: int) -> None:
    """A sine comes out with no delay and a known amplitude.

    Forward and back, a digital Butterworth filter by the bilinear transform leaves 1 / (1 + (tan(pi f / r) / tan(pi
    c / r))^(2 order)) (Oppenheim, Schafer: Discrete-Time Signal Processing, 7.1); the five-point difference makes
    (8 sin(w h) - sin(2 w h)) / (6 h) of w.
    """
    rate = 50.0
    motion = recorded_motion(recording(even(40.0, rate)), Smoothing(cutoff, order))
    gain = 1.0 / (1.0 + (np.tan(np.pi * FREQUENCY / rate) / np.tan(np.pi * cutoff / rate)) ** (2 * order))
    w, h = 2 * np.pi * FREQUENCY, 1.0 / rate
    slope = (8 * np.sin(w * h) - np.sin(2 * w * h)) / (6 * h) / w
    q, qd, qdd = wave(motion.time)
    inside = (motion.time > 5.0) & (motion.time < 35.0)  # the ends remember that the sine starts there
    for found, expected in ((motion.q, gain * q), (motion.qd, gain * qd), (motion.qdd, gain * slope * qdd)):
        np.testing.assert_allclose(found[inside], expected[inside], rtol=0, atol=1e-4)
    np.testing.assert_allclose(motion.tau, motion.q, rtol=0, atol=1e-12)


def test_what_is_kept_follows_to_both_ends() -> None:
    motion = recorded_motion(recording(even()), DEFAULT)
    assert_follows(motion)
    assert motion.smoothing == Smoothing(10.0, 4)
    # One and a half periods of 10 Hz at each end.
    assert motion.time[0] == pytest.approx(0.15) and motion.time[-1] == pytest.approx(11.99 - 0.15)


def test_without_a_filter_numbers_stay_as_they_are() -> None:
    series = recording(even(), noise=0.1)
    motion = recorded_motion(series, Smoothing(0.0))
    np.testing.assert_array_equal(motion.tau, series.effort[2:-2])
    np.testing.assert_array_equal(motion.qd, series.velocity[2:-2])


def test_noise_is_filtered() -> None:
    """White noise keeps about the share of its power that lies below the cutoff: 2 c / r."""
    motion = recorded_motion(recording(even(60.0, 200.0), noise=0.1), Smoothing(5.0))
    noise = motion.tau - wave(motion.time)[0]
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(0.1 * np.sqrt(2 * 5.0 / 200.0), rel=0.2)


def test_only_as_many_samples_are_kept_as_the_cutoff_needs() -> None:
    motion = recorded_motion(recording(even(10.0, 1000.0)), Smoothing(5.0))
    np.testing.assert_allclose(np.diff(motion.time), 0.01, rtol=1e-9)
    assert_follows(motion)


@pytest.mark.parametrize(("rate", "cutoff"), [(30.0, 5.0), (60.0, 10.0), (500.0, 10.0)])
def test_default_cutoff_goes_by_the_rate(rate: float, cutoff: float) -> None:
    assert recorded_motion(recording(even(10.0, rate)), DEFAULT).smoothing.cutoff == pytest.approx(cutoff)
    assert f"at {cutoff:g} Hz" in str(Smoothing().at(rate))


@pytest.mark.parametrize("value", [np.nan, 0.0])
def test_velocity_that_was_not_recorded_is_differentiated(value: float) -> None:
    """NaN: the field was empty; zero though the joint moves: the driver fills it in."""
    series = changed(recording(even()), velocity=lambda table: table[:, 1].__setitem__(slice(None), value))
    with pytest.warns(BagWarning, match="no velocity of b was recorded"):
        assert_follows(recorded_motion(series, DEFAULT))


def test_uneven_stamps_are_evened() -> None:
    """Linear interpolation errs by (w h)^2 / 8 of the amplitude at most: 0.1 % here."""
    rng = np.random.default_rng(1)
    time = even(12.0, 200.0)
    time[1:] += rng.uniform(-0.4, 0.4, len(time) - 1) / 200.0
    motion = recorded_motion(recording(time), DEFAULT)
    np.testing.assert_allclose(np.diff(motion.time), np.diff(motion.time)[0], rtol=1e-6)
    assert_follows(motion)


def test_nothing_runs_across_a_gap() -> None:
    """A second is missing: bridged or filtered across, its neighbours would not follow the wave."""
    time = even()
    kept = (time < 4.0) | (time > 5.0)
    series = recording(time)
    series = JointSeries(NAMES, *(getattr(series, f.name)[kept] for f in dataclasses.fields(series)[1:]))
    with pytest.warns(BagWarning, match="1 gaps longer than 5 periods"):
        motion = recorded_motion(series, DEFAULT)
    assert_follows(motion)
    assert stretches(motion) == 2
    assert not ((motion.time > 3.86) & (motion.time < 5.14)).any()


def test_short_holes_are_bridged() -> None:
    time = even()
    kept = np.ones(len(time), dtype=bool)
    kept[500:503] = False
    motion = recorded_motion(recording(time[kept]), DEFAULT)
    assert stretches(motion) == 1
    assert_follows(motion, atol=5e-3)


def test_rows_with_nan_are_left_out() -> None:
    series = changed(recording(even()), effort=lambda table: table[700:703, 1].__setitem__(slice(None), np.nan))
    with pytest.warns(BagWarning, match="3 messages have no finite number for b"):
        assert_follows(recorded_motion(series, DEFAULT), atol=5e-3)


def test_stamps_that_do_not_come_later_are_left_out() -> None:
    series = recording(even())
    stamps = series.stamps.copy()
    stamps[300], stamps[600] = stamps[299], stamps[598]
    with pytest.warns(BagWarning, match="2 messages are not stamped after the one before"):
        assert_follows(recorded_motion(dataclasses.replace(series, stamps=stamps), DEFAULT), atol=5e-3)


def test_a_clock_set_back_starts_another_stretch() -> None:
    series = recording(even())
    stamps = series.stamps.copy()
    stamps[600:] -= 5_000_000_000
    with pytest.warns(BagWarning) as seen:
        motion = recorded_motion(dataclasses.replace(series, stamps=stamps), DEFAULT)
    assert "its clock is set back 1 times" in str(seen[0].message)
    assert stretches(motion) == 2
    first = motion.time < 10.0
    assert_follows(motion.part(first))
    later = motion.part(~first)
    offset = 6.0 + 0.15 - later.time[0]  # its first message is that of 6 s, its filter's edge 0.15 s
    assert_follows(later, start=offset)


def test_without_stamps_the_times_of_arrival_count() -> None:
    series = recording(even())
    with pytest.warns(BagWarning, match="the times of arrival are used"):
        assert_follows(recorded_motion(dataclasses.replace(series, stamps=np.zeros_like(series.stamps)), DEFAULT))


def test_a_clock_may_start_at_zero() -> None:
    series = recording(even())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_follows(recorded_motion(dataclasses.replace(series, stamps=series.stamps - EPOCH), DEFAULT))


def test_messages_without_a_stamp_are_left_out() -> None:
    series = recording(even())
    stamps = series.stamps.copy()
    stamps[[200, 400]] = 0
    with pytest.warns(BagWarning, match="2 messages have no stamp"):
        assert_follows(recorded_motion(dataclasses.replace(series, stamps=stamps), DEFAULT), atol=5e-3)


def test_turns_are_counted_on() -> None:
    """A joint that turns on and on at 1 rad/s, reported between -pi and pi."""
    time = even(20.0)
    q = np.column_stack([time, -time])
    stamps = EPOCH + np.round(time * 1e9).astype(np.int64)
    series = JointSeries(
        NAMES, stamps, stamps, np.angle(np.exp(1j * q)), np.tile([1.0, -1.0], (len(time), 1)), np.ones_like(q)
    )
    motion = recorded_motion(series, DEFAULT)
    np.testing.assert_allclose(motion.q, motion.time[:, np.newaxis] * [1.0, -1.0], rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("series", "smoothing", "message"),
    [
        (recording(even(0.3)), DEFAULT, "none of its 30 messages .* longer than the 0.4 s .* Cure: record longer"),
        (recording(np.array([0.1])), DEFAULT, "1 usable messages are too few"),
        (recording(even()), Smoothing(60.0), "more than the recording's 100 samples a second. Cure: give 45 Hz"),
        (changed(recording(even()), effort=lambda table: table.fill(np.nan)), DEFAULT, "no effort of a was recorded"),
        (changed(recording(even()), effort=lambda table: table.fill(0.0)), DEFAULT, "every effort is zero"),
        (changed(recording(even()), position=lambda table: table.fill(np.nan)), DEFAULT, "no position of a"),
    ],
)
def test_what_cannot_be_used_is_refused(series: JointSeries, smoothing: Smoothing, message: str) -> None:
    with pytest.raises(BagError, match=message):
        recorded_motion(series, smoothing)


@pytest.mark.parametrize("cutoff", [-1.0, np.nan, np.inf])
def test_bad_filters_are_refused(cutoff: float) -> None:
    with pytest.raises(BagError, match="Cure: give a positive number, or 0"):
        Smoothing(cutoff)
    with pytest.raises(BagError, match="order 0. Cure"):
        Smoothing(5.0, 0)


def test_part_and_frozen() -> None:
    motion = recorded_motion(recording(even()), DEFAULT)
    part = motion.part(slice(10, 20))
    np.testing.assert_array_equal(part.qdd, motion.qdd[10:20])
    assert part.joint_names == NAMES and part.smoothing == motion.smoothing
    with pytest.raises(dataclasses.FrozenInstanceError):
        motion.q = motion.qd  # type: ignore[misc]


@pytest.mark.slow
def test_a_million_samples_fit_in_little_memory() -> None:
    """7 joints, 17 minutes at 1 kHz: the recording's own 184 MB, and less than as much again for the motion."""
    count = 1_000_000
    q = np.sin(np.arange(count)[:, np.newaxis] * 1e-3 * np.arange(1, 8))
    stamps = EPOCH + np.arange(count) * 1_000_000
    series = JointSeries(tuple("abcdefg"), stamps, stamps, q, q, q)
    tracemalloc.start()
    try:
        recorded_motion(series, DEFAULT)
        assert tracemalloc.get_traced_memory()[1] < 184e6
    finally:
        tracemalloc.stop()
