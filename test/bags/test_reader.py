"""Every kind of bag gives back what was written, byte for byte, and is left as it was."""

import os
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bags.recordings import FLOAT, JOINT_STATE, START, insert, open_database, record, snapshot, some_messages
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from robot_dynamics_ros.bags import BagReader, BagWriter, Message
from robot_dynamics_ros.bags.storage import zstd
from robot_dynamics_ros.errors import BagError, BagWarning

MCAP, SQLITE = StoragePlugin.MCAP, StoragePlugin.SQLITE3
NONE, FILE, MESSAGE, STORAGE = (
    CompressionMode.NONE,
    CompressionMode.FILE,
    CompressionMode.MESSAGE,
    CompressionMode.STORAGE,
)
KINDS = {"/joint_states": JOINT_STATE, "/force": FLOAT}

pytestmark = pytest.mark.filterwarnings("error")


def read(path: Path, topics: Any = None) -> list[Message]:
    """What the reader gives, and that reading leaves no trace."""
    before = snapshot(path.parent)
    with BagReader(path) as reader:
        messages = list(reader.messages(topics))
        assert reader.count(topics) == len(messages)
        assert reader.path == path
    assert snapshot(path.parent) == before
    return messages


@pytest.mark.parametrize(
    ("plugin", "mode"),
    [(MCAP, NONE), (MCAP, STORAGE), (MCAP, MESSAGE), (MCAP, FILE), (SQLITE, NONE), (SQLITE, MESSAGE), (SQLITE, FILE)],
)
def test_whole_bags(plugin: StoragePlugin, mode: CompressionMode, tmp_path: Path) -> None:
    """As a folder, and the storage file alone, compressed or not."""
    written = some_messages(500)
    folder = record(tmp_path / "bag", written, plugin, mode)
    assert read(folder) == written
    assert read(folder, ["/force"]) == [message for message in written if message.topic == "/force"]
    assert read(folder, ["/nothing"]) == []
    (file,) = (file for file in folder.iterdir() if file.suffix != ".yaml")
    assert (file.suffix == ".zstd") == (mode == FILE)
    assert read(file) == written
    with BagReader(file) as reader:
        assert reader.topics == KINDS


def test_several_chunks(tmp_path: Path) -> None:
    """rosbags begins a new chunk after each 2^20 bytes."""
    written = some_messages(40, size=100_000)
    assert read(record(tmp_path / "bag", written)) == written


@pytest.mark.parametrize("plugin", [MCAP, SQLITE])
def test_messages_come_in_order_of_arrival(plugin: StoragePlugin, tmp_path: Path) -> None:
    """In and across chunks; those of the same time in the order in which they were written: Python's sort is stable."""
    written = some_messages(400, size=10_000, step=0)
    noise = random.Random(1)
    written = [message._replace(received=START + noise.randrange(100)) for message in written]
    assert read(record(tmp_path / "bag", written, plugin)) == sorted(written, key=lambda message: message.received)


@pytest.mark.parametrize("plugin", [MCAP, SQLITE])
def test_split_bags(plugin: StoragePlugin, tmp_path: Path) -> None:
    """Eleven files, each of which begins a little before the one before ends; 10 comes after 9, not after 1."""
    written = [some_messages(20, start=START + 18_000_000 * k) for k in range(11)]
    folder = tmp_path / "bag"
    folder.mkdir()
    names = []
    for k, part in enumerate(written):
        (file,) = record(tmp_path / f"part{k}", part, plugin).glob("*.[md][cb]*")
        names.append(f"bag_{k}{file.suffix}")
        shutil.move(file, folder / names[-1])
    lines = ["rosbag2_bagfile_information:", "  relative_file_paths:", *(f"  - {name}" for name in names)]
    lines += ["  topics_with_message_count:"]
    everything = [message for part in written for message in part]
    for topic in KINDS:
        count = sum(message.topic == topic for message in everything)
        lines.append(f"  - {{topic_metadata: {{name: {topic}}}, message_count: {count}}}")
    expected = sorted(everything, key=lambda message: message.received)
    with pytest.warns(BagWarning, match="no whole metadata.yaml"):
        assert read(folder) == expected
    (folder / "metadata.yaml").write_text("\n".join(lines))
    assert read(folder) == expected
    (folder / names[3]).unlink()
    with pytest.warns(BagWarning, match=rf"{names[3]} is missing \(200 of 220 messages are left\)\. Cure"):
        assert read(folder) == [message for message in expected if message not in written[3]]


