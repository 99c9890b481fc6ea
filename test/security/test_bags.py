"""Malicious bags: none deletes files, fills memory or disk, reads other files, or blocks the reader."""

import os
import sqlite3
import struct
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import lz4.frame
import pytest

from robot_dynamics_ros.base.errors import BagError, BagWarning
from robot_dynamics_ros.recordings.bags import BagReader, Message, recovery
from robot_dynamics_ros.recordings.bags.storage import zstd
from robot_dynamics_ros.recordings.thresholds import LARGEST_UNPACKED
from support.bag_recordings import (
    JOINT_STATE,
    insert,
    joint_state,
    open_database,
    record,
    some_messages,
)
from support.crafted_bags import TOPIC, chunk, mcap, mcap_messages, mcap_record, soon

KINDS = {TOPIC: JOINT_STATE}
LATCHED = "- history: 1\n  depth: 1\n  reliability: 1\n  durability: 1\n"

pytestmark = pytest.mark.filterwarnings(
    "ignore::robot_dynamics_ros.base.errors.BagWarning"
)


def read_all(path: Path) -> list[Message]:
    with BagReader(path) as bag:
        bag.count()
        return list(bag.messages())


@pytest.mark.parametrize(
    ("packed", "most"),
    [
        (zstd.compress(bytes(LARGEST_UNPACKED + 1)), LARGEST_UNPACKED),
        (zstd.compress(bytes(60)) + zstd.compress(bytes(60)), 100),
        (zstd.compress(os.urandom(1000))[:-9], LARGEST_UNPACKED),
    ],
    ids=["one frame", "two frames", "cut off"],
)
def test_decompressed_size_is_limited(packed: bytes, most: int) -> None:
    assert recovery.unpacked("zstd", packed, most)[1]
    assert recovery.unpacked("zstd", zstd.compress(b"ab") * 2, 4) == (b"abab", "")


def test_file_that_decompresses_to_gigabytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacking stops beyond a plausible size, and the partial output is removed."""
    monkeypatch.setattr(recovery, "LEAST_FILE_LIMIT", 1 << 22)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    bag = tmp_path / "bag.db3.zstd"
    bag.write_bytes(zstd.compress(b"SQLite format 3\0" + bytes(1 << 24)))
    assert bag.stat().st_size < 5000
    with pytest.raises(BagError, match="bag.db3.zstd"):
        BagReader(bag)
    assert not [*(tmp_path / "tmp").iterdir()]


@pytest.mark.parametrize(
    "pack", [zstd.compress, lz4.frame.compress], ids=["zstd", "lz4"]
)
@pytest.mark.parametrize("reported", [None, 1 << 10, 1 << 62])
def test_chunk_that_decompresses_to_gigabytes(
    pack: Callable[[bytes], bytes],
    reported: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The stated size is right, too small, or larger than the memory."""
    monkeypatch.setattr(recovery, "LARGEST_UNPACKED", 1 << 22)
    compression = "zstd" if pack is zstd.compress else "lz4"
    large = mcap_messages(1, 1 << 24)
    small = mcap_messages(1, 8)
    bomb = chunk(large, compression, pack(large), reported)
    honest = chunk(small, compression, pack(small), first=1)
    file = mcap(tmp_path / "bag.mcap", [bomb, honest])
    with pytest.warns(BagWarning, match="bag.mcap"):
        assert [len(message.data) for message in read_all(file)] == [8]
    file.write_bytes(file.read_bytes()[:-8])  # and without the index
    assert [len(message.data) for message in read_all(file)] == [8]


def test_chunks_of_millions_of_empty_records(tmp_path: Path) -> None:
    """Equal messages at successive times compress as well, and are read."""
    honest = b"".join(
        mcap_record(5, struct.pack("<HIQQ", 1, 0, 1000 * k, 1000 * k) + bytes(12))
        for k in range(50_000)
    )
    parts = [
        (data, zstd.compress(data))
        for data in (honest, mcap_record(7, b"") * 3_000_000)
    ]
    assert len(parts[1][1]) < 20_000
    file = mcap(
        tmp_path / "bag.mcap", [chunk(data, "zstd", packed) for data, packed in parts]
    )
    file.write_bytes(file.read_bytes()[:-8])  # without the index
    with soon(), pytest.warns(BagWarning, match="1 of 2 chunks of bag.mcap"):
        assert [message.received for message in read_all(file)] == list(
            range(0, 50_000_000, 1000)
        )


