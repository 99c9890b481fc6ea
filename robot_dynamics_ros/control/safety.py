"""Faults, and the modes of the controller.

The controller's time is by the clock of its trajectories, the steady clock never stops or jumps; both in s, with any
origin. ``on_fault`` and the like are fields of SafetySettings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from robot_dynamics_ros.control.settings import SafetySettings
from robot_dynamics_ros.kernels.types import Array

RECOVERY_TIME = 0.2
"""Time (s) for which all checks have to pass before a fault is over."""

_WINDOW = 1.0  # s
_LEAST_CYCLES = 5


class Cause(str, Enum):
    """Causes of faults; their values appear in /diagnostics and bags.

    STATE_INVALID: a message has no valid state. STATE_STALE: there is none for too long. STATE_IMPLAUSIBLE: a joint
    moves faster than possible, or states do not change although they should. STAMP_REPEATS: different states have the
    same stamp. SATURATION: an effort limit is reached for too long. CYCLE_RATE: cycles are missing. DEACTIVATED: the
    arm is stopped before deactivation. The others are CLOCK_JUMPED_BACK, CLOCK_JUMPED_AHEAD, POSITION_LIMIT,
    VELOCITY_LIMIT, FOLLOWING_ERROR, COLLISION, TORQUE_NOT_FINITE and EMERGENCY_STOP.
    """

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
    """Failed check.

    Attributes
    ----------
    cause
        Cause of the fault.
    message
        Description with the cure.
    joint
        Name of the joint, or "".
    value
        Value that failed the check, in the unit of its limit, or NaN.
    """

    cause: Cause
    message: str
    joint: str = ""
    value: float = float("nan")


def not_finite(joint_names: Sequence[str], torque: Array) -> Fault | None:
    """Return a fault for the first joint whose ``torque`` (n,) is not finite, or None."""
    finite = [math.isfinite(value) for value in torque.tolist()]  # faster than array operations for few joints
    if all(finite):
        return None
    j = finite.index(False)
    name, value = joint_names[j], float(torque[j])
    return Fault(
        Cause.TORQUE_NOT_FINITE,
        f'joint "{name}": the torque is {value}. Cure: check desired motion and payload for extreme values',
        name,
        value,
    )


class CycleRate:
    """Check of the cycle rate against ``update_rate`` (Hz) over each second of the controller's time; 0: not checked.

    At rates below 5 Hz, the interval is five periods instead of a second.

    Attributes
    ----------
    late
        Number of cycles that were more than half a period late.
    fault
        Fault of the last complete interval; None without a fault, before the first one and after ``restart``.
    """

    def __init__(self, update_rate: float) -> None:
        self._period = 1.0 / update_rate if update_rate > 0.0 else 0.0
        self._window = max(_WINDOW, _LEAST_CYCLES * self._period)
        self.late = 0
        self.restart()

    def restart(self) -> None:
        """Restart the check after a jump of the time."""
        self._last: float | None = None
        self._begin = 0.0
        self._count = 0
        self.fault: Fault | None = None

    def cycle(self, time: float, minimum_ratio: float) -> Fault | None:
        """Count a cycle at ``time`` (s) of the controller; return ``fault``, by the rate of the last interval, or None.

        The rate is a fault below ``minimum_ratio`` (0 to 1) times ``update_rate``.
        """
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
            self.fault = None
            if ratio < minimum_ratio:
                text = (
                    f"only {ratio:.0%} of the cycles of update_rate {1.0 / self._period:g} Hz are executed. Cure: "
                    "lower update_rate, or reduce the load of the processor (realtime_priority)"
                )
                self.fault = Fault(Cause.CYCLE_RATE, text, value=ratio)
            self._begin, self._count = time, 1
        return self.fault


class Mode(str, Enum):
    """Modes of the controller.

    ACTIVE: the control law. HOLD: hold of the position while a check fails. ZERO: zero effort while a check fails.
    FAULT: all checks pass again; hold or zero effort, by ``on_fault``, until the fault is cleared.
    """

    ACTIVE = "active"
    HOLD = "hold"
    ZERO = "zero"
    FAULT = "fault"


@dataclass(frozen=True)
class Transition:
    """Change of mode at ``time`` (s) of the controller, from ``before`` to ``after``.

    These are equal if only the cause of the fault has changed. ``fault`` is the reason; for a return to ACTIVE, the
    fault that is over.
    """

    time: float
    before: Mode
    after: Mode
    fault: Fault


class Safety:
    """State machine of the modes.

    Transitions depend on the controller's time, so that a replay reproduces them. Only ``stale_hold_time`` is measured
    by the steady clock, because the controller's time may stop without feedback.

    Attributes
    ----------
    settings
        Reaction to faults; may be changed at any time.
    mode
        Current mode.
    fault
        Last failed check, or None.
    transitions
        Transitions that the controller has not yet reported.
    faults
        Number of transitions from ``active`` to another mode.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self.settings = settings
        self.mode = Mode.ACTIVE
        self.fault: Fault | None = None
        self.transitions: list[Transition] = []
        self.faults = 0
        self._blind_since: float | None = None
        self._passing_since: float | None = None

    @property
    def holds(self) -> bool:
        """True if the arm is held: in HOLD, and in FAULT if ``on_fault`` is hold."""
        return self.mode is Mode.HOLD or (self.mode is Mode.FAULT and self.settings.on_fault == "hold")

    def evaluate(self, fault: Fault | None, time: float, steady: float, blind: bool = False) -> None:
        """Update the mode after a cycle, with its first ``fault``, or None if all checks pass.

        ``time`` (s) is that of the controller, ``steady`` (s) that of the steady clock. ``blind`` is True without a
        usable measured state; after ``stale_hold_time`` the mode is then ZERO. After 0.2 s without a fault the mode is
        FAULT, or ACTIVE if ``fault_reset`` is auto.
        """
        auto = self.settings.fault_reset == "auto"
        if fault is not None:
            self._fail(fault, time, steady, blind)
        elif self.mode in (Mode.HOLD, Mode.ZERO):
            self._pass(time, auto)
        elif self.mode is Mode.FAULT and auto:
            self.clear(time)

    def _fail(self, fault: Fault, time: float, steady: float, blind: bool) -> None:
        self._passing_since = None
        if not blind:
            self._blind_since = None
        elif self._blind_since is None:
            self._blind_since = steady
        fall_back = Mode(self.settings.on_fault)
        if fault.cause is Cause.EMERGENCY_STOP:
            held = self.mode is Mode.ACTIVE or self.holds  # zero effort stays zero
            fall_back = Mode.HOLD if held and self.settings.emergency_stop_effect == "stop" else Mode.ZERO
        if self._blind_since is not None and steady - self._blind_since >= self.settings.stale_hold_time:
            fall_back = Mode.ZERO
        self._go(fall_back, fault, time)

    def _pass(self, time: float, auto: bool) -> None:
        assert self.fault is not None
        self._blind_since = None
        self._go(Mode(self.settings.on_fault), self.fault, time)
        if self._passing_since is None or time < self._passing_since:
            self._passing_since = time
        if time - self._passing_since >= RECOVERY_TIME:
            self._go(Mode.ACTIVE if auto else Mode.FAULT, self.fault, time)

    def clear(self, time: float) -> None:
        """Return to ACTIVE at ``time`` (s); requires a fault, and the caller ensures that all checks pass."""
        assert self.fault is not None
        self._go(Mode.ACTIVE, self.fault, time)

    def force_zero(self, fault: Fault, time: float) -> None:
        """Change to ZERO at ``time`` (s) because of ``fault``, an effort that is not finite, despite ``on_fault``."""
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
