"""Malicious bags and messages, built record by record."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from robot_dynamics_ros.recordings.bags.recovery import MCAP
from support.bag_recordings import JOINT_STATE

TOPIC = "/joint_states"
CDR = b"\0\1\0\0"
NONE: Mapping[str, str] = {}


@contextmanager
def soon(seconds: float = 10.0) -> Iterator[None]:
    """Fail if the context takes too much processor time; valid input of the same size takes milliseconds."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


def many_names(count: int, reported: int | None = None) -> bytes:
    """Return a header and empty names, without points (trajectory) or fields (state)."""
    head = CDR + struct.pack("<IIII", 0, 0, 0, count if reported is None else reported)
    return head + bytes(4 * count + 12)


def mcap_record(operation: int, body: bytes) -> bytes:
    return struct.pack("<BQ", operation, len(body)) + body


def mcap_messages(count: int, size: int) -> bytes:
    """Return messages at 1 ns, the last one at 2 ns, so that several chunks overlap."""
    first, last = (
        mcap_record(5, struct.pack("<HIQQ", 1, 0, at, at) + bytes(size))
        for at in (1, 2)
    )
    return first * (count - 1) + last


def chunk(
    data: bytes,
    compression: str,
    packed: bytes,
    size: int | None = None,
    first: int = 0,
) -> bytes:
    """Return a chunk with the stated ``size`` (bytes) and start time ``first``."""
    head = struct.pack(
        "<QQQI", first, first, len(data) if size is None else size, crc32(data)
    )
    return mcap_record(
        6, head + _text(compression) + struct.pack("<Q", len(packed)) + packed
    )


def mcap(
    path: Path,
    chunks: list[bytes],
    index: list[tuple[int, int]] | None = None,
    metadata: Mapping[str, str] = NONE,
) -> Path:
    """Return a file of these chunks; ``index`` are chunks and start times (default: each chunk once)."""
    schema = mcap_record(
        3,
        struct.pack("<H", 1)
        + _text(JOINT_STATE)
        + _text("ros2msg")
        + struct.pack("<I", 0),
    )
    pairs = b"".join(_text(key) + _text(value) for key, value in metadata.items())
    names = _text(TOPIC) + _text("cdr")
    channel = mcap_record(
        4, struct.pack("<HH", 1, 1) + names + struct.pack("<I", len(pairs)) + pairs
    )
    head = MCAP + mcap_record(1, _text("ros2") + _text("test")) + schema + channel
    at = len(head)
    places = []
    for part in chunks:
        places.append((at, len(part)))
        at += len(part)
    body = head + b"".join(chunks) + mcap_record(15, struct.pack("<I", 0))
    index = [(k, 0) for k in range(len(chunks))] if index is None else index
    summary = schema + channel
    for k, first in index:
        numbers = struct.pack("<IHQ", 10, 1, 0)
        summary += mcap_record(
            8, struct.pack("<QQQQ", first, 1 << 40, *places[k]) + numbers + bytes(32)
        )
    summary += mcap_record(
        11, struct.pack("<QHIIIIqqI", len(index), 1, 1, 0, 0, len(index), 0, 0, 0)
    )
    footer = mcap_record(2, struct.pack("<QQI", len(body), 0, 0))
    path.write_bytes(body + summary + footer + MCAP)
    return path


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode()
