"""docs/theory.md has every equation of the source texts in order, with links that resolve; so has docs/errata.md."""

import importlib
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.check_index import LINK, drawn, findings, function_name, index, table_rows

ROOT = Path(__file__).resolve().parents[1]
EQUATIONS = yaml.safe_load(
    (ROOT / "test" / "oracles" / "equations.yaml").read_text(encoding="utf-8")
)
_RANGE = re.compile(
    r"\((\d+)\.(\d+)\)(?:-\(\1\.(\d+)\))?|(pp?\.|Tables?) (\d+)(?:-(\d+))?|(Q\.\w+)"
)
INDEX = table_rows("theory.md")
ERRATA = table_rows("errata.md")


def numbers(text: str) -> list[str]:
    """Labels of equations, tables, slides and questions: "(9.1)-(9.2), Table 1" gives 9.1, 9.2, T 1."""
    labels = []
    for chapter, first, last, kind, begin, end, question in _RANGE.findall(text):
        if question:
            labels.append(question)
        elif kind:
            labels += [
                f"{kind[:1]} {n}" for n in range(int(begin), int(end or begin) + 1)
            ]
        else:
            labels += [
                f"{chapter}.{n}" for n in range(int(first), int(last or first) + 1)
            ]
    return labels


def check_links(cell: str) -> None:
    """Check that each link is a file, and that what its text names is defined; tests are collected below."""
    for text, target in LINK.findall(cell):
        path = text.partition("::")[0]
        file = (ROOT / "docs" / target).resolve()
        assert file.is_file() and (
            not path.endswith(".py") or file.as_posix().endswith(path)
        ), target
        if not path.endswith(".py"):
            definition(text, target)


def definition(text: str, target: str) -> Any:
    """Return the function, method or property that a link names: `module.name` or `folder/file.py::name`."""
    module, name = function_name(text, target).split(":")
    return reduce(getattr, name.split("."), importlib.import_module(module))


def test_named_tests_are_collected() -> None:
    """Pytest finds every test that the two pages name, with its parameters."""
    pages = "".join(
        (ROOT / "docs" / page).read_text(encoding="utf-8")
        for page in ("theory.md", "errata.md")
    )
    names = sorted(set(re.findall(r"\[`(test/[^`]+)`\]", pages)))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-m",
        "slow or not slow",
        *names,
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("book", EQUATIONS)
def test_index_has_each_equation_once_and_in_order(book: str) -> None:
    listed = [
        label for section in EQUATIONS[book].values() for label in numbers(section)
    ]
    assert [label for row in INDEX[book] for label in numbers(row[0])] == listed


@pytest.mark.parametrize(
    "row", [row for book in INDEX.values() for row in book], ids=lambda row: row[0]
)
def test_row_leads_to_a_function_and_a_test(row: list[str]) -> None:
    _, says, function, test = row
    assert says
    if function.startswith("not implemented: "):
        assert test == "–"
    else:
        assert any(
            not target.startswith("../test/") for _, target in LINK.findall(function)
        ), "only expected results"
        assert LINK.search(test)
        assert all(target.startswith("../test/") for _, target in LINK.findall(test))
        named = [definition(*link) for link in LINK.findall(function)]
        assert all(
            isinstance(thing, property)
            or callable(thing)
            and not isinstance(thing, type)
            for thing in named
        )
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
        assert (f"errata.md#{book.lower()}" in row[1]) == bool(
            wrong.intersection(numbers(row[0]))
        ), row[0]


def test_a_broken_function_fails_a_named_test() -> None:
    """Four rows of the index, drawn by the commit; `make check-index` takes all of them."""
    assert not findings(drawn(index(), 4), jobs=1)
