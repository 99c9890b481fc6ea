"""Layouts of JointState messages, by which many of them are read at once."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.messages.cdr import BYTE_ORDERS, HEADER, CdrReader, padding
from robot_dynamics_ros.messages.joint_state import Renaming

FIELDS = ("position", "velocity", "effort")
_FRAME = HEADER + 8  # where frame_id begins, after the stamp
_MOST_LAYOUTS = 64


class JointStateLayout:
    """The layout of messages that differ only in stamp, text of frame_id, and numbers.

    Attributes
    ----------
    joint_names
        The joints, renamed.
    fields
        Those of FIELDS that are not empty.
    """

    def __init__(self, data: bytes, renamed: Renaming) -> None:
        """Raise ValueError, with the end of a sentence on such messages, for bytes that cannot be used."""
        reader = CdrReader(BYTE_ORDERS.get(data[:2], "<"), memoryview(data)[HEADER:])
        counts, ends, places = [], [], {}
        irregular = ""
        try:
            reader.stamp()
            reader.text()
            self._frame_end = HEADER + reader.at
            names = reader.names()
            names_end = HEADER + reader.at
            for field in FIELDS:
                counts.append(reader.number())
                ends.append(HEADER + reader.at)
                if counts[-1] not in (0, len(names)):
                    irregular = field
                    break
                if counts[-1]:
                    reader.at += padding(reader.at, 8)
                    places[field] = HEADER + reader.at
                    reader.at += 8 * len(names)
        except (struct.error, ValueError, RobotDynamicsError):
            raise ValueError("are no whole JointState") from None
        if irregular:
            raise ValueError(f"have not a number in {irregular} for each name")
        if data[:2] not in BYTE_ORDERS or HEADER + reader.at > len(data):
            raise ValueError("are no whole JointState")
        self.joint_names = tuple(renamed(name) for name in names)
        self.fields = tuple(places)
        self._head, self._same, self._size = data[:HEADER], data[self._frame_end : names_end], len(data)
        self._frame_length = data[_FRAME : _FRAME + 4]
        order, (first, second, third) = reader.order, ends
        self._counts = struct.Struct(f"{order}I{second - first - 4}xI{third - second - 4}xI")
        self._counts_at, self._expected = first - 4, tuple(counts)
        formats = {"sec": f"{order}i4", "nanosec": f"{order}u4"}
        formats |= {field: f"({len(names)},){order}f8" for field in places}
        self._record = np.dtype(
            {
                "names": list(formats),
                "formats": list(formats.values()),
                "offsets": [HEADER, HEADER + 4, *places.values()],
                "itemsize": len(data),
            }
        )

    def fits(self, data: bytes) -> bool:
        """Return True if a message has this layout."""
        return (
            len(data) == self._size
            and data.startswith(self._same, self._frame_end)
            and data.startswith(self._frame_length, _FRAME)
            and data.startswith(self._head)
            and self._counts.unpack_from(data, self._counts_at) == self._expected
        )

    def frame_id(self, data: bytes) -> str:
        """Return header.frame_id of a message that fits."""
        return data[_FRAME + 4 : self._frame_end].split(b"\0", 1)[0].decode(errors="replace")

    def table(self, messages: Sequence[bytes]) -> NDArray[np.void]:
        """Return m messages that fit as records (m,) of sec, nanosec and the fields (n,)."""
        return np.frombuffer(b"".join(messages), self._record)


class JointStateLayouts:
    """The layouts of one topic, the newest ones of which are remembered."""

    def __init__(self, renamed: Renaming) -> None:
        self._renamed = renamed
        self._known: deque[JointStateLayout] = deque(maxlen=_MOST_LAYOUTS)

    def find(self, data: bytes) -> JointStateLayout:
        """Return the layout of a message; errors as those of JointStateLayout."""
        for layout in self._known:
            if layout.fits(data):
                return layout
        layout = JointStateLayout(data, self._renamed)
        self._known.appendleft(layout)
        return layout
