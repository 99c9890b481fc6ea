"""File that inputs name and that must not be accessed; inotify detects accesses, also from C libraries."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

PLACE = "@bait@"
"""Placeholder in inputs for the path of the file, which differs between processes."""

_EVENT = struct.Struct("iIII")  # watch, event mask, cookie, length of the name that follows
_MADE, _ALL = os.O_NONBLOCK | os.O_CLOEXEC, 0xFFF


class Bait:
    """File in a folder of its own that is watched until the program ends."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="fuzz_")
        self.file = Path(self._folder.name) / "bait"
        self.file.write_text("<robot/>", encoding="utf-8")
        library = ctypes.CDLL(None, use_errno=True)
        self._watch = library.inotify_init1(_MADE)
        if self._watch < 0 or library.inotify_add_watch(self._watch, os.fsencode(self._folder.name), _ALL) < 0:
            raise OSError(ctypes.get_errno(), "inotify is not available, which detects opened files")

    def put_into(self, data: bytes) -> bytes:
        """Return an input with the path of the file."""
        return data.replace(PLACE.encode(), os.fsencode(self.file))

    def touched(self) -> list[str]:
        """Return the names in the folder that were opened, changed or removed since the last call."""
        try:
            data = os.read(self._watch, 1 << 16)
        except BlockingIOError:
            return []
        names, at = [], 0
        while at < len(data):
            _, _, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            if length:  # without a name the folder itself was opened, perhaps by a program that lists /tmp
                names.append(os.fsdecode(data[at - length : at].rstrip(b"\0")))
        return names


@cache
def bait() -> Bait:
    """Return the bait of this process."""
    return Bait()
