"""Bags of every kind are read as they were written, byte for byte, and are not modified."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from robot_dynamics_ros.base.errors import BagError, BagWarning
from robot_dynamics_ros.recordings.bags import BagReader, Message
from robot_dynamics_ros.recordings.bags.storage import zstd
from support.bag_recordings import (
    KINDS,
    SCHEMA,
    START,
    insert,
    open_database,
    record,
    snapshot,
    some_messages,
    write_mcap,
)

MCAP = StoragePlugin.MCAP
SQLITE = StoragePlugin.SQLITE3
NONE = CompressionMode.NONE
FILE = CompressionMode.FILE
MESSAGE = CompressionMode.MESSAGE
STORAGE = CompressionMode.STORAGE

pytestmark = pytest.mark.filterwarnings("error")


def read(path: Path, topics: Any = None) -> list[Message]:
    """Return the messages of a bag, and check that reading does not change its folder."""
    before = snapshot(path.parent)
    with BagReader(path) as reader:
        messages = list(reader.messages(topics))
        assert reader.count(topics) == len(messages)
    assert snapshot(path.parent) == before
    return messages


@pytest.mark.parametrize(
    ("plugin", "mode"),
    [
        (MCAP, NONE),
        (MCAP, STORAGE),
        (MCAP, MESSAGE),
        (MCAP, FILE),
        (SQLITE, NONE),
        (SQLITE, MESSAGE),
        (SQLITE, FILE),
    ],
)
def test_folders_and_files_are_read_as_written(
    plugin: StoragePlugin, mode: CompressionMode, tmp_path: Path
) -> None:
    written = some_messages(500)
    folder = record(tmp_path / "bag", written, plugin, mode, latched=["/force"])
    assert read(folder) == written
    assert read(folder, ["/force"]) == [
        message for message in written if message.topic == "/force"
    ]
    assert read(folder, ["/nothing"]) == []
    (file,) = (file for file in folder.iterdir() if file.suffix != ".yaml")
    assert (file.suffix == ".zstd") == (mode == FILE) and read(file) == written
    with BagReader(file) as reader:
        assert (reader.topics, reader.latched) == (KINDS, frozenset({"/force"}))
        # Independent iterators.
        first = reader.messages()
        second = reader.messages()
        assert [a == b for a, b in zip(first, second, strict=True)] == [True] * 500


@pytest.mark.parametrize("plugin", [MCAP, SQLITE])
def test_messages_are_in_order_of_arrival(
    plugin: StoragePlugin, tmp_path: Path
) -> None:
    """Within and across chunks; messages of equal time are in the order of writing, as in Python's stable sort."""
    written = some_messages(400, size=10_000, step=0)
    noise = random.Random(1)
    written = [
        message._replace(received=START + noise.randrange(100)) for message in written
    ]
    assert read(record(tmp_path / "bag", written, plugin)) == sorted(
        written, key=lambda message: message.received
    )


@pytest.mark.parametrize("plugin", [MCAP, SQLITE])
def test_messages_with_impossible_times_are_counted(
    plugin: StoragePlugin, tmp_path: Path
) -> None:
    """MCAP has unsigned times, sqlite3 those of any type."""
    written = some_messages(6)
    folder = record(tmp_path / "bag", written, plugin)
    if plugin is MCAP:
        late = [m._replace(received=m.received + 2**63) for m in written[:2]]
        folder = record(tmp_path / "late", [*written[2:], *late], plugin)
    else:
        (file,) = folder.glob("*.db3")
        with closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE messages SET timestamp = 'x' WHERE id < 3")
            database.commit()
    with BagReader(folder) as reader, pytest.warns(BagWarning, match=f"{folder}: 2 "):
        assert list(reader.messages()) == written[2:]


@pytest.mark.parametrize("plugin", [MCAP, SQLITE])
def test_split_bags(plugin: StoragePlugin, tmp_path: Path) -> None:
    """Eleven files that overlap in time; number 10 follows 9, not 1."""
    written = [some_messages(20, start=START + 18_000_000 * k) for k in range(11)]
    folder = tmp_path / "bag"
    folder.mkdir()
    names = []
    for k, part in enumerate(written):
        (file,) = record(tmp_path / f"part{k}", part, plugin).glob("*.[md][cb]*")
        names.append(f"bag_{k}{file.suffix}")
        shutil.move(file, folder / names[-1])
    expected = sorted(
        (message for part in written for message in part),
        key=lambda message: message.received,
    )
    with pytest.warns(BagWarning, match=r"metadata\.yaml"):
        assert read(folder) == expected
    counts = [
        {
            "topic_metadata": {"name": topic},
            "message_count": sum(message.topic == topic for message in expected),
        }
        for topic in KINDS
    ]
    information = {"relative_file_paths": names, "topics_with_message_count": counts}
    (folder / "metadata.yaml").write_text(
        yaml.safe_dump({"rosbag2_bagfile_information": information})
    )
    assert read(folder) == expected
    (folder / names[3]).unlink()
    with pytest.warns(BagWarning, match=rf"{names[3]}\b.*\b200 of 220\b"):
        assert read(folder) == [
            message for message in expected if message not in written[3]
        ]


