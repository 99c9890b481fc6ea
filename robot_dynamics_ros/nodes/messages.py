"""The Python class of a message type that is known by name only."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.trajectory.points import TrajectoryPoints
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import Array


def message_class(kind: str) -> Any:
    """Return the class of ``sensor_msgs/msg/JointState`` and the like; BagError where its package is not there."""
    package, _, name = kind.partition("/msg/")
    try:
        if not (package.isidentifier() and name.isidentifier()):  # a bag may say anything
            raise ImportError(kind)
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        cure = f"install {package}, or leave the topic out"
        raise BagError(f"message type {kind}: not installed here. Cure: {cure}") from None


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


def trajectory_point(motion: Iterable[Array], seconds: float = 0.0) -> JointTrajectoryPoint:
    """Return a point of position, velocity and acceleration (n,), or the first of them, and time_from_start (s)."""
    point = JointTrajectoryPoint()
    for field, values in zip(("positions", "velocities", "accelerations"), motion, strict=False):
        setattr(point, field, to_array(values))
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(seconds * 1e9), 1_000_000_000)
    return point


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
