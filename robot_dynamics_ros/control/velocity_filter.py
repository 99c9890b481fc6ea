"""Low-pass filter of measured velocities, and differentiation of positions where velocities are not measured."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array


class VelocityFilter:
    """First-order low-pass filter y' = w (u - y), w = 2 pi cutoff, exact for an input that is held in each interval.

    u is the measured, y the filtered velocity, dt (s) the time between samples: y_k = u_k + exp(-w dt) (y_{k-1} - u_k).
    Well below the sampling rate its gain at the frequency f is 1 / sqrt(1 + (f / cutoff)^2), and its delay at low
    frequencies is 1 / w. It is initialised with the first velocity, without a transient from zero.

    If velocities are not measured, u_k is the backward difference of the positions: for constant acceleration the
    velocity half an interval earlier. Differences are wrapped to [-pi, pi], because drivers of continuous joints may
    report positions modulo 2 pi; joints are assumed to move less than half a turn between samples.

    Attributes
    ----------
    started
        True if a velocity is known: with the first measured velocity, or else from the second position on.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """Create a filter for ``n`` joints; ``cutoff`` in Hz, 0 or infinite for no filtering.

        Raises RobotDynamicsError for a cutoff that is negative or NaN.
        """
        if not cutoff >= 0.0:
            raise RobotDynamicsError(f"velocity_filter_cutoff: {cutoff} Hz. Cure: give a positive number, or 0 for off")
        self._rate = math.tau * cutoff if cutoff > 0.0 else math.inf
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Reset the filter; the next sample initialises it."""
        self._time = math.inf
        self._position: Array = np.zeros(self._n)
        self._velocity: Array = np.zeros(self._n)
        self.started = False

    def update(self, time: float, q: Array, qd: Array | None) -> Array:
        """Return the filtered velocities (n,) for positions ``q`` (n,) and velocities ``qd`` (n,) at ``time`` (s).

        ``qd`` None: not measured; the first estimate is then 0. An unchanged time returns the last estimate; a time
        that went back resets the filter.
        """
        dt = time - self._time
        if dt == 0.0:
            return self._velocity.copy()
        if qd is not None and self._rate == math.inf:
            self._time, self.started = time, True
            self._position[:], self._velocity[:] = q, qd
            return qd
        if dt < 0.0:
            self.reset()
        elif qd is None:
            step = q - self._position
            qd = (step - math.tau * np.rint(step / math.tau)) / dt
        if qd is not None:
            kept = math.exp(-self._rate * dt) if self.started else 0.0
            self._velocity = qd + kept * (self._velocity - qd)
            self.started = True
        self._time = time
        self._position[:] = q
        return self._velocity.copy()
