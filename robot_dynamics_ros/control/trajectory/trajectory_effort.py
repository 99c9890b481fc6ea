"""Feedforward effort along a trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.control.thresholds import JOINING_TIME, MOST_EFFORT_POINTS
from robot_dynamics_ros.control.trajectory.points import joint_columns
from robot_dynamics_ros.control.trajectory.trajectory import Trajectory
from robot_dynamics_ros.dynamics.model import RobotModel


def trajectory_effort(
    model: RobotModel,
    trajectory: Trajectory,
    joint_names: Sequence[str],
    period: float,
    friction_smoothing_velocity: float | None = None,
) -> Iterator[TrajectoryPoints | None]:
    """Yield None after the computation of each block of points, and then the trajectory with feedforward effort.

    The points are the remaining ones and up to 1,000 interpolated ones, because controllers interpolate effort
    linearly. None is interpolated in the first 0.15 s, in which the controller joins the motion. Velocities and
    accelerations are included if the trajectory is interpolated by them, so that the motion is the same. The effort (Nm
    or N) is the inverse dynamics, Craig (6.45)-(6.53), plus that of the original points. The effort of the last point
    is for rest there; that of a streamed set point is for its own velocity and acceleration.

    Parameters
    ----------
    model
        Robot model, without gravity if the robot compensates for it.
    trajectory
        Trajectory of all joints of ``model``, in its order.
    joint_names
        Names of the k joints to include.
    period
        Longest time (s) between later points, positive, unless more than 1,000 interpolated points were needed.
    friction_smoothing_velocity
        Speed (rad/s or m/s) below which the friction torque that is added is proportional to velocity; None: no
        friction.

    Raises
    ------
    TrajectoryError
        For an unknown joint name, and an effort that is not finite.
    """
    columns = joint_columns(joint_names, model.joint_names, allow_partial=True)
    blocks = []
    longest = max(period, trajectory.duration / MOST_EFFORT_POINTS)
    for times, motion in trajectory.resampled(longest, JOINING_TIME):
        given = motion[:, :, columns]
        if times[-1] == trajectory.duration:
            # The last point is the state that is held after the end.
            trajectory.sample_rows(trajectory.end_time, motion[-1])
        q, qd, qdd, extra = np.ascontiguousarray(motion.swapaxes(0, 1))
        effort = model.inverse_dynamics(q, qd, qdd) + extra
        if friction_smoothing_velocity is not None:
            effort += model.friction_torque(q, qd, friction_smoothing_velocity, qdd=qdd)
        given[:, 3] = effort[:, columns]
        for i, j in np.argwhere(~np.isfinite(given[:, 3])).tolist():
            raise TrajectoryError(
                f"the effort of joint '{joint_names[j]}' at {times[i]:g} s is {given[i, 3, j]}. "
                "Cure: use smaller positions, velocities and accelerations"
            )
        blocks.append((times, given))
        yield None
    times, motion = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    positions, velocities, accelerations, effort = motion.swapaxes(0, 1)
    yield TrajectoryPoints(
        tuple(joint_names),
        times,
        # In the turns of the original points
        positions - trajectory.shift[columns],
        velocities if trajectory.degree >= 3 else None,
        accelerations if trajectory.degree == 5 else None,
        effort,
    )
