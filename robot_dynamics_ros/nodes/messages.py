"""Between messages and arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.errors import RobotDynamicsError

Array = NDArray[np.float64]


def nanoseconds(stamp: Time) -> int:
    """Return a stamp as one integer: floats would lose the last digits of today's dates."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp(nanoseconds: int) -> Time:
    """Return the message of a time in nanoseconds."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def to_array(values: Array) -> array[float]:
    """Return what rclpy assigns fastest to a float64[] field."""
    return array("d", values.tobytes())


def joint_state(at: Time, names: Sequence[str], position: Array, velocity: Array, effort: Array) -> JointState:
    """Return a JointState of one stamp."""
    message = JointState()
    message.header.stamp = at
    message.name = list(names)
    message.position = to_array(position)
    message.velocity = to_array(velocity)
    message.effort = to_array(effort)
    return message


class JointStateReader:
    """Finds the robot's joints in JointState messages; remembers the order in which they come."""

    def __init__(self, joint_names: Sequence[str]) -> None:
        self._joint_names = tuple(joint_names)
        self._order: list[str] | None = None
        self._places: list[int] = []

    def read(self, message: JointState) -> tuple[Array, Array] | None:
        """Return position and velocity (n,), or None where the message is not about these joints.

        Raises RobotDynamicsError naming the joint for messages that lack some of the joints, lack positions
        or velocities, or hold numbers that are not finite.
        """
        names = message.name
        if names != self._order:
            index = {name: i for i, name in enumerate(names)}
            missing = [name for name in self._joint_names if name not in index]
            if len(missing) == len(self._joint_names):
                return None
            if missing:
                raise RobotDynamicsError(
                    f"joint_states: joints {missing} are missing. Cure: publish all in one message"
                )
            self._places = [index[name] for name in self._joint_names]
            self._order = list(names)
        return self._pick("position", message.position), self._pick("velocity", message.velocity)

    def _pick(self, field: str, values: Sequence[float]) -> Array:
        if self._order is None or len(values) != len(self._order):
            raise RobotDynamicsError(
                f"joint_states: {len(values)} numbers in {field} for {len(self._order or ())} names. "
                "Cure: publish one for each joint"
            )
        picked = np.array(values, dtype=np.float64)[self._places]
        if not np.isfinite(picked).all():
            name = self._joint_names[int(np.argmin(np.isfinite(picked)))]
            raise RobotDynamicsError(f'joint_states: {field} of joint "{name}" is not finite. Cure: check its driver')
        return picked


def trajectory_points(message: JointTrajectory) -> TrajectoryPoints:
    """Return a message's points; TrajectoryError where their sizes do not fit."""
    return TrajectoryPoints.from_rows(
        message.joint_names,
        [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points],
        [p.positions for p in message.points],
        [p.velocities for p in message.points],
        [p.accelerations for p in message.points],
        [p.effort for p in message.points],
    )


def trajectory_message(points: TrajectoryPoints) -> JointTrajectory:
    """Return the message of points, with stamp 0: it starts when it arrives."""
    message = JointTrajectory()
    message.joint_names = list(points.joint_names)
    for i, seconds in enumerate(points.times):
        point = JointTrajectoryPoint()
        whole = round(float(seconds) * 1e9)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(whole, 1_000_000_000)
        point.positions = to_array(points.positions[i])
        for field in ("velocities", "accelerations", "effort"):
            table = getattr(points, field)
            if table is not None:
                setattr(point, field, to_array(table[i]))
        message.points.append(point)
    return message
