"""The hand under ``task_space_computed_torque``: what it keeps from one cycle to the next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.hand_targets import HandTargets
from robot_dynamics_ros.control.hand_tuning import HandTuning
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.task_space import TaskTorque, task_space_computed_torque
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


class HandState(NamedTuple):
    """How well the hand follows: errors (m, rad) in what it follows, and as ``TaskTorque``."""

    position_error: float
    rotation_error: float
    smallest_singular_value: float
    damped: bool


class HandControl:
    """Leads the hand along its targets; until the first one it stays where it is.

    Attributes
    ----------
    targets
        Where it is to be.
    state
        How well it followed in the last cycle; None where there was none.
    """

    def __init__(self) -> None:
        self.targets = HandTargets()
        self.state: HandState | None = None
        self._begin: Array | None = None

    def begin(self, q: Array) -> None:
        """Hold the hand where it is with the joints at q (n,), unless a target comes first."""
        self._begin = q.copy()

    def hold(self) -> None:
        """Forget every target; the hand stays where the next cycle finds it."""
        self.targets.clear()
        self.state = self._begin = None

    def torque(
        self, model: RobotModel, tuning: HandTuning, time: float, q: Array, qd: Array, posture: Motion, most: Array
    ) -> TaskTorque:
        """Return the law's torque at ``time`` (s) for a measured state (n,); ``most``: its ``joint_velocities``."""
        if self.targets.none_has_begun:
            self.targets.hold(model.link_pose(q if self._begin is None else self._begin, tuning.link))
        desired = self.targets.at(time)
        found = task_space_computed_torque(model, tuning.gains, tuning.link, desired, q, qd, tuning.rows, posture, most)
        position, rotation = np.linalg.norm(found.error.reshape(2, 3), axis=1).tolist()
        self.state = HandState(position, rotation, found.smallest_singular_value, found.damped)
        return found
