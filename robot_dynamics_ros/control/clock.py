"""Times of the control cycles: stamps in seconds, time steps, jumps of the clock, and the rate of the cycles.

The controller's time (s) is by the clock of the stamps and trajectories, which may jump. The steady time (s) is by a
clock that never stops or jumps. Their origins are arbitrary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from robot_dynamics_ros.control.checks.state_faults import clock_jump, clock_jump_ahead
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.safety import Fault
from robot_dynamics_ros.control.thresholds import (
    LONGEST_STEP_PERIODS,
    PERIOD_STEPS,
    RATE_LEAST_CYCLES,
    RATE_WINDOW,
)

_NANOSECONDS = 1_000_000_000
_TICKS = 1 << 36  # per second


class Now:
    """Current time by the steady clock, ``steady`` (s), and by the ROS clock, which ``clock()`` returns (ns).

    The latter is read at the first access to ``stamp``, as reading it is slow in rclpy.
    """

    def __init__(self, steady: float, clock: Callable[[], int]) -> None:
        self.steady = steady
        self._clock = clock

    @cached_property
    def stamp(self) -> int:
        """Time by the ROS clock (ns), as ``clock()`` returned it at the first access."""
        return self._clock()


class Instant(NamedTuple):
    """Times of one cycle.

    Attributes
    ----------
    time, steady
        Time (s) by the clock of the stamps and trajectories, and by the steady clock.
    dt
        Time step (s) of law and checks since the last cycle, by stamps where they are reliable; 0 without a new time.
    ramp_dt
        Time step (s) of ramps of the effort: ``dt``, but at most 1.5 periods, and at most a period, for the jitter of
        the states, more than the steady time since the last command.
    limit_dt
        Time step (s) of the rate limits: ``ramp_dt``, but for late states at most the steady time since the last
        command.
    period
        Period (s) of the cycles before this one; 0 if unknown.
    rate
        Share of the cycles of ``update_rate`` that were executed in the last complete interval.
    jump
        Fault of a time that jumped back, or ahead of the steady clock; None without a jump.
    missed
        Time (s) for which states have arrived without a regular cycle; 0 in a regular one.
    regular
        True for a cycle by a state or the timer; False for one by the watchdog or the exit, where time stands still.
    """

    time: float
    steady: float
    dt: float
    ramp_dt: float
    limit_dt: float
    period: float
    rate: float
    jump: Fault | None = None
    missed: float = 0.0
    regular: bool = True


class CycleClock:
    """Clock of one controller: the source of its time and of the instants of all cycles.

    Attributes
    ----------
    time
        Time (s) of the last regular cycle; -inf before the first one.
    period
        Cycle period (s), by ``update_rate`` or else the median of 20 time steps, or of fewer at first; 0 if unknown.
    rate
        Rate of the cycles.
    """

    def __init__(self, update_rate: float, period: float = 0.0) -> None:
        """Create a clock for cycles at ``update_rate`` (Hz), or for one at each state if it is 0.

        In the latter case ``period`` (s) is their period until it is measured; 0: unknown.
        """
        self.time = -math.inf
        self.rate = CycleRate(update_rate)
        self.period = 1.0 / update_rate if update_rate > 0.0 else period
        self._origin: int | None = None  # stamp of the start, in steps of 15 ps
        self._cycle = -math.inf  # s, steady time of the last regular cycle
        self._cycle_stamp = -math.inf  # s, stamp of the state of that cycle
        self._command = -math.inf  # s, steady time of the last command
        self._estimates_period = update_rate == 0.0
        self._steps: list[float] = []
        self._is_usual = False  # the period is a median of 20 steps
        self._was_unreliable = False

    # Stamps

    @property
    def started(self) -> bool:
        """True after ``start``."""
        return self._origin is not None

    def start(self, stamp: int) -> None:
        """Count seconds from this ``stamp`` (ns) on; without effect after the first call."""
        if self._origin is None:
            self._origin = _ticks(stamp)

    def seconds(self, stamp: int) -> float:
        """Return the time (s) of a ``stamp`` (ns) since the start; 0 before it.

        It is a multiple of 2^-36 s (15 ps). Differences of such numbers are exact in float64 up to 36 hours, so that
        commands do not depend on the first message by rounding.
        """
        if self._origin is None:
            return 0.0
        return (_ticks(stamp) - self._origin) / _TICKS

    # Cycles

    def advance(
        self, time: float, steady: float, estimate: Estimate, timeout: float
    ) -> Instant:
        """Return the instant of a regular cycle at ``time`` (s) and ``steady`` (s), with ``estimate``.

        A time that goes back, or ahead of the steady clock by more than ``timeout`` (s), is a jump. After a jump, if
        stamps repeat, and if the time stands still without a valid state, time steps are by the steady clock.
        """
        waited = self.since_command(steady)
        passed = steady - self._cycle
        period = self.period
        dt = time - self.time if waited < math.inf else 0.0
        self.time = time
        self._cycle = steady
        self._cycle_stamp = estimate.stamp
        jump = None
        if dt < 0.0:
            jump = clock_jump(-dt)
        elif dt > passed + timeout:
            jump = clock_jump_ahead(dt - passed)
        if jump is not None:
            self.rate.restart()
        self.rate.cycle(time)
        stands_still = dt == 0.0 and not estimate.valid
        unreliable = estimate.stamp_repeats or jump is not None or stands_still
        if unreliable:
            dt = waited
        elif self._was_unreliable:
            # This step may contain time that was counted by the steady clock already.
            dt = min(dt, waited)
        elif self._estimates_period and dt > 0.0:
            self._count_step(dt)
        self._was_unreliable = unreliable
        # Rate limits are for the drives: states that were queued arrive together, which entitles to no larger change.
        # All else uses stamps, so that a replay, whose states are not late, gives the same commands.
        most = waited + (period or waited)
        ramp_dt = self._limited(dt if dt < most else most)
        late = waited == 0.0 or (self._estimates_period and estimate.age >= period)
        limit_dt = waited if late and waited < ramp_dt else ramp_dt
        return Instant(
            time, steady, dt, ramp_dt, limit_dt, period, self.rate.ratio, jump
        )

    def stand_still(self, steady: float, stamp: float) -> Instant:
        """Return the instant of a cycle by the watchdog or the exit, at the time of the last regular cycle.

        ``stamp`` (s) is that of the last state.
        """
        self._was_unreliable = True
        dt = self._limited(self.since_command(steady))
        return self.now(steady)._replace(
            ramp_dt=dt, limit_dt=dt, missed=self.missed(steady, stamp), regular=False
        )

    def now(self, steady: float) -> Instant:
        """Return the instant of a query at ``steady`` (s), in which no time passes."""
        return Instant(self.time, steady, 0.0, 0.0, 0.0, self.period, self.rate.ratio)

    def wait(self, time: float) -> None:
        """Set the ``time`` (s) without a cycle, as long as nothing can be commanded."""
        self.time = time

    def commanded(self, steady: float) -> None:
        """Record that a command was computed at ``steady`` (s)."""
        self._command = steady

    def since_command(self, steady: float) -> float:
        """Return the time (s) from the last command to ``steady`` (s); inf before the first command."""
        return max(steady - self._command, 0.0)

    def missed(self, steady: float, stamp: float) -> float:
        """Return the time (s) for which states, the last with ``stamp`` (s), have arrived without a regular cycle.

        In a paused simulation there are neither.
        """
        return min(steady - self._cycle, stamp - self._cycle_stamp)

    def _count_step(self, dt: float) -> None:
        self._steps.append(dt)
        count = len(self._steps)
        if count == PERIOD_STEPS or not self._is_usual:
            self.period = sorted(self._steps)[count // 2]
        if count == PERIOD_STEPS:
            self._is_usual = True
            self._steps.clear()

    def _limited(self, dt: float) -> float:
        return min(dt, LONGEST_STEP_PERIODS * self.period) if self.period > 0.0 else dt


def _ticks(stamp: int) -> int:
    """Return a ``stamp`` (ns) in steps of 15 ps."""
    return (stamp * _TICKS + _NANOSECONDS // 2) // _NANOSECONDS


class CycleRate:
    """Rate of the cycles relative to ``update_rate`` (Hz), over each second of the controller's time; 0: not measured.

    At rates below 5 Hz, the interval is five periods instead of a second.

    Attributes
    ----------
    late
        Number of cycles that were more than half a period late.
    ratio
        Share of the cycles that were executed in the last complete interval; 1 before it and after ``restart``.
    """

    def __init__(self, update_rate: float) -> None:
        self._period = 1.0 / update_rate if update_rate > 0.0 else 0.0
        self._window = max(RATE_WINDOW, RATE_LEAST_CYCLES * self._period)
        self.late = 0
        self.restart()

    def restart(self) -> None:
        """Restart the measurement after a jump of the time."""
        self._last: float | None = None
        self._start = 0.0
        self._count = 0
        self.ratio = 1.0

    def cycle(self, time: float) -> None:
        """Count a cycle at ``time`` (s) of the controller."""
        if self._period == 0.0:
            return
        if self._last is None:
            self._start = time
        elif time - self._last > 1.5 * self._period:
            self.late += 1
        self._last = time
        self._count += 1
        if time - self._start >= self._window:
            self.ratio = (self._count - 1) * self._period / (time - self._start)
            self._start = time
            self._count = 1
