"""Recovery of bag files that rosbags rejects, or would read with unbounded memory: truncated, damaged or crafted files.

MCAP records (mcap.dev/spec) or sqlite3 pages are read in sequence, without index or B-trees, and complete messages are
written to a temporary .db3 file, which rosbags reads.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import struct
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import lz4.frame  # type: ignore[import-untyped]
import numpy as np

from robot_dynamics_ros.base.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.recordings.bags.sqlite_pages import Row, message_rows, page_size
from robot_dynamics_ros.recordings.bags.storage import LARGEST, zstd

MCAP, SQLITE = b"\x89MCAP0\r\n", b"SQLite format 3\0"
"""First bytes of the files."""

_LATCHED = re.compile(r"""\bdurability["']?\s*:\s*["']?(1|transient_local)\b""")
_PROFILES = 1 << 16  # characters of offered QoS profiles, enough for some hundred publishers
_LATCHED_QOS = """\
- {history: 1, depth: 1, reliability: 1, durability: 1, deadline: {sec: 0, nsec: 0}, lifespan: {sec: 0, nsec: 0},
   liveliness: 1, liveliness_lease_duration: {sec: 0, nsec: 0}, avoid_ros_namespace_conventions: false}"""
_SCHEMA_SQL = """\
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);
BEGIN"""
_SMALL, _TIMES_SIZE = 1 << 30, 100  # limits of the unpacked size: bytes for any file, ratio for a large one


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
    with closing(sqlite3.connect(target, isolation_level=None)) as database:
        database.executescript(_SCHEMA_SQL)
        database.executemany(
            "INSERT OR IGNORE INTO messages VALUES (?, ?, ?, ?)", _limited(path, read(path, channels, losses))
        )
        topics = [
            (number, *channel[:3], _LATCHED_QOS if is_latched(channel.offered_qos) else "")
            for number, channel in channels.items()
        ]
        database.executemany("INSERT INTO topics VALUES (?, ?, ?, ?, ?)", topics)
        left_out = database.execute("DELETE FROM messages WHERE topic_id NOT IN (SELECT id FROM topics)").rowcount
        if left_out:
            losses.append(f"{left_out} messages of {path.name} are left out: their channels are not defined")
        database.execute("CREATE INDEX timestamp_idx ON messages (timestamp ASC)")
        database.execute("COMMIT")
    return target, losses


def most_unpacked(path: Path) -> int:
    """Return the largest unpacked size (bytes) accepted for a file: 100 times its size, but at least 1 GiB."""
    return max(_SMALL, _TIMES_SIZE * path.stat().st_size)


def _limited(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    left = most_unpacked(path)
    for row in rows:
        left -= len(row[3])
        if left < 0:
            raise ValueError(f"it unpacks to more than {most_unpacked(path) * 1e-9:.1f} GB")
        yield row


def is_latched(offered_qos: object) -> bool:
    """Return True if ``offered_qos``, rosbag2's YAML of profiles, has transient local durability, by number or by name.

    Other text and values that are not text give False.
    """
    return isinstance(offered_qos, str) and _LATCHED.search(offered_qos) is not None


def _is_plain_yaml(offered_qos: object) -> bool:
    """Return True if YAML parsing needs bounded time and memory."""
    try:
        return isinstance(offered_qos, str) and len(offered_qos) < _PROFILES and load_yaml(offered_qos) is not False
    except NotPlainYaml:
        return False


# MCAP

_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _CHUNK_INDEX, _STATISTICS, _DATA_END = 2, 3, 4, 5, 6, 8, 11, 15
_FOOTER_SIZE = 37  # bytes, with the trailing magic bytes
_RECORD = struct.Struct("<BQ")  # opcode, length of the content
_MESSAGE_HEAD = struct.Struct("<H4xq8x")  # channel, received
_CHUNK_HEAD = struct.Struct("<qqQI")  # first and last arrival, size, checksum
_PIECE = 1 << 16
_FEW, _RECORDS_PER_BYTE = 1000, 8  # limits of the records in a packed chunk
_KEYS = 100  # limit of a channel's metadata; recorders write four
_ZEROS = 512  # bytes; a longer run of zeros at the end comes from the file system
_HELD, _RATIO = 1 << 25, 64  # limits: bytes of chunks that rosbags holds at once, compression ratio of a chunk
_DAMAGE = (struct.error, ValueError, OverflowError, MemoryError, RuntimeError, EOFError, zstd.ZstdError)


def mcap_is_bounded(path: Path) -> bool:
    """Return True if rosbags reads a file with bounded memory: its index lists disjoint chunks of their true sizes.

    rosbags unpacks all chunks of a file without an index at once, and keeps chunks that overlap in time. False for a
    damaged file and one of another format. Raises OSError if it cannot be opened.
    """
    size = path.stat().st_size
    if size < _FOOTER_SIZE:
        return False
    with path.open("rb") as file:
        file.seek(size - _FOOTER_SIZE)
        footer = file.read()
        (summary,) = struct.unpack_from("<Q", footer, _RECORD.size)
        length = size - _FOOTER_SIZE - summary
        if not footer.endswith(MCAP) or not 0 < summary or not 0 < length <= LARGEST:
            return False
        file.seek(summary)
        with suppress(*_DAMAGE):
            return _index_is_bounded(file, size, file.read(length))
    return False


def _index_is_bounded(file: BinaryIO, size: int, summary: bytes) -> bool:
    counts: Counter[int] = Counter()
    end_of_last, held = 0, []
    chunks = []
    for opcode, at, _ in _records(summary):
        counts[opcode] += 1
        if opcode == _CHANNEL:
            if not _is_plain_yaml(_channel(summary[at:], {})[1].offered_qos):
                return False
        elif opcode == _CHUNK_INDEX:
            first, last, begin, length, indexes = struct.unpack_from("<QQQQI", summary, at)
            compression, end = _text(summary, at + 36 + indexes + 8)
            chunks.append((begin, length, first, last, compression, *struct.unpack_from("<QQ", summary, end)))
    for begin, length, first, last, compression, packed, plain in sorted(chunks):
        if begin < end_of_last or begin + length > size or plain > _HELD or packed > length:
            return False
        end_of_last = begin + length
        held += [(first, plain), (max(first, last) + 1, -plain)]
        if compression:
            file.seek(begin + _RECORD.size + _CHUNK_HEAD.size + 4 + len(compression.encode()) + 8)
            records, error = _unpacked(compression, file.read(packed), plain)
            if error or len(records) != plain or plain > _PIECE + _RATIO * packed:
                return False
    overlapping = np.cumsum([plain for _, plain in sorted(held)])
    return bool(counts[_STATISTICS] and counts[_SCHEMA] and chunks) and int(overlapping.max()) <= _HELD


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield opcode, begin and end of each record; ValueError for an incomplete one."""
    at, size, unpack = 0, len(data), _RECORD.unpack_from
    while at < size:
        opcode, length = unpack(data, at)
        at += 9
        end = at + length
        if end > size:
            raise ValueError("a record is truncated")
        yield opcode, at, end
        at = end


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
    metadata, at = {}, at + 4
    for _ in range(_KEYS):
        if at >= end:
            break
        key, at = _text(body, at)
        metadata[key], at = _text(body, at)
    return number, Channel(topic, schemas.get(schema, ""), encoding, metadata.get("offered_qos_profiles", ""))


def _unpacked(compression: str, packed: bytes, most: int) -> tuple[bytes, str]:
    """Return unpacked data up to the first error, and that error; ValueError for more than ``most`` bytes."""
    if not compression:
        return packed, ""
    if compression not in ("zstd", "lz4"):
        raise ValueError(f"unknown compression {compression}")
    frame = zstd.ZstdDecompressor() if compression == "zstd" else lz4.frame.LZ4FrameDecompressor()
    parts, error = [], ""
    left = most
    for at in range(0, len(packed), _PIECE):
        try:
            parts.append(frame.decompress(packed[at : at + _PIECE], max_length=left + 1))
        except (zstd.ZstdError, RuntimeError, EOFError) as reason:
            error = str(reason)
            break
        left -= len(parts[-1])
        if left < 0:
            raise ValueError("it unpacks to more than its declared size")
        if frame.eof:
            break
    return b"".join(parts), error or ("" if frame.eof else "the packed data is truncated")


def _mcap_rows(path: Path, channels: dict[int, Channel], losses: list[str]) -> Iterator[Row]:
    """Yield the messages in the order of the file; fill ``channels`` and ``losses``."""
    schemas: dict[int, str] = {}
    damaged, chunks, at, has_ended = "", [0, 0], len(MCAP), False
    with path.open("rb") as file:
        end = _end_of_data(file, path.stat().st_size)
        while True:
            file.seek(at)
            head = file.read(min(_RECORD.size, end - at))
            opcode, length = _RECORD.unpack(head) if len(head) == _RECORD.size else (0, 0)
            begin, at = at + _RECORD.size, at + _RECORD.size + length
            if opcode == _FOOTER:
                break
            is_whole = 0 < opcode and at <= end
            try:
                records: Iterator[tuple[int, bytes]] = iter(())
                if opcode == _CHUNK:
                    chunks[0] += 1
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
                    chunks[1] += 1
                    damaged = damaged or f"the first at byte {begin}: {reason}"
            if not is_whole:
                if not has_ended:
                    losses.append(
                        f"{path.name} is truncated, as when the recorder is killed or a copy is not finished: "
                        "later messages are lost"
                    )
                break
            has_ended = has_ended or opcode == _DATA_END
    if damaged:
        losses.append(f"{chunks[1]} of {chunks[0]} chunks of {path.name} are damaged, {damaged}")


def _piece(file: BinaryIO, at: int, size: int) -> bytes:
    if size > 4 * LARGEST:  # a sparse file may be much larger than memory
        raise ValueError(f"its size of {size * 1e-6:.0f} MB exceeds the limit of {4 * LARGEST * 1e-6:.0f} MB")
    file.seek(at)
    return file.read(size)


def _chunk_records(file: BinaryIO, at: int, length: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield opcode and body of the records of a chunk, then raise an error of _DAMAGE if it is incomplete."""
    data = _piece(file, at, min(length, end - at))
    _, _, size, checksum = _CHUNK_HEAD.unpack_from(data)
    compression, begin = _text(data, _CHUNK_HEAD.size)
    if compression and size > LARGEST:
        raise ValueError(f"it would unpack to {size * 1e-6:.0f} MB, above the limit of {LARGEST * 1e-6:.0f} MB")
    records, error = _unpacked(compression, data[begin + 8 :], size)
    if not error and len(data) == length and (len(records) != size or (checksum and crc32(records) != checksum)):
        raise ValueError("size or checksum does not match")
    most = _FEW + _RECORDS_PER_BYTE * length  # a few kB can unpack to millions of empty records
    if compression and size > most * _RECORD.size and sum(1 for _ in islice(_records(records), most + 1)) > most:
        raise ValueError("more records than its size allows")
    for opcode, first, last in _records(records):
        yield opcode, records[first:last]
    if error:
        raise ValueError(error)


def _end_of_data(file: BinaryIO, size: int) -> int:
    """Return the end of the data, without trailing zeros that a file system may leave."""
    end = size
    while end:
        begin = max(0, end - _PIECE)
        file.seek(begin)
        left = len(file.read(end - begin).rstrip(b"\0"))
        end = begin + left
        if left:
            break
    return size if size - end < _ZEROS else end


# sqlite3

_JOURNALS = ("-wal", "-journal")
_TABLES = ("topics", "messages")
_OTHERS = ("schema", "metadata", "message_definitions", "timestamp_idx", "sqlite_stat1", "sqlite_stat4")
_STEPS, _STEPS_PER_BYTE = 1_000_000, 10  # limits of sqlite3's virtual machine


def without_journal(path: Path, scratch: Callable[[], Path]) -> Path:
    """Return ``path``, or a copy of the sqlite3 file with the journal of a killed recorder applied.

    The copy is in the new folder that ``scratch()`` returns. A rollback journal can end with the name of another file,
    which sqlite3 would delete. An additional last byte in the copy invalidates that name (sqlite.org/fileformat2.html,
    3).
    """
    journals = [path.with_name(path.name + end) for end in _JOURNALS]
    journals = [journal for journal in journals if journal.is_file() and journal.stat().st_size > 0]
    if not journals:
        return path
    copy = Path(shutil.copyfile(path, scratch() / "bag.db3"))
    for journal in journals:
        copied = copy.with_name(copy.name + journal.name.removeprefix(path.name))
        with Path(shutil.copyfile(journal, copied)).open("ab") as end:
            end.write(b"\0")
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(copy)) as database:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # rolls an open transaction back
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return copy


def _connected(path: Path) -> sqlite3.Connection:
    """Return a read-only connection; queries with more steps than the file's size allows are aborted."""
    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False, isolation_level=None
    )
    database.set_progress_handler(lambda: True, min(_STEPS + _STEPS_PER_BYTE * path.stat().st_size, (1 << 31) - 1))
    return database


