"""Measured joint states: filtered velocities, plausibility and age."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.control.trajectory.points import LARGEST
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.entries import GOOD, OUT_OF_BOUNDS, UNCHANGED, check_state
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.moved import former_attribute

_STAMP_REPEATS = Fault(
    Cause.STAMP_REPEATS,
    "joint_states: another state with the same header.stamp, so that velocities and time steps are unknown. Cure: set "
    "the stamp for each state in the driver, or leave it 0 (unstamped_states: arrival)",
)


class Sample(NamedTuple):
    """A measured state: its stamp (ns), and numbers (n,) in the robot's order, None where they are not measured."""

    stamp: int
    q: Array
    qd: Array | None
    effort: Array | None


class UnusableSample(NamedTuple):
    """A message without a state: its stamp (ns), 0 if it has none, and the reason.

    ``incomplete``: joints are missing, as in a message about other parts of the robot.
    """

    stamp: int
    reason: str
    incomplete: bool = False


class VelocityFilter:
    """First-order low-pass filter y' = w (u - y), w = 2 pi cutoff, exact for an input that is held over each interval.

    y_k = u_k + exp(-w dt) (y_{k-1} - u_k). Well below the sampling rate a frequency f is damped by
    1 / sqrt(1 + (f / cutoff)^2), and slow ones come late by 1 / w. The first measured velocity starts it, so that
    there is no transient from zero.

    Where no velocity is measured, u_k is the backward difference of the positions: for constant acceleration
    the velocity half an interval ago. Differences are taken modulo a turn, into [-pi, pi], for every joint: drivers of
    continuous joints may report positions modulo 2 pi, and no joint moves half a turn between two samples.

    Attributes
    ----------
    started
        True if a velocity is known: one that is not measured is known from the second position on.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """For ``n`` joints; ``cutoff`` in Hz, 0 or infinite for no filtering.

        Raises RobotDynamicsError for a cutoff that is negative or no number.
        """
        if not cutoff >= 0.0:
            raise RobotDynamicsError(f"velocity_filter_cutoff: {cutoff} Hz. Cure: give a positive number, or 0 for off")
        self._rate = math.tau * cutoff if cutoff > 0.0 else math.inf
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Start anew with the next sample."""
        self._time = math.inf
        self._position: Array = np.zeros(self._n)
        self._velocity: Array = np.zeros(self._n)
        self.started = False

    def update(self, time: float, q: Array, qd: Array | None) -> Array:
        """Return the filtered velocities (n,) for positions ``q`` and velocities ``qd`` (n,) at ``time`` (s).

        ``qd`` None: none are measured; the first estimate is then 0. A repeated time changes nothing; one that
        went back starts anew.
        """
        dt = time - self._time
        if dt == 0.0:
            return self._velocity.copy()
        if qd is not None and self._rate == math.inf:
            self._time, self.started = time, True
            self._position[:], self._velocity[:] = q, qd
            return qd
        if dt < 0.0:
            self.reset()
        elif qd is None:
            step = q - self._position
            qd = (step - math.tau * np.rint(step / math.tau)) / dt
        if qd is not None:
            kept = math.exp(-self._rate * dt) if self.started else 0.0
            self._velocity = qd + kept * (self._velocity - qd)
            self.started = True
        self._time = time
        self._position[:] = q
        return self._velocity.copy()


