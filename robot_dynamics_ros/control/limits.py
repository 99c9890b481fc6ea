"""Limits on what is commanded (effort, its rate, the soft start) and on how the arm may move."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.faults import Cause, Fault

Array = NDArray[np.float64]


class EffortLimiter:
    """Soft start, effort limits and rate limit, one after the other.

    The soft start begins at the gravity torque, so that an arm whose brakes open does not fall; so does the rate limit
    at the first command. After ``zero`` the rate limit starts from the zero that was commanded: no step exceeds it.

    Attributes
    ----------
    limits
        Largest effort (n,), Nm or N, infinite where there is none.
    ramp_time
        Seconds in which what is commanded beyond the gravity torque rises to its full size, at the start and after
        ``zero``.
    effort
        The effort (n,) given out last.
    clamped, slowed
        Whether that was cut by an effort limit, or held back by a rate limit.
    """

    def __init__(self, limits: Array, rates: Array, ramp_time: float) -> None:
        self.effort: Array = np.zeros(len(limits))
        self.clamped = self.slowed = False
        self._gravity = self.effort
        self._first = True
        self._share = 0.0
        self.set(limits, rates, ramp_time)

    def set(self, limits: Array, rates: Array, ramp_time: float) -> None:
        """Take new limits from now on; ``rates`` (n,) are Nm/s or N/s, infinite where there is none."""
        self.limits, self.ramp_time = limits, ramp_time
        self._lower = -limits
        rated = np.isfinite(rates)
        self._rated = bool(rated.any())
        # Zero seconds times an infinite rate would be no number.
        self._rates, self._free = np.where(rated, rates, 0.0), np.where(rated, 0.0, np.inf)

    @property
    def starting(self) -> bool:
        """True until the soft start is over: until then each command needs a ``start_from``."""
        return self._share < 1.0

    def start_from(self, gravity: Array) -> None:
        """Take the gravity torque (n,), finite and within the limits, from which the soft start rises."""
        if self._first:
            self.effort, self._first = gravity, False
        self._gravity = gravity

    def limit(self, wanted: Array, dt: float) -> Array:
        """Return what may be commanded of ``wanted`` (n,), finite, ``dt`` seconds after the last command."""
        if self._share < 1.0:
            self._share = 1.0 if self.ramp_time <= 0.0 else min(1.0, self._share + dt / self.ramp_time)
            if self._share < 1.0:
                wanted = (1.0 - self._share) * self._gravity + self._share * wanted
        effort = np.minimum(np.maximum(wanted, self._lower), self.limits)
        self.clamped = effort.tobytes() != wanted.tobytes()  # three times as quick as to compare the numbers
        self.slowed = False
        if self._rated:
            step = self._rates * dt + self._free
            slow = np.minimum(np.maximum(effort, self.effort - step), self.effort + step)
            self.slowed = not np.array_equal(slow, effort)
            # A limit that was lowered binds at once.
            effort = np.minimum(np.maximum(slow, self._lower), self.limits)
        self.effort = effort
        return effort

    def zero(self) -> Array:
        """Return zero effort (n,), at once; what comes next starts softly again."""
        self.effort = np.zeros(len(self.limits))
        self.clamped = self.slowed = self._first = False
        self._share = 0.0
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
