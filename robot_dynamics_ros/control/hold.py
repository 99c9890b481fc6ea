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
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.limits import stopping_deceleration
from robot_dynamics_ros.control.safety import RECOVERY_TIME, Cause, Fault
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.dynamics.kernels.types import Array

_MOVES = 0.05  # rad/s or m/s
_RUNAWAY = 1.5  # times the speed limit or the speed at the fault
_RUNAWAY_TIME = 0.02  # s
_NEAR = 0.05  # rad or m
_KEEPS_LOAD = (  # faults that do not indicate a wrong motion of the arm
    Cause.STATE_INVALID,
    Cause.STATE_STALE,
    Cause.STATE_IMPLAUSIBLE,
    Cause.STAMP_REPEATS,
    Cause.CLOCK_JUMPED_AHEAD,
    Cause.CYCLE_RATE,
    Cause.EMERGENCY_STOP,
    Cause.DEACTIVATED,
)


class DampingCheck:
    """Detection of damping that does not slow a joint: behind a long delay, or with a wrong sign of feedback or drive.

    A joint that has exceeded its speed limit in both directions since the fault, with excesses of any joint less than
    0.2 s apart, oscillates because of the damping; a joint that is pushed or falls moves in one direction. A joint at
    more than 1.5 times its limit, and 1.5 times its speed at the fault, for 0.02 s has been accelerated by the damping.

    Attributes
    ----------
    unstable
        True if such damping has been detected since ``begin``.
    """

    def __init__(self, limits: Array) -> None:
        """Set the speed ``limits`` (n,), rad/s or m/s, infinite for no limit."""
        self.limits = limits
        self.begin(np.zeros(len(limits)))

    def begin(self, velocity: Array) -> None:
        """Restart the detection at a fault, at the unfiltered ``velocity`` (n,)."""
        self.unstable = False
        self._largest = _RUNAWAY * np.maximum(self.limits, np.abs(velocity))
        self._too_fast_at = -math.inf  # ``update`` then resets the directions
        self._runs_since = math.inf

    def update(self, velocity: Array, time: float) -> None:
        """Update with the measured ``velocity`` (n,) at ``time`` (s) of the plan."""
        runs = (np.abs(velocity) > self._largest).any()
        self._runs_since = min(self._runs_since, time) if runs else math.inf
        forth = velocity > self.limits
        back = velocity < -self.limits
        if not (forth.any() or back.any()):
            return
        if not 0.0 <= time - self._too_fast_at < RECOVERY_TIME:
            self._forth = self._back = np.zeros(len(self.limits), dtype=np.bool_)
        self._too_fast_at = time
        self._forth = self._forth | forth
        self._back = self._back | back
        runs_away = time - self._runs_since > _RUNAWAY_TIME
        self.unstable = (
            self.unstable or runs_away or bool((self._forth & self._back).any())
        )


