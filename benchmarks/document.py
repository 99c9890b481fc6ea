"""What the benchmarks print: Markdown tables, and their place in a document."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def print_report(report: Callable[[], str], arguments: list[str] | None, *, prog: str, about: str, part: str) -> None:
    """Be the command line of a benchmark that has no options of its own: print its report.

    ``--write FILE`` puts it into ``part`` of a Markdown file, too. ``about`` is what --help says.
    """
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables into this Markdown file, too")
    options = parser.parse_args(arguments)
    if options.write:
        around_part(options.write, part)  # before the run: it takes a while
    text = report()
    print(text)
    if options.write:
        replace_part(options.write, part, text)


def around_part(path: Path, part: str) -> tuple[str, str]:
    """What stands before and after ``part`` in a Markdown file, its comments included.

    The part lies between ``<!-- begin: part -->`` and ``<!-- end: part -->``. Leaves the program where the file or
    the comments are not there.
    """
    begin, end = f"<!-- begin: {part} -->", f"<!-- end: {part} -->"
    try:
        before, rest = path.read_text(encoding="utf-8").split(begin)
        _, after = rest.split(end)
    except (OSError, ValueError) as problem:
        raise SystemExit(f"{path}: {problem}. Cure: a Markdown file with one line {begin} and one line {end}") from None
    return before + begin, end + after


def replace_part(path: Path, part: str, text: str) -> None:
    """Put ``text`` in place of what is between the comments of ``around_part``; errors as there."""
    before, after = around_part(path, part)
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", encoding="utf-8")


def rows_of_part(path: Path, part: str) -> dict[str, list[str]]:
    """Rows of the table in ``part`` of a Markdown file, below its head, by their first cells; errors as above."""
    before, after = around_part(path, part)
    return rows_in(path.read_text(encoding="utf-8").removeprefix(before).removesuffix(after))


def rows_in(text: str) -> dict[str, list[str]]:
    """Rows of the only Markdown table in a text, below its head, by their first cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: row for row in rows}


def markdown_table(rows: list[list[str]]) -> str:
    """Rows of cells as a Markdown table; the first row is its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    head, *body = (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    )
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([head, rule, *body])
