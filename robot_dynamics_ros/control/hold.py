"""Motion and torque of an arm whose controller has left the law: stop, then hold the position and the load."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.active_law import ActiveLaw
from robot_dynamics_ros.control.checks import Checks
from robot_dynamics_ros.control.feedback import Feedback
from robot_dynamics_ros.control.safety import Cause, Fault
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_KEEPS_LOAD = (  # faults of the measurement, or on request, and not of the arm's motion
    Cause.STATE_INVALID,
    Cause.STATE_STALE,
    Cause.STATE_IMPLAUSIBLE,
    Cause.STAMP_REPEATS,
    Cause.CLOCK_JUMPED_AHEAD,
    Cause.CYCLE_RATE,
    Cause.EMERGENCY_STOP,
    Cause.DEACTIVATED,
)


class Hold:
    """Fall-back from a ``law``: stop and hold of the arm by the ``plan``, from the measured state in ``feedback``."""

    def __init__(self, law: ActiveLaw, plan: MotionPlan, feedback: Feedback, checks: Checks) -> None:
        self._law, self._plan, self._feedback, self._checks = law, plan, feedback, checks
        self._load = self._offset = np.zeros(len(plan.q))
        self._resting = False

    def begin(self, model: RobotModel, fault: Fault, effort: Array) -> None:
        """Take over from the law, whose last ``effort`` (n,) this was.

        Its torque at rest beyond the gravity torque is kept if it is within the margin: it carries a load that is not
        in the model.
        """
        law, margin = self._law.tuning.law, self._law.tuning.hold_margin
        self._load = self._offset = np.zeros(len(effort))
        if self._feedback.known and law.compensates_gravity and fault.cause in _KEEPS_LOAD:
            q = self._feedback.state[0]
            at_rest = self._law.effort_at_rest(model, q)
            load = (effort if at_rest is None else at_rest) - model.gravity_torque(q)
            if ((np.abs(load) <= margin) & np.isfinite(margin)).all():
                self._load = load
                if law.follows:
                    self._offset = self._plan.q - q
                return
        self._law.integral.reset()

    def advance(self, time: float, steady: float, longest: float) -> None:
        """Advance stop and hold to ``time`` (s), ``steady`` (s) by the steady clock; a stop takes ``longest`` (s)."""
        plan, feedback = self._plan, self._feedback
        self._law.leave()
        if not feedback.usable:
            self._checks.external.forget()
            if not self._resting or feedback.stale(steady) is not None:
                plan.hold(time, feedback.state[0] if feedback.known else plan.q)
                self._resting = False
            return
        if not self._resting:
            q, qd = feedback.state
            qd = np.clip(qd, -self._checks.damping.limits, self._checks.damping.limits)
            plan.rest_from(time, q, qd, np.maximum(self._law.tuning.deceleration, np.abs(qd) / longest))
            self._resting = True
        plan.advance(time)

    def effort(self, model: RobotModel) -> Array:
        """Return M qdd_d + g(q) + load + Kp e (within the margin) + Kd e' (n,).

        g(q) alone without a usable state, or where damping drives the arm. Huge states give non-finite numbers.
        """
        plan, feedback, gains, tuning = self._plan, self._feedback, self._law.gains, self._law.tuning
        q, qd = feedback.state if feedback.known else (plan.q, plan.qd)
        with np.errstate(over="ignore", invalid="ignore"):
            if not feedback.usable or self._checks.damping.drives:
                return model.gravity_torque(q)
            spring, damping = gains.kp * (plan.q - q), gains.kd * (plan.qd - qd)
            inertia = model.mass_matrix(q)
            if tuning.law.gains_are_accelerations:
                spring, damping = inertia @ spring, inertia @ damping
            position: Array = np.clip(self._load + spring, -tuning.hold_margin, tuning.hold_margin)
            return model.gravity_torque(q) + inertia @ plan.qdd + position + damping

    def release(self) -> None:
        """Note that the arm is without effort: it may go anywhere, and its load is unknown."""
        self._resting = False
        self._load = self._offset = np.zeros(len(self._load))

    def resume(self, time: float) -> None:
        """Let the law hold the position that the arm has, with the load that it had."""
        if self._feedback.known:
            self._plan.hold(time, self._plan.q + self._offset)
        self._resting = False
