"""Bags written, and what is said of those that cannot be."""

from pathlib import Path

import pytest
import yaml
from bags.recordings import JOINT_STATE, START, joint_state
from rosbags.highlevel import AnyReader

from robot_dynamics_ros.bags import BagReader, BagWriter
from robot_dynamics_ros.bags.writing import LATCHED
from robot_dynamics_ros.errors import BagError


def test_messages_are_kept_byte_for_byte(tmp_path: Path) -> None:
    raw = [joint_state(START + k, position=[k, -k]) for k in range(5)]
    with BagWriter(tmp_path / "bag", {"/joint_states": JOINT_STATE}) as writer:
        for k, data in enumerate(raw):
            writer.write("/joint_states", START + k, data)
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [bytes(data) for _, _, data in reader.messages()] == raw


def test_metadata_that_every_distribution_reads(tmp_path: Path) -> None:
    """As rosbag2 of Humble to Rolling reads it: up to version 8 what was offered is a text, with numbers in it."""
    with BagWriter(tmp_path / "bag", {"/x": JOINT_STATE, "/y": JOINT_STATE}, {"/y": [LATCHED]}):
        pass
    content = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert content["version"] == 8
    topics = [entry["topic_metadata"] for entry in content["topics_with_message_count"]]
    offered = [yaml.safe_load(topic["offered_qos_profiles"]) for topic in topics]
    assert [(qos["reliability"], qos["durability"], qos["depth"]) for (qos,) in offered] == [(1, 2, 10), (1, 1, 1)]
    with BagReader(tmp_path / "bag") as reader:
        assert reader.latched == {"/y"}


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
