"""Joint velocity from what a driver measures: filtered, and differentiated from position where it sends none."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array

_TURN = 2.0 * math.pi


class VelocityFilter:
    """First-order low-pass filter y' = w (u - y), w = 2 pi cutoff, exact for an input that is held over each interval.

    y_k = u_k + exp(-w dt) (y_{k-1} - u_k). Well below the sampling rate a frequency f is damped by
    1 / sqrt(1 + (f / cutoff)^2), and slow ones come late by 1 / w. The first measured velocity starts it, so that
    there is no transient from zero.

    Where no velocity is measured, u_k is the backward difference of the positions: for constant acceleration
    the velocity half an interval ago. Differences are taken modulo a turn, into [-pi, pi]: drivers of continuous
    joints may report positions modulo 2 pi. That is so for every joint, as none moves half a turn, or three
    metres, between two samples.

    Attributes
    ----------
    started
        Whether a velocity is known: one that is not measured is only from the second position on.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """For ``n`` joints; ``cutoff`` in Hz, 0 or infinite for no filtering.

        Raises RobotDynamicsError for a cutoff that is negative or no number.
        """
        if not cutoff >= 0.0:
            raise RobotDynamicsError(f"velocity_filter_cutoff: {cutoff} Hz. Cure: give a positive number, or 0 for off")
        self._rate = _TURN * cutoff if cutoff > 0.0 else math.inf
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next sample is the first."""
        self._time = math.inf
        self._position: Array = np.zeros(self._n)
        self._velocity: Array = np.zeros(self._n)
        self.started = False

    def update(self, time: float, q: Array, qd: Array | None) -> Array:
        """Take in positions ``q`` and velocities ``qd`` (n,) of ``time`` (s); return the velocities (n,) to use.

        ``qd`` None: none are measured; the first estimate is then 0. A repeated time changes nothing; one that
        went back starts anew.
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
            qd = (step - _TURN * np.rint(step / _TURN)) / dt
        if qd is not None:
            kept = math.exp(-self._rate * dt) if self.started else 0.0
            self._velocity = qd + kept * (self._velocity - qd)
            self.started = True
        self._time = time
        self._position[:] = q
        return self._velocity.copy()
