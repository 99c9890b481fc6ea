"""Bags written, and what is said of those that cannot be."""

from pathlib import Path

import pytest
from bags.recordings import JOINT_STATE, START, joint_state
from rosbags.highlevel import AnyReader

from robot_dynamics_ros.bags import BagWriter
from robot_dynamics_ros.errors import BagError


def test_messages_are_kept_byte_for_byte(tmp_path: Path) -> None:
    raw = [joint_state(START + k, position=[k, -k]) for k in range(5)]
    with BagWriter(tmp_path / "bag", {"/joint_states": JOINT_STATE}) as writer:
        for k, data in enumerate(raw):
            writer.write("/joint_states", START + k, data)
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [bytes(data) for _, _, data in reader.messages()] == raw


def test_a_folder_that_exists_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    with pytest.raises(BagError, match=r"bag: cannot make the bag.*Cure"):
        BagWriter(tmp_path / "bag", {"/joint_states": JOINT_STATE})
    (tmp_path / "file").write_text("")
    with pytest.raises(BagError, match=r"file/bag: cannot make the bag"):
        BagWriter(tmp_path / "file" / "bag", {"/joint_states": JOINT_STATE})


def test_an_unknown_type_is_named_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"/gripper: message type gripper_msgs/msg/Grip is unknown"):
        BagWriter(tmp_path / "bag", {"/joint_states": JOINT_STATE, "/gripper": "gripper_msgs/msg/Grip"})
    assert not (tmp_path / "bag").exists()
