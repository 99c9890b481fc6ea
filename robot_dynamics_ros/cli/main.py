"""Entry point of the robot_dynamics command."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from typing import Any, NoReturn, TextIO, cast

from robot_dynamics_ros import __version__
from robot_dynamics_ros.base.background import exit_process
from robot_dynamics_ros.base.errors import RobotDynamicsError, did_you_mean, printable

GROUPS: dict[str, dict[str, tuple[str, str, str]]] = {
    "robots and simulation": {
        "demo": (
            "law_comparison",
            "compare control laws on a simulated arm",
            "--robot panda",
        ),
        "inspect": (
            "inspect",
            "print a robot's model: joints, limits, masses, friction, equations",
            "planar_2r --state 0 0.5",
        ),
        "view": (
            "bags",
            "show a robot in a browser: a pose, recordings, or live",
            "panda my_bag",
        ),
        "simulate": (
            "law_comparison",
            "simulate controller and arm in one process, without ROS",
            "panda --law pd -o my_bag",
        ),
    },
    "bags": {
        "import": (
            "import_table",
            "convert a recording in a text, MAT or NPZ file to a bag",
            "arm.csv -o imported",
        ),
        "replay": (
            "offline",
            "replay a recording to the controller, without ROS",
            "my_bag -o replayed --robot panda",
        ),
        "compare": (
            "bags",
            "compare two bags, message by message",
            "my_bag replayed --common",
        ),
        "report": (
            "bags",
            "write a bag as an HTML page: tracking, torque, timing, faults",
            "my_bag -o report.html",
        ),
        "play": (
            "bags",
            "publish the messages of a bag with their recorded timing",
            "my_bag --rate 2",
        ),
        "record": (
            "bags",
            "record topics to an MCAP bag",
            "-o my_bag joint_states computed_torque_node/command_states",
        ),
    },
    "model and measurement": {
        "torque": (
            "torque",
            "compare a bag's measured effort with the model",
            "my_bag --robot panda",
        ),
        "identify": (
            "identification",
            "identify inertias and friction from bags",
            "my_bag -o my_robot.dynamics.yaml",
        ),
        "payload": (
            "payload",
            "identify a payload, or the drive gains, from bags without and with it",
            "my_bag tool_bag --robot panda --link panda_link8",
        ),
        "sag": (
            "sag",
            "explain why an arm sags, from poses that it approaches from both sides",
            "poses_bag --robot panda",
        ),
        "excite": (
            "excite",
            "compute an exciting trajectory for identification",
            "--robot panda -o excite.yaml",
        ),
        "from-dh": (
            "conversion",
            "write a URDF from a table of Denavit-Hartenberg parameters",
            "craig_rp -o arm.urdf",
        ),
        "to-joints": (
            "conversion",
            "convert a path of the end effector to a joint trajectory",
            "ur5e path.yaml -o q.yaml",
        ),
        "export": (
            "conversion",
            "write a robot's dynamics as C, with a C++ header and a self-test",
            "panda -o panda_c",
        ),
    },
    "nodes": {
        "node": (
            "node",
            "clear faults, set parameters, activate: a running node, without ros2",
            "set law pd",
        ),
    },
    "installation": {
        "warm-up": (
            "kernel_cache",
            "compile the dynamics kernels before the first start",
            "panda",
        ),
    },
}
"""Module, summary and example of each subcommand, by the heading of its group and its name.

