"""Commanded positions of each message type, by messages that rosbags serializes, and by the layout of control_msgs."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros.base.errors import BagError
from robot_dynamics_ros.base.joint_messages import DriveCommand, TrajectoryPoints
from robot_dynamics_ros.recordings.bags import BagReader, BagWriter, Message
from robot_dynamics_ros.recordings.bags.commanded_positions import commanded_positions
from robot_dynamics_ros.recordings.bags.storage import JOINT_TRAJECTORY, message_types
from robot_dynamics_ros.recordings.messages.drive_commands import DriveCommandWriter
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter
from robot_dynamics_ros.recordings.messages.joint_trajectory import write_trajectory
from support.bag_recordings import insert, open_database

JOINTS = ("b", "a")
SECOND = 10**9
ARRAY = "std_msgs/msg/Float64MultiArray"
JOINT_STATE = "sensor_msgs/msg/JointState"


def joint_state(a: float, b: float) -> bytes:
    values = np.array([a, b, 0.0])
    return JointStateWriter(("x_a", "x_b", "c")).write(SECOND, values, values, values)


def position_array(b: float, a: float) -> bytes:
    store: Any = message_types()
    layout = store.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
    message = store.types[ARRAY](layout=layout, data=np.array([b, a]))
    return bytes(store.serialize_cdr(message, ARRAY))


def drive_command(b: float, a: float) -> bytes:
    rows = (np.array([b, a]), *np.full((4, 2), 9.0))
    return DriveCommandWriter(2).write(SECOND, DriveCommand(*rows))


# header, joint_names, reference.positions, ... of control_msgs/JointTrajectoryControllerState: as a JointState begins
STREAMS = {
    "/x/joint_commands": (JOINT_STATE, joint_state(1.0, 2.0)),
    "/x/controller_state": (
        "control_msgs/msg/JointTrajectoryControllerState",
        joint_state(1.0, 2.0) + bytes(200),
    ),
    "/position_commands": (ARRAY, position_array(2.0, 1.0)),
    "/drive_commands": (ARRAY, drive_command(2.0, 1.0)),
}


def read(path: Path, topic: str | None, times: list[float]) -> list[list[float]]:
    received = np.array([round(SECOND * time) for time in times])
    with BagReader(path) as bag:
        return commanded_positions(bag, topic, JOINTS, {"x_": ""}, received).tolist()


@pytest.mark.parametrize("topic", STREAMS)
def test_a_command_holds_from_its_arrival(topic: str, tmp_path: Path) -> None:
    kind, data = STREAMS[topic]
    path = tmp_path / "bag.db3"
    with closing(open_database(path, {topic: kind})) as database:
        insert(database, [Message(topic, kind, 2 * SECOND, data)])
    before, *after = read(path, topic, [1.0, 2.0, 50.0])
    assert np.isnan(before).all()
    assert after == [[2.0, 1.0], [2.0, 1.0]]
    if "joint_commands" not in topic:
        assert read(path, None, [3.0]) == [[2.0, 1.0]]


def test_trajectories_command_their_end(tmp_path: Path) -> None:
    """Joints that a trajectory does not name keep their command."""
    topic = "/joint_trajectory"
    ends = np.array([1.0, 5.0])
    first = TrajectoryPoints(("a", "b"), ends, np.array([[7.0, 7.0], [1.0, 2.0]]))
    second = TrajectoryPoints(("b",), ends[:1], np.array([[3.0]]))
    with BagWriter(tmp_path / "bag", {topic: JOINT_TRAJECTORY}) as bag:
        bag.write(topic, 10 * SECOND, write_trajectory(0, first))
        bag.write(topic, 13 * SECOND, write_trajectory(0, second))
    found = read(tmp_path / "bag", topic, [11.5, 13.5])
    assert found == [[2.0, 1.0], [3.0, 1.0]]


def test_damaged_messages_name_their_topic(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", {"/drive_commands": ARRAY}) as bag:
        bag.write("/drive_commands", SECOND, STREAMS["/drive_commands"][1][:60])
    with pytest.raises(BagError, match="/drive_commands: .*cannot be decoded"):
        read(tmp_path / "bag", None, [2.0])


def test_a_bag_without_commands_is_refused_with_a_cure(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", {"/joint_states": JOINT_STATE}):
        pass
    for topic in (None, "/joint_commands"):
        with pytest.raises(BagError, match="--command-topic"):
            read(tmp_path / "bag", topic, [2.0])
