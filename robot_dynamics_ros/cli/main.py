"""The robot_dynamics command: one subcommand for each thing that a user does without a launch file."""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from robot_dynamics_ros import __version__
from robot_dynamics_ros.background import exit_process
from robot_dynamics_ros.errors import RobotDynamicsError

COMMANDS = {
    "demo": ("demo", "compare control laws on a simulated arm, over real DDS"),
    "inspect": ("inspect", "show what a robot's model holds and lacks, and its equations of motion"),
    "simulate": ("offline", "let the controller move a simulated arm, without ROS, as fast as it can"),
    "torque": ("identification", "explain a bag's measured effort by the model, and hint at what is wrong"),
    "replay": ("offline", "feed a recording to the controller, and record what it commands"),
    "compare": ("bags", "compare two bags, message by message"),
    "report": ("bags", "a bag as one HTML page: tracking, torque, timing, faults"),
    "view": ("bags", "show a robot in a browser: its pose, a recording, or live"),
    "identify": ("identification", "find inertias and friction from bags, as a dynamics file"),
    "excite": ("identification", "find a trajectory that excites a robot for identification"),
    "play": ("bags", "publish a bag's messages in the rhythm in which they were recorded"),
    "record": ("bags", "record topics to an MCAP bag"),
    "warm-up": ("warm_up", "compile the dynamics kernels ahead of the first start"),
}
"""Module and summary of each subcommand; the module defines add_<command> (arguments) and run_<command> (action)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; an error of this package is one line on stderr and exit code 1."""
    line = sys.argv[1:] if argv is None else argv
    chosen = next((word for word in line if word in COMMANDS), "")
    arguments = command_parser(chosen).parse_args(line)
    warnings.formatwarning = lambda message, *_: f"warning: {message}\n"  # to the user, without a place in the code
    # SIGTERM unwinds like Ctrl-C, so that no child process is left behind.
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT too: shells start background jobs with it ignored
        signal.signal(number, signal.default_int_handler)
    try:
        return arguments.run(arguments) or 0
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)  # for good: the interpreter takes a while to end
        print("\ninterrupted", file=sys.stderr)
        exit_process(128 + signal.SIGINT)  # not to be taken for a success
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has closed it, as head does
        exit_process(128 + signal.SIGPIPE)  # as a program that does not catch it


def command_parser(chosen: str) -> argparse.ArgumentParser:
    """Return the parser in which the chosen subcommand is complete, so that only its module is loaded."""
    parser = argparse.ArgumentParser(prog="robot_dynamics", description=__doc__.split(":")[0])
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module_name, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if name == chosen:
            module, suffix = import_module(f"robot_dynamics_ros.cli.{module_name}"), name.replace("-", "_")
            getattr(module, f"add_{suffix}")(command)
            command.set_defaults(run=getattr(module, f"run_{suffix}"))
    return parser


if __name__ == "__main__":
    sys.exit(main())
