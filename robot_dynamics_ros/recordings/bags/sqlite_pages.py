"""Messages of an sqlite3 bag, read page by page without the file's B-trees (sqlite.org/fileformat2.html).

A ``Row`` has row id, topic id, time of arrival (ns since 1970) and serialized message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

Row = tuple["int | None", int, int, bytes]
"""Row id, channel, time of arrival (ns), data."""

_LEAF = 0x0D  # leaf page of a table
_SIZES = (0, 1, 2, 3, 4, 6, 8)  # bytes of integers, by serial type
_TIMES = 4  # limit on reads of each byte: damaged data can look like rows


def message_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of the table ``messages`` on all pages of a file, in the order of the pages.

    Incomplete rows are skipped. Reading ends early if rows share their bytes, as in crafted files.
    """
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
                    if row is not None:
                        yield row


def page_size(header: bytes) -> int:
    """Return the page size (bytes) by the ``header`` of an sqlite3 file, its first 20 bytes or more."""
    size = int.from_bytes(header[16:18], "big")
    return 65536 if size == 1 else size


class _Pages:
    """Pages of a file; OverflowError if rows share their bytes, as in crafted files."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        header = file.read(100)
        self._file, self.size = file, size
        self._left = _TIMES * size
        self.page_size = page_size(header)
        self._usable = self.page_size - header[20]

    def read(self, page: int) -> bytes:
        """Return a page; ValueError if it is missing."""
        self._file.seek(page * self.page_size)
        data = self._file.read(self.page_size)
        if len(data) < self.page_size:
            raise ValueError("the page is missing")
        return data

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise OverflowError

    def row(self, page: bytes, at: int) -> Row | None:
        """Return the row of a cell; None if it is no message, ValueError if it is incomplete."""
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
        # id (the row id, without bytes here), topic_id, timestamp, data
        if len(kinds) != 4 or kinds[0] != 0 or kinds[3] < 12 or kinds[3] % 2:
            return None
        topic, at = _integer(record, at, kinds[1])
        received, at = _integer(record, at, kinds[2])
        return number, topic, received, record[at : at + (kinds[3] - 12) // 2]

    def _payload(self, page: bytes, at: int, length: int) -> bytes:
        """Return a payload; a long one continues in a chain of overflow pages."""
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
                raise ValueError("the chain is truncated")
            data = self.read(following - 1)
            self._spend(self.page_size)
            pointer = data[:4]
            parts.append(data[4 : 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
        return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and its end."""
    value = 0
    for k in range(8):
        byte = data[at + k]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + k + 1
    return value << 8 | data[at + 8], at + 9


def _integer(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """Return an integer of a serial type, and its end."""
    if kind in (8, 9):
        return kind - 8, at
    if not 1 <= kind <= 6:
        raise ValueError("not an integer")
    end = at + _SIZES[kind]
    return int.from_bytes(data[at:end], "big", signed=True), end
