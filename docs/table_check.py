"""Detection of Markdown tables that do not render: a part of `make docs`."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark").enable("table")  # as MyST reads tables
_BAR = re.compile(r"(?<!\\)\|")


def table_errors(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number (from 1) and message for each row that is no part of a table or has a wrong number of cells.

    Markdown drops surplus cells, fills up missing ones, and shows a table with a bad header as running text.
    """
    lines = text.splitlines()
    for token in _PARSER.parse(text):
        first, end = token.map or (0, 0)
        for number in range(first, end):
            if token.type == "table_open":
                cells = _cells(lines[number])
                columns = _cells(lines[first])
                if cells != columns:
                    yield (
                        number + 1,
                        f"table row with {cells} cells for {columns} columns. Cure: write \\| in a cell",
                    )
            elif token.type == "paragraph_open" and lines[number].lstrip().startswith(
                "|"
            ):
                yield (
                    number + 1,
                    "table row without a table. Cure: a header, a rule of as many cells, no blank line",
                )


def _cells(line: str) -> int:
    row = line.strip().removeprefix("|")
    return len(_BAR.split(row)) - bool(re.search(r"(?<!\\)\|$", row))
