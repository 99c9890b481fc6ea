"""Recorded motions, filtered and differentiated, and comparison of their measured torque with the model's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.thresholds import (
    CLOCK_RESTART,
    FILTER_EDGE,
    GAP_STEPS,
    KEPT_PER_CUTOFF,
    LARGEST_CUTOFF,
    LOCKED_TIME,
    LONGEST_HOLE,
    RATE_PER_CUTOFF,
    REST_TRAVEL,
    RESTART_PAUSE,
    STAMP_JITTER,
    STRETCH_LEAST_SAMPLES,
    UNRELATED_PERIODS,
)
from robot_dynamics_ros.base.errors import BagError, BagWarning, did_you_mean
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.bags import JointSeries
from robot_dynamics_ros.recordings.bags.joint_series import unwrapped

# first derivative, error (w dt)^4 / 30
_STENCIL = (1.0 / 12.0, -8.0 / 12.0, 0.0, 8.0 / 12.0, -1.0 / 12.0)
_REACH = len(_STENCIL) // 2


@dataclass(frozen=True)
class Smoothing:
    """Zero-phase low-pass filter of position, velocity and effort.

    A Butterworth filter runs forward and backward (scipy.signal.sosfiltfilt), which causes no delay and leaves half the
    amplitude at the cutoff. All signals pass the same filter, so that the equation of motion, nearly linear over so
    short a time, still holds between them: Gautier, "Dynamic identification of robots with power model", ICRA 1997.

    Attributes
    ----------
    cutoff
        Cutoff frequency in Hz; 0: no filter; None: 10 Hz, or a sixth of the sampling rate if that is lower.
    order
        Order of the Butterworth filter. Values out of range raise BagError.
    """

    cutoff: float | None = None
    order: int = 4

    def __post_init__(self) -> None:
        if self.cutoff is not None and not 0.0 <= self.cutoff < math.inf:
            raise BagError(
                f"a filter with its cutoff at {self.cutoff} Hz. Cure: give a positive number, or 0 for none"
            )
        if self.order < 1:
            raise BagError(f"a filter of order {self.order}. Cure: give 1 or more")

    def at(self, rate: float) -> Smoothing:
        """Return this filter for a sampling rate in Hz, with a number as cutoff.

        Raises BagError for a cutoff above 0.45 times the rate.
        """
        cutoff = (
            min(LARGEST_CUTOFF, rate / RATE_PER_CUTOFF)
            if self.cutoff is None
            else self.cutoff
        )
        if cutoff > 0.45 * rate:
            raise BagError(
                f"a filter with its cutoff at {cutoff:g} Hz needs more than the recording's {rate:.4g} samples a "
                f"second. Cure: give {0.45 * rate:.3g} Hz or less, or 0 for none"
            )
        return Smoothing(cutoff, self.order)

    @property
    def edge(self) -> float:
        """Time (s) dropped at each end of a stretch, 1.5 periods of the cutoff; 0 if ``cutoff`` is 0 or None."""
        return FILTER_EDGE / self.cutoff if self.cutoff else 0.0

    def __str__(self) -> str:
        """Describe filter and differentiation."""
        slope = "acceleration: five-point central differences of the velocity"
        if self.cutoff == 0.0:
            return f"not filtered; {slope}"
        where = (
            "10 Hz or a sixth of the sampling rate"
            if self.cutoff is None
            else f"{self.cutoff:.4g} Hz"
        )
        return (
            f"position, velocity and effort alike through a zero-phase Butterworth filter of order {self.order} "
            f"at {where}, run forward and back; {slope}"
        )


@dataclass(frozen=True, eq=False)
class RecordedMotion:
    """Motion of n joints and measured torque at m times, finite and in SI units.

    Attributes
    ----------
    joint_names
        The n joints, in the order of the columns.
    time
        Time (m,) in s from the first usable message; increasing, with a step where messages were left out.
    q, qd, qdd, tau
        Position, velocity, acceleration and measured torque (m, n).
    smoothing
        The filter that all signals have passed.
    every
        Number of recorded messages for each sample.
    effort_delay
        Time (s) by which the effort lagged and was shifted.
    series
        The recording itself, with the same joints; None for a motion that was not recorded.
    """

    joint_names: tuple[str, ...]
    time: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    smoothing: Smoothing = Smoothing(0.0)
    every: int = 1
    effort_delay: float = 0.0
    series: JointSeries | None = None

    @property
    def period(self) -> float:
        """Median time (s) between samples, of which there must be two."""
        return float(np.median(np.diff(self.time)))

    @property
    def states(self) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (m, n)."""
        return self.q, self.qd, self.qdd

    @property
    def step(self) -> float:
        """Median time between samples in periods of the filter's cutoff; 0 without a filter, or for one sample."""
        cutoff = self.smoothing.cutoff or 0.0
        return cutoff * self.period if len(self.time) > 1 else 0.0

    @property
    def reach(self) -> int:
        """Number of samples over which the filter smears a step, to each side: 1.5 periods of its cutoff."""
        return math.ceil(FILTER_EDGE / self.step) if self.step else 0

    @property
    def still(self) -> NDArray[np.bool_]:
        """True (n,) for joints whose positions lie within less than 1e-3 rad or m."""
        return np.asarray(np.ptp(self.q, axis=0) < REST_TRAVEL)

    def filtered(self, law: Callable[[Array, Array, Array], Array]) -> Array:
        """Return ``law(q, qd, qdd)`` (m, ...) after the filter that the torque has passed.

        ``law`` is a function of motions (k, n). It may jump, as friction at a reversal: it is evaluated at the rate of
        the recording, for interpolated motions, which continue with constant acceleration at the ends. No filter
        crosses a gap. Without a filter, and for samples half a period or more apart, the result is not filtered.
        """
        motion = self.states
        if not 0.0 < self.step < UNRELATED_PERIODS:
            return law(*motion)
        # slow to import, which would delay --help
        from scipy import interpolate, signal

        sections = signal.butter(
            self.smoothing.order, 2.0 * self.step / self.every, output="sos"
        )
        period = self.period
        late = self.effort_delay / period  # samples
        length = math.ceil(self.every * (FILTER_EDGE / self.step + abs(late)))
        gaps = np.flatnonzero(np.diff(self.time) > GAP_STEPS * period) + 1
        stretches = []
        for rows in np.split(np.arange(len(self.time)), gaps):
            # The effort was sampled when the motion was that of ``effort_delay`` before: a jump has the same place.
            count = self.every * (len(rows) - 1) + 1
            places = np.arange(-length, count + length) / self.every - late
            inside = np.clip(places, 0.0, len(rows) - 1.0)
            fine = [
                np.stack(
                    [np.interp(inside + rows[0], rows, x) for x in values[rows].T],
                    axis=1,
                )
                for values in motion
            ]
            q, qd, qdd = fine
            beyond = ((places - inside) * period)[:, None]
            values = law(q + beyond * qd, qd + beyond * qdd, qdd)
            used = values.any(axis=0)  # columns of zeros remain so
            smooth = signal.sosfiltfilt(sections, values[:, used], axis=0, padlen=0)
            kept = np.arange(length, length + count, self.every)
            stretch = np.zeros((len(kept), *used.shape))
            if late and used.any():
                spline = interpolate.make_interp_spline(np.arange(len(smooth)), smooth)
                stretch[:, used] = spline(kept + late * self.every)
            else:
                stretch[:, used] = smooth[kept]
            stretches.append(stretch)
        return np.concatenate(stretches)

    def part(self, samples: slice | NDArray[Any]) -> RecordedMotion:
        """Return the samples selected by a slice, a mask (m,) or an array of indices."""
        time, q, qd, qdd, tau = (
            field[samples] for field in (self.time, self.q, self.qd, self.qdd, self.tau)
        )
        return replace(self, time=time, q=q, qd=qd, qdd=qdd, tau=tau)