@pytest.mark.parametrize(
    ("others", "latched"), [(0, {TOPIC}), (99, {TOPIC}), (100, set())]
)
def test_size_of_metadata_is_limited(
    others: int, latched: set[str], tmp_path: Path
) -> None:
    metadata = {f"key {k}": "" for k in range(others)} | {
        "offered_qos_profiles": LATCHED
    }
    data = mcap_messages(1, 8)
    file = mcap(
        tmp_path / "bag.mcap",
        [chunk(data, "zstd", zstd.compress(data))],
        metadata=metadata,
    )
    with BagReader(file) as bag:
        assert bag.latched == latched


def test_chunks_that_overlap_in_time(tmp_path: Path) -> None:
    """rosbags would hold all of them at once: here they are sorted on disk."""
    data = mcap_messages(16, 1 << 16)
    file = mcap(tmp_path / "bag.mcap", [chunk(data, "zstd", zstd.compress(data))] * 40)
    assert file.stat().st_size < 40_000
    tracemalloc.start()
    with BagReader(file) as bag:
        assert [message.received for message in bag.messages()] == [1] * 600 + [2] * 40
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(data), "of 40"


def test_chunk_indexed_many_times(tmp_path: Path) -> None:
    """Each chunk is read once, whatever the index contains."""
    data = mcap_messages(100, 1000)
    file = mcap(
        tmp_path / "bag.mcap",
        [chunk(data, "zstd", zstd.compress(data))],
        [(0, k) for k in range(10_000)],
    )
    with soon():
        assert len(read_all(file)) == 100


def database(path: Path, count: int = 50, size: int = 1000) -> Path:
    data = joint_state(1, position=[0.1, 0.2]) + bytes(size)
    with closing(open_database(path, KINDS, "DELETE")) as connection:
        insert(
            connection,
            [Message(TOPIC, JOINT_STATE, 1000 + k, data) for k in range(count)],
        )
    return path


