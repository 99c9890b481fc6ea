"""Messages made to keep a node busy: refused before they cost much."""

import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from bags.recordings import JOINT_STATE, joint_state, record

from robot_dynamics_ros import RobotDynamicsError
from robot_dynamics_ros.bags import Message, read_joint_states
from robot_dynamics_ros.errors import TrajectoryError
from robot_dynamics_ros.messages.cdr import MOST_NAMES
from robot_dynamics_ros.messages.joint_state import JointStateReader
from robot_dynamics_ros.messages.joint_trajectory import read_trajectory

SOON = 2.0  # s, for what takes a millisecond
NAMES = ("a", "b")


@contextmanager
def soon() -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < SOON


def many_names(count: int, said: int | None = None) -> bytes:
    """A header and empty names; in a trajectory no points follow, in a state no fields."""
    head = b"\0\1\0\0" + struct.pack("<III", 0, 0, 0)
    return head + struct.pack("<I", count if said is None else said) + bytes(4 * count + 12)


@pytest.mark.parametrize("count", [MOST_NAMES + 1, 10_000_000])
def test_millions_of_names(count: int) -> None:
    data = many_names(count)
    with soon(), pytest.raises(RobotDynamicsError, match=f"names {count} joints, .* Cure: "):
        read_trajectory(data)
    with soon(), pytest.raises(RobotDynamicsError, match=f"names {count} joints, .* Cure: "):
        JointStateReader(NAMES).read(data)


@pytest.mark.parametrize("said", [3, 9000, 0xFFFFFFFF])
def test_more_names_than_there_are(said: int) -> None:
    data = many_names(1, said)[:-12]
    for read in (read_trajectory, JointStateReader(NAMES).read):
        with soon(), pytest.raises(RobotDynamicsError):
            read(data)


def test_a_name_of_millions_of_letters() -> None:
    data = b"\0\1\0\0" + struct.pack("<III", 0, 0, 0) + struct.pack("<II", 1, 2_000_000) + bytes(2_000_100)
    for read in (read_trajectory, JointStateReader(NAMES).read):
        with soon(), pytest.raises(RobotDynamicsError, match="name of 2000000 bytes"):
            read(data)


@pytest.mark.parametrize("length", [100, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_text_longer_than_its_message(length: int) -> None:
    data = b"\0\1\0\0" + struct.pack("<III", 0, 0, length) + b"x"
    for read in (read_trajectory, JointStateReader(NAMES).read):
        with soon(), pytest.raises(RobotDynamicsError):
            read(data)


def trajectory(points: int, said: int | None = None) -> bytes:
    head = b"\0\1\0\0" + struct.pack("<III", 0, 0, 0) + struct.pack("<II", 1, 2) + b"a\0\0\0"
    table = np.zeros(points, dtype="<u4, <f8, <u4, <u4, <u4, <i4, <u4, <u4")
    return head + struct.pack("<I", points if said is None else said) + table.tobytes()


def test_a_million_points() -> None:
    data = trajectory(1_000_000)
    with soon(), pytest.raises(TrajectoryError, match="1000000 points, but 14000 of 1 joints"):
        read_trajectory(data)
    with soon(), pytest.raises(TrajectoryError):  # claimed, but not there
        read_trajectory(trajectory(2, said=90_000))


def test_a_bag_of_such_messages(tmp_path: Path) -> None:
    honest = joint_state(1, NAMES, [0.0, 1.0])
    messages = [Message("/joint_states", JOINT_STATE, k, many_names(1_000_000)) for k in range(3)]
    bag = record(tmp_path / "bag", [*messages, Message("/joint_states", JOINT_STATE, 9, honest)])
    with soon(), pytest.warns(UserWarning, match="3 messages are no whole JointState"):
        assert read_joint_states(bag, ["/joint_states"])["/joint_states"].position.tolist() == [[0.0, 1.0]]
