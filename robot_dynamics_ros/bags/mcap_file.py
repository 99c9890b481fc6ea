"""MCAP files (mcap.dev/spec), whole or cut off.

Neither rosbags nor mcap limits what a chunk unpacks to, or reads a file that breaks off. Here the records of every file
are gone through, with or without a summary. Chunks are unpacked when their messages are asked for, and before that only
where the statistics at the end are missing or disagree with the message indexes behind the chunks.
"""

from __future__ import annotations

import struct
import warnings
from binascii import crc32
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from operator import attrgetter
from pathlib import Path

import lz4.frame  # type: ignore[import-untyped]

from robot_dynamics_ros.bags.storage import (
    LARGEST,
    Channel,
    Message,
    Room,
    in_order_of_arrival,
    is_latched,
    unpacked,
    zstd,
)
from robot_dynamics_ros.errors import BagError, BagWarning
from robot_dynamics_ros.progress import progress

MAGIC = b"\x89MCAP0\r\n"

_FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _MESSAGE_INDEX, _STATISTICS, _DATA_END = 2, 3, 4, 5, 6, 7, 11, 15
_RECORD = struct.Struct("<BQ")  # operation, length of what follows
_MESSAGE_HEAD = struct.Struct("<H4xq8x")  # channel, received
_CHUNK_HEAD = struct.Struct("<qqQI")  # first and last arrival, size, checksum
_INDEX_HEAD = struct.Struct("<HI")  # channel, bytes of the entries
_INDEX_ENTRY = 16  # bytes: arrival, offset
_STATISTICS_HEAD = 46  # bytes before the messages of each channel
_RUN = 1 << 20  # messages outside of chunks are read in runs of about this many bytes
_OBJECT = 200  # bytes of a message in memory beside its data
_FEW, _RECORDS_PER_BYTE = 1000, 8  # of a packed chunk: times differ between messages, and take some bytes of each
_KEYS = 100  # of a channel's metadata; recorders write four
_DAMAGE = (struct.error, ValueError, OverflowError, MemoryError, RuntimeError, EOFError, zstd.ZstdError)


@dataclass
class _Block:
    """A chunk, or a run of messages outside of chunks; ``counts`` is the number of messages of each channel."""

    start: int
    at: int
    size: int
    is_chunk: bool
    counts: Counter[int] = field(default_factory=Counter)


