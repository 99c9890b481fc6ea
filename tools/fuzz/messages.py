"""Sequences of serialized messages for a controller: valid with implausible content, and damaged."""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis.strategies import DrawFn, SearchStrategy

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import (
    ControllerSettings,
    SafetySettings,
    TaskSpaceSettings,
)
from robot_dynamics_ros.control.interface import Output
from robot_dynamics_ros.control.laws import LAWS
from robot_dynamics_ros.control.session import ControllerSession
from robot_dynamics_ros.runs.inputs import TARGETS, InputReader
from support.bag_recordings import JOINT_STATE, header, make, serialized
from tools.fuzz.inputs import damaged, mostly
from tools.fuzz.trial import Wrong

_BEGIN = 1_700_000_000
_HEAD = struct.Struct("<cII")  # kind, milliseconds since the message before, bytes
_TOPICS = {b"s": "joint_states", b"t": "joint_trajectory", b"p": "target_pose", b"w": "target_twist",
           b"a": "target_acceleration"}  # fmt: skip
# mass, centre of mass, inertia; the name of the link follows
_PAYLOAD = struct.Struct("<10d")
_JOINTS = ("joint1", "joint2")  # of planar_2r

_NUMBERS = st.floats(-1.0, 1.0)
_ODD = st.sampled_from(
    (math.nan, math.inf, -math.inf, 1e308, -1e200, 1e20, 5e-324, 1e6)
)
_NAMES = mostly(
    st.permutations(_JOINTS),
    st.lists(st.sampled_from((*_JOINTS, "gripper", "", "ä", "a" * 5000)), max_size=3),
)
_FRAMES = st.sampled_from(
    ("", "", "", "base_link", "tool", "map", "ä", "a" * 5000, "@bait@")
)
_LINKS = st.sampled_from(("link2", "link1", "tool", "base_link", "", "x"))
_SPEEDS = st.sampled_from((0.0, 0.5, 1.0, -1.0)) | _ODD
_SCALES = st.sampled_from((0, 0, 0, -300, -9, 9, 150, 300)).map(
    lambda power: 10.0**power
)
_PAUSES = st.sampled_from((1, 1, 1, 1, 2, 50, 2000))  # ms


def _row(size: int) -> SearchStrategy[Any]:
    """Return rows of numbers, a few of them with odd numbers or another size."""
    plain = st.lists(_NUMBERS, min_size=size, max_size=size)
    return mostly(plain, st.lists(_NUMBERS | _ODD, max_size=size + 1)).map(
        partial(np.array, dtype=float)
    )


