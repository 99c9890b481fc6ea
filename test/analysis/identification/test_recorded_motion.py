"""Recorded motion against closed forms: filter, derivative, and messages that are left out."""

import dataclasses
import re
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.base.errors import BagError, BagWarning
from robot_dynamics_ros.recordings.bags import JointSeries

Array = NDArray[np.float64]

NAMES = ("a", "b")
FREQUENCY = np.array([0.5, 1.25])  # Hz
AMPLITUDE = np.array([0.8, 0.3])
EPOCH = 1_700_000_000_000_000_000
DEFAULT = Smoothing()
ALL = slice(None)


def wave(time: Array) -> tuple[Array, Array, Array]:
    """Return q = A sin(w t) and its derivatives (m, 2)."""
    w = 2 * np.pi * FREQUENCY
    phase = time[:, np.newaxis] * w
    return (
        AMPLITUDE * np.sin(phase),
        AMPLITUDE * w * np.cos(phase),
        -AMPLITUDE * w**2 * np.sin(phase),
    )


def recording(time: Array, noise: float = 0.0) -> JointSeries:
    """Return a recording at ``time`` (m,) in s; the effort equals the position, also after filtering."""
    q, qd, _ = wave(time)
    stamps = EPOCH + np.round(time * 1e9).astype(np.int64)
    effort = q + noise * np.random.default_rng(0).normal(size=q.shape)
    return JointSeries(NAMES, stamps, stamps + 1_000_000, q, qd, effort)


def even(seconds: float = 12.0, rate: float = 100.0) -> Array:
    return np.arange(round(seconds * rate)) / rate


def changed(field: str, place: Any, value: Any) -> JointSeries:
    """Return a recording with another value at some places of a field."""
    series = recording(even())
    copy = getattr(series, field).copy()
    copy[place] = value
    return dataclasses.replace(series, **{field: copy})


@pytest.mark.parametrize(
    ("cutoff", "delay"), [(None, 0.013), (None, -0.03), (0.0, 0.013)]
)
def test_effort_delay_and_drive_gains_are_corrected(
    cutoff: float | None, delay: float
) -> None:
    late = wave(even() - delay)[0] * [10.0, -1.0]
    series = dataclasses.replace(recording(even()), effort=late)
    motion = recorded_motion(
        series, Smoothing(cutoff), effort_delay=delay, drive_gains={"a": 0.1, "b": -1.0}
    )
    assert_follows(motion)


@pytest.mark.parametrize(
    "options",
    [{"drive_gains": {"c": 2.0}}, {"drive_gains": {"a": 0.0}}, {"effort_delay": 2.0}],
)
def test_invalid_gains_and_delays_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BagError):
        recorded_motion(recording(even()), DEFAULT, **options)


@pytest.mark.parametrize(
    ("amplitude", "left_out"), [(0.0, True), (0.8, False)], ids=["at rest", "moving"]
)
def test_efforts_of_a_robot_held_by_brakes_are_left_out(
    amplitude: float, left_out: bool
) -> None:
    """0.4 s without effort at the beginning; a robot that moves without effort is a measurement."""
    series = recording(even())
    position = series.position.copy()
    effort = series.effort + 5.0
    position[:40] *= amplitude
    effort[:40] = 0.0
    series = dataclasses.replace(series, position=position, effort=effort)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", BagWarning)
        motion = recorded_motion(series, Smoothing(0.0))
    assert any("40 messages" in str(note.message) for note in notes) == left_out
    assert (motion.tau.min() > 1.0) == left_out


def stretches(motion: RecordedMotion) -> int:
    steps = np.diff(motion.time)
    return 1 + int(np.count_nonzero(steps > 1.5 * np.median(steps)))


def assert_follows(
    motion: RecordedMotion, start: float = 0.0, atol: float = 2e-3
) -> None:
    """Check against the closed form at the motion's own times; ``start`` is the time of the first message."""
    q, qd, qdd = wave(motion.time + start)
    for name, actual, expected in (
        ("q", motion.q, q),
        ("qd", motion.qd, qd),
        ("tau", motion.tau, q),
    ):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=atol, err_msg=name)
    # of 18.5 rad/s^2
    np.testing.assert_allclose(motion.qdd, qdd, rtol=0, atol=50 * atol)