class McapFile:
    """One .mcap file.

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
        self._room = room
        self._path = path
        self._size = path.stat().st_size
        self._schemas: dict[int, str] = {}
        self._blocks: list[_Block] = []
        self.channels: dict[int, Channel] = {}
        self.losses: list[str] = []
        if self._at(0, len(MAGIC)) != MAGIC:
            raise ValueError("not an MCAP file")
        statistics = self._find_blocks()
        counts = self.counts()
        indexed = all(block.counts for block in self._blocks) and counts.keys() <= self.channels.keys()
        if not indexed or statistics != counts:
            self._read_blocks()
            if statistics and not self.losses and (missing := statistics.total() - self.counts().total()) > 0:
                self.losses.append(f"{missing} of {statistics.total()} messages of {path.name} are missing")
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
        return self._file.read(size)

    def _block_messages(self, block: _Block, names: Mapping[int, tuple[str, str]]) -> Iterator[Message]:
        messages = self._unpacked(block, names)
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

    def _unpacked(self, block: _Block, names: Mapping[int, tuple[str, str]]) -> list[Message]:
        messages = []
        try:
            data = self._contents(block)
            for operation, at, end in _records(data):
                if operation == _MESSAGE:
                    number, received = _MESSAGE_HEAD.unpack_from(data, at)
                    if number in names:
                        topic, kind = names[number]
                        messages.append(Message(topic, kind, received, data[at + _MESSAGE_HEAD.size : end]))
        except _DAMAGE as error:
            text = f"{self._path}: a chunk at byte {block.at} is damaged and left out ({error}). Cure: copy it again"
            warnings.warn(BagWarning(text), stacklevel=1)
        messages.sort(key=attrgetter("received"))
        return messages

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
        most = _FEW + _RECORDS_PER_BYTE * block.size  # a few kB can unpack to millions of empty ones
        if compression and size > most * _RECORD.size and sum(1 for _ in islice(_records(records), most + 1)) > most:
            raise ValueError("more records than its size explains")
        return records

    def _find_blocks(self) -> Counter[int] | None:
        """Find blocks, and the channels that are defined outside of them, without unpacking any; note a loss.

        Returns the number of messages of each channel by the statistics of the summary; None where there are none.
        """
        statistics: Counter[int] | None = None
        at = len(MAGIC)
        data_ended = False
        while True:
            head = self._at(at, _RECORD.size + _CHUNK_HEAD.size)
            operation, length = _RECORD.unpack_from(head) if len(head) >= _RECORD.size else (0, 0)
            begin, body, last = at + _RECORD.size, head[_RECORD.size :], self._blocks[-1] if self._blocks else None
            if operation == _FOOTER:
                return statistics
            if operation == 0 or begin + length > self._size:
                if not data_ended:
                    self.losses.append(self._break(operation, body))
                return None
            data_ended = data_ended or operation == _DATA_END
            if operation == _MESSAGE and length >= _MESSAGE_HEAD.size:
                number, received = _MESSAGE_HEAD.unpack_from(body)
                if last is None or last.is_chunk or last.at + last.size != at or last.size > _RUN:
                    last = _Block(received, at, 0, False)
                    self._blocks.append(last)
                last.size += _RECORD.size + length
                last.start = min(last.start, received)
                last.counts[number] += 1
            elif operation == _CHUNK and length >= _CHUNK_HEAD.size:
                start, *_ = _CHUNK_HEAD.unpack_from(body)
                self._blocks.append(_Block(start, begin, length, True))
            elif operation == _MESSAGE_INDEX and length >= _INDEX_HEAD.size and last is not None and last.is_chunk:
                number, entries = _INDEX_HEAD.unpack_from(body)
                if count := entries // _INDEX_ENTRY:
                    last.counts[number] = count
            elif operation in (_SCHEMA, _CHANNEL) and length <= LARGEST:
                with suppress(*_DAMAGE):  # it may be defined once more, in a chunk or in the summary
                    self._note(operation, self._at(begin, length))
            elif operation == _STATISTICS and _STATISTICS_HEAD <= length <= LARGEST:
                with suppress(*_DAMAGE):
                    pairs = struct.iter_unpack("<HQ", self._at(begin, length)[_STATISTICS_HEAD:])
                    statistics = Counter(dict(pairs))
            at = begin + length

    def _read_blocks(self) -> None:
        """Count the messages of all blocks, and find the channels that are defined in chunks; note losses."""
        damaged = 0
        for block in progress(self._blocks, f"{self._path.name}: no index, reading all", len(self._blocks)):
            counts: Counter[int] = Counter()
            start = 1 << 64
            try:
                data = self._contents(block)
                for operation, at, end in _records(data):
                    if operation == _MESSAGE:
                        number, received = _MESSAGE_HEAD.unpack_from(data, at)
                        counts[number] += 1
                        start = min(start, received)
                    else:
                        self._note(operation, data[at:end])
            except _DAMAGE:
                damaged += not counts  # what stands before the damage is read, with a warning then
            block.start, block.counts = start, counts
        if damaged:
            self.losses.append(f"{damaged} of {len(self._blocks)} chunks of {self._path.name} are damaged and left out")
        if lost := sum(count for number, count in self.counts().items() if number not in self.channels):
            self.losses.append(f"{lost} messages of {self._path.name} are left out: their channels are not defined")

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
            latched = is_latched(metadata.get("offered_qos_profiles"))
            self.channels[number] = Channel(topic, self._schemas.get(schema, ""), encoding, latched)

    def _break(self, operation: int, body: bytes) -> str:
        """Describe what a file lacks that breaks off in a record."""
        text = f"{self._path.name} breaks off, as when the recorder is killed or a copy is not finished"
        if operation == _CHUNK and len(body) >= _CHUNK_HEAD.size:
            first, last, _, _ = _CHUNK_HEAD.unpack_from(body)
            return f"{text}: a chunk of {(last - first) * 1e-9:.3g} s at its end is lost, and what came after"
        return f"{text}: what came after is lost"


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