class Feedback:
    """The last measured state of the joints, its faults and its age.

    Attributes
    ----------
    state
        Position and filtered velocity (2, n): the last good ones.
    unfiltered
        The last good velocity (n,) as it was measured, or differentiated from position.
    known
        True if there has been a good state yet.
    stamp
        Time of the last good state by its sender (s).
    state_timeout
        Age (s) beyond which it is stale.
    arrival
        Steady time (s) of the last message of these joints, good or not.
    stamp_repeats
        True if the last state has the stamp of another one, until ``fault`` is called.
    usable
        True if the last ``fault`` found a usable state: not stale, and the newest, or new since the one before. A
        message that cannot be read does not spoil the good one beside it.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        cutoff: float,
        state_timeout: float,
        continuous: NDArray[np.bool_] | None = None,
    ) -> None:
        """``cutoff`` of the velocity filter (Hz, 0: none); ``state_timeout`` (s) as ``SafetySettings`` says.

        Joints that are ``continuous`` (n,) may report their position modulo a turn.
        """
        self._names = tuple(joint_names)
        unlimited = np.full(len(self._names), np.inf)
        self._continuous = continuous if continuous is not None and continuous.any() else None
        self._frozen: tuple[float, Array | None] | None = None
        self._breakaway = unlimited
        self.set_plausible(unlimited, unlimited)
        self.state: Array = np.zeros((2, len(self._names)))
        self._new, self._measured = np.zeros((2, 2, len(self._names)))
        self.unfiltered: Array = self._new[1]
        self.known = self.usable = self._fresh = self.stamp_repeats = False
        self.stamp = -math.inf
        self.arrival = -math.inf
        self._taken = -math.inf
        # Delay (s) of the last state beyond the smallest of about the last second, and no longer, as simulated time may
        # be slower than real time. Stamps that only catch up with it are no jump of a clock.
        self._lag = 0.0
        self._invalid: Fault | None = None
        self._momentary: Fault | None = None
        self._absent = ""
        self._velocity_measured = False
        self.state_timeout = state_timeout
        self.set_cutoff(cutoff)

    def set_plausible(self, position_step: Array, largest_velocity: Array) -> None:
        """Set the bounds of ``check_state``: change of position beyond that of the velocity, and velocity, (n,)."""
        self._step, self._speed = position_step, largest_velocity

    def set_breakaway_effort(self, effort: Array) -> None:
        """Set the change of effort (n,), Nm or N, under which friction may keep every joint exactly at rest."""
        self._breakaway = effort

    def set_cutoff(self, cutoff: float) -> None:
        """Filter velocities with this cutoff (Hz) from now on."""
        self._filter = VelocityFilter(len(self._names), cutoff)

    @property
    def trouble(self) -> str:
        """Reason why there is no state, where there is none."""
        return self._invalid.message if self._invalid is not None else self._absent or "no joint_states yet"

    @property
    def silent(self) -> bool:
        """True if no message has come, not even of other joints."""
        return self.arrival == -math.inf and not self._absent

    @property
    def settled(self) -> bool:
        """True if the velocity is known, too; see ``VelocityFilter.started``."""
        return self._filter.started

    def take(self, stamp: float, steady: float, q: Array, qd: Array | None, effort: Array | None = None) -> bool:
        """Take in ``q`` and ``qd`` (n,), None where no velocity is measured; return True if they are good.

        Nor is it measured where all have been NaN from the first, as ros2_control's broadcaster has it. Positions of
        continuous joints are continued over full turns. ``effort`` (n,), Nm or N, is the one commanded last; None
        where it may change while the arm rests.
        """
        self.arrival = steady
        self._absent = ""
        if qd is not None and not self._velocity_measured:
            self._velocity_measured = not np.isnan(qd).all()
            qd = qd if self._velocity_measured else None
        new = self._new
        new[0] = q
        new[1] = 0.0 if qd is None else qd
        if self._continuous is not None and self.known and np.isfinite(new[0]).all():
            turns = np.rint((self.state[0] - new[0]) / math.tau)
            new[0] += math.tau * np.where(self._continuous, turns, 0.0)
        dt = stamp - self.stamp
        compared = dt if dt <= self.state_timeout else -1.0
        result = check_state(new, self._measured, LARGEST, self._step, self._speed, compared, qd is not None)
        fault = None
        if result == OUT_OF_BOUNDS:
            fault = self._out_of_bounds()
        elif result == UNCHANGED and self.known:
            fault = self._frozen_values(stamp, effort)
        else:
            self._frozen = None
            if result > GOOD:
                fault = self._implausible(result - 1, dt)
        self._invalid = fault
        if fault is not None:
            self._momentary = fault
            return False
        if stamp < self.stamp:
            self._momentary = clock_jump(self.stamp - stamp)
            self._filter.reset()
            self._lag = 0.0
        elif self.known:
            passed = steady - self._taken
            ahead = dt - passed
            if dt == 0.0 and result != UNCHANGED:
                self._momentary, self.stamp_repeats = _STAMP_REPEATS, True
            if ahead > self.state_timeout:
                late = ahead - self._lag <= self.state_timeout
                self._momentary = self._late(ahead) if late else clock_leap(ahead)
            self._lag = max(0.0, self._lag * max(0.0, 1.0 - passed) - ahead)
        before, self.stamp, self._taken = self.stamp, stamp, steady
        self.known = self._fresh = True
        self._measured[:] = new
        filtered = self._filter.update(stamp, new[0], qd)
        if qd is None or stamp > before:  # the filter passes over a repeated stamp
            new[1] = filtered
        self.unfiltered = new[1] if qd is None else qd
        self.state[:] = new
        return True

    def _implausible(self, j: int, dt: float) -> Fault:
        q, before = self._new[:, j], self._measured[:, j]
        return Fault(
            Cause.STATE_IMPLAUSIBLE,
            f'joint_states: joint "{self._names[j]}" goes from {before[0]:.6g} to {q[0]:.6g} in {dt:.3g} s, and its '
            f"velocity is {q[1]:.6g}. Cure: check its encoder and who else publishes joint_states; or raise "
            "position_step_limit",
            self._names[j],
            float(q[0]),
        )

    def _frozen_values(self, stamp: float, effort: Array | None) -> Fault | None:
        if self._frozen is None:
            self._frozen = self.stamp, effort
        since, before = self._frozen
        lasts = stamp - since
        over = np.abs(self._new[1]) * lasts > self._step
        if effort is not None and before is not None and lasts > self.state_timeout:
            over |= (np.abs(effort - before) > self._breakaway) & (self._step < np.inf)
        if not over.any():
            return None
        j = int(np.argmax(over))
        return Fault(
            Cause.STATE_IMPLAUSIBLE,
            f'joint_states: no number has changed for {lasts:.3g} s, though joint "{self._names[j]}" moves or is '
            "driven. Cure: check whether its driver publishes old values; or raise position_step_limit",
            self._names[j],
            float(self._new[1, j]),
        )

    def reject(self, steady: float, reason: str) -> None:
        """Record a message of these joints that cannot be used."""
        self.arrival = steady
        self._invalid = self._momentary = Fault(Cause.STATE_INVALID, reason)

    def receive(self, steady: float) -> None:
        """Record that the last state was sent once more."""
        self.arrival = steady

    def note_incomplete(self, reason: str) -> None:
        """Record a message that lacks some of the joints: no error unless it stays so."""
        self._absent = reason

    hear = former_attribute("receive")
    miss = former_attribute("note_incomplete")

    def age(self, steady: float) -> float:
        """Return the seconds since the last message of these joints."""
        return steady - self.arrival

    def fault(self, steady: float) -> Fault | None:
        """Return the fault of the state, or of a message since the last call."""
        momentary, stale = self._momentary, self.stale(steady)
        self.usable = self.known and stale is None and (self._fresh or self._invalid is None)
        self._momentary, self._fresh, self.stamp_repeats = None, False, False
        return momentary or self._invalid or stale

    def missing(self, steady: float) -> bool:
        """True if the newest message cannot be used, or is too old."""
        return self._invalid is not None or self.stale(steady) is not None

    def stale(self, steady: float) -> Fault | None:
        """Return a fault where the state is too old."""
        age = steady - self.arrival
        if age <= self.state_timeout:
            return None
        reason = self._absent or "Cure: see what stopped their publisher"
        return Fault(
            Cause.STATE_STALE,
            f"joint_states are {age:.3f} s old, over state_timeout {self.state_timeout:g} s. {reason}",
            value=age,
        )

    def _late(self, seconds: float) -> Fault:
        return Fault(
            Cause.STATE_STALE,
            f"joint_states were delivered late: their stamps caught up by {seconds:.3f} s at once, over state_timeout "
            f"{self.state_timeout:g} s. Cure: see what delays them, the network or the load of a machine",
            value=seconds,
        )

    def _out_of_bounds(self) -> Fault:
        row, j = (int(k) for k in np.argwhere(~(np.abs(self._new) <= LARGEST))[0])
        what, name, value = ("position", "velocity")[row], self._names[j], float(self._new[row, j])
        wrong = "is not finite" if not math.isfinite(value) else "cannot be"
        return Fault(
            Cause.STATE_INVALID,
            f'joint_states: {what} of joint "{name}" {wrong}: {value:g}. Cure: check its driver',
            name,
            value,
        )


def clock_jump(seconds: float) -> Fault:
    """Return the fault of a time that went back."""
    return Fault(
        Cause.CLOCK_JUMPED_BACK,
        f"time jumped back by {seconds:.6g} s: the trajectory is dropped. Cure: after a simulation's reset, or where "
        "a bag loops, call ~/clear_fault, or set fault_reset to auto; else look for a second publisher on joint_states",
        value=seconds,
    )


def clock_leap(seconds: float) -> Fault:
    """Return the fault of a time that went ahead by so much more than the steady clock."""
    return Fault(
        Cause.CLOCK_JUMPED_AHEAD,
        f"time jumped ahead by {seconds:.6g} s, over state_timeout: the trajectory, which would jump too, is dropped. "
        "Cure: see who sets the clock; for a simulation that is much faster than real time set state_timeout to .inf",
        value=seconds,
    )
