"""Targets of the end effector: PoseStamped, TwistStamped and AccelStamped messages as bytes (see cdr)."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER, CdrReader, padding

POSE, TWIST, ACCELERATION = "target_pose", "target_twist", "target_acceleration"
TARGETS = {
    POSE: "geometry_msgs/msg/PoseStamped",
    TWIST: "geometry_msgs/msg/TwistStamped",
    ACCELERATION: "geometry_msgs/msg/AccelStamped",
}
"""The topics, and their types."""


class EndEffectorTarget(NamedTuple):
    """header.stamp (ns), header.frame_id, and the numbers as the message has them.

    A pose: position, quaternion x y z w (7,); else linear, angular (6,).
    """

    stamp: int
    frame: str
    numbers: Array


def read_target(topic: str, data: bytes) -> EndEffectorTarget:
    """Read a message of one of TARGETS; RobotDynamicsError for bytes that are no whole one."""
    order = BYTE_ORDERS.get(data[:2])
    if order is None:
        raise RobotDynamicsError(f"the message begins with {data[:HEADER]!r}. Cure: send it in plain CDR, as ROS does")
    reader = CdrReader(order, memoryview(data)[HEADER:])
    try:
        stamp, frame = reader.stamp(), reader.text()
        count = 7 if topic == POSE else 6
        numbers = struct.unpack_from(f"{order}{count}d", reader.body, reader.at + padding(reader.at, 8))
    except (struct.error, ValueError) as error:
        raise RobotDynamicsError(
            f"the message ends too early, after {len(data)} bytes. Cure: send a whole {TARGETS[topic]}"
        ) from error
    return EndEffectorTarget(stamp, frame, np.array(numbers))