@pytest.mark.parametrize(("cutoff", "order"), [(1.0, 2), (2.0, 4), (5.0, 2)])
def test_filter_and_derivative_by_closed_forms(cutoff: float, order: int) -> None:
    """No delay; the squared gain of a Butterworth filter (Oppenheim, Schafer: Discrete-Time Signal Processing, 7.1)."""
    rate = 50.0
    motion = recorded_motion(recording(even(40.0, rate)), Smoothing(cutoff, order))
    gain = 1.0 / (
        1.0
        + (np.tan(np.pi * FREQUENCY / rate) / np.tan(np.pi * cutoff / rate))
        ** (2 * order)
    )
    w = 2 * np.pi * FREQUENCY
    h = 1.0 / rate
    slope = (8 * np.sin(w * h) - np.sin(2 * w * h)) / (6 * h) / w
    q, qd, qdd = wave(motion.time)
    # without transients at the ends
    inside = (motion.time > 5.0) & (motion.time < 35.0)
    for actual, expected in (
        (motion.q, gain * q),
        (motion.qd, gain * qd),
        (motion.qdd, gain * slope * qdd),
    ):
        np.testing.assert_allclose(actual[inside], expected[inside], rtol=0, atol=1e-4)
    np.testing.assert_allclose(motion.tau, motion.q, rtol=0, atol=1e-12)


def test_filtered_motion_is_accurate_at_both_ends() -> None:
    motion = recorded_motion(recording(even()), DEFAULT)
    assert_follows(motion)
    assert motion.time[0] == pytest.approx(0.15) and motion.time[-1] == pytest.approx(
        11.99 - 0.15
    )
    part = motion.part(slice(10, 20))
    np.testing.assert_array_equal(part.qdd, motion.qdd[10:20])
    assert (
        part.joint_names == NAMES
        and part.smoothing == motion.smoothing == Smoothing(10.0, 4)
    )


def test_signals_are_unchanged_without_filter() -> None:
    series = recording(even(), noise=0.1)
    motion = recorded_motion(series, Smoothing(0.0))
    np.testing.assert_array_equal(motion.tau, series.effort[2:-2])
    np.testing.assert_array_equal(motion.qd, series.velocity[2:-2])


def test_filtered_motion_is_downsampled() -> None:
    motion = recorded_motion(recording(even(10.0, 1000.0)), Smoothing(5.0))
    np.testing.assert_allclose(np.diff(motion.time), 0.01, rtol=1e-9)
    assert_follows(motion)


@pytest.mark.parametrize(("rate", "cutoff"), [(30.0, 5.0), (60.0, 10.0), (500.0, 10.0)])
def test_default_cutoff_depends_on_sampling_rate(rate: float, cutoff: float) -> None:
    assert recorded_motion(
        recording(even(10.0, rate)), DEFAULT
    ).smoothing.cutoff == pytest.approx(cutoff)
    assert f"{cutoff:g} Hz" in str(DEFAULT.at(rate))


def test_uneven_stamps_are_resampled() -> None:
    """The error of linear interpolation is at most (w h)^2 / 8 of the amplitude: 0.1 % here."""
    rng = np.random.default_rng(1)
    time = even(12.0, 200.0)
    time[1:] += rng.uniform(-0.4, 0.4, len(time) - 1) / 200.0
    motion = recorded_motion(recording(time), DEFAULT)
    np.testing.assert_allclose(np.diff(motion.time), np.diff(motion.time)[0], rtol=1e-6)
    assert_follows(motion)


def test_gaps_split_the_recording_and_short_holes_are_interpolated() -> None:
    """Interpolating or filtering across a gap of a second would distort the motion beside it."""
    time = even()
    with pytest.warns(BagWarning, match="1 gaps"):
        motion = recorded_motion(recording(time[(time < 4.0) | (time > 5.0)]), DEFAULT)
    assert_follows(motion)
    assert (
        stretches(motion) == 2
        and not ((motion.time > 3.86) & (motion.time < 5.14)).any()
    )
    motion = recorded_motion(recording(np.delete(time, slice(500, 503))), DEFAULT)
    assert stretches(motion) == 1
    assert_follows(motion, atol=5e-3)


STAMPS = recording(even()).stamps


@pytest.mark.parametrize(
    ("series", "reported"),
    [
        (changed("effort", (slice(700, 703), 1), np.nan), "3 of .* messages .* for b"),
        (
            changed("stamps", [300, 600], STAMPS[[299, 598]]),
            "2 messages are not stamped after",
        ),
        (changed("stamps", [200, 400], 0), "2 messages have no stamp"),
        (changed("stamps", ALL, 0), "times of arrival"),
        (changed("stamps", ALL, STAMPS - EPOCH), None),  # a simulated clock
        # Without a velocity, or with zeros although the joint moves, the position is differentiated.
        (changed("velocity", (ALL, 1), np.nan), "velocity of b"),
        (changed("velocity", (ALL, 1), 0.0), "velocity of b"),
    ],
    ids=[
        "effort nan",
        "stamp goes back",
        "no stamp",
        "no stamps",
        "clock from zero",
        "velocity nan",
        "velocity zero",
    ],
)
def test_unusable_messages_and_velocities_are_reported(
    series: JointSeries, reported: str | None
) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert_follows(recorded_motion(series, DEFAULT), atol=5e-3)
    assert len(seen) == (reported is not None)
    if reported is not None:
        assert seen[0].category is BagWarning and re.search(
            reported, str(seen[0].message)
        )


