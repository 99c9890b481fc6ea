"""Limits of the commanded effort, and the integral of the error that they bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.trajectory.points import LARGEST
from robot_dynamics_ros.kernels.types import Array


class ErrorIntegral:
    """Integral of e over time (n,), rad s or m s, without wind-up while efforts are limited.

    Conditional integration: Astrom and Hagglund, Advanced PID Control (2006), 3.5. A joint's integral is kept while a
    limit cuts its own torque and its error would push it further.

    Attributes
    ----------
    value
        The integral, always the same array.
    """

    def __init__(self, n: int) -> None:
        self.value: Array = np.zeros(n)

    def reset(self) -> None:
        """Set it to zero."""
        self.value[:] = 0.0

    def keep_torque(self, ki: Array, new: Array) -> None:
        """Rescale for a ``new`` gain (n,) in place of ``ki`` (n,): their product is kept, or goes to zero."""
        self.value *= np.divide(ki, new, out=np.zeros_like(ki), where=new > 0.0)

    def add(self, error: Array, dt: float, cut: Array) -> None:
        """Add ``error`` (n,) over ``dt`` (s), after a cycle whose limits have ``cut`` off effort (n,), Nm or N."""
        self.value += np.where(cut * error > 0.0, 0.0, error * dt)


class EffortLimiter:
    """Effort and rate limits, and a difference that fades so that the command is continuous when the law changes.

    Attributes
    ----------
    limits
        Largest effort (n,), Nm or N, infinite where there is none.
    effort
        The last limited effort (n,); None before the first one.
    clamped, slowed
        True if that was cut by an effort limit, or held back by a rate limit.
    """

    def __init__(self, limits: Array, rates: Array) -> None:
        self.effort: Array | None = None
        self.clamped = self.slowed = False
        self._difference = np.zeros(len(limits))
        self._fade_time = self._left = 0.0
        self.set(limits, rates)

    def set(self, limits: Array, rates: Array) -> None:
        """Take new limits from now on; ``rates`` (n,) are Nm/s or N/s, infinite where there is none."""
        self.limits = limits
        self._lower = -limits
        rated = np.isfinite(rates)
        self._rated = bool(rated.any())
        # Zero seconds times an infinite rate would be no number.
        self._rates, self._free = np.where(rated, rates, 0.0), np.where(rated, 0.0, np.inf)

    def start(self, effort: Array, requested: Array, seconds: float) -> None:
        """Start at ``effort`` (n,): its difference to the ``requested`` effort fades linearly within ``seconds``."""
        self.effort = np.clip(effort, self._lower, self.limits)
        self._difference = self.effort - requested
        self._fade_time = self._left = seconds

    def limit(self, requested: Array, dt: float) -> Array:
        """Return the allowed part of ``requested`` (n,), finite, ``dt`` seconds after the last command."""
        if self._left > 0.0:
            self._left = max(self._left - dt, 0.0)
            requested = requested + self._left / self._fade_time * self._difference
        effort = np.minimum(np.maximum(requested, self._lower), self.limits)
        self.clamped = bool((effort != requested).any())
        self.slowed = False
        if self._rated and self.effort is not None:
            step = self._rates * dt + self._free
            slow = np.minimum(np.maximum(effort, self.effort - step), self.effort + step)
            self.slowed = not np.array_equal(slow, effort)
            # A lowered limit applies at once.
            effort = np.minimum(np.maximum(slow, self._lower), self.limits)
        self.effort = effort
        return effort

    def zero(self) -> Array:
        """Return zero effort (n,) at once, past the rate limit."""
        self.effort = np.zeros(len(self.limits))
        self.clamped = self.slowed = False
        self._left = 0.0
        return self.effort

    def over(self, names: Sequence[str], requested: Array) -> tuple[str, ...]:
        """Return the joints whose limit the ``requested`` effort (n,) exceeds."""
        return tuple(name for name, cut in zip(names, np.abs(requested) > self.limits, strict=True) if cut)


class Brake:
    """Braking before position limits and at velocity limits, for laws whose motion is not checked in advance.

    At the distance d from its limit a joint is allowed sqrt(2 a d), from which the deceleration a stops it, but no more
    than d times a quarter of the braking's bandwidth, which damps critically. Beyond the limit it is pushed back. A
    joint that starts beyond its limit may move back, but no further out: its limit follows it inwards.
    """

    def __init__(self, lower: Array, upper: Array, speed: Array) -> None:
        """Limits (n,) of position (rad or m) and speed (rad/s or m/s)."""
        self._bounds, self._speed = np.array([-lower, upper]), speed
        self.release()

    def release(self) -> None:
        """Allow every joint the position that it has in the next call of ``velocities``."""
        self._open = np.full_like(self._bounds, np.inf)

    def velocities(self, q: Array, deceleration: Array, bandwidth: Array) -> Array:
        """Return the least and the largest velocity (2, n) at ``q``; deceleration and bandwidth (1/s) are (n,), too."""
        at = np.array([-q, q])
        self._open = np.maximum(self._bounds, np.minimum(self._open, at))
        room = self._open - at
        size = np.minimum(np.abs(room), LARGEST)
        speed = np.minimum(np.sqrt(np.minimum(2.0 * deceleration, LARGEST) * size), 0.25 * bandwidth * size)
        down, up = np.copysign(np.minimum(speed, self._speed), room)
        return np.array([-down, up])