def hot_journal(bag: Path, named: Path) -> bytes:
    """Return an empty rollback journal that names a super-journal (sqlite.org/fileformat2.html, 3)."""
    magic = bytes.fromhex("d9d505f920a163d7")
    page_size = 4096
    page = bag.read_bytes()[:page_size]
    pages = bag.stat().st_size // page_size
    head = (magic + struct.pack(">IIIII", 1, 1, pages, 512, page_size)).ljust(
        512, b"\0"
    )
    checksum = 1 + sum(page[k] for k in range(page_size - 200, 0, -200))
    body = head + struct.pack(">I", 1) + page + struct.pack(">I", checksum)
    name = str(named).encode()
    lock_page = 0x40000000 // page_size + 1
    end = (
        struct.pack(">I", lock_page)
        + name
        + struct.pack(">II", len(name), sum(name))
        + magic
    )
    return body.ljust(-(-len(body) // 512) * 512, b"\0") + end


def test_journal_cannot_delete_a_named_file(tmp_path: Path) -> None:
    """sqlite3 itself deletes this file; the reader does not, and reads the bag."""
    precious = tmp_path / "precious"
    (tmp_path / "theirs").mkdir()
    precious.write_text("mine", encoding="utf-8")
    bags = [database(tmp_path / folder / "bag.db3") for folder in (".", "theirs")]
    for bag in bags:
        Path(f"{bag}-journal").write_bytes(hot_journal(bag, precious))
    assert len(read_all(bags[0])) == 50 and precious.exists()
    with closing(sqlite3.connect(bags[1])) as connection:
        connection.execute("SELECT count(*) FROM messages").fetchone()
    assert not precious.exists(), "or this test would show nothing"


def schema(bag: Path, *changes: str) -> None:
    """Rewrite the schema in ways that SQL does not permit."""
    with closing(sqlite3.connect(bag, isolation_level=None)) as connection:
        for change in ("PRAGMA writable_schema = ON", *changes):
            connection.execute(change)


ENDLESS = "WITH RECURSIVE n(k) AS (VALUES(1) UNION ALL SELECT k + 1 FROM n) SELECT"


@pytest.mark.parametrize(
    "view",
    [
        f"CREATE VIEW messages AS {ENDLESS} k AS id, 1 AS topic_id, k AS timestamp, x''00'' AS data FROM n",
        "CREATE VIEW messages AS SELECT 1 AS id, 1 AS topic_id, 5 AS timestamp, zeroblob(999999999) AS data",
        "CREATE VIEW messages AS SELECT id AS id, id AS topic_id, id AS timestamp, x''00'' AS data FROM topics",
    ],
    ids=["endless", "large", "any"],
)
def test_view_instead_of_a_table(view: str, tmp_path: Path) -> None:
    bag = database(tmp_path / "bag.db3", count=0)
    schema(
        bag,
        "DELETE FROM sqlite_master WHERE name = 'timestamp_idx'",
        f"UPDATE sqlite_master SET sql = '{view}', rootpage = 0 WHERE name = 'messages'",
    )
    with soon(), pytest.raises(BagError, match="bag.db3"):
        read_all(bag)


@pytest.mark.parametrize("value", ["zeroblob(900000000)", "f || f"])
def test_generated_columns(value: str, tmp_path: Path) -> None:
    """A few bytes per row that expand exponentially."""
    bag = tmp_path / "bag.db3"
    doubled = ", ".join(
        f"{b} AS ({a} || {a})" for a, b in zip("abcde", "bcdef", strict=True)
    )
    columns = f"id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, a BLOB, {doubled}, data BLOB AS ({value})"
    with closing(open_database(bag, KINDS, "DELETE")) as connection:
        connection.execute("DROP TABLE messages")
        connection.execute(f"CREATE TABLE messages({columns})")
        connection.execute(
            "INSERT INTO messages(topic_id, timestamp, a) VALUES (1, 1, x'00')"
        )
    with pytest.raises(BagError, match="bag.db3"):
        BagReader(bag)


def loops(bag: Path, levels: int = 4) -> None:
    """Let each inner page of the table refer to the next one several hundred times, and the last to one leaf."""
    with closing(sqlite3.connect(bag)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'messages'"
        ).fetchone()
    data = bytearray(bag.read_bytes())
    leaves = [
        k + 1 for k in range(len(data) // 4096) if data[4096 * k] == 13 and k + 1 > root
    ]
    chain = [root, *leaves[: levels - 1], leaves[-1]]
    for page, child in zip(chain, chain[1:], strict=False):
        cells = 450
        begin = 4096 - 5 * cells
        head = struct.pack(">BHHHBI", 5, 0, cells, begin, 0, child)
        pointers = b"".join(struct.pack(">H", begin + 5 * k) for k in range(cells))
        cell = struct.pack(">IB", child, 1)
        data[4096 * (page - 1) : 4096 * page] = (head + pointers).ljust(
            begin, b"\0"
        ) + cell * cells
    bag.write_bytes(data)


@pytest.mark.parametrize("indexed", [True, False])
def test_page_referenced_many_times(indexed: bool, tmp_path: Path) -> None:
    """The tree has thousands of millions of rows; the existing ones are read."""
    bag = database(tmp_path / "bag.db3")
    loops(bag)
    if not indexed:
        schema(bag, "DELETE FROM sqlite_master WHERE name = 'timestamp_idx'")
    with soon():
        messages = read_all(bag)
    assert 0 < len({message.received for message in messages}) == len(messages) <= 50


def test_rows_with_overlapping_bytes(tmp_path: Path) -> None:
    """All cells refer to one long row; reading each would take time quadratic in the file size."""
    bag = database(tmp_path / "bag.db3", count=300, size=9000)
    data = bytearray(bag.read_bytes())
    for page in range(len(data) // 4096):
        begin = 4096 * page
        cells = int.from_bytes(data[begin + 3 : begin + 5], "big")
        if data[begin] == 13 and 0 < cells < 100:
            place = data[begin + 8 : begin + 10]
            data[begin + 3 : begin + 5] = struct.pack(">H", 60)
            data[begin + 8 : begin + 128] = place * 60
    bag.write_bytes(data[:-4096])
    with soon(), pytest.raises(BagError, match="bag.db3"):
        read_all(bag)


def test_metadata_cannot_name_files_of_other_folders(tmp_path: Path) -> None:
    """Only files in the bag's folder are opened."""
    secret = record(tmp_path / "secret", some_messages(5)) / "secret.mcap"
    bag = record(tmp_path / "bag", some_messages(5))
    metadata = bag / "metadata.yaml"
    text = metadata.read_text(encoding="utf-8")
    for name in ("../secret/secret.mcap", str(secret), "..", "/etc/passwd"):
        metadata.write_text(text.replace("bag.mcap", name), encoding="utf-8")
        with pytest.raises(BagError):
            BagReader(bag)


def test_pipe_instead_of_a_file(tmp_path: Path) -> None:
    """Opening a pipe would block forever."""
    bag = record(tmp_path / "bag", some_messages(5))
    (bag / "bag.mcap").unlink()
    os.mkfifo(bag / "bag.mcap")
    with soon(), pytest.raises(BagError, match="bag.mcap"):
        BagReader(bag)
