"""Serialized JointState messages (see ``cdr``).

rclpy creates a Python object for each name and field, which takes as long as the controller's computation. Here the
joint names are decoded once, because successive messages differ only in the stamp and the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.control.feedback import Sample, UnusableSample
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER, LITTLE_ENDIAN, CdrReader, padding

Renaming = Callable[[str], str]
"""Function from a joint name in messages to the joint name of the robot."""


def unchanged(name: str) -> str:
    """Return ``name``."""
    return name


def renaming(names: Mapping[str, str]) -> Renaming:
    """Return a renaming by whole names or, if none matches, by the longest matching prefix.

    ``{"fer_": "panda_"}`` renames fer_joint1 to panda_joint1.
    """
    if not names:
        return unchanged
    longest_first = sorted(names, key=len, reverse=True)

    def renamed(name: str) -> str:
        if name in names:
            return names[name]
        old = next((old for old in longest_first if name.startswith(old)), "")
        return names.get(old, "") + name[len(old) :]

    return renamed


_FIELDS = ("position", "velocity", "effort")
_NAMES = HEADER + 8  # offset of frame_id and names, after the stamp


class JointsMissing(RobotDynamicsError):
    """Message that names some of the robot's joints, but not all."""


class _Layout:
    """Layout of the messages of one publisher.

    They have ``size`` joints; ``places`` (n,) are the indices of the robot's joints among them. ``same`` are the bytes
    from the end of frame_id to the last name.
    """

    def __init__(self, order: str, frame: bytes, same: bytes, size: int, places: NDArray[np.intp]) -> None:
        self.order, self.same, self.size, self.places = order, same, size, places
        self._frame_length, self._frame_end = frame[:4], _NAMES + len(frame)
        end = self._frame_end + len(same)
        self.start = end + padding(end - HEADER, 4)
        gap = padding(self.start + 4 - HEADER, 8)
        self._numbers = self.start + 4 + gap
        self._lengths = struct.Struct(f"{order}I {gap + 8 * size}x I {4 + 8 * size}x I")
        self._full = (size, size, size)
        # All fields are read as one row of numbers; a length and its padding count as one number.
        self._count = 3 * size + 2
        self._rows = places + np.array([[0], [size + 1], [2 * size + 2]])
        self.stamp, self.length = struct.Struct(order + "iI"), struct.Struct(order + "I")

    def fits(self, data: bytes) -> bool:
        same = data.startswith(self.same, self._frame_end) and data.startswith(self._frame_length, _NAMES)
        return same and BYTE_ORDERS[data[:2]] == self.order

    def full(self, data: bytes) -> Array | None:
        """Return position, velocity and effort (3, n) of a message that has all three, else None."""
        if len(data) < self._numbers + 8 * self._count or self._lengths.unpack_from(data, self.start) != self._full:
            return None
        rows: Array = np.frombuffer(data, self.order + "f8", self._count, self._numbers)[self._rows]
        return rows

    def fields(self, data: bytes, topic: str) -> list[Array | None]:
        """Return the fields, each (n,) or None if empty; RobotDynamicsError if one has another length."""
        at = self.start
        fields: list[Array | None] = []
        for field in _FIELDS:
            at += padding(at - HEADER, 4)
            (count,) = self.length.unpack_from(data, at)
            at += 4
            if count == 0:
                fields.append(None)
                continue
            if count != self.size:
                raise RobotDynamicsError(
                    f"{topic}: {count} numbers in {field} for {self.size} names. Cure: publish one for each joint"
                )
            at += padding(at - HEADER, 8)
            fields.append(np.frombuffer(data, self.order + "f8", count, at)[self.places])
            at += 8 * count
        return fields


