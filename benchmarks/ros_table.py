"""Round trip times as a Markdown table, compared with their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.document import markdown_table
from benchmarks.robots import Floats
from benchmarks.ros_plant import Turn

CONTROLLER = "controller"
ECHO = "echo"
LEAN = "lean_echo"
TITLES = {
    CONTROLLER: "controller",
    ECHO: "bare echo",
    LEAN: "bare echo of effort_commands only",
}

MEDIAN = 1.25
MEDIAN_AIM = 1.1
P99 = 1.5
UNANSWERED = 0.005
"""Targets of the controller: ratios to the bare echo, and a share of the cycles."""


class Measured(NamedTuple):
    """Results of one turn of a node, and the processor load (cores) of the node and the plant."""

    turn: Turn
    node_share: float
    plant_share: float


Runs = Mapping[str, Sequence[Measured]]
"""The turns of each kind of node, in their order."""


def trips(turns: Sequence[Measured]) -> Floats:
    """Return all round trip times (s) of a node."""
    return np.concatenate([one.turn.trips for one in turns])


def unanswered(turns: Sequence[Measured]) -> float:
    """Return the share of cycles without a response in their period."""
    return sum(one.turn.unanswered for one in turns) / sum(
        one.turn.cycles for one in turns
    )


def ratio(runs: Runs, of: str, to: str, percentile: float) -> float:
    """Return the ratio of a percentile of all round trip times of two nodes."""
    high, low = (np.percentile(trips(runs[kind]), percentile) for kind in (of, to))
    return float(high / low)


def missed(runs: Runs) -> str:
    """Return a sentence on the targets that the controller misses."""
    median, p99 = (ratio(runs, CONTROLLER, ECHO, percentile) for percentile in (50, 99))
    share = unanswered(runs[CONTROLLER])
    found = []
    if median > MEDIAN:
        found.append(f"median {median:.2f} times the bare echo's, required {MEDIAN:g}")
    if p99 > P99:
        found.append(
            f"99th percentile {p99:.2f} times the bare echo's, required {P99:g}"
        )
    if share > UNANSWERED:
        found.append(f"{share:.2%} of the cycles unanswered, required {UNANSWERED:.1%}")
    return (
        f"Missed: {'; '.join(found)}." if found else "The controller meets all targets."
    )


def loop_table(runs: Runs) -> str:
    """Return a table with a row for each node, then the controller's ratios to each echo and their targets."""
    rows = [
        [
            "",
            "median, us",
            "99 %, us",
            "longest, us",
            "unanswered",
            "node, core",
            "plant, core",
        ]
    ]
    for kind, turns in runs.items():
        microseconds = 1e6 * trips(turns)
        shares = (
            float(np.mean([getattr(one, side) for one in turns]))
            for side in ("node_share", "plant_share")
        )
        numbers = [*np.percentile(microseconds, [50, 99]), microseconds.max()]
        cells = [*(f"{number:.0f}" for number in numbers), f"{unanswered(turns):.2%}"]
        rows.append([TITLES[kind], *cells, *(f"{share:.0%}" for share in shares)])
    for echo in (ECHO, LEAN):
        each = [
            np.median(controller.turn.trips) / np.median(other.turn.trips)
            for controller, other in zip(runs[CONTROLLER], runs[echo], strict=True)
        ]
        low, high = np.percentile(each, [25, 75])
        median, p99 = (
            ratio(runs, CONTROLLER, echo, percentile) for percentile in (50, 99)
        )
        cells = [f"**{median:.2f}** ({low:.2f}–{high:.2f})", f"**{p99:.2f}**"]
        rows.append([f"controller to {TITLES[echo]}", *cells, "", "", "", ""])
    rows.append(
        [
            "required, goal",
            f"{MEDIAN:g}, {MEDIAN_AIM:g}",
            f"{P99:g}",
            "",
            f"{UNANSWERED:.1%}",
            "",
            "",
        ]
    )
    return markdown_table(rows)