def _built(kind: str, *fields: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.builds(partial(make, kind), *fields)


def _vector(kind: str) -> SearchStrategy[Any]:
    number = mostly(_NUMBERS, _ODD, 50)
    return _built(f"geometry_msgs/msg/{kind}", number, number, number)


def _rotation(*numbers: float) -> Any:
    return make(
        "geometry_msgs/msg/Quaternion",
        *(x / (math.hypot(*numbers) or 1.0) for x in numbers),
    )


_CONTENTS = {
    "target_pose": _built(
        "geometry_msgs/msg/Pose",
        _vector("Point"),
        st.builds(_rotation, *[_NUMBERS] * 4),
    ),
    "target_twist": _built(
        "geometry_msgs/msg/Twist", _vector("Vector3"), _vector("Vector3")
    ),
    "target_acceleration": _built(
        "geometry_msgs/msg/Accel", _vector("Vector3"), _vector("Vector3")
    ),
}


@st.composite
def sequences(draw: DrawFn) -> bytes:
    """Return a law, and messages: kind, milliseconds since the previous one, bytes."""
    law = draw(st.sampled_from(sorted(LAWS)))
    at = 0
    parts = []
    usual = (
        (b"p", b"w", b"a", b"s", b"s", b"t")
        if LAWS[law].task_space
        else (b"s", b"s", b"s", b"t")
    )
    kinds = mostly(st.sampled_from(usual), st.sampled_from((b"v", b"l", *_TOPICS)), 10)
    for kind in draw(st.lists(kinds, min_size=3, max_size=39)):
        pause = draw(_PAUSES)
        at += pause
        data = draw(_message(kind, at))
        data = draw(mostly(st.just(data), damaged(data), 5))
        parts.append(_HEAD.pack(kind, pause, len(data)) + data)
    return law.encode().ljust(32) + b"".join(parts)


def _message(kind: bytes, at: int) -> SearchStrategy[bytes]:
    if kind == b"v":
        return _SPEEDS.map(partial(struct.pack, "<d"))
    if kind == b"l":
        return st.builds(_payload, _SCALES, *[_NUMBERS] * 4, link=_LINKS)
    if kind == b"s":
        return st.builds(
            partial(serialized, JOINT_STATE),
            _header(at),
            _NAMES,
            _row(2),
            *[_row(2) | _row(0)] * 2,
        )
    if kind == b"t":
        return _trajectory(at)
    return st.builds(
        partial(serialized, TARGETS[_TOPICS[kind]]),
        _header(at),
        _CONTENTS[_TOPICS[kind]],
    )


def _payload(scale: float, mass: float, *com: float, link: str) -> bytes:
    numbers = (abs(mass), *com, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
    return _PAYLOAD.pack(*(scale * number for number in numbers)) + link.encode()


def _header(at: int) -> SearchStrategy[Any]:
    """Return headers with the stamp ``at`` (ms), a few with an odd one."""
    stamp = st.just(_BEGIN * 10**9 + at * 10**6)
    odd = st.sampled_from((-(2**31) * 10**9, 2**31 * 10**9 - 1, 0, _BEGIN * 10**9))
    return st.builds(header, mostly(stamp, odd, 20), _FRAMES)


@st.composite
def _trajectory(draw: DrawFn, at: int) -> bytes:
    begin = draw(
        st.just(header(0)) | _header(at + draw(st.sampled_from((0, 0, -500, 500))))
    )
    names = draw(_NAMES)
    points = []
    now = 0
    rows = [_row(len(names) if k == 0 or draw(st.booleans()) else 0) for k in range(4)]
    for _ in range(draw(st.sampled_from((0, 1, 1, 2, 3, 3, 10)))):
        now += draw(
            mostly(st.integers(1, 1500), st.sampled_from((-10, 0, 1, 10**12)), 10)
        )
        duration = make(
            "builtin_interfaces/msg/Duration",
            min(2**31 - 1, now // 1000),
            now % 1000 * 1_000_000,
        )
        points.append(
            make("trajectory_msgs/msg/JointTrajectoryPoint", *map(draw, rows), duration)
        )
    return serialized("trajectory_msgs/msg/JointTrajectory", begin, names, points)


def play(model: RobotModel, data: bytes) -> None:
    """Pass the messages of an input to an active session as the node does, and check its outputs."""
    law = data[:32].decode(errors="replace").strip()
    at = 32
    settings = ControllerSettings(
        law=law if law in LAWS else "computed_torque",
        observer_gain=20.0,
        safety=SafetySettings(activation_max_velocity=math.inf),
        task_space=TaskSpaceSettings(components="x y"),
    )
    session = ControllerSession(model, settings)
    time = _BEGIN * 10**9
    reader = InputReader(session)
    check(model, session.activate(compare_effort=True))
    while at + _HEAD.size <= len(data):
        kind, pause, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        time += min(pause, 10_000) * 1_000_000
        now = Now(time * 1e-9, lambda time=time: time)
        content = data[at : at + length]
        # the controller checks the results
        with np.errstate(over="ignore", invalid="ignore"):
            check(model, session.watch(now))
            numbers = [
                number
                for (number,) in struct.iter_unpack(
                    "<d", content[: len(content) // 8 * 8]
                )
            ]
            if kind == b"v" and numbers:
                with suppress(RobotDynamicsError):
                    session.on_speed(numbers[0])
            elif kind == b"l" and len(numbers) >= 10:
                link = content[_PAYLOAD.size :].decode(errors="replace")
                with suppress(RobotDynamicsError):
                    session.on_payload(link, numbers[0], numbers[1:4], numbers[4:10])
            elif kind not in (b"v", b"l"):
                check(
                    model,
                    reader.receive(_TOPICS.get(kind, "joint_states"), content, now),
                )
        at += length


def check(model: RobotModel, output: Output) -> None:
    """Raise Wrong for efforts that are not finite or beyond the limits."""
    if output.command is not None:
        check_effort(model, output.command.effort)
    if (
        output.external_torque is not None
        and not np.isfinite(output.external_torque).all()
    ):
        raise Wrong(f"external torque {output.external_torque.tolist()}")


def check_effort(model: RobotModel, effort: Any) -> None:
    """Raise Wrong for an effort that is not finite or beyond the limits."""
    if not (
        np.isfinite(effort).all() and (np.abs(effort) <= model.effort_limits).all()
    ):
        raise Wrong(
            f"effort {effort.tolist()} with limits {model.effort_limits.tolist()}"
        )
