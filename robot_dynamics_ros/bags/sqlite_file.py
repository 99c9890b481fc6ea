"""Sqlite3 files of bags, whole or cut off.

rosbags' reader trusts the schema that a file brings, and gives up a file that is damaged. A bag grows at its end, but
its tree does not: the page that leads to the first messages of a large bag may stand behind hundreds of megabytes, and
is lost with the end of the file. Then every page that is there is read for itself (sqlite.org/fileformat2.html).
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from robot_dynamics_ros.bags.storage import Channel, Message, is_latched
from robot_dynamics_ros.errors import BagWarning
from robot_dynamics_ros.kernels.types import IntArray

_LEAF = 0x0D  # of a table
_SIZES = (0, 1, 2, 3, 4, 6, 8)  # bytes of integers, by their serial type
_TIMES = 4  # how often all bytes may be read: each belongs to one row, but damage can look like rows


class _Row(NamedTuple):
    number: int
    topic: int
    received: int
    data: bytes


class _SqlitePages:
    """The rows of the table ``messages`` on all the pages that are there, in order of arrival.

    ``topics`` are the topic ids that a row may have, by which the table is recognized. ``start`` is the time of arrival
    of the first row (ns); ``counts`` is by topic id.
    """

    def __init__(self, path: Path, topics: Collection[int]) -> None:
        self._path = path
        self._topics = frozenset(topics)
        with path.open("rb") as file:
            header = file.read(100)
        size = int.from_bytes(header[16:18], "big")
        self._size = path.stat().st_size
        self._page_size = 65536 if size == 1 else size
        self._usable = self._page_size - header[20]
        self._table = self._find()
        self.start = int(self._table[0, 0]) if len(self._table) else 0

    def rows_after(self, last: tuple[int, int]) -> Iterator[tuple[int, int, bytes]]:
        """Yield time of arrival (ns), topic id and data of the rows after (time of arrival, row id)."""
        with self._path.open("rb") as file:
            here, data = -1, b""
            for received, number, page, at in self._table.tolist():
                if (received, number) <= last:
                    continue
                if page != here:
                    here, data = page, self._read(file, page)
                row = self._row(file, data, at)
                if row is not None:
                    yield received, row.topic, row.data

    def _find(self) -> IntArray:
        """Return time of arrival, row id, page and place in it (m, 4) of each row that is whole, sorted."""
        self.counts: Counter[int] = Counter()
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
                    try:
                        row = self._row(file, data, at)
                    except (IndexError, ValueError):
                        continue
                    if row is not None:
                        places.extend((row.received, row.number, page, at))
                        self.counts[row.topic] += 1
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
        if topic not in self._topics:
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


MAGIC = b"SQLite format 3\0"
_JOURNALS = ("-wal", "-journal")
_INT64 = 1 << 63
_NEEDED = {"topic_id", "timestamp", "data"}
_TABLES = {"topics", "messages"}
_FUNCTIONS = {"min", "count", "typeof"}
_STEPS, _STEPS_PER_BYTE = 10_000, 10  # of sqlite3's machine; a message takes about twenty, and more than twenty bytes
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)


class SqliteFile:
    """One .db3 file; attributes as those of McapFile.

    What a killed recorder left in a journal beside it counts, too: file and journal are then copied to ``scratch()``,
    a folder. Raises ValueError where it is no bag, and OSError where it cannot be read.
    """

    def __init__(self, path: Path, scratch: Callable[[], Path]) -> None:
        self.losses: list[str] = []
        self._pages: _SqlitePages | None = None
        self._path = _with_journal(path, scratch)
        self._size = sum(file.stat().st_size for file in _with_journals(self._path))
        self._steps = 0
        own_copy = self._path != path
        mode = "mode=rw" if own_copy else "mode=ro&immutable=1"
        self._database = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{mode}", uri=True, check_same_thread=False, isolation_level=None
        )
        # Who wrote the file wrote its schema, too: a view or a generated column can stand for any number of bytes.
        self._database.set_authorizer(_is_plain)
        self._database.set_progress_handler(self._runs_too_long, _STEPS)
        try:
            self._database.execute("PRAGMA writable_schema = ON")  # without it sqlite3 refuses a file that is cut off
            self.channels = self._read_channels()
            missing = _missing(self._path)
        except (sqlite3.DatabaseError, ValueError) as error:
            self._database.close()
            raise ValueError(f"no topics can be read from it ({error})") from None
        try:
            (start,) = self._execute("SELECT min(timestamp) FROM messages").fetchone()
            self.start = start if isinstance(start, int) else 0
        except _DAMAGE as error:
            missing = missing or str(error)
        if missing:
            self.losses.append(f"{path.name} is damaged and read page by page: {missing}")
            self._pages = _SqlitePages(self._path, self.channels.keys())
            self.start = self._pages.start

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def counts(self) -> Mapping[int, int]:
        """Return the number of messages of each channel, by going through all."""
        try:
            if self._pages is None:
                return dict(self._execute("SELECT topic_id, count(*) FROM messages GROUP BY topic_id"))
        except _DAMAGE as error:
            self._read_by_page(error)
        assert self._pages is not None
        return self._pages.counts

    def messages(self, numbers: Collection[int]) -> Iterator[Message]:
        """Yield the messages of these channels, in order of arrival."""
        names = {n: (self.channels[n].topic, self.channels[n].kind) for n in numbers}
        last = -_INT64, -_INT64
        if self._pages is None:
            try:
                left = self._size
                rows = self._execute(
                    "SELECT timestamp, rowid, topic_id, data FROM messages"
                    f" WHERE topic_id IN ({','.join(map(str, names))})"
                    " AND typeof(topic_id) = 'integer' AND typeof(timestamp) = 'integer' AND typeof(data) = 'blob'"
                    " ORDER BY timestamp, rowid"
                )
                for received, row, number, data in rows:
                    left -= len(data)
                    if left < 0:
                        raise sqlite3.DatabaseError("more messages than the file can hold")
                    yield Message(*names[number], received, data)
                    last = received, row
            except _DAMAGE as error:
                self._read_by_page(error)
        if self._pages is not None:
            for received, number, data in self._pages.rows_after(last):
                if number in names:
                    yield Message(*names[number], received, data)

    def _read_channels(self) -> dict[int, Channel]:
        columns = self._columns("topics")
        if not columns >= {"id", "name", "type", "serialization_format"} or not self._columns("messages") >= _NEEDED:
            raise ValueError("an sqlite3 file without the tables of a bag")
        latched = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
        rows = self._execute(f"SELECT id, name, type, serialization_format, {latched} FROM topics ORDER BY id")
        channels = {number: Channel(topic, kind, code, is_latched(qos)) for number, topic, kind, code, qos in rows}
        if not all(isinstance(text, str) for channel in channels.values() for text in channel[:3]):
            raise ValueError("a topic without a name")
        if not all(isinstance(number, int) for number in channels):  # they become a part of queries
            raise ValueError("a topic whose id is no integer")
        return channels

    def _columns(self, table: str) -> set[str]:
        """Return the columns that are stored; none where there is no such table."""
        return {row[1] for row in self._execute(f"PRAGMA table_info({table})")}

    def _execute(self, query: str) -> sqlite3.Cursor:
        self._steps = 0
        return self._database.execute(query)

    def _runs_too_long(self) -> bool:
        """Return True if a query takes more steps than the file's size explains: its tree leads to a page often."""
        self._steps += _STEPS
        return self._steps > 1_000_000 + _STEPS_PER_BYTE * self._size

    def _read_by_page(self, error: Exception) -> None:
        """Continue without the tree, after damage was found while reading."""
        if self._pages is None:
            self._pages = _SqlitePages(self._path, self.channels.keys())
            text = f"{self._path}: damaged and read page by page: {error}. Cure: copy it again, or go on with the rest"
            warnings.warn(BagWarning(text), stacklevel=1)


