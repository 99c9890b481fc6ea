"""Sequences of serialized messages for a controller: valid with implausible content, and damaged."""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

import numpy as np

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.interface import Now, Output
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.control.settings import ControllerSettings, SafetySettings, TaskSpaceSettings
from robot_dynamics_ros.recordings.messages.inputs import TARGETS, InputReader
from support.bag_recordings import make, serialized
from tools.fuzz.inputs import damaged
from tools.fuzz.trial import Wrong

_BEGIN = 1_700_000_000
_HEAD = struct.Struct("<cII")  # kind, milliseconds since the message before, bytes
_TOPICS = {b"s": "joint_states", b"t": "joint_trajectory", b"p": "target_pose", b"w": "target_twist",
           b"a": "target_acceleration"}  # fmt: skip
_PAYLOAD = struct.Struct("<10d")  # mass, centre of mass, inertia; the name of the link follows
_JOINTS = ("joint1", "joint2")  # of planar_2r
_ODD = (math.nan, math.inf, -math.inf, 1e308, -1e200, 1e20, 5e-324, 1e6)
_FRAMES = ("", "", "", "base_link", "tool", "map", "ä", "a" * 5000, "@bait@")


def sequence(rng: Random) -> bytes:
    """Return a law, and messages: kind, milliseconds since the previous one, bytes."""
    law, at, parts = rng.choice(sorted(LAWS)), 0, []
    usual = (b"p", b"w", b"a", b"s", b"s", b"t") if LAWS[law].task_space else (b"s", b"s", b"s", b"t")
    for _ in range(rng.randrange(3, 40)):
        pause = rng.choice((1, 1, 1, 1, 2, 50, 2000))
        at += pause
        kind = rng.choice(usual if rng.random() < 0.9 else (b"v", b"l", *_TOPICS))
        data = _message(rng, kind, at)
        data = damaged(rng, data) if rng.random() < 0.2 else data
        parts.append(_HEAD.pack(kind, pause, len(data)) + data)
    return law.encode().ljust(32) + b"".join(parts)


def _message(rng: Random, kind: bytes, at: int) -> bytes:
    if kind == b"v":
        return struct.pack("<d", rng.choice((0.0, 0.5, 1.0, -1.0, *_ODD)))
    if kind == b"l":
        scale = 10.0 ** rng.choice((0, 0, 0, -300, -9, 9, 150, 300))
        mass, *com = _row(rng, 4)
        numbers = [abs(mass), *(0.1 * x for x in com), 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]
        link = rng.choice(("link2", "link1", "tool", "base_link", "", "x"))
        return _PAYLOAD.pack(*(scale * number for number in numbers)) + link.encode()
    if kind == b"s":
        names = _names(rng)
        rows = [_row(rng, _size(rng, len(names)) * (k == 0 or rng.random() < 0.8)) for k in range(3)]
        return serialized("sensor_msgs/msg/JointState", _header(rng, at), names, *rows)
    if kind == b"t":
        return _trajectory(rng, at)
    return _target(rng, _TOPICS[kind], at)


def _names(rng: Random) -> list[str]:
    names = rng.sample(_JOINTS, 2) if rng.random() < 0.2 else list(_JOINTS)
    if rng.random() < 0.06:
        names[rng.randrange(2)] = rng.choice(("", "ä", "a" * 5000, *_JOINTS))
    return [*names, rng.choice(("gripper", *_JOINTS))] if rng.random() < 0.05 else names


def _size(rng: Random, size: int) -> int:
    return size if rng.random() < 0.94 else rng.choice((0, 1, size + 1, 100))


def _row(rng: Random, size: int) -> Any:
    row = np.array([rng.uniform(-1.0, 1.0) for _ in range(size)])
    if size and rng.random() < 0.06:
        row[rng.randrange(size)] = rng.choice(_ODD)
    return row


def _header(rng: Random, at: int) -> Any:
    stamp = _BEGIN + at // 1000, at % 1000 * 1_000_000
    if rng.random() < 0.05:
        stamp = rng.choice((-(2**31), 2**31 - 1, 0, _BEGIN)), rng.choice((0, 2**32 - 1, 10**9))
    return make("std_msgs/msg/Header", make("builtin_interfaces/msg/Time", *stamp), rng.choice(_FRAMES))


