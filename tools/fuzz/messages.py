"""Serialized states, trajectories, targets, payloads and speeds: valid with implausible content, and damaged."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, TaskSpaceSettings
from robot_dynamics_ros.recordings.messages.inputs import TARGETS
from tools.fuzz.driven import Driven, overflow_is_looked_at
from tools.fuzz.nasty import TEXTS, damaged

TYPES: Any = get_typestore(Stores.LATEST)
STATE, TRAJECTORY, TEXT = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory", "std_msgs/msg/String"
_KINDS = {b"s": STATE, b"t": TRAJECTORY}
_TARGETS = {b"p": "target_pose", b"w": "target_twist", b"a": "target_acceleration"}
_HEAD = struct.Struct("<cII")  # kind, milliseconds since the one before, bytes
_PAYLOAD = struct.Struct("<10d")  # mass, centre of mass, inertia; the name of the link follows
_BEGIN = 1_700_000_000
_MOST = 40  # messages of an input


def made(rng: random.Random, joints: tuple[str, ...]) -> bytes:
    """Return a sequence of messages for a controller: kind, milliseconds since the previous one, bytes."""
    parts = []
    law = rng.choice(sorted(LAWS))
    at = 0
    for _ in range(rng.randrange(3, _MOST)):
        pause = rng.choice((1, 1, 1, 1, 2, 50, 2000))
        at += pause
        kind, data = _message(rng, joints, at, law)
        if rng.random() < 0.2:
            data = damaged(rng, data)
        parts.append(_HEAD.pack(kind, pause, len(data)) + data)
    return law.encode().ljust(32) + b"".join(parts)


def play(model: RobotModel, data: bytes) -> int:
    """Pass the messages of an input to a controller; return their number."""
    law, at, count = data[:32].decode(errors="replace").strip(), 32, 0
    settings = ControllerSettings(
        law=law if law in LAWS else "computed_torque",
        observer_gain=20.0,
        safety=SafetySettings(activation_max_velocity=math.inf),
        task_space=TaskSpaceSettings(components="x y"),
    )
    driven = Driven(model, settings)
    while at + _HEAD.size <= len(data):
        kind, pause, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        driven.at += min(pause, 10_000) * 1_000_000
        with overflow_is_looked_at():
            driven.watch()
            _give(driven, kind, data[at : at + length])
        at += length
        count += 1
    return count


def _give(driven: Driven, kind: bytes, data: bytes) -> None:
    """Process a message as the node does."""
    if kind in (b"l", b"v"):
        numbers = [number for (number,) in struct.iter_unpack("<d", data[: len(data) // 8 * 8])]
        if kind == b"v" and numbers:
            driven.session.on_speed(numbers[0])
        elif len(numbers) >= 10:
            link = data[_PAYLOAD.size :].decode(errors="replace")
            driven.session.on_payload(link, numbers[0], numbers[1:4], numbers[4:10])
    else:
        driven.receive(_TARGETS.get(kind) or ("joint_trajectory" if kind == b"t" else "joint_states"), data)


def _message(rng: random.Random, joints: tuple[str, ...], at: int, law: str) -> tuple[bytes, bytes]:
    if rng.random() < (0.4 if LAWS[law].task_space else 0.03):
        kind = rng.choice(list(_TARGETS))
        return kind, bytes(TYPES.serialize_cdr(_target(rng, _TARGETS[kind], at), TARGETS[_TARGETS[kind]]))
    if rng.random() < 0.04:
        return b"v", struct.pack("<d", rng.choice((0.0, 0.5, 1.0, 1.0, _number(rng), -1.0, 5e-324)))
    if rng.random() < 0.04:
        return b"l", _payload(rng)
    kind = b"t" if rng.random() < 0.25 else b"s"
    content = _trajectory(rng, joints, at) if kind == b"t" else _state(rng, joints, at)
    return kind, bytes(TYPES.serialize_cdr(content, _KINDS[kind]))


def _payload(rng: random.Random) -> bytes:
    scale = 10.0 ** rng.choice((0, 0, 0, -300, -9, 9, 150, 300))
    numbers = [abs(_number(rng)), *(0.1 * _number(rng) for _ in range(3)), 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    if rng.random() < 0.2:
        numbers[rng.randrange(10)] = _number(rng)
    link = rng.choice(("link2", "link1", "tool", "base_link", "", "x"))
    return _PAYLOAD.pack(*(scale * number for number in numbers)) + link.encode()


def _target(rng: random.Random, topic: str, at: int) -> Any:
    types, header = TYPES.types, _header(rng, at)
    header.frame_id = rng.choice(("", "", "", "base_link", "tool", "map"))
    if topic == "target_pose":
        turn = np.array([rng.gauss(0, 1) for _ in range(4)])
        turn = turn / np.linalg.norm(turn) if rng.random() < 0.9 else turn
        point = types["geometry_msgs/msg/Point"](*(_number(rng) for _ in range(3)))
        pose = types["geometry_msgs/msg/Pose"](point, types["geometry_msgs/msg/Quaternion"](*turn.tolist()))
        return types[TARGETS["target_pose"]](header, pose)
    inner = types["geometry_msgs/msg/Twist" if topic == "target_twist" else "geometry_msgs/msg/Accel"]
    parts = [types["geometry_msgs/msg/Vector3"](*(_number(rng) for _ in range(3))) for _ in range(2)]
    return types[TARGETS[topic]](header, inner(*parts))


def _number(rng: random.Random) -> float:
    return rng.choice((math.nan, math.inf, 1e9, 1e10, 1e300)) if rng.random() < 0.05 else rng.uniform(-1.0, 1.0)


def _header(rng: random.Random, at: int) -> Any:
    types = TYPES.types
    if rng.random() < 0.05:
        sec, nanosec = rng.choice((-(2**31), 2**31 - 1, 0, _BEGIN)), rng.choice((0, 2**32 - 1, 10**9))
    else:
        sec, nanosec = _BEGIN + at // 1000, at % 1000 * 1_000_000
    time = types["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec)
    return types["std_msgs/msg/Header"](time, rng.choice(TEXTS[:6]))


def _row(rng: random.Random, size: int) -> Any:
    if rng.random() < 0.06:
        size = rng.choice((0, 1, size + 1, 100))
    row = np.array([rng.uniform(-1.0, 1.0) for _ in range(size)])
    if size and rng.random() < 0.06:
        row[rng.randrange(size)] = rng.choice((math.nan, math.inf, -math.inf, 1e308, -1e200, 1e20, 5e-324, 1e6))
    return row


def _names(rng: random.Random, joints: tuple[str, ...]) -> list[str]:
    names = list(joints)
    if rng.random() < 0.2:
        rng.shuffle(names)
    if rng.random() < 0.06:
        names[rng.randrange(len(names))] = rng.choice((*TEXTS[:8], *joints))
    if rng.random() < 0.05:
        names.append(rng.choice(("gripper", *joints)))
    return names


def _state(rng: random.Random, joints: tuple[str, ...], at: int) -> Any:
    names = _names(rng, joints)
    n = len(names)
    optional = [_row(rng, n) if rng.random() < 0.8 else np.zeros(0) for _ in range(2)]
    return TYPES.types[STATE](_header(rng, at), names, _row(rng, n), *optional)


def _trajectory(rng: random.Random, joints: tuple[str, ...], at: int) -> Any:
    types = TYPES.types
    names = _names(rng, joints)
    n = len(names)
    header = _header(rng, at + rng.choice((0, 0, -500, 500)))
    if rng.random() < 0.6:
        header.stamp.sec = header.stamp.nanosec = 0
    points, now = [], 0
    present = [rng.random() < share for share in (0.97, 0.6, 0.4, 0.2)]
    for _ in range(rng.choice((0, 1, 1, 2, 3, 3, 10))):
        now += rng.choice((-10, 0, 1, 100, 500, 1000, 10**12)) if rng.random() < 0.1 else rng.randrange(1, 1500)
        sec = max(-(2**31), min(2**31 - 1, now // 1000))
        duration = types["builtin_interfaces/msg/Duration"](sec=sec, nanosec=now % 1000 * 1_000_000)
        rows = [_row(rng, n) if there else np.zeros(0) for there in present]
        points.append(types["trajectory_msgs/msg/JointTrajectoryPoint"](*rows, duration))
    return types[TRAJECTORY](header, names, points)


def recording(count: int) -> list[tuple[str, int, bytes]]:
    """Return messages of a bag, some of them invalid: topic, time of reception (ns) and bytes."""
    rng, joints = random.Random(1), ("joint1", "joint2")
    description = TYPES.types[TEXT]('<robot name="r"><link name="base"/></robot>')
    found = [("/robot_description", _BEGIN * 10**9, bytes(TYPES.serialize_cdr(description, TEXT)))]
    for k in range(count):
        kind = TRAJECTORY if k % 10 == 9 else STATE
        content = _trajectory(rng, joints, k) if kind == TRAJECTORY else _state(rng, joints, k)
        topic = "/joint_trajectory" if kind == TRAJECTORY else "/joint_states"
        found.append((topic, _BEGIN * 10**9 + k * 10**6, bytes(TYPES.serialize_cdr(content, kind))))
    return found
