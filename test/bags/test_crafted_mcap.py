"""Small files that somebody made to keep a reader busy."""

import struct
from pathlib import Path

import pytest

from robot_dynamics_ros.bags.mcap_file import MAGIC, McapFile
from robot_dynamics_ros.bags.storage import Profiles, Room, zstd

SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, DATA_END = 3, 4, 5, 6, 7, 15
LATCHED = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"


def record(operation: int, body: bytes) -> bytes:
    return struct.pack("<BQ", operation, len(body)) + body


def text(content: str) -> bytes:
    return struct.pack("<I", len(content)) + content.encode()


def channel(metadata: list[tuple[str, str]]) -> bytes:
    pairs = b"".join(text(key) + text(value) for key, value in metadata)
    schema = record(SCHEMA, struct.pack("<H", 1) + text("std_msgs/msg/Float64") + text("ros2msg") + text(""))
    head = struct.pack("<HH", 1, 1) + text("/x") + text("cdr")
    return schema + record(CHANNEL, head + struct.pack("<I", len(pairs)) + pairs)


def message(received: int) -> bytes:
    return record(MESSAGE, struct.pack("<HIQQ", 1, 0, received, received) + bytes(12))


def packed(records: bytes) -> bytes:
    data = zstd.compress(records)
    head = struct.pack("<qqQI", 1, 2, len(records), 0) + text("zstd") + struct.pack("<Q", len(data))
    return record(CHUNK, head + data)


def opened(folder: Path, *records: bytes) -> McapFile:
    path = folder / "crafted.mcap"
    path.write_bytes(MAGIC + b"".join(records) + record(DATA_END, bytes(4)))
    return McapFile(path, Room())


def test_chunks_of_millions_of_empty_records(tmp_path: Path) -> None:
    """128 MB of them would take half a minute. Equal messages whose times follow each other are as small as real ones.

    A hundred chunks like the bad one fit into 2 MB.
    """
    good = packed(channel([]) + b"".join(message(1000 * k) for k in range(50_000)))
    bomb = packed(record(MESSAGE_INDEX, b"") * 3_000_000)
    assert len(bomb) < 20_000
    file = opened(tmp_path, good, bomb)
    assert len(file.losses) == 1 and file.losses[0].startswith("1 of 2 chunks of crafted.mcap")
    assert [found.received for found in file.messages([1])] == list(range(0, 50_000_000, 1000))
    file.close()


@pytest.mark.parametrize(("others", "latched"), [(0, True), (99, True), (100, False)])
def test_only_so_much_metadata_is_read(others: int, latched: bool, tmp_path: Path) -> None:
    metadata = [(f"key {k}", "") for k in range(others)] + [("offered_qos_profiles", LATCHED)]
    file = opened(tmp_path, channel(metadata), message(1))
    assert file.channels[1].latched is latched
    file.close()


def test_only_so_many_profiles_are_parsed() -> None:
    profiles = Profiles()
    assert profiles.latched(LATCHED)
    assert not profiles.latched(LATCHED + "#" * (1 << 18))
    assert profiles.latched(LATCHED), "known"
    assert not profiles.latched(LATCHED + "# another"), "there is no room for it any more"
