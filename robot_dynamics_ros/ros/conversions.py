"""Conversions between ROS messages and arrays.

Units are those of the messages: rad or m, per s, per s^2, Nm or N, s.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.joint_messages import FIELDS, TrajectoryPoints
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.messages.joint_trajectory import write_trajectory


def message_class(kind: str) -> Any:
    """Return the class of a message type such as ``sensor_msgs/msg/JointState``; BagError if it is not installed."""
    package, _, name = kind.partition("/msg/")
    try:
        # a bag may contain any text
        if not (package.isidentifier() and name.isidentifier()):
            raise ImportError(kind)
        return getattr(import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError):
        cure = f"install {package}, or leave the topic out"
        raise BagError(f"message type {kind} is not installed. Cure: {cure}") from None


def nanoseconds(stamp: Time) -> int:
    """Return a stamp in nanoseconds since its epoch. A float would not resolve nanoseconds of the current date."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def stamp(nanoseconds: int) -> Time:
    """Return a time in ``nanoseconds`` as a message; the inverse of the function ``nanoseconds``."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def to_array(values: Array) -> array[float]:
    """Return float64 values (m,) as an ``array.array``, which rclpy assigns fastest to a float64[] field."""
    return array("d", values.tobytes())


def trajectory_point(
    motion: Iterable[Array | None], seconds: float = 0.0
) -> JointTrajectoryPoint:
    """Return a trajectory point from position, velocity, acceleration and effort, each (n,), in this order.

    ``motion`` may end early, and fields that are None stay empty; ``seconds`` is time_from_start.
    """
    point = JointTrajectoryPoint()
    for field, values in zip(FIELDS, motion, strict=False):
        if values is not None:
            setattr(point, field, to_array(values))
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(
        round(seconds * 1e9), 1_000_000_000
    )
    return point


def trajectory_message(points: TrajectoryPoints) -> JointTrajectory:
    """Return the points as a message with stamp 0, so that the trajectory starts when it is received."""
    message: JointTrajectory = deserialize_message(
        write_trajectory(0, points), JointTrajectory
    )
    return message
