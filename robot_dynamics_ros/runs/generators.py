"""Trajectory generators: quintic polynomials, sines, and Fourier series for identification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.runs.thresholds import SERIES_REST

_STEP = Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])


def point_to_point(
    joint_names: Sequence[str],
    start: ArrayLike,
    goal: ArrayLike,
    duration: float,
    rate: float,
) -> TrajectoryPoints:
    """Return a quintic from rest at `start` to rest at `goal`.

    Velocity and acceleration are zero at both ends.

    Parameters
    ----------
    joint_names
        Names of the k joints.
    start, goal
        Positions (rad or m), one number for all joints or shape (k,).
    duration
        Duration (s), positive.
    rate
        Least number of points per second, positive.

    Raises
    ------
    TrajectoryError
        For positions of the wrong size, naming the argument.
    """
    names = tuple(joint_names)
    times = time_grid(duration, rate)
    begin = _per_joint("start", start, names)
    end = _per_joint("goal", goal, names)
    return TrajectoryPoints(names, times, *quintic(times, begin, end, duration))


def quintic_then_sine(
    joint_names: Sequence[str],
    start: ArrayLike,
    center: ArrayLike,
    amplitude: ArrayLike,
    frequency: ArrayLike,
    move_time: float,
    total_time: float,
    rate: float,
) -> TrajectoryPoints:
    """Return a quintic from `start` to `center`, followed by a sine about `center`.

    The amplitude of the sine rises from zero and returns to it by quintic steps, each over a quarter of the sine's
    duration. The motion is twice continuously differentiable and at rest at both ends.

    Parameters
    ----------
    joint_names
        Names of the k joints.
    start, center, amplitude
        Positions and amplitude (rad or m), one number for all joints or shape (k,).
    frequency
        Frequency (Hz), positive, one number or shape (k,).
    move_time
        Duration (s) of the quintic, positive.
    total_time
        Duration (s) of the whole trajectory, greater than `move_time`.
    rate
        Least number of points per second, positive.

    Raises
    ------
    TrajectoryError
        For numbers of the wrong size, a frequency that is not positive, and
        a total time without a sine, naming the argument.
    """
    names = tuple(joint_names)
    fade = (total_time - move_time) / 4
    if fade <= 0.0:
        raise TrajectoryError(
            f"total_time {total_time} s leaves no time for the sine. Cure: give more than move_time {move_time} s"
        )
    times = time_grid(total_time, rate)
    begin = _per_joint("start", start, names)
    middle = _per_joint("center", center, names)
    size = _per_joint("amplitude", amplitude, names)
    hertz = _per_joint("frequency", frequency, names)
    if (hertz <= 0.0).any():
        raise TrajectoryError(
            f"frequency is {hertz.tolist()} Hz. Cure: give positive numbers"
        )
    q, qd, qdd = quintic(times, begin, middle, move_time)
    local = np.maximum(times - move_time, 0.0)
    w = 2 * math.pi * hertz
    phase = local[:, None] * w
    wave = size * np.sin(phase), size * w * np.cos(phase), -size * w**2 * np.sin(phase)
    rise = smooth_step(local, fade)
    fall = smooth_step(total_time - times, fade)
    # The two steps do not overlap: one factor of their product is constant at any time.
    window = (rise[0] * fall[0], rise[1] - fall[1], rise[2] + fall[2])
    return TrajectoryPoints(
        names,
        times,
        q + window[0] * wave[0],
        qd + window[1] * wave[0] + window[0] * wave[1],
        qdd + window[2] * wave[0] + 2 * window[1] * wave[1] + window[0] * wave[2],
    )


def quintic(
    times: Array, begin: Array, end: Array, duration: float
) -> tuple[Array, Array, Array]:
    """Return position, velocity and acceleration (m, k) of the quintic from rest at ``begin`` to rest at ``end`` (k,).

    The motion is from 0 to ``duration`` (s); ``times`` (m,), s, may be later.
    """
    share, rate, bend = smooth_step(times, duration)
    return begin + share * (end - begin), rate * (end - begin), bend * (end - begin)


def smooth_step(times: Array, duration: float) -> tuple[Array, Array, Array]:
    """Return 10 u^3 - 15 u^4 + 6 u^5 and its first two derivatives by time (1/s, 1/s^2), (m, 1) each.

    u is the share of ``times`` (m,), s, in the ``duration`` (s), limited to 0 to 1.
    """
    u = np.clip(times / duration, 0.0, 1.0)[:, None]
    return _STEP(u), _STEP.deriv()(u) / duration, _STEP.deriv(2)(u) / duration**2


def time_grid(duration: float, rate: float) -> Array:
    """Return equally spaced times (m,), s, from 0 to ``duration`` (s) inclusive, at most 1 / ``rate`` (1/s) apart."""
    # The margin absorbs rounding: 1.1 s at 10 Hz is 11.000000000000002 steps.
    steps = max(1, math.ceil(duration * rate - 1e-9))
    return np.linspace(0.0, duration, steps + 1)


def fourier(
    joint_names: Sequence[str],
    start: ArrayLike,
    center: ArrayLike,
    sine: ArrayLike,
    cosine: ArrayLike,
    base_frequency: float,
    cycles: int,
    move_time: float,
    rate: float,
) -> TrajectoryPoints:
    """Return a quintic from `start` to the first position of a Fourier series, followed by `cycles` of its periods.

    The series is center + sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t) for l = 1 to L, where w is 2 pi
    `base_frequency` and t the time since the quintic. It has to start at rest, that is sum a_l = 0 and sum l b_l = 0.
    The motion is then twice continuously differentiable and at rest at both ends.

    Parameters
    ----------
    joint_names
        Names of the k joints.
    start, center
        Positions (rad or m), one number for all joints or shape (k,).
    sine, cosine
        Coefficients a and b (rad/s or m/s), shape (k, L), or (k L,) with the coefficients of one joint after the other.
    base_frequency
        Frequency (Hz) of the first harmonic, positive.
    cycles
        Number of periods, at least 1.
    move_time
        Duration (s) of the quintic, positive.
    rate
        Least number of points per second, positive.

    Raises
    ------
    TrajectoryError
        For numbers of the wrong size, naming the argument, and for a series that does not
        start at rest.
    """
    names = tuple(joint_names)
    a = _coefficients("sine", sine, names)
    b = _coefficients("cosine", cosine, names)
    if a.shape != b.shape:
        raise TrajectoryError(
            f"sine has {a.shape[1]} coefficients per joint, cosine {b.shape[1]}. Cure: give the same number of both"
        )
    _require_rest(names, a, b)
    times = time_grid(move_time + cycles / base_frequency, rate)
    # Whole periods: the series starts and ends in the same state of rest.
    wave = fourier_wave(
        np.maximum(times - move_time, 0.0), a, b, 2 * math.pi * base_frequency
    )
    begin = _per_joint("start", start, names)
    middle = _per_joint("center", center, names)
    first = fourier_wave(np.zeros(1), a, b, 2 * math.pi * base_frequency)[0][0] + middle
    moves = quintic(times, begin, first, move_time)
    series = (middle + wave[0], wave[1], wave[2])
    moving = (times <= move_time)[:, np.newaxis]
    return TrajectoryPoints(
        names,
        times,
        *(np.where(moving, *pair) for pair in zip(moves, series, strict=True)),
    )


def fourier_wave(
    times: Array, sine: Array, cosine: Array, w: float
) -> tuple[Array, Array, Array]:
    """Return q = sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t) and its two derivatives, (m, k) each.

    `times` t (m,) are in s, `sine` a and `cosine` b (k, L) of k joints in rad/s or m/s; l is 1 to L, w is the angular
    frequency (rad/s) of the first harmonic. Swevers, Ganseman, Tukel, De Schutter, Van Brussel, "Optimal robot
    excitation and identification", IEEE Transactions on Robotics and Automation 13(5), 1997, eq. (5).
    """
    rates = w * np.arange(1, sine.shape[1] + 1)
    phase = times[:, np.newaxis] * rates
    s = np.sin(phase)
    c = np.cos(phase)
    return (
        (s / rates) @ sine.T - (c / rates) @ cosine.T,
        c @ sine.T + s @ cosine.T,
        (c * rates) @ cosine.T - (s * rates) @ sine.T,
    )


def _per_joint(name: str, values: ArrayLike, names: tuple[str, ...]) -> Array:
    """Return ``values``, one number for all of the k joints or one for each, as (k,)."""
    array = np.asarray(values, dtype=np.float64)
    k = len(names)
    if array.shape not in ((), (1,), (k,)):
        raise TrajectoryError(
            f"{name} has shape {array.shape}. Cure: give one number or one for each of {k} joints"
        )
    return np.full(k, array)


def _coefficients(name: str, values: ArrayLike, names: tuple[str, ...]) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if (
        array.size == 0
        or array.size % len(names)
        or (array.ndim == 2 and len(array) != len(names))
        or array.ndim > 2
    ):
        raise TrajectoryError(
            f"{name} has shape {array.shape}. Cure: give equally many coefficients for each of {len(names)} joints"
        )
    return array.reshape(len(names), -1)


def _require_rest(names: tuple[str, ...], sine: Array, cosine: Array) -> None:
    """Raise TrajectoryError if velocity or acceleration at the start is not zero."""
    order = np.arange(1, sine.shape[1] + 1)
    for quantity, cure, terms in (
        ("velocity", "choose sine coefficients with sum zero", sine),
        (
            "acceleration",
            "choose cosine coefficients b_l with sum of l b_l zero, l = 1, 2, ...",
            cosine * order,
        ),
    ):
        for j in np.flatnonzero(
            np.abs(terms.sum(axis=1)) > SERIES_REST * np.abs(terms).sum(axis=1)
        ).tolist():
            raise TrajectoryError(
                f"the series of joint '{names[j]}' does not start at rest: its {quantity} is not zero. Cure: {cure}"
            )
