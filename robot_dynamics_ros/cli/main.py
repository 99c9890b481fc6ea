"""The robot_dynamics command: one subcommand for each thing that a user does without a launch file."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module

from robot_dynamics_ros import __version__
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.interruption import leave

#: Subcommands in the order of --help, and their modules, which are loaded only for use.
COMMANDS = {
    "demo": "demo",
    "inspect": "inspect",
    "simulate": "offline",
    "torque": "identification",
    "replay": "offline",
    "compare": "bags",
    "report": "bags",
    "view": "view",
    "identify": "identification",
    "excite": "identification",
    "play": "bags",
    "record": "bags",
    "warm-up": "warm_up",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; an error of this package is one line on stderr and exit code 1."""
    line = sys.argv[1:] if argv is None else argv
    arguments = command_parser(line[:1] if line and line[0] in COMMANDS else COMMANDS).parse_args(line)
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
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has closed it, as head does
        leave(128 + signal.SIGPIPE)  # as a program that does not catch it


def command_parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """Return the parser of these subcommands, which loads their modules."""
    parser = argparse.ArgumentParser(prog="robot_dynamics", description=__doc__.split(":")[0])
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in names:
        module = import_module(f"robot_dynamics_ros.cli.{COMMANDS[name]}")
        getattr(module, f"add_{name.replace('-', '_')}")(commands)
    return parser


def _one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Show a warning as a message to the user, not as a place in this code."""
    return f"warning: {message}\n"


if __name__ == "__main__":
    sys.exit(main())
