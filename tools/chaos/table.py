"""Faults and their results as a Markdown table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.document import markdown_table
from tools.chaos.figures import Figures


class Outcome(NamedTuple):
    """Result of a fault: its figures, further text, and the exit codes of the processes."""

    title: str
    figures: Figures
    note: str
    exits: Sequence[tuple[str, int]]


HEAD = [
    "fault",
    "reaction of the controller",
    "safe torque after",
    "position error, mrad",
    "velocity, rad/s",
    "commands per state",
    "longest gap",
    "active again after",
]


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each fault, and further text below."""
    rows = [HEAD]
    for outcome in outcomes:
        f = outcome.figures
        rows.append(
            [
                outcome.title,
                ", then ".join(f.modes) or "continues",
                _seconds(f.safe),
                _number(1e3 * f.position_error, ".3g"),
                _number(f.velocity, ".2f"),
                _number(100.0 * f.command_share, ".0f", " %"),
                _seconds(f.gap),
                _recovery(f.recovery),
            ]
        )
    notes = "\n".join(f"- {outcome.title}: {outcome.note}." for outcome in outcomes if outcome.note)
    return f"{markdown_table(rows)}\n\n{notes}".strip()


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Return two sentences on results that must never occur."""
    wrong = sum(outcome.figures.invalid_efforts for outcome in outcomes)
    failed = [f"{name} with {code} ({outcome.title})" for outcome in outcomes for name, code in outcome.exits if code]
    return (
        f"Efforts that were not finite or beyond the limits: {wrong or 'none'}. "
        f"Processes that ended with an exit code other than 0, or by themselves: {', '.join(failed) or 'none'}."
    )


def _recovery(seconds: float) -> str:
    if math.isinf(seconds):
        return "**never**"
    return "0 ms" if seconds == 0.0 else _seconds(seconds)


def _seconds(value: float) -> str:
    return _number(1e3 * value, ".0f", " ms") if not value >= 1.0 else f"{value:.2f} s"


def _number(value: float, form: str, unit: str = "") -> str:
    return "–" if math.isnan(value) else f"{value:{form}}{unit}"
