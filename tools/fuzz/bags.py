"""Invalid bags of several files; an input is a zip archive of the files of a folder."""

from __future__ import annotations

import sqlite3
import struct
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from zipfile import ZIP_DEFLATED, ZipFile

import hypothesis.strategies as st
import yaml
from hypothesis.strategies import DrawFn
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from robot_dynamics_ros.recordings.bags import BagReader, Message, read_description
from robot_dynamics_ros.recordings.bags.differences import contents
from robot_dynamics_ros.recordings.bags.joint_series import (
    read_joint_states,
)
from robot_dynamics_ros.recordings.bags.recovery import MCAP
from robot_dynamics_ros.recordings.messages.joint_state import unchanged
from support.bag_recordings import (
    JOINT_STATE,
    START,
    TEXT,
    insert,
    joint_state,
    open_database,
    record,
    text,
)
from support.crafted_bags import many_names, mcap_record
from tools.fuzz.inputs import FEW, damaged, pick, yaml_files
from tools.fuzz.trial import Wrong, with_bait

Files = dict[str, bytes]

METADATA = "metadata.yaml"
_KINDS = {
    "/joint_states": JOINT_STATE,
    "/joint_trajectory": "trajectory_msgs/msg/JointTrajectory",
    "/robot_description": TEXT,
}
_RECORD = struct.Struct("<BQ")  # operation and length of an MCAP record
_CHUNK = 6
_CHUNK_HEAD = (
    28  # first and last arrival, size, checksum; compression and records follow
)
_PAGE = 4096  # of sqlite3
_VALUES = ("NULL", "''", "'x'", "1.5", "-1", "9223372036854775807", "x''", "x'00'", "zeroblob(300000)", "'@bait@'",
           "1e300", "CAST(x'ff' AS TEXT)", "rowid", "'1) UNION SELECT 1,2,3,4 --'")  # fmt: skip
_COLUMNS = {
    "messages": ("id", "topic_id", "timestamp", "data"),
    "topics": ("id", "name", "type", "serialization_format", "offered_qos_profiles"),
}
_SCHEMAS = (
    "CREATE TABLE {0}(id TEXT PRIMARY KEY, topic_id TEXT, timestamp TEXT, data TEXT, name, type, serialization_format)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id REAL, timestamp REAL, data BLOB)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id, timestamp, data, UNIQUE(data)) WITHOUT ROWID",
    "CREATE TABLE {0}(id, topic_id INTEGER, timestamp INTEGER COLLATE NOCASE, data BLOB CHECK (data > 1))",
    "CREATE TABLE {0}(data BLOB, timestamp INTEGER, topic_id INTEGER, id INTEGER PRIMARY KEY)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data AS (zeroblob(900000000)))",
    "CREATE TABLE {0}(id, name BLOB, type INTEGER, serialization_format REAL, offered_qos_profiles BLOB)",
    "CREATE VIEW {0} AS SELECT 1 AS id, 1 AS topic_id, 5 AS timestamp, zeroblob(900000000) AS data",
    "CREATE VIRTUAL TABLE {0} USING fts5(id, topic_id, timestamp, data)",
    "CREATE VIRTUAL TABLE {0} USING rtree(id, topic_id, timestamp, data)",
    "CREATE INDEX {0} ON messages(data)",
    "CREATE TABLE {0}(",
    "",
)
_STATEMENTS = (
    "UPDATE {table} SET {column} = {value}",
    "UPDATE OR IGNORE {table} SET {column} = {value} WHERE rowid = {number}",
    "UPDATE sqlite_master SET sql = '{schema}' WHERE name = '{table}'",
    "UPDATE sqlite_master SET rootpage = {number} WHERE name = '{table}'",
    "UPDATE sqlite_master SET name = 'x', type = 'view' WHERE name = '{table}'",
    "UPDATE sqlite_master SET sql = NULL WHERE name = 'timestamp_idx'",
    "DROP TABLE {table}",
    "DROP INDEX timestamp_idx",
    "VACUUM",
    "PRAGMA encoding = 'UTF-16'",
    "ALTER TABLE {table} RENAME TO other",
    "ALTER TABLE {table} DROP COLUMN {column}",
    "CREATE INDEX other ON messages(topic_id, timestamp DESC)",
    "INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE rowid > {number}",
    "CREATE TABLE other({types}); INSERT INTO other SELECT * FROM {table}; DROP TABLE {table}; "
    "ALTER TABLE other RENAME TO {table}",
)


def packed(files: Files) -> bytes:
    """Return files as one input."""
    archive = BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return archive.getvalue()