def recorded_motion(
    series: JointSeries,
    smoothing: Smoothing,
    effort_delay: float = 0.0,
    drive_gains: Mapping[str, float] = MappingProxyType({}),
) -> RecordedMotion:
    """Filter the recording ``series`` by ``smoothing``, differentiate it, and sample it evenly.

    Messages with NaN, without a stamp, or with a stamp not after the previous one are left out, and so are those of a
    robot at rest whose efforts are all exactly 0 for 0.1 s or more: brakes hold it. The rest is divided where two
    messages are more than five median intervals apart, so that no filter crosses a gap; shorter holes and jitter are
    removed by linear interpolation. Accelerations, and velocities that were not recorded, are five-point central
    differences. At both ends of each stretch one and a half periods of the cutoff are dropped; then 20 samples for each
    period of the cutoff are kept.

    ``effort_delay`` is the time in s, between -1 and 1, by which the effort lags position and velocity, and by which it
    is shifted. ``drive_gains`` are Nm or N per recorded unit of effort, by joint name (default: 1).

    Raises BagError if too few messages remain, if no position or effort was recorded, for a delay out of range, and as
    ``with_gains`` and ``Smoothing.at``. Issues a BagWarning with the number of messages that are left out, and one with
    that of gaps.
    """
    _require_motion_and_effort(series)
    if not abs(effort_delay) < 1.0:
        raise BagError(
            f"an effort delay of {effort_delay:g} s. Cure: give seconds, less than 1"
        )
    series = with_gains(series, drive_gains)
    with_velocity = _with_velocity(series)
    stamps, rows = _usable_messages(series, with_velocity)
    if len(stamps) < 2:
        raise BagError(
            f"the recording: {len(stamps)} usable messages are too few to differentiate. Cure: record longer"
        )
    steps = np.diff(stamps)
    period = float(np.median(steps)) * 1e-9
    smoothing = smoothing.at(1.0 / period)
    gaps = np.flatnonzero(steps > LONGEST_HOLE * period * 1e9) + 1
    stretches = []
    short = 0
    for part in np.split(np.arange(len(stamps)), gaps):
        time = stamps[part].astype(np.float64) * 1e-9
        stretch = _filtered(
            series, with_velocity, time, rows[part], period, smoothing, effort_delay
        )
        if stretch is None:
            short += len(part)
        else:
            stretches.append(stretch)
    if not stretches:
        raise BagError(
            f"the recording: none of its {len(series.stamps)} messages are part of a stretch without gaps that is "
            f"longer than the {2 * smoothing.edge + STRETCH_LEAST_SAMPLES * period:.3g} s that the filter needs. Cure: "
            "record longer, or give a higher cutoff"
        )
    if short:
        _warn(
            f"{short} messages are in stretches between gaps that are too short for the filter; they are left out"
        )
    if len(stretches) > 1:
        _warn(
            f"it has {len(stretches) - 1} gaps longer than {LONGEST_HOLE:g} periods; each stretch is filtered by itself"
        )
    time, q, qd, qdd, tau = (
        np.concatenate(parts) for parts in zip(*stretches, strict=True)
    )
    every = max(1, round(float(np.median(np.diff(time))) / period))
    return RecordedMotion(
        series.joint_names,
        time,
        q,
        qd,
        qdd,
        tau,
        smoothing,
        every,
        effort_delay,
        series,
    )


