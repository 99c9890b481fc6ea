"""Bags of every kind, written by rosbags, and by sqlite3 as rosbag2 does."""

import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.interfaces import (
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros.recordings.bags import Message

TYPES = get_typestore(Stores.LATEST)
JOINT_STATE = "sensor_msgs/msg/JointState"
FLOAT = "std_msgs/msg/Float64"
TEXT = "std_msgs/msg/String"
KINDS = {"/joint_states": JOINT_STATE, "/force": FLOAT}
START = 1_700_000_000_123_456_789  # floats would lose its last digits
LATCHED_QOS = Qos(
    QosHistory.KEEP_LAST,
    1,
    QosReliability.RELIABLE,
    QosDurability.TRANSIENT_LOCAL,
    QosTime(0, 0),
    QosTime(0, 0),
    QosLiveliness.AUTOMATIC,
    QosTime(0, 0),
    False,
)

#: As rosbag2_storage_sqlite3 makes it (schema version 3).
SCHEMA = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
                    offered_qos_profiles TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
                      data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
INSERT INTO schema VALUES (3, 'iron');
"""


def make(kind: str, *fields: Any) -> Any:
    """Return a message of rosbags."""
    return TYPES.types[kind](*fields)


def serialized(kind: str, *fields: Any, little_endian: bool = True) -> bytes:
    return bytes(
        TYPES.serialize_cdr(make(kind, *fields), kind, little_endian=little_endian)
    )


def header(stamp: int, frame: str = "") -> Any:
    """Return a std_msgs/msg/Header; ``stamp`` in ns."""
    return make(
        "std_msgs/msg/Header",
        make("builtin_interfaces/msg/Time", *divmod(stamp, 1_000_000_000)),
        frame,
    )


def joint_state(
    stamp: int,
    names: Any = ("a", "b"),
    position: Any = (),
    velocity: Any = (),
    effort: Any = (),
    frame: str = "",
    little_endian: bool = True,
) -> bytes:
    fields = (np.array(x, dtype=float) for x in (position, velocity, effort))
    return serialized(
        JOINT_STATE,
        header(stamp, frame),
        list(names),
        *fields,
        little_endian=little_endian,
    )


def text(data: str) -> bytes:
    return serialized(TEXT, data)


def some_messages(
    count: int, size: int = 300, step: int = 1_000_000, start: int = START
) -> list[Message]:
    """Return incompressible messages on two topics, ``step`` ns apart."""
    noise = random.Random(count)
    topics = [noise.choice(list(KINDS)) for _ in range(count)]
    return [
        Message(
            topic,
            KINDS[topic],
            start + k * step,
            b"\x00\x01\x00\x00" + noise.randbytes(size),
        )
        for k, topic in enumerate(topics)
    ]


def write_mcap(path: Path, messages: Iterable[Message], **options: Any) -> None:
    """Write a file by the mcap package, another writer than rosbags; skip the test where it is not installed.

    Enumerations among the ``options`` of mcap.writer.Writer are given by name.
    """
    writer = pytest.importorskip(
        "mcap.writer", reason="the package mcap is not installed"
    )
    named = {"compression": writer.CompressionType, "index_types": writer.IndexType}
    options = {
        name: named[name][value] if name in named else value
        for name, value in options.items()
    }
    with path.open("wb") as file:
        out = writer.Writer(file, **options)
        out.start("ros2", "test")
        schemas = {
            kind: out.register_schema(kind, "ros2msg", b"") for kind in KINDS.values()
        }
        channels = {
            topic: out.register_channel(topic, "cdr", schemas[kind])
            for topic, kind in KINDS.items()
        }
        for message in messages:
            out.add_message(
                channels[message.topic],
                message.received,
                message.data,
                message.received,
            )
        out.finish()


def record(
    folder: Path,
    messages: Iterable[Message],
    plugin: StoragePlugin = StoragePlugin.MCAP,
    mode: CompressionMode = CompressionMode.NONE,
    latched: Sequence[str] = (),
) -> Path:
    """Write a bag with rosbags."""
    messages = list(messages)
    writer = Writer(folder, version=9, storage_plugin=plugin)
    if mode != CompressionMode.NONE:
        writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        kinds = {message.topic: message.kind for message in messages}
        connections = {
            topic: writer.add_connection(
                topic,
                kind,
                typestore=TYPES,
                offered_qos_profiles=[LATCHED_QOS] if topic in latched else [],
            )
            for topic, kind in kinds.items()
        }
        for message in messages:
            writer.write(connections[message.topic], message.received, message.data)
    return folder


def open_database(
    path: Path, kinds: dict[str, str], journal: str = "WAL"
) -> sqlite3.Connection:
    """Return a .db3 file as of a running recorder; ``journal`` is sqlite3's journal_mode."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(f"PRAGMA journal_mode = {journal}")
    database.executescript(SCHEMA)
    rows = [(topic, kind, "cdr", "") for topic, kind in kinds.items()]
    database.executemany(
        "INSERT INTO topics(name, type, serialization_format, offered_qos_profiles) VALUES (?, ?, ?, ?)",
        rows,
    )
    return database


def insert(database: sqlite3.Connection, messages: Iterable[Message]) -> None:
    """Add messages in one transaction."""
    numbers = dict(database.execute("SELECT name, id FROM topics"))
    rows = [
        (numbers[message.topic], message.received, message.data) for message in messages
    ]
    database.execute("BEGIN")
    database.executemany(
        "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", rows
    )
    database.execute("COMMIT")


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and modification time of each file, and those of the folder."""
    found = {
        str(p): (p.read_bytes(), p.stat().st_mtime_ns)
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }
    return found | {
        str(p): (b"", p.stat().st_mtime_ns)
        for p in [folder, *folder.rglob("*")]
        if p.is_dir()
    }