@st.composite
def bags(draw: DrawFn) -> bytes:
    """Return a damaged bag, in its structure or in its bytes."""
    files = dict(pick(draw, originals()))
    for name in {pick(draw, list(files)), pick(draw, list(files))}:
        for _ in range(draw(FEW)):
            kind = draw(st.integers(0, 2)) and name.rpartition(".")[2]
            if kind == "yaml":
                files[name] = draw(yaml_files([_yaml(files[name])]))
            elif kind == "mcap":
                files[name] = _damaged_mcap(draw, files[name])
            elif kind == "db3":
                files[name] = _damaged_database(draw, files[name])
            else:
                files[name] = draw(damaged(files[name]))
    return packed(files)


def _yaml(data: bytes) -> object:
    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def _number(
    draw: DrawFn, size: int, length: int, order: Literal["little", "big"] = "little"
) -> bytes:
    top = 1 << 8 * size
    value = draw(
        st.sampled_from((0, 1, 8, length, length + 1, top // 2 - 1, top - 1))
        | st.integers(0, length)
    )
    return (value % top).to_bytes(size, order)


def _records(data: bytes) -> list[tuple[int, bytes]]:
    records = []
    at = 0
    while at + _RECORD.size <= len(data):
        operation, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        records.append((operation, data[at : at + length]))
        at += length
    return records


def _damaged_mcap(draw: DrawFn, data: bytes) -> bytes:
    """Change records, chunks and indexes (mcap.dev/spec); offsets are not adapted, so that entries may be wrong."""
    records = _records(data[len(MCAP) :])
    if not records:
        return data
    _change_records(draw, records)
    parts = [mcap_record(*record) for record in records]
    if draw(st.integers(0, 9)) == 5:  # a wrong length
        k = draw(st.integers(0, len(parts) - 1))
        parts[k] = parts[k][:1] + _number(draw, 8, len(data)) + parts[k][9:]
    return MCAP + b"".join(parts) + (MCAP if draw(st.integers(0, 9)) else b"")


def _change_records(draw: DrawFn, records: list[tuple[int, bytes]]) -> None:
    k = pick(
        draw, [i for i, (operation, _) in enumerate(records) if operation != 5] or [0]
    )  # mostly not messages
    k = pick(draw, (k, k, draw(st.integers(0, len(records) - 1))))
    operation, body = records[k]
    match draw(st.integers(0, 7)):
        case 0 if len(records) > 1:
            del records[k]
        case 1:
            records[k:k] = [records[k]] * pick(
                draw, (1, 2, 1000 if len(body) < 1000 else 3)
            )
        case 2:
            records[k] = pick(draw, (*range(16), 128, 255)), body
        case 3:
            # attachment
            records.insert(k, (9, bytes(28) + _number(draw, 8, len(body))))
        case 4 if operation == _CHUNK and not any(
            body[_CHUNK_HEAD : _CHUNK_HEAD + 4]
        ):  # not compressed
            inner = _records(body[_CHUNK_HEAD + 12 :])
            if inner:
                _change_records(draw, inner)
            data = b"".join(mcap_record(*record) for record in inner)
            records[k] = (
                operation,
                body[:16] + struct.pack("<QIIQ", len(data), 0, 0, len(data)) + data,
            )
        case _ if body:  # a number in it, or a text's length
            at = 2 * draw(
                st.integers(0, min(len(body), 60 if operation == _CHUNK else 200) // 2)
            )
            size = pick(draw, (2, 4, 8, 8))
            records[k] = (
                operation,
                body[:at] + _number(draw, size, len(body)) + body[at + size :],
            )


def _damaged_database(draw: DrawFn, data: bytes) -> bytes:
    """Change numbers of the header, of page headers or elsewhere (sqlite.org/fileformat2.html), or execute SQL."""
    pages = len(data) // _PAGE
    if pages < 2:
        return data
    kept = bytearray(data)
    page = draw(st.integers(0, pages - 1)) * _PAGE
    begin = page or 100
    match draw(st.integers(0, 8)):
        case 0:
            at = draw(st.integers(16, 99))
            size = pick(draw, (1, 2, 4))
            kept[at : at + size] = _number(draw, size, pages, "big")
        case 1:
            kept[begin] = pick(draw, (2, 5, 10, 13, 0, 255))  # type of the page
        case 2:  # first free block, number of cells, their begin, page on the right, places of cells
            at = begin + pick(draw, (1, 3, 5, 8, 10, 12, 14))
            kept[at : at + 2] = _number(draw, 2, pages, "big")
        case 3:  # possibly the number of an overflow page
            at = page + draw(st.integers(0, _PAGE - 4))
            kept[at : at + 4] = draw(st.integers(0, pages + 1)).to_bytes(4, "big")
        case 4:  # an inner page whose cells all refer to one page, perhaps itself
            child = (page // _PAGE + draw(st.integers(0, 2))).to_bytes(4, "big")
            count = pick(draw, (1, 30, 400))
            places = range(_PAGE - 5 * count, _PAGE, 5)
            head = b"\x05\0\0" + struct.pack(">HH", count, places[0]) + b"\0" + child
            head += b"".join(struct.pack(">H", place) for place in places)
            kept[page + places[0] : page + _PAGE] = (child + b"\x01") * count
            kept[begin : begin + len(head)] = head
        case _:
            return _executed(draw, data)
    return bytes(kept)


def _executed(draw: DrawFn, data: bytes) -> bytes:
    """Change rows, columns or the schema with sqlite3 itself."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bag.db3"
        file.write_bytes(data)
        database = sqlite3.connect(file, isolation_level=None)
        try:
            for _ in range(draw(st.integers(1, 2))):
                table = pick(draw, list(_COLUMNS))
                kinds = (
                    "TEXT",
                    "REAL",
                    "BLOB",
                    "INTEGER",
                    "NUMERIC",
                    "",
                    "",
                    "",
                    "INTEGER PRIMARY KEY",
                )
                statement = pick(draw, _STATEMENTS).format(
                    table=table,
                    column=pick(draw, _COLUMNS[table][1:]),
                    value=pick(draw, _VALUES),
                    number=draw(st.integers(0, 40)),
                    schema=pick(draw, _SCHEMAS).format(table),
                    types=", ".join(
                        f"{name} {pick(draw, kinds)}" for name in _COLUMNS[table]
                    ),
                )
                database.executescript(f"PRAGMA writable_schema = ON; {statement}")
        except sqlite3.Error:  # it was damaged before, or the change is not permitted
            pass
        finally:
            database.close()
        return file.read_bytes()


def read(data: bytes) -> None:
    """Read an input as a bag in all ways; the input files must not change."""
    with ZipFile(BytesIO(data)) as archive:
        files = {name: with_bait(archive.read(name)) for name in archive.namelist()}
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        try:
            _read(
                Path(folder) if METADATA in files else Path(folder) / next(iter(files))
            )
        finally:
            if {
                file.name: file.read_bytes() for file in Path(folder).iterdir()
            } != files:
                raise Wrong("the bag was changed")


def _read(bag: Path) -> None:
    with BagReader(bag) as reader:
        reader.count()
        for message in reader.messages():
            contents(message.data, message.kind, unchanged)
    read_description(bag)
    series = read_joint_states(bag, ["/joint_states"])["/joint_states"]
    if len(series.stamps) == 0:
        raise Wrong("nothing was read")


def _messages() -> list[Message]:
    """Return messages of a bag, some of them invalid."""
    found = [
        Message(
            "/robot_description",
            TEXT,
            START,
            text('<robot name="r"><link name="base"/></robot>'),
        )
    ]
    for k in range(60):
        at = START + k * 1_000_000
        state = joint_state(
            at,
            ("joint1", "joint2"),
            *([0.1 * k, -0.1] if k % 7 else [0.2] for _ in range(k % 3 + 1)),
        )
        topic = "/joint_trajectory" if k % 10 == 9 else "/joint_states"
        found.append(
            Message(topic, _KINDS[topic], at, many_names(3) if k % 10 == 9 else state)
        )
    return found


@cache
def originals() -> list[Files]:
    """Return valid bags of every kind, written by rosbags, and by sqlite3 like a recorder that is killed."""
    found = []
    with TemporaryDirectory() as scratch:
        for k, plugin in enumerate(StoragePlugin):
            for mode in CompressionMode:
                if plugin is StoragePlugin.SQLITE3 and mode is CompressionMode.STORAGE:
                    continue  # it has no chunks
                bag = record(
                    Path(scratch) / f"{k}{mode.name}" / "bag", _messages(), plugin, mode
                )
                files = {file.name: file.read_bytes() for file in bag.iterdir()}
                found.append(files)
                found.append(
                    {name: data for name, data in files.items() if name != METADATA}
                )
        found.append(_killed(Path(scratch) / "wal.db3", "WAL"))
        found.append(_killed(Path(scratch) / "journal.db3", "DELETE"))
    return found


def _killed(path: Path, journal: str) -> Files:
    """Return a .db3 file and its journal in the middle of a transaction."""
    database = open_database(path, _KINDS, journal)
    insert(database, _messages()[:20])
    database.execute("PRAGMA cache_size = 1")  # changes are written to the file at once
    database.execute("BEGIN")
    database.execute(
        "UPDATE messages SET timestamp = timestamp + 1, data = data || x'0000'"
    )
    if journal == "WAL":
        database.execute("COMMIT")
    end = "-wal" if journal == "WAL" else "-journal"
    files = {
        "bag.db3": path.read_bytes(),
        f"bag.db3{end}": path.with_name(path.name + end).read_bytes(),
    }
    database.close()
    return files
