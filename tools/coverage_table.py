"""Table of the test coverage by folder, from the JSON report of coverage, and thresholds for lines and branches.

``make coverage`` creates the report. The thresholds apply to everything except the command line.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from benchmarks.document import markdown_table, print_report, report_parser

PART = "make coverage"
PACKAGE = "robot_dynamics_ros"
EXEMPT = "cli/"  # folder without thresholds
LINES, BRANCHES = 95.0, 90.0  # thresholds in per cent for all other folders


class Counts(NamedTuple):
    """Numbers of lines and branches, and of those that were run."""

    lines: int
    lines_run: int
    branches: int
    branches_run: int


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sum of counts, at least one."""
    return Counts(*map(sum, zip(*counts, strict=True)))


def by_folder(report: Mapping[str, Any]) -> dict[str, Counts]:
    """Return the counts of each folder of the package from a report of ``coverage json`` with branches."""
    files: dict[str, list[Counts]] = defaultdict(list)
    for path, file in report["files"].items():
        _, *folders, _ = PurePath(path).parts[PurePath(path).parts.index(PACKAGE) :]
        found = file["summary"]
        files[f"{folders[0]}/" if folders else f"{PACKAGE}/*.py"].append(
            Counts(found["num_statements"], found["covered_lines"], found["num_branches"], found["covered_branches"])
        )
    return {folder: total(counts) for folder, counts in sorted(files.items())}


def share(run: int, there: int) -> float:
    """Return the share that was run in per cent."""
    return 100.0 * run / there if there else 100.0


def _row(title: str, counts: Counts) -> list[str]:
    lines, branches = share(counts.lines_run, counts.lines), share(counts.branches_run, counts.branches)
    return [title, f"{counts.lines}", _percent(lines), f"{counts.branches}", _percent(branches)]


def _percent(value: float) -> str:
    """Return a percentage rounded down: 94.96 % is less than 95 %."""
    return f"{int(10.0 * value) / 10.0:.1f} %"


def table(folders: Mapping[str, Counts]) -> str:
    """Return a table with a row for each folder and the sum without the command line."""
    rows = [["folder", "lines", "lines run", "branches", "branches taken"]]
    rows += [_row(f"`{folder}`", counts) for folder, counts in folders.items()]
    rows.append(_row(f"all but `{EXEMPT}`", total(counts for folder, counts in folders.items() if folder != EXEMPT)))
    return markdown_table(rows)


def shortfalls(counts: Counts) -> list[str]:
    """Return a message for each value below its threshold."""
    found = [
        ("lines", share(counts.lines_run, counts.lines), LINES),
        ("branches", share(counts.branches_run, counts.branches), BRANCHES),
    ]
    return [f"{_percent(value)} of the {what} ran, below {bar:.0f} %" for what, value, bar in found if value < bar]


def main() -> int:
    """Print the table; return 1 if a value is below its threshold."""
    parser = report_parser("python -m tools.coverage_table", __doc__)
    parser.add_argument("report", type=Path, help="report of `coverage json` with branches")
    options = parser.parse_args()
    folders = by_folder(json.loads(options.report.read_text(encoding="utf-8")))
    print_report(options, lambda: table(folders), PART)
    missed = shortfalls(total(counts for folder, counts in folders.items() if folder != EXEMPT))
    cure = "Cure: add tests for the lines that `coverage report --skip-covered --show-missing` lists"
    print(*(f"{problem}. {cure}" for problem in missed), sep="\n", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
