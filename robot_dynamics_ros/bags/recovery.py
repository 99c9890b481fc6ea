"""Files of bags that rosbags gives up, or would read without bounds: cut off, damaged, with a journal, or crafted.

A file that breaks off in the middle has neither index nor summary, and an sqlite3 file lacks pages that lead to others.
MCAP records (mcap.dev/spec) and sqlite3 pages (sqlite.org/fileformat2.html) are read one after the other then, and
what is whole is written to a temporary .db3 file, which rosbags reads.
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

from robot_dynamics_ros.bags.storage import LARGEST, zstd
from robot_dynamics_ros.plain_yaml import NotPlainYaml, load_yaml

MCAP, SQLITE = b"\x89MCAP0\r\n", b"SQLite format 3\0"
"""The first bytes of the files."""

_LATCHED = re.compile(r"""\bdurability["']?\s*:\s*["']?(1|transient_local)\b""")
_PROFILES = 1 << 16  # characters of quality of service, some hundred publishers
_LATCHED_QOS = """\
- {history: 1, depth: 1, reliability: 1, durability: 1, deadline: {sec: 0, nsec: 0}, lifespan: {sec: 0, nsec: 0},
   liveliness: 1, liveliness_lease_duration: {sec: 0, nsec: 0}, avoid_ros_namespace_conventions: false}"""
_SCHEMA_SQL = """\
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB);
BEGIN"""
_SMALL, _TIMES_SIZE = 1 << 30, 100  # bytes to which any file may unpack, and a large one by its size

_Row = tuple["int | None", int, int, bytes]  # row id, channel, time of arrival (ns), data


class Channel(NamedTuple):
    """A topic of a storage file; ``offered_qos`` is rosbag2's YAML."""

    topic: str
    kind: str
    encoding: str
    offered_qos: str


def rebuild(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Write what is whole in a file to a new .db3 file in ``folder``; return that, and descriptions of what is lost.

    Raises ValueError where it is no bag, its topics are lost, or it would take much more room than it has itself.
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
    """Return the bytes to which a file may unpack."""
    return max(_SMALL, _TIMES_SIZE * path.stat().st_size)


def _limited(path: Path, rows: Iterator[_Row]) -> Iterator[_Row]:
    left = most_unpacked(path)
    for row in rows:
        left -= len(row[3])
        if left < 0:
            raise ValueError(f"it unpacks to more than {most_unpacked(path) * 1e-9:.1f} GB")
        yield row


def is_latched(offered_qos: object) -> bool:
    """Return True if a publisher offered transient local durability, by rosbag2's YAML: a number or a name."""
    return isinstance(offered_qos, str) and _LATCHED.search(offered_qos) is not None


def _is_plain_yaml(offered_qos: object) -> bool:
    """Return True if a parser of YAML takes neither long nor much memory for it."""
    try:
        return isinstance(offered_qos, str) and len(offered_qos) < _PROFILES and load_yaml(offered_qos) is not False
    except NotPlainYaml:
        return False


# MCAP

_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _CHUNK_INDEX, _STATISTICS, _DATA_END = 2, 3, 4, 5, 6, 8, 11, 15
_FOOTER_SIZE = 37  # bytes, with the magic bytes behind it
_RECORD = struct.Struct("<BQ")  # operation, length of what follows
_MESSAGE_HEAD = struct.Struct("<H4xq8x")  # channel, received
_CHUNK_HEAD = struct.Struct("<qqQI")  # first and last arrival, size, checksum
_PIECE = 1 << 16
_FEW, _RECORDS_PER_BYTE = 1000, 8  # of a packed chunk: times differ between messages, and take some bytes of each
_KEYS = 100  # of a channel's metadata; recorders write four
_ZEROS = 512  # bytes: more of them at the end were left by a file system
_HELD, _RATIO = (
    1 << 25,
    64,
)  # bytes of chunks that rosbags may hold at once, and how many times a chunk is its packed size
_DAMAGE = (struct.error, ValueError, OverflowError, MemoryError, RuntimeError, EOFError, zstd.ZstdError)


def mcap_is_bounded(path: Path) -> bool:
    """Return True if rosbags reads a file within bounds: it has an index of distinct chunks that are what it says.

    rosbags unpacks all chunks of a file without an index when it opens it, and holds those that overlap in time.
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
    found: Counter[int] = Counter()
    end_of_last, held = 0, []
    chunks = []
    for operation, at, _ in _records(summary):
        found[operation] += 1
        if operation == _CHANNEL:
            if not _is_plain_yaml(_channel(summary[at:], {})[1].offered_qos):
                return False
        elif operation == _CHUNK_INDEX:
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
    return bool(found[_STATISTICS] and found[_SCHEMA] and chunks) and int(overlapping.max()) <= _HELD


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield operation, begin and end of each record; ValueError where one is not whole."""
    at, size, unpack = 0, len(data), _RECORD.unpack_from
    while at < size:
        operation, length = unpack(data, at)
        at += 9
        end = at + length
        if end > size:
            raise ValueError("a record is cut off")
        yield operation, at, end
        at = end


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and where it ends."""
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + length
    if end > len(data):
        raise ValueError("a text is cut off")
    return data[at + 4 : end].decode(errors="replace"), end


def _channel(body: bytes, schemas: Mapping[int, str]) -> tuple[int, Channel]:
    """Return a channel and its number."""
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
    """Return what data unpack to, as far as they go, and why no farther; ValueError for more than ``most`` bytes."""
    if not compression:
        return packed, ""
    if compression not in ("zstd", "lz4"):
        raise ValueError(f"compressed by {compression}, which is unknown")
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
            raise ValueError("it unpacks to more than it says")
        if frame.eof:
            break
    return b"".join(parts), error or ("" if frame.eof else "the packed data breaks off")


def _mcap_rows(path: Path, channels: dict[int, Channel], losses: list[str]) -> Iterator[_Row]:
    """Yield the messages in the order of the file; find the channels, and note what is lost."""
    schemas: dict[int, str] = {}
    damaged, chunks, at, has_ended = "", [0, 0], len(MCAP), False
    with path.open("rb") as file:
        end = _end_of_data(file, path.stat().st_size)
        while True:
            file.seek(at)
            head = file.read(min(_RECORD.size, end - at))
            operation, length = _RECORD.unpack(head) if len(head) == _RECORD.size else (0, 0)
            begin, at = at + _RECORD.size, at + _RECORD.size + length
            if operation == _FOOTER:
                break
            is_whole = 0 < operation and at <= end
            try:
                records: Iterator[tuple[int, bytes]] = iter(())
                if operation == _CHUNK:
                    chunks[0] += 1
                    records = _chunk_records(file, begin, length, end)
                elif is_whole and operation in (_SCHEMA, _CHANNEL, _MESSAGE):
                    records = iter([(operation, _piece(file, begin, length))])
                for kind, body in records:
                    if kind == _MESSAGE:
                        number, received = _MESSAGE_HEAD.unpack_from(body)
                        yield None, number, received, body[_MESSAGE_HEAD.size :]
                    elif kind == _SCHEMA:
                        schemas[struct.unpack_from("<H", body)[0]], _ = _text(body, 2)
                    elif kind == _CHANNEL:
                        number, channels[number] = _channel(body, schemas)
            except _DAMAGE as reason:
                if is_whole and operation == _CHUNK:
                    chunks[1] += 1
                    damaged = damaged or f"the first at byte {begin}: {reason}"
            if not is_whole:
                if not has_ended:
                    losses.append(
                        f"{path.name} breaks off, as when the recorder is killed or a copy is not finished: "
                        "what came after is lost"
                    )
                break
            has_ended = has_ended or operation == _DATA_END
    if damaged:
        losses.append(f"{chunks[1]} of {chunks[0]} chunks of {path.name} are damaged, {damaged}")


def _piece(file: BinaryIO, at: int, size: int) -> bytes:
    if size > 4 * LARGEST:  # a file may have holes, and be much larger than memory
        raise ValueError(f"it has {size * 1e-6:.0f} MB")
    file.seek(at)
    return file.read(size)


def _chunk_records(file: BinaryIO, at: int, length: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield operation and body of the records of a chunk, then raise an error of _DAMAGE where it is not whole."""
    data = _piece(file, at, min(length, end - at))
    _, _, size, checksum = _CHUNK_HEAD.unpack_from(data)
    compression, begin = _text(data, _CHUNK_HEAD.size)
    if compression and size > LARGEST:
        raise ValueError(f"it would unpack to {size * 1e-6:.0f} MB; {LARGEST * 1e-6:.0f} MB are read at most")
    records, error = _unpacked(compression, data[begin + 8 :], size)
    if not error and len(data) == length and (len(records) != size or (checksum and crc32(records) != checksum)):
        raise ValueError("not what was written")
    most = _FEW + _RECORDS_PER_BYTE * length  # a few kB can unpack to millions of empty ones
    if compression and size > most * _RECORD.size and sum(1 for _ in islice(_records(records), most + 1)) > most:
        raise ValueError("more records than its size explains")
    for operation, first, last in _records(records):
        yield operation, records[first:last]
    if error:
        raise ValueError(error)


def _end_of_data(file: BinaryIO, size: int) -> int:
    """Return where a file ends, without the zeros that a file system may leave behind what was written."""
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
_STEPS, _STEPS_PER_BYTE = (
    1_000_000,
    10,
)  # of sqlite3's machine; a message takes about twenty, and more than twenty bytes
_LEAF = 0x0D  # of a table
_SIZES = (0, 1, 2, 3, 4, 6, 8)  # bytes of integers, by their serial type
_TIMES = 4  # how often all bytes may be read: each belongs to one row, but damage can look like rows


def without_journal(path: Path, scratch: Callable[[], Path]) -> Path:
    """Return the file; where a killed recorder left a journal beside it, a copy with what is in that.

    ``scratch()`` is a folder for the copy.

    A rollback journal can end with the name of another file, which sqlite3 then deletes: a last byte more in the copy,
    and that is no name to it (sqlite.org/fileformat2.html, 3).
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
    """Return a connection that reads only; a query that takes more steps than the file's size explains is given up."""
    database = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False, isolation_level=None
    )
    database.set_progress_handler(lambda: True, min(_STEPS + _STEPS_PER_BYTE * path.stat().st_size, (1 << 31) - 1))
    return database


def _page_size(header: bytes) -> int:
    size = int.from_bytes(header[16:18], "big")
    return 65536 if size == 1 else size


def _missing(path: Path) -> str:
    """Describe how much a file lacks of what its header promises (sqlite.org/fileformat2.html, 1.3); "" for nothing."""
    with path.open("rb") as file:
        header = file.read(100)
    expected, size = int.from_bytes(header[28:32], "big") * _page_size(header), path.stat().st_size
    if header[24:28] != header[92:96] or size >= expected:  # the size is not kept, or all is there
        return ""
    return f": {(expected - size) * 1e-6:.3g} of {expected * 1e-6:.3g} MB are missing"


def sqlite_is_bounded(path: Path) -> bool:
    """Return True if rosbags reads a file within bounds: its trees are whole, and its schema is that of recorders.

    Views and generated columns can stand for any number of bytes, and a damaged tree for any number of rows.
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


def _sqlite_rows(path: Path, channels: dict[int, Channel], losses: list[str]) -> Iterator[_Row]:
    """Yield the rows of ``messages`` on all pages that are there; find the channels, and note what is lost."""
    try:
        with closing(_connected(path)) as database:
            # Who wrote the file wrote its schema, too: only stored columns are read.
            database.set_authorizer(_is_plain)
            database.execute("PRAGMA writable_schema = ON")  # without it a file that is cut off is refused
            channels.update(_read_channels(database))
    except (sqlite3.DatabaseError, ValueError) as error:
        raise ValueError(f"no topics can be read from it ({error})") from None
    losses.append(f"{path.name} is damaged, or not as recorders write it, and read page by page{_missing(path)}")
    with path.open("rb") as file, suppress(OverflowError):
        pages = _Pages(file, path.stat().st_size)
        for page in range(pages.size // pages.page_size):
            data = pages.read(page)
            begin = 100 if page == 0 else 0
            cells = int.from_bytes(data[begin + 3 : begin + 5], "big")
            if data[begin] != _LEAF or begin + 8 + 2 * cells > len(data):
                continue
            for pointer in range(begin + 8, begin + 8 + 2 * cells, 2):
                with suppress(IndexError, ValueError):
                    row = pages.row(data, int.from_bytes(data[pointer : pointer + 2], "big"))
                    if row is not None and row[1] in channels:
                        yield row


class _Pages:
    """The pages of a file; OverflowError where rows share their bytes, as in crafted files."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        header = file.read(100)
        self._file, self.size = file, size
        self._left = _TIMES * size
        self.page_size = _page_size(header)
        self._usable = self.page_size - header[20]

    def read(self, page: int) -> bytes:
        """Return a page; ValueError where it is not there."""
        self._file.seek(page * self.page_size)
        data = self._file.read(self.page_size)
        if len(data) < self.page_size:
            raise ValueError("the page is not there")
        return data

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise OverflowError

    def row(self, page: bytes, at: int) -> _Row | None:
        """Return the row of a cell; None where it is none of a message, ValueError where not all of it is there."""
        length, at = _varint(page, at)
        if length > self.size:
            raise ValueError("longer than the file")
        number, at = _varint(page, at)
        record = self._payload(page, at, length)
        end, at = _varint(record, 0)
        kinds: list[int] = []
        while at < end and len(kinds) < 5:
            kind, at = _varint(record, at)
            kinds.append(kind)
        # id, which is the row's number and stored as nothing; topic_id, timestamp; data
        if len(kinds) != 4 or kinds[0] != 0 or kinds[3] < 12 or kinds[3] % 2:
            return None
        topic, at = _integer(record, at, kinds[1])
        received, at = _integer(record, at, kinds[2])
        return number, topic, received, record[at : at + (kinds[3] - 12) // 2]

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """Return a payload, of which a long one goes on in a chain of other pages."""
        most = self._usable - 35
        if length <= most:
            self._spend(length)
            return page[at : at + length]
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        here = here if here <= most else least
        self._spend(here)
        parts, left = [page[at : at + here]], length - here
        pointer = page[at + here : at + here + 4]
        while left > 0:
            following = int.from_bytes(pointer, "big")
            if following == 0:
                raise ValueError("the chain breaks off")
            data = self.read(following - 1)
            self._spend(self.page_size)
            pointer = data[:4]
            parts.append(data[4 : 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
        return b"".join(parts)


def _read_channels(database: sqlite3.Connection) -> dict[int, Channel]:
    # Only what is stored: generated columns are not listed.
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
    """Allow what reading a bag needs (sqlite.org/c3ref/set_authorizer.html): stored columns of its tables."""
    plain = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_PRAGMA) or (
        action == sqlite3.SQLITE_READ and table in _TABLES
    )
    return sqlite3.SQLITE_OK if plain and view is None else sqlite3.SQLITE_DENY


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and where it ends."""
    value = 0
    for k in range(8):
        byte = data[at + k]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + k + 1
    return value << 8 | data[at + 8], at + 9


def _integer(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Return an integer of a serial type, and where it ends."""
    if kind in (8, 9):
        return kind - 8, at
    if not 1 <= kind <= 6:
        raise ValueError("not an integer")
    end = at + _SIZES[kind]
    return int.from_bytes(data[at:end], "big", signed=True), end
