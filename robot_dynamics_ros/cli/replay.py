"""robot_dynamics replay: the controller once more, on a recording."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags import read_configuration
from robot_dynamics_ros.bags.reader import BagReader
from robot_dynamics_ros.cli.arguments import (
    add_bag,
    add_output,
    add_rename,
    add_robot,
    check_output,
    configuration,
    configured_model,
    configured_source,
    new_bag,
    recorded_robot,
    renaming,
)
from robot_dynamics_ros.cli.robot_source import RobotSource
from robot_dynamics_ros.control import parameters as controller
from robot_dynamics_ros.control.parameters import read_settings
from robot_dynamics_ros.offline.replay import INPUTS, Replay, command_topic, replay
from robot_dynamics_ros.parameters.file import read_parameter_file
from robot_dynamics_ros.parameters.kinds import Values
from robot_dynamics_ros.parameters.robot import ROBOT_DESCRIPTION


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "replay",
        help="feed a recording to the controller, and record what it commands",
        description="Feeds joint states and trajectories of a bag to the controller of computed_torque_node, without "
        "ROS and as fast as it can, and writes command_states and faults (/diagnostics) to a new bag, with the "
        "recording's own time. The same input gives the same bytes.",
    )
    add_bag(parser)
    add_output(parser, "-o", "--output", required=True, metavar="BAG", help="folder of the new bag")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the controller's parameter file (default: the parameters that the bag carries, else every default)",
    )
    add_robot(parser)
    parser.add_argument(
        "--topic",
        type=_mapping,
        nargs="+",
        default=[],
        metavar="NAME=TOPIC",
        help=f"the bag's topics for {', '.join(INPUTS)} and command_states (default: the only one of that name)",
    )
    add_rename(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Replay, and say what came out; raises RobotDynamicsError for what cannot be."""
    check_output(arguments, arguments.output, bag=True)
    topics = dict(arguments.topic)
    with BagReader(arguments.bag) as reader:
        node = command_topic(reader, topics.get("command_states")).rsplit("/", 1)[0]
    found = None if arguments.config is not None else read_configuration(arguments.bag, f"{node}/")
    if found is not None:
        values: Values = found[1].values
        origin = f"{arguments.bag}: {found[0]}"
    else:
        values = read_parameter_file(arguments.config, node, controller.ALL)
        origin = arguments.config or "defaults"
    source = configured_source(arguments, _source(arguments, values, node), values)
    model = configured_model(arguments, source, values)
    print(f"note: robot: {source}; parameters: {origin}", file=sys.stderr)
    begin = time.monotonic()
    with new_bag(arguments.output) as output:
        result = replay(
            arguments.bag,
            output,
            model,
            read_settings(values),
            topics=topics,
            rename=renaming(arguments),
            activation_check=controller.ACTIVATION_CHECK.read(values),
            configuration=configuration(arguments, source, values),
        )
    print(summary(result, time.monotonic() - begin, arguments.output))


def _source(arguments: argparse.Namespace, values: Values, node: str) -> RobotSource:
    """Return the robot of the command line, else of the parameter file, else of the bag."""
    description = ROBOT_DESCRIPTION.read(values)
    if arguments.robot is not None or not description:
        return recorded_robot(arguments, arguments.bag, f"{node}/")
    dynamics = None if arguments.dynamics in (None, "none") else arguments.dynamics
    return RobotSource(f"{arguments.config}: {ROBOT_DESCRIPTION.name}", description, dynamics)


def summary(result: Replay, seconds: float, output: Path | None) -> str:
    """Return what a controller did, after so many seconds of waiting for it, and where the bag is."""
    modes = [f"{change.after.value} ({change.fault.message})" for change in result.transitions]
    lines = [
        f"{result.states} joint_states, {result.commands} commands, {len(modes)} changes of mode, {seconds:.1f} s",
        *(f"  {mode}" for mode in modes[:10]),
    ]
    if len(modes) > 10:
        lines.append(f"  and {len(modes) - 10} more, on /diagnostics in the bag")
    lines += [f"  effort limit of {joint}: cut {count} commands" for joint, count in result.saturated.items()]
    if output is not None:
        lines.append(f"bag: {output}")
    return "\n".join(lines)


def _mapping(text: str) -> tuple[str, str]:
    name, equals, topic = text.partition("=")
    if not equals or not topic or name not in {*INPUTS, "command_states"}:
        known = ", ".join([*INPUTS, "command_states"])
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=TOPIC, with one of {known}")
    return name, topic