def _missing(path: Path) -> str:
    """Describe the missing part of a file by its header (sqlite.org/fileformat2.html, 1.3); "" if it is complete."""
    with path.open("rb") as file:
        header = file.read(100)
    expected, size = int.from_bytes(header[28:32], "big") * page_size(header), path.stat().st_size
    if header[24:28] != header[92:96] or size >= expected:  # the size is not stored, or the file is complete
        return ""
    return f": {(expected - size) * 1e-6:.3g} of {expected * 1e-6:.3g} MB are missing"


def sqlite_is_bounded(path: Path) -> bool:
    """Return True if rosbags reads a file with bounded memory: its B-trees are intact, its schema is a recorder's.

    Views and generated columns can have any number of bytes, and a damaged B-tree any number of rows.
    """
    if _missing(path):
        return False
    with suppress(sqlite3.DatabaseError, UnicodeDecodeError, OverflowError), closing(_connected(path)) as database:
        entries = dict(database.execute("SELECT name, type FROM sqlite_master"))
        for name, kind in entries.items():
            if name not in _TABLES + _OTHERS or kind != ("index" if name == "timestamp_idx" else "table"):
                return False
            if any(row[6] for row in database.execute(f"PRAGMA table_xinfo({name})")):  # hidden, generated
                return False
            if any(row[1] < -1 for row in database.execute(f"PRAGMA index_xinfo({name})")):  # an expression
                return False
        database.execute("PRAGMA ignore_check_constraints = ON")
        if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            return False
        columns = {row[1] for row in database.execute("PRAGMA table_info(topics)")}
        if "offered_qos_profiles" in columns:
            return all(_is_plain_yaml(text) for (text,) in database.execute("SELECT offered_qos_profiles FROM topics"))
        return True
    return False


