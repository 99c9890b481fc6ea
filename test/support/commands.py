"""Subcommands of robot_dynamics in this process; their errors are raised."""

import argparse

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
)

MODULES = (compare, demo, excite, identify, inspect, play, record, replay, report, simulate, torque, view)


def parse(*line: object) -> argparse.Namespace:
    """Parse a command line, which begins with the subcommand."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for module in MODULES:
        module.add_parser(commands)
    return parser.parse_args([*map(str, line)])


def run(*line: object) -> int:
    """Run a command line; return the exit code."""
    arguments = parse(*line)
    return int(arguments.run(arguments) or 0)
