"""Subcommands of robot_dynamics in this process; their errors are raised."""

import argparse
from importlib import import_module


def parse(command: str, *arguments: object) -> argparse.Namespace:
    """Parse the command line of a subcommand."""
    parser = argparse.ArgumentParser()
    import_module(f"robot_dynamics_ros.cli.{command}").add_parser(parser.add_subparsers())
    return parser.parse_args([command, *map(str, arguments)])


def run(command: str, *arguments: object) -> int:
    """Run a subcommand; return the exit code."""
    parsed = parse(command, *arguments)
    return int(parsed.run(parsed) or 0)
