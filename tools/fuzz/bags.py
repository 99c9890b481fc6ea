"""Invalid bags of several files; an input is the concatenation of the files of a folder."""

from __future__ import annotations

import random
import struct
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from robot_dynamics_ros.recordings.bags import BagReader, Message
from robot_dynamics_ros.recordings.bags.differences import contents
from robot_dynamics_ros.recordings.bags.joint_series import read_description, read_joint_names, read_joint_states
from robot_dynamics_ros.recordings.messages.joint_state import unchanged
from support.bag_recordings import JOINT_STATE, insert, open_database, record
from tools.fuzz import broken_mcap, broken_sqlite, dynamics_files
from tools.fuzz.messages import TEXT, TRAJECTORY, recording
from tools.fuzz.nasty import damaged
from tools.fuzz.trial import Wrong

Files = dict[str, bytes]

METADATA = "metadata.yaml"
_NAMES = ("bag.mcap", "bag.db3", "bag.db3-wal", "bag.db3-journal", "bag.mcap.zstd", "bag.db3.zstd", METADATA)
_HEAD = struct.Struct("<BI")  # number of the name, length
_MESSAGES = 60


def packed(files: Files) -> bytes:
    """Return files as one input."""
    return b"".join(_HEAD.pack(_NAMES.index(name), len(data)) + data for name, data in files.items())


def files_of(data: bytes) -> Files:
    """Return the files of any input."""
    files: Files = {}
    at = 0
    while at + _HEAD.size < len(data):
        number, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        files[_NAMES[number % len(_NAMES)]] = data[at : at + length]
        at += length
    return files


def mutated(rng: random.Random) -> bytes:
    """Return a damaged bag, in its structure or in its bytes."""
    files = dict(rng.choice(originals()))
    for name in [rng.choice(list(files)), *(name for name in files if rng.random() < 0.3)]:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            files[name] = _worse(rng, name, files[name])
    if rng.random() < 0.05:
        (name, data), other = rng.choice(list(files.items())), rng.choice(_NAMES)
        files[other] = data
    return packed(files)


def _worse(rng: random.Random, name: str, data: bytes) -> bytes:
    if rng.random() < 0.3:
        return damaged(rng, data)
    if name == METADATA:
        return dynamics_files.mutated(rng, _yaml(data))
    if name.endswith(".mcap"):
        return broken_mcap.mutated(rng, data)
    if name.endswith(".db3"):
        return broken_sqlite.mutated(rng, data)
    return damaged(rng, data)


def _yaml(data: bytes) -> object:
    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def read(data: bytes) -> None:
    """Read an input as a bag in all ways; the input files must not change."""
    files = files_of(data)
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        bag = Path(folder) if METADATA in files or not files else Path(folder) / next(iter(files))
        try:
            _read(bag)
        finally:
            if {file.name: file.read_bytes() for file in Path(folder).iterdir()} != files:
                raise Wrong("the bag was changed")


def _read(bag: Path) -> None:
    with BagReader(bag) as reader:
        reader.count()
        for message in reader.messages():
            contents(message.data, message.kind, unchanged)
    read_description(bag)
    names = read_joint_names(bag, "/joint_states")
    series = read_joint_states(bag, ["/joint_states"], joint_names=names)["/joint_states"]
    if len(series.stamps) == 0:
        raise Wrong("nothing was read")


@cache
def originals() -> list[Files]:
    """Return valid bags of every kind, written by rosbags, and by sqlite3 like a recorder that is killed."""
    kinds = {"/joint_states": JOINT_STATE, "/joint_trajectory": TRAJECTORY, "/robot_description": TEXT}
    messages = [Message(topic, kinds[topic], at, data) for topic, at, data in recording(_MESSAGES)]
    found = []
    with TemporaryDirectory() as scratch:
        for k, plugin in enumerate(StoragePlugin):
            for mode in CompressionMode:
                if plugin is StoragePlugin.SQLITE3 and mode is CompressionMode.STORAGE:
                    continue  # it has no chunks
                bag = record(Path(scratch) / f"{k}{mode.name}" / "bag", messages, plugin, mode)
                files = {file.name: file.read_bytes() for file in bag.iterdir()}
                found.append(files)
                found.append({name: data for name, data in files.items() if name != METADATA})
        found.append(_killed(Path(scratch) / "wal.db3", "WAL", kinds, messages))
        found.append(_killed(Path(scratch) / "journal.db3", "DELETE", kinds, messages))
    return found


def _killed(path: Path, journal: str, kinds: dict[str, str], messages: list[Message]) -> Files:
    """Return a .db3 file and its journal in the middle of a transaction."""
    database = open_database(path, kinds, journal)
    insert(database, messages[:20])
    database.execute("PRAGMA cache_size = 1")  # changes are written to the file at once
    database.execute("BEGIN")
    database.execute("UPDATE messages SET timestamp = timestamp + 1, data = data || x'0000'")
    if journal == "WAL":
        database.execute("COMMIT")
    end = "-wal" if journal == "WAL" else "-journal"
    files = {"bag.db3": path.read_bytes(), f"bag.db3{end}": path.with_name(path.name + end).read_bytes()}
    database.close()
    return files
