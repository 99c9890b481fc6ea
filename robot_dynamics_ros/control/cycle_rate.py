"""Whether a controller that is asked for cycles by a timer keeps its rate."""

from __future__ import annotations

from robot_dynamics_ros.control.faults import Cause, Fault

_WINDOW = 1.0  # s, and at least so many cycles:
_LEAST_CYCLES = 5


class CycleRate:
    """Counts cycles over a second of the controller's time. Nothing is late where no rate is asked for.

    Attributes
    ----------
    late
        Cycles that came more than half a period late, since the start.
    fault
        What was wrong with the last second, or None.
    """

    def __init__(self, update_rate: float) -> None:
        self._period = 1.0 / update_rate if update_rate > 0.0 else 0.0
        self._window = max(_WINDOW, _LEAST_CYCLES * self._period)
        self.late = 0
        self.restart()

    def restart(self) -> None:
        """Forget the cycles until now: the time jumped, or nothing ran."""
        self._last: float | None = None
        self._begin = 0.0
        self._count = 0
        self.fault: Fault | None = None

    def cycle(self, time: float, minimum_ratio: float) -> Fault | None:
        """Count a cycle at ``time`` (s); return a fault while the last second had too small a share of its cycles."""
        if self._period == 0.0:
            return None
        if self._last is None:
            self._begin = time
        elif time - self._last > 1.5 * self._period:
            self.late += 1
        self._last = time
        self._count += 1
        if time - self._begin >= self._window:
            ratio = (self._count - 1) * self._period / (time - self._begin)
            self.fault = None if ratio >= minimum_ratio else _fault(ratio, self._period)
            self._begin, self._count = time, 1
        return self.fault


def _fault(ratio: float, period: float) -> Fault:
    return Fault(
        Cause.CYCLE_RATE,
        f"only {ratio:.0%} of the cycles of update_rate {1.0 / period:g} Hz are made. Cure: lower update_rate, "
        "or free the processor (realtime_priority)",
        value=ratio,
    )
