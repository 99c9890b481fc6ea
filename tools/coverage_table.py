"""Table of the test coverage by folder, from the JSON report of coverage, and thresholds for lines and branches.

``make coverage`` creates the report. The thresholds apply to everything except the command line.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from benchmarks.document import markdown_table, print_report, report_parser

PART = "make coverage"
PACKAGE = "robot_dynamics_ros"
EXEMPT = "cli/"  # folder without thresholds
# Thresholds in per cent for all other folders.
LINES = 95.0
BRANCHES = 90.0


FIELDS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def by_folder(report: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """Return the sums of FIELDS of each folder of the package from a report of ``coverage json`` with branches."""
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for path, file in report["files"].items():
        _, *parents, _ = PurePath(path).parts[PurePath(path).parts.index(PACKAGE) :]
        folder = f"{parents[0]}/" if parents else f"{PACKAGE}/*.py"
        folders[folder].update({field: file["summary"][field] for field in FIELDS})
    return dict(sorted(folders.items()))


def total(folders: Mapping[str, Counter[str]]) -> Counter[str]:
    """Return the sums of all folders with thresholds."""
    return sum(
        (counts for folder, counts in folders.items() if folder != EXEMPT), Counter()
    )


def shares(counts: Mapping[str, int]) -> tuple[float, float]:
    """Return the shares of lines and branches that were run in per cent."""
    lines, lines_run, branches, branches_run = (counts[field] for field in FIELDS)
    return (
        100.0 * lines_run / lines if lines else 100.0,
        100.0 * branches_run / branches if branches else 100.0,
    )


def _percent(value: float) -> str:
    """Return a percentage rounded down: 94.96 % is less than 95 %."""
    return f"{int(10.0 * value) / 10.0:.1f} %"


def table(folders: Mapping[str, Counter[str]]) -> str:
    """Return a table of the sum without the command line, and of each folder below a threshold."""
    rows = [["folder", "lines", "lines run", "branches", "branches taken"]]
    for folder, counts in {**folders, f"all but `{EXEMPT}`": total(folders)}.items():
        lines, branches = shares(counts)
        if folder in folders and lines >= LINES and branches >= BRANCHES:
            continue
        rows.append(
            [
                folder if "`" in folder else f"`{folder}`",
                str(counts["num_statements"]),
                _percent(lines),
                str(counts["num_branches"]),
                _percent(branches),
            ]
        )
    return markdown_table(rows)


def main() -> int:
    """Print the table; return 1 if a value is below its threshold."""
    parser = report_parser("python -m tools.coverage_table", __doc__)
    parser.add_argument(
        "report", type=Path, help="report of `coverage json` with branches"
    )
    options = parser.parse_args()
    folders = by_folder(json.loads(options.report.read_text(encoding="utf-8")))
    print_report(options, lambda: table(folders), PART)
    found = zip(
        ("lines", "branches"), shares(total(folders)), (LINES, BRANCHES), strict=True
    )
    missed = [
        f"{_percent(value)} of the {what} ran, below {bar:.0f} %"
        for what, value, bar in found
        if value < bar
    ]
    cure = "Cure: add tests for the lines that `coverage report --skip-covered --show-missing` lists"
    print(*(f"{problem}. {cure}" for problem in missed), sep="\n", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
