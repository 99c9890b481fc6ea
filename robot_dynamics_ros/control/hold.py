"""Hold of the arm after a fault, and the detection of damping that excites the arm.

Positions are in rad or m, velocities per s, torques in Nm or N; each vector is (n,) in the order of the model's joints.
M(q) is the mass matrix, g(q) the gravity torque, 0 if the robot compensates for it. ``time`` (s) is by the
controller's clock, that of the trajectories. ``hold_effort_margin`` is a field of SafetySettings.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.control.active_law import ActiveLaw
from robot_dynamics_ros.control.clock import Instant
from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.controlled_arm import ControlledArm
from robot_dynamics_ros.control.drives import Drives
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.estimation.response import Response
from robot_dynamics_ros.control.limits import stopping_deceleration
from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.control.thresholds import (
    HOLD_MOST_SWINGS,
    HOLD_MOVING_VELOCITY,
    HOLD_NEAR,
    HOLD_RELEASE_TIME,
    HOLD_RETURN_VELOCITY,
    HOLD_RUNAWAY_RATIO,
    HOLD_RUNAWAY_TIME,
    HOLD_SOFTENING,
    HOLD_SWING_RATIO,
    HOLD_SWING_VELOCITY,
    RECOVERY_TIME,
)
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.dynamics.kernels.types import Array

# Faults that do not indicate a wrong motion of the arm
_KEEPS_LOAD = (
    Cause.STATE_INVALID,
    Cause.STATE_STALE,
    Cause.STATE_IMPLAUSIBLE,
    Cause.STAMP_REPEATS,
    Cause.NO_RESPONSE,
    Cause.CLOCK_JUMPED_AHEAD,
    Cause.CYCLE_RATE,
    Cause.EMERGENCY_STOP,
    Cause.DEACTIVATED,
)
# Faults by which the arm is not where it should be: drives with a loop of their own must not push it there
_ELSEWHERE = (Cause.COLLISION, Cause.FOLLOWING_ERROR, Cause.SATURATION)
# Faults after which the position error of a motion may be that of a late state
_LATE = (
    Cause.STATE_STALE,
    Cause.STAMP_REPEATS,
    Cause.CLOCK_JUMPED_AHEAD,
    Cause.CYCLE_RATE,
)


class DampingCheck:
    """Detection of damping that does not slow a joint: behind a long delay, or with a wrong sign of feedback or drive.

    A joint that swings back twice in succession with more than 0.7 times the speed of the swing before oscillates
    because of the feedback; a joint that is pushed or falls moves in one direction. A joint at more than 1.5 times its
    limit, and 1.5 times its speed at the fault, for 0.02 s may have been accelerated by the damping, which then ends
    until no joint is faster than its limit. Each time the frequency of the feedback is divided by 3.

    Attributes
    ----------
    frequency
        Factor of the natural frequency of the feedback, 1 at ``begin``, 0 without feedback.
    """

    def __init__(self, limits: Array) -> None:
        """Set the speed ``limits`` (n,), rad/s or m/s, infinite for no limit."""
        self.limits = limits
        self.begin(np.zeros(len(limits)))

    def begin(self, velocity: Array) -> None:
        """Restart the detection at a fault, at the unfiltered ``velocity`` (n,)."""
        self.frequency = self._softened = 1.0
        self.accept(velocity)
        self._swing = velocity.copy()  # largest velocity of this swing
        # Speed above which the swing counts
        self._least = np.full(len(velocity), np.inf)
        self._swings = np.zeros(len(velocity))

    def accept(self, velocity: Array) -> None:
        """Accept this ``velocity`` (n,) as one that the damping has not caused, such as that of a fall."""
        self._largest = HOLD_RUNAWAY_RATIO * np.maximum(self.limits, np.abs(velocity))
        self._runs_since = math.inf

    def update(self, velocity: Array, time: float) -> None:
        """Update with the measured ``velocity`` (n,) at ``time`` (s) of the plan."""
        speed = np.abs(velocity)
        runs = (speed > self._largest).any()
        self._runs_since = min(self._runs_since, time) if runs else math.inf
        turns = (velocity * self._swing < 0.0) & (speed > 0.1 * HOLD_SWING_VELOCITY)
        size = np.abs(self._swing)
        count = np.where(size > self._least, self._swings + 1.0, 0.0)
        self._swings = np.where(turns, count, self._swings)
        least = np.maximum(HOLD_SWING_RATIO * size, HOLD_SWING_VELOCITY)
        self._least = np.where(turns, least, self._least)
        self._swing = np.where(turns | (speed > size), velocity, self._swing)
        swings = self._swings + (np.abs(self._swing) > self._least)
        if (swings >= HOLD_MOST_SWINGS).any():
            self._soften()
        if time - self._runs_since > HOLD_RUNAWAY_TIME:
            if self.frequency > 0.0:
                self._soften()
            self.frequency = 0.0
        elif (speed < self.limits).all():
            self.frequency = self._softened

    def _soften(self) -> None:
        self._softened *= HOLD_SOFTENING
        self._swings = np.zeros(len(self.limits))
        self._least = np.full(len(self.limits), np.inf)


class Hold:
    """Fall-back after a fault: stop along ``plan`` from the measured state, then hold.

    In each cycle ``advance`` updates the plan, and ``effort`` returns the torque. The load is a torque (n,) beyond g(q)
    that the law produced at rest, because it compensates an unmodelled load. Without feedback only the part is used
    that held the arm at rest or, if it moved, that the integral of the position error produced.

    A joint that did not answer its effort is doubted until it moves: its state is ``Response.believed``, and its load
    the one that it had when it last moved. A joint that is refuted stops by M(q) from its last trusted state, and has
    neither feedback nor load. The others are held.

    Drives with a loop of their own stop from their set points instead of the measured state, and go on with the
    feedback; the load is then what the law's feedforward has beyond g(q) there.
    """

    def __init__(self, arm: ControlledArm, law: ActiveLaw, plan: MotionPlan) -> None:
        """Create the fall-back of ``law``."""
        self._arm = arm
        self._law = law
        self._plan = plan
        self._resting = False
        self._returned_at = -math.inf  # s, of the plan: last return of feedback
        # Position error at which the stiffness holds what the load lacks; None: unknown
        self._sag: Array | None = None
        self.release()
        self._blind = np.zeros(len(plan.q), dtype=np.bool_)
        # Joints that something else has moved since the arm rested
        self._moved = np.zeros(len(plan.q), dtype=np.bool_)
        # Time (s) of the plan, and at which the arm last moved
        self._time = self._moved_at = 0.0
        self._damping = DampingCheck(arm.tuning.largest_velocity)
        self._continues = False  # the set points of drives go on
        self._missed = np.zeros(len(plan.q), dtype=np.bool_)
        self._doubted = np.zeros(len(plan.q), dtype=np.bool_)
        self._released_at = math.inf

    def tune(self, tuning: Tuning) -> None:
        """Apply new settings; other velocity limits restart the detection of wrong damping."""
        if not np.array_equal(self._damping.limits, tuning.largest_velocity):
            self._damping = DampingCheck(tuning.largest_velocity)

    def begin(
        self, estimate: Estimate, instant: Instant, fault: Fault, effort: Array
    ) -> None:
        """Start before ``advance`` after ``fault``; ``effort`` (n,) is the last one that the law commanded.

        The load is the law's torque at rest, or ``effort`` of a task-space law, less g(q). It is zero instead if it
        exceeds ``hold_effort_margin`` for a joint, if the law does not compensate gravity, or if the fault indicates a
        wrong motion of the arm. In these cases the integral of the position error is reset. In a motion with late
        states the load is only the torque of the integral.
        """
        law = self._law
        tuning = self._arm.tuning
        margin = tuning.hold_margin
        self.release()
        self._damping.begin(estimate.velocity)
        self._returned_at = -math.inf
        self._released_at = math.inf
        self._doubted = np.zeros(len(effort), dtype=np.bool_)
        self._time = self._moved_at = instant.time - instant.dt
        q = estimate.state[0]
        keeps = fault.cause in _KEEPS_LOAD
        away = fault.cause in _ELSEWHERE
        if fault.cause is Cause.CLOCK_JUMPED_BACK:
            # After the reset of a simulation the arm is elsewhere.
            keeps = bool((np.abs(self._plan.q - q) < HOLD_NEAR).all())
            away = not keeps
        self._continues = law.drives is not None and not away
        if estimate.known and tuning.law.compensates_gravity and keeps:
            at = self._plan.q.copy() if self._continues else q
            gravity = self._arm.model.gravity_torque(at)
            velocities = np.array((estimate.state[1], self._plan.qd))
            load = law.effort_at_rest(at, self._plan.q, effort) - gravity
            if ((np.abs(load) <= margin) & np.isfinite(margin)).all():
                self._load = self._blind_load = load
                self._sag = at - q
                if (np.abs(velocities) > HOLD_MOVING_VELOCITY).any():
                    self._sag = None
                    self._blind_load = law.effort_at_rest(at, at, gravity) - gravity
                    if fault.cause in _LATE:
                        self._load = self._blind_load
                if tuning.law.follows:
                    self._offset = self._plan.q - at
                return
        law.integral.reset()

    def advance(
        self,
        estimate: Estimate,
        instant: Instant,
        longest: float,
        response: Response,
    ) -> None:
        """Advance the plan to ``instant``; each joint stops within ``longest`` (s) and before its limit.

        ``response`` has the joints that do not answer. Without a valid state the stop is from the last one. If the arm
        has moved on when feedback returns, the stop begins anew. Its time is the sum of time steps, because stamps may
        stand still or jump.
        """
        self._time += instant.dt if instant.regular else instant.ramp_dt
        blind = estimate.refuted if estimate.valid else np.full(len(self._load), True)
        # Joints that are refuted since the first states after an outage; their drives are not to blame
        self._missed = blind & (
            self._missed | (not estimate.valid and ~estimate.refuted)
        )
        returns = self._blind & ~blind
        self._blind = blind
        plan = self._plan
        time = self._time
        self._law.deactivate()
        if not estimate.known:
            plan.hold(time, plan.q)
            return
        q, qd = estimate.state
        if estimate.valid:
            if returns.any():
                self._returned_at = time
            # The first states after a return of feedback may be late.
            if time - self._returned_at <= HOLD_RUNAWAY_TIME:
                self._damping.accept(qd)
            self._damping.update(np.where(response.doubted, 0.0, qd), time)
        away = returns & (np.abs(plan.q - q) > HOLD_NEAR)
        changed = self._doubt(response)
        if not self._resting or changed or away.any():
            begin = q
            speed = qd
            if self._resting:  # joints without feedback continue their stop
                begin = np.where(blind, plan.q, q)
                speed = np.where(blind, plan.qd, qd)
            if self._law.drives is not None:
                begin, speed = self._set_point(self._law.drives, begin)
            speed = np.clip(speed, -self._damping.limits, self._damping.limits)
            rows = self._arm.robot.limit_rows
            deceleration = np.maximum(
                self._arm.tuning.deceleration, np.abs(speed) / longest
            )
            deceleration = stopping_deceleration(rows, begin, speed, deceleration)
            plan.rest_from(time, begin, speed, deceleration)
            self._resting = True
            self._moved = np.zeros(len(q), dtype=np.bool_)
        if not plan.advance(time) and estimate.trusted:
            self._yield(q, qd)

    def _set_point(self, drives: Drives, q: Array) -> tuple[Array, Array]:
        """Return position and velocity (n,) from which drives with a loop of their own stop; ``q`` (n,) is measured.

        Their set points go on, unless the arm is elsewhere or the stiffness of a joint is 0. They then rest where
        the joint is.
        """
        free = drives.stiffness == 0.0
        plan = self._plan
        if not self._continues:
            return q, np.zeros(len(q))
        return np.where(free, q, plan.q), np.where(free, 0.0, plan.qd)

    def hold_measured(self, estimate: Estimate) -> None:
        """Hold the measured position from now on, because something else drives the arm."""
        self._plan.hold(self._time, estimate.state[0])

    def _yield(self, q: Array, qd: Array) -> None:
        """Let the held position follow the measured one, ``q`` (n,), of joints that something else moves.

        It is not the load once that is known: from rest at the fault, or after the arm has rested for 0.2 s by its
        velocity ``qd`` (n,). The stiffness then does not exceed the damping at HOLD_RETURN_VELOCITY, so that a joint
        does not return faster. As soon as the arm rests, it is held where it is.
        """
        rests = bool((np.abs(qd) < HOLD_MOVING_VELOCITY).all())
        error = self._plan.q - q
        if not rests:
            self._moved_at = self._time
        if self._sag is None:
            if self._time - self._moved_at > RECOVERY_TIME:
                self._sag = error
            return
        # A joint that returns fast is not pushed by a load: it has no sag.
        returns = (error * qd > 0.0) & (np.abs(qd) > HOLD_RETURN_VELOCITY)
        self._sag = np.where(returns, 0.0, self._sag)
        gains = self._law.hold_gains
        farthest = np.maximum(HOLD_RETURN_VELOCITY * gains.kd / gains.kp, HOLD_NEAR)
        # The errors of a load are between 0 and the sag.
        least = np.minimum(self._sag, 0.0)
        most = np.maximum(self._sag, 0.0)
        followed = np.clip(error, least - farthest, most + farthest)
        moved = followed != error
        self._moved = self._moved | moved
        if rests and self._moved.any():
            held = np.clip(error, least, most)
            followed = np.where(self._moved, held, followed)
            self._moved = np.zeros_like(moved)
        elif not moved.any():
            return
        self._plan.hold(self._time, q + followed)

    def _doubt(self, response: Response) -> bool:
        """Set the load of joints that are doubted from now on; return True if others are doubted than before."""
        doubted = response.doubted
        new = doubted & ~self._doubted
        changed = bool((doubted != self._doubted).any())
        self._doubted = doubted
        if new.any():
            load = -response.reference
            load = np.where(np.abs(load) <= self._arm.tuning.hold_margin, load, 0.0)
            self._load = np.where(new, load, self._load)
            self._blind_load = np.where(new, load, self._blind_load)
        return changed

    def effort(self, estimate: Estimate) -> Array:
        """Return M qdd_d + g(q) + load + Kp e + Kd e', where load + Kp e is limited to ``hold_effort_margin``.

        q is the measured position, qdd_d the acceleration of the plan, e its position minus q, e' its velocity minus
        the measured one. Kp and Kd are gains of the hold, multiplied by M if they are accelerations. They are lower
        after the feedback was unstable, and for states that lag. Without a valid state there is no feedback; q is then
        that of the plan, and the load is the one that held the arm. The torque is not finite for extreme states.

        Drives with a loop of their own get Kp and Kd as diagonal gains; the result is their feedforward, with q of the
        plan.
        """
        self._released_at = math.inf
        plan = self._plan
        gains = self._law.hold_gains
        model = self._arm.model
        tuning = self._arm.tuning
        q, qd = estimate.state if estimate.valid else (plan.q, plan.qd)
        drives = self._law.drives
        if drives is not None:
            return self._feedforward(drives, estimate)
        with np.errstate(over="ignore", invalid="ignore"):
            q = np.where(estimate.refuted, plan.q, q)
            inertia = model.mass_matrix(q)
            stop = model.gravity_torque(q) + inertia @ plan.qdd
            if not estimate.valid:
                return stop + np.where(estimate.refuted, 0.0, self._blind_load)
            held = np.where(estimate.refuted, 0.0, 1.0)
            frequency = self._damping.frequency * estimate.tolerance
            spring = frequency**2 * gains.kp * (plan.q - q)
            damping = frequency * gains.kd * held * (plan.qd - qd)
            if tuning.law.gains_are_accelerations:
                spring = inertia @ spring
                damping = inertia @ damping
            position: Array = held * np.clip(
                self._load + spring, -tuning.hold_margin, tuning.hold_margin
            )
            if not plan.busy and (np.abs(qd) < HOLD_MOVING_VELOCITY).all():
                self._blind_load = position
            return stop + position + held * damping

    def _feedforward(self, drives: Drives, estimate: Estimate) -> Array:
        """Return the feedforward torque (n,) of drives with a loop of their own, and set their set points and gains.

        Joints that are refuted have neither feedback nor load, unless this is by an outage of the states.
        """
        plan = self._plan
        model = self._arm.model
        inertia = model.mass_matrix(plan.q)
        q, qd = estimate.state if estimate.valid else (plan.q, plan.qd)
        held = np.where(estimate.refuted & ~self._missed, 0.0, 1.0)
        believed = np.where(estimate.refuted, 0.0, 1.0)
        replacement = drives.follow(
            plan.ahead(drives.lead),
            self._law.hold_gains,
            inertia.diagonal(),
            believed * (plan.q - q),
            believed * (plan.qd - qd),
            self._damping.frequency * held,
        )
        torque: Array = model.gravity_torque(plan.q) + inertia @ plan.qdd
        return torque + held * self._load + replacement

    def fading_effort(self, gravity: Array) -> Array:
        """Return the torque (n,) where the hold ends: ``gravity`` (n,) and load, which fade to 0 within 0.5 s."""
        if self._released_at == np.inf:
            self._released_at = self._time
        self._resting = False
        passed = (self._time - self._released_at) / HOLD_RELEASE_TIME
        if passed >= 1.0:
            self.release()
        return max(1.0 - passed, 0.0) * (gravity + self._blind_load)

    def release(self) -> None:
        """Discard the stop and the load; called when the effort is zero instead."""
        self._resting = False
        self._sag = None
        self._load = self._offset = self._blind_load = np.zeros(len(self._plan.q))

    def resume(self, estimate: Estimate, time: float) -> None:
        """Let the plan hold from ``time`` (s) on.

        A joint near its held position is held there, offset by the position error by which the law holds the load.
        Other joints are held at the measured position.
        """
        if estimate.known:
            held = self._plan.q
            q = estimate.state[0]
            near = np.abs(held - q) <= HOLD_NEAR
            if self._law.drives is not None:
                near = self._law.drives.stiffness > 0.0
            self._plan.hold(time, np.where(near, held + self._offset, q))
        self._resting = False
