"""Every table of the pages renders; `make docs` makes the same check."""

import runpy
from pathlib import Path

import pytest

from support.documents.markdown_blocks import ROOT, pages

pytest.importorskip("markdown_it")
errors = runpy.run_path(str(ROOT / "docs" / "table_check.py"))["table_errors"]

TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
BROKEN = {
    "a cell too many": TABLE + "| |x| | 2 |\n",
    "a cell too few": TABLE + "| 1 |\n",
    "a blank line in it": TABLE + "\n| 3 | 4 |\n",
    "no rule": "| a | b |\n| 1 | 2 |\n",
    "a short rule": "| a | b |\n| --- |\n| 1 | 2 |\n",
    "text in the next line": TABLE + "text\n",
}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_tables_render(page: Path) -> None:
    assert not list(errors(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_tables_are_found(text: str) -> None:
    assert not list(errors(TABLE + "| \\|x\\| | `a\\|b` |\n\n```text\n| no | table\n```\n"))
    assert list(errors(f"Text.\n\n{text}"))
