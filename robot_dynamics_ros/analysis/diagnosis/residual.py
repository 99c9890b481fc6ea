"""Residuals that no cause explains, beside the noise of the recording itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.diagnosis.corrections import Correction
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.thresholds import (
    HINT_NOISE_FLOOR,
    LOCATED_BINS,
    LOCATED_SHARE,
    NOISE_PART,
    NOISE_PART_SAMPLES,
    TINY,
    UNEXPLAINED_CORRELATION,
    UNEXPLAINED_NOISE,
)
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel


def torque_noise(
    model: RobotModel, motion: RecordedMotion, correction: Correction
) -> Array | None:
    """Return the noise (n,) of the residual, Nm or N, by the recording itself; None without a recording or filter.

    ``motion`` is corrected by ``correction``, its recording is not.

    The power density of the messages just above the filter's cutoff, a median over parts of the recording (Welch's
    method), is taken to be that of noise below it. A Butterworth filter of order N, run forward and back, passes the
    share of the k-th derivative that follows from the integral of x^(2k) / (1 + x^(2N))^2. Noise of the effort and, by
    the mass matrix, of the acceleration are added.
    """
    series = motion.series
    cutoff = motion.smoothing.cutoff
    if series is None or not cutoff:
        return None
    from scipy.signal import welch  # slow to import, which would delay --help

    rate = motion.every / motion.period
    length = max(NOISE_PART_SAMPLES, round(NOISE_PART * rate))
    order = 2 * motion.smoothing.order

    def passed(values: Array, derivative: int) -> Array:
        finite = values[np.isfinite(values).all(axis=1)]
        if len(finite) < length:
            return np.zeros(values.shape[1])
        frequency, density = welch(
            finite, rate, nperseg=length, average="median", axis=0
        )
        above = (frequency > 1.5 * cutoff) & (frequency < 3.0 * cutoff)
        angle = (2 * derivative + 1) / order
        integral = np.pi / order / np.sin(np.pi * angle) * (1.0 - angle)
        slope = (2.0 * np.pi * cutoff) ** derivative
        power = np.median(density[above], axis=0) * cutoff * integral
        return np.asarray(np.sqrt(power) * slope)

    velocity = passed(series.velocity, 1)
    acceleration = np.where(velocity > 0.0, velocity, passed(series.position, 2))
    acceleration = acceleration[correction.joints] * np.abs(correction.scales)
    effort = passed(series.effort, 0)[correction.efforts] * np.abs(correction.gains)
    inertia = np.abs(model.mass_matrix(motion.q)).mean(axis=0)
    least = HINT_NOISE_FLOOR * root_mean_square(motion.tau)
    return np.asarray(np.maximum(np.hypot(effort, inertia @ acceleration), least))


def unexplained(
    model: RobotModel,
    motion: RecordedMotion,
    residual: Array,
    used: NDArray[np.bool_],
    noise: Array,
) -> list[str]:
    """Return a sentence on a ``residual`` (m, n) that is clearly more than ``noise`` (n,); empty if it may be noise.

    ``used`` (m, n) is False for samples that do not count. The sentence names the joints and what the residual of
    the first one depends on: velocity, load, position or time, by its means over equal parts of their ranges.
    """
    ratios = root_mean_square(residual, where=used) / (noise + TINY)
    # without any noise no effort is measured
    clear = (ratios > UNEXPLAINED_NOISE) & (np.ptp(motion.tau, axis=0) > TINY)
    if not clear.any():
        return []
    order = np.argsort(-ratios * clear)[: int(clear.sum())].tolist()
    each = ", ".join(f"{motion.joint_names[j]} {ratios[j]:.0f} times" for j in order)
    j = order[0]
    rows = used[:, j]
    load = model.inverse_dynamics(*motion.states)
    places = {
        "velocity": motion.qd[rows, j],
        "load": load[rows, j],
        "position": motion.q[rows, j],
        "time": motion.time[rows],
    }
    shares = {
        name: _explained_by(place, residual[rows, j]) for name, place in places.items()
    }
    best = max(shares, key=lambda name: shares[name])
    lag = max(1, round(1.0 / ((motion.smoothing.cutoff or 1.0) * motion.period)))
    later = residual[lag:, j] * rows[lag:]
    earlier = residual[:-lag, j] * rows[:-lag]
    correlation = (later * earlier).sum() / ((residual[rows, j] ** 2).sum() + TINY)
    where = f"depends on {best} ({100 * shares[best]:.0f} % of its variance)"
    if shares[best] < LOCATED_SHARE:
        where = "depends on none of velocity, load, position and time alone"
    if abs(correlation) < UNEXPLAINED_CORRELATION:
        where += (
            f", and is not correlated over {lag * motion.period:.2g} s, as by impacts"
        )
    return [
        f"a residual remains that nothing explains: {each} the noise of the recording; that of {motion.joint_names[j]} "
        f"{where}. Cure: run robot_dynamics identify, or look for what the model lacks, such as friction with memory, "
        "play, ripple or flexibility"
    ]


def _explained_by(place: Array, residual: Array) -> float:
    """Return the share of the variance of the residual (m,) that its means over bins of ``place`` (m,) explain."""
    order = np.argsort(place)
    bins = np.array_split(residual[order], LOCATED_BINS)
    left = sum(float(((x - x.mean()) ** 2).sum()) for x in bins)
    total = float((residual**2).sum()) + TINY**2
    freedom = len(residual) / max(len(residual) - LOCATED_BINS, 1)
    return 1.0 - freedom * left / total