def _filtered(
    series: JointSeries,
    with_velocity: NDArray[np.bool_],
    time: Array,
    rows: NDArray[np.intp],
    period: float,
    smoothing: Smoothing,
    effort_delay: float,
) -> tuple[Array, Array, Array, Array, Array] | None:
    """Return time (k,), q, qd, qdd and tau (k, n) of messages without a gap; None if too little would remain."""
    if len(time) < 2:
        return None
    grid = None
    even = (time[-1] - time[0]) / (len(time) - 1)
    if np.abs(time - time[0] - even * np.arange(len(time))).max() > STAMP_JITTER * even:
        even = period
        grid = np.arange(time[0], time[-1] + 1e-6 * period, period)
    times: Array = time if grid is None else grid
    edge = max(_REACH, math.ceil((smoothing.edge + abs(effort_delay)) / even - 1e-6))
    if len(times) - 2 * edge < STRETCH_LEAST_SAMPLES:
        return None
    from scipy import interpolate, signal  # slow to import, which would delay --help

    stride = 1
    if smoothing.cutoff:
        stride = max(1, int(1.0 / (KEPT_PER_CUTOFF * smoothing.cutoff * even) + 1e-6))
        sections = signal.butter(
            smoothing.order, smoothing.cutoff, fs=1.0 / even, output="sos"
        )

    def smooth(values: Array) -> Array:
        values = values if grid is None else np.interp(grid, time, values)
        if not smoothing.cutoff:
            return values
        return signal.sosfiltfilt(sections, values, padlen=min(edge, len(values) - 1))

    def slope(values: Array) -> Array:
        result = np.gradient(values, even)  # for the ends, which are dropped
        result[_REACH:-_REACH] = np.convolve(values, _STENCIL[::-1], "valid") / even
        return result

    kept = slice(edge, len(times) - edge, stride)
    result = np.empty((4, len(times[kept]), len(with_velocity)))
    for j, recorded in enumerate(with_velocity):
        q = smooth(unwrapped(series.position[rows, j]))
        qd = smooth(series.velocity[rows, j]) if recorded else slope(q)
        tau = smooth(series.effort[rows, j])
        if effort_delay:
            tau = interpolate.CubicSpline(times, tau)(
                np.clip(times + effort_delay, times[0], times[-1])
            )
        result[:, :, j] = [values[kept] for values in (q, qd, slope(qd), tau)]
    q, qd, qdd, tau = result
    return times[kept], q, qd, qdd, tau


def _require_motion_and_effort(series: JointSeries) -> None:
    """Raise BagError if a joint has no position or effort, or all efforts are zero."""
    for field, values in (("position", series.position), ("effort", series.effort)):
        for name in compress(series.joint_names, np.all(np.isnan(values), axis=0)):
            raise BagError(
                f"the recording: no {field} of {name} was recorded. Cure: choose the other joints with --joints, "
                "or another topic with --topic"
            )
    if not series.effort.any():
        raise BagError(
            "the recording: every effort is zero: the driver measures none. Cure: record a topic with measured effort"
        )


