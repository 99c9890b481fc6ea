"""What the world exerts on the joints, as far as it can be told, and when that is a collision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.faults import Cause, Fault
from robot_dynamics_ros.control.feedback import Feedback
from robot_dynamics_ros.control.momentum_observer import MomentumObserver
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


class ExternalTorque:
    """The observed torque, and the check of it; nothing at all where the gain is zero.

    Attributes
    ----------
    torque
        External torque (n,), Nm or N; None while nothing is known.
    """

    def __init__(self, gain: float, friction_smoothing_velocity: float) -> None:
        """``gain`` (1/s) and ``friction_smoothing_velocity`` (rad/s or m/s) as MomentumObserver; 0: no observer."""
        self._observer = MomentumObserver(gain, friction_smoothing_velocity) if gain > 0.0 else None
        self.torque: Array | None = None

    def observe(self, model: RobotModel, feedback: Feedback, effort: Array) -> None:
        """Take in a good state, reached under ``effort`` (n,)."""
        if self._observer is not None and feedback.settled:
            q, speed = feedback.state[0], feedback.unfiltered  # a filter's lag would show as torque
            self.torque = self._observer.update(model, feedback.stamp, q, speed, effort)

    def forget(self) -> None:
        """Start anew after a gap: nobody knows what happened in it."""
        if self._observer is not None:
            self._observer.reset()
            self.torque = None

    def collision(self, joint_names: Sequence[str], threshold: Array) -> Fault | None:
        """Return a fault where the torque exceeds the ``threshold`` (n,) of a joint."""
        if self.torque is None:
            return None
        over = np.abs(self.torque) > threshold
        if not over.any():
            return None
        j = int(np.argmax(over))
        name, value = joint_names[j], float(self.torque[j])
        return Fault(
            Cause.COLLISION,
            f'joint "{name}": external torque {value:.6g}, over observer.collision_threshold {threshold[j]:g}. '
            "Cure: see what the arm has hit",
            name,
            value,
        )
