"""joint_states, trajectories and targets as bytes: well made with absurd contents, and damaged."""

from __future__ import annotations

import math
import random
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from fuzz.driven import running
from fuzz.nasty import TEXTS, damaged
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.settings import ControllerSettings, TaskSpaceSettings
from robot_dynamics_ros.messages.hand_target import ACCELERATION, POSE, TARGETS, TWIST

TYPES: Any = get_typestore(Stores.LATEST)
STATE, TRAJECTORY = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
_KINDS = {b"s": STATE, b"t": TRAJECTORY}
_TARGETS = {b"p": POSE, b"w": TWIST, b"a": ACCELERATION}
_BEGIN = 1_700_000_000
_MOST = 40  # messages of an input


def made(rng: random.Random, joints: tuple[str, ...]) -> bytes:
    """Return a sequence of messages for a controller: kind, milliseconds since the one before, bytes."""
    parts = []
    law = rng.choice(sorted(LAWS))
    at = 0
    for _ in range(rng.randrange(3, _MOST)):
        pause = rng.choice((1, 1, 1, 1, 2, 50, 2000))
        at += pause
        kind, data = _message(rng, joints, at, law)
        if rng.random() < 0.2:
            data = damaged(rng, data)
        parts.append(kind + struct.pack("<II", pause, len(data)) + data)
    return law.encode().ljust(32) + b"".join(parts)


def play(model: RobotModel, data: bytes) -> None:
    """Give the messages of an input to a controller."""
    law, at = data[:32].decode(errors="replace").strip(), 32
    settings = ControllerSettings(
        law=law if law in LAWS else "computed_torque",
        observer_gain=20.0,
        task_space=TaskSpaceSettings(components=("x", "y")),
    )
    controller, clocks, outputs = running(model, settings)
    while at + 9 <= len(data):
        kind, (pause, length) = data[at : at + 1], struct.unpack_from("<II", data, at + 1)
        message = data[at + 9 : at + 9 + length]
        at += 9 + length
        clocks.at += min(pause, 10_000) * 1_000_000
        controller.watch()
        if kind in _TARGETS:
            controller.receive_target(_TARGETS[kind], message)
        elif kind == b"t":
            controller.receive_trajectory(message)
        else:
            controller.receive_state(message)


def _message(rng: random.Random, joints: tuple[str, ...], at: int, law: str) -> tuple[bytes, bytes]:
    if rng.random() < (0.4 if LAWS[law].task_space else 0.03):
        kind = rng.choice(list(_TARGETS))
        return kind, bytes(TYPES.serialize_cdr(_target(rng, _TARGETS[kind], at), TARGETS[_TARGETS[kind]]))
    kind = b"t" if rng.random() < 0.25 else b"s"
    content = _trajectory(rng, joints, at) if kind == b"t" else _state(rng, joints, at)
    return kind, bytes(TYPES.serialize_cdr(content, _KINDS[kind]))


def _target(rng: random.Random, topic: str, at: int) -> Any:
    types, header = TYPES.types, _header(rng, at)
    header.frame_id = rng.choice(("", "", "", "base_link", "tool", "map"))
    if topic == POSE:
        turn = np.array([rng.gauss(0, 1) for _ in range(4)])
        turn = turn / np.linalg.norm(turn) if rng.random() < 0.9 else turn
        point = types["geometry_msgs/msg/Point"](*(_number(rng) for _ in range(3)))
        pose = types["geometry_msgs/msg/Pose"](point, types["geometry_msgs/msg/Quaternion"](*turn.tolist()))
        return types[TARGETS[POSE]](header, pose)
    inner = types["geometry_msgs/msg/Twist" if topic == TWIST else "geometry_msgs/msg/Accel"]
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


def bag_files() -> list[tuple[str, bytes]]:
    """Whole recordings of each kind of storage, written by rosbags: suffix and bytes."""
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

    rng = random.Random(1)
    found = []
    for plugin, suffix in ((StoragePlugin.SQLITE3, ".db3"), (StoragePlugin.MCAP, ".mcap")):
        for compressed in (False, True):
            with TemporaryDirectory() as folder:
                bag = Path(folder) / "bag"
                writer = Writer(bag, version=9, storage_plugin=plugin)
                if compressed and plugin is StoragePlugin.MCAP:
                    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
                with writer:
                    kept = writer.add_connection("/joint_states", STATE, typestore=TYPES)
                    for k in range(200):
                        names = ("joint1", "joint2")
                        data = TYPES.serialize_cdr(_state(rng, names, k), STATE)
                        writer.write(kept, (_BEGIN + k) * 1_000_000, data)
                found += [(suffix, file.read_bytes()) for file in bag.glob(f"*{suffix}")]
    return found
