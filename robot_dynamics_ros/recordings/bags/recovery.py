"""Recovery of bag files that rosbags rejects, or would read with unbounded memory: truncated, damaged or crafted files.

Complete messages are read chunk by chunk from an MCAP file (mcap.dev/spec), without its index, or by queries from an
sqlite3 file. They are written to a temporary .db3 file, which rosbags reads.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import struct
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple

import lz4.frame  # type: ignore[import-untyped]
import numpy as np

from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.recordings.bags.storage import zstd
from robot_dynamics_ros.recordings.thresholds import (
    BYTES_AT_ONCE,
    CHUNK_RECORDS,
    CHUNKS_AT_ONCE,
    DATABASE_STEPS,
    DATABASE_STEPS_PER_BYTE,
    LARGEST_CHUNK_RATIO,
    LARGEST_FILE_RATIO,
    LARGEST_UNPACKED,
    LEAST_FILE_LIMIT,
    LONGEST_PROFILES,
    LONGEST_ZEROS,
    MOST_METADATA_KEYS,
    RECORDS_PER_BYTE,
)

MCAP = b"\x89MCAP0\r\n"
SQLITE = b"SQLite format 3\0"
"""First bytes of the files."""

_LATCHED = re.compile(r"""\bdurability["']?\s*:\s*["']?(1|transient_local)\b""")
_LATCHED_QOS = """\
- {history: 1, depth: 1, reliability: 1, durability: 1, deadline: {sec: 0, nsec: 0}, lifespan: {sec: 0, nsec: 0},
   liveliness: 1, liveliness_lease_duration: {sec: 0, nsec: 0}, avoid_ros_namespace_conventions: false}"""
_SCHEMA_SQL = """\
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);
BEGIN"""

# row id, channel, time of arrival (ns), data
_Row = tuple["int | None", int, int, bytes]


class Channel(NamedTuple):
    """A topic of a storage file: its message type ``kind``, ``encoding`` ("cdr") and rosbag2's YAML ``offered_qos``."""

    topic: str
    kind: str
    encoding: str
    offered_qos: str


def rebuild(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Write the complete messages of a file to recovered.db3 in ``folder``; return its path and descriptions of losses.

    ``folder`` must be empty. Raises ValueError if the file is not a bag, its topics are lost, or it unpacks to more
    than ``most_unpacked(path)`` bytes.
    """
    channels: dict[int, Channel] = {}
    losses: list[str] = []
    with path.open("rb") as file:
        read = _mcap_rows if file.read(len(MCAP)) == MCAP else _sqlite_rows
    target = folder / "recovered.db3"
    left = most_unpacked(path)
    with closing(sqlite3.connect(target, isolation_level=None)) as database:
        database.executescript(_SCHEMA_SQL)
        for row in read(path, channels, losses):
            left -= len(row[3])
            if left < 0:
                raise ValueError(
                    f"it unpacks to more than {most_unpacked(path) * 1e-9:.1f} GB"
                )
            database.execute("INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?)", row)
        for number, (*names, offered) in channels.items():
            topic = (number, *names, _LATCHED_QOS if _LATCHED.search(offered) else "")
            database.execute("INSERT INTO topics VALUES (?, ?, ?, ?, ?)", topic)
        left_out = database.execute(
            "DELETE FROM messages WHERE topic_id NOT IN (SELECT id FROM topics)"
        ).rowcount
        if left_out:
            losses.append(
                f"{left_out} messages of {path.name} are left out: their channels are not defined"
            )
        database.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
        database.execute("COMMIT")
    return target, losses


def most_unpacked(path: Path) -> int:
    """Return the largest unpacked size (bytes) accepted for a file: 100 times its size, but at least 1 GiB."""
    return max(LEAST_FILE_LIMIT, LARGEST_FILE_RATIO * path.stat().st_size)


def _is_plain_yaml(offered_qos: object) -> bool:
    """Return True if YAML parsing needs bounded time and memory."""
    try:
        return (
            isinstance(offered_qos, str)
            and len(offered_qos) < LONGEST_PROFILES
            and load_yaml(offered_qos) is not False
        )
    except NotPlainYaml:
        return False


# MCAP

_FOOTER = 2
_SCHEMA = 3
_CHANNEL = 4
_MESSAGE = 5
_CHUNK = 6
_CHUNK_INDEX = 8
_STATISTICS = 11
_DATA_END = 15
_FOOTER_SIZE = 37  # bytes, with the trailing magic bytes
_RECORD = struct.Struct("<BQ")  # opcode, length of the content
_MESSAGE_HEAD = struct.Struct("<H4xq8x")  # channel, received
_CHUNK_HEAD = struct.Struct("<16xQI")  # size, checksum
# bytes without compressed records and name of compression
_CHUNK_SIZE = _RECORD.size + _CHUNK_HEAD.size + 4 + 8
_DECOMPRESSORS: dict[str, Any] = {
    "zstd": zstd.ZstdDecompressor,
    "lz4": lz4.frame.LZ4FrameDecompressor,
}
_DAMAGE = (
    struct.error,
    ValueError,
    OverflowError,
    MemoryError,
    RuntimeError,
    EOFError,
    zstd.ZstdError,
)


def mcap_is_bounded(path: Path) -> bool:
    """Return True if rosbags reads a file with bounded memory: its index lists disjoint chunks of their true sizes.

    rosbags unpacks all chunks of a file without an index at once, and keeps chunks that overlap in time. False for a
    damaged file and one of another format. Raises OSError if it cannot be opened.
    """
    size = path.stat().st_size
    with path.open("rb") as file, suppress(*_DAMAGE):
        file.seek(max(0, size - _FOOTER_SIZE))
        footer = file.read()
        (summary,) = struct.unpack_from("<Q", footer, _RECORD.size)
        if footer.endswith(MCAP) and 0 < summary and size - summary <= LARGEST_UNPACKED:
            file.seek(summary)
            return _index_is_bounded(
                file, size, file.read(size - _FOOTER_SIZE - summary)
            )
    return False


def _index_is_bounded(file: BinaryIO, size: int, summary: bytes) -> bool:
    opcodes = set()
    chunks = []
    for opcode, body in _records(summary):
        opcodes.add(opcode)
        if opcode == _CHANNEL and not _is_plain_yaml(_channel(body, {})[1].offered_qos):
            return False
        if opcode == _CHUNK_INDEX:
            first, last, begin, length, indexes = struct.unpack_from("<QQQQI", body)
            compression, end = _text(body, 36 + indexes + 8)
            chunks.append(
                (
                    begin,
                    length,
                    first,
                    last,
                    compression,
                    *struct.unpack_from("<QQ", body, end),
                )
            )
    end_of_last = 0
    held = []
    for begin, length, first, last, compression, packed, plain in sorted(chunks):
        if (
            begin < end_of_last
            or begin + length > size
            or plain > BYTES_AT_ONCE + LARGEST_CHUNK_RATIO * packed
        ):
            return False
        if length != _CHUNK_SIZE + len(compression) + packed or (
            packed != plain and not compression
        ):
            return False
        end_of_last = begin + length
        held += [(first, plain), (max(first, last) + 1, -plain)]
        if compression:
            file.seek(begin + length - packed)
            records, error = unpacked(
                compression, file.read(packed), min(plain, CHUNKS_AT_ONCE)
            )
            if error or len(records) != plain:
                return False
    overlapping = np.cumsum([plain for _, plain in sorted(held)])
    return (
        opcodes >= {_STATISTICS, _SCHEMA}
        and bool(chunks)
        and int(overlapping.max()) <= CHUNKS_AT_ONCE
    )


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and body of each record; ValueError for an incomplete one."""
    at = 0
    size = len(data)
    unpack = _RECORD.unpack_from
    while at < size:
        opcode, length = unpack(data, at)
        at += _RECORD.size + length
        if at > size:
            raise ValueError("a record is truncated")
        yield opcode, data[at - length : at]


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and its end."""
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + length
    if end > len(data):
        raise ValueError("a text is truncated")
    return data[at + 4 : end].decode(errors="replace"), end


def _channel(body: bytes, schemas: Mapping[int, str]) -> tuple[int, Channel]:
    number, schema = struct.unpack_from("<HH", body)
    topic, at = _text(body, 4)
    encoding, at = _text(body, at)
    end = at + 4 + int.from_bytes(body[at : at + 4], "little")
    metadata = {}
    at = at + 4
    for _ in range(MOST_METADATA_KEYS):
        if at < end:
            key, at = _text(body, at)
            metadata[key], at = _text(body, at)
    return number, Channel(
        topic,
        schemas.get(schema, ""),
        encoding,
        metadata.get("offered_qos_profiles", ""),
    )


def unpacked(compression: str, packed: bytes, most: int) -> tuple[bytes, str]:
    """Return unpacked data up to the first error, and that error; no data if it has more than ``most`` bytes.

    ``compression`` is zstd, lz4 or empty. A truncated frame is an error, several frames are none.
    """
    if not compression:
        return packed, ""
    if compression not in _DECOMPRESSORS:
        return b"", f"unknown compression {compression}"
    data = bytearray()
    frame = _DECOMPRESSORS[compression]()
    try:
        for at in range(0, len(packed), BYTES_AT_ONCE):
            piece = packed[at : at + BYTES_AT_ONCE]
            while piece:
                if frame.eof:
                    frame = _DECOMPRESSORS[compression]()
                data += frame.decompress(piece, most + 1 - len(data))
                if len(data) > most:
                    return b"", "it unpacks to more than its declared size"
                piece = frame.unused_data
    except (zstd.ZstdError, RuntimeError) as error:
        return bytes(data), str(error)
    return bytes(data), "" if frame.eof else "the packed data is truncated"


def _mcap_rows(
    path: Path, channels: dict[int, Channel], losses: list[str]
) -> Iterator[_Row]:
    """Yield the messages in the order of the file; fill ``channels`` and ``losses``."""
    schemas: dict[int, str] = {}
    damaged = list[str]()
    chunks = 0
    at = len(MCAP)
    has_ended = False
    opcode = 0
    with path.open("rb") as file:
        end = _end_of_data(file, path.stat().st_size)
        while True:
            file.seek(at)
            opcode, length = _RECORD.unpack(
                file.read(min(_RECORD.size, end - at)).ljust(_RECORD.size, b"\0")
            )
            begin = at + _RECORD.size
            at = at + _RECORD.size + length
            is_whole = 0 < opcode and at <= end
            if opcode == _FOOTER or (not is_whole and has_ended):
                break
            has_ended = has_ended or opcode == _DATA_END
            try:
                records: Iterator[tuple[int, bytes]] = iter(())
                if opcode == _CHUNK:
                    chunks += 1
                    records = _chunk_records(file, begin, length, end)
                elif is_whole and opcode in (_SCHEMA, _CHANNEL, _MESSAGE):
                    records = iter([(opcode, _piece(file, begin, length))])
                for kind, body in records:
                    if kind == _MESSAGE:
                        number, received = _MESSAGE_HEAD.unpack_from(body)
                        yield None, number, received, body[_MESSAGE_HEAD.size :]
                    elif kind == _SCHEMA:
                        schemas[struct.unpack_from("<H", body)[0]], _ = _text(body, 2)
                    elif kind == _CHANNEL:
                        number, channels[number] = _channel(body, schemas)
            except _DAMAGE as reason:
                if is_whole and opcode == _CHUNK:
                    damaged.append(f"the first at byte {begin}: {reason}")
            if not is_whole:
                text = "is truncated, as when the recorder is killed or a copy is not finished: later messages are lost"
                losses.append(f"{path.name} {text}")
                break
    if damaged:
        losses.append(
            f"{len(damaged)} of {chunks} chunks of {path.name} are damaged, {damaged[0]}"
        )


def _piece(file: BinaryIO, at: int, size: int) -> bytes:
    if size > 4 * LARGEST_UNPACKED:  # a sparse file may be much larger than memory
        raise ValueError(
            f"its size of {size * 1e-6:.0f} MB exceeds the limit of {4 * LARGEST_UNPACKED * 1e-6:.0f} MB"
        )
    file.seek(at)
    return file.read(size)


def _chunk_records(
    file: BinaryIO, at: int, length: int, end: int
) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and body of the records of a chunk, then raise an error of _DAMAGE if it is incomplete."""
    data = _piece(file, at, min(length, end - at))
    size, checksum = _CHUNK_HEAD.unpack_from(data)
    compression, begin = _text(data, _CHUNK_HEAD.size)
    if compression and size > LARGEST_UNPACKED:
        raise ValueError(
            f"it would unpack to {size * 1e-6:.0f} MB, above the limit of {LARGEST_UNPACKED * 1e-6:.0f} MB"
        )
    records, error = unpacked(compression, data[begin + 8 :], size)
    if (
        not error
        and len(data) == length
        and (len(records) != size or (checksum and crc32(records) != checksum))
    ):
        raise ValueError("size or checksum does not match")
    # a few kB can unpack to millions of empty records
    most = CHUNK_RECORDS + RECORDS_PER_BYTE * length
    if (
        compression
        and size > most * _RECORD.size
        and sum(1 for _ in islice(_records(records), most + 1)) > most
    ):
        raise ValueError("more records than its size allows")
    yield from _records(records)
    if error:
        raise ValueError(error)


def _end_of_data(file: BinaryIO, size: int) -> int:
    """Return the end of the data, without trailing zeros that a file system may leave."""
    for begin in range(size // BYTES_AT_ONCE * BYTES_AT_ONCE, -1, -BYTES_AT_ONCE):
        file.seek(begin)
        if data := file.read(BYTES_AT_ONCE).rstrip(b"\0"):
            end = begin + len(data)
            return size if size - end < LONGEST_ZEROS else end
    return size


# sqlite3

_SMALLEST_ROW = 8  # bytes
_INT64 = 1 << 63


def without_journal(path: Path, scratch: Callable[[], Path]) -> Path:
    """Return ``path``, or a copy of the sqlite3 file with the journal of a killed recorder applied.

    The copy is in the new folder that ``scratch()`` returns. A rollback journal can end with the name of another file,
    which sqlite3 would delete. An additional last byte in the copy invalidates that name (sqlite.org/fileformat2.html,
    3).
    """
    journals = [path.with_name(path.name + end) for end in ("-wal", "-journal")]
    journals = [
        journal
        for journal in journals
        if journal.is_file() and journal.stat().st_size > 0
    ]
    if not journals:
        return path
    copy = Path(shutil.copyfile(path, scratch() / "bag.db3"))
    for journal in journals:
        copied = copy.with_name(copy.name + journal.name.removeprefix(path.name))
        with Path(shutil.copyfile(journal, copied)).open("ab") as end:
            end.write(b"\0")
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(copy)) as database:
        # rolls an open transaction back
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return copy


def _connected(path: Path) -> sqlite3.Connection:
    """Return a read-only connection; queries with more steps than the file's size allows are aborted."""
    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1",
        uri=True,
        check_same_thread=False,
        isolation_level=None,
    )
    database.set_progress_handler(
        lambda: True,
        min(
            DATABASE_STEPS + DATABASE_STEPS_PER_BYTE * path.stat().st_size,
            (1 << 31) - 1,
        ),
    )
    return database


def sqlite_is_bounded(path: Path) -> bool:
    """Return True if rosbags reads a file with bounded memory.

    Its B-trees are then intact, as a damaged one can have any number of rows, and its tables have stored columns only.
    False also for a file of another format.
    """
    with (
        suppress(sqlite3.DatabaseError, ValueError, OverflowError),
        closing(_connected(path)) as database,
    ):
        if any(
            not _is_plain_yaml(channel.offered_qos)
            for channel in _channels(database).values()
        ):
            return False
        database.execute("PRAGMA ignore_check_constraints = ON")
        intact = database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        return intact and path.stat().st_size % _page_size(path) == 0
    return False


def _page_size(path: Path) -> int:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:], "big")
    return 65536 if size == 1 else size