class Hold:
    """Fall-back after a fault: stop along ``plan`` from the measured state, then hold.

    In each cycle ``advance`` updates the plan, and ``effort`` returns the torque. The load is a torque (n,) beyond g(q)
    that the law produced at rest, because it compensates an unmodelled load. Without feedback only the part is used
    that held the arm at rest or, if it moved, that the integral of the position error produced.
    """

    def __init__(self, arm: ControlledArm, law: ActiveLaw, plan: MotionPlan) -> None:
        """Create the fall-back of ``law``."""
        self._arm = arm
        self._law = law
        self._plan = plan
        self._load = self._offset = self._blind_load = np.zeros(len(plan.q))
        self._resting = self._was_blind = False
        self._time = 0.0  # s, of the plan
        self._damping = DampingCheck(arm.tuning.largest_velocity)

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
        wrong motion of the arm. In these cases the integral of the position error is reset.
        """
        law = self._law
        tuning = self._arm.tuning
        margin = tuning.hold_margin
        self._load = self._offset = self._blind_load = np.zeros(len(effort))
        self._damping.begin(estimate.velocity)
        self._time = instant.time - instant.dt
        q = estimate.state[0]
        keeps = fault.cause in _KEEPS_LOAD
        if fault.cause is Cause.CLOCK_JUMPED_BACK:
            # False after the reset of a simulation.
            keeps = bool((np.abs(self._plan.q - q) < _NEAR).all())
        if estimate.known and tuning.law.compensates_gravity and keeps:
            gravity = self._arm.model.gravity_torque(q)
            velocities = np.array((estimate.state[1], self._plan.qd))
            load = law.effort_at_rest(q, self._plan.q, effort) - gravity
            if ((np.abs(load) <= margin) & np.isfinite(margin)).all():
                self._load = self._blind_load = load
                if (np.abs(velocities) > _MOVES).any():
                    self._blind_load = law.effort_at_rest(q, q, gravity) - gravity
                if tuning.law.follows:
                    self._offset = self._plan.q - q
                return
        law.integral.reset()

    def advance(self, estimate: Estimate, dt: float, longest: float) -> None:
        """Advance the plan by ``dt`` (s); each joint stops within ``longest`` (s) and before its limit.

        Without a valid state the plan holds the last measured position. If the arm has moved on when feedback returns,
        the stop begins anew. Its time is the sum of time steps, because stamps may stand still or jump.
        """
        self._time += dt
        was_blind = self._was_blind
        self._was_blind = not estimate.valid
        plan = self._plan
        time = self._time
        self._law.deactivate()
        if not estimate.valid:
            if not self._resting or estimate.stale:
                plan.hold(time, estimate.state[0] if estimate.known else plan.q)
                self._resting = False
            return
        q, qd = estimate.state
        self._damping.update(qd, time)
        if not self._resting or (was_blind and (np.abs(plan.q - q) > _NEAR).any()):
            qd = np.clip(qd, -self._damping.limits, self._damping.limits)
            rows = self._arm.robot.limit_rows
            deceleration = np.maximum(
                self._arm.tuning.deceleration, np.abs(qd) / longest
            )
            deceleration = stopping_deceleration(rows, q, qd, deceleration)
            plan.rest_from(time, q, qd, deceleration)
            self._resting = True
        plan.advance(time)

    def effort(self, estimate: Estimate) -> Array:
        """Return M qdd_d + g(q) + load + Kp e + Kd e', where load + Kp e is limited to ``hold_effort_margin``.

        q is the measured position, qdd_d the acceleration of the plan, e its position minus q, e' its velocity minus
        the measured one. Kp and Kd are gains of the hold, multiplied by M if they are accelerations. If damping
        is unstable, g(q) is returned, without a valid state g(q) and the load that held the arm. The torque is not
        finite for extreme states.
        """
        plan = self._plan
        gains = self._law.hold_gains
        model = self._arm.model
        tuning = self._arm.tuning
        q, qd = estimate.state if estimate.known else (plan.q, plan.qd)
        with np.errstate(over="ignore", invalid="ignore"):
            if self._damping.unstable:
                return model.gravity_torque(q)
            if not estimate.valid:
                return model.gravity_torque(q) + self._blind_load
            spring = gains.kp * (plan.q - q)
            damping = gains.kd * (plan.qd - qd)
            inertia = model.mass_matrix(q)
            if tuning.law.gains_are_accelerations:
                spring = inertia @ spring
                damping = inertia @ damping
            position: Array = np.clip(
                self._load + spring, -tuning.hold_margin, tuning.hold_margin
            )
            if not plan.busy and (np.abs(qd) < _MOVES).all():
                self._blind_load = position
            return model.gravity_torque(q) + inertia @ plan.qdd + position + damping

    def release(self) -> None:
        """Discard the stop and the load; called when the effort is zero instead."""
        self._resting = False
        self._load = self._offset = self._blind_load = np.zeros(len(self._load))

    def resume(self, estimate: Estimate, time: float) -> None:
        """Let the plan hold from ``time`` (s) on, offset by the position error by which the law holds the load."""
        if estimate.known:
            self._plan.hold(time, self._plan.q + self._offset)
        self._resting = False
