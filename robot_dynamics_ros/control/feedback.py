"""Measured joint states: velocity filter, plausibility checks and age.

Stamps are times of measurement by the clock of the publisher, the ROS clock. ``steady`` (s) is the time by a clock that
never stops or jumps. Origins are arbitrary.
"""

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
    "joint_states: different states with the same header.stamp, so that velocities and time steps are unknown. Cure: "
    "set the stamp of each state in the driver, or leave it 0 (unstamped_states: arrival)",
)


class Sample(NamedTuple):
    """Measured joint state.

    Attributes
    ----------
    stamp
        Time of measurement (ns since the epoch of the ROS clock); 0: not stamped.
    q, qd, effort
        Position (rad or m), velocity and effort (Nm or N), each (n,) in the robot's joint order; None: not measured.
    """

    stamp: int
    q: Array
    qd: Array | None
    effort: Array | None


class UnusableSample(NamedTuple):
    """Message that is not a valid joint state.

    Attributes
    ----------
    stamp
        Stamp of the message (ns), or 0.
    reason
        Description of the defect.
    incomplete
        True if joints are missing, as in messages for other parts of the robot.
    """

    stamp: int
    reason: str
    incomplete: bool = False


class VelocityFilter:
    """First-order low-pass filter y' = w (u - y), w = 2 pi cutoff, exact for an input that is held in each interval.

    u is the measured, y the filtered velocity, dt (s) the time between samples: y_k = u_k + exp(-w dt) (y_{k-1} - u_k).
    Well below the sampling rate its gain at the frequency f is 1 / sqrt(1 + (f / cutoff)^2), and its delay at low
    frequencies is 1 / w. It is initialised with the first velocity, without a transient from zero.

    If velocities are not measured, u_k is the backward difference of the positions: for constant acceleration the
    velocity half an interval earlier. Differences are wrapped to [-pi, pi], because drivers of continuous joints may
    report positions modulo 2 pi; joints are assumed to move less than half a turn between samples.

    Attributes
    ----------
    started
        True if a velocity is known: with the first measured velocity, or else from the second position on.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """Create a filter for ``n`` joints; ``cutoff`` in Hz, 0 or infinite for no filtering.

        Raises RobotDynamicsError for a cutoff that is negative or NaN.
        """
        if not cutoff >= 0.0:
            raise RobotDynamicsError(f"velocity_filter_cutoff: {cutoff} Hz. Cure: give a positive number, or 0 for off")
        self._rate = math.tau * cutoff if cutoff > 0.0 else math.inf
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Reset the filter; the next sample initialises it."""
        self._time = math.inf
        self._position: Array = np.zeros(self._n)
        self._velocity: Array = np.zeros(self._n)
        self.started = False

    def update(self, time: float, q: Array, qd: Array | None) -> Array:
        """Return the filtered velocities (n,) for positions ``q`` (n,) and velocities ``qd`` (n,) at ``time`` (s).

        ``qd`` None: not measured; the first estimate is then 0. An unchanged time returns the last estimate; a time
        that went back resets the filter.
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
    """Last measured joint state, its faults and its age; ``steady`` is the time of a steady clock (s).

    ``cutoff`` of the velocity filter is in Hz, 0 for none. Joints that are ``continuous`` (n,), None for no joint, may
    report positions modulo 2 pi.

    Attributes
    ----------
    state
        Position (rad or m) and filtered velocity of the last valid state, (2, n).
    unfiltered
        Unfiltered velocity (n,) of the last valid state, measured or differentiated from positions.
    known
        True after the first valid state.
    stamp
        Stamp (s) of the last valid state; -inf before the first one.
    state_timeout
        Age (s) above which the state is stale.
    arrival
        Time (s), by the steady clock, of the last message of these joints, valid or not; -inf before the first one.
    stamp_repeats
        True if the last state has the same stamp as the previous one, until ``fault`` is called.
    usable
        True if at the last call of ``fault`` the state was not stale, and either the newest message was valid or a
        valid state had arrived since the call before.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        cutoff: float,
        state_timeout: float,
        continuous: NDArray[np.bool_] | None = None,
    ) -> None:
        """Create the feedback of the n joints ``joint_names``; ``cutoff`` in Hz, ``state_timeout`` in s."""
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
        # Delay (s) of the last state relative to the smallest one of about the last second. Stamps that make up for it
        # are not a jump of the clock. It decays, as simulated time may be slower than real time.
        self._lag = 0.0
        self._invalid: Fault | None = None
        self._momentary: Fault | None = None
        self._absent = ""
        self._velocity_measured = False
        self.state_timeout = state_timeout
        self.set_cutoff(cutoff)

    def set_plausible(self, position_step: Array, largest_velocity: Array) -> None:
        """Set bounds (n,) of plausible states; before the first call states are not compared.

        Between two states a position may change by ``position_step`` (rad or m, infinite: not compared) in addition to
        the measured velocity times the time or, if it is not measured, ``largest_velocity`` (rad/s or m/s) times the
        time. A joint whose measured velocity exceeds ``largest_velocity`` must have moved accordingly.
        """
        self._step, self._speed = position_step, largest_velocity

    def set_breakaway_effort(self, effort: Array) -> None:
        """Set the change of commanded effort (n,), Nm or N, at which joints must move; infinite by default.

        It is a fault if no measured value changes for longer than ``state_timeout`` although the effort of a joint has
        changed by more. Joints with an infinite position step are not checked.
        """
        self._breakaway = effort

    def set_cutoff(self, cutoff: float) -> None:
        """Replace the velocity filter by one with this ``cutoff`` (Hz), 0 for none; the next state initialises it."""
        self._filter = VelocityFilter(len(self._names), cutoff)

    @property
    def trouble(self) -> str:
        """Reason why the state is missing or invalid, as text; before the first message "no joint_states yet"."""
        return self._invalid.message if self._invalid is not None else self._absent or "no joint_states yet"

    @property
    def silent(self) -> bool:
        """True if no message has arrived, not even one for other joints."""
        return self.arrival == -math.inf and not self._absent

    @property
    def velocity_known(self) -> bool:
        """True with the first measured velocity or, if it is not measured, from the second position on."""
        return self._filter.started

    def take(self, stamp: float, steady: float, q: Array, qd: Array | None, effort: Array | None = None) -> bool:
        """Process a measured state; return True if it is valid, otherwise ``fault`` returns the reason.

        Positions of continuous joints are unwrapped.

        Parameters
        ----------
        stamp, steady
            Time of measurement, and time of arrival by the steady clock (s).
        q
            Position (n,), rad or m.
        qd
            Velocity (n,), rad/s or m/s. None, or NaN in all states as from ros2_control's broadcaster: not measured.
        effort
            Last commanded effort (n,), Nm or N, for the detection of frozen states; None: not checked.
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
                self._momentary = self._late(ahead) if late else clock_jump_ahead(ahead)
            self._lag = max(0.0, self._lag * max(0.0, 1.0 - passed) - ahead)
        before, self.stamp, self._taken = self.stamp, stamp, steady
        self.known = self._fresh = True
        self._measured[:] = new
        filtered = self._filter.update(stamp, new[0], qd)
        if qd is None or stamp > before:  # the filter ignores a repeated stamp
            new[1] = filtered
        self.unfiltered = new[1] if qd is None else qd
        self.state[:] = new
        return True

    def _implausible(self, j: int, dt: float) -> Fault:
        q, before = self._new[:, j], self._measured[:, j]
        return Fault(
            Cause.STATE_IMPLAUSIBLE,
            f'joint_states: joint "{self._names[j]}" moves from {before[0]:.6g} to {q[0]:.6g} in {dt:.3g} s with a '
            f"velocity of {q[1]:.6g}. Cure: check its encoder, check for a second publisher of joint_states, or raise "
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
            f'joint_states: no value has changed for {lasts:.3g} s, although joint "{self._names[j]}" moves or is '
            "driven. Cure: check its driver for outdated values, or raise position_step_limit",
            self._names[j],
            float(self._new[1, j]),
        )

    def reject(self, steady: float, reason: str) -> None:
        """Record an invalid message of these joints, arrived at ``steady`` (s); ``reason`` is the text of its fault."""
        self.arrival = steady
        self._invalid = self._momentary = Fault(Cause.STATE_INVALID, reason)

    def receive(self, steady: float) -> None:
        """Record that the last state was received again at ``steady`` (s), which makes its age 0."""
        self.arrival = steady

    def note_incomplete(self, reason: str) -> None:
        """Record a message without some of the joints; ``reason`` is the text of the fault if the state gets stale."""
        self._absent = reason

    hear = former_attribute("receive")
    miss = former_attribute("note_incomplete")

    def age(self, steady: float) -> float:
        """Return the time (s) since the last message of these joints, valid or not; inf before the first one."""
        return steady - self.arrival

    def fault(self, steady: float) -> Fault | None:
        """Return the current fault, or None, and update ``usable``; to be called once a cycle.

        In this order: the last defect of a message since the previous call, even if a valid one followed; the newest
        message is invalid; the state is stale or there is none.
        """
        momentary, stale = self._momentary, self.stale(steady)
        self.usable = self.known and stale is None and (self._fresh or self._invalid is None)
        self._momentary, self._fresh, self.stamp_repeats = None, False, False
        return momentary or self._invalid or stale

    def missing(self, steady: float) -> bool:
        """Return True if the newest message is invalid or older than ``state_timeout``, or if there is none."""
        return self._invalid is not None or self.stale(steady) is not None

    def stale(self, steady: float) -> Fault | None:
        """Return a fault if ``age`` exceeds ``state_timeout``, also if there is no message yet, else None."""
        age = steady - self.arrival
        if age <= self.state_timeout:
            return None
        reason = self._absent or "Cure: check their publisher"
        return Fault(
            Cause.STATE_STALE,
            f"joint_states are {age:.3f} s old, over state_timeout {self.state_timeout:g} s. {reason}",
            value=age,
        )

    def _late(self, seconds: float) -> Fault:
        return Fault(
            Cause.STATE_STALE,
            f"joint_states were delivered late: their stamps advanced by {seconds:.3f} s at once, over state_timeout "
            f"{self.state_timeout:g} s. Cure: check the network and the load of the machines",
            value=seconds,
        )

    def _out_of_bounds(self) -> Fault:
        row, j = (int(k) for k in np.argwhere(~(np.abs(self._new) <= LARGEST))[0])
        quantity, name, value = ("position", "velocity")[row], self._names[j], float(self._new[row, j])
        defect = "is not finite" if not math.isfinite(value) else "is implausible"
        return Fault(
            Cause.STATE_INVALID,
            f'joint_states: {quantity} of joint "{name}" {defect}: {value:g}. Cure: check its driver',
            name,
            value,
        )


def clock_jump(seconds: float) -> Fault:
    """Return the fault of a time that jumped back by ``seconds``."""
    return Fault(
        Cause.CLOCK_JUMPED_BACK,
        f"time jumped back by {seconds:.6g} s: the trajectory is dropped. Cure: after the reset of a simulation or for "
        "a bag played in a loop, call ~/clear_fault or set fault_reset to auto; otherwise check for a second publisher "
        "of joint_states",
        value=seconds,
    )


def clock_jump_ahead(seconds: float) -> Fault:
    """Return the fault of a time that jumped ahead of the steady clock by ``seconds``."""
    return Fault(
        Cause.CLOCK_JUMPED_AHEAD,
        f"time jumped ahead by {seconds:.6g} s, over state_timeout: the trajectory is dropped. "
        "Cure: check the source of the time; for a simulation much faster than real time set state_timeout to .inf",
        value=seconds,
    )
