"""Motions that are finite Fourier series, as they excite a robot for identification."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference import joint_vector, named_joints, positive, smooth_step, time_grid
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.kernels.types import Array

_REST = 1e-8  # of what the coefficients could sum up to


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


def _coefficients(name: str, values: ArrayLike, names: tuple[str, ...]) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TrajectoryError(f"{name} is {values!r}; give numbers") from error
    if array.size == 0 or array.size % len(names) or (array.ndim == 2 and len(array) != len(names)) or array.ndim > 2:
        raise TrajectoryError(f"{name} has shape {array.shape}; give as many numbers for each of {len(names)} joints")
    if not np.isfinite(array).all():
        raise TrajectoryError(f"{name} is {array.tolist()}; give finite numbers")
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