@pytest.mark.parametrize(
    "text", [None, "", "rosbag2_bagfile_information: {version: 9", "[1]"]
)
def test_missing_or_incomplete_metadata(text: str | None, tmp_path: Path) -> None:
    """A recorder that is killed during compression leaves the file and an incomplete compressed copy."""
    written = some_messages(30)
    folder = record(tmp_path / "bag", written)
    (folder / "metadata.yaml").unlink()
    (folder / "bag.mcap.zstd").write_bytes(
        zstd.compress((folder / "bag.mcap").read_bytes())[:100]
    )
    if text is not None:
        (folder / "metadata.yaml").write_text(text)
    with pytest.warns(BagWarning, match=r"metadata\.yaml") as reported:
        assert read(folder) == written
    assert len(reported) == 1


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_journal_of_a_killed_recorder(journal: str, tmp_path: Path) -> None:
    """Committed messages are read, from the file and its -wal; uncommitted ones are not."""
    written = some_messages(300)
    recording = tmp_path / "recording"
    killed = tmp_path / "killed"
    recording.mkdir()
    killed.mkdir()
    database = open_database(recording / "bag_0.db3", KINDS, journal)
    database.execute("PRAGMA cache_spill = 1")
    # writes uncommitted messages to the file, too
    database.execute("PRAGMA cache_size = 2")
    insert(database, written[:100])
    if journal == "WAL":
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        insert(database, written[100:200])
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)",
        [(message.received, message.data) for message in written[200:]],
    )
    for file in recording.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy(file, killed)
    database.close()
    assert (
        killed / ("bag_0.db3-wal" if journal == "WAL" else "bag_0.db3-journal")
    ).stat().st_size > 0
    assert read(killed / "bag_0.db3") == written[: 200 if journal == "WAL" else 100]


def test_other_databases_of_recorders(tmp_path: Path) -> None:
    """WAL mode without a journal, and the format of ROS 2 Dashing in a file whose name is invalid in a URL."""
    written = some_messages(100)
    for name, journal in (("bag.db3", "WAL"), ("50% of #1?.db3", "DELETE")):
        database = open_database(tmp_path / name, KINDS, journal)
        if journal == "DELETE":
            database.execute("ALTER TABLE topics DROP COLUMN offered_qos_profiles")
            database.executescript(
                "DROP INDEX timestamp_idx; DROP TABLE schema; DROP TABLE metadata"
            )
        insert(database, written)
        database.close()
        assert read(tmp_path / name) == written


SONGS = "CREATE TABLE songs(id INTEGER); INSERT INTO songs VALUES (1);"
JSON = f"{SCHEMA} INSERT INTO topics VALUES (1, '/force', '{KINDS['/force']}', 'json', '');"


@pytest.mark.parametrize(
    ("name", "content", "culprit"),
    [
        ("nowhere", None, ""),
        ("empty", None, r"\.mcap, \.db3"),
        ("old.bag", b"#ROSBAG V2.0\n" + bytes(100), "rosbags-convert"),
        ("empty.mcap", b"", r"empty\.mcap"),
        ("notes.mcap", b"some notes that are no bag", r"notes\.mcap"),
        ("other.db3", b"SQLite format 3\0" + bytes(4080), r"other\.db3"),
        ("songs.db3", SONGS, r"songs\.db3"),
        ("json.db3", JSON, "/force .*json"),
    ],
)
def test_other_files_are_refused(
    name: str, content: bytes | str | None, culprit: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    elif content is not None:
        with closing(sqlite3.connect(tmp_path / name)) as database:
            database.executescript(content)
    before = snapshot(tmp_path)
    with pytest.raises(BagError, match=f"{tmp_path / name}: .*{culprit}"):
        BagReader(tmp_path / name)
    assert snapshot(tmp_path) == before


def test_a_file_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = record(tmp_path / "bag", some_messages(3)).glob("*.mcap")

    def refuse(path: Path, *_: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything
    with pytest.raises(BagError, match=f"permission.* {file}"):
        BagReader(file)


def test_temporary_folders_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with BagReader(record(tmp_path / "bag", some_messages(30), SQLITE, FILE)) as reader:
        next(reader.messages())
        assert list(scratch.iterdir())
    assert not list(scratch.iterdir())
    (tmp_path / "x.mcap.zstd").write_bytes(zstd.compress(b"no bag"))
    with pytest.raises(BagError, match=r"x\.mcap"):
        BagReader(tmp_path / "x.mcap.zstd")
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "LZ4"},
        {"use_chunking": False},
        {"index_types": "NONE"},
        {
            "repeat_channels": False,
            "repeat_schemas": False,
            "use_statistics": False,
            "index_types": "NONE",
        },
    ],
    ids=str,
)
def test_mcap_of_another_writer(options: dict[str, Any], tmp_path: Path) -> None:
    written = some_messages(400)
    write_mcap(tmp_path / "bag.mcap", written, chunk_size=20_000, **options)
    assert read(tmp_path / "bag.mcap") == written
