"""docs/theory.md has every equation of the source texts in order, with links that resolve; so has docs/errata.md."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache, reduce
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
EQUATIONS = yaml.safe_load((ROOT / "test" / "oracles" / "equations.yaml").read_text(encoding="utf-8"))
_LINK = re.compile(r"\[`([^`]+)`\]\((\S+?)\)")
_RANGE = re.compile(r"\((\d+)\.(\d+)\)(?:-\(\1\.(\d+)\))?|(pp?\.|Tables?) (\d+)(?:-(\d+))?|(Q\.\w+)")


def rows(page: str) -> dict[str, list[list[str]]]:
    """Rows of four cells by the level-2 heading above them."""
    found: dict[str, list[list[str]]] = {}
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = found.setdefault(line[3:], [])
        elif line.startswith("| ") and not line.startswith(("| ---", "| Equation |", "| Place |")):
            section.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


INDEX, ERRATA = rows("theory.md"), rows("errata.md")


def numbers(text: str) -> list[str]:
    """Labels of equations, tables, slides and questions: "(9.1)-(9.2), Table 1" gives 9.1, 9.2, T 1."""
    labels = []
    for chapter, first, last, kind, begin, end, question in _RANGE.findall(text):
        if question:
            labels.append(question)
        elif kind:
            labels += [f"{kind[:1]} {n}" for n in range(int(begin), int(end or begin) + 1)]
        else:
            labels += [f"{chapter}.{n}" for n in range(int(first), int(last or first) + 1)]
    return labels


@cache
def definitions(file: Path) -> set[str]:
    """Names of the functions and classes at the top of a Python file."""
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if hasattr(node, "name")}


def check_links(cell: str) -> None:
    """Check that each link is a file, and that it defines what the text names: `file.py::name` or `module.name`."""
    for text, target in _LINK.findall(cell):
        file = (ROOT / "docs" / target).resolve()
        path, _, name = text.partition("::")
        if path.endswith(".py"):
            assert file.is_file() and file.as_posix().endswith(path), target
            assert not name or name.partition("[")[0] in definitions(file), text
        else:
            module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
            names = text.removeprefix(f"{file.stem}.").split(".")
            while len(names) > 1 and names[0] not in definitions(file):  # a package
                names.pop(0)
            assert names[0] in definitions(file) and reduce(getattr, names, module), text


def test_named_tests_are_collected() -> None:
    """Pytest finds every test that the two pages name, with its parameters."""
    pages = "".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in ("theory.md", "errata.md"))
    names = sorted(set(re.findall(r"\[`(test/[^`]+)`\]", pages)))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "slow or not slow", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("book", EQUATIONS)
def test_index_has_each_equation_once_and_in_order(book: str) -> None:
    listed = [label for section in EQUATIONS[book].values() for label in numbers(section)]
    assert [label for row in INDEX[book] for label in numbers(row[0])] == listed


@pytest.mark.parametrize("row", [row for book in INDEX.values() for row in book], ids=lambda row: row[0])
def test_row_leads_to_a_function_and_a_test(row: list[str]) -> None:
    _, says, function, test = row
    assert says
    if function.startswith("not implemented: "):
        assert test == "–"
    else:
        assert _LINK.search(function) and _LINK.search(test)
        assert all(target.startswith("../test/") for _, target in _LINK.findall(test))
    check_links(function)
    check_links(test)


@pytest.mark.parametrize("book", ERRATA)
def test_misprints_are_marked_in_the_index(book: str) -> None:
    """Every row that an erratum names links to the errata, and no other."""
    for row in ERRATA[book]:
        assert all(row)
        check_links(row[3])
    wrong = {label for row in ERRATA[book] for label in numbers(row[0])}
    for row in INDEX[book]:
        assert (f"errata.md#{book.lower()}" in row[1]) == bool(wrong.intersection(numbers(row[0]))), row[0]
