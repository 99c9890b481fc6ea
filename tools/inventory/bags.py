"""Kinds of bags, complete, unfinished, damaged and malicious, and what BagReader reads of each."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import yaml
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from robot_dynamics_ros import BagError
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.recordings.bags.storage import zstd
from support.bag_recordings import (
    KINDS,
    SCHEMA,
    insert,
    open_database,
    record,
    some_messages,
)
from support.crafted_bags import chunk, mcap, mcap_messages, mcap_record
from tools.inventory.observed import lines

COUNT = 120
MCAP = StoragePlugin.MCAP
SQLITE = StoragePlugin.SQLITE3
PAGE = 4096  # bytes of a page of sqlite3


def _whole(
    folder: Path,
    plugin: StoragePlugin = MCAP,
    mode: CompressionMode = CompressionMode.NONE,
) -> Path:
    return record(folder / "bag", some_messages(COUNT, size=20_000), plugin, mode)


def _file(
    folder: Path,
    plugin: StoragePlugin = MCAP,
    mode: CompressionMode = CompressionMode.NONE,
) -> Path:
    (file,) = (
        file
        for file in _whole(folder, plugin, mode).iterdir()
        if file.name != "metadata.yaml"
    )
    return file


def _cut(file: Path, size: int, zeros: int = 0) -> Path:
    file.write_bytes(file.read_bytes()[:size] + bytes(zeros))
    return file


def _half(file: Path, zeros: int = 0) -> Path:
    return _cut(file, file.stat().st_size // 2, zeros)


def _shortened(file: Path, count: int) -> Path:
    return _cut(file, file.stat().st_size - count)


def _erased(file: Path, begin: int, size: int) -> Path:
    data = bytearray(file.read_bytes())
    data[begin : begin + size] = bytes(size)
    file.write_bytes(data)
    return file


def _crafted(folder: Path, *chunks: bytes, cut: int = 0) -> Path:
    """Return an MCAP file of these chunks; without the last ``cut`` bytes it has no index."""
    return _shortened(mcap(folder / "bag.mcap", list(chunks)), cut)


def _packed(data: bytes, compression: str = "zstd", size: int | None = None) -> bytes:
    return chunk(data, compression, zstd.compress(data), size)


def _killed(folder: Path, journal: str) -> Path:
    """Return a database as a killed recorder leaves it, with a journal."""
    database = open_database(folder / "recording.db3", KINDS, journal)
    database.execute("PRAGMA cache_size = 2")
    insert(database, some_messages(60))
    database.execute("BEGIN")
    rows = [(message.received, message.data) for message in some_messages(COUNT)[60:]]
    database.executemany(
        "INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", rows
    )
    for file in folder.glob("recording.db3*"):
        if not file.name.endswith("-shm"):
            shutil.copy(file, folder / file.name.replace("recording", "bag"))
    database.close()
    return folder / "bag.db3"


def _database(folder: Path, *statements: str) -> Path:
    """Return a database with messages, changed by ``statements`` of SQL."""
    with closing(open_database(folder / "bag.db3", KINDS, "DELETE")) as database:
        insert(database, some_messages(COUNT))
        for statement in statements:
            database.execute(statement)
    return folder / "bag.db3"


def _other(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _script(path: Path, script: str) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
    return path


def _with_metadata(folder: Path, text: str | None = None, **changes: object) -> Path:
    """Return a bag whose metadata.yaml is replaced by ``text``, or has other values."""
    bag = _whole(folder)
    metadata = bag / "metadata.yaml"
    information = (
        yaml.safe_load(metadata.read_text(encoding="utf-8"))[
            "rosbag2_bagfile_information"
        ]
        | changes
    )
    metadata.write_text(
        yaml.safe_dump({"rosbag2_bagfile_information": information})
        if text is None
        else text
    )
    return bag


def _without(bag: Path, name: str) -> Path:
    (bag / name).unlink()
    return bag


def _split(folder: Path) -> Path:
    """Return a bag of two files of which one is missing."""
    bag = _with_metadata(folder, relative_file_paths=["bag_0.mcap", "bag_1.mcap"])
    (bag / "bag.mcap").rename(bag / "bag_1.mcap")
    return bag


def _pipe(folder: Path) -> Path:
    bag = _without(_whole(folder), "bag.mcap")
    os.mkfifo(bag / "bag.mcap")
    return bag


def _damaged_messages(folder: Path) -> Path:
    messages = [
        message._replace(data=zstd.compress(message.data))
        for message in some_messages(COUNT)
    ]
    messages[4] = messages[4]._replace(data=messages[4].data[:-5])
    return record(folder / "bag", messages)


_MESSAGE = mcap_messages(1, 8)
_UNDEFINED = mcap_record(5, struct.pack("<HIQQ", 7, 0, 1, 1) + bytes(8))
_VIEW = "CREATE VIEW messages AS SELECT id AS id, id AS topic_id, id AS timestamp, x''00'' AS data FROM topics"

#: Function of an empty folder that makes the bag, by its kind.
BAGS: dict[str, Callable[[Path], Path]] = {
    "MCAP": _whole,
    "MCAP, compressed chunks": lambda folder: _whole(
        folder, MCAP, CompressionMode.STORAGE
    ),
    "MCAP, compressed messages": lambda folder: _whole(
        folder, MCAP, CompressionMode.MESSAGE
    ),
    "MCAP, compressed file": lambda folder: _whole(folder, MCAP, CompressionMode.FILE),
    "MCAP, file without its folder": _file,
    "MCAP, truncated": lambda folder: _half(_file(folder)),
    "MCAP, truncated, with zeros at the end": lambda folder: _half(
        _file(folder), 10_000
    ),
    "MCAP, truncated, compressed chunks": lambda folder: _half(
        _file(folder, MCAP, CompressionMode.STORAGE)
    ),
    "MCAP, truncated compressed file": lambda folder: _half(
        _file(folder, MCAP, CompressionMode.FILE)
    ),
    "MCAP, without the end of its index": lambda folder: _shortened(_file(folder), 9),
    "MCAP, damaged chunk": lambda folder: _crafted(
        folder, chunk(_MESSAGE, "zstd", b"damaged"), _packed(_MESSAGE)
    ),
    "MCAP, damaged message": _damaged_messages,
    "MCAP, chunks that overlap": lambda folder: _crafted(
        folder, *[_packed(_MESSAGE)] * 3
    ),
    "MCAP, unknown compression": lambda folder: _crafted(
        folder, _packed(_MESSAGE, "brotli"), _packed(_MESSAGE)
    ),
    "MCAP, chunk of wrong size": lambda folder: _crafted(
        folder, _packed(_MESSAGE, size=1 << 20), _packed(_MESSAGE)
    ),
    "MCAP, chunk larger than memory": lambda folder: _crafted(
        folder, _packed(_MESSAGE, size=1 << 62)
    ),
    "MCAP, chunk of many empty records": lambda folder: _crafted(
        folder, _packed(mcap_record(7, b"") * 300_000), cut=8
    ),
    "MCAP, undefined channel": lambda folder: _crafted(
        folder, _packed(_MESSAGE + _UNDEFINED), cut=8
    ),
    "sqlite3": lambda folder: _whole(folder, SQLITE),
    "sqlite3, compressed messages": lambda folder: _whole(
        folder, SQLITE, CompressionMode.MESSAGE
    ),
    "sqlite3, compressed file": lambda folder: _whole(
        folder, SQLITE, CompressionMode.FILE
    ),
    "sqlite3, truncated": lambda folder: _half(_file(folder, SQLITE)),
    "sqlite3, truncated before the topics": lambda folder: _cut(
        _file(folder, SQLITE), 3000
    ),
    "sqlite3, damaged page": lambda folder: _erased(_database(folder), 8 * PAGE, PAGE),
    "sqlite3, WAL of a killed recorder": lambda folder: _killed(folder, "WAL"),
    "sqlite3, journal of a killed recorder": lambda folder: _killed(folder, "DELETE"),
    "sqlite3, messages in a view": lambda folder: _database(
        folder,
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_master WHERE name = 'timestamp_idx'",
        f"UPDATE sqlite_master SET sql = '{_VIEW}', rootpage = 0 WHERE name = 'messages'",
    ),
    "sqlite3, generated data": lambda folder: _database(
        folder,
        "DROP TABLE messages",
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id, timestamp, data AS (zeroblob(900000000)))",
        "INSERT INTO messages(topic_id, timestamp) VALUES (1, 1)",
    ),
    "sqlite3, topic of another encoding": lambda folder: _database(
        folder, "UPDATE topics SET serialization_format = 'json'"
    ),
    "sqlite3, other tables": lambda folder: _script(
        folder / "songs.db3", "CREATE TABLE songs(id INTEGER)"
    ),
    "sqlite3, schema alone": lambda folder: _script(folder / "bag.db3", SCHEMA),
    "folder without metadata.yaml": lambda folder: _without(
        _whole(folder), "metadata.yaml"
    ),
    "folder with incomplete metadata.yaml": lambda folder: _with_metadata(
        folder, "rosbag2_bagfile_information: {"
    ),
    "folder without the file": lambda folder: _without(_whole(folder), "bag.mcap"),
    "folder without one of its files": _split,
    "folder that names a file of another folder": lambda folder: _with_metadata(
        folder, relative_file_paths=["../other/other.mcap"]
    ),
    "folder with a pipe": _pipe,
    "empty folder": lambda folder: folder,
    "empty file": lambda folder: _other(folder / "bag.mcap", b""),
    "bag of ROS 1": lambda folder: _other(
        folder / "old.bag", b"#ROSBAG V2.0\n" + bytes(100)
    ),
    "another file": lambda folder: _other(
        folder / "notes.mcap", b"some notes that are no bag"
    ),
    "nothing": lambda folder: folder / "nothing",
}


def bags() -> Iterator[str]:
    """Yield for each kind of bag whether it is read, with its warning, or refused."""
    for kind, make in BAGS.items():
        folder = Path(kind.replace(", ", "_").replace(" ", "_"))
        folder.mkdir()
        yield f"bag: {kind}: {_read(make(folder)).replace(str(folder), '.')}"


def _read(path: Path) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with BagReader(path) as bag:
                count = len(list(bag.messages()))
        except BagError as error:
            return f"refused, {' '.join(lines(str(error)))}"
    reported = "".join(
        f", {' '.join(lines(str(warning.message)))}" for warning in caught
    )
    return ("read" if count else "read, without messages") + reported
