"""MCAP files (mcap.dev/spec), whole or not: where the index is missing, the records themselves are read."""

from __future__ import annotations

import struct
import warnings
from binascii import crc32
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import lz4.frame  # type: ignore[import-untyped]

from robot_dynamics_ros.bags.storage import (
    LARGEST,
    Channel,
    Message,
    Profiles,
    Room,
    in_order_of_arrival,
    unpacked,
    zstd,
)
from robot_dynamics_ros.errors import BagError, BagWarning
from robot_dynamics_ros.progress import progress

MAGIC = b"\x89MCAP0\r\n"

_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _CHUNK_INDEX, _STATISTICS, _DATA_END = 2, 3, 4, 5, 6, 8, 11, 15
_RECORD = struct.Struct("<BQ")  # operation, length of what follows
_MESSAGE_HEAD = struct.Struct("<H4xq8x")  # channel, received
_CHUNK_HEAD = struct.Struct("<qqQI")  # first and last arrival, size, checksum
_CHUNK_PLACE = struct.Struct("<qqQQ")  # first and last arrival, offset, length
_COUNTS = struct.Struct("<Q2xII4xI16x")  # messages, channels, attachments, chunks
_TAIL = 20 + _RECORD.size + len(MAGIC)  # the footer and what follows it
_RUN = 1 << 20  # messages outside of chunks are read in runs of about this many bytes
_OBJECT = 200  # bytes of a message in memory beside its data
_FEW, _RECORDS_PER_BYTE = 1000, 8  # of a packed chunk: times differ between messages, and take some bytes of each
_KEYS = 100  # of a channel's metadata; recorders write four
_DAMAGE = (struct.error, ValueError, OverflowError, MemoryError, RuntimeError, EOFError, zstd.ZstdError)


class _Block(NamedTuple):
    """A chunk, or a run of records outside of chunks; ``numbers`` are the channels it has messages of."""

    start: int
    at: int
    size: int
    is_chunk: bool
    numbers: Collection[int]


