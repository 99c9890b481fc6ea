"""Invalid sqlite3 files, with errors of headers, page trees and schemas."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

#: Place and size of the fields of the file's header (sqlite.org/fileformat2.html, 1.3).
_FIELDS = ((16, 2), (18, 1), (19, 1), (20, 1), (21, 1), (22, 1), (23, 1), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4),
           (44, 4), (48, 4), (52, 4), (56, 4), (60, 4), (64, 4), (92, 4), (96, 4))  # fmt: skip
_TYPES = (2, 5, 10, 13, 0, 255)  # of pages; the first four are such
_PAGE = 4096
_VALUES = ("NULL", "''", "'x'", "1", "1.5", "-1", "9223372036854775807", "-9223372036854775808", "x''", "x'00'",
           "zeroblob(3000000)", "'@bait@'", "1e300", "CAST(x'ff' AS TEXT)", "rowid",
           "'1) UNION SELECT 1,2,3,4 --'")  # fmt: skip
_TABLES = (
    "CREATE TABLE {0}(id TEXT PRIMARY KEY, topic_id TEXT, timestamp TEXT, data TEXT, name, type, serialization_format)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id TEXT, timestamp INTEGER, data BLOB)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id REAL, timestamp REAL, data BLOB)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id, timestamp, data, UNIQUE(data)) WITHOUT ROWID",
    "CREATE TABLE {0}(id, topic_id INTEGER, timestamp INTEGER COLLATE NOCASE, data BLOB CHECK (data > 1))",
    "CREATE TABLE {0}(data BLOB, timestamp INTEGER, topic_id INTEGER, id INTEGER PRIMARY KEY)",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data AS (zeroblob(900000000)))",
    "CREATE TABLE {0}(id INTEGER PRIMARY KEY, timestamp INTEGER)",
    "CREATE TABLE {0}(id, name BLOB, type INTEGER, serialization_format REAL, offered_qos_profiles BLOB)",
    "CREATE VIEW {0} AS SELECT 1 AS id, 1 AS topic_id, 5 AS timestamp, zeroblob(900000000) AS data",
    "CREATE VIRTUAL TABLE {0} USING fts5(id, topic_id, timestamp, data)",
    "CREATE VIRTUAL TABLE {0} USING rtree(id, topic_id, timestamp, data)",
    "CREATE INDEX {0} ON messages(data)",
    "CREATE TABLE {0}(",
    "",
)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Return a damaged database."""
    if len(data) < 2 * _PAGE:
        return data
    kept, pages = bytearray(data), len(data) // _PAGE
    match rng.randrange(7):
        case 0:
            at, size = rng.choice(_FIELDS)
            kept[at : at + size] = _number(rng, size)
        case 1 | 2 | 3:
            _break_page(rng, kept)
        case 4:
            a, b = rng.randrange(pages), rng.randrange(pages)  # one page twice
            kept[a * _PAGE : (a + 1) * _PAGE] = kept[b * _PAGE : (b + 1) * _PAGE]
        case _:
            return _other_sql(rng, data)
    return bytes(kept)


