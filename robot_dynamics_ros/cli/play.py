"""robot_dynamics play: a bag over DDS, as it was recorded."""

from __future__ import annotations

import argparse
from typing import Any

from robot_dynamics_ros.cli.arguments import add_bag
from robot_dynamics_ros.cli.node_command import become_node


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "play",
        help="publish a bag's messages in the rhythm in which they were recorded",
        description="Publishes the messages of a bag, byte for byte, in the rhythm in which they arrived, and ends. "
        "It plays what `ros2 bag play` does, and bags that are damaged or not finished besides.",
    )
    add_bag(parser)
    parser.add_argument("--rate", type=float, default=1.0, help="times faster than recorded (default: %(default)g)")
    parser.add_argument(
        "--topics", nargs="+", default=[], metavar="TOPIC", help="default: all whose message type is installed"
    )
    parser.add_argument(
        "--wait-for", nargs="+", default=[], metavar="NODE", help="nodes that must listen before it begins"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Become player_node; RobotDynamicsError where ROS 2 is not there."""
    parameters: dict[str, Any] = {"input": str(arguments.bag), "rate": arguments.rate}
    parameters |= {"topics": arguments.topics} if arguments.topics else {}
    parameters |= {"listeners": arguments.wait_for} if arguments.wait_for else {}
    become_node("player_node", parameters)
