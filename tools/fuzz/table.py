"""Results of a run as a table with a row for each target."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.document import markdown_table
from tools.fuzz.targets import Target
from tools.fuzz.trial import Tally

Result = tuple[Target, Tally, float | None]
"""Target, its results, and the growth of memory (MB), None if there were too few inputs."""

_HEAD = ["target", "inputs", "accepted", "refused", "slowest", "memory growth", "findings"]


def rows_of(results: Sequence[Result]) -> dict[str, list[str]]:
    """Return a row for each target by its name."""
    return {result[0].name: _row(*result) for result in results}


def _row(target: Target, tally: Tally, growth: float | None) -> list[str]:
    return [
        target.name,
        target.counted(tally.tried),
        f"{tally.taken:,}",
        f"{tally.refusals.total():,}",
        f"{tally.slowest:.2f} s",
        "–" if growth is None else f"{growth:+.1f} MB",
        str(len(tally.findings)),
    ]


def table(rows: dict[str, list[str]], order: Sequence[str]) -> str:
    """Return rows with a header."""
    return markdown_table([_HEAD, *(rows[name] for name in order if name in rows)])
