"""JointState messages as the bytes that DDS carries (see cdr).

rclpy builds Python objects of every name and field: 40 us of a cycle, as long as all that the controller computes.
Only the stamp and the numbers differ from one message to the next.
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
"""From a joint's name in a message to its name here."""


def unchanged(name: str) -> str:
    """Return the name as it is."""
    return name


def renaming(names: Mapping[str, str]) -> Renaming:
    """Return a renaming by whole names or, where none fits, by the longest beginning of the name.

    ``{"fer_": "panda_"}`` makes panda_joint1 of fer_joint1.
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
BEHIND_STAMP = _NAMES = HEADER + 8
"""Where frame_id and names begin, after the stamp."""


class JointsMissing(RobotDynamicsError):
    """A message names some of the robot's joints, but not all."""


class _Layout:
    """The layout that messages have in common as long as their sender stays the same.

    They have ``size`` joints; ``places`` (n,) are the indices of the robot's among them. ``same`` are the bytes from
    the end of frame_id to the last name.
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
        # All numbers are read as one row; a length and what pads it count as one of them.
        self._count = 3 * size + 2
        self._rows = places + np.array([[0], [size + 1], [2 * size + 2]])
        self.stamp, self.length = struct.Struct(order + "iI"), struct.Struct(order + "I")

    def fits(self, data: bytes) -> bool:
        same = data.startswith(self.same, self._frame_end) and data.startswith(self._frame_length, _NAMES)
        return same and BYTE_ORDERS[data[:2]] == self.order

    def full(self, data: bytes) -> Array | None:
        """Return position, velocity and effort (3, n) of a message that has them all, else None."""
        if len(data) < self._numbers + 8 * self._count or self._lengths.unpack_from(data, self.start) != self._full:
            return None
        rows: Array = np.frombuffer(data, self.order + "f8", self._count, self._numbers)[self._rows]
        return rows

    def fields(self, data: bytes, topic: str) -> list[Array | None]:
        """Return the fields (n,), None where one is empty; RobotDynamicsError where one has another length."""
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
    """A reader of serialized JointState messages, which remembers the order of their joints."""

    def __init__(self, joint_names: Sequence[str], topic: str = "joint_states", renamed: Renaming = unchanged) -> None:
        """``topic`` is named in errors; ``renamed`` maps the joint names of messages to the robot's."""
        self._joint_names = tuple(joint_names)
        self._topic = topic
        self._renamed = renamed
        self._layout: _Layout | None = None
        names = ", ".join(joint_names)
        reason = f"{topic} name none of {names}. Cure: publish them by their names in the URDF"
        self._foreign = UnusableSample(0, reason, incomplete=True)

    def read(self, data: bytes) -> Sample | None:
        """Return the content of a message, finite or not, or None where it names none of these joints.

        Raises JointsMissing for messages that lack some of the joints, and RobotDynamicsError for fields that
        do not have a number for each name, and for bytes that are no JointState.
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
                f"{self._topic}: a message of {len(data)} bytes is no whole JointState. Cure: check its publisher"
            ) from error
        if q is None:
            raise RobotDynamicsError(f"{self._topic}: no position. Cure: publish one for each joint")
        return Sample(sec * 1_000_000_000 + nanosec, q, qd, effort)

    def sample(self, data: bytes) -> Sample | UnusableSample:
        """Return the content of a message, or the reason why it has none."""
        try:
            sample = self.read(data)
        except RobotDynamicsError as error:
            return UnusableSample(stamp_of(data) or 0, str(error), isinstance(error, JointsMissing))
        return self._foreign if sample is None else sample

    def _find(self, data: bytes) -> _Layout | None:
        """Read frame_id and names, and remember the layout; None where none of the robot's joints is named."""
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
    """Return the stamp (ns) of a message that cannot be read otherwise; None where it has not even that."""
    order = BYTE_ORDERS.get(data[:2])
    if order is None or len(data) < _NAMES:
        return None
    sec, nanosec = struct.unpack_from(order + "iI", data, HEADER)
    return int(sec) * 1_000_000_000 + int(nanosec)


def frame_and_names(frame_id: str, names: Sequence[str]) -> bytes:
    """Return frame_id and names as they follow the stamp of a message, up to a multiple of four bytes."""
    data = b""
    for text in (frame_id, None, *names):
        raw = b"" if text is None else text.encode() + b"\0"
        data += struct.pack("<I", len(names) if text is None else len(raw)) + raw
        data += bytes(padding(len(data), 4))
    return data


class JointStateWriter:
    """A writer of serialized JointState messages of the same joints."""

    def __init__(self, joint_names: Sequence[str], numbered: bool = False) -> None:
        """``numbered``: header.frame_id is a number of ten digits."""
        self._names = frame_and_names("0" * 10 * numbered, joint_names)
        self._frame_id = "%010d" if numbered else ""
        self._layouts: dict[tuple[int, int, int], struct.Struct] = {}

    def write(self, at: int, position: Array, velocity: Array, effort: Array, number: int = 0) -> bytes:
        """Return the message of a stamp (ns) with three fields, each (n,) or empty; ``number`` is for ``numbered``."""
        p, v, e = len(position), len(velocity), len(effort)
        layout = self._layouts.get((p, v, e)) or self._layout((p, v, e))
        sec, nanosec = divmod(at, 1_000_000_000)
        frame_id = (self._frame_id % (number % 10_000_000_000)).encode() if self._frame_id else b""
        fields = p, position.tobytes(), v, velocity.tobytes(), e, effort.tobytes()
        return layout.pack(
            LITTLE_ENDIAN, sec, nanosec, self._names[:4], frame_id, self._names[4 + len(frame_id) :], *fields
        )

    def _layout(self, sizes: tuple[int, int, int]) -> struct.Struct:
        """Make and remember the layout of messages whose fields have these sizes."""
        digits = 10 if self._frame_id else 0
        form, end = f"<{HEADER}siI4s{digits}s{len(self._names) - 4 - digits}s", 8 + len(self._names)
        for size in sizes:
            gap = padding(end + 4, 8) if size else 0
            form += f"I{gap}x{8 * size}s"
            end += 4 + gap + 8 * size
        return self._layouts.setdefault(sizes, struct.Struct(form))