def with_gains(series: JointSeries, drive_gains: Mapping[str, float]) -> JointSeries:
    """Return the series with its effort in Nm or N; BagError for an unknown joint, and a zero or infinite gain."""
    gains = np.ones(len(series.joint_names))
    for name, gain in drive_gains.items():
        if name not in series.joint_names:
            raise BagError(
                f"a drive gain for {name}, which the recording does not have, only {', '.join(series.joint_names)}. "
                f"Cure: name one of its joints{did_you_mean(name, series.joint_names)}"
            )
        if gain == 0.0 or not math.isfinite(gain):
            raise BagError(
                f"the drive gain {gain:g} of {name}. Cure: give Nm or N per recorded unit, not 0"
            )
        gains[series.joint_names.index(name)] = gain
    return replace(series, effort=series.effort * gains) if drive_gains else series


def _with_velocity(series: JointSeries) -> NDArray[np.bool_]:
    """Return False (n,) for joints whose velocities are all NaN, or all zero although the joint moves."""
    position = series.position
    still = np.nanmax(position, axis=0) == np.nanmin(position, axis=0)
    absent = np.all(np.isnan(series.velocity), axis=0)
    recorded: NDArray[np.bool_] = ~absent & (np.any(series.velocity, axis=0) | still)
    if not recorded.all():
        names = ", ".join(compress(series.joint_names, ~recorded))
        _warn(
            f"no velocity of {names} was recorded; it is differentiated from the position"
        )
    return recorded


def _usable_messages(
    series: JointSeries, with_velocity: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return increasing stamps in ns from 0, and the rows of the messages that have them."""
    finite = np.isfinite(series.position) & np.isfinite(series.effort)
    finite &= np.isfinite(series.velocity) | ~with_velocity
    keep = np.all(finite, axis=1)
    if not keep.all():
        lacking = ", ".join(compress(series.joint_names, ~np.all(finite, axis=0)))
        _warn(
            f"{np.count_nonzero(~keep)} of {len(keep)} messages are left out, since there is no finite number for "
            f"{lacking}, or no message with it before or after"
        )
    stamps = series.stamps
    if len(stamps) > 1 and (stamps == stamps[0]).all():
        _warn("no message has a stamp of its own; the times of arrival are used")
        stamps = series.received
    elif not (stamps[1:] > 0).all():  # a simulated clock may start at 0
        _warn(
            f"{np.count_nonzero(stamps[1:] <= 0)} messages have no stamp; they are left out"
        )
        keep[1:] &= stamps[1:] > 0
    locked = _locked(series, stamps)
    if locked.any():
        _warn(
            f"{np.count_nonzero(locked)} messages have effort 0 in all joints at rest, as if brakes hold the robot; "
            "they are left out"
        )
        keep &= ~locked
    rows = np.flatnonzero(keep)
    if not len(rows):
        return np.empty(0, dtype=np.int64), rows
    stamps = _without_restarts(stamps[rows] - stamps[rows[0]])
    later = np.concatenate([[True], stamps[1:] > np.maximum.accumulate(stamps)[:-1]])
    if not later.all():
        _warn(
            f"{np.count_nonzero(~later)} messages are not stamped after the one before; they are left out"
        )
    return stamps[later] - stamps[0], rows[later]


def _locked(series: JointSeries, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True (m,) for messages of a robot at rest that measures no effort, as behind closed brakes."""
    zero = (series.effort == 0.0).all(axis=1)
    locked = np.zeros(len(zero), dtype=np.bool_)
    ends = np.flatnonzero(np.diff(zero, prepend=False, append=False)).reshape(-1, 2)
    for first, last in ends.tolist():
        lasts = stamps[last - 1] - stamps[first] >= LOCKED_TIME
        locked[first:last] = (
            lasts and (np.ptp(series.position[first:last], axis=0) < REST_TRAVEL).all()
        )
    return locked


def _without_restarts(stamps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the stamps with each reset of the clock replaced by a pause of a minute."""
    steps = np.diff(stamps, prepend=stamps[0])
    back = steps < -CLOCK_RESTART
    if not back.any():
        return stamps
    _warn(
        f"its clock is set back {np.count_nonzero(back)} times; each stretch is taken by itself"
    )
    return np.asarray(
        stamps + np.cumsum(np.where(back, RESTART_PAUSE - steps, 0)), dtype=np.int64
    )


def _warn(text: str) -> None:
    warnings.warn(BagWarning(f"the recording: {text}"), stacklevel=2)
