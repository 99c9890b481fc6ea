"""Serialized JointState messages, bytes in CDR, read and written without an object for each field.

rclpy creates a Python object for each name and field, which takes as long as the controller's computation. Only the
stamp, the frame_id and the numbers differ between messages of a topic, so that their layout is found once. FIELDS are
the fields with numbers: position, velocity and effort, in this order, with units of JointState: rad or m, per s, Nm or
N. ``data`` is a serialized message. ``renamed`` returns a joint's name in the program by its name in a message. Stamps
are nanoseconds since the epoch of the ROS clock.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.joint_messages import Sample
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.recordings.messages.cdr import (
    BYTE_ORDERS,
    HEADER,
    LITTLE_ENDIAN,
    CdrReader,
    padding,
)
from robot_dynamics_ros.recordings.thresholds import MOST_LAYOUTS

Renaming = Callable[[str], str]
"""Function from joint names in messages to the robot's joint names."""


def unchanged(name: str) -> str:
    """Return ``name``: the renaming that changes nothing."""
    return name


def renaming(names: Mapping[str, str]) -> Renaming:
    """Return a function that renames joints by ``names``: from old to new names or prefixes.

    ``{"fer_": "panda_"}`` renames fer_joint1 to panda_joint1. A whole name has precedence over a prefix, a long prefix
    over a short one; other names are unchanged.
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


FIELDS = ("position", "velocity", "effort")
BEHIND_STAMP = _NAMES = HEADER + 8
"""Offset of the first byte after the stamp."""


class JointsMissing(RobotDynamicsError):
    """Error of a message with some of the robot's joints, but not all."""


