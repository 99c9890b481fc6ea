"""What can go wrong in a cycle, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from robot_dynamics_ros.kernels.types import Array


class Cause(str, Enum):
    """Why a check failed; the values are what /diagnostics and bags show."""

    STATE_INVALID = "state_invalid"
    STATE_STALE = "state_stale"
    STATE_IMPLAUSIBLE = "state_implausible"
    STAMP_REPEATS = "stamp_repeats"
    CLOCK_JUMPED_BACK = "clock_jumped_back"
    CLOCK_JUMPED_AHEAD = "clock_jumped_ahead"
    POSITION_LIMIT = "position_limit"
    VELOCITY_LIMIT = "velocity_limit"
    FOLLOWING_ERROR = "following_error"
    SATURATION = "saturation"
    COLLISION = "collision"
    CYCLE_RATE = "cycle_rate"
    TORQUE_NOT_FINITE = "torque_not_finite"
    EMERGENCY_STOP = "emergency_stop"
    DEACTIVATED = "deactivated"


@dataclass(frozen=True)
class Fault:
    """A failed check: its cause, the joint and the number that failed it ("" and nan: none), and a sentence."""

    cause: Cause
    message: str
    joint: str = ""
    value: float = float("nan")


def first_not_finite(names: Sequence[str], values: Array) -> tuple[str, float] | None:
    """Return name and number of the first of ``values`` (n,) that is not finite, or None."""
    finite = np.isfinite(values)
    if finite.all():
        return None
    j = int(np.argmin(finite))
    return names[j], float(values[j])


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


RECOVERY_TIME = 0.2
"""Seconds for which every check must pass before a fault counts as over."""


class Mode(str, Enum):
    """What the controller commands.

    active: the control law. hold: the torque that carries the arm, and damping, while a check fails. zero: no
    torque, while a check fails. fault: as ``on_fault`` says, all checks pass again, and it waits to be cleared.
    """

    ACTIVE = "active"
    HOLD = "hold"
    ZERO = "zero"
    FAULT = "fault"


@dataclass(frozen=True)
class Transition:
    """A change of mode, or of the cause of a mode, at ``time`` (s)."""

    time: float
    before: Mode
    after: Mode
    fault: Fault


class Safety:
    """Modes and the transitions between them. It knows two times: the controller's, and a steady one.

    The first decides wherever it can, so that a recording decides everything. Only how long to hold without
    feedback is told by the steady one, since the controller's may then stand still.

    Attributes
    ----------
    mode
        What is commanded.
    fault
        The last failed check.
    transitions
        What has happened and nobody has taken yet.
    faults
        How often it left ``active``.
    """

    def __init__(
        self, on_fault: str, fault_reset: str, stale_hold_time: float, emergency_stop_effect: str = "stop"
    ) -> None:
        self.mode = Mode.ACTIVE
        self.fault: Fault | None = None
        self.transitions: list[Transition] = []
        self.faults = 0
        self._blind_since: float | None = None
        self._passing_since: float | None = None
        self.set(on_fault, fault_reset, stale_hold_time, emergency_stop_effect)

    def set(self, on_fault: str, fault_reset: str, stale_hold_time: float, emergency_stop_effect: str = "stop") -> None:
        """Take the settings of these names; ``stale_hold_time`` in s."""
        self._emergency = Mode.ZERO if emergency_stop_effect == "zero" else Mode.HOLD
        self._fall_back = Mode(on_fault)
        self._auto = fault_reset == "auto"
        self._stale_hold_time = stale_hold_time

    @property
    def holds(self) -> bool:
        """Whether the arm is to be held: in hold, and in fault where ``on_fault`` says so."""
        return self.mode is Mode.HOLD or (self.mode is Mode.FAULT and self._fall_back is Mode.HOLD)

    def evaluate(self, fault: Fault | None, time: float, steady: float, blind: bool = False) -> None:
        """Take in the outcome of a cycle's checks at controller ``time`` (s) and ``steady`` time (s).

        ``blind``: there is no measured state that could be used.
        """
        if fault is not None:
            self._fail(fault, time, steady, blind)
        elif self.mode in (Mode.HOLD, Mode.ZERO):
            self._pass(time)
        elif self.mode is Mode.FAULT and self._auto:
            self.clear(time)

    def _fail(self, fault: Fault, time: float, steady: float, blind: bool) -> None:
        self._passing_since = None
        if not blind:
            self._blind_since = None
        elif self._blind_since is None:
            self._blind_since = steady
        held_long = self._blind_since is not None and steady - self._blind_since >= self._stale_hold_time
        fall_back = self._fall_back
        if fault.cause is Cause.EMERGENCY_STOP:  # what is without effort stays so
            fall_back = self._emergency if self.mode is Mode.ACTIVE or self.holds else Mode.ZERO
        self._go(Mode.ZERO if held_long else fall_back, fault, time)

    def _pass(self, time: float) -> None:
        assert self.fault is not None
        self._blind_since = None
        self._go(self._fall_back, self.fault, time)  # what can be held again is held
        if self._passing_since is None or time < self._passing_since:
            self._passing_since = time
        if time - self._passing_since >= RECOVERY_TIME:
            self._go(Mode.ACTIVE if self._auto else Mode.FAULT, self.fault, time)

    def clear(self, time: float) -> None:
        """Go back to active: the caller has made sure that every check passes."""
        assert self.fault is not None
        self._go(Mode.ACTIVE, self.fault, time)

    def force_zero(self, fault: Fault, time: float) -> None:
        """Command nothing, whatever ``on_fault`` says: even holding is impossible."""
        self._go(Mode.ZERO, fault, time)

    def _go(self, mode: Mode, fault: Fault, time: float) -> None:
        before, self.mode = self.mode, mode
        new_cause = self.fault is None or self.fault.cause is not fault.cause
        if before is not mode or (new_cause and mode is not Mode.ACTIVE):
            self.transitions.append(Transition(time, before, mode, fault))
        if before is Mode.ACTIVE or new_cause:
            self.fault = fault
        self.faults += before is Mode.ACTIVE
        if mode in (Mode.ACTIVE, Mode.FAULT):
            self._passing_since = None


class DampingCheck:
    """Tells damping that drives the arm from damping that stops it: behind a long delay it does the first.

    A joint that is pushed, or falls, goes one way. One that has been too fast both ways since the law was left, and
    not slow for ``RECOVERY_TIME`` between, swings by what should stop it.

    Attributes
    ----------
    drives
        Whether it has done so, since ``begin``.
    """

    def __init__(self, limits: Array) -> None:
        """``limits``: speeds (n,), rad/s or m/s, that are too fast; infinite: none is."""
        self.limits = limits
        self.begin()

    def begin(self) -> None:
        """Damp again: the law is at work, or somebody has cleared the fault."""
        self.drives = False
        self._forth = self._back = np.zeros(len(self.limits), dtype=np.bool_)
        self._too_fast_at = -np.inf

    def look(self, velocity: Array, time: float) -> None:
        """Take in a measured velocity (n,) at ``time`` (s) of the controller."""
        forth, back = velocity > self.limits, velocity < -self.limits
        if not (forth.any() or back.any()):
            return
        if not 0.0 <= time - self._too_fast_at < RECOVERY_TIME:
            self._forth = self._back = np.zeros(len(self.limits), dtype=np.bool_)
        self._too_fast_at = time
        self._forth, self._back = self._forth | forth, self._back | back
        self.drives = self.drives or bool((self._forth & self._back).any())
