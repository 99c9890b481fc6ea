"""The integral of the position error, for laws that take it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.feedback import LARGEST
from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.kernels.types import Array


class ErrorIntegral:
    """Integral of e over time (n,), rad s or m s, that does not wind up while efforts are limited.

    Conditional integration: Astrom and Hagglund, Advanced PID Control (2006), 3.5. A joint's integral stands still
    while a limit cuts its own torque and its error would push it further; inertia couples joints, but the
    diagonal of M is positive, so that an error always raises its own joint's torque.

    Attributes
    ----------
    value
        The integral, always the same array.
    """

    def __init__(self, n: int) -> None:
        self.value: Array = np.zeros(n)
        self._step = np.empty(n)

    def reset(self) -> None:
        """Forget everything."""
        self.value[:] = 0.0

    def keep_torque(self, ki: Array, new: Array) -> None:
        """Go on with a ``new`` gain (n,) in place of ``ki`` (n,) without a step of their product, but to zero."""
        self.value *= np.divide(ki, new, out=np.zeros_like(ki), where=new > 0.0)

    def add(self, error: Array, dt: float, cut: Array) -> None:
        """Add ``error`` (n,) over ``dt`` (s), after a cycle whose limits have ``cut`` off effort (n,), Nm or N."""
        np.multiply(error, dt, out=self._step)
        self._step[cut * error > 0.0] = 0.0
        self.value += self._step


class EffortLimiter:
    """Effort limits and rate limit, and a difference that fades so that the command is continuous at a change.

    Attributes
    ----------
    limits
        Largest effort (n,), Nm or N, infinite where there is none.
    effort
        The effort (n,) given out last; None before the first one.
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
        """Go on from ``effort`` (n,): its difference to the ``requested`` effort fades linearly within ``seconds``."""
        self.effort = np.clip(effort, self._lower, self.limits)
        self._difference = self.effort - requested
        self._fade_time = self._left = seconds

    def limit(self, requested: Array, dt: float) -> Array:
        """Return the allowed part of ``requested`` (n,), finite, ``dt`` seconds after the last command."""
        if self._left > 0.0:
            self._left = max(self._left - dt, 0.0)
            requested = requested + self._left / self._fade_time * self._difference
        effort = np.minimum(np.maximum(requested, self._lower), self.limits)
        self.clamped = effort.tobytes() != requested.tobytes()  # three times as quick as to compare the numbers
        self.slowed = False
        if self._rated and self.effort is not None:
            step = self._rates * dt + self._free
            slow = np.minimum(np.maximum(effort, self.effort - step), self.effort + step)
            self.slowed = not np.array_equal(slow, effort)
            # A limit that was lowered binds at once.
            effort = np.minimum(np.maximum(slow, self._lower), self.limits)
        self.effort = effort
        return effort

    def zero(self) -> Array:
        """Return zero effort (n,) at once, past the rate limit."""
        self.effort = np.zeros(len(self.limits))
        self.clamped = self.slowed = False
        self._left = 0.0
        return self.effort

    def over(self, names: Sequence[str], wanted: Array) -> tuple[str, ...]:
        """Return the joints whose limit ``wanted`` (n,) exceeds."""
        return tuple(name for name, cut in zip(names, np.abs(wanted) > self.limits, strict=True) if cut)


