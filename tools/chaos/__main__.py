"""Fault injection into plant, controller, recorder and network, and measurement of the arm's reaction.

``python -m tools.chaos`` prints the table of docs/reliability.md; ``--write docs/reliability.md`` updates it. Each
fault has processes of its own, so that faults do not affect each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rclpy.utilities import get_rmw_implementation_identifier
from tqdm import tqdm

from benchmarks.document import machine, markdown_table, print_report, report_parser
from robot_dynamics_ros.base.errors import RobotDynamicsError
from tools.chaos.faults import FAULTS, Fault
from tools.chaos.figures import Figures, figures
from tools.chaos.rig import Flood, Rig

COMMAND = "python -m tools.chaos"
PART = "make chaos"
QUIET = 1.0  # load average before the run
RECOVERY = 30.0  # s, limit of the recovery
HEAD = [
    "fault",
    "reaction of the controller",
    "safe torque after, s",
    "position error, mrad/velocity, rad/s",
    "commands per state, %",
    "longest gap/active again after, s",
]

CONTINUED = "The law continued, with position error, mrad/velocity, rad/s/commands per state, %/longest gap, s:\n"


class Outcome(NamedTuple):
    """Result of a fault: its figures, further text, the exit codes of the processes, and measurements of floods."""

    title: str
    figures: Figures
    note: str
    exits: Sequence[tuple[str, int]]
    floods: Sequence[Flood]


def run(fault: Fault) -> Outcome:
    """Inject one fault; RobotDynamicsError if the arm does not follow its trajectory before."""
    with TemporaryDirectory() as folder:
        rig = Rig(
            Path(folder),
            network=fault.network,
            controller=fault.controller,
            plant=fault.plant,
        )
        with rig:
            rig.begin()
            note = fault.breaking(rig) or ""
            try:
                rig.await_following(fault.title, RECOVERY)
            except RobotDynamicsError:
                rig.mark("active")
                rig.mark("given_up")
            measured = figures(rig)
        return Outcome(fault.title, measured, note, rig.exits, rig.floods)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each fault that ends the control law, and further text below."""
    rows = [HEAD]
    continued = []
    for outcome in outcomes:
        f = outcome.figures
        again = "**never**" if math.isinf(f.recovery) else _seconds(f.recovery)
        error = f"{_number(1e3 * f.position_error, '.3g')}/{_number(f.velocity, '.2f')}"
        commands = _number(100.0 * f.command_share, ".0f")
        gap = _seconds(f.gap)
        if f.modes or f.recovery > 0.0:
            rows.append(
                [
                    outcome.title,
                    ", ".join(f.modes),
                    _seconds(f.safe),
                    error,
                    commands,
                    f"{gap}/{again}",
                ]
            )
        else:
            continued.append(f"{outcome.title}: {error}/{commands}/{gap}")
    notes = [f"- {x.title}: {x.note}." for x in outcomes if x.note]
    floods = [flood for outcome in outcomes for flood in outcome.floods]
    if floods:
        rates, memory, logs = zip(*floods, strict=True)
        notes.append(
            f"- Floods: {min(rates):.0f} to {max(rates):.0f} messages or calls a second; the receiver's memory grew by "
            f"at most {max(memory):.1f} MB, its log by at most {max(logs):.1f} MB."
        )
    parts = [markdown_table(rows), "\n".join(notes)]
    if continued:
        parts += [CONTINUED, "```text", *continued, "```"]
    return "\n\n".join(filter(None, parts[:2])) + "\n".join(["", "", *parts[2:]])


def verdict(outcomes: Sequence[Outcome]) -> str:
    """Return two sentences on results that must never occur."""
    wrong = sum(outcome.figures.invalid_efforts for outcome in outcomes)
    failed = [
        f"{name} with {code} ({outcome.title})"
        for outcome in outcomes
        for name, code in outcome.exits
        if code
    ]
    return (
        f"Efforts that were not finite or beyond the limits: {wrong or 'none'}. "
        f"Processes that ended with an exit code other than 0, or by themselves: {', '.join(failed) or 'none'}."
    )


def _seconds(value: float) -> str:
    return _number(value, ".3f" if value < 1.0 else ".2f")


def _number(value: float, form: str) -> str:
    return "–" if math.isnan(value) else f"{value:{form}}"


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the results as Markdown."""
    return f"""\
Machine: {machine(("numpy",))}, {get_rmw_implementation_identifier()}. Command: `{COMMAND}`.

{verdict(outcomes)}

{table(outcomes)}
"""


def main() -> None:
    """Run from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument(
        "words",
        nargs="*",
        help="only faults whose title contains one of these (default: all)",
    )
    parser.add_argument("--list", action="store_true", help="list the faults")
    options = parser.parse_args()
    chosen = [
        fault
        for fault in FAULTS
        if not options.words or any(word in fault.title for word in options.words)
    ]
    if not chosen:
        parser.error("no such fault. Cure: see --list")
    if options.list:
        print("\n".join(fault.title for fault in chosen))
        return

    def outcomes() -> str:
        return report([run(fault) for fault in tqdm(chosen, leave=False)])

    print_report(options, outcomes, PART, complete=not options.words, quiet=QUIET)


if __name__ == "__main__":
    main()
