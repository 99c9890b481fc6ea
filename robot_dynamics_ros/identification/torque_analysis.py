"""Measured joint torque against the model's, split into inertia, velocity, gravity and friction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.identification.motion import RecordedMotion
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


@dataclass(frozen=True, eq=False)
class TorqueAnalysis:
    """What the model says of a motion, and what was measured: torques (m, n) in Nm or N.

    Attributes
    ----------
    motion
        The motion, with the measured torque ``motion.tau``.
    inertia, velocity, gravity, friction
        The model's parts: M(q) qdd, V(q, qd) = C(q, qd) qd, G(q) of Craig (6.59), rotors included, and F(q, qd).
    """

    motion: RecordedMotion
    inertia: Array
    velocity: Array
    gravity: Array
    friction: Array

    @property
    def model(self) -> Array:
        """The model's torque (m, n): the sum of its parts."""
        return self.inertia + self.velocity + self.gravity + self.friction

    @property
    def residual(self) -> Array:
        """Measured less the model's torque (m, n)."""
        return self.motion.tau - self.model

    @property
    def rms(self) -> Array:
        """Root mean square of the residual (n,)."""
        return root_mean_square(self.residual)

    @property
    def bias(self) -> Array:
        """Mean of the residual (n,)."""
        bias: Array = self.residual.mean(axis=0)
        return bias

    @property
    def explained(self) -> Array:
        """Share of the measured variance that the model explains (n,): 1 - var(residual) / var(tau).

        1 at best, below 0 where the model is worse than the mean; NaN where the measured torque is constant.
        """
        measured: Array = self.motion.tau.var(axis=0)
        left: Array = self.residual.var(axis=0)
        share: Array = np.full(len(measured), np.nan)
        np.divide(left, measured, out=share, where=measured > 0.0)
        return 1.0 - share


def analyse_torque(model: RobotModel, motion: RecordedMotion) -> TorqueAnalysis:
    """Return the model's torque along a recorded motion, part by part.

    Inverse dynamics by recursive Newton-Euler, all samples at once. Raises BagError where the motion's joints
    are not the model's, in its order.
    """
    if motion.joint_names != model.joint_names:
        raise BagError(
            f"the recording has the joints {', '.join(motion.joint_names)}, the model {', '.join(model.joint_names)}. "
            "Cure: rename or reorder the recording's, or lock the others in the model"
        )
    q, qd, qdd = motion.q, motion.qd, motion.qdd
    gravity = model.gravity_torque(q)
    bias = model.bias_torque(q, qd)
    inertia = model.inverse_dynamics(q, qd, qdd)
    inertia -= bias
    bias -= gravity
    return TorqueAnalysis(motion, inertia, bias, gravity, model.friction_torque(q, qd))


def root_mean_square(values: Array) -> Array:
    """Return the root of the mean square of each column: (m, n) to (n,)."""
    mean: Array = np.sqrt(np.einsum("ij,ij->j", values, values) / len(values))
    return mean