class JointStateLayout:
    """Layout of messages that differ only in stamp, text of frame_id, and numbers.

    Except for ``fits``, methods require messages that fit.

    Attributes
    ----------
    joint_names
        Names of the joints, renamed; ``names`` is their set.
    counts
        Number of values in each of FIELDS.
    fields
        Those of FIELDS that are not empty.
    irregular
        Fields that are not empty and do not have a number for each name.
    """

    def __init__(self, data: bytes, renamed: Renaming) -> None:
        """Find the layout of a message; ValueError if ``data`` is not a whole JointState."""
        counts = []
        ends = []
        places = {}
        try:
            reader = CdrReader(data)
            reader.stamp()
            reader.text()
            self._frame_end = HEADER + reader.at
            names = reader.names()
            names_end = HEADER + reader.at
            for field in FIELDS:
                counts.append(reader.number())
                ends.append(HEADER + reader.at)
                if counts[-1]:
                    reader.at += padding(reader.at, 8)
                    places[field] = HEADER + reader.at
                    reader.at += 8 * counts[-1]
        except (struct.error, RobotDynamicsError) as error:
            raise ValueError(str(error)) from error
        if HEADER + reader.at > len(data):
            raise ValueError("the message is truncated")
        self.joint_names = tuple(renamed(name) for name in names)
        self.names = frozenset(self.joint_names)
        self.counts = tuple(counts)
        self.fields = tuple(places)
        regular = (0, len(names))
        self.irregular = tuple(
            name for name, n in zip(FIELDS, counts, strict=True) if n not in regular
        )
        self._head = data[:HEADER]
        self._same = data[self._frame_end : names_end]
        self._size = len(data)
        self._frame_length = data[_NAMES : _NAMES + 4]
        self._stamp = struct.Struct(reader.order + "iI")
        first, second, third = ends
        self._counts = struct.Struct(
            f"{reader.order}I{second - first - 4}xI{third - second - 4}xI"
        )
        self._counts_at = first - 4
        self._number = np.dtype(reader.order + "f8")
        self._places = [places.get(field) for field in FIELDS]
        formats = {"sec": f"{reader.order}i4", "nanosec": f"{reader.order}u4"}
        formats |= {
            f: f"({n},){reader.order}f8"
            for f, n in zip(FIELDS, counts, strict=True)
            if n
        }
        self._record = np.dtype(
            {
                "names": list(formats),
                "formats": list(formats.values()),
                "offsets": [HEADER, HEADER + 4, *places.values()],
                "itemsize": len(data),
            }
        )

    def fits(self, data: bytes) -> bool:
        """Return True if a message has this layout, that is, the same names and sizes; any bytes are accepted."""
        return (
            len(data) == self._size
            and data.startswith(self._same, self._frame_end)
            and data.startswith(self._frame_length, _NAMES)
            and data.startswith(self._head)
            and self._counts.unpack_from(data, self._counts_at) == self.counts
        )

    def frame_id(self, data: bytes) -> str:
        """Return header.frame_id of a message."""
        return (
            data[_NAMES + 4 : self._frame_end]
            .split(b"\0", 1)[0]
            .decode(errors="replace")
        )

    def stamp(self, data: bytes) -> int:
        """Return header.stamp (ns) of a message."""
        sec, nanosec = self._stamp.unpack_from(data, HEADER)
        return int(sec) * 1_000_000_000 + int(nanosec)

    def numbers(self, data: bytes) -> list[Array | None]:
        """Return position, velocity and effort of a message, each in the order of ``joint_names``, or None if empty."""
        return [
            None if place is None else np.frombuffer(data, self._number, count, place)
            for place, count in zip(self._places, self.counts, strict=True)
        ]

    def rows(self, places: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """Return the indices (3, n) in ``span`` of position, velocity and effort of n joints.

        ``places`` (n,) are the indices of the joints in ``joint_names``. None if a field is empty or irregular.
        """
        size = len(self.joint_names)
        if self.counts != (size, size, size) or not size:
            return None
        # A length and its padding take the space of one value.
        return np.asarray(
            places + np.array([[0], [size + 1], [2 * size + 2]]), dtype=np.intp
        )

    def span(self, data: bytes) -> Array:
        """Return the bytes from the first position to the last effort as float64, for the indices of ``rows``.

        Requires a layout for which ``rows`` does not return None. The numbers between the fields have no meaning.
        """
        return np.frombuffer(
            data, self._number, 3 * self.counts[0] + 2, self._places[0] or 0
        )

    def table(self, messages: Sequence[bytes]) -> NDArray[np.void]:
        """Return m messages as a structured array (m,) with the fields sec, nanosec, and those of ``fields``.

        sec and nanosec are those of header.stamp; each of the others has ``counts`` numbers a message.
        """
        return np.frombuffer(b"".join(messages), self._record)


class JointStateLayouts:
    """Layouts of the messages of one topic, found again by ``JointStateLayout.fits``; the newest 64 are kept."""

    def __init__(self, renamed: Renaming) -> None:
        self._renamed = renamed
        self._known: deque[JointStateLayout] = deque(maxlen=MOST_LAYOUTS)

    def find(self, data: bytes) -> JointStateLayout:
        """Return the layout of a message; ValueError if ``data`` is not a whole JointState."""
        for layout in self._known:
            if layout.fits(data):
                return layout
        layout = JointStateLayout(data, self._renamed)
        self._known.appendleft(layout)
        return layout


class JointStateReader:
    """Reader of serialized JointState messages that selects the joints of a robot, in its order.

    ``renamed`` returns the robot's name of a joint by its name in messages; by default both are equal.
    """

    def __init__(
        self,
        joint_names: Sequence[str],
        topic: str = "joint_states",
        renamed: Renaming = unchanged,
    ) -> None:
        """Create a reader of the joints ``joint_names``; ``topic`` is the name of the topic in errors."""
        self._joint_names = tuple(joint_names)
        self._topic = topic
        self._layouts = JointStateLayouts(renamed)
        # of the last message with these joints
        self._layout: JointStateLayout | None = None
        self._places: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._rows: NDArray[np.intp] | None = None

    def read(self, data: bytes) -> Sample | None:
        """Return the content of a message, or None if it has none of the joints. Empty velocities or efforts are None.

        So are velocities without a number for each name: the positions are right. Numbers may be NaN or infinite.
        Raises JointsMissing if it has only some of the joints, and RobotDynamicsError if ``data`` is not a valid
        JointState, repeats a joint, has no positions, or has not one position and effort for each name.
        """
        layout = self._layout
        if layout is None or not layout.fits(data):
            try:
                layout = self._layouts.find(data)
            except ValueError as error:
                if isinstance(error.__cause__, RobotDynamicsError):
                    raise error.__cause__ from None
                raise RobotDynamicsError(
                    f"{self._topic}: a message of {len(data)} bytes is not a valid JointState. "
                    "Cure: check its publisher"
                ) from error
            if not self._choose(layout):
                return None
        if self._rows is not None:
            q, qd, effort = layout.span(data)[self._rows].astype(np.float64, copy=False)
        else:
            position, *others = (
                None
                if values is None or field in layout.irregular
                else values[self._places].astype(np.float64, copy=False)
                for field, values in zip(FIELDS, layout.numbers(data), strict=True)
            )
            if position is None:
                raise RobotDynamicsError(
                    f"{self._topic}: no positions. Cure: publish one for each joint"
                )
            q = position
            (qd, effort) = others
        return Sample(layout.stamp(data), q, qd, effort)

    def names(self, data: bytes) -> tuple[str, ...]:
        """Return the joint names of a message, renamed; ValueError if ``data`` is not a whole JointState."""
        return self._layouts.find(data).joint_names

    def _choose(self, layout: JointStateLayout) -> bool:
        """Find the robot's joints in a layout; return False if it has none of them."""
        names = layout.joint_names
        index = {name: i for i, name in enumerate(names)}
        missing = [name for name in self._joint_names if name not in index]
        if len(missing) == len(self._joint_names):
            return False
        if missing:
            raise JointsMissing(
                f"{self._topic}: joints {', '.join(missing)} are missing beside {', '.join(names)}. Cure: publish all "
                "in one message; leave joints that something else controls out of the parameter joints"
            )
        twice = [name for name in self._joint_names if names.count(name) > 1]
        if twice:
            raise RobotDynamicsError(
                f"{self._topic}: duplicate joint {twice[0]}. Cure: publish each joint once"
            )
        for field in layout.irregular:
            if field != "velocity":  # the controller differentiates positions
                count = layout.counts[FIELDS.index(field)]
                raise RobotDynamicsError(
                    f"{self._topic}: {count} values in {field} for {len(names)} names. Cure: publish one for each joint"
                )
        self._layout = layout
        self._places = np.array(
            [index[name] for name in self._joint_names], dtype=np.intp
        )
        self._rows = layout.rows(self._places)
        return True


def stamp_of(data: bytes) -> int | None:
    """Return header.stamp (ns) of a serialized message of any type with a header, also of a truncated one.

    None if the bytes end before it, or do not begin with a byte order.
    """
    order = BYTE_ORDERS.get(data[:2])
    if order is None or len(data) < _NAMES:
        return None
    sec, nanosec = struct.unpack_from(order + "iI", data, HEADER)
    return int(sec) * 1_000_000_000 + int(nanosec)


def frame_and_names(frame_id: str, names: Sequence[str]) -> bytes:
    """Return ``frame_id`` and joint ``names`` in little-endian CDR, as they follow header.stamp in a message.

    The result is padded to a multiple of four bytes.
    """
    data = b""
    for text in (frame_id, None, *names):
        raw = b"" if text is None else text.encode() + b"\0"
        data += struct.pack("<I", len(names) if text is None else len(raw)) + raw
        data += bytes(padding(len(data), 4))
    return data


class JointStateWriter:
    """Writer of serialized JointState messages of the n joints ``joint_names``, in little-endian CDR."""

    def __init__(self, joint_names: Sequence[str], numbered: bool = False) -> None:
        """Create a writer; if ``numbered`` is True, header.frame_id is a number of ten digits, else empty."""
        self._names = frame_and_names("0" * 10 * numbered, joint_names)
        self._frame_id = "%010d" if numbered else ""
        self._layouts: dict[tuple[int, int, int], struct.Struct] = {}

    def write(
        self, at: int, position: Array, velocity: Array, effort: Array, number: int = 0
    ) -> bytes:
        """Return the message with the stamp ``at`` (ns) and position, velocity and effort, each (n,) or empty.

        The arrays are C-contiguous float64. ``number``, modulo 10^10, is written to header.frame_id if the writer is
        ``numbered``, else unused.
        """
        p = len(position)
        v = len(velocity)
        e = len(effort)
        layout = self._layouts.get((p, v, e)) or self._layout((p, v, e))
        sec, nanosec = divmod(at, 1_000_000_000)
        frame_id = (
            (self._frame_id % (number % 10_000_000_000)).encode()
            if self._frame_id
            else b""
        )
        fields = p, position.tobytes(), v, velocity.tobytes(), e, effort.tobytes()
        return layout.pack(
            LITTLE_ENDIAN,
            sec,
            nanosec,
            self._names[:4],
            frame_id,
            self._names[4 + len(frame_id) :],
            *fields,
        )

    def _layout(self, sizes: tuple[int, int, int]) -> struct.Struct:
        """Create and cache the layout of messages whose fields have these sizes."""
        digits = 10 if self._frame_id else 0
        form = f"<{HEADER}siI4s{digits}s{len(self._names) - 4 - digits}s"
        end = 8 + len(self._names)
        for size in sizes:
            gap = padding(end + 4, 8) if size else 0
            form += f"I{gap}x{8 * size}s"
            end += 4 + gap + 8 * size
        return self._layouts.setdefault(sizes, struct.Struct(form))