class McapFile:
    """A Storage (see there) of one .mcap file.

    ``room`` is what is left (bytes, one for all files of a bag) for messages that are unpacked and not yet asked for.
    Raises ValueError where it is none, and OSError where it cannot be read.
    """

    def __init__(self, path: Path, room: Room) -> None:
        self._file = path.open("rb")
        self._room = room
        self._path = path
        self._size = path.stat().st_size
        self._profiles = Profiles()
        self._schemas: dict[int, str] = {}
        self._counts: Mapping[int, int] = {}
        self._blocks: list[_Block] = []
        self.channels: dict[int, Channel] = {}
        self.losses: list[str] = []
        if self._at(0, len(MAGIC)) != MAGIC:
            raise ValueError("not an MCAP file")
        if not self._read_summary():
            self._read_records()
        self._blocks.sort()
        self.start = self._blocks[0].start if self._blocks else 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def counts(self) -> Mapping[int, int]:
        """Return the number of messages of each channel."""
        return self._counts

    def messages(self, numbers: Collection[int]) -> Iterator[Message]:
        """Yield the messages of these channels, in order of arrival; holds as many chunks as overlap in time."""
        names = {n: (self.channels[n].topic, self.channels[n].kind) for n in numbers}
        return in_order_of_arrival(
            (block.start, partial(self._block_messages, block, names))
            for block in self._blocks
            if not names.keys().isdisjoint(block.numbers)
        )

    def _at(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)

    def _block_messages(self, block: _Block, names: Mapping[int, tuple[str, str]]) -> Iterator[Message]:
        found = self._unpacked(block, names)
        size = sum(_OBJECT + len(message.data) for message in found)
        self._room.left -= size
        try:
            if self._room.left < 0:
                raise BagError(
                    f"{self._path}: chunks are larger, or more of them overlap in time, than can be held. "
                    "Cure: sort it, by `mcap sort`"
                )
            yield from found
        finally:
            self._room.left += size

    def _unpacked(self, block: _Block, names: Mapping[int, tuple[str, str]]) -> list[Message]:
        found = []
        try:
            data = self._contents(block)
            for operation, at, end in _records(data):
                if operation == _MESSAGE:
                    number, received = _MESSAGE_HEAD.unpack_from(data, at)
                    if number in names:
                        topic, kind = names[number]
                        found.append(Message(topic, kind, received, data[at + _MESSAGE_HEAD.size : end]))
        except _DAMAGE as problem:
            text = f"{self._path}: a chunk at byte {block.at} is damaged and left out ({problem}). Cure: copy it again"
            warnings.warn(BagWarning(text), stacklevel=1)
        found.sort(key=attrgetter("received"))
        return found

    def _contents(self, block: _Block) -> bytes:
        """Return the records of a block; an error of _DAMAGE where they are not what was written."""
        if block.size > 4 * LARGEST:  # more than Room would hold; a file may have holes, and be much larger than memory
            raise ValueError(f"it has {block.size * 1e-6:.0f} MB")
        data = self._at(block.at, block.size)
        if not block.is_chunk:
            return data
        _, _, size, checksum = _CHUNK_HEAD.unpack_from(data)
        compression, at = _text(data, _CHUNK_HEAD.size)
        records = data[at + 8 :]
        if compression and size > LARGEST:
            raise ValueError(f"it would unpack to {size * 1e-6:.0f} MB; {LARGEST * 1e-6:.0f} MB are read at most")
        if compression == "zstd":
            records = unpacked(records, size)
        elif compression == "lz4":
            records = lz4.frame.LZ4FrameDecompressor().decompress(records, max_length=size + 1)
        elif compression:
            raise ValueError(f"compressed by {compression}, which is unknown")
        if len(records) != size or (checksum and crc32(records) != checksum):
            raise ValueError("not what was written")
        if compression:
            _check_count(records, _FEW + _RECORDS_PER_BYTE * block.size)
        return records

    # The summary at the end of a whole file

    def _read_summary(self) -> bool:
        """Take channels, chunks and counts from the summary; False where there is none, or not all of it."""
        tail = self._at(max(0, self._size - _TAIL), _TAIL)
        if len(tail) < _TAIL or not tail.endswith(MAGIC) or _RECORD.unpack_from(tail) != (_FOOTER, 20):
            return False
        (at,) = struct.unpack_from("<Q", tail, _RECORD.size)
        size = self._size - _TAIL - at
        data = self._at(at, size) if 0 < at < self._size and size <= LARGEST else b""
        messages, channels, chunks = -1, 0, 0
        try:
            for operation, begin, end in _records(data):
                body = data[begin:end]
                if operation == _CHUNK_INDEX:
                    start, _, place, length = _CHUNK_PLACE.unpack_from(body)
                    numbers = dict(_pairs(body, _CHUNK_PLACE.size))
                    head = _RECORD.size
                    self._blocks.append(_Block(start, place + head, length - head, True, frozenset(numbers)))
                elif operation == _STATISTICS:
                    messages, channels, _, chunks = _COUNTS.unpack_from(body)
                    self._counts = dict(_pairs(body, _COUNTS.size))
                else:
                    self._note(operation, body)
        except _DAMAGE:
            messages = -1
        whole = len(self.channels) == channels and len(self._blocks) == chunks and (chunks > 0 or messages == 0)
        indexed = all(block.numbers and block.size >= _CHUNK_HEAD.size for block in self._blocks)
        ends = [0, *(block.at + block.size for block in sorted(self._blocks, key=attrgetter("at")))]
        starts = [*sorted(block.at for block in self._blocks), self._size]
        apart = all(end <= start for end, start in zip(ends, starts, strict=True))  # one that is named twice is a trick
        if messages < 0 or not whole or not indexed or not apart:
            self._blocks.clear()
            return False
        return True

    def _note(self, operation: int, body: bytes) -> None:
        """Remember a schema or a channel."""
        if operation == _SCHEMA:
            (number,) = struct.unpack_from("<H", body)
            self._schemas[number], _ = _text(body, 2)
        elif operation == _CHANNEL:
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
            latched = self._profiles.latched(metadata.get("offered_qos_profiles", ""))
            self.channels[number] = Channel(topic, self._schemas.get(schema, ""), encoding, latched)

    # The records of a file without summary

    def _read_records(self) -> None:
        """Find blocks, channels and counts by going through the whole file."""
        counts: Counter[int] = Counter()
        damaged = 0
        blocks = list(self._find_blocks())
        for block in progress(blocks, f"{self._path.name}: no index, reading all", len(blocks)):
            own: Counter[int] = Counter()
            start = 1 << 64
            try:
                data = self._contents(block)
                for operation, at, end in _records(data):
                    if operation == _MESSAGE:
                        number, received = _MESSAGE_HEAD.unpack_from(data, at)
                        own[number] += 1
                        start = min(start, received)
                    else:
                        self._note(operation, data[at:end])
            except _DAMAGE:
                damaged += 1
                continue
            if own:
                self._blocks.append(block._replace(start=start, numbers=frozenset(own)))
                counts += own
        self._counts = counts
        if damaged:
            self.losses.append(f"{damaged} of {len(blocks)} chunks of {self._path.name} are damaged and left out")

    def _find_blocks(self) -> Iterator[_Block]:
        """Yield the whole chunks and the runs of other records, and note whether the file breaks off."""
        at = len(MAGIC)
        run = at, at
        while True:
            head = self._at(at, _RECORD.size + _CHUNK_HEAD.size)
            operation, length = _RECORD.unpack_from(head) if len(head) >= _RECORD.size else (0, 0)
            body, end = at + _RECORD.size, at + _RECORD.size + length
            whole = operation != 0 and end <= self._size
            goes_on = whole and operation in (_SCHEMA, _CHANNEL, _MESSAGE) and run[1] - run[0] < _RUN
            if run[1] > run[0] and not goes_on:
                yield _Block(0, run[0], run[1] - run[0], False, ())
            if not whole:
                self.losses.append(self._break(operation, head))
                return
            if operation in (_FOOTER, _DATA_END):
                return
            if operation == _CHUNK:
                yield _Block(0, body, length, True, ())
            starts = at if operation in (_SCHEMA, _CHANNEL, _MESSAGE) else end
            run = (run[0] if goes_on else starts), end
            at = end

    def _break(self, operation: int, head: bytes) -> str:
        """Say what a file lacks that breaks off in a record."""
        said = f"{self._path.name} breaks off, as when the recorder is killed or a copy is not finished"
        if operation == _CHUNK and len(head) >= _RECORD.size + _CHUNK_HEAD.size:
            first, last, _, _ = _CHUNK_HEAD.unpack_from(head, _RECORD.size)
            return f"{said}: a chunk of {(last - first) * 1e-9:.3g} s at its end is lost, and what came after"
        return f"{said}: what came after is lost"


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


def _check_count(data: bytes, most: int) -> None:
    """Raise ValueError where there are more records than ``most``: a few kB can unpack to millions of empty ones."""
    if len(data) > most * _RECORD.size and sum(1 for _ in islice(_records(data), most + 1)) > most:
        raise ValueError("more records than its size explains")


def _text(data: bytes, at: int) -> tuple[str, int]:
    """Return a string and where it ends."""
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + length
    if end > len(data):
        raise ValueError("a text is cut off")
    return data[at + 4 : end].decode(errors="replace"), end


def _pairs(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Return a map from channels to 64-bit numbers."""
    (length,) = struct.unpack_from("<I", data, at)
    return struct.iter_unpack("<HQ", data[at + 4 : at + 4 + length])
