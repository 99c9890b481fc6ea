"""Effort along a trajectory, for a joint_trajectory_controller that adds it as feedforward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory_points import joint_columns
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.model import RobotModel

Array = NDArray[np.float64]


def trajectory_effort(
    model: RobotModel,
    trajectory: Trajectory,
    joint_names: Sequence[str],
    friction_smoothing_velocity: float | None = None,
) -> Array:
    """Return the effort (m, k), in Nm or N, at the trajectory's m points for the k joints `joint_names`.

    It is what the law `feedforward` commands at these times: ID(q, qd, qdd), Craig (6.45)-(6.53), and the
    effort that the points had. With a `friction_smoothing_velocity` (rad/s or m/s), it makes up for friction
    as `RobotModel.friction_torque` does. The last point's effort holds the arm there, as a
    joint_trajectory_controller goes on with it; a streamed set point's belongs to its own motion.

    The trajectory is one of all the model's joints, in its order. Raises TrajectoryError for a name that is
    not among them, and where an effort is not finite.
    """
    q, qd, qdd, given = trajectory.at_points()
    trajectory.sample(trajectory.end_time, q[-1], qd[-1], qdd[-1], given[-1])  # what holds from there on
    effort = model.inverse_dynamics(q, qd, qdd) + given
    if friction_smoothing_velocity is not None:
        effort += model.friction_torque(q, qd, friction_smoothing_velocity)
    named = effort[:, joint_columns(joint_names, model.joint_names, allow_partial=True)]
    if not np.isfinite(named).all():
        i, j = np.argwhere(~np.isfinite(named))[0]
        raise TrajectoryError(
            f"the effort of joint '{joint_names[j]}' at point {i} comes out as {named[i, j]}; give smaller numbers"
        )
    return named
