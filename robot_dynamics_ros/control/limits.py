"""Limits of effort, braking before position limits, and the integral of the position error.

Positions are in rad or m, velocities per s, efforts in Nm or N; arrays (n,) have one number for each joint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.cycle_kernels import CLAMPED, SLOWED, limit_effort
from robot_dynamics_ros.control.thresholds import (
    BRAKING_PASSES,
    HOLD_RISE_TIME,
    LARGEST_MAGNITUDE,
    SHORTEST_STOP,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.joint_limits import (
    SOFT_LOWER,
    SOFT_UPPER,
    VELOCITY,
    LimitRows,
)


def stopping_deceleration(
    rows: LimitRows, q: Array, qd: Array, deceleration: Array
) -> Array:
    """Return the ``deceleration`` (n,), increased where a joint at ``q``, ``qd`` would not stop before its limit.

    That is qd^2 / (2 d) at the distance d from the soft position limit ahead, but at most for a stop within 0.02 s.
    """
    n = len(q)
    room = np.where(
        qd > 0.0, rows.limits[SOFT_UPPER, :n] - q, q - rows.limits[SOFT_LOWER, :n]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(room > 0.0, 0.5 * qd * qd / room, np.inf)
        if rows.has_sums:
            # The coordinates that move such a joint towards its limit share the distance; each stops in the same time.
            motion = rows.factors * qd
            at = rows.positions(q)[n:]
            ahead = [
                (motion, rows.limits[SOFT_UPPER, n:] - at),
                (-motion, at - rows.limits[SOFT_LOWER, n:]),
            ]
            for towards, distance in ahead:
                rate = np.maximum(towards, 0.0)
                # Inverse of the time of the stop (1/s)
                share = 0.5 * rate.sum(axis=1) / np.maximum(distance, 0.0)
                needed = np.maximum(
                    needed,
                    np.where(rate > 0.0, np.abs(qd) * share[:, None], 0.0).max(axis=0),
                )
    decelerations: Array = np.maximum(
        deceleration, np.minimum(needed, np.abs(qd) / SHORTEST_STOP)
    )
    return decelerations


class ErrorIntegral:
    """Integral of the position error over time with anti-windup.

    Conditional integration: Astrom and Hagglund, Advanced PID Control (2006), 3.5. The integral of a joint is kept
    constant while its torque is limited and its error would increase the excess.

    Attributes
    ----------
    value
        Integral (n,), rad s or m s; updated in place.
    """

    def __init__(self, n: int) -> None:
        """Create the integral of ``n`` joints, zero at first."""
        self.value: Array = np.zeros(n)

    def reset(self) -> None:
        """Set the integral to zero."""
        self.value[:] = 0.0

    def keep_torque(self, ki: Array, new: Array) -> None:
        """Rescale ``value`` to keep its product with the gain, ``ki`` (n,) before, ``new`` (n,) now; 0 if that is 0."""
        self.value *= np.divide(ki, new, out=np.zeros_like(ki), where=new > 0.0)

    def add(self, error: Array, dt: float, cut: Array) -> None:
        """Add ``error`` (n,), desired minus measured position, times ``dt`` (s).

        ``cut`` (n,) is the requested less the limited effort. The integral of a joint is not changed if its ``cut`` has
        the sign of its error.
        """
        step = error * dt
        step[cut * error > 0.0] = 0.0
        self.value += step


class EffortLimiter:
    """Effort and rate limits, and a ramp that keeps the command continuous when the law changes.

    A step is a change of the requested effort, from one cycle to the next, by more than a tenth of the effort limit and
    by more than its own rate allows. The effort follows it at this rate, those of the other joints in proportion. It
    follows all other changes, also during a step, at once: a fast but continuous effort is not delayed, and the delay
    of a step ends.

    Attributes
    ----------
    limits
        Effort limits (n,), Nm or N, infinite for no limit.
    effort
        Last limited effort (n,); None before the first one.
    clamped, slowed
        True if an effort limit, or a rate limit, changed the last effort.
    ramp_left
        Time (s) until the end of the ramp.
    """

    def __init__(self, limits: Array, rates: Array) -> None:
        """Create a limiter with ``limits`` and ``rates`` as for ``set``, and without a last effort."""
        self._remainder = np.zeros(len(limits))
        self._step_rates = np.full(len(limits), np.inf)
        self.effort: Array | None = None
        self.clamped = self.slowed = False
        self._difference = np.zeros(len(limits))
        self._fade_time = self.ramp_left = 0.0
        self.set(limits, rates)

    def set(self, limits: Array, rates: Array) -> None:
        """Set effort ``limits`` (n,), Nm or N, and rate limits ``rates`` (n,), Nm/s or N/s, infinite for no limit."""
        self.limits = limits
        self._rates = rates
        with np.errstate(over="ignore"):  # limits may be near the largest float
            self._hold_rates = np.minimum(rates, limits / HOLD_RISE_TIME)

    def set_step_rates(self, rates: Array) -> None:
        """Set the ``rates`` (n,), Nm/s or N/s, at which the effort follows a step of its request; infinite: at once.

        They have no effect on joints with another rate limit.
        """
        self._step_rates = rates

    def start(self, effort: Array, requested: Array, seconds: float) -> None:
        """Start a ramp from ``effort`` (n,) to the ``requested`` effort (n,), which takes ``seconds``.

        ``limit`` adds the difference of the two to its argument, decreasing linearly to 0 from its next call on.
        """
        self.effort = np.clip(effort, -self.limits, self.limits)
        self._difference = self.effort - requested
        self._remainder[:] = 0.0
        self._fade_time = self.ramp_left = seconds

    def limit(
        self, requested: Array, dt: float, ramp_dt: float, holds: bool = False
    ) -> Array:
        """Return the limited effort (n,) for a finite ``requested`` effort (n,).

        ``dt`` and ``ramp_dt`` (s) are the time steps of rate limits and ramp since the last effort. The rate limit
        applies to the change from the last effort, and not to the first effort. If the arm ``holds`` its position after
        a fault, it is at most the effort limit in 0.1 s, and replaces the rate of steps.
        """
        if self.ramp_left > 0.0:
            self.ramp_left = max(self.ramp_left - ramp_dt, 0.0)
            requested = requested + self.ramp_left / self._fade_time * self._difference
        last = self.effort
        self.effort = np.empty(len(requested))
        if last is None:
            last = requested
            dt = math.inf
        result = limit_effort(
            requested,
            last,
            self.limits,
            self._hold_rates if holds else self._rates,
            self._step_rates,
            dt,
            self._remainder,
            self.effort,
        )
        self.clamped = result & CLAMPED != 0
        self.slowed = result & SLOWED != 0
        return self.effort

    def zero(self) -> Array:
        """Return zero effort (n,), without rate limit, and end the ramp."""
        self.effort = np.zeros(len(self.limits))
        self.clamped = self.slowed = False
        self.ramp_left = 0.0
        self._remainder[:] = 0.0
        return self.effort

    def over(self, names: Sequence[str], requested: Array) -> tuple[str, ...]:
        """Return those of the joints' ``names`` (n) whose ``requested`` effort (n,) exceeds the limit in magnitude."""
        return tuple(
            name
            for name, cut in zip(names, np.abs(requested) > self.limits, strict=True)
            if cut
        )


