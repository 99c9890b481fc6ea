"""The robot_dynamics command: one subcommand for each thing that a user does without a launch file."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Sequence

from robot_dynamics_ros import __version__
from robot_dynamics_ros.cli import (
    compare,
    demo,
    excite,
    identify,
    inspect,
    play,
    record,
    replay,
    report,
    simulate,
    torque,
    view,
    warm_up,
)
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; an error of this package is one line on stderr and exit code 1."""
    parser = argparse.ArgumentParser(prog="robot_dynamics", description=__doc__.split(":")[0])
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = (demo, inspect, simulate, torque, replay, compare, report, view, identify, excite, play, record, warm_up)
    for command in modules:
        command.add_parser(commands)
    arguments = parser.parse_args(argv)
    warnings.formatwarning = _one_line
    # SIGTERM unwinds like Ctrl-C, so that no child process is left behind.
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT too: shells start background jobs with it ignored
        signal.signal(number, signal.default_int_handler)
    try:
        return arguments.run(arguments) or 0
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # for good: the interpreter takes a while to end
        print("\ninterrupted", file=sys.stderr)
        leave(128 + signal.SIGINT)  # not to be taken for a success
    except RobotDynamicsError as problem:
        print(f"robot_dynamics: {problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever read it, as head does, has enough
        leave(128 + signal.SIGPIPE)  # as a program that does not catch it


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Show a warning as a message to the user, not as a place in this code."""
    return f"warning: {message}\n"


if __name__ == "__main__":
    sys.exit(main())