@pytest.mark.parametrize("plugin", [MCAP, SQLITE])
@pytest.mark.parametrize("text", [None, "", "rosbag2_bagfile_information: {version: 9", "[1]"])
def test_without_whole_metadata(plugin: StoragePlugin, text: str | None, tmp_path: Path) -> None:
    written = some_messages(30)
    folder = record(tmp_path / "bag", written, plugin)
    (folder / "metadata.yaml").unlink()
    if text is not None:
        (folder / "metadata.yaml").write_text(text)
    with pytest.warns(
        BagWarning, match=r"bag: there is no whole metadata.yaml, so the recorder was killed.*Cure"
    ) as said:
        assert read(folder) == written
    assert len(said) == 1


def test_a_file_that_was_being_compressed(tmp_path: Path) -> None:
    """rosbag2 removes the plain file once the other is whole."""
    written = some_messages(30)
    folder = record(tmp_path / "bag", written)
    (folder / "metadata.yaml").unlink()
    (folder / "bag.mcap.zstd").write_bytes(zstd.compress((folder / "bag.mcap").read_bytes())[:100])
    with pytest.warns(BagWarning, match="no whole metadata.yaml"):
        assert read(folder) == written


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_what_a_killed_recorder_left_in_its_journal(journal: str, tmp_path: Path) -> None:
    """All that was committed, some of it in the file, some in its -wal; nothing of what was not."""
    written = some_messages(300)
    recording, killed = tmp_path / "recording", tmp_path / "killed"
    recording.mkdir()
    killed.mkdir()
    database = open_database(recording / "bag_0.db3", KINDS, journal)
    database.execute("PRAGMA cache_spill = 1")
    database.execute("PRAGMA cache_size = 2")  # so that what is not committed reaches the file, too
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
    assert (killed / ("bag_0.db3-wal" if journal == "WAL" else "bag_0.db3-journal")).stat().st_size > 0
    assert read(killed / "bag_0.db3") == written[: 200 if journal == "WAL" else 100]


def test_a_database_in_wal_mode_without_journal(tmp_path: Path) -> None:
    written = some_messages(100)
    database = open_database(tmp_path / "bag.db3", KINDS)
    insert(database, written)
    database.close()
    assert [file.name for file in tmp_path.iterdir()] == ["bag.db3"]
    assert read(tmp_path / "bag.db3") == written


def test_a_database_of_the_first_schema(tmp_path: Path) -> None:
    """Without offered_qos_profiles, as ROS 2 Dashing wrote them, and without the index."""
    written = some_messages(100)
    database = open_database(tmp_path / "bag.db3", KINDS, "DELETE")
    database.execute("ALTER TABLE topics DROP COLUMN offered_qos_profiles")
    database.execute("DROP INDEX timestamp_idx")
    insert(database, written)
    database.close()
    assert read(tmp_path / "bag.db3") == written


def test_a_name_that_a_url_would_not_take(tmp_path: Path) -> None:
    written = some_messages(10)
    (file,) = record(tmp_path / "bag", written, SQLITE).glob("*.db3")
    shutil.copy(file, tmp_path / "50% of #1?.db3")
    assert read(tmp_path / "50% of #1?.db3") == written


def test_latched_topics(tmp_path: Path) -> None:
    for plugin in (MCAP, SQLITE):
        with BagReader(record(tmp_path / plugin.name, some_messages(30), plugin, latched=["/force"])) as reader:
            assert reader.latched == {"/force"}