def _sqlite_rows(path: Path, channels: dict[int, Channel], losses: list[str]) -> Iterator[Row]:
    """Yield the rows of ``messages`` on all pages of the file; fill ``channels`` and ``losses``."""
    try:
        with closing(_connected(path)) as database:
            # The schema is untrusted too: only stored columns are read.
            database.set_authorizer(_is_plain)
            database.execute("PRAGMA writable_schema = ON")  # else sqlite3 rejects a truncated file
            channels.update(_read_channels(database))
    except (sqlite3.DatabaseError, ValueError) as error:
        raise ValueError(f"no topics can be read from it ({error})") from None
    losses.append(f"{path.name} is damaged or not written by a recorder, and is read page by page{_missing(path)}")
    for row in message_rows(path):
        if row[1] in channels:
            yield row


def _read_channels(database: sqlite3.Connection) -> dict[int, Channel]:
    # table_info does not list generated columns.
    columns, others = ({row[1] for row in database.execute(f"PRAGMA table_info({name})")} for name in _TABLES)
    if not columns >= {"id", "name", "type", "serialization_format"} or not others >= {"topic_id", "timestamp", "data"}:
        raise ValueError("an sqlite3 file without the tables of a bag")
    latched = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
    rows = database.execute(f"SELECT id, name, type, serialization_format, {latched} FROM topics ORDER BY id")
    channels = {number: Channel(*texts) for number, *texts in rows}
    if not all(isinstance(text, str) for channel in channels.values() for text in channel[:3]):
        raise ValueError("a topic without a name")
    if not all(isinstance(number, int) for number in channels):
        raise ValueError("a topic whose id is no integer")
    return channels


def _is_plain(action: int, table: str | None, _: str | None, __: str | None, view: str | None) -> int:
    """Allow only reads of stored columns of a bag's tables (sqlite.org/c3ref/set_authorizer.html)."""
    plain = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_PRAGMA) or (
        action == sqlite3.SQLITE_READ and table in _TABLES
    )
    return sqlite3.SQLITE_OK if plain and view is None else sqlite3.SQLITE_DENY
