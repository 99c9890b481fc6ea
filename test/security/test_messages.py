"""Malicious messages that would keep a node busy: refused at low cost."""

import struct
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.base.errors import TrajectoryError
from robot_dynamics_ros.recordings.bags import Message, read_joint_states
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader
from robot_dynamics_ros.recordings.messages.joint_trajectory import read_trajectory
from robot_dynamics_ros.recordings.thresholds import MOST_NAMES
from support.bag_recordings import JOINT_STATE, joint_state, record
from support.crafted_bags import CDR, TOPIC, many_names, soon

NAMES = ("a", "b")
EMPTY = CDR + struct.pack("<III", 0, 0, 0)


@pytest.mark.parametrize(
    ("data", "culprit"),
    [
        (many_names(MOST_NAMES + 1), f"{MOST_NAMES + 1} joint names"),
        (many_names(10_000_000), "10000000 joint names"),
        (many_names(1, reported=3)[:-12], None),
        (many_names(1, reported=0xFFFFFFFF)[:-12], None),
        (EMPTY + struct.pack("<II", 1, 2_000_000) + bytes(2_000_100), "2000000 bytes"),
        (CDR + struct.pack("<III", 0, 0, 0x7FFFFFFF) + b"x", None),
        (CDR + struct.pack("<III", 0, 0, 0xFFFFFFFF) + b"x", None),
    ],
)
def test_names_and_texts_that_are_too_long_are_refused(
    data: bytes, culprit: str | None
) -> None:
    for read in (read_trajectory, JointStateReader(NAMES).read):
        with soon(), pytest.raises(RobotDynamicsError, match=culprit):
            read(data)


def trajectory(points: int, reported: int) -> bytes:
    table = np.zeros(points, dtype="<u4, <f8, <u4, <u4, <u4, <i4, <u4, <u4")
    return (
        EMPTY
        + struct.pack("<II", 1, 2)
        + b"a\0\0\0"
        + struct.pack("<I", reported)
        + table.tobytes()
    )


@pytest.mark.parametrize(("points", "reported"), [(1_000_000, 1_000_000), (2, 90_000)])
def test_trajectories_of_too_many_points_are_refused(
    points: int, reported: int
) -> None:
    data = trajectory(points, reported)
    with soon(), pytest.raises(TrajectoryError):
        read_trajectory(data)


def test_oversized_messages_of_a_bag_are_skipped(tmp_path: Path) -> None:
    honest = joint_state(1, NAMES, [0.0, 1.0])
    messages = [Message(TOPIC, JOINT_STATE, k, many_names(1_000_000)) for k in range(3)]
    bag = record(tmp_path / "bag", [*messages, Message(TOPIC, JOINT_STATE, 9, honest)])
    with soon(), pytest.warns(UserWarning, match="3 messages"):
        assert read_joint_states(bag, [TOPIC])[TOPIC].position.tolist() == [[0.0, 1.0]]
