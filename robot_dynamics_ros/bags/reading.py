"""Reading joint motion out of bags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader, AnyReaderError
from rosbags.rosbag2 import ReaderError
from rosbags.typesys import Stores, get_typestore

from robot_dynamics_ros.errors import BagError

_KIND = "sensor_msgs/msg/JointState"
_FIELDS = ("position", "velocity", "effort")


@dataclass(frozen=True, eq=False)
class JointSeries:
    """JointState messages of one topic as arrays: m messages of n joints.

    Stamps and times of arrival are nanoseconds (m,); position, velocity and effort are (m, n), NaN where
    a message left the field empty.
    """

    joint_names: tuple[str, ...]
    stamps: NDArray[np.int64]
    received: NDArray[np.int64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    effort: NDArray[np.float64]


def read_joint_states(path: str | Path, topics: list[str]) -> dict[str, JointSeries]:
    """Return the sensor_msgs/JointState messages of each topic, in the order of their arrival.

    Raises BagError, naming bag, topic and cure, where the bag cannot be read, a topic is missing or
    empty or of another type, or its messages do not all name the same joints.
    """
    rows: dict[str, list[tuple[int, int, list[NDArray[np.float64]]]]] = {topic: [] for topic in topics}
    names: dict[str, tuple[str, ...]] = {}
    try:
        with AnyReader([Path(path)], default_typestore=get_typestore(Stores.LATEST)) as reader:
            connections = [c for c in reader.connections if c.topic in rows]
            for connection in connections:
                if connection.msgtype != _KIND:
                    raise BagError(f"{path}: {connection.topic} holds {connection.msgtype}. Cure: name one of {_KIND}")
            for connection, received, raw in reader.messages(connections):
                message: Any = reader.deserialize(raw, connection.msgtype)
                topic = connection.topic
                if names.setdefault(topic, tuple(message.name)) != tuple(message.name):
                    raise BagError(f"{path}: {topic}: the joint names change. Cure: record one robot on one topic")
                stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
                try:
                    rows[topic].append((stamp, received, [_padded(message, f) for f in _FIELDS]))
                except ValueError as problem:
                    raise BagError(f"{path}: {topic}: {problem}. Cure: see what published it") from None
    except (AnyReaderError, ReaderError, OSError) as problem:
        raise BagError(f"{path}: cannot read the bag: {problem}. Cure: check the path") from None
    for topic, found in rows.items():
        if not found:
            raise BagError(f"{path}: no messages on {topic}. Cure: record that topic")
    return {topic: _series(names[topic], found) for topic, found in rows.items()}


def _padded(message: Any, field: str) -> NDArray[np.float64]:
    values: NDArray[np.float64] = getattr(message, field)
    if len(values) not in (0, len(message.name)):
        raise ValueError(f"{len(values)} numbers in {field} for {len(message.name)} names")
    return values if len(values) else np.full(len(message.name), np.nan)


def _series(names: tuple[str, ...], rows: list[tuple[int, int, list[NDArray[np.float64]]]]) -> JointSeries:
    tables = [np.array([row[2][k] for row in rows]) for k in range(len(_FIELDS))]
    return JointSeries(
        names,
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64),
        *tables,
    )