def test_clock_reset_starts_another_stretch() -> None:
    series = changed("stamps", slice(600, None), STAMPS[600:] - 5_000_000_000)
    with pytest.warns(BagWarning, match="set back 1 times|1 gaps"):
        motion = recorded_motion(series, DEFAULT)
    assert stretches(motion) == 2
    first = motion.time < 10.0
    assert_follows(motion.part(first))
    later = motion.part(~first)
    # it begins at 6 s; 0.15 s are dropped
    assert_follows(later, start=6.0 + 0.15 - later.time[0])


def test_a_message_between_two_gaps_is_left_out() -> None:
    with pytest.warns(BagWarning, match="1 messages are in stretches|it has 1 gaps"):
        motion = recorded_motion(
            recording(np.concatenate([even(5.0), [10.0], 15.0 + even(5.0)])), DEFAULT
        )
    assert stretches(motion) == 2


def test_wrapped_positions_are_unwrapped() -> None:
    """A continuous joint at 1 rad/s with positions between -pi and pi."""
    time = even(20.0)
    q = np.column_stack([time, -time])
    stamps = EPOCH + np.round(time * 1e9).astype(np.int64)
    qd = np.tile([1.0, -1.0], (len(time), 1))
    motion = recorded_motion(
        JointSeries(
            NAMES, stamps, stamps, np.angle(np.exp(1j * q)), qd, np.ones_like(q)
        ),
        DEFAULT,
    )
    np.testing.assert_allclose(
        motion.q, motion.time[:, np.newaxis] * [1.0, -1.0], rtol=0, atol=1e-4
    )


@pytest.mark.parametrize(
    ("series", "cutoff", "culprit"),
    [
        (recording(even(0.3)), None, r"30 messages .* 0\.4 s"),
        (recording(np.array([0.1])), None, "1 usable messages"),
        (recording(even()), 60.0, "100 samples .* 45 Hz"),
        (changed("effort", ALL, np.nan), None, "effort of a"),
        (changed("effort", ALL, 0.0), None, "every effort is zero"),
        (changed("position", ALL, np.nan), None, "position of a"),
    ],
)
def test_unusable_recordings_are_refused(
    series: JointSeries, cutoff: float | None, culprit: str
) -> None:
    with pytest.raises(BagError, match=culprit):
        recorded_motion(series, Smoothing(cutoff))


@pytest.mark.parametrize(
    ("cutoff", "order"), [(-1.0, 4), (np.nan, 4), (np.inf, 4), (5.0, 0)]
)
def test_invalid_filters_are_refused(cutoff: float, order: int) -> None:
    with pytest.raises(BagError, match=str(cutoff) if order else "order 0"):
        Smoothing(cutoff, order)


@pytest.mark.parametrize(("rate", "within"), [(200.0, 0.02), (1000.0, 0.02)])
def test_friction_is_filtered_as_the_effort(rate: float, within: float) -> None:
    """The sign of the velocity, as an effort, beside that of the filtered velocity, away from ends and a gap."""
    time = 0.0017 + even(12.0, rate)
    time = time[(time < 5.1) | (time > 6.0)]
    series = recording(time)
    with pytest.warns(BagWarning, match="gaps"):
        motion = recorded_motion(
            dataclasses.replace(series, effort=np.sign(series.velocity)), Smoothing()
        )
    inside = (
        np.abs(motion.time[:, np.newaxis] - [0.0, 5.1, 6.0, 12.0]).min(axis=1) > 0.35
    )
    sign = np.sign(motion.qd)
    assert (
        np.abs(motion.filtered(lambda q, qd, qdd: np.sign(qd)) - motion.tau)[
            inside
        ].max()
        < within
    )
    assert np.abs(sign - motion.tau)[inside].max() > 0.5
    thin = motion.part(slice(None, None, 20))
    np.testing.assert_array_equal(
        thin.filtered(lambda q, qd, qdd: np.sign(qd)), sign[::20]
    )
