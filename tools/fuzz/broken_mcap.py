"""Invalid MCAP files, with errors of records, chunks and indexes (mcap.dev/spec)."""

from __future__ import annotations

import random
import struct
from functools import cache

import lz4.frame

from robot_dynamics_ros.recordings.bags.recovery import MCAP as MAGIC
from robot_dynamics_ros.recordings.bags.storage import zstd

_RECORD = struct.Struct("<BQ")
_OPERATIONS = (*range(16), 128, 255)
_CHUNK, _CHUNK_INDEX, _FOOTER = 6, 8, 2
_CHUNK_HEAD = 28  # first and last arrival, size, checksum; compression and records follow
_BOMB = 1 << 28  # bytes, twice the limit of the reader
_Records = list[tuple[int, bytes]]


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Return a damaged file; offsets are not adapted, so that index entries may be wrong."""
    records = _split(data)
    if not records:
        return data
    for _ in range(rng.choice((1, 1, 2))):
        _change(rng, records)
    parts = [_RECORD.pack(operation, len(body)) + body for operation, body in records]
    if rng.random() < 0.1:  # a wrong length
        k = rng.randrange(len(parts))
        parts[k] = parts[k][:1] + _number(rng, 8, len(data)) + parts[k][9:]
    return MAGIC + b"".join(parts) + (MAGIC if rng.random() < 0.95 else b"")


def _split(data: bytes) -> _Records:
    records, at = [], len(MAGIC)
    while at + _RECORD.size <= len(data):
        operation, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        records.append((operation, data[at : at + length]))
        at += length
    return records


def _number(rng: random.Random, size: int, length: int) -> bytes:
    top = 1 << 8 * size
    value = rng.choice(
        (0, 1, 8, length, length + 1, rng.randrange(length + 1), top // 2, top // 2 - 1, top - 1, top - 9)
    )
    return (value % top).to_bytes(size, "little")


def _change(rng: random.Random, records: _Records) -> None:
    k = rng.randrange(len(records))
    if rng.random() < 0.6:  # preferably the few records that refer to others
        k = rng.choice([i for i, (operation, _) in enumerate(records) if operation != 5] or [k])
    operation, body = records[k]
    match rng.randrange(9):
        case 0:
            del records[k]
            if not records:
                records.append((operation, body))
        case 1:
            records[k:k] = [records[k]] * rng.choice((1, 2, 1000 if len(body) < 1000 else 3))
        case 2:
            records[k] = rng.choice(_OPERATIONS), body
        case 3:
            records.insert(rng.randrange(len(records) + 1), (9, bytes(28) + _number(rng, 8, len(body))))  # attachment
        case 4 if operation == _CHUNK:
            records[k] = operation, _bomb(rng, body)
        case 5 if operation == _CHUNK:
            records[k] = operation, _inner(rng, body)
        case _ if body:  # a number in it, or a text's length
            size = rng.choice((2, 4, 8, 8))
            places = range(0, len(body), 2) if len(body) < 200 or operation != _CHUNK else range(0, 60, 2)
            at = rng.choice(places)
            records[k] = operation, body[:at] + _number(rng, size, len(body)) + body[at + size :]


def _inner(rng: random.Random, body: bytes) -> bytes:
    """Change the records of a chunk without compression and checksum."""
    at = _CHUNK_HEAD + 4 + int.from_bytes(body[_CHUNK_HEAD : _CHUNK_HEAD + 4], "little")
    if at != _CHUNK_HEAD + 4:
        return body
    records = _split(MAGIC + body[at + 8 :])
    if records:
        _change(rng, records)
    data = b"".join(_RECORD.pack(operation, len(inside)) + inside for operation, inside in records)
    return body[:16] + struct.pack("<QIIQ", len(data), 0, 0, len(data)) + data


def _bomb(rng: random.Random, body: bytes) -> bytes:
    """Replace a chunk by one that unpacks to more than the maximum, whatever its stated size."""
    name = rng.choice(("zstd", "lz4"))
    size = rng.choice((0, 1 << 10, 1 << 27, _BOMB, 1 << 62))
    text = struct.pack("<I", len(name)) + name.encode()
    packed = _zeros(name)
    return body[:16] + struct.pack("<QI", size, 0) + text + struct.pack("<Q", len(packed)) + packed


@cache
def _zeros(name: str) -> bytes:
    """Return compressed zeros, created piece by piece so that this program does not hold them."""
    piece = bytes(1 << 20)
    if name == "zstd":
        packer = zstd.ZstdCompressor()
        return b"".join(packer.compress(piece) for _ in range(_BOMB // len(piece))) + packer.flush()
    with lz4.frame.LZ4FrameCompressor() as frame:
        parts = [frame.begin(), *(frame.compress(piece) for _ in range(_BOMB // len(piece))), frame.flush()]
    return b"".join(parts)