class JointStateReader:
    """Reader of serialized JointState messages, which caches the order of their joints."""

    def __init__(self, joint_names: Sequence[str], topic: str = "joint_states", renamed: Renaming = unchanged) -> None:
        """``topic`` is the name in errors; ``renamed`` maps joint names in messages to the robot's."""
        self._joint_names = tuple(joint_names)
        self._topic = topic
        self._renamed = renamed
        self._layout: _Layout | None = None
        names = ", ".join(joint_names)
        reason = f"{topic} contain none of {names}. Cure: publish joints with their names in the URDF"
        self._foreign = UnusableSample(0, reason, incomplete=True)

    def read(self, data: bytes) -> Sample | None:
        """Return the content of a message, finite or not; None if it names none of the robot's joints.

        Raises JointsMissing for messages that lack some of the joints. Raises RobotDynamicsError for fields that do
        not have a number for each name, and for bytes that are not a JointState.
        """
        try:
            layout = self._layout
            if layout is None or not layout.fits(data):
                layout = self._find(data)
                if layout is None:
                    return None
            sec, nanosec = layout.stamp.unpack_from(data, HEADER)
            full = layout.full(data)
            q, qd, effort = layout.fields(data, self._topic) if full is None else full
        except (struct.error, ValueError, KeyError) as error:
            raise RobotDynamicsError(
                f"{self._topic}: a message of {len(data)} bytes is not a valid JointState. Cure: check its publisher"
            ) from error
        if q is None:
            raise RobotDynamicsError(f"{self._topic}: no position. Cure: publish one for each joint")
        return Sample(sec * 1_000_000_000 + nanosec, q, qd, effort)

    def sample(self, data: bytes) -> Sample | UnusableSample:
        """Return the content of a message, or an UnusableSample with the error."""
        try:
            sample = self.read(data)
        except RobotDynamicsError as error:
            return UnusableSample(stamp_of(data) or 0, str(error), isinstance(error, JointsMissing))
        return self._foreign if sample is None else sample

    def _find(self, data: bytes) -> _Layout | None:
        """Read frame_id and names, and cache the layout; None if none of the robot's joints is named."""
        reader = CdrReader(data)
        reader.stamp()
        reader.text()
        frame = data[_NAMES : HEADER + reader.at]
        names = [self._renamed(name) for name in reader.names()]
        index = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._joint_names if name not in index]
        if len(missing) == len(self._joint_names):
            return None
        if missing:
            raise JointsMissing(
                f"{self._topic}: joints {', '.join(missing)} are missing. Cure: publish all in one message"
            )
        twice = [name for name in self._joint_names if names.count(name) > 1]
        if twice:
            raise RobotDynamicsError(f"{self._topic}: {twice[0]} is named twice. Cure: publish each joint once")
        places = np.array([index[name] for name in self._joint_names], dtype=np.intp)
        same = data[_NAMES + len(frame) : HEADER + reader.at]
        self._layout = _Layout(reader.order, frame, same, len(names), places)
        return self._layout


def stamp_of(data: bytes) -> int | None:
    """Return the stamp (ns) of a message that is otherwise invalid; None if it ends before the stamp."""
    order = BYTE_ORDERS.get(data[:2])
    if order is None or len(data) < _NAMES:
        return None
    sec, nanosec = struct.unpack_from(order + "iI", data, HEADER)
    return int(sec) * 1_000_000_000 + int(nanosec)


def frame_and_names(frame_id: str, names: Sequence[str]) -> bytes:
    """Return serialized frame_id and names, padded to a multiple of four bytes."""
    data = b""
    for text in (frame_id, None, *names):
        raw = b"" if text is None else text.encode() + b"\0"
        data += struct.pack("<I", len(names) if text is None else len(raw)) + raw
        data += bytes(padding(len(data), 4))
    return data


class JointStateWriter:
    """Writer of serialized JointState messages with fixed joint names."""

    def __init__(self, joint_names: Sequence[str], numbered: bool = False) -> None:
        """If ``numbered`` is True, header.frame_id is a number of ten digits."""
        self._names = frame_and_names("0" * 10 * numbered, joint_names)
        self._frame_id = "%010d" if numbered else ""
        self._layouts: dict[tuple[int, int, int], struct.Struct] = {}

    def write(self, at: int, position: Array, velocity: Array, effort: Array, number: int = 0) -> bytes:
        """Return the message with stamp ``at`` (ns), three fields, each (n,) or empty, and ``number`` as frame_id."""
        p, v, e = len(position), len(velocity), len(effort)
        layout = self._layouts.get((p, v, e)) or self._layout((p, v, e))
        sec, nanosec = divmod(at, 1_000_000_000)
        frame_id = (self._frame_id % (number % 10_000_000_000)).encode() if self._frame_id else b""
        fields = p, position.tobytes(), v, velocity.tobytes(), e, effort.tobytes()
        return layout.pack(
            LITTLE_ENDIAN, sec, nanosec, self._names[:4], frame_id, self._names[4 + len(frame_id) :], *fields
        )

    def _layout(self, sizes: tuple[int, int, int]) -> struct.Struct:
        """Create and cache the layout of messages whose fields have these sizes."""
        digits = 10 if self._frame_id else 0
        form, end = f"<{HEADER}siI4s{digits}s{len(self._names) - 4 - digits}s", 8 + len(self._names)
        for size in sizes:
            gap = padding(end + 4, 8) if size else 0
            form += f"I{gap}x{8 * size}s"
            end += 4 + gap + 8 * size
        return self._layouts.setdefault(sizes, struct.Struct(form))
