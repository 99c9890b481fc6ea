"""Effort along a trajectory, for a joint_trajectory_controller that adds it as feedforward."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from robot_dynamics_ros.control.trajectory import Trajectory
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints, joint_columns
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.model import RobotModel

_MOST_ADDED = 1000  # a limit on what a node has to compute beside its cycles


def joined(slices: Sequence[TrajectoryPoints]) -> TrajectoryPoints:
    """Return the points of all slices, which have the same fields."""
    first = slices[0]
    given = [name for name, value in vars(first).items() if isinstance(value, np.ndarray)]
    tables: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in slices]) for name in given}
    return replace(first, **tables)


def trajectory_effort(
    model: RobotModel,
    trajectory: Trajectory,
    joint_names: Sequence[str],
    period: float,
    friction_smoothing_velocity: float | None = None,
) -> Iterator[TrajectoryPoints]:
    """Yield the trajectory, some at a time, as points at most `period` (s) apart with effort (Nm or N) of some joints.

    They are the points still to come and, as controllers interpolate effort linearly, more between them: at most
    1,000, as far apart as that takes. Interpolated like the trajectory, they are the same motion: velocities and
    accelerations are there where they take part in that. The effort is what the law `feedforward` commands:
    ID(q, qd, qdd), Craig (6.45)-(6.53), and the effort that the points had. With a `friction_smoothing_velocity`
    (rad/s or m/s), it makes up for friction as `RobotModel.friction_torque` does. The last point's effort
    holds the arm there, as a joint_trajectory_controller goes on with it; a streamed set point's belongs to
    its own motion.

    The trajectory is one of all the model's joints, in its order. Raises TrajectoryError for a name that is
    not among them, and where an effort is not finite.
    """
    if not period > 0.0:
        raise TrajectoryError(f"period is {period}; give a positive number of seconds")
    columns = joint_columns(joint_names, model.joint_names, allow_partial=True)
    for times, motion in trajectory.resampled(max(period, trajectory.duration / _MOST_ADDED)):
        positions, velocities, accelerations = (motion[:, i, columns] for i in range(3))
        positions -= trajectory.shift[columns]  # whoever follows them may have turned differently
        if times[-1] == trajectory.duration:
            trajectory.sample_rows(trajectory.end_time, motion[-1])  # what holds from there on
        q, qd, qdd, given = (np.ascontiguousarray(motion[:, i]) for i in range(4))
        effort = model.inverse_dynamics(q, qd, qdd) + given
        if friction_smoothing_velocity is not None:
            effort += model.friction_torque(q, qd, friction_smoothing_velocity)
        named = effort[:, columns]
        if not np.isfinite(named).all():
            i, j = np.argwhere(~np.isfinite(named))[0]
            raise TrajectoryError(
                f"the effort of joint '{joint_names[j]}' at {times[i]:g} s comes out as {named[i, j]}; "
                "give smaller numbers"
            )
        yield TrajectoryPoints(
            tuple(joint_names),
            times,
            positions,
            velocities if trajectory.degree >= 3 else None,
            accelerations if trajectory.degree == 5 else None,
            named,
        )