def _trajectory(rng: Random, at: int) -> bytes:
    header, names = _header(rng, at + rng.choice((0, 0, -500, 500))), _names(rng)
    if rng.random() < 0.6:
        header.stamp.sec = header.stamp.nanosec = 0
    points, now = [], 0
    present = [rng.random() < share for share in (0.97, 0.6, 0.4, 0.2)]
    for _ in range(rng.choice((0, 1, 1, 2, 3, 3, 10))):
        now += rng.choice((-10, 0, 1, 10**12)) if rng.random() < 0.1 else rng.randrange(1, 1500)
        sec, nanosec = min(2**31 - 1, now // 1000), now % 1000 * 1_000_000
        rows = [_row(rng, _size(rng, len(names))) if there else np.zeros(0) for there in present]
        duration = make("builtin_interfaces/msg/Duration", sec, nanosec)
        points.append(make("trajectory_msgs/msg/JointTrajectoryPoint", *rows, duration))
    return serialized("trajectory_msgs/msg/JointTrajectory", header, names, points)


def _target(rng: Random, topic: str, at: int) -> bytes:
    first, second = _row(rng, 3).tolist(), [rng.gauss(0.0, 1.0) for _ in range(4)]
    vector = "geometry_msgs/msg/Vector3"
    if topic == "target_pose":
        size = math.hypot(*second) if rng.random() < 0.9 else 1.0
        turn = make("geometry_msgs/msg/Quaternion", *(x / size for x in second))
        content = make("geometry_msgs/msg/Pose", make("geometry_msgs/msg/Point", *first), turn)
    else:
        kind = "geometry_msgs/msg/Twist" if topic == "target_twist" else "geometry_msgs/msg/Accel"
        content = make(kind, make(vector, *first), make(vector, *_row(rng, 3).tolist()))
    return serialized(TARGETS[topic], _header(rng, at), content)


def play(model: RobotModel, data: bytes) -> None:
    """Pass the messages of an input to an active session as the node does, and check its outputs."""
    law, at = data[:32].decode(errors="replace").strip(), 32
    settings = ControllerSettings(
        law=law if law in LAWS else "computed_torque",
        observer_gain=20.0,
        safety=SafetySettings(activation_max_velocity=math.inf),
        task_space=TaskSpaceSettings(components="x y"),
    )
    session, time = ControllerSession(model, settings), _BEGIN * 10**9
    reader = InputReader(session)
    check(model, session.activate(compare_effort=True))
    while at + _HEAD.size <= len(data):
        kind, pause, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        time += min(pause, 10_000) * 1_000_000
        now, content = Now(time * 1e-9, lambda time=time: time), data[at : at + length]
        with np.errstate(over="ignore", invalid="ignore"):  # the controller checks the results
            check(model, session.watch(now))
            numbers = [number for (number,) in struct.iter_unpack("<d", content[: len(content) // 8 * 8])]
            if kind == b"v" and numbers:
                session.on_speed(numbers[0])
            elif kind == b"l" and len(numbers) >= 10:
                link = content[_PAYLOAD.size :].decode(errors="replace")
                session.on_payload(link, numbers[0], numbers[1:4], numbers[4:10])
            elif kind not in (b"v", b"l"):
                check(model, reader.receive(_TOPICS.get(kind, "joint_states"), content, now))
        at += length


def check(model: RobotModel, output: Output) -> None:
    """Raise Wrong for efforts that are not finite or beyond the limits."""
    if output.command is not None:
        check_effort(model, output.command.effort)
    if output.external_torque is not None and not np.isfinite(output.external_torque).all():
        raise Wrong(f"external torque {output.external_torque.tolist()}")


def check_effort(model: RobotModel, effort: Any) -> None:
    """Raise Wrong for an effort that is not finite or beyond the limits."""
    if not (np.isfinite(effort).all() and (np.abs(effort) <= model.effort_limits).all()):
        raise Wrong(f"effort {effort.tolist()} with limits {model.effort_limits.tolist()}")
