"""What is known of an arm from the last messages that came: derivatives without noise, and how old they are."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.view.moment import Moment

SILENCE = 1.0  # s without joint states after which what is seen is of the past

_SMOOTHING = 0.05  # s, time constant of velocity where none comes, and of acceleration


class LiveArm:
    """The last joint states and commands of n joints, and derivatives of them.

    Velocity where none is published, and acceleration, are differences that pass a low-pass of 50 ms.
    """

    def __init__(self) -> None:
        self._at = -np.inf
        self._received = -np.inf
        self._q: Array | None = None
        self._qd: Array | None = None
        self._qdd: Array | None = None
        self._effort: Array | None = None
        self._desired: Array | None = None
        self._commanded: Array | None = None
        self._commanded_at = -np.inf

    def state(self, at: float, now: float, q: Array, qd: Array | None, effort: Array | None) -> None:
        """Take joint states in: their stamp and the present time (s), position, velocity and effort (n,).

        Positions that are not finite are passed over; a stamp that is not later than the last begins anew.
        """
        if not np.isfinite(q).all():
            return
        passed = at - self._at
        known = self._q is not None and 0.0 < passed < SILENCE
        if qd is None or not np.isfinite(qd).all():
            qd = _smoothed(self._qd, q, self._q, passed) if known else np.zeros_like(q)
        self._qdd = _smoothed(self._qdd, qd, self._qd, passed) if known else np.zeros_like(q)
        self._at, self._received, self._q, self._qd, self._effort = at, now, q, qd, effort

    def command(self, now: float, desired: Array, effort: Array | None) -> None:
        """Take a command in: the present time (s), desired position and commanded effort (n,)."""
        if np.isfinite(desired).all():
            self._desired, self._commanded, self._commanded_at = desired, effort, now

    def age(self, now: float) -> float:
        """Return how long (s) no joint states have come; infinity where none ever did."""
        return now - self._received

    def moment(self, now: float) -> tuple[Moment, str] | None:
        """Return what to show, and which torque that is; None before the first joint states.

        The torque is the measured one, else the commanded one, else unknown. Commands of the past count no longer.
        """
        if self._q is None or self._qd is None or self._qdd is None:
            return None
        commanded = now - self._commanded_at < SILENCE
        desired = self._desired if commanded else None
        torque, kind = self._effort, "measured effort"
        if torque is None and commanded:
            torque, kind = self._commanded, "commanded effort"
        if torque is None:
            torque = np.full_like(self._q, np.nan)
        return Moment(self._q, self._qd, self._qdd, torque, desired), kind


def _smoothed(rate: Array | None, new: Array, old: Array | None, passed: float) -> Array:
    """Return the rate of change (n,) after a low-pass of the first order, from the last one."""
    assert old is not None
    difference: Array = (new - old) / passed
    if rate is None:
        return difference
    share = passed / (_SMOOTHING + passed)
    return rate + share * (difference - rate)