def _is_plain(action: int, first: str | None, second: str | None, _: str | None, view: str | None) -> int:
    """Allow what reading a bag needs (sqlite.org/c3ref/set_authorizer.html): stored columns of its tables."""
    plain = (
        (action == sqlite3.SQLITE_READ and first in _TABLES)
        or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
        or action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_PRAGMA)
    )
    return sqlite3.SQLITE_OK if plain and view is None else sqlite3.SQLITE_DENY


def _with_journal(path: Path, scratch: Callable[[], Path]) -> Path:
    """Return the file, or a copy of it where there is a journal that sqlite3 has to work in.

    A rollback journal can end with the name of another file, which sqlite3 then deletes: a last byte more in the copy,
    and that is no name to it (sqlite.org/fileformat2.html, 3).
    """
    _, *journals = _with_journals(path)
    if not journals:
        return path
    folder = scratch()
    for journal in journals:
        with Path(shutil.copyfile(journal, folder / journal.name)).open("ab") as copy:
            copy.write(b"\0")
    return Path(shutil.copyfile(path, folder / path.name))


def _with_journals(path: Path) -> list[Path]:
    """Return the file and the journals beside it that hold something."""
    journals = [path.with_name(path.name + end) for end in _JOURNALS]
    return [path, *(journal for journal in journals if journal.is_file() and journal.stat().st_size > 0)]


def _missing(path: Path) -> str:
    """Describe how much the file lacks of what its header promises (sqlite.org/fileformat2.html, 1.3)."""
    with path.open("rb") as file:
        header = file.read(100)
    page_size = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65536 if page_size == 1 else page_size)
    if header[24:28] != header[92:96]:  # written by an sqlite3 that does not keep the size
        return ""
    size = path.stat().st_size
    return f"{(expected - size) * 1e-6:.3g} of {expected * 1e-6:.3g} MB are missing" if size < expected else ""