class VelocityBound:
    """Velocity limits that brake joints before their position limits, for laws whose motion is not checked in advance.

    Limits are those of K rows, as in LimitRows: the n coordinates, then joints that depend on several of them.

    At the distance d from the position limit the velocity limit is the smaller of sqrt(2 a d), from which the
    deceleration a stops the joint, and d times a quarter of the braking bandwidth, which is critically damped. Beyond
    the position limit the velocity has to point back. A joint that starts beyond its limit may not move further out;
    the limit follows it inwards.
    """

    def __init__(self, rows: LimitRows) -> None:
        """Use the soft position limits and the velocity limits of ``rows``."""
        self._rows = rows
        self._speed = rows.limits[VELOCITY]
        self._bounds = np.array([-rows.limits[SOFT_LOWER], rows.limits[SOFT_UPPER]])
        self.reset()

    def reset(self) -> None:
        """Accept the positions of the next call of ``velocities`` as within the limits, even if they are beyond."""
        self._open = np.full_like(self._bounds, np.inf)

    def velocities(self, q: Array, deceleration: Array, bandwidth: Array) -> Array:
        """Return the smallest (row 0) and largest (row 1) allowed velocity (2, K), rad/s or m/s, at ``q`` (n,).

        The magnitudes are at most the velocity limits. ``deceleration`` a (n,) is in rad/s^2 or m/s^2, ``bandwidth``
        (n,) of braking in 1/s.
        """
        rows = self._rows
        if rows.has_sums:
            # The coordinates share in braking by their factors, within their own deceleration.
            least = [
                np.where(rows.factors != 0.0, x, np.inf).min(axis=1)
                for x in (deceleration, bandwidth)
            ]
            deceleration = np.append(
                deceleration, least[0] * np.linalg.norm(rows.factors, axis=1)
            )
            bandwidth = np.append(bandwidth, least[1])
            q = rows.positions(q)
        at = np.array([-q, q])
        self._open = np.maximum(self._bounds, np.minimum(self._open, at))
        room = self._open - at
        size = np.minimum(np.abs(room), LARGEST_MAGNITUDE)
        speed = np.minimum(
            np.sqrt(np.minimum(2.0 * deceleration, LARGEST_MAGNITUDE) * size),
            0.25 * bandwidth * size,
        )
        down, up = np.copysign(np.minimum(speed, self._speed), room)
        return np.array([-down, up])

    def excess(self, qd: Array, allowed: Array) -> Array:
        """Return the part (n,) of the velocity ``qd`` (n,) beyond the ``allowed`` velocities (2, K)."""
        return qd - self._rows.nearest(qd, allowed[0], allowed[1], BRAKING_PASSES)
