"""Drives with a loop of their own: set points, gains and a feedforward effort for each cycle.

Such a drive makes stiffness (q_cmd - q) + damping (qd_cmd - qd) + tau_ff at its own rate, by its own encoder. The
feedback of law and hold is left to it. Nothing that is sent follows a measured state at once, as one wrong message of
states would otherwise be a jump of the drive's torque.

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
    DAMPING_RISE,
    HOLD_RISE_TIME,
    LARGEST_MAGNITUDE,
    LARGEST_SAMPLED_FREQUENCY,
    SMALLEST_INERTIA,
    STIFFNESS_RISE_TIME,
)
from robot_dynamics_ros.dynamics.kernels.types import Array


class Drives:
    """Set points and gains of the drives, and their feedback, in a cycle.

    A stiffness rises from 0, at most by its target in 0.5 s, as more stiffness under a deflection adds energy to the
    arm, and damping in 0.1 s. They fall at once. Drives that take a position only have constant gains of their own.

    Attributes
    ----------
    lead
        Time (s) by which the set points are ahead: half a period and the delay of commands.
    age
        Time (s) since the state was measured.
    stiffness, damping
        Gains (n,).
    feedback
        Torque (n,) that the gains make at the measured state.
    error
        Desired less measured position (n,), at the time of measurement.
    """

    def __init__(self, arm: ControlledArm) -> None:
        """Create the gains of the drives of ``arm``, at first 0."""
        self._arm = arm
        self._takes_position_only = arm.tuning.takes_position_only
        self._dt = self._passed = self._period = self.lead = self.age = 0.0
        n = arm.robot.n
        none = np.zeros(n)
        self._distrusted = np.zeros(n, dtype=np.bool_)
        self.stiffness = self.damping = self.feedback = self.error = none
        self._q = self._qd = none
        self._set_point: Array | None = None  # position, velocity, acceleration

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
        self._passed = instant.dt if instant.regular else instant.ramp_dt
        self._q, qd = estimate.state
        self._qd = qd if estimate.valid else np.zeros(len(qd))
        if self._takes_position_only:
            self.stiffness = np.full(len(qd), drives.stiffness)
            self.damping = np.full(len(qd), drives.damping)
        else:
            self._distrusted = distrusted
            # Limits may have changed, also where nothing is followed.
            self._set_gains(
                np.minimum(self.stiffness, drives.stiffness_limit),
                np.minimum(self.damping, drives.damping_limit),
            )

    def follow(
        self,
        ahead: Array,
        gains: Gains,
        inertia: Array,
        error: Array,
        rate: Array,
        frequency: Array | float = 1.0,
    ) -> Array:
        """Set a moving set point, and return the part (n,) of the effort that replaces feedback of distrusted drives.

        Parameters
        ----------
        ahead
            Desired motion by ``MotionPlan.ahead``: position, velocity, acceleration.
        gains
            Gains of the law.
        inertia
            Diagonal of M(q) (n,), kg m^2 or kg.
        error, rate
            Desired less measured position and velocity, each (n,), at the time of measurement.
        frequency
            Factor of the natural frequency of the feedback, 0 to 1, one number or (n,).
        """
        self.error = error
        replacement = np.zeros(len(error))
        if not self._takes_position_only:
            stiffness, damping = self._arm.tuning.drive_gains(gains, inertia)
            stiffness = frequency**2 * stiffness
            damping = frequency * damping
            if self._distrusted.any():
                softer = self._softening(stiffness, damping, inertia)
                torque = softer**2 * stiffness * error + softer * damping * rate
                replacement = np.where(self._distrusted, torque, 0.0)
            rise = self._dt / STIFFNESS_RISE_TIME
            self._set_gains(
                np.minimum(stiffness, self.stiffness + rise * stiffness),
                np.minimum(damping, self.damping + DAMPING_RISE * rise * damping),
            )
        position, velocity, _ = self._move(ahead[:3]) - ahead[:3]
        self.feedback = self.stiffness * (error + position)
        self.feedback += self.damping * (rate + velocity)
        return replacement

    def _set_gains(self, stiffness: Array, damping: Array) -> None:
        """Set the gains (n,), but 0 for joints that are distrusted."""
        self.stiffness = np.where(self._distrusted, 0.0, stiffness)
        self.damping = np.where(self._distrusted, 0.0, damping)

    def _softening(self, stiffness: Array, damping: Array, inertia: Array) -> Array:
        """Return the factor (n,) of the natural frequency that feedback by efforts allows, at most 0.1 per period.

        So is half of damping / inertia, which is the natural frequency at critical damping.
        """
        inertia = np.maximum(inertia, SMALLEST_INERTIA)
        rate = np.maximum(np.sqrt(stiffness / inertia), 0.5 * damping / inertia)
        scaled = rate * self._period / LARGEST_SAMPLED_FREQUENCY
        return np.asarray(1.0 / np.maximum(scaled, 1.0))

    def _move(self, goal: Array) -> Array:
        """Set position, velocity and acceleration (3, n) of the set point, and return them.

        Where ``goal`` does not continue the last set point, it is approached: the feedback changes by it at most at the
        rate of the effort limit in 0.1 s.
        """
        last = self._set_point
        if last is None:
            self._set_point = goal
            return goal
        passed = self._passed
        velocity = last[1] + passed * last[2]
        position = last[0] + passed * last[1] + 0.5 * passed**2 * last[2]
        limits = np.minimum(self._arm.tuning.effort_limits, LARGEST_MAGNITUDE)
        change = limits * (self._dt / HOLD_RISE_TIME)
        self._set_point = np.array(
            (
                position + _clipped(goal[0] - position, change, self.stiffness),
                velocity + _clipped(goal[1] - velocity, change, self.damping),
                goal[2],
            )
        )
        return self._set_point

    def rest(self, measured: bool = False) -> None:
        """Set the set point at rest where it is, or at the ``measured`` position, at once.

        A last command must not leave a velocity to drives.
        """
        q = self._q
        if self._set_point is not None and not measured:
            q = self._set_point[0]
        still = np.zeros(len(q))
        self._set_point = np.array((q, still, still))
        self.feedback = self.stiffness * (q - self._q) - self.damping * self._qd

    def release(self) -> None:
        """Let the drives make no more than the commanded effort.

        Gains are 0, but for drives that take a position only: their set point is the measured position.
        """
        if not self._takes_position_only:
            self.stiffness = self.damping = np.zeros(len(self._q))
        self.rest(measured=True)

    def within_limits(self, feedforward: Array) -> Array:
        """Return ``feedforward`` (n,) less what the effort of the drives would exceed the effort limits by."""
        effort = feedforward + self.feedback
        limits = self._arm.tuning.effort_limits
        return feedforward + (np.clip(effort, -limits, limits) - effort)

    def command(self, feedforward: Array) -> tuple[Array, DriveCommand]:
        """Return the effort (n,) that the drives are expected to make, and their command, for the ``feedforward``."""
        effort = feedforward + self.feedback
        assert self._set_point is not None
        position, velocity, _ = self._set_point
        if self._takes_position_only:
            robot = self._arm.robot
            shift = (feedforward + self.damping * velocity) / self.stiffness
            shifted = position + shift
            position = np.clip(
                shifted,
                np.minimum(robot.position_lower, self._q),
                np.maximum(robot.position_upper, self._q),
            )
            effort = effort - self.stiffness * (shifted - position)
            velocity = feedforward = np.zeros(len(effort))
        limits = self._arm.tuning.effort_limits
        return np.clip(effort, -limits, limits), DriveCommand(
            position, velocity, self.stiffness, self.damping, feedforward
        )


def _clipped(step: Array, change: Array, gain: Array) -> Array:
    """Return ``step`` (n,), whose magnitude times ``gain`` (n,) is at most ``change`` (n,)."""
    most = np.divide(change, gain, out=np.full_like(gain, np.inf), where=gain > 0.0)
    return np.clip(step, -most, most)
