"""Received messages of plant and controller, with times of reception on a steady clock."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.robots import Floats
from robot_dynamics_ros.recordings.messages.joint_state import JointStateReader


class Received:
    """Serialized messages of one topic; times are seconds of time.monotonic."""

    def __init__(self) -> None:
        self.times = array("d")
        self.messages: list[bytes] = []

    def add(self, at: float, data: bytes) -> None:
        """Add a message that was received at a time."""
        self.times.append(at)
        self.messages.append(data)

    def __len__(self) -> int:
        return len(self.times)


class Joints(NamedTuple):
    """Joint messages in order of reception: times (T,), stamps (T,), s, and values (T, n)."""

    times: Floats
    stamps: Floats
    position: Floats
    velocity: Floats
    effort: Floats


def joints(received: Received, names: Sequence[str]) -> Joints:
    """Return deserialized JointState messages."""
    reader = JointStateReader(names)
    samples = [reader.read(data) for data in received.messages]
    empty = np.zeros((0, len(names)))
    columns = [
        np.array([getattr(sample, field) for sample in samples]) if samples else empty
        for field in ("q", "qd", "effort")
    ]
    stamps = np.array([0.0 if sample is None else 1e-9 * sample.stamp for sample in samples])
    return Joints(np.array(received.times), stamps, *columns)


def efforts(received: Received, n: int) -> Floats:
    """Return the values (T, n) of Float64MultiArray messages with n numbers and no dimensions."""
    rows = [np.frombuffer(data, "<f8", n, len(data) - 8 * n) for data in received.messages]
    return np.array(rows) if rows else np.zeros((0, n))


class Report(NamedTuple):
    """Report of the controller on /diagnostics: time, mode, previous mode (empty: no change), and cause."""

    time: float
    mode: str
    before: str
    cause: str
