"""robot_dynamics compare: do two recordings say the same, and where do they not."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags.comparison import compare_bags, write_junit
from robot_dynamics_ros.cli.arguments import add_output, add_rename, check_output, renaming
from robot_dynamics_ros.errors import BagError, RobotDynamicsError

MATCH, DIFFERENT, IMPOSSIBLE = 0, 1, 2
"""Exit codes."""


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "compare",
        help="compare two bags, message by message",
        description="Compares two bags topic by topic and joint by joint, aligned by the stamps of the messages. Two "
        "numbers agree where |a - b| <= atol + rtol |b|. Exit code 0: the bags match, 1: they differ, 2: they "
        "cannot be compared.",
    )
    for name in ("a", "b"):
        parser.add_argument(name, type=Path, metavar=name.upper(), help="a bag's folder, or one of its files")
    parser.add_argument("--topics", nargs="+", metavar="TOPIC", help="what to compare (default: all)")
    parser.add_argument("--atol", type=float, default=0.0, help="absolute tolerance, SI (default: %(default)g)")
    parser.add_argument("--rtol", type=float, default=0.0, help="relative tolerance (default: %(default)g)")
    parser.add_argument(
        "--common",
        action="store_true",
        help="compare the topics and messages that both have, as with a live recording, which lacks some at its ends; "
        "the others are counted",
    )
    add_rename(parser)
    add_output(parser, "--junit", metavar="FILE", help="write JUnit XML: a test case for each topic")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare the bags, print what differs, and return the exit code."""
    begin = time.monotonic()
    try:
        if arguments.junit is not None:
            check_output(arguments, arguments.junit)
    except RobotDynamicsError as problem:
        print(f"robot_dynamics: {problem}", file=sys.stderr)
        return IMPOSSIBLE
    try:
        found = compare_bags(
            arguments.a,
            arguments.b,
            arguments.topics,
            arguments.atol,
            arguments.rtol,
            renaming(arguments),
            arguments.common,
        )
        if arguments.junit is not None:
            write_junit(found, arguments.junit, time.monotonic() - begin, overwrite=arguments.overwrite)
    except BagError as problem:
        print(f"robot_dynamics: {problem}", file=sys.stderr)
        _write_error(problem, arguments, time.monotonic() - begin)
        return IMPOSSIBLE
    except KeyboardInterrupt:  # not to be taken for a match
        print("interrupted: nothing is known of the bags", file=sys.stderr)
        return IMPOSSIBLE
    print(found)
    return MATCH if found.matches else DIFFERENT


def _write_error(problem: BagError, arguments: argparse.Namespace, seconds: float) -> None:
    """Let CI show why there is no comparison, where a file can be written at all."""
    if arguments.junit is not None:
        try:
            write_junit(problem, arguments.junit, seconds, overwrite=arguments.overwrite)
        except BagError as another:
            print(f"robot_dynamics: {another}", file=sys.stderr)