def _number(rng: random.Random, size: int, pages: int = 4) -> bytes:
    top = 1 << 8 * size
    value = rng.choice((0, 1, 2, 3, pages, pages + 1, 512, 4096, top // 2 - 1, top // 2, top - 1, rng.randrange(top)))
    return (value % top).to_bytes(size, "big")


def _break_page(rng: random.Random, kept: bytearray) -> None:
    """Change the header of a page, its cell pointers, or the number of the next page."""
    pages = len(kept) // _PAGE
    page = rng.randrange(pages)
    begin = page * _PAGE + (100 if page == 0 else 0)
    cells = int.from_bytes(kept[begin + 3 : begin + 5], "big")
    match rng.randrange(6):
        case 0:
            kept[begin] = rng.choice(_TYPES)
        case 1:
            at = begin + rng.choice((1, 3, 5))  # first free block, number of cells, where they begin
            kept[at : at + 2] = _number(rng, 2)
        case 2:
            kept[begin + 8 : begin + 12] = rng.randrange(1, pages + 2).to_bytes(4, "big")  # the page on the right
        case 3 if 0 < cells < 1000:
            at = begin + 8 + 2 * rng.randrange(cells)
            other = begin + 8 + 2 * rng.randrange(cells)
            kept[at : at + 2] = rng.choice((bytes(kept[other : other + 2]), _number(rng, 2)))
        case 4:  # an inner page whose cells all refer to one page, perhaps itself
            child = rng.choice((page + 1, rng.randrange(1, pages + 1))).to_bytes(4, "big")
            count = rng.choice((1, 30, 400))
            first = _PAGE - 5 * count
            head = b"\x05\0\0" + count.to_bytes(2, "big") + first.to_bytes(2, "big") + b"\0" + child
            pointers = b"".join((first + 5 * k).to_bytes(2, "big") for k in range(count))
            kept[page * _PAGE + first : (page + 1) * _PAGE] = (child + b"\x01") * count
            kept[begin : begin + len(head + pointers)] = head + pointers
        case _:  # possibly an overflow page
            at = page * _PAGE + rng.randrange(_PAGE - 4)
            kept[at : at + 4] = rng.randrange(pages + 2).to_bytes(4, "big")


def _other_sql(rng: random.Random, data: bytes) -> bytes:
    """Change rows, columns or the schema with sqlite3 itself."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bag.db3"
        file.write_bytes(data)
        database = sqlite3.connect(file, isolation_level=None)
        try:
            for _ in range(rng.choice((1, 1, 2))):
                database.execute("PRAGMA writable_schema = ON")
                for statement in [_statement(rng)] if rng.random() < 0.8 else _rebuilt(rng):
                    database.execute(statement)
        except sqlite3.Error:  # it was damaged before, or the change is not permitted
            pass
        finally:
            database.close()
        return file.read_bytes()


def _statement(rng: random.Random) -> str:
    table = rng.choice(("messages", "topics"))
    value = rng.choice(_VALUES)
    columns = ("topic_id", "timestamp", "data") if table == "messages" else (
        "id", "name", "type", "serialization_format", "offered_qos_profiles")  # fmt: skip
    match rng.randrange(8):
        case 0 | 1:
            return f"UPDATE {table} SET {rng.choice(columns)} = {value}"
        case 2:
            return f"UPDATE OR IGNORE {table} SET {rng.choice(columns)} = {value} WHERE rowid = {rng.randrange(1, 40)}"
        case 3 | 4:
            sql = rng.choice(_TABLES).format(table)
            return f"UPDATE sqlite_master SET sql = '{sql}' WHERE name = '{table}'"
        case 5:
            key, new = rng.choice(
                (("rootpage", str(rng.randrange(9))), ("name", "'x'"), ("type", "'view'"), ("sql", "NULL"))
            )
            return f"UPDATE sqlite_master SET {key} = {new} WHERE name = '{rng.choice((table, 'timestamp_idx'))}'"
        case 6:
            return rng.choice((f"DROP TABLE {table}", "DROP INDEX timestamp_idx", f"DELETE FROM {table}", "VACUUM",
                               "PRAGMA encoding = 'UTF-16'", f"ALTER TABLE {table} RENAME TO other",
                               f"ALTER TABLE {table} DROP COLUMN {rng.choice(columns)}",
                               "CREATE INDEX other ON messages(topic_id, timestamp DESC)"))  # fmt: skip
        case _:
            return f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE rowid > {rng.randrange(40)}"


def _rebuilt(rng: random.Random) -> tuple[str, ...]:
    """Return statements that change the types of a table's columns and values."""
    table = rng.choice(("messages", "topics"))
    names = ("id", "topic_id", "timestamp", "data") if table == "messages" else (
        "id", "name", "type", "serialization_format", "offered_qos_profiles")  # fmt: skip
    kinds = ("TEXT", "REAL", "BLOB", "INTEGER", "NUMERIC", "", "INTEGER PRIMARY KEY")
    columns = ", ".join(f"{name} {rng.choice(kinds) if rng.random() < 0.5 else ''}" for name in names)
    return (
        f"CREATE TABLE other({columns})",
        f"INSERT INTO other SELECT {', '.join(names)} FROM {table}",
        f"DROP TABLE {table}",
        f"ALTER TABLE other RENAME TO {table}",
    )
