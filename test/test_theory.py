"""docs/theory.md leads from equations to functions and tests that are there, and no row is empty."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
CODE = "\n".join(
    file.read_text(encoding="utf-8")
    for folder in ("robot_dynamics_ros", "test", "benchmarks", "examples")
    for file in sorted((ROOT / folder).rglob("*.py"))
)
FILES = {
    file.name
    for folder in ("robot_dynamics_ros", "test", "benchmarks", "examples")
    for file in (ROOT / folder).rglob("*.py")
}
WORDS = set(re.findall(r"[A-Za-z_]\w*", CODE))
_BETWEEN = re.compile(r"<!-- begin: .*?<!-- end: [^>]*-->", re.DOTALL)


def _rows() -> list[list[str]]:
    lines = [line for line in _BETWEEN.sub("", TEXT).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not set("".join(row)) <= set("-")]


def test_no_row_is_empty() -> None:
    rows = _rows()
    assert len(rows) > 90
    for row in rows:
        assert len(row) in (3, 4) and all(row), row


@pytest.mark.parametrize(
    "row", [row for row in _rows() if row[0] not in ("equation", "example")], ids=lambda row: row[0]
)
def test_what_it_names_is_there(row: list[str]) -> None:
    """Every file, every test and every function in code style stands somewhere in the sources."""
    names = " ".join(row[1:])
    for file in re.findall(r"[\w/]+\.py", names):
        assert Path(file).name in FILES, file
    for test in re.findall(r"\btest_\w+(?!\w*\.py)\b", names):
        assert test in WORDS or f"{test}.py" in FILES, test
    for quoted in re.findall(r"`([^`]+)`", names):
        for name in re.findall(r"[A-Za-z_]\w*", quoted):
            assert name in WORDS or f"{name}.py" in FILES or (ROOT / name).is_dir(), f"{name} of {quoted}"
