"""Small files that somebody made to keep a reader busy."""

import struct
from pathlib import Path

import pytest

from robot_dynamics_ros.bags import mcap_file
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
    """128 MB of them would take half a minute; a hundred chunks like this one fit into 2 MB."""
    good = packed(channel([]) + message(1) + message(2))
    bomb = packed(record(MESSAGE_INDEX, b"") * 3_000_000)
    assert len(bomb) < 20_000
    file = opened(tmp_path, good, bomb)
    assert file.losses == ["1 of 2 chunks of crafted.mcap are damaged and left out"]
    assert [found.received for found in file.messages([1])] == [1, 2]
    file.close()


def test_a_chunk_may_be_packed_well(tmp_path: Path) -> None:
    """Equal messages whose times follow each other: as well as real ones ever are."""
    file = opened(tmp_path, packed(channel([]) + b"".join(message(1000 * k) for k in range(50_000))))
    assert not file.losses and file.counts() == {1: 50_000}
    file.close()


@pytest.mark.parametrize(("others", "latched"), [(0, True), (99, True), (100, False)])
def test_only_so_much_metadata_is_read(others: int, latched: bool, tmp_path: Path) -> None:
    metadata = [(f"key {k}", "") for k in range(others)] + [("offered_qos_profiles", LATCHED)]
    file = opened(tmp_path, channel(metadata), message(1))
    assert file.channels[1].latched is latched
    file.close()


def test_only_so_many_profiles_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = Profiles()
    assert profiles.latched(LATCHED)
    assert not profiles.latched(LATCHED + "#" * (1 << 18))
    assert profiles.latched(LATCHED), "known"
    assert not profiles.latched(LATCHED + "# another"), "there is no room for it any more"


def test_a_megabyte_of_metadata_in_each_of_many_channels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    of_file = mcap_file._text

    def counted(data: bytes, at: int) -> tuple[str, int]:
        nonlocal read
        read += 1
        return of_file(data, at)

    monkeypatch.setattr(mcap_file, "_text", counted)
    many = channel([("", "")] * 100_000)
    file = opened(tmp_path, *[packed(many)] * 10)
    assert not file.losses and read < 10 * 250
    file.close()
