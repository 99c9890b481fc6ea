"""Invalid messages, a few hundred for each type: random bytes, and well-formed messages with invalid content.

Well-formed messages must not be valid commands, because a receiver has to execute valid commands from any sender.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from geometry_msgs.msg import AccelStamped, InertiaStamped, PoseStamped, TwistStamped, WrenchStamped
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

LITTLE_ENDIAN = b"\x00\x01\x00\x00"
NUMBERS = (math.nan, math.inf, -math.inf, 1e300, -1e300)
TEXTS = ("", "world", "no such thing", "\u00fc" * 50, "../../etc", "x" * 5000)
COUNT = 100  # well-formed messages, and the same number of random ones


def pool(kind: Any, names: Sequence[str], seed: int = 0) -> list[bytes]:
    """Return messages of a type for a robot with these joints: half random bytes, half well-formed."""
    chance = random.Random(seed)
    absurd = [serialize_message(_ABSURD[kind](chance, names)) for _ in range(COUNT)]
    noise = [LITTLE_ENDIAN + chance.randbytes(chance.choice((12, 60, 300))) for _ in range(COUNT // 2)]
    cut = [data[: chance.randrange(4, len(data))] for data in absurd[: COUNT // 2] if len(data) > 5]
    messages = [*absurd, *noise, *cut]
    chance.shuffle(messages)
    return messages


def _states(chance: random.Random, names: Sequence[str]) -> JointState:
    """Return states with a position that is not finite, too few positions, or joints of another robot."""
    message, sort = JointState(), chance.randrange(4)
    message.header.stamp.sec = chance.choice((0, -1, 2**31 - 1))
    message.name = ["joint"] if sort == 0 else list(names)
    count = len(names) + chance.randrange(1, 200) if sort == 1 else len(message.name)
    message.position = [chance.uniform(-1.0, 1.0) for _ in range(count)]
    if sort >= 2 and count:
        message.position[chance.randrange(count)] = chance.choice(NUMBERS)
    return message


def _trajectory(chance: random.Random, names: Sequence[str]) -> JointTrajectory:
    """Return trajectories with values that are not finite, decreasing times, other joints, or no points."""
    message, sort = JointTrajectory(), chance.randrange(4)
    message.joint_names = ["joint"] * 3 if sort == 0 else list(names)
    for seconds in () if sort == 1 else (2, 1):
        point = JointTrajectoryPoint()
        point.positions = [chance.choice(NUMBERS) if sort == 2 else 0.5 for _ in message.joint_names]
        point.time_from_start.sec = seconds
        message.points.append(point)
    return message


def _speed(chance: random.Random, names: Sequence[str]) -> Float64:
    return Float64(data=chance.choice((*NUMBERS, -0.1, 1.1)))


def _payload(chance: random.Random, names: Sequence[str]) -> InertiaStamped:
    """Return payloads with an invalid mass or inertia, on a link that the robot does not have."""
    message = InertiaStamped()
    message.header.frame_id = chance.choice((*TEXTS, "panda_link7"))
    message.inertia.m = chance.choice((*NUMBERS[:3], -1.0))
    message.inertia.com.x = chance.choice(NUMBERS)
    message.inertia.ixx = -1.0
    return message


def _target(kind: Any) -> Callable[[random.Random, Sequence[str]], Any]:
    def make(chance: random.Random, names: Sequence[str]) -> Any:
        message = kind()
        message.header.frame_id = chance.choice(TEXTS)
        part = message.pose.position if kind is PoseStamped else None
        part = part or (message.twist.linear if kind is TwistStamped else message.accel.linear)
        part.x = chance.choice(NUMBERS)
        return message

    return make


def _efforts(chance: random.Random, names: Sequence[str]) -> Float64MultiArray:
    """Return efforts with too many or too few values, or one that is not finite."""
    count = chance.choice((0, 1, len(names) - 1, len(names), len(names) + 1, 1000))
    data = [chance.uniform(-1.0, 1.0) for _ in range(count)]
    if count == len(names):
        data[chance.randrange(count)] = chance.choice(NUMBERS[:3])
    return Float64MultiArray(data=data)


def _wrench(chance: random.Random, names: Sequence[str]) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = chance.choice((*TEXTS, "panda_link7"))
    message.wrench.force.x = chance.choice(NUMBERS[:3])
    return message


def _time(chance: random.Random, names: Sequence[str]) -> Clock:
    """Return a time before 1970, or its wrapped value."""
    message = Clock()
    message.clock.sec, message.clock.nanosec = -chance.randrange(1, 2**31), chance.randrange(2**32)
    return message


def _text(chance: random.Random, names: Sequence[str]) -> String:
    return String(
        data=chance.choice((*TEXTS, "<robot name='x'/>", "<robot><link", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"))
    )


_ABSURD: dict[Any, Callable[[random.Random, Sequence[str]], Any]] = {
    Clock: _time,
    JointState: _states,
    JointTrajectory: _trajectory,
    Float64: _speed,
    InertiaStamped: _payload,
    PoseStamped: _target(PoseStamped),
    TwistStamped: _target(TwistStamped),
    AccelStamped: _target(AccelStamped),
    Float64MultiArray: _efforts,
    WrenchStamped: _wrench,
    String: _text,
}
