"""Files of bags that rosbags gives up, or would read without bounds: cut off, damaged, with a journal, or crafted.

A file that breaks off in the middle has neither index nor summary, and an sqlite3 file lacks pages that lead to others:
MCAP records (mcap.dev/spec) and sqlite3 pages (sqlite.org/fileformat2.html) are read one after the other then.
rosbags bounds neither what a chunk unpacks to, nor the queries that it runs on a schema that the file brings.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import struct
import sys
from array import array
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

import lz4.frame  # type: ignore[import-untyped]
import numpy as np

from robot_dynamics_ros.bags.storage import LARGEST, Channel, Message, Room, in_order_of_arrival, zstd
from robot_dynamics_ros.errors import BagError
from robot_dynamics_ros.kernels.types import IntArray
from robot_dynamics_ros.plain_yaml import NotPlainYaml, load_yaml
from robot_dynamics_ros.progress import progress

MCAP, SQLITE = b"\x89MCAP0\r\n", b"SQLite format 3\0"
"""The first bytes of the files."""

_LATCHED = re.compile(r"""\bdurability["']?\s*:\s*["']?(1|transient_local)\b""")
_PROFILES = 1 << 16  # characters of quality of service, some hundred publishers


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
_RUN = 1 << 20  # messages outside of chunks are read in runs of about this many bytes
_PIECE = 1 << 16
_OBJECT = 200  # bytes of a message in memory beside its data
_FEW, _RECORDS_PER_BYTE = 1000, 8  # of a packed chunk: times differ between messages, and take some bytes of each
_KEYS = 100  # of a channel's metadata; recorders write four
_ZEROS = 512  # bytes: more of them at the end were left by a file system
_HELD, _RATIO = 1 << 25, 64  # bytes of chunks that rosbags may hold at once, and how many times a chunk is its packed size
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
            _, channel = _channel(summary[at:], {})
            if not _is_plain_yaml(channel[2].get("offered_qos_profiles", "")):
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


def _channel(body: bytes, schemas: Mapping[int, str]) -> tuple[int, tuple[Channel, str, dict[str, str]]]:
    """Return a channel's number, and the channel with its schema's name and its metadata."""
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
    kind = schemas.get(schema, "")
    return number, (Channel(topic, kind, encoding, is_latched(metadata.get("offered_qos_profiles"))), kind, metadata)


def _unpacked(compression: str, packed: bytes, most: int) -> tuple[bytes, str]:
    """Return what a chunk's data unpack to, as far as they go, and why not farther; ValueError for more than ``most``."""
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


@dataclass
class _Block:
    """A chunk, or a run of messages outside of chunks; ``counts`` is the number of messages of each channel."""

    start: int
    at: int
    size: int
    is_chunk: bool
    counts: Counter[int] = field(default_factory=Counter)


class McapRemains:
    """The messages that are whole in an .mcap file, with or without an index.

    ``room`` is the memory left (bytes, one for all files of a bag) for messages that are unpacked and not yet asked
    for. Raises ValueError where it is no MCAP file, and OSError where it cannot be read.

    Attributes
    ----------
    channels
        The channels by their number in the file.
    start
        When the first message arrived (ns).
    losses
        Descriptions of what is known to be missing.
    """

    def __init__(self, path: Path, room: Room) -> None:
        self._file = path.open("rb")
        self._room, self._path = room, path
        self._end = _end_of_data(self._file, path.stat().st_size)
        self._schemas: dict[int, str] = {}
        self._blocks: list[_Block] = []
        self.channels: dict[int, Channel] = {}
        self.losses: list[str] = []
        self._find_blocks()
        self._count()
        self._blocks = sorted((block for block in self._blocks if block.counts), key=attrgetter("start"))
        self.start = self._blocks[0].start if self._blocks else 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def counts(self) -> Counter[int]:
        """Return the number of messages of each channel."""
        counts: Counter[int] = Counter()
        for block in self._blocks:
            counts.update(block.counts)
        return counts

    def messages(self, numbers: Collection[int]) -> Iterator[Message]:
        """Yield the messages of these channels, in order of arrival; holds as many chunks as overlap in time."""
        names = {n: (self.channels[n].topic, self.channels[n].kind) for n in numbers}
        return in_order_of_arrival(
            (block.start, partial(self._block_messages, block, names))
            for block in self._blocks
            if not names.keys().isdisjoint(block.counts)
        )

    def _at(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(min(size, self._end - at))

    def _block_messages(self, block: _Block, names: Mapping[int, tuple[str, str]]) -> Iterator[Message]:
        messages: list[Message] = []
        with suppress(*_DAMAGE):  # which _count has noted
            data, _ = self._contents(block)
            for operation, at, end in _records(data):
                if operation == _MESSAGE:
                    number, received = _MESSAGE_HEAD.unpack_from(data, at)
                    if number in names:
                        messages.append(Message(*names[number], received, data[at + _MESSAGE_HEAD.size : end]))
        messages.sort(key=attrgetter("received"))
        size = sum(_OBJECT + len(message.data) for message in messages)
        self._room.left -= size
        try:
            if self._room.left < 0:
                raise BagError(
                    f"{self._path}: chunks are larger, or more of them overlap in time, than can be held. "
                    "Cure: sort it, by `mcap sort`"
                )
            yield from messages
        finally:
            self._room.left += size

    def _contents(self, block: _Block) -> tuple[bytes, str]:
        """Return the records of a block and why they are not all; an error of _DAMAGE where they are not to be used."""
        if block.size > 4 * LARGEST:  # more than Room would hold; a file may have holes, and be much larger than memory
            raise ValueError(f"it has {block.size * 1e-6:.0f} MB")
        data = self._at(block.at, block.size)
        if not block.is_chunk:
            return data, ""
        _, _, size, checksum = _CHUNK_HEAD.unpack_from(data)
        compression, at = _text(data, _CHUNK_HEAD.size)
        if compression and size > LARGEST:
            raise ValueError(f"it would unpack to {size * 1e-6:.0f} MB; {LARGEST * 1e-6:.0f} MB are read at most")
        records, error = _unpacked(compression, data[at + 8 :], size)
        if len(data) < block.size:
            return records, "it is cut off"
        if not error and (len(records) != size or (checksum and crc32(records) != checksum)):
            raise ValueError("not what was written")
        most = _FEW + _RECORDS_PER_BYTE * block.size  # a few kB can unpack to millions of empty ones
        if compression and size > most * _RECORD.size and sum(1 for _ in islice(_records(records), most + 1)) > most:
            raise ValueError("more records than its size explains")
        return records, error

    def _find_blocks(self) -> None:
        """Find blocks, and the channels that are defined outside of them, without unpacking any; note where it ends."""
        if self._at(0, len(MCAP)) != MCAP:
            raise ValueError("not an MCAP file")
        at, data_ended = len(MCAP), False
        while True:
            head = self._at(at, _RECORD.size + _CHUNK_HEAD.size)
            operation, length = _RECORD.unpack_from(head) if len(head) >= _RECORD.size else (0, 0)
            begin, body, last = at + _RECORD.size, head[_RECORD.size :], self._blocks[-1] if self._blocks else None
            if operation == _FOOTER:
                return
            is_cut = operation == 0 or begin + length > self._end
            if operation == _CHUNK and min(length, len(body)) >= _CHUNK_HEAD.size:
                start, *_ = _CHUNK_HEAD.unpack_from(body)
                self._blocks.append(_Block(start, begin, length, True))
            elif operation == _MESSAGE and length >= _MESSAGE_HEAD.size and not is_cut:
                _, received = _MESSAGE_HEAD.unpack_from(body)
                if last is None or last.is_chunk or last.at + last.size != at or last.size > _RUN:
                    last = _Block(received, at, 0, False)
                    self._blocks.append(last)
                last.size += _RECORD.size + length
            elif operation in (_SCHEMA, _CHANNEL) and length <= LARGEST:
                with suppress(*_DAMAGE):  # it may be defined once more, in a chunk or in the summary
                    self._note(operation, self._at(begin, length))
            if is_cut:
                if not data_ended:
                    self.losses.append(
                        f"{self._path.name} breaks off, as when the recorder is killed or a copy is not finished: "
                        "what came after is lost"
                    )
                return
            data_ended = data_ended or operation == _DATA_END
            at = begin + length

    def _count(self) -> None:
        """Count the messages of all blocks, and find the channels that are defined in chunks; note losses."""
        damaged = []
        for block in progress(self._blocks, f"{self._path.name}: no index, reading all", len(self._blocks)):
            start, error = 1 << 63, ""
            try:
                data, error = self._contents(block)
                for operation, at, end in _records(data):
                    if operation == _MESSAGE:
                        number, received = _MESSAGE_HEAD.unpack_from(data, at)
                        block.counts[number] += 1
                        start = min(start, received)
                    else:
                        self._note(operation, data[at:end])
            except _DAMAGE as reason:
                error = error or str(reason)
            block.start = start
            if error and block.at + block.size <= self._end:
                damaged.append(f"byte {block.at}: {error}")
        if damaged:
            text = f"{len(damaged)} of {len(self._blocks)} chunks of {self._path.name} are damaged"
            self.losses.append(f"{text}, the first at {damaged[0]}")
        if lost := sum(count for number, count in self.counts().items() if number not in self.channels):
            self.losses.append(f"{lost} messages of {self._path.name} are left out: their channels are not defined")

    def _note(self, operation: int, body: bytes) -> None:
        """Remember a schema or a channel."""
        if operation == _SCHEMA:
            (number,) = struct.unpack_from("<H", body)
            self._schemas[number], _ = _text(body, 2)
        elif operation == _CHANNEL:
            number, (channel, _, _) = _channel(body, self._schemas)
            self.channels[number] = channel


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
_OTHERS = {"schema", "metadata", "message_definitions", "timestamp_idx", "sqlite_stat1", "sqlite_stat4"}  # recorders' own
_STEPS, _STEPS_PER_BYTE = 1_000_000, 10  # of sqlite3's machine; a message takes about twenty, and more than twenty bytes
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
            if name not in (*_TABLES, *_OTHERS) or kind != ("index" if name == "timestamp_idx" else "table"):
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


class SqliteRemains:
    """The messages that are whole in a .db3 file, on all the pages that are there; attributes as those of McapRemains.

    Raises ValueError where it is no bag, or its topics are lost, and OSError where it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with closing(_connected(path)) as database:
                # Who wrote the file wrote its schema, too: only stored columns are read.
                database.set_authorizer(_is_plain)
                database.execute("PRAGMA writable_schema = ON")  # without it a file that is cut off is refused
                self.channels = _read_channels(database)
        except (sqlite3.DatabaseError, ValueError) as error:
            raise ValueError(f"no topics can be read from it ({error})") from None
        with path.open("rb") as file:
            header = file.read(100)
        self._size = path.stat().st_size
        self._page_size = _page_size(header)
        self._usable = self._page_size - header[20]
        self.losses = [f"{path.name} is damaged, or not as recorders write it, and read page by page{_missing(path)}"]
        self._counts: Counter[int] = Counter()
        self._table = self._find()
        self.start = int(self._table[0, 0]) if len(self._table) else 0

    def close(self) -> None:
        """Do nothing: no file is open."""

    def counts(self) -> Counter[int]:
        """Return the number of messages of each channel."""
        return self._counts

    def messages(self, numbers: Collection[int]) -> Iterator[Message]:
        """Yield the messages of these channels, in order of arrival."""
        names = {n: (self.channels[n].topic, self.channels[n].kind) for n in numbers}
        with self._path.open("rb") as file:
            here, data = -1, b""
            for received, _, page, at in self._table.tolist():
                if page != here:
                    here, data = page, self._read(file, page)
                row = self._row(file, data, at)
                if row is not None and row.topic in names:
                    yield Message(*names[row.topic], received, row.data)

    def _find(self) -> IntArray:
        """Return time of arrival, row id, page and place in it (m, 4) of each row that is whole, sorted."""
        places = array("q")
        self._left = _TIMES * self._size
        with self._path.open("rb") as file, suppress(OverflowError):
            for page in range(self._size // self._page_size):
                data = self._read(file, page)
                begin = 100 if page == 0 else 0
                cells = int.from_bytes(data[begin + 3 : begin + 5], "big")
                if data[begin] != _LEAF or begin + 8 + 2 * cells > len(data):
                    continue
                for pointer in range(begin + 8, begin + 8 + 2 * cells, 2):
                    at = int.from_bytes(data[pointer : pointer + 2], "big")
                    with suppress(IndexError, ValueError):
                        row = self._row(file, data, at)
                        if row is not None:
                            places.extend((row.received, row.number, page, at))
                            self._counts[row.topic] += 1
        self._left = sys.maxsize  # reading these rows again is within it
        table: IntArray = np.frombuffer(places, dtype=np.int64).reshape(-1, 4)
        return table[np.lexsort((table[:, 1], table[:, 0]))]

    def _spend(self, count: int) -> None:
        """Count bytes as read; OverflowError where rows share them, as in crafted files."""
        self._left -= count
        if self._left < 0:
            raise OverflowError

    def _read(self, file: BinaryIO, page: int) -> bytes:
        file.seek(page * self._page_size)
        data = file.read(self._page_size)
        if len(data) < self._page_size:
            raise ValueError("the page is not there")
        return data

    def _row(self, file: BinaryIO, page: bytes, at: int) -> _Row | None:
        """Return the row of a cell; None where it is none of a message, ValueError where not all of it is there."""
        length, at = _varint(page, at)
        if length > self._size:
            raise ValueError("longer than the file")
        number, at = _varint(page, at)
        record = self._payload(file, page, at, length)
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
        if topic not in self.channels:
            return None
        return _Row(number, topic, received, record[at : at + (kinds[3] - 12) // 2])

    def _payload(self, file: BinaryIO, page: bytes, at: int, length: int) -> bytes:
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
            data = self._read(file, following - 1)
            self._spend(self._page_size)
            pointer = data[:4]
            parts.append(data[4 : 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
        return b"".join(parts)


class _Row(NamedTuple):
    number: int
    topic: int
    received: int
    data: bytes


def _read_channels(database: sqlite3.Connection) -> dict[int, Channel]:
    # Only what is stored: generated columns are not listed.
    columns, others = ({row[1] for row in database.execute(f"PRAGMA table_info({name})")} for name in _TABLES)
    if not columns >= {"id", "name", "type", "serialization_format"} or not others >= {"topic_id", "timestamp", "data"}:
        raise ValueError("an sqlite3 file without the tables of a bag")
    latched = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
    rows = database.execute(f"SELECT id, name, type, serialization_format, {latched} FROM topics ORDER BY id")
    channels = {number: Channel(topic, kind, code, is_latched(qos)) for number, topic, kind, code, qos in rows}
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
