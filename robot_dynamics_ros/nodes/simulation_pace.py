"""When the next period of a simulation is due."""

from __future__ import annotations

import math

_CATCH_UP = 0.02  # s
_SHORTEST_TICK, _LONGEST_TICK = 0.0005, 0.01  # s


class Pace:
    """Keeps simulated time at ``factor`` times steady time, and gives up what it cannot catch up with.

    Times are seconds of a steady clock. A simulation that is late, by a busy machine, catches up with at most
    20 ms, or one period; the rest is skipped, so that one that is too slow falls behind instead of working
    without end.

    Attributes
    ----------
    tick
        How often to ask (s): a period is a whole number of ticks, or shorter than one.
    """

    def __init__(self, period: float, factor: float, now: float) -> None:
        """``period`` in simulated seconds, the first of which begins at ``now``; ``factor`` 0: always due."""
        interval = period / factor if factor > 0.0 else 0.0
        ticks = max(1, math.ceil(interval / _LONGEST_TICK))
        # Timers count whole nanoseconds. Periods that drift against them would come in pairs now and then.
        tick = math.ceil(interval / ticks * 1e9 - 0.5) * 1e-9
        self._interval = ticks * tick
        self.tick = max(tick, _SHORTEST_TICK)
        self._next = now + self._interval

    def due(self, now: float) -> bool:
        """Whether the period's end has come, to the nearest tick."""
        return self._interval == 0.0 or now + 0.5 * self.tick >= self._next

    def advance(self, now: float) -> float:
        """Note that a period is done; return the seconds of steady time that are given up."""
        skipped = 0.0
        if self._interval > 0.0:
            late = now - self._next - max(_CATCH_UP, self._interval)
            # Whole periods, so that the next ones stay in step with the ticks.
            skipped = max(0, math.ceil(late / self._interval)) * self._interval
        self._next += skipped + self._interval
        return skipped
