"""Output of the benchmarks: Markdown tables, and their insertion into documents."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def print_report(report: Callable[[], str], arguments: list[str] | None, *, prog: str, about: str, part: str) -> None:
    """Run a benchmark without options of its own from the command line and print its report.

    ``--write FILE`` also writes the report into ``part`` of a Markdown file. ``about`` is the description for --help.
    """
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the tables to this Markdown file")
    options = parser.parse_args(arguments)
    if options.write:
        around_part(options.write, part)  # to report an error before the long run
    text = report()
    print(text)
    if options.write:
        replace_part(options.write, part, text)


def around_part(path: Path, part: str) -> tuple[str, str]:
    """Return the text before and after ``part`` of a Markdown file, including the comments that delimit it.

    The part is between ``<!-- begin: part -->`` and ``<!-- end: part -->``. Raises SystemExit if the file or the
    comments do not exist.
    """
    begin, end = f"<!-- begin: {part} -->", f"<!-- end: {part} -->"
    try:
        before, rest = path.read_text(encoding="utf-8").split(begin)
        _, after = rest.split(end)
    except (OSError, ValueError) as problem:
        raise SystemExit(f"{path}: {problem}. Cure: a Markdown file with one line {begin} and one line {end}") from None
    return before + begin, end + after


def replace_part(path: Path, part: str, text: str) -> None:
    """Replace the content of ``part`` by ``text``; exits like ``around_part``."""
    before, after = around_part(path, part)
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", encoding="utf-8")


def rows_of_part(path: Path, part: str) -> dict[str, list[str]]:
    """Return the body rows of the table in ``part`` of a Markdown file, by their first cells; exits like above."""
    before, after = around_part(path, part)
    return rows_in(path.read_text(encoding="utf-8").removeprefix(before).removesuffix(after))


def rows_in(text: str) -> dict[str, list[str]]:
    """Return the body rows of the only Markdown table in a text, by their first cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: row for row in rows}


def markdown_table(rows: list[list[str]]) -> str:
    """Return rows of cells as a Markdown table; the first row is the header."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    head, *body = (
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    )
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([head, rule, *body])
