"""Evaluation of the active control law.

Positions are in rad or m, velocities per s, torques in Nm or N; each vector is (n,) in the order of the model's joints.
M(q) is the mass matrix, g(q) the gravity torque, 0 if the robot compensates for it. ``time`` (s) is by the
controller's clock, that of the trajectories. Names such as ``ramp_time`` are fields of ControllerSettings.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.configuration.tuning import Tuning
from robot_dynamics_ros.control.controlled_arm import ControlledArm
from robot_dynamics_ros.control.drives import Drives
from robot_dynamics_ros.control.end_effector.end_effector_targets import (
    EndEffectorTargets,
)
from robot_dynamics_ros.control.end_effector.task_space import (
    TaskTorque,
    task_space_computed_torque,
)
from robot_dynamics_ros.control.laws import Law, Motion
from robot_dynamics_ros.control.limits import ErrorIntegral, VelocityBound
from robot_dynamics_ros.control.thresholds import SAG_VELOCITY
from robot_dynamics_ros.control.trajectory.plan import MotionPlan
from robot_dynamics_ros.dynamics.kernels.types import Array


class ActiveLaw:
    """Torque of the control law, for the desired motion of a plan or for end-effector targets.

    The caller advances the plan.

    Attributes
    ----------
    gains, hold_gains
        Gains (n,) of the law and of the hold, for the inertia at the start; for an inertia of 1 before ``begin``.
    integral
        Integral of the position error, an ErrorIntegral; the caller adds to it.
    targets
        Targets of the end effector.
    drives
        Drives with a loop of their own; None for drives that take an effort only.
    task_torque
        Torque and errors in task space in the last cycle; None for joint-space laws and after targets were dropped.
    """

    def __init__(self, arm: ControlledArm, plan: MotionPlan) -> None:
        """Create the law of the settings of ``arm``; ``plan`` has the desired joint motion."""
        tuning = arm.tuning
        n = arm.robot.n
        self.gains = tuning.gains(np.ones(n))
        self.hold_gains = tuning.hold_gains(np.ones(n))
        self.integral = ErrorIntegral(n)
        self.targets = EndEffectorTargets(tuning.settings.task_space)
        self.drives = Drives(arm) if tuning.has_drive_loop else None
        self.task_torque: TaskTorque | None = None
        self._arm = arm
        self._start_position: Array | None = None
        self._plan = plan
        self._desired = Motion(plan.q, plan.qd, plan.qdd)
        self._bound = VelocityBound(arm.robot.limit_rows)

    def begin(self, q: Array, inertia: Array) -> None:
        """Start at ``q``, where the end effector is held; ``inertia`` (n,), kg m^2 or kg, is the diagonal of M(q)."""
        self._start_position = q.copy()
        self.gains = self._arm.tuning.gains(inertia)
        self.hold_gains = self._arm.tuning.hold_gains(inertia)

    def tune(self, tuning: Tuning, inertia: Array | None) -> None:
        """Apply new settings, before the arm has them; ``inertia`` (n,) is the diagonal of M(q) passed to ``begin``.

        None before ``begin``: the gains are not set yet. If the end-effector link or its controlled components change,
        the targets are dropped.
        """
        old = self._arm.tuning.end_effector
        new = tuning.end_effector
        self._bound.reset()
        if old is None or new is None or (old.link, old.rows) != (new.link, new.rows):
            self.drop_targets()
        self.targets.tune(tuning.settings.task_space)
        if inertia is not None:
            gains = tuning.gains(inertia)
            self.integral.keep_torque(self.gains.ki, gains.ki)
            self.gains = gains
            self.hold_gains = tuning.hold_gains(inertia)

    def drop_targets(self) -> None:
        """Drop all targets; the end effector then holds the pose measured in the next cycle."""
        self.targets.clear()
        self.task_torque = self._start_position = None

    def deactivate(self) -> None:
        """Drop the targets; at its next use the law accepts the position then measured, even beyond a joint limit."""
        self._bound.reset()
        self.drop_targets()

    def release(self) -> None:
        """Let drives with a loop of their own make no more than the commanded effort, in this cycle."""
        if self.drives is not None:
            self.drives.release()

    def effort(self, q: Array, qd: Array, time: float, period: float) -> Array:
        """Return the torque (n,) for the measured state ``q``, ``qd`` at ``time`` (s) of the controller.

        ``period`` (s) of the cycles limits the gain of braking before joint limits; 0 if unknown. The torque includes
        friction compensation, if set, and the feedforward effort of the trajectory, and is not limited. For drives that
        have a loop of their own it is their feedforward.
        """
        model = self._arm.model
        tuning = self._arm.tuning
        law = tuning.law
        desired = self._desired
        if self.drives is not None:
            return self._feedforward(self.drives, law, q, qd)
        if law.torque is not None:
            effort = law.torque(model, self.gains, desired, q, qd, self.integral.value)
            effort = self._with_friction(effort, desired.q, desired.qd, desired.qdd)
            if law.follows:
                return effort + self._plan.effort
        # Braking: ten times the bandwidth of the law, within half the stability limit of sampling.
        kd = self.gains.kd
        bandwidth = np.minimum(10.0 * kd, 0.4 / period) if period > 0.0 else kd
        allowed = self._bound.velocities(q, tuning.deceleration, bandwidth)
        if law.task_space:
            effort = self._task_space_effort(q, qd, time, allowed)
        over = self._bound.excess(qd, allowed)
        if not over.any():
            return effort
        return effort - model.mass_matrix(q) @ (bandwidth * over)

    def _feedforward(self, drives: Drives, law: Law, q: Array, qd: Array) -> Array:
        """Return the feedforward torque (n,) of drives with a loop of their own, and set their set points and gains.

        It is the law's torque for the motion ahead, without errors, and what replaces the feedback of distrusted
        drives. The measured state ``q``, ``qd`` is compared with the desired motion of its time.
        """
        assert law.torque is not None
        model = self._arm.model
        ahead = self._plan.ahead(drives.lead)
        *motion, effort = ahead
        goal = Motion(*motion)
        integral = self.integral.value
        torque = law.torque(model, self.gains, goal, goal.q, goal.qd, integral)
        desired = self._desired
        replacement = drives.follow(
            ahead,
            self.gains,
            model.mass_matrix(goal.q).diagonal(),
            desired.q - drives.age * desired.qd - q,
            desired.qd - drives.age * desired.qdd - qd,
        )
        feedforward: Array = self._with_friction(torque, *motion) + effort
        return feedforward + replacement

    def effort_at_rest(self, q: Array, desired: Array, otherwise: Array) -> Array:
        """Return the law's torque (n,) without friction at rest at ``q`` with the ``desired`` position (n,) at rest.

        For task-space laws it is ``otherwise`` (n,).
        """
        law = self._arm.tuning.law
        still = np.zeros(len(q))
        if law.torque is None:
            return otherwise
        rest = Motion(desired, still, still)
        integral = self.integral.value
        return law.torque(self._arm.model, self.gains, rest, q, still, integral)

    def start_duration(self, q: Array, load: Array) -> float:
        """Return the duration (s) of the transition of the effort at the start, at ``q``.

        ``load`` (n,) is the effort at the start less g(q). The result is ``ramp_time`` or, unless that is 0, a longer
        time in which the position errors by which the gains balance the load grow at most at 0.05 rad/s or m/s.
        """
        tuning = self._arm.tuning
        seconds = tuning.settings.ramp_time
        kp = self.gains.kp
        if seconds > 0.0 and load.any() and (kp > 0.0).all():
            if tuning.law.gains_are_accelerations:
                inertia = self._arm.model.mass_matrix(q)
                load = np.asarray(np.linalg.solve(inertia, load))
            seconds = max(seconds, float(np.abs(load / kp).max()) / SAG_VELOCITY)
        return seconds

    def _task_space_effort(
        self, q: Array, qd: Array, time: float, allowed: Array
    ) -> Array:
        """Return the torque (n,) towards the targets, with the desired motion of the plan as posture.

        Friction compensation is for the velocity of the target, not of the approach: that would be feedback with the
        gain Coulomb torque / smoothing velocity, which is unstable if the model overestimates friction.
        """
        model = self._arm.model
        end_effector = self._arm.tuning.end_effector
        targets = self.targets
        assert end_effector is not None
        if targets.none_has_begun:
            start = q if self._start_position is None else self._start_position
            targets.hold(model.link_pose(start, end_effector.link))
        solution = self.task_torque = task_space_computed_torque(
            model,
            end_effector.gains,
            end_effector.link,
            targets.at(time),
            q,
            qd,
            end_effector.rows,
            self._desired,
            allowed,
        )
        return self._with_friction(solution.torque, q, solution.joint_velocities, None)

    def _with_friction(
        self, effort: Array, q: Array, qd: Array, qdd: Array | None
    ) -> Array:
        """Return ``effort`` with the friction torque at ``q``, ``qd``, ``qdd``, if it is compensated."""
        tuning = self._arm.tuning
        if not tuning.adds_friction:
            return effort
        smoothing = tuning.settings.friction_smoothing_velocity
        return effort + self._arm.model.friction_torque(q, qd, smoothing, qdd=qdd)
