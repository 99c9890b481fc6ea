"""Commanded joint positions from bags, of the message types in which arms take or report them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.recordings.bags.storage import (
    JOINT_STATE,
    JOINT_TRAJECTORY,
    message_types,
)
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY, CdrReader
from robot_dynamics_ros.recordings.messages.joint_state import renaming

CONTROLLER_STATE = "control_msgs/msg/JointTrajectoryControllerState"
_KINDS = (CONTROLLER_STATE, FLOAT64_MULTI_ARRAY, JOINT_STATE, JOINT_TRAJECTORY)
_USUAL = ("drive_commands", "position_commands", "controller_state", "command_states")


def commanded_positions(
    bag: BagReader,
    topic: str | None,
    joint_names: Sequence[str],
    rename: Mapping[str, str],
    received: IntArray,
) -> Array:
    """Return the commanded positions (m, n), rad or m, of the joints ``joint_names`` at times ``received`` (m,), ns.

    They are those of the last message before, and NaN before the first one. ``topic`` has set points as JointState,
    Float64MultiArray in the order of the joints (also drive_commands), the end of a JointTrajectory, or the reference
    of a JointTrajectoryControllerState; None: the first that the bag has of drive_commands, position_commands,
    controller_state and command_states. ``rename`` maps joint names as for joint states.

    Raises BagError if there is no such topic, it has another type, or a message cannot be decoded.
    """
    found = {name.rsplit("/", 1)[-1]: name for name in sorted(bag.topics)}
    topic = topic or next((found[name] for name in _USUAL if name in found), "")
    kind = bag.topics.get(topic)
    if kind not in _KINDS:
        raise BagError(
            f"{bag.path}: {topic or 'no usual topic'} of commanded positions. Cure: record those that are sent to the "
            f"drives, and give --command-topic, of type {', '.join(_KINDS)}"
        )
    renamed = renaming(rename)
    times = [0]
    rows = [[np.nan] * len(joint_names)]
    for message in bag.messages([topic]):
        try:
            names, positions = _content(kind, message.data, joint_names)
        except Exception as error:  # broken bytes raise errors of many types
            raise BagError(
                f"{bag.path}: {topic}: a message cannot be decoded. Cure: check its publisher"
            ) from error
        given = dict(zip(map(renamed, names), positions, strict=False))
        last = zip(joint_names, rows[-1], strict=True)
        times.append(message.received)
        rows.append([given.get(name, old) for name, old in last])
    return np.array(rows)[np.searchsorted(times, received, side="right") - 1]


def _content(
    kind: str, data: bytes, joint_names: Sequence[str]
) -> tuple[Sequence[str], Sequence[float]]:
    """Return joint names and positions of a message; of a trajectory those of its end."""
    if kind in (JOINT_STATE, CONTROLLER_STATE):
        # set points are the first numbers of both
        reader = CdrReader(data)
        reader.stamp()
        reader.text()
        return reader.names(), reader.doubles(reader.number())
    message: Any = message_types().deserialize_cdr(data, kind)
    if kind == JOINT_TRAJECTORY:
        return message.joint_names, message.points[-1].positions
    return joint_names, message.data[message.layout.data_offset :]