def _channels(database: sqlite3.Connection) -> dict[int, Channel]:
    """Return the topics by their ids; ValueError unless tables and indexes have stored columns only.

    Views, generated columns and indexes of expressions can have any number of bytes.
    """
    entries = database.execute(
        "SELECT name, type, rootpage FROM sqlite_master"
    ).fetchall()
    for name, kind, root in entries:
        quoted = str(name).replace('"', '""')
        is_index = kind == "index"
        columns = database.execute(
            f'PRAGMA {"index" if is_index else "table"}_xinfo("{quoted}")'
        ).fetchall()
        if (
            any(row[1] < -1 if is_index else row[6] for row in columns)
            or not root
            or kind not in ("table", "index")
        ):
            raise ValueError(f"{name} in it is not written by a recorder")
    names = {row[1] for row in database.execute("PRAGMA table_info(topics)")}
    offered = "offered_qos_profiles" if "offered_qos_profiles" in names else "''"
    rows = database.execute(
        f"SELECT id, name, type, serialization_format, {offered} FROM topics WHERE typeof(id) = 'integer'"
    )
    return {int(number): Channel(*map(str, texts)) for number, *texts in rows}


def _sqlite_rows(
    path: Path, channels: dict[int, Channel], losses: list[str]
) -> Iterator[_Row]:
    """Yield the messages from the first one to a damaged page, then from the last one; fill the other arguments."""
    size = path.stat().st_size
    with TemporaryDirectory(prefix="robot_dynamics_bag_") as folder:
        copy = shutil.copyfile(path, Path(folder) / "bag.db3")
        # sqlite3 would complete the last page by zeros.
        os.truncate(copy, size - size % max(_page_size(path), 1))
        with closing(_connected(copy)) as database:
            # else sqlite3 rejects a truncated file
            database.execute("PRAGMA writable_schema = ON")
            try:
                channels.update(_channels(database))
            except (sqlite3.DatabaseError, ValueError) as error:
                raise ValueError(f"no topics can be read from it ({error})") from None
            losses.append(
                f"{path.name} is damaged or truncated: the messages of its damaged pages are lost"
            )
            # Rows are searched one by one, so that the last one before a damaged page is read, too.
            for number, condition in (
                (-_INT64, "> ? ORDER BY id"),
                (_INT64 - 1, "< ? ORDER BY id DESC"),
            ):
                search = f"SELECT id, topic_id, timestamp, data FROM messages WHERE id {condition} LIMIT 1"
                with suppress(sqlite3.DatabaseError):
                    # damaged pages can refer to each other
                    for _ in range(size // _SMALLEST_ROW):
                        row = database.execute(search, (number,)).fetchone()
                        if row is None:
                            return
                        number = row[0]
                        if isinstance(row[3], bytes):
                            yield row
