"""Commanded joint positions from bags, of the message types in which arms take or report them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.recordings.bags.storage import JOINT_STATE, JOINT_TRAJECTORY
from robot_dynamics_ros.recordings.messages.cdr import FLOAT64_MULTI_ARRAY, CdrReader
from robot_dynamics_ros.recordings.messages.joint_state import renaming
from robot_dynamics_ros.recordings.messages.joint_trajectory import read_trajectory

_KINDS = (
    "control_msgs/msg/JointTrajectoryControllerState",
    FLOAT64_MULTI_ARRAY,
    JOINT_STATE,
    JOINT_TRAJECTORY,
)
_USUAL = ("drive_commands", "position_commands", "controller_state", "command_states")


def commanded_positions(
    bag: BagReader,
    topic: str | None,
    joint_names: Sequence[str],
    rename: Mapping[str, str],
    received: IntArray,
) -> Array:
    """Return the commanded positions (m, n), rad or m, of the joints ``joint_names`` at times ``received`` (m,), ns.

    They are those of the last message or trajectory point before, and NaN before the first one. ``topic`` has set
    points as JointState, Float64MultiArray in the order of the joints (also drive_commands), JointTrajectory, or the
    reference of a JointTrajectoryControllerState; None: the first that the bag has of drive_commands,
    position_commands, controller_state and command_states. ``rename`` maps joint names as for joint states.

    Raises BagError if there is no such topic, it has another type, or a message cannot be decoded.
    """
    names = {name.rsplit("/", 1)[-1]: name for name in sorted(bag.topics)}
    topic = topic or next((names[name] for name in _USUAL if name in names), "")
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
        delays = [0.0]
        try:
            reader = CdrReader(message.data)
            if kind == JOINT_TRAJECTORY:
                _, points = read_trajectory(message.data)
                found = points.joint_names
                delays = points.times.tolist()
                positions = points.positions.tolist()
            elif kind == FLOAT64_MULTI_ARRAY:
                for _ in range(reader.number()):
                    reader.text()
                    reader.number()
                    reader.number()
                first = reader.number()
                positions = [reader.doubles(reader.number())[first:]]
                found = tuple(joint_names)
            else:
                # set points are the first numbers after the names
                reader.stamp()
                reader.text()
                found = tuple(reader.names())
                positions = [reader.doubles(reader.number())]
        except (struct.error, ValueError) as error:
            raise BagError(
                f"{bag.path}: {topic}: a message cannot be decoded. Cure: check its publisher"
            ) from error
        while times[-1] > message.received:
            # points that the new trajectory replaces
            times.pop()
            rows.pop()
        for delay, point in zip(delays, positions, strict=True):
            given = dict(zip(map(renamed, found), point, strict=False))
            last = zip(joint_names, rows[-1], strict=True)
            times.append(message.received + round(1e9 * delay))
            rows.append([given.get(name, old) for name, old in last])
    return np.array(rows)[np.searchsorted(times, received, side="right") - 1]
