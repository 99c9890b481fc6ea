"""robot_dynamics record: topics into an MCAP bag."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from robot_dynamics_ros.cli.node_command import become_node, require_ros
from robot_dynamics_ros.errors import RobotDynamicsError


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "record",
        help="record topics to an MCAP bag",
        description="Waits until every topic is there, then records each message, byte for byte, until Ctrl-C.",
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="BAG", help="folder of the new bag")
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Become recorder_node; RobotDynamicsError where ROS 2 is not there, or the bag's folder is."""
    require_ros()
    if os.path.lexists(arguments.output):  # the node checks it too, but later
        raise RobotDynamicsError(f"{arguments.output}: it exists. Cure: name another folder")
    become_node("recorder_node", {"output": str(arguments.output), "topics": arguments.topics, "report": "line"})