class MotionLimits:
    """Checks measured position and velocity against the limits and their margins.

    A joint that is beyond its position limit when it is ``accept``-ed may move back, but no further out: its
    limit stands where it is and follows it inwards.
    """

    def __init__(
        self, names: Sequence[str], lower: Array, upper: Array, speed: Array, position_margin: Array, margin: Array
    ) -> None:
        """Limits and margins, each (n,): position (rad or m), speed (rad/s or m/s); infinite: not checked."""
        self._names = tuple(names)
        self._bounds = np.array([lower, -speed]), np.array([upper, speed])
        self._margins = np.array([position_margin, margin])
        self._opened = False
        self._set_bounds(lower, upper)

    def _set_bounds(self, lower: Array, upper: Array) -> None:
        low, high = self._bounds
        self._floor, self._ceiling = low.copy(), high.copy()
        self._floor[0], self._ceiling[0] = lower, upper
        self._least, self._most = self._floor - self._margins, self._ceiling + self._margins

    def accept(self, q: Array) -> tuple[str, ...]:
        """Take position ``q`` (n,) as allowed; return the joints that stand beyond their limits."""
        low, high = self._bounds[0][0], self._bounds[1][0]
        outside = (q < low) | (q > high)
        self._opened = bool(outside.any())
        self._set_bounds(np.minimum(low, q), np.maximum(high, q))
        return tuple(name for name, out in zip(self._names, outside, strict=True) if out)

    def check(self, state: Array) -> Fault | None:
        """Return what is wrong with a finite ``state`` (2, n): positions, then velocities."""
        if ((state >= self._least) & (state <= self._most)).all():
            if self._opened:
                self._follow_inwards(state[0])
            return None
        row, j = (int(k) for k in np.argwhere((state < self._least) | (state > self._most))[0])
        name, value = self._names[j], float(state[row, j])
        limit = self._bounds[int(value > self._most[row, j])][row, j]
        if row == 0:
            return Fault(
                Cause.POSITION_LIMIT,
                f'joint "{name}" is at {value:.6g}, beyond its limit {limit:.6g}. Cure: move it back inside; '
                "after clear_fault the controller moves it no further out than it is",
                name,
                value,
            )
        return Fault(
            Cause.VELOCITY_LIMIT,
            f'joint "{name}" moves at {value:.6g}, beyond its limit {limit:.6g}. Cure: ask for slower motion',
            name,
            value,
        )

    def _follow_inwards(self, q: Array) -> None:
        low, high = self._bounds[0][0], self._bounds[1][0]
        lower = np.minimum(low, np.maximum(self._floor[0], q))
        upper = np.maximum(high, np.minimum(self._ceiling[0], q))
        self._opened = bool((lower < low).any() or (upper > high).any())
        self._set_bounds(lower, upper)


class LastingCheck:
    """Fails where a value of a joint has reached its limit for some time.

    Attributes
    ----------
    counts
        True while some joint is at its limit.
    """

    def __init__(self, names: Sequence[str], cause: Cause, text: str) -> None:
        """``text`` of the fault, with places for ``value``, ``limit`` and ``seconds``."""
        self._names, self._cause, self._text = tuple(names), cause, text
        self._lasts = np.zeros(len(self._names))
        self.counts = False

    def check(self, values: Array, limits: Array, dt: float, seconds: float) -> Fault | None:
        """Return a fault where a magnitude (n,) has been at its limit (n,) for ``seconds``, ``dt`` after the last."""
        reached = np.abs(values) >= limits
        self.counts = bool(reached.any())
        self._lasts = np.where(reached, self._lasts + dt, 0.0)
        long = self._lasts > seconds
        if not long.any():
            return None
        j = int(np.argmax(long))
        text = self._text.format(value=float(values[j]), limit=float(limits[j]), seconds=seconds)
        return Fault(self._cause, f'joint "{self._names[j]}" {text}', self._names[j], float(values[j]))


class Brake:
    """Braking before position limits and at velocity limits, for laws whose motion nobody has checked.

    A joint that has the way d left to its limit is allowed sqrt(2 a d), from which the deceleration a stops it, and at
    last d times a quarter of the braking's bandwidth, which damps critically. Beyond the limit it is pushed back.
    A joint found beyond its limit may move back, but no further out: its limit follows it inwards.
    """

    def __init__(self, lower: Array, upper: Array, speed: Array) -> None:
        """Limits (n,) of position (rad or m) and speed (rad/s or m/s)."""
        self._bounds, self._speed = np.array([-lower, upper]), speed
        self.release()

    def release(self) -> None:
        """Allow every joint the position in which it is found next."""
        self._open = np.full_like(self._bounds, np.inf)

    def velocities(self, q: Array, deceleration: Array, bandwidth: Array) -> Array:
        """Return the least and the largest velocity (2, n) at ``q``; deceleration and bandwidth (1/s) are (n,), too."""
        at = np.array([-q, q])
        self._open = np.maximum(self._bounds, np.minimum(self._open, at))
        way = self._open - at
        size = np.minimum(np.abs(way), LARGEST)
        speed = np.minimum(np.sqrt(np.minimum(2.0 * deceleration, LARGEST) * size), 0.25 * bandwidth * size)
        down, up = np.copysign(np.minimum(speed, self._speed), way)
        return np.array([-down, up])