The module defines add_<command> and run_<command>.
"""

COMMANDS = {
    name: command for group in GROUPS.values() for name, command in group.items()
}
"""The subcommands of all groups."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the subcommand of ``argv`` (default: sys.argv[1:]) and return its exit code.

    An error of this package is printed to stderr, and the exit code is 1. Wrong usage raises SystemExit with code 2.
    Ctrl-C and SIGTERM end the process with code 130, a closed pipe with 141. The signal handlers stay changed.
    """
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for the words that can follow
        import argcomplete

        argcomplete.autocomplete(
            command_parser(_command(os.environ["COMP_LINE"].split()))
        )
    line = sys.argv[1:] if argv is None else argv
    with (
        redirect_stdout(cast(TextIO, _Terminal(sys.stdout))),
        redirect_stderr(cast(TextIO, _Terminal(sys.stderr))),
    ):
        return _run(line)


class _Terminal:
    """Text stream that writes ``printable`` text to another stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(printable(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _run(line: Sequence[str]) -> int:
    parser = command_parser(_command(line))
    if not line:
        parser.print_help()
        return 0
    if line[0] not in COMMANDS and not line[0].startswith("-"):
        parser.error(
            f"unknown command {line[0]!r}. Cure: give one of {', '.join(COMMANDS)}{did_you_mean(line[0], COMMANDS)}"
        )
    arguments = parser.parse_args(line)
    _print_warning.cache_clear()
    warnings.showwarning = lambda message, *_, **__: _print_warning(str(message))
    # SIGTERM raises KeyboardInterrupt too, so that child processes are ended.
    # background jobs of shells start with SIGINT ignored
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        return arguments.run(arguments) or 0
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            # until the process has ended, which takes the interpreter a while
            signal.signal(number, signal.SIG_IGN)
        print("\ninterrupted", file=sys.stderr)
        exit_process(128 + signal.SIGINT)
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
    except BrokenPipeError:  # the reader of a pipe, such as head, has ended
        exit_process(128 + signal.SIGPIPE)
    except OSError as error:  # of an output; errors of inputs are RobotDynamicsError
        print(
            f"robot_dynamics: {error.filename}: {error.strerror}. Cure: name another file or folder",
            file=sys.stderr,
        )
    return 1


@cache
def _print_warning(text: str) -> None:
    """Print a warning without file and line; once, though a command may read a file several times."""
    print(f"warning: {text}", file=sys.stderr)


class _Parser(ArgumentParser):
    """Parser whose errors have a cure."""

    def error(self, message: str) -> NoReturn:
        """Print usage and ``message`` with a cure, and exit with code 2."""
        if "Cure: " not in message:
            message += ". Cure: correct it"
            if any(action.nargs in ("+", "*") for action in self._actions):
                message += (
                    ", and write other arguments before options with several values"
                )
            message += f"; see {self.prog} --help"
        super().error(message)


def command_parser(chosen: str) -> ArgumentParser:
    """Return the parser of robot_dynamics, with all subcommands by name.

    Only the subcommand ``chosen``, a key of COMMANDS or "", has its arguments and, as the default ``run``, the function
    to call with the parsed arguments: thus only its module is imported.
    """
    parser = _Parser(
        prog="robot_dynamics",
        usage="%(prog)s [-h] [--version] COMMAND ...",
        description="Robot models, simulation, bags and identification from the command line.\n\n"
        "to begin with:\n  demo --view  two control laws side by side in the browser",
        epilog="\n\n".join(_listed(*group) for group in GROUPS.items()),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(
        dest="command",
        required=True,
        metavar="COMMAND",
        prog="robot_dynamics",
        help=SUPPRESS,
    )
    for name, (module_name, _, example) in COMMANDS.items():
        command = commands.add_parser(
            name, epilog=f"Example: robot_dynamics {name} {example}"
        )
        if name == chosen:
            module = import_module(f"robot_dynamics_ros.cli.commands.{module_name}")
            suffix = name.replace("-", "_")
            getattr(module, f"add_{suffix}")(command)
            command.set_defaults(run=getattr(module, f"run_{suffix}"))
    return parser


def _listed(heading: str, group: Mapping[str, tuple[str, str, str]]) -> str:
    return "\n".join(
        [
            f"{heading}:",
            *(f"  {name:<11}  {summary}" for name, (_, summary, _) in group.items()),
        ]
    )


def _command(words: Sequence[str]) -> str:
    return next((word for word in words if word in COMMANDS), "")


if __name__ == "__main__":
    sys.exit(main())
