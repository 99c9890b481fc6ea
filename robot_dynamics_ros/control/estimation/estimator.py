"""Estimator of the joint state: plausibility of the messages, velocity, age, and joints that are not trusted.

``Estimate`` is the only source of measured states for checks, laws, hold, goals and diagnostics.

Stamps are times of measurement by the clock of the publisher, the ROS clock. ``steady`` (s) is the time by a clock that
never stops or jumps. Origins are arbitrary. Arrays (n,) are in the robot's joint order: positions in rad or m,
velocities in rad/s or m/s, efforts in Nm or N.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from copy import copy
from enum import Enum
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.checks import state_faults
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.cycle_kernels import (
    BOUNDS,
    CONTRADICTED,
    CONTRADICTS,
    IMPLAUSIBLE,
    IMPLIED,
    IMPLIED_STILL,
    MEMORY,
    MOVED,
    OUT_OF_BOUNDS,
    REFUTED,
    SINCE_TRUSTED,
    SPEED,
    STEP,
    STILL,
    UNCHANGED,
    check_state,
)
from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.control.thresholds import (
    CLOCK_DRIFT,
    DIFFERENTIATION_SAMPLES,
    DIFFERENTIATION_WINDOW,
    LARGEST_MAGNITUDE,
    MOST_UNUSABLE_STATES,
    SHORTEST_STAMP_STEP,
    SLOWEST_STAMPS,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


class VelocitySource(Enum):
    """Source of an estimated velocity; UNKNOWN: neither measured nor differentiated yet, it is 0."""

    UNKNOWN = "unknown"
    MEASURED = "measured"
    DIFFERENTIATED = "differentiated"


class Estimate(NamedTuple):
    """Estimate of the joint state after a message or at a cycle; it never changes.

    Attributes
    ----------
    state
        Position and filtered velocity of the last valid state, (2, n); zeros before the first one.
    velocity
        Unfiltered velocity (n,).
    source
        Source of the velocity.
    stamp
        Stamp (s) of the last valid state; -inf before the first one.
    known
        True after the first valid state.
    age
        Age (s) of the last message of these joints, valid or not, in the last cycle; inf without one.
    valid
        True if the state is feedback. It is not if it is unknown, if no message has arrived for ``state_timeout``, or
        if more than two messages in succession were unusable and no valid state arrived since the last cycle.
    tolerance
        Ratio of the largest lag that the feedback tolerates to the lag of the states, at most 1.
    refuted
        (n,), True for joints whose state is the last trusted one. Their measured position does not continue it, or
        contradicts the measured velocity: for 0.3 s, or at once if the position is constant. A joint is trusted again
        if its position continues the trusted one within 0.1 s, or within 1 s if its velocity agrees again, too.
    defect
        The first of: last defect of a message since the last cycle, even if a valid one followed; defect of the newest
        message; a stale state; states that lag. None if there is none of them.
    stamp_repeats
        True if a state since the cycle before had the stamp of the previous one.
    """

    state: Array
    velocity: Array
    refuted: NDArray[np.bool_]
    source: VelocitySource = VelocitySource.UNKNOWN
    stamp: float = -math.inf
    known: bool = False
    age: float = math.inf
    valid: bool = False
    tolerance: float = 1.0
    defect: Fault | None = None
    stamp_repeats: bool = False

    @property
    def trusted(self) -> bool:
        """True if the state of all joints is feedback."""
        return self.valid and not self.refuted.any()


class Estimator:
    """Estimator of the joint state from the messages of a driver.

    Attributes
    ----------
    estimate
        Estimate of the last message or cycle.
    arrival
        Time (s), by the steady clock, of the last message of these joints, valid or not; -inf before the first one.
    state_timeout
        Age (s) above which the state is stale.
    simulated_time
        True if stamps are simulated time, whose rate may differ from that of the steady clock.
    largest_lag
        Lag (s), unlimited by default, above which states for longer than ``state_timeout`` are stale.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        cutoff: float,
        state_timeout: float,
        continuous: NDArray[np.bool_] | None = None,
        simulated_time: bool = False,
    ) -> None:
        """Create the estimator of the n joints ``joint_names``; ``cutoff`` in Hz, 0 for no filter of the velocity.

        Joints that are ``continuous`` (n,), None for no joint, may report positions modulo 2 pi. ``state_timeout`` is
        in s. With ``simulated_time`` stamps are simulated time.
        """
        self._names = tuple(joint_names)
        n = len(self._names)
        self._continuous = (
            continuous if continuous is not None and continuous.any() else None
        )
        # Arguments of check_state
        self._bounds = np.full((BOUNDS, n), np.inf)
        self._memory = np.zeros((MEMORY, n))
        self.set_cutoff(cutoff)
        self.state_timeout = state_timeout
        self.simulated_time = simulated_time
        self._none = np.zeros(n, dtype=np.bool_)
        self.estimate = Estimate(np.zeros((2, n)), np.zeros(n), self._none)
        # Arrival (s) of the last message, of the last valid state, and of the last state with a new stamp
        self.arrival = self._valid_arrival = self._stamp_arrival = -math.inf
        self._time = 0.0  # s, sum of the time steps until the last valid state
        self._was_slow = False  # the last stamp hardly advanced
        self._was_repeated = False
        # State of each joint that last continued the one before, and that was last trusted
        self._measured = np.zeros((2, n))
        self._trusted = np.zeros((2, n))
        # Last measured state in which a joint was refuted
        self._latest = np.zeros((2, n))
        self._velocity_measured = False
        # Delay (s) of the last state beyond the smallest one. Stamps that make up for it are no jump of the clock.
        self._ahead = 0.0
        self.largest_lag = math.inf
        self._prompt_at = math.inf  # s, arrival of the last state with a smaller lag
        self._absent = ""
        self._silent = True
        self._invalid: Fault | None = None  # of the newest message
        self._unusable = 0  # number of messages since the last valid one
        # Since the last cycle: defect of a message, arrival of a valid state, repeated stamp
        self._defect: Fault | None = None
        self._fresh = self._stamp_repeats = False

    def tune(self, tuning: Tuning) -> None:
        """Apply new settings; another cutoff restarts the velocity filter."""
        settings = tuning.settings
        self.state_timeout = settings.safety.state_timeout
        if settings.velocity_filter_cutoff != self._cutoff:
            self.set_cutoff(settings.velocity_filter_cutoff)
        self.set_plausible(tuning.position_step, tuning.largest_velocity)

    def set_plausible(self, position_step: Array, largest_velocity: Array) -> None:
        """Set bounds (n,) of plausible states; before the first call states are not compared.

        Between two states a position may change by ``position_step`` (rad or m, infinite: not compared) in addition to
        the motion at its velocities or, if they are not measured, at ``largest_velocity`` (rad/s or m/s). A joint whose
        measured velocity exceeds ``largest_velocity`` must have moved accordingly.
        """
        self._bounds[STEP] = position_step
        self._bounds[SPEED] = largest_velocity

    def set_cutoff(self, cutoff: float) -> None:
        """Replace the velocity filter by one with this ``cutoff`` (Hz), 0 for none; the next state initialises it."""
        self._cutoff = cutoff
        self._filter = VelocityFilter(len(self._names), cutoff)

    @property
    def trouble(self) -> str:
        """Reason why the state is missing or invalid, as text; before the first message "no joint_states yet"."""
        return (
            self._invalid.message
            if self._invalid is not None
            else self._absent or "no joint_states yet"
        )

    @property
    def silent(self) -> bool:
        """True if no message has arrived, not even one for other joints."""
        return self.arrival == -math.inf and self._silent

    @property
    def lag(self) -> float:
        """Delay (s) of the last state beyond the smallest one seen; 0 for simulated time, whose rate is not known."""
        return 0.0 if self.simulated_time else self._ahead

    def age(self, steady: float) -> float:
        """Return the age (s) of the last message of these joints, valid or not; inf before the first one.

        It is the time since its arrival plus its lag.
        """
        return steady - self.arrival + self.lag

    def stale(self, steady: float) -> bool:
        """Return True if ``age`` exceeds ``state_timeout``, also if there is no message yet, or if states lag."""
        return self.age(steady) > self.state_timeout or self._lags

    @property
    def _lags(self) -> bool:
        """True if states have lagged by more than the largest lag for longer than ``state_timeout``."""
        return self._stamp_arrival - self._prompt_at > self.state_timeout

    def missing(self, steady: float) -> bool:
        """Return True if the newest message is invalid or older than ``state_timeout``, or if there is none."""
        return self._invalid is not None or self.stale(steady)

    def cycle(self, steady: float) -> Estimate:
        """Return the estimate for a cycle at ``steady`` (s); defects of messages then count from here on."""
        # Otherwise ``measure`` has just computed the estimate for this time.
        if self._invalid is not None or not self._fresh or steady != self.arrival:
            self.estimate = self.at(steady)
        self._defect = None
        self._fresh = False
        self._stamp_repeats = False
        return self.estimate

    def at(self, steady: float) -> Estimate:
        """Return the estimate at ``steady`` (s) without the start of a cycle."""
        last = self.estimate
        return self._estimate_at(
            steady, last.state, last.velocity, last.refuted, last.source, last.stamp
        )

    def _estimate_at(
        self,
        steady: float,
        state: Array,
        velocity: Array,
        refuted: NDArray[np.bool_],
        source: VelocitySource,
        stamp: float,
    ) -> Estimate:
        """Return the estimate at ``steady`` (s) with these fields of the last valid state."""
        lag = self.lag
        waited = steady - self.arrival
        age = waited + lag
        timeout = self.state_timeout
        known = self._valid_arrival > -math.inf
        # Single invalid messages do not end the feedback: a hold without damping in every second cycle would not stop
        # the arm.
        usable = (
            self._fresh
            or self._invalid is None
            or self._unusable <= MOST_UNUSABLE_STATES
            and steady - self._valid_arrival <= timeout
        )
        defect = self._defect or self._invalid
        if defect is None and age > timeout:
            defect = state_faults.stale(age, timeout, lag > timeout, self._absent)
        elif defect is None and self._lags:
            defect = state_faults.lag(lag, self.largest_lag)
        return Estimate(
            state,
            velocity,
            refuted,
            source,
            stamp,
            known,
            age,
            known and usable and waited <= timeout,
            1.0 if lag <= self.largest_lag else self.largest_lag / lag,
            defect,
            self._stamp_repeats,
        )

    def reject(self, steady: float, reason: str) -> None:
        """Process an invalid message of these joints, arrived at ``steady`` (s), with the ``reason`` of its fault."""
        self.arrival = steady
        self._refuse(Fault(Cause.STATE_INVALID, reason))

    def repeat(self, steady: float) -> None:
        """Record the arrival at ``steady`` (s) of a state that is not processed; the age is then the lag."""
        self.arrival = steady

    def note_incomplete(self, reason: str) -> None:
        """Record a message without some of the joints; ``reason`` is the text of the fault if the state gets stale."""
        self._absent = reason
        self._silent = False

    def note_silence(self, reason: str) -> None:
        """Record the ``reason`` why no message has arrived at all, until one arrives or another reason is recorded."""
        self._absent = reason

    def measure(self, stamp: float, steady: float, q: Array, qd: Array | None) -> bool:
        """Process a measured state; return True if it is valid, and then is the estimate.

        Positions of continuous joints are unwrapped. Velocities that contradict the positions are replaced by
        differentiated ones, until both agree in motion. Joints that are refuted keep their last trusted state.

        Parameters
        ----------
        stamp, steady
            Time of measurement, and time of arrival by the steady clock (s).
        q
            Position (n,), rad or m.
        qd
            Velocity (n,), rad/s or m/s. None, or NaN in all states as from ros2_control's broadcaster: not measured.
        """
        self.arrival = steady
        self._absent = ""
        known = self.estimate.known
        if qd is not None and not self._velocity_measured:
            self._velocity_measured = not np.isnan(qd).all()
            qd = qd if self._velocity_measured else None
        new = np.empty((2, len(q)))  # faster than np.array
        new[0] = q
        new[1] = 0.0 if qd is None else qd
        if self._continuous is not None and known and np.isfinite(new[0]).all():
            turns = np.rint((self.estimate.state[0] - new[0]) / math.tau)
            new[0] += math.tau * np.where(self._continuous, turns, 0.0)
        dt, step = self._time_step(stamp, steady)
        if dt < 0.0:
            # After the reset of a simulation the arm is elsewhere.
            self._memory[:] = 0.0
        defect = None
        result, joint, distrusted = self._check(new, step, steady, qd is not None)
        if result == OUT_OF_BOUNDS:
            defect = state_faults.out_of_bounds(self._names, new)
            # If only velocities are out of bounds, the positions are feedback.
            qd = None
            new[1] = 0.0
            result, joint, distrusted = self._check(new, step, steady, False)
            if result == OUT_OF_BOUNDS or not known:
                return self._refuse(defect)
        elif qd is None and self._velocity_measured:
            defect = state_faults.VELOCITY_MISSING
        if result >= CONTRADICTS:
            defect = self._contradiction(joint, new)
        refuted = self._none
        if result == IMPLAUSIBLE:
            refuted = self._memory[REFUTED] != 0.0
            self._latest = new
            new = np.where(refuted, self._trusted, new)
        elif self.refutes:
            self._filter.reset()  # the return to the measured state is not a motion
        self._invalid = None
        self._unusable = 0
        self._valid_arrival = steady
        self._fresh = True
        self._compare_clocks(dt, steady, result != UNCHANGED)
        self._defect = defect or self._defect
        if known:
            self._time += abs(step)
        measured = None if qd is None or distrusted else new[1]
        self._set_state(stamp, new, measured, refuted)
        return True

    @property
    def refutes(self) -> bool:
        """True if the state of a joint is refuted."""
        return self.estimate.refuted is not self._none

    @property
    def replaces_velocities(self) -> bool:
        """True while differentiated positions replace measured velocities, because these contradict the positions."""
        source = self.estimate.source
        return self._velocity_measured and source is VelocitySource.DIFFERENTIATED

    def accepting(self) -> Estimator:
        """Return a copy that trusts the last state of the joints that are refuted, of which there is at least one."""
        other = copy(self)
        other._memory = np.zeros_like(self._memory)
        other._measured = self._latest.copy()
        other._trusted = self._latest.copy()
        other.set_cutoff(self._cutoff)
        other._defect = None
        other.estimate = self.estimate._replace(
            state=self._latest, velocity=self._latest[1], refuted=self._none
        )
        other.estimate = other.at(self.arrival)
        return other

    def _contradiction(self, joint: int, new: Array) -> Fault:
        """Return the fault of a joint whose position does not continue the last one, or contradicts its velocity."""
        name = self._names[joint]
        memory = self._memory[:, joint].tolist()
        position, velocity = new[:, joint].tolist()
        if memory[REFUTED] != 0.0 and memory[CONTRADICTED] == 0.0:
            before = float(self._trusted[0, joint])
            seconds = memory[SINCE_TRUSTED]
            return state_faults.implausible(name, before, position, velocity, seconds)
        moved = memory[MOVED]
        implied = memory[IMPLIED]
        if memory[CONTRADICTED] == math.inf:  # the position is constant
            moved = position - memory[STILL]
            implied = memory[IMPLIED_STILL]
        return state_faults.contradiction(name, moved, implied, velocity)

    def _set_state(
        self,
        stamp: float,
        state: Array,
        measured: Array | None,
        refuted: NDArray[np.bool_],
    ) -> None:
        """Set the estimate with the valid ``state`` (2, n); without a ``measured`` velocity it is differentiated."""
        velocity = self._filter.update(
            self._time,
            state[0],
            measured,
            DIFFERENTIATION_WINDOW if self._velocity_measured else 0.0,
        )
        source = VelocitySource.MEASURED
        if not self._filter.started:
            source = VelocitySource.UNKNOWN
        elif measured is None:
            source = VelocitySource.DIFFERENTIATED
        if refuted is not self._none:
            velocity = np.where(refuted, self._trusted[1], velocity)
        unfiltered = velocity if measured is None else measured
        if velocity is not measured:
            state = np.array((state[0], velocity))
        self.estimate = self._estimate_at(
            self.arrival, state, unfiltered, refuted, source, stamp
        )

    def _refuse(self, fault: Fault) -> bool:
        self._invalid = self._defect = fault
        self._unusable += 1
        return False

    def _time_step(self, stamp: float, steady: float) -> tuple[float, float]:
        """Return the time (s) since the last valid state by stamps, and the one to use; negative if stamps went back.

        The second of two stamps in succession that hardly advance counts as repeated: 0. The time to use is then that
        between the arrivals. It also limits the next step, because that contains time that was used already.
        """
        dt = stamp - self.estimate.stamp
        passed = steady - self._valid_arrival
        slow = self._was_slow
        self._was_slow = 0.0 <= dt < min(SLOWEST_STAMPS * passed, SHORTEST_STAMP_STEP)
        if slow and self._was_slow and not self.simulated_time:
            dt = 0.0
        repeated = self._was_repeated
        self._was_repeated = dt == 0.0
        if dt == 0.0:
            return dt, passed
        return dt, min(dt, passed) if repeated else dt

    def _check(
        self, new: Array, dt: float, steady: float, measures_velocity: bool
    ) -> tuple[int, int, bool]:
        return check_state(
            new,
            self._measured,
            self._trusted,
            LARGEST_MAGNITUDE,
            self._bounds,
            dt,
            dt if self.simulated_time else steady - self._valid_arrival,
            self.state_timeout,
            measures_velocity,
            self._memory,
        )

    def _compare_clocks(self, dt: float, steady: float, changed: bool) -> None:
        """Record the defect of a stamp ``dt`` (s) after the last one: back, repeated, or ahead of the steady clock."""
        if dt == 0.0:
            if changed:
                self._defect = state_faults.STAMP_REPEATS
                self._stamp_repeats = True
            return
        if dt < 0.0:
            self._defect = state_faults.clock_jump(-dt)
            self._filter.reset()
            self._ahead = 0.0
        elif dt < math.inf:  # not the first one
            passed = steady - self._stamp_arrival
            ahead = dt - passed
            if ahead > self.state_timeout:
                late = ahead - self._ahead <= self.state_timeout
                self._defect = (
                    state_faults.late(ahead, self.state_timeout)
                    if late
                    else state_faults.clock_jump_ahead(ahead)
                )
            fading = 1.0 if self.simulated_time else CLOCK_DRIFT  # 1/s
            left = self._ahead * max(0.0, 1.0 - fading * passed)
            self._ahead = max(0.0, left - ahead)
        self._stamp_arrival = steady
        if self.lag <= self.largest_lag:
            self._prompt_at = steady


