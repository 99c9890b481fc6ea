"""Generators of trajectories: quintics, sines, and Fourier series for identification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.kernels.types import Array

_REST = 1e-8  # of what the coefficients could sum up to


def point_to_point(
    joint_names: Sequence[str], start: ArrayLike, goal: ArrayLike, duration: float, rate: float
) -> TrajectoryPoints:
    """Return a quintic from rest at `start` to rest at `goal` (rad or m) in `duration` (s).

    Velocity and acceleration are zero at both ends; at least `rate` points a second. Start and goal are one
    number or (k,). Raises TrajectoryError for arguments that do not fit.
    """
    names = named_joints(joint_names)
    times = time_grid(positive("duration", duration), rate)
    begin, end = joint_vector("start", start, names), joint_vector("goal", goal, names)
    step = smooth_step(times / duration, duration)
    return TrajectoryPoints(
        names, times, begin + step[0] * (end - begin), step[1] * (end - begin), step[2] * (end - begin)
    )


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
    """Return a quintic from `start` to `center` in `move_time` (s), then a sine about it until `total_time`.

    The sine's amplitude rises from zero and falls back to it by quintic steps, each over a quarter of the sine's time,
    so that all is C2 and at rest at both ends. Positions and amplitude are rad or m, frequency is Hz, each one number
    or (k,); at least `rate` points a second. Raises TrajectoryError for arguments that do not fit.
    """
    names = named_joints(joint_names)
    move = positive("move_time", move_time)
    sine_time = positive("total_time", total_time) - move
    if sine_time <= 0.0:
        raise TrajectoryError(
            f"total_time {total_time} s leaves no time for the sine; give more than move_time {move} s"
        )
    fade = sine_time / 4
    times = time_grid(total_time, rate)
    begin, middle = joint_vector("start", start, names), joint_vector("center", center, names)
    size, hertz = joint_vector("amplitude", amplitude, names), joint_vector("frequency", frequency, names)
    if (hertz <= 0.0).any():
        raise TrajectoryError(f"frequency is {hertz.tolist()} Hz; give positive numbers")
    step = smooth_step(np.minimum(times / move, 1.0), move)
    local = np.maximum(times - move, 0.0)
    w = 2 * math.pi * hertz
    phase = local[:, None] * w
    wave = size * np.sin(phase), size * w * np.cos(phase), -size * w**2 * np.sin(phase)
    rise = smooth_step(np.minimum(local / fade, 1.0), fade)
    fall = smooth_step(np.clip((total_time - times) / fade, 0.0, 1.0), fade)
    # The two steps never overlap, so that at any time one factor of their product is constant.
    window = (rise[0] * fall[0], rise[1] - fall[1], rise[2] + fall[2])
    return TrajectoryPoints(
        names,
        times,
        begin + step[0] * (middle - begin) + window[0] * wave[0],
        step[1] * (middle - begin) + window[1] * wave[0] + window[0] * wave[1],
        step[2] * (middle - begin) + window[2] * wave[0] + 2 * window[1] * wave[1] + window[0] * wave[2],
    )


def smooth_step(u: Array, duration: float) -> tuple[Array, Array, Array]:
    """Return 10 u^3 - 15 u^4 + 6 u^5 for u in [0, 1] and its two time derivatives, (m, 1) each."""
    u = u[:, None]
    return (
        u**3 * (10 + u * (6 * u - 15)),
        30 * u**2 * (1 - u) ** 2 / duration,
        60 * u * (1 - u) * (1 - 2 * u) / duration**2,
    )


def time_grid(duration: float, rate: float) -> Array:
    """Return evenly spaced times from 0 to duration, both included, no further apart than 1 / rate."""
    # The margin keeps 1.1 s at 10 Hz, in floats 11.000000000000002, at eleven steps.
    steps = max(1, math.ceil(duration * positive("rate", rate) - 1e-9))
    return np.linspace(0.0, duration, steps + 1)


def positive(name: str, value: float) -> float:
    """Return ``value``; TrajectoryError, calling it ``name``, unless it is positive and finite."""
    if not (math.isfinite(value) and value > 0.0):
        raise TrajectoryError(f"{name} is {value}; give a positive number")
    return float(value)


def named_joints(joint_names: Sequence[str]) -> tuple[str, ...]:
    """Return the names; TrajectoryError unless they are different, and at least one."""
    names = tuple(joint_names)
    if not names or isinstance(joint_names, str) or len(set(names)) != len(names):
        raise TrajectoryError(f"joint_names is {joint_names!r}; give a list of different joint names")
    return names


def joint_vector(name: str, value: ArrayLike, names: tuple[str, ...]) -> Array:
    """Return one number, or one for each joint, as (k,); TrajectoryError, calling it ``name``, otherwise."""
    array = _finite(name, value)
    if array.shape not in ((), (len(names),)):
        raise TrajectoryError(f"{name} has shape {array.shape}; give one number or one for each of {len(names)} joints")
    return np.broadcast_to(array, (len(names),)).astype(np.float64)


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
    """Return a quintic from `start` to where the series starts in `move_time` (s), then `cycles` periods of it.

    The series is that of ``fourier_wave`` about `center`, with the angular frequency 2 pi `base_frequency` (Hz). It
    must start at rest, that is sum a_l = 0 and sum l b_l = 0, so that all is C2 and at rest at both ends. Start and
    center are rad or m, one number or (k,); the coefficients `sine` a and `cosine` b are rad/s or m/s, (k, L) or those
    of one joint after the other (k L,). At least `rate` points a second. Raises TrajectoryError for arguments that do
    not fit.
    """
    names = named_joints(joint_names)
    frequency, move = positive("base_frequency", base_frequency), positive("move_time", move_time)
    if not isinstance(cycles, int) or cycles < 1:
        raise TrajectoryError(f"cycles is {cycles}; give a whole number, at least 1")
    a, b = _coefficients("sine", sine, names), _coefficients("cosine", cosine, names)
    if a.shape != b.shape:
        raise TrajectoryError(f"sine has {a.shape[1]} coefficients a joint and cosine {b.shape[1]}; give as many")
    _require_rest(names, a, b)
    times = time_grid(move + cycles / frequency, rate)
    # Whole periods: past the move, time 0 of the series and its end are the same state of rest.
    wave = fourier_wave(np.maximum(times - move, 0.0), a, b, 2 * math.pi * frequency)
    begin, middle = joint_vector("start", start, names), joint_vector("center", center, names)
    first = fourier_wave(np.zeros(1), a, b, 2 * math.pi * frequency)[0][0] + middle
    step = smooth_step(np.minimum(times / move, 1.0), move)
    still = (times <= move)[:, np.newaxis]
    return TrajectoryPoints(
        names,
        times,
        np.where(still, begin + step[0] * (first - begin), middle + wave[0]),
        np.where(still, step[1] * (first - begin), wave[1]),
        np.where(still, step[2] * (first - begin), wave[2]),
    )


def fourier_wave(times: Array, sine: Array, cosine: Array, w: float) -> tuple[Array, Array, Array]:
    """Return q = sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t) and its two derivatives, (m, k) each.

    At `times` (m,) in s, with `sine` a and `cosine` b (k, L) and the base angular frequency w (rad/s): Swevers,
    Ganseman, Tukel, De Schutter, Van Brussel, "Optimal robot excitation and identification", IEEE Transactions on
    Robotics and Automation 13(5), 1997, eq. (5).
    """
    rates = w * np.arange(1, sine.shape[1] + 1)
    phase = times[:, np.newaxis] * rates
    s, c = np.sin(phase), np.cos(phase)
    return (
        (s / rates) @ sine.T - (c / rates) @ cosine.T,
        c @ sine.T + s @ cosine.T,
        (c * rates) @ cosine.T - (s * rates) @ sine.T,
    )


def _finite(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"{name} is {values!r}; give numbers") from error
    if not np.isfinite(array).all():
        raise TrajectoryError(f"{name} is {array.tolist()}; give finite numbers")
    return array


def _coefficients(name: str, values: ArrayLike, names: tuple[str, ...]) -> Array:
    array = _finite(name, values)
    if array.size == 0 or array.size % len(names) or (array.ndim == 2 and len(array) != len(names)) or array.ndim > 2:
        raise TrajectoryError(f"{name} has shape {array.shape}; give as many numbers for each of {len(names)} joints")
    return array.reshape(len(names), -1)


def _require_rest(names: tuple[str, ...], sine: Array, cosine: Array) -> None:
    """Raise TrajectoryError where velocity or acceleration at the start is not zero."""
    order = np.arange(1, sine.shape[1] + 1)
    for what, cure, terms in (
        ("velocity", "make its sine coefficients sum to zero", sine),
        ("acceleration", "make its cosine coefficients, each times its number, sum to zero", cosine * order),
    ):
        for name, row in zip(names, terms, strict=True):
            if abs(row.sum()) > _REST * np.abs(row).sum():
                raise TrajectoryError(f"the series of joint '{name}' does not start at rest, it has {what}; {cure}")
