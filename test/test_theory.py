"""Every row of docs/theory.md names equations, functions and tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
FOLDERS = ("robot_dynamics_ros", "test", "benchmarks", "tools", "examples")
SOURCES = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
FILES = {file.name for file in SOURCES}
WORDS = {word for file in SOURCES for word in re.findall(r"[A-Za-z_]\w*", file.read_text(encoding="utf-8"))}
_BETWEEN = re.compile(r"<!-- begin: .*?<!-- end: [^>]*-->", re.DOTALL)


def _rows() -> list[list[str]]:
    lines = [line for line in _BETWEEN.sub("", TEXT).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not set("".join(row)) <= set("-")]


#: Chapter, first and last numbered equation of what the books' chapters bring, but for what no function computes.
BOOKS = [
    ("Tsai", 9, 1, 171),
    ("Tsai", 9, 173, 178),
    ("Craig", 5, 1, 13),
    ("Craig", 5, 42, 111),
    ("Craig", 6, 1, 117),
    ("Milicevic", 2, 1, 15),
    ("Milicevic", 4, 1, 5),
    ("Spong", 9, 1, 24),
    ("Spong", 9, 41, 133),
    ("LaValle", 13, 124, 184),
]

_AUTHORS = "Tsai|Craig|Milicevic|Spong|LaValle|ME5118|METR4202|Khatib|Baumgarte"


@pytest.mark.parametrize(("book", "chapter", "first", "last"), BOOKS)
def test_no_equation_is_left_out(book: str, chapter: int, first: int, last: int) -> None:
    """In the first column, "Spong (9.1)-(9.5), (9.11), Tsai (9.12)" names six of Spong and one of Tsai."""
    listed = set()
    for row in _rows():
        for author, numbers in re.findall(rf"({_AUTHORS})((?:(?!{_AUTHORS}).)*)", row[0]):
            for begin, end in re.findall(rf"\({chapter}\.(\d+)\)(?:-\({chapter}\.(\d+)\))?", numbers):
                if author == book:
                    listed |= set(range(int(begin), int(end or begin) + 1))
    assert not set(range(first, last + 1)) - listed


@pytest.mark.parametrize(
    "row", [row for row in _rows() if row[0] not in ("equation", "example")], ids=lambda row: row[0]
)
def test_what_it_names_is_there(row: list[str]) -> None:
    """Every file, test and function in code style exists in the sources."""
    assert len(row) in (3, 4) and all(row)
    names = " ".join(row[1:])
    for file in re.findall(r"[\w/]+\.py", names):
        assert Path(file).name in FILES, file
    for test in re.findall(r"\btest_\w+(?!\w*\.py)\b", names):
        assert test in WORDS or f"{test}.py" in FILES, test
    for quoted in re.findall(r"`([^`]+)`", names):
        for name in re.findall(r"[A-Za-z_]\w*", quoted):
            assert name in WORDS or f"{name}.py" in FILES or (ROOT / name).is_dir(), f"{name} of {quoted}"
