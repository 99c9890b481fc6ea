"""rosbag2's sqlite3 files (.db3), whole or not; no file beside them is made, and none is locked."""

from __future__ import annotations

import shutil
import sqlite3
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from robot_dynamics_ros.bags.sqlite_pages import SqlitePages
from robot_dynamics_ros.bags.storage import Channel, Message, is_latched
from robot_dynamics_ros.errors import BagWarning

MAGIC = b"SQLite format 3\0"
_JOURNALS = ("-wal", "-journal")
_INT64 = 1 << 63
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)


class SqliteFile:
    """A Storage (see there) of one .db3 file.

    What a killed recorder left in a journal beside it counts, too: file and journal are then copied to ``scratch()``,
    a folder. Raises ValueError where it is no bag, and OSError where it cannot be read.
    """

    def __init__(self, path: Path, scratch: Callable[[], Path]) -> None:
        self.losses: list[str] = []
        self._pages: SqlitePages | None = None
        self._path = _with_journal(path, scratch)
        own_copy = self._path != path
        mode = "mode=rw" if own_copy else "mode=ro&immutable=1"
        self._database = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?{mode}", uri=True, check_same_thread=False, isolation_level=None
        )
        try:
            self._database.execute("PRAGMA writable_schema = ON")  # without it sqlite3 refuses a file that is cut off
            self.channels = self._read_channels()
            missing = _missing(self._path)
        except (sqlite3.DatabaseError, ValueError) as problem:
            self._database.close()
            raise ValueError(f"no topics can be read from it ({problem})") from None
        try:
            (start,) = self._database.execute("SELECT min(timestamp) FROM messages").fetchone()
            self.start = start if isinstance(start, int) else 0
        except _DAMAGE as problem:
            missing = missing or str(problem)
        if missing:
            self.losses.append(f"{path.name} is damaged and read page by page: {missing}")
            self._pages = SqlitePages(self._path, self.channels.keys())
            self.start = self._pages.start

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def counts(self) -> Mapping[int, int]:
        """Return the number of messages of each channel, by going through all."""
        try:
            if self._pages is None:
                return dict(self._database.execute("SELECT topic_id, count(*) FROM messages GROUP BY topic_id"))
        except _DAMAGE as problem:
            self._read_by_page(problem)
        assert self._pages is not None
        return self._pages.counts

    def messages(self, numbers: Collection[int]) -> Iterator[Message]:
        """Yield the messages of these channels, in order of arrival."""
        names = {n: (self.channels[n].topic, self.channels[n].kind) for n in numbers}
        last = -_INT64, -_INT64
        if self._pages is None:
            some = ",".join(map(str, names))
            query = (
                f"SELECT timestamp, rowid, topic_id, data FROM messages WHERE topic_id IN ({some}) "
                "AND typeof(data) = 'blob' AND typeof(timestamp) = 'integer' ORDER BY timestamp, rowid"
            )
            try:
                for received, row, number, data in self._database.execute(query):
                    yield Message(*names[number], received, data)
                    last = received, row
            except _DAMAGE as problem:
                self._read_by_page(problem)
        if self._pages is not None:
            for received, number, data in self._pages.rows_after(last):
                if number in names:
                    yield Message(*names[number], received, data)

    def _read_channels(self) -> dict[int, Channel]:
        columns = {row[1] for row in self._database.execute("PRAGMA table_info(topics)")}
        tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not {"topics", "messages"} <= tables:
            raise ValueError("an sqlite3 file without the tables of a bag")
        latched = "offered_qos_profiles" if "offered_qos_profiles" in columns else "''"
        rows = self._database.execute(f"SELECT id, name, type, serialization_format, {latched} FROM topics ORDER BY id")
        channels = {number: Channel(topic, kind, code, is_latched(qos)) for number, topic, kind, code, qos in rows}
        if not all(isinstance(text, str) for channel in channels.values() for text in channel[:3]):
            raise ValueError("a topic without a name")
        return channels

    def _read_by_page(self, problem: Exception) -> None:
        """Go on without the tree, as damage has come to light while reading."""
        if self._pages is None:
            self._pages = SqlitePages(self._path, self.channels.keys())
            text = (
                f"{self._path}: damaged and read page by page: {problem}. Cure: copy it again, or go on with the rest"
            )
            warnings.warn(BagWarning(text), stacklevel=1)


def _with_journal(path: Path, scratch: Callable[[], Path]) -> Path:
    """Return the file, or a copy of it where there is a journal that sqlite3 has to work in."""
    journals = [journal for end in _JOURNALS if _is_used(journal := path.with_name(path.name + end))]
    if not journals:
        return path
    folder = scratch()
    return [Path(shutil.copyfile(file, folder / file.name)) for file in (path, *journals)][0]


def _is_used(journal: Path) -> bool:
    return journal.is_file() and journal.stat().st_size > 0


def _missing(path: Path) -> str:
    """Say how much the file lacks of what its header promises (sqlite.org/fileformat2.html, 1.3)."""
    with path.open("rb") as file:
        header = file.read(100)
    page_size = int.from_bytes(header[16:18], "big")
    expected = int.from_bytes(header[28:32], "big") * (65536 if page_size == 1 else page_size)
    if header[24:28] != header[92:96]:  # written by an sqlite3 that does not keep the size
        return ""
    size = path.stat().st_size
    return f"{(expected - size) * 1e-6:.3g} of {expected * 1e-6:.3g} MB are missing" if size < expected else ""
