"""What the tests run of the package: a table by folder from coverage's JSON report, and bars for lines and branches.

``make coverage`` makes that report. The bars are for everything but the command line.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from benchmarks.document import around_part, markdown_table, replace_part

PART = "make coverage"
PACKAGE = "robot_dynamics_ros"
BESIDE = "cli/"  # the folder that the bars are not for
LINES, BRANCHES = 95.0, 90.0  # per cent that must be run outside of it


class Counts(NamedTuple):
    """Lines and branches that there are, and how many of them ran."""

    lines: int
    lines_run: int
    branches: int
    branches_run: int


def total(counts: Iterable[Counts]) -> Counts:
    """The sum of some counts, at least one."""
    return Counts(*map(sum, zip(*counts, strict=True)))


def by_folder(report: Mapping[str, Any]) -> dict[str, Counts]:
    """Counts of each folder of the package in a report of ``coverage json``, made with branches."""
    files: dict[str, list[Counts]] = defaultdict(list)
    for path, file in report["files"].items():
        _, *folders, _ = PurePath(path).parts[PurePath(path).parts.index(PACKAGE) :]
        found = file["summary"]
        files[f"{folders[0]}/" if folders else f"{PACKAGE}/*.py"].append(
            Counts(found["num_statements"], found["covered_lines"], found["num_branches"], found["covered_branches"])
        )
    return {folder: total(counts) for folder, counts in sorted(files.items())}


def share(run: int, there: int) -> float:
    """What ran of what is there, in per cent."""
    return 100.0 * run / there if there else 100.0


def _row(title: str, counts: Counts) -> list[str]:
    lines, branches = share(counts.lines_run, counts.lines), share(counts.branches_run, counts.branches)
    return [title, f"{counts.lines}", _percent(lines), f"{counts.branches}", _percent(branches)]


def _percent(value: float) -> str:
    """Rounded down: 94.96 % is not 95 %."""
    return f"{int(10.0 * value) / 10.0:.1f} %"


def judged(folders: Mapping[str, Counts]) -> Counts:
    """The sum of the folders that the bars are for."""
    return total(counts for folder, counts in folders.items() if folder != BESIDE)


def table(folders: Mapping[str, Counts]) -> str:
    """A row for each folder, and their sum without the command line."""
    rows = [["folder", "lines", "of them run", "branches", "of them taken"]]
    rows += [_row(f"`{folder}`", counts) for folder, counts in folders.items()]
    rows.append(_row(f"all but `{BESIDE}`", judged(folders)))
    return markdown_table(rows)


def shortfalls(counts: Counts) -> list[str]:
    """What is below its bar, in words; nothing where all is well."""
    found = [
        ("lines", share(counts.lines_run, counts.lines), LINES),
        ("branches", share(counts.branches_run, counts.branches), BRANCHES),
    ]
    return [f"{_percent(value)} of the {what} ran, below {bar:.0f} %" for what, value, bar in found if value < bar]


def main(arguments: list[str] | None = None) -> int:
    """Be the command line: print the table; 1 where a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage_table", description="coverage by folder")
    parser.add_argument("report", type=Path, help="what `coverage json` has written, with branches")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this Markdown file, too")
    options = parser.parse_args(arguments)
    if options.write:
        around_part(options.write, PART)
    folders = by_folder(json.loads(options.report.read_text(encoding="utf-8")))
    text = table(folders)
    print(text)
    if options.write:
        replace_part(options.write, PART, text)
    missed = shortfalls(judged(folders))
    for problem in missed:
        print(f"{problem}. Cure: tests for what `coverage report --skip-covered --show-missing` lists", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
