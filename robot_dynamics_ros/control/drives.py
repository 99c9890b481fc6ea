"""Drives with a loop of their own: the effort of a cycle as set points, gains and a feedforward effort.

Such a drive makes stiffness (q_cmd - q) + damping (qd_cmd - qd) + tau_ff at its own rate. The feedback of the law is
left to it; limits and checks apply to the effort that it is expected to make at the measured state, and tau_ff is what
this effort has beyond the feedback.

Positions are in rad or m, velocities per s, torques in Nm or N; each vector is (n,) in the order of the model's joints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.joint_messages import DriveCommand
from robot_dynamics_ros.control.clock import Instant
from robot_dynamics_ros.control.controlled_arm import ControlledArm
from robot_dynamics_ros.control.estimation.estimator import Estimate
from robot_dynamics_ros.control.laws import Gains
from robot_dynamics_ros.control.thresholds import (
    LARGEST_SAMPLED_FREQUENCY,
    SMALLEST_INERTIA,
    STIFFNESS_RISE_TIME,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


class Drives:
    """Set points and gains of the drives, and their feedback, in a cycle.

    A stiffness rises from 0, at most by its target in 0.5 s, as more stiffness under a deflection adds energy to the
    arm. It falls at once. Drives that take a position only have constant gains of their own.

    Attributes
    ----------
    lead
        Time (s) by which the set points are ahead: half a period and the delay of commands.
    age
        Time (s) since the state was measured.
    stiffness, damping
        Gains (n,).
    error
        Desired less measured position (n,), at the time of measurement.
    """

    def __init__(self, arm: ControlledArm) -> None:
        """Create the gains of the drives of ``arm``, at first 0."""
        self._arm = arm
        self._takes_position_only = arm.tuning.takes_position_only
        self._dt = self._period = self.lead = self.age = 0.0
        none = np.zeros(arm.robot.n)
        self._distrusted = np.zeros(arm.robot.n, dtype=np.bool_)
        self.stiffness = self.damping = self.error = none
        self._q = self._qd = none
        self._position = self._velocity = self._feedback = none

    def begin(
        self, instant: Instant, estimate: Estimate, distrusted: NDArray[np.bool_]
    ) -> None:
        """Begin the cycle at ``instant`` with ``estimate``, before the other methods.

        Joints (n,) that are ``distrusted`` get gains of 0, and the torque of the feedback as a part of the effort: the
        loop of a reversed drive or of a wrong encoder would drive the joint on.
        """
        drives = self._arm.tuning.settings.drives
        self.lead = drives.command_delay + 0.5 * instant.period
        self._period = instant.period
        self.age = max(instant.time - estimate.stamp, 0.0)
        self._dt = instant.ramp_dt
        if self._takes_position_only:
            self.stiffness = np.full(len(estimate.velocity), drives.stiffness)
            self.damping = np.full(len(estimate.velocity), drives.damping)
        else:
            self._distrusted = distrusted
            # Limits may have changed, also where nothing is followed.
            self._set_gains(
                np.minimum(self.stiffness, drives.stiffness_limit),
                np.minimum(self.damping, drives.damping_limit),
            )
        self._q, qd = estimate.state
        self._qd = qd if estimate.valid else np.zeros(len(qd))

    def follow(
        self,
        ahead: Array,
        gains: Gains,
        inertia: Array,
        error: Array,
        rate: Array,
        frequency: Array | float = 1.0,
    ) -> tuple[Array, Array]:
        """Set a moving set point, and return the torques (n,) of stiffness and damping at the measured state.

        Parameters
        ----------
        ahead
            Desired motion by ``MotionPlan.ahead``, whose rows 0 and 1 are position and velocity.
        gains
            Gains of the law.
        inertia
            Diagonal of M(q) (n,), kg m^2 or kg.
        error, rate
            Desired less measured position and velocity, each (n,), at the time of measurement.
        frequency
            Factor of the natural frequency of the feedback, 0 to 1, one number or (n,).
        """
        if not self._takes_position_only:
            stiffness, damping = self._arm.tuning.drive_gains(gains, inertia)
            stiffness = frequency**2 * stiffness
            damping = frequency * damping
            rise = stiffness * (self._dt / STIFFNESS_RISE_TIME)
            self._set_gains(np.minimum(stiffness, self.stiffness + rise), damping)
        self._position = ahead[0]
        self._velocity = ahead[1]
        spring = self.stiffness * error
        damper = self.damping * rate
        self._feedback = spring + damper
        if self._distrusted.any():
            softer = self._softening(stiffness, inertia)
            spring = np.where(self._distrusted, softer**2 * stiffness * error, spring)
            damper = np.where(self._distrusted, softer * damping * rate, damper)
        self.error = error
        return spring, damper

    def _set_gains(self, stiffness: Array, damping: Array) -> None:
        """Set the gains (n,), but 0 for joints that are distrusted."""
        self.stiffness = np.where(self._distrusted, 0.0, stiffness)
        self.damping = np.where(self._distrusted, 0.0, damping)

    def _softening(self, stiffness: Array, inertia: Array) -> Array:
        """Return the factor (n,) of the natural frequency that feedback by efforts allows, at most 0.1 per period."""
        omega = np.sqrt(stiffness / np.maximum(inertia, SMALLEST_INERTIA))
        scaled = omega * self._period / LARGEST_SAMPLED_FREQUENCY
        return np.asarray(1.0 / np.maximum(scaled, 1.0))

    def rest(self) -> Array:
        """Set a set point at rest at the measured position, and return the torque (n,) of stiffness and damping."""
        self._position = self._q
        self._velocity = np.zeros(len(self._q))
        self._feedback = -self.damping * self._qd
        return self._feedback

    def release(self) -> None:
        """Let the drives make no more than the commanded effort.

        Gains are 0, but for drives that take a position only.
        """
        if not self._takes_position_only:
            self.stiffness = self.damping = np.zeros(len(self._q))
        self.rest()

    def command(self, effort: Array) -> tuple[Array, DriveCommand]:
        """Return the effort (n,) that the drives are expected to make, and their command, for the limited ``effort``.

        The former differs only where the set point of drives that take a position only would be beyond the position
        limits, and further out than the joint is.
        """
        tuning = self._arm.tuning
        limits = tuning.effort_limits
        feedforward = np.clip(effort - self._feedback, -limits, limits)
        position = self._position
        velocity = self._velocity
        if self._takes_position_only:
            robot = self._arm.robot
            shifted = (
                position + (feedforward + self.damping * velocity) / self.stiffness
            )
            position = np.clip(
                shifted,
                np.minimum(robot.position_lower, self._q),
                np.maximum(robot.position_upper, self._q),
            )
            effort = effort - self.stiffness * (shifted - position)
            effort = np.clip(effort, -limits, limits)
            velocity = feedforward = np.zeros(len(effort))
        return effort, DriveCommand(
            position, velocity, self.stiffness, self.damping, feedforward
        )
