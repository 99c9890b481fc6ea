"""Breaks plant, controller, recorder and the network between them, and measures what the arm does.

``python -m tools.chaos`` prints the table of docs/reliability.md, ``--write docs/reliability.md`` puts it there.
Each fault gets processes of its own, so that none suffers from the one before.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rclpy.utilities import get_rmw_implementation_identifier
from tqdm import tqdm

from benchmarks.document import around_part, replace_part
from benchmarks.machine import machine
from robot_dynamics_ros.errors import RobotDynamicsError
from tools.chaos.faults import FAULTS, Fault
from tools.chaos.figures import figures
from tools.chaos.rig import Rig
from tools.chaos.table import Outcome, table, verdict

COMMAND = "python -m tools.chaos"
PART = "make chaos"
QUIET = 1.0  # load average before the run
RECOVERY = 30.0  # s, after which the arm is given up


def run(fault: Fault) -> Outcome:
    """Let one fault happen; RobotDynamicsError where the arm does not follow its trajectory before."""
    with TemporaryDirectory() as folder:
        rig = Rig(Path(folder), network=fault.network, controller=fault.controller, plant=fault.plant)
        with rig:
            rig.begin()
            note = fault.breaking(rig)
            try:
                rig.await_following(fault.title, RECOVERY)
            except RobotDynamicsError:
                rig.mark("active")
                rig.mark("given_up")
            measured = figures(rig)
        return Outcome(fault.title, measured, note, rig.exits)


def report(outcomes: Sequence[Outcome]) -> str:
    """Everything that was measured, as Markdown."""
    return f"""\
Machine: {machine(("numpy",))}, {get_rmw_implementation_identifier()}. Command: `{COMMAND}`.

{verdict(outcomes)}

{table(outcomes)}
"""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only faults whose title has one of these (default: all)")
    parser.add_argument("--list", action="store_true", help="say what there is")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this Markdown file, too")
    options = parser.parse_args(arguments)
    chosen = [fault for fault in FAULTS if not options.words or any(word in fault.title for word in options.words)]
    if not chosen:
        parser.error("no such fault. Cure: see --list")
    if options.list:
        print("\n".join(fault.title for fault in chosen))
        return
    if options.write:
        if options.words:
            parser.error("--write takes all faults. Cure: leave out the words")
        around_part(options.write, PART)
    if os.getloadavg()[0] > QUIET:
        print("Other programs have just been running: times are theirs, too. Cure: wait, then repeat", file=sys.stderr)
    try:
        outcomes = [run(fault) for fault in tqdm(chosen, leave=False)]
    except RobotDynamicsError as problem:
        raise SystemExit(str(problem)) from None
    text = report(outcomes)
    print(text)
    if options.write:
        replace_part(options.write, PART, text)


if __name__ == "__main__":
    main()
