"""robot_dynamics record, play, compare and report: bags recorded, played, compared, and shown as a page."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from robot_dynamics_ros.bags import read_joint_names
from robot_dynamics_ros.bags.comparison import Comparison, compare_bags, write_junit
from robot_dynamics_ros.cli.command_line import (
    add_bag,
    add_joint_states,
    add_output,
    add_rename,
    check_output,
    joint_state_topic,
)
from robot_dynamics_ros.cli.processes import become_node, require_ros
from robot_dynamics_ros.cli.robot_source import add_robot, load_robot
from robot_dynamics_ros.errors import BagError, RobotDynamicsError
from robot_dynamics_ros.model import RobotModel

_MATCH, _DIFFERENT, _IMPOSSIBLE = 0, 1, 2  # exit codes of compare


def add_record(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = "Waits until every topic is there, then records each message, byte for byte, until Ctrl-C."
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="BAG", help="folder of the new bag")
    parser.add_argument("topics", nargs="+", metavar="TOPIC")


def run_record(arguments: argparse.Namespace) -> None:
    """Become recorder_node; RobotDynamicsError if ROS 2 is not installed, or the bag's folder exists."""
    require_ros()
    if os.path.lexists(arguments.output):  # the node checks it too, but later
        raise RobotDynamicsError(f"{arguments.output}: it exists. Cure: name another folder")
    become_node("recorder_node", {"output": str(arguments.output), "topics": arguments.topics, "report": "line"})


def add_play(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Publishes the messages of a bag, byte for byte, in the rhythm in which they arrived, and ends. "
        "It plays what `ros2 bag play` does, and bags that are damaged or not finished besides."
    )
    add_bag(parser)
    parser.add_argument("--rate", type=float, default=1.0, help="times faster than recorded (default: %(default)g)")
    parser.add_argument(
        "--topics", nargs="+", default=[], metavar="TOPIC", help="default: all whose message type is installed"
    )
    parser.add_argument(
        "--wait-for", nargs="+", default=[], metavar="NODE", help="nodes that must listen before it begins"
    )


def run_play(arguments: argparse.Namespace) -> None:
    """Become player_node; RobotDynamicsError if ROS 2 is not installed."""
    parameters: dict[str, object] = {"input": str(arguments.bag), "rate": arguments.rate}
    parameters |= {"topics": arguments.topics} if arguments.topics else {}
    parameters |= {"listeners": arguments.wait_for} if arguments.wait_for else {}
    become_node("player_node", parameters)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Compares two bags topic by topic and joint by joint, aligned by the stamps of the messages. Two "
        "numbers agree where |a - b| <= atol + rtol |b|. Exit code 0: the bags match, 1: they differ, 2: they "
        "cannot be compared."
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


def run_compare(arguments: argparse.Namespace) -> int:
    """Compare the bags, print the differences, and return the exit code."""
    begin = time.monotonic()
    outcome: Comparison | BagError
    try:
        check_output(arguments, arguments.junit)
        try:
            tolerances = arguments.atol, arguments.rtol
            rename = dict(arguments.rename)
            outcome = compare_bags(arguments.a, arguments.b, arguments.topics, *tolerances, rename, arguments.common)
        except BagError as error:  # is in the JUnit file too, for CI
            print(f"robot_dynamics: {error}", file=sys.stderr)
            outcome = error
        if arguments.junit is not None:
            write_junit(outcome, arguments.junit, time.monotonic() - begin, overwrite=arguments.overwrite)
    except RobotDynamicsError as error:
        print(f"robot_dynamics: {error}", file=sys.stderr)
        return _IMPOSSIBLE
    except KeyboardInterrupt:  # not to be taken for a match
        print("interrupted: nothing is known of the bags", file=sys.stderr)
        return _IMPOSSIBLE
    if isinstance(outcome, BagError):
        return _IMPOSSIBLE
    print(outcome)
    return _MATCH if outcome.matches else _DIFFERENT


def add_report(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Writes what a bag holds as one HTML page with interactive plots, which opens without network. "
        "What the bag does not have is said there."
    )
    add_bag(parser)
    add_output(parser, "-o", "--output", default=Path("report.html"), help="file (default: %(default)s)")
    add_joint_states(parser)
    add_robot(parser)


def run_report(arguments: argparse.Namespace) -> None:
    """Write the report; RobotDynamicsError for a bag or a robot that cannot be read."""
    from robot_dynamics_ros.report import read_recording, write_report  # slow to load: not for record and play

    check_output(arguments, arguments.output)
    topic = joint_state_topic(arguments.bag, arguments.topic)
    rename = dict(arguments.rename)
    names = read_joint_names(arguments.bag, topic, rename)
    model: RobotModel | None = None
    try:
        model, reason = load_robot(arguments, names, arguments.bag), ""
    except RobotDynamicsError as error:
        if arguments.robot is not None:
            raise
        reason = str(error)
    recording = read_recording(arguments.bag, topic, model=model, rename=rename, no_model=reason)
    write_report(recording, arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")
