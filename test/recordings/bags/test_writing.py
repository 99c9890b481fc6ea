"""Writing of bags: complete, interrupted by a kill or a full disk, and refused."""

import resource
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader

from robot_dynamics_ros.base.errors import BagError, BagWarning
from robot_dynamics_ros.recordings.bags import BagReader, BagWriter
from robot_dynamics_ros.recordings.bags.storage import LATCHED
from robot_dynamics_ros.recordings.messages.joint_state import JointStateWriter

TOPIC = "/joint_states"
KINDS = {TOPIC: "sensor_msgs/msg/JointState"}
NUMBERS = np.zeros(7)


def _write(writer: BagWriter, begin: int, end: int) -> list[bytes]:
    states = JointStateWriter([f"joint{k}" for k in range(7)])
    written = [states.write(k, NUMBERS, NUMBERS, NUMBERS) for k in range(begin, end)]
    for k, data in enumerate(written, begin):
        writer.write(TOPIC, k, data)
    return written


def _times(bag: Path) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BagWarning)
        with BagReader(bag) as reader:
            return [message.received for message in reader.messages([TOPIC])]


@contextmanager
def _full_at(size: int) -> Iterator[None]:
    """Limit the size of this process's files, so that writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_messages_are_written_byte_for_byte(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", KINDS) as writer:
        written = _write(writer, 0, 5)
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [bytes(data) for _, _, data in reader.messages()] == written


def test_metadata_that_every_distribution_reads(tmp_path: Path) -> None:
    """rosbag2 of Humble to Rolling reads version 8, in which QoS profiles are a text with numbers."""
    with BagWriter(tmp_path / "bag", KINDS | {"/y": KINDS[TOPIC]}, {"/y": [LATCHED]}):
        pass
    content = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())[
        "rosbag2_bagfile_information"
    ]
    assert content["version"] == 8
    topics = [entry["topic_metadata"] for entry in content["topics_with_message_count"]]
    offered = [yaml.safe_load(topic["offered_qos_profiles"]) for topic in topics]
    assert [
        (qos["reliability"], qos["durability"], qos["depth"]) for (qos,) in offered
    ] == [(1, 2, 10), (1, 1, 1)]
    with BagReader(tmp_path / "bag") as reader:
        assert reader.latched == {"/y"}


def test_invalid_paths_and_types_are_refused_before_writing(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").touch()
    for taken in (tmp_path / "there", tmp_path / "file" / "bag"):
        with pytest.raises(BagError, match=f"{taken}: "):
            BagWriter(taken, KINDS)
    with pytest.raises(BagError, match="/gripper: .*gripper_msgs/msg/Grip"):
        BagWriter(tmp_path / "bag", KINDS | {"/gripper": "gripper_msgs/msg/Grip"})
    assert not (tmp_path / "bag").exists() and not list((tmp_path / "there").iterdir())


def test_flushed_messages_survive_a_kill(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", KINDS)
    _write(writer, 0, 300)
    writer.flush()
    _write(writer, 300, 500)
    assert _times(tmp_path / "bag") == list(range(300))
    writer.flush()
    writer.flush()  # nothing new
    assert _times(tmp_path / "bag") == list(range(500))
    writer.close()
    assert _times(tmp_path / "bag") == list(range(500))


def test_a_full_disk_closes_the_bag_and_reports_the_loss(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag, KINDS)
    _write(writer, 0, 300)
    writer.flush()
    _write(writer, 300, 500)
    full = _full_at((bag / "bag.mcap").stat().st_size + 1000)
    with full, pytest.raises(BagError, match=rf"{bag}: .*\b200\b"):
        writer.flush()
    writer.close()
    assert _times(bag) == list(range(302))  # two more fit into 1000 bytes


def test_a_full_disk_on_closing_or_after_a_chunk(tmp_path: Path) -> None:
    with (
        pytest.raises(BagError, match=f"{tmp_path / 'end'}"),
        BagWriter(tmp_path / "end", KINDS) as writer,
    ):
        _write(writer, 0, 300)
        with _full_at(1000):
            writer.close()
    writer = BagWriter(tmp_path / "chunk", KINDS)
    with _full_at(1000), pytest.raises(BagError, match=f"{tmp_path / 'chunk'}"):
        _write(writer, 0, 10_000)