def test_without_messages(tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag", KINDS):
        pass
    assert read(tmp_path / "bag") == []
    with BagReader(tmp_path / "bag") as reader:
        assert (reader.topics, reader.count()) == (KINDS, 0)


def test_reading_begins_anew_each_time(tmp_path: Path) -> None:
    written = some_messages(50)
    for plugin in (MCAP, SQLITE):
        with BagReader(record(tmp_path / plugin.name, written, plugin)) as reader:
            first, second = reader.messages(), reader.messages()
            pairs = list(zip(first, second, strict=True))
        assert [a for a, _ in pairs] == [b for _, b in pairs] == written


# What is no bag


def _refused(path: Path) -> str:
    before = snapshot(path.parent)
    with pytest.raises(BagError) as caught:
        BagReader(path)
    assert snapshot(path.parent) == before
    said = str(caught.value)
    assert said.startswith(f"{path}: ") and ". Cure: " in said
    return said


def _file(name: str, content: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def _empty_folder(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "nowhere", "there is no such file or folder. Cure: check the path"),
        (_empty_folder, "cannot read the bag: no .mcap, .db3, .mcap.zstd, .db3.zstd file in the folder"),
        (_file("old.bag", b"#ROSBAG V2.0\n" + bytes(100)), "a bag of ROS 1. Cure: `rosbags-convert --src "),
        (_file("empty.mcap", b""), "empty.mcap is empty. Cure: record again"),
        (_file("notes.mcap", b"some notes that are no bag"), "neither MCAP nor sqlite3. Cure: name a bag of ROS 2"),
        (_file("other.db3", b"SQLite format 3\0" + bytes(4080)), "no topics can be read from it"),
    ],
)
def test_no_bag(make: Callable[[Path], Path], said: str, tmp_path: Path) -> None:
    assert said in _refused(make(tmp_path))


def test_another_database(tmp_path: Path) -> None:
    import sqlite3

    database = sqlite3.connect(tmp_path / "songs.db3")
    database.executescript("CREATE TABLE songs(id INTEGER); INSERT INTO songs VALUES (1);")
    database.close()
    assert "an sqlite3 file without the tables of a bag" in _refused(tmp_path / "songs.db3")


def test_another_serialization(tmp_path: Path) -> None:
    database = open_database(tmp_path / "bag.db3", KINDS, "DELETE")
    database.execute("UPDATE topics SET serialization_format = 'json' WHERE name = '/force'")
    database.close()
    assert "/force is serialized as json. Cure: convert the bag to cdr" in _refused(tmp_path / "bag.db3")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_no_permission(tmp_path: Path) -> None:
    (file,) = record(tmp_path / "bag", some_messages(3)).glob("*.mcap")
    file.chmod(0)
    with pytest.raises(BagError, match=f"no permission to read {file}.*Cure"):
        BagReader(file)


def test_no_permission_as_the_system_says_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = record(tmp_path / "bag", some_messages(3)).glob("*.mcap")

    def refuse(path: Path, *_: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BagError, match=f"no permission to read {file}. Cure: ask its owner"):
        BagReader(file)


def test_nothing_that_was_unpacked_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    folder = record(tmp_path / "bag", some_messages(30), SQLITE, FILE)
    with BagReader(folder) as reader:
        next(reader.messages())
        assert list(scratch.iterdir())
    assert not list(scratch.iterdir())
    _file("x.mcap.zstd", zstd.compress(b"no bag"))(tmp_path)
    with pytest.raises(BagError, match="neither MCAP nor sqlite3"):
        BagReader(tmp_path / "x.mcap.zstd")
    assert not list(scratch.iterdir())


# Other writers of MCAP


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "LZ4"},
        {"compression": "ZSTD"},
        {"compression": "NONE"},
        {"use_chunking": False},
        {"index_types": "NONE"},
        {"repeat_channels": False},
        {"use_statistics": False},
        {"repeat_channels": False, "repeat_schemas": False, "use_statistics": False, "index_types": "NONE"},
    ],
    ids=str,
)
def test_mcap_of_another_writer(options: dict[str, Any], tmp_path: Path) -> None:
    """The peer's chunks, indices and summaries, and files that have none of them."""
    writer = pytest.importorskip("mcap.writer", reason="the package mcap is not installed")
    named = {"compression": writer.CompressionType, "index_types": writer.IndexType}
    options = {name: named[name][value] if name in named else value for name, value in options.items()}
    written = some_messages(400)
    with (tmp_path / "bag.mcap").open("wb") as file:
        out = writer.Writer(file, chunk_size=20_000, **options)
        out.start("ros2", "test")
        schemas = {kind: out.register_schema(kind, "ros2msg", b"") for kind in KINDS.values()}
        channels = {topic: out.register_channel(topic, "cdr", schemas[kind]) for topic, kind in KINDS.items()}
        for message in written:
            out.add_message(channels[message.topic], message.received, message.data, message.received)
        out.finish()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path / "bag.mcap") == written
