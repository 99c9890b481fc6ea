"""Output of benchmarks and tools: Markdown tables, and their insertion into documents."""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from robot_dynamics_ros.base.errors import RobotDynamicsError


def report_parser(prog: str, about: str) -> argparse.ArgumentParser:
    """Return a parser with the option ``--write FILE``; the first line of ``about`` is the description."""
    parser = argparse.ArgumentParser(prog=prog, description=about.splitlines()[0])
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="also write the result to this Markdown file",
    )
    return parser


def print_report(
    options: argparse.Namespace,
    report: Callable[[], str],
    part: str,
    *,
    complete: bool = True,
    quiet: float = math.inf,
) -> None:
    """Print a report; with ``--write`` also replace ``part`` of a Markdown file, which a ``complete`` run may do.

    A warning is printed if the load average is above ``quiet``.
    """
    if options.write:
        if not complete:
            raise SystemExit(
                "--write needs a complete run. Cure: remove the options that shorten it"
            )
        around_part(options.write, part)  # to report an error before the long run
    if os.getloadavg()[0] > quiet:
        print(
            "Other programs have just been running, which affects times. Cure: wait, then repeat",
            file=sys.stderr,
        )
    try:
        text = report()
    except RobotDynamicsError as problem:
        raise SystemExit(str(problem)) from None
    print(text)
    if options.write:
        replace_part(options.write, part, text)


def around_part(path: Path, part: str) -> tuple[str, str]:
    """Return the text before and after ``part`` of a Markdown file, including the comments that delimit it.

    The part is between ``<!-- begin: part -->`` and ``<!-- end: part -->``. Raises SystemExit if the file or the
    comments do not exist.
    """
    begin = f"<!-- begin: {part} -->"
    end = f"<!-- end: {part} -->"
    try:
        before, rest = path.read_text(encoding="utf-8").split(begin)
        _, after = rest.split(end)
    except (OSError, ValueError) as problem:
        raise SystemExit(
            f"{path}: {problem}. Cure: a Markdown file with one line {begin} and one line {end}"
        ) from None
    return before + begin, end + after


def replace_part(path: Path, part: str, text: str) -> None:
    """Replace the content of ``part`` by ``text``; exits like ``around_part``."""
    before, after = around_part(path, part)
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", encoding="utf-8")


def markdown_table(rows: list[list[str]]) -> str:
    """Return rows of cells as a Markdown table; the first row is the header."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    head, *body = (
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        + " |"
        for row in rows
    )
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([head, rule, *body])


def machine(packages: Sequence[str]) -> str:
    """Return the machine and the versions of these packages in one line."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [
        line.partition(":")[2].strip()
        for line in lines
        if line.startswith("model name")
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    cpu = names[0] if names else platform.machine()
    return (
        f"{cpu}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"
    )
