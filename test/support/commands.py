"""Subcommands of robot_dynamics in this process; their errors are raised."""

import argparse

from robot_dynamics_ros.cli.main import command_parser


def parse(command: str, *arguments: object) -> argparse.Namespace:
    """Parse the command line of a subcommand."""
    return command_parser(command).parse_args([command, *map(str, arguments)])


def run(command: str, *arguments: object) -> int:
    """Run a subcommand; return the exit code."""
    parsed = parse(command, *arguments)
    return int(parsed.run(parsed) or 0)
