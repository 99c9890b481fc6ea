"""Fault injection into plant, controller, recorder and network, and measurement of the arm's reaction.

``python -m tools.chaos`` prints the table of docs/reliability.md; ``--write docs/reliability.md`` updates it. Each
fault has processes of its own, so that faults do not affect each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rclpy.utilities import get_rmw_implementation_identifier
from tqdm import tqdm

from benchmarks.document import machine, print_report, report_parser
from robot_dynamics_ros.base.errors import RobotDynamicsError
from tools.chaos.faults import FAULTS, Fault
from tools.chaos.figures import figures
from tools.chaos.rig import Rig
from tools.chaos.table import Outcome, table, verdict

COMMAND = "python -m tools.chaos"
PART = "make chaos"
QUIET = 1.0  # load average before the run
RECOVERY = 30.0  # s, limit of the recovery


def run(fault: Fault) -> Outcome:
    """Inject one fault; RobotDynamicsError if the arm does not follow its trajectory before."""
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
    """Return the results as Markdown."""
    return f"""\
Machine: {machine(("numpy",))}, {get_rmw_implementation_identifier()}. Command: `{COMMAND}`.

{verdict(outcomes)}

{table(outcomes)}
"""


def main() -> None:
    """Run from the command line."""
    parser = report_parser(COMMAND, __doc__)
    parser.add_argument("words", nargs="*", help="only faults whose title contains one of these (default: all)")
    parser.add_argument("--list", action="store_true", help="list the faults")
    options = parser.parse_args()
    chosen = [fault for fault in FAULTS if not options.words or any(word in fault.title for word in options.words)]
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
