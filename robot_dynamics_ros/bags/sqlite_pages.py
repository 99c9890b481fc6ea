"""Messages of an sqlite3 file whose tree is broken: every page that is there is read for itself.

A bag grows at its end, but its tree does not: the page that leads to the first messages of a large bag may stand
behind hundreds of megabytes, and is lost with the end of the file. Format: sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAF = 0x0D  # of a table
_SIZES = (0, 1, 2, 3, 4, 6, 8)  # bytes of integers, by their serial type
_TIMES = 4  # how often all bytes may be read: each belongs to one row, but damage can look like rows

_Table = NDArray[np.int64]


class _Row(NamedTuple):
    number: int
    topic: int
    received: int
    data: bytes


class SqlitePages:
    """The rows of the table ``messages`` on all the pages that are there, in order of arrival.

    ``topics`` are the topic ids that a row may have: it tells the table from others. ``start`` is when the
    first one arrived (ns); ``counts`` is by topic id.
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
        self._found = self._find()
        self.start = int(self._found[0, 0]) if len(self._found) else 0

    def rows_after(self, last: tuple[int, int]) -> Iterator[tuple[int, int, bytes]]:
        """Yield time of arrival (ns), topic id and data of the rows after (time of arrival, row id)."""
        with self._path.open("rb") as file:
            here, data = -1, b""
            for received, number, page, at in self._found.tolist():
                if (received, number) <= last:
                    continue
                if page != here:
                    here, data = page, self._read(file, page)
                row = self._row(file, data, at)
                if row is not None:
                    yield received, row.topic, row.data

    def _find(self) -> _Table:
        """Return time of arrival, row id, page and place in it (m, 4) of each row, sorted."""
        self.counts: Counter[int] = Counter()
        found = array("q")
        self._left = _TIMES * self._size
        with self._path.open("rb") as file:
            for page in range(self._size // self._page_size):
                for at, row in self._rows(file, page):
                    found.extend((row.received, row.number, page, at))
                    self.counts[row.topic] += 1
                if self._left < 0:
                    break
        self._left = sys.maxsize  # what was found is within it
        table: _Table = np.frombuffer(found, dtype=np.int64).reshape(-1, 4)
        return table[np.lexsort((table[:, 1], table[:, 0]))]

    def _rows(self, file: BinaryIO, page: int) -> Iterator[tuple[int, _Row]]:
        """Yield the rows of a page that are whole, each with its place."""
        data = self._read(file, page)
        begin = 100 if page == 0 else 0
        cells = int.from_bytes(data[begin + 3 : begin + 5], "big")
        if data[begin] != _LEAF or begin + 8 + 2 * cells > len(data):
            return
        for k in range(cells):
            place = begin + 8 + 2 * k
            at = int.from_bytes(data[place : place + 2], "big")
            try:
                row = self._row(file, data, at)
            except (IndexError, ValueError):
                continue
            if self._left < 0:  # rows that share their bytes, made to take for ever
                return
            if row is not None:
                yield at, row

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
            self._left -= length
            return page[at : at + length]
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        here = here if here <= most else least
        self._left -= here
        parts, left = [page[at : at + here]], length - here
        pointer = page[at + here : at + here + 4]
        while left > 0:
            following = int.from_bytes(pointer, "big")
            if following == 0:
                raise ValueError("the chain breaks off")
            data = self._read(file, following - 1)
            self._left -= self._page_size
            if self._left < 0:
                raise ValueError("read too often")
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
