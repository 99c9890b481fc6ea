"""Bags that are cut short while they are written: by a kill, and by a disk that is full."""

import resource
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from robot_dynamics_ros.bags import BagReader, BagWriter
from robot_dynamics_ros.errors import BagError, BagWarning
from robot_dynamics_ros.messages.joint_state import JointStateWriter

TOPIC = "/joint_states"
KINDS = {TOPIC: "sensor_msgs/msg/JointState"}
NUMBERS = np.zeros(7)


def _write(writer: BagWriter, begin: int, end: int) -> None:
    states = JointStateWriter([f"joint{k}" for k in range(7)])
    for k in range(begin, end):
        writer.write(TOPIC, k, states.write(k, NUMBERS, NUMBERS, NUMBERS))


def _times(bag: Path) -> list[int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BagWarning)
        with BagReader(bag) as reader:
            return [message.received for message in reader.messages([TOPIC])]


@contextmanager
def _full_at(size: int) -> Iterator[None]:
    """No file of this process may grow beyond a size: writing gets an error as from a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_is_flushed_survives_a_kill(tmp_path: Path) -> None:
    """The file as it is while the writer still has the rest in memory."""
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


def test_a_full_disk_ends_the_bag_with_what_is_lost(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag, KINDS)
    _write(writer, 0, 300)
    writer.flush()
    _write(writer, 300, 500)
    with _full_at((bag / "bag.mcap").stat().st_size + 1000), pytest.raises(BagError) as problem:
        writer.flush()
    for words in (str(bag), "cannot write", "200 messages are lost", "Cure"):
        assert words in str(problem.value)
    writer.close()
    assert _times(bag) == list(range(300))


def test_a_disk_that_is_full_at_the_end(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with pytest.raises(BagError, match="cannot write"), BagWriter(bag, KINDS) as writer:
        _write(writer, 0, 300)
        with _full_at(1000):
            writer.close()


def test_the_writer_says_so_itself_when_a_chunk_is_full(tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", KINDS)
    with _full_at(1000), pytest.raises(BagError, match="cannot write"):
        _write(writer, 0, 10_000)