def smallest_turn(step: Array) -> Array:
    """Return changes of position, rad, wrapped to [-pi, pi]."""
    return np.asarray(step - math.tau * np.rint(step / math.tau))


class VelocityFilter:
    """First-order low-pass filter y' = w (u - y), w = 2 pi cutoff, exact for an input that is held in each interval.

    u is the measured, y the filtered velocity, dt (s) the time between samples: y_k = u_k + exp(-w dt) (y_{k-1} - u_k).
    Well below the sampling rate its gain at the frequency f is 1 / sqrt(1 + (f / cutoff)^2), and its delay at low
    frequencies is 1 / w. It is initialised with the first velocity, without a transient from zero.

    If velocities are not measured, u_k is the difference of the positions over at least three quarters of the usual
    interval, because two states shortly after each other would give a large error: for constant acceleration the
    velocity half an interval earlier. Differences are wrapped to [-pi, pi], because drivers of continuous joints may
    report positions modulo 2 pi; joints are assumed to move less than half a turn between samples.

    Attributes
    ----------
    started
        True if a velocity is known: with the first measured velocity, or else from the second position on.
    """

    def __init__(self, n: int, cutoff: float) -> None:
        """Create a filter for ``n`` joints; ``cutoff`` in Hz, not negative, 0 or infinite for no filtering."""
        self._rate = math.tau * cutoff if cutoff > 0.0 else math.inf
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Reset the filter; the next sample initialises it."""
        # Time and positions of each sample
        self._samples: deque[tuple[float, Array]] = deque(
            maxlen=DIFFERENTIATION_SAMPLES
        )
        self._velocity: Array = np.zeros(self._n)
        self._measured = True
        self.started = False

    def update(
        self, time: float, q: Array, qd: Array | None, window: float = 0.0
    ) -> Array:
        """Return the filtered velocities (n,) for positions ``q`` (n,) and velocities ``qd`` (n,) at ``time`` (s).

        ``qd`` None: not measured; the first estimate is then 0, and positions are compared over at least ``window``
        (s). An unchanged time returns the last estimate; a time that went back resets the filter. The arrays are kept.
        """
        dt = time - self._samples[-1][0] if self._samples else math.inf
        if dt == 0.0:
            return self._velocity
        if dt < 0.0:
            self.reset()
        if (qd is not None) is not self._measured:  # the old velocity was wrong
            self._measured = qd is not None
            self.started = False
        if qd is None and self._samples:
            before, position = self._reference(time, window)
            qd = smallest_turn(q - position) / (time - before)
        self._samples.append((time, q))
        if qd is not None:
            kept = math.exp(-self._rate * dt) if self.started else 0.0
            if kept != 0.0:
                qd = qd + kept * (self._velocity - qd)
            self._velocity = qd
            self.started = True
        return self._velocity

    def _reference(self, time: float, window: float) -> tuple[float, Array]:
        """Return time and position of the newest sample that is old enough, else of the oldest one."""
        times = [before for before, _ in self._samples]
        least = max(
            window,
            0.75
            * median(
                b - a
                for a, b in pairwise([*times[-DIFFERENTIATION_SAMPLES // 4 :], time])
            ),
        )
        return next(
            (each for each in reversed(self._samples) if time - each[0] >= least),
            self._samples[0],
        )
