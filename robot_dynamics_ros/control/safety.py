"""Faults, stops, and the modes of the controller.

The controller's time is by the clock of its trajectories, the steady clock never stops or jumps; both in s, with any
origin. ``on_fault`` and the like are fields of SafetySettings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.configuration.settings import SafetySettings
from robot_dynamics_ros.control.thresholds import RECOVERY_TIME


class Cause(str, Enum):
    """Causes of faults; their values appear in /diagnostics and bags.

    STATE_INVALID: a message has no valid state. STATE_STALE: there is none for too long. STATE_IMPLAUSIBLE: a joint
    moves faster than possible, or otherwise than by its velocity. STAMP_REPEATS: different states have the same stamp.
    NO_RESPONSE: a joint rests although its effort demands a motion, its drive is reversed, or it reports an effort that
    was not commanded. SATURATION: an effort limit is reached for too long. CYCLE_RATE: cycles are missing. DEACTIVATED:
    the arm is stopped before deactivation.
    The others are CLOCK_JUMPED_BACK, CLOCK_JUMPED_AHEAD, POSITION_LIMIT, VELOCITY_LIMIT, FOLLOWING_ERROR, COLLISION,
    TORQUE_NOT_FINITE and EMERGENCY_STOP.
    """

    STATE_INVALID = "state_invalid"
    STATE_STALE = "state_stale"
    STATE_IMPLAUSIBLE = "state_implausible"
    STAMP_REPEATS = "stamp_repeats"
    NO_RESPONSE = "no_response"
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


_DEACTIVATED = Fault(
    Cause.DEACTIVATED,
    "the controller stops the arm for deactivation. Cure: activate it again",
)


class Safety:
    """State machine of the modes, the only owner of mode, faults and stops.

    Transitions depend on the controller's time, so that a replay reproduces them. Only ``stale_hold_time`` is measured
    by the steady clock, because the controller's time may stop without feedback. Emergency stops outlast ``begin``.

    Attributes
    ----------
    mode
        Current mode.
    fault
        First fault of the cause that last decided the mode, kept after it is cleared, or None.
    stop
        Fault of a stop that is engaged or not yet cleared: an emergency stop, else deactivation; None without one.
    transitions
        Transitions that the controller has not yet reported.
    fault_count
        Number of transitions from ``active`` to another mode.
    sources
        Names of the emergency stops not yet cleared; True while engaged.
    """

    def __init__(self, settings: SafetySettings) -> None:
        self.sources: dict[str, bool] = {}
        self.begin(settings)

    def begin(self, settings: SafetySettings) -> None:
        """Begin in the mode ACTIVE, without faults; emergency stops remain. ``settings`` are the reaction to faults."""
        self._settings = settings
        self.mode = Mode.ACTIVE
        self.fault: Fault | None = None
        self.transitions: list[Transition] = []
        self.fault_count = 0
        self._blind_since: float | None = None
        self._passing_since: float | None = None
        # s, of the first cycle after the last change of an emergency stop; None before it
        self._released_at: float | None = None
        self._ends = False
        self._set_stop()

    def tune(self, settings: SafetySettings) -> None:
        """Apply new settings from the next cycle on."""
        self._settings = settings

    @property
    def holds(self) -> bool:
        """True if the arm is held: in HOLD, and in FAULT if ``on_fault`` is hold."""
        return self.mode is Mode.HOLD or (
            self.mode is Mode.FAULT and self._settings.on_fault == "hold"
        )

    # Stops

    def emergency_stop(self, source: str, engaged: bool) -> None:
        """Stop the arm if ``engaged``, until ``clear``; else release the stop of this ``source``, its name in texts.

        ``clear`` is refused until each source that was engaged has been released for 0.2 s.
        """
        if engaged or source in self.sources:
            self.sources[source] = engaged
            self._released_at = None
            self._set_stop()

    def request_emergency_stop(self, source: str) -> None:
        """Stop the arm until ``clear``; ``source`` is its name in texts. Unlike a button, it need not be released."""
        self.sources.setdefault(source, False)
        self._set_stop()

    def begin_stop(self) -> None:
        """Stop the arm before deactivation. This cannot be undone."""
        self._ends = True
        self._set_stop()

    def _set_stop(self) -> None:
        self.stop: Fault | None = _DEACTIVATED if self._ends else None
        if self.sources:
            sources = ", ".join(self.sources)
            text = f"emergency stop by {sources}. Cure: release it (false on a topic), then call ~/clear_fault"
            self.stop = Fault(Cause.EMERGENCY_STOP, text)

    def clear(self, faults: Sequence[Fault], time: float) -> None:
        """Return to ACTIVE at ``time`` (s) of the controller, and end the stops; without a fault nothing changes.

        ``faults`` are those of the checks that fail now. Raises RobotDynamicsError, naming them, if there are any, and
        for an emergency stop that is engaged, has not taken effect or was released less than 0.2 s ago, because its
        contact may bounce, and after ``begin_stop``.
        """
        engaged = [source for source, still in self.sources.items() if still]
        reasons = [fault.message for fault in faults]
        if engaged:
            reasons = [
                f"true on {', '.join(engaged)}. Cure: publish false there, then clear the fault"
            ]
        elif self._ends:
            reasons = [_DEACTIVATED.message]
        elif self.mode is Mode.ACTIVE and self.sources:
            reasons = [
                "the emergency stop takes effect in the next cycle. Cure: call ~/clear_fault again after the next "
                "joint_states"
            ]
        elif self.sources and (
            self._released_at is None or time - self._released_at < RECOVERY_TIME
        ):
            reasons.append(
                f"the emergency stop was released less than {RECOVERY_TIME:g} s ago. Cure: call ~/clear_fault again "
                "after that time"
            )
        elif self.mode is Mode.ACTIVE:
            return
        if reasons:
            raise RobotDynamicsError(f"not cleared: {'; '.join(reasons)}")
        self.sources.clear()
        self._set_stop()
        assert self.fault is not None
        self._go(Mode.ACTIVE, self.fault, time)

    # Modes

    def step(
        self, faults: Sequence[Fault], time: float, steady: float, blind: bool = False
    ) -> Mode:
        """Return the mode after a cycle whose checks failed with ``faults``, in their order; empty if all pass.

        A stop comes before them; the first one decides. ``time`` (s) is that of the controller, ``steady`` (s) that of
        the steady clock. ``blind`` is True without a valid measured state; after ``stale_hold_time`` the mode is then
        ZERO. After 0.2 s without a fault the mode is FAULT, or ACTIVE if ``fault_reset`` is auto.
        """
        if self._released_at is None or time < self._released_at:
            self._released_at = time
        fault = self.stop or (faults[0] if faults else None)
        if fault is not None:
            self._fail(fault, time, steady, blind)
        elif self.mode is not Mode.ACTIVE:
            self._pass(time)
        return self.mode

    def take_transitions(self) -> tuple[Transition, ...]:
        """Return the transitions since the last call, oldest first."""
        transitions = tuple(self.transitions)
        self.transitions.clear()
        return transitions

    def force_zero(self, fault: Fault, time: float) -> None:
        """Change to ZERO at ``time`` (s) because of ``fault``, an effort that is not finite, despite ``on_fault``."""
        self._go(Mode.ZERO, fault, time)

    def _fail(self, fault: Fault, time: float, steady: float, blind: bool) -> None:
        self._passing_since = None
        if not blind:
            self._blind_since = None
        elif self._blind_since is None:
            self._blind_since = steady
        fall_back = Mode(self._settings.on_fault)
        if fault.cause is Cause.EMERGENCY_STOP:
            held = self.mode is Mode.ACTIVE or self.holds  # zero effort stays zero
            fall_back = (
                Mode.HOLD
                if held and self._settings.emergency_stop_effect == "stop"
                else Mode.ZERO
            )
        if (
            self._blind_since is not None
            and steady - self._blind_since >= self._settings.stale_hold_time
        ):
            fall_back = Mode.ZERO
        self._go(fall_back, fault, time)

    def _pass(self, time: float) -> None:
        assert self.fault is not None
        recovered = Mode.ACTIVE if self._settings.fault_reset == "auto" else Mode.FAULT
        if self.mode is not Mode.FAULT:
            self._blind_since = None
            self._go(Mode(self._settings.on_fault), self.fault, time)
            if self._passing_since is None or time < self._passing_since:
                self._passing_since = time
            if time - self._passing_since < RECOVERY_TIME:
                return
        self._go(recovered, self.fault, time)

    def _go(self, mode: Mode, fault: Fault, time: float) -> None:
        before = self.mode
        self.mode = mode
        new_cause = self.fault is None or self.fault.cause is not fault.cause
        if before is not mode or (new_cause and mode is not Mode.ACTIVE):
            self.transitions.append(Transition(time, before, mode, fault))
        if before is Mode.ACTIVE or new_cause:
            self.fault = fault
        self.fault_count += before is Mode.ACTIVE
        if mode in (Mode.ACTIVE, Mode.FAULT):
            self._passing_since = None
