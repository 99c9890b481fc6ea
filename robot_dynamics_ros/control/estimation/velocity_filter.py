"""Low-pass filter of measured velocities, and differentiation of positions where velocities are not measured."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from statistics import median

import numpy as np

from robot_dynamics_ros.dynamics.kernels.types import Array

_SAMPLES = 32


def smallest_turn(step: Array) -> Array:
    """Return changes of position, rad, wrapped to [-pi, pi]."""
    return np.asarray(step - math.tau * np.rint(step / math.tau))


class VelocityFilter:
    """First-order low-pass filter y' = w (u - y), w = 2 pi cutoff, exact for an input that is held in each interval.

    u is the measured, y the filtered velocity, dt (s) the time between samples: y_k = u_k + exp(-w dt) (y_{k-1} - u_k).
    Well below the sampling rate its gain at the frequency f is 1 / sqrt(1 + (f / cutoff)^2), and its delay at low
    frequencies is 1 / w. It is initialised with the first velocity, without a transient from zero.

    If velocities are not measured, u_k is the difference of the positions over at least three quarters of the usual
    interval, because two states shortly after each other would give a large error: for constant acceleration the
    velocity half an interval earlier. Differences are wrapped to [-pi, pi], because drivers of continuous joints may
    report positions modulo 2 pi; joints are assumed to move less than half a turn between samples.

    Attributes
    ----------
    started
        True if a velocity is known: with the first measured velocity, or else from the second position on.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """Create a filter for ``n`` joints; ``cutoff`` in Hz, not negative, 0 or infinite for no filtering."""
        self._rate = math.tau * cutoff if cutoff > 0.0 else math.inf
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Reset the filter; the next sample initialises it."""
        # times and positions
        self._samples: deque[tuple[float, Array]] = deque(maxlen=_SAMPLES)
        self._velocity: Array = np.zeros(self._n)
        self._measured = True
        self.started = False

    def update(
        self, time: float, q: Array, qd: Array | None, window: float = 0.0
    ) -> Array:
        """Return the filtered velocities (n,) for positions ``q`` (n,) and velocities ``qd`` (n,) at ``time`` (s).

        ``qd`` None: not measured; the first estimate is then 0, and positions are compared over at least ``window``
        (s). An unchanged time returns the last estimate; a time that went back resets the filter. The arrays are kept.
        """
        dt = time - self._samples[-1][0] if self._samples else math.inf
        if dt == 0.0:
            return self._velocity.copy()
        # usual
        if qd is not None and self._measured and self._rate == math.inf and dt > 0.0:
            self._samples.append((time, q))
            self._velocity = qd
            self.started = True
            return qd
        if dt < 0.0:
            self.reset()
        if (qd is not None) is not self._measured:  # the old velocity was wrong
            self._measured = qd is not None
            self.started = False
        if qd is None and self._samples:
            before, position = self._reference(time, window)
            step = q - position
            qd = smallest_turn(step) / (time - before)
        self._samples.append((time, q))
        if qd is None:
            return self._velocity.copy()
        kept = (
            math.exp(-self._rate * dt)
            if self.started and self._rate < math.inf
            else 0.0
        )
        self._velocity = qd if kept == 0.0 else qd + kept * (self._velocity - qd)
        self.started = True
        return self._velocity

    def _reference(self, time: float, window: float) -> tuple[float, Array]:
        """Return time and position of the newest sample that is old enough, else of the oldest one."""
        times = [before for before, _ in self._samples]
        least = max(
            window,
            0.75 * median(b - a for a, b in pairwise([*times[-_SAMPLES // 4 :], time])),
        )
        return next(
            (each for each in reversed(self._samples) if time - each[0] >= least),
            self._samples[0],
        )
