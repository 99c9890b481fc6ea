"""robot_dynamics replay: the node's controller without ROS, on a recording.

``run_replay`` takes the parsed arguments that ``add_replay`` declares.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from robot_dynamics_ros.base.errors import did_you_mean, note
from robot_dynamics_ros.cli.command_line import (
    add_bag,
    add_bag_output,
    add_list,
    add_rename,
    add_robot,
    check_output,
    new_bag,
    pair,
)
from robot_dynamics_ros.cli.named_robots import named_robot
from robot_dynamics_ros.control.configuration.settings import (
    NodeSettings,
    read_settings,
)
from robot_dynamics_ros.recordings.bags.comparison import missed_trajectory
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.runs.inputs import INPUTS
from robot_dynamics_ros.runs.recorded_setup import configuration_of, controller_setup
from robot_dynamics_ros.runs.recorder import Replay
from robot_dynamics_ros.runs.replay import commands_of, replay

_TOPICS = (*INPUTS, "command_states")


def add_replay(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Run the controller of computed_torque_node on the joint states and trajectories of a bag, without ROS and as "
        "fast as possible. Writes command_states, for drives with a loop of their own also drive_commands, and faults "
        "(/diagnostics) to a new bag, with the times of the recording. The same input gives the same bytes."
    )
    add_bag(parser)
    add_bag_output(parser)
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the controller's parameter file (default: the parameters in the bag, else the defaults)",
    )
    add_robot(parser)
    add_list(
        parser,
        "--topic",
        "NAME=TOPIC",
        f"the bag's topics for {', '.join(INPUTS)} and command_states (default: the only topic of that name)",
        _topic,
    )
    add_rename(parser)


def _topic(text: str) -> tuple[str, str]:
    name, topic = pair(text, "NAME=TOPIC")
    if name not in _TOPICS or not topic:
        cure = f"use one of {', '.join(_TOPICS)} as NAME{did_you_mean(name, _TOPICS)}"
        raise ArgumentTypeError(f"{text!r} is not of the form NAME=TOPIC. Cure: {cure}")
    return name, topic


def run_replay(arguments: Namespace) -> None:
    """Replay the bag of ``arguments`` to a new bag and print a summary.

    Raises RobotDynamicsError for a bag, robot or parameter file that cannot be read or used, and as
    ``check_output``.
    """
    check_output(arguments, arguments.output, kind="bag")
    topics = dict(arguments.topic)
    with BagReader(arguments.bag) as bag:
        commands = commands_of(bag, topics.get("command_states"))
        node = commands.rsplit("/", 1)[0]
        setup = controller_setup(
            bag,
            node,
            arguments.config,
            None if arguments.robot is None else named_robot(arguments),
            arguments.dynamics,
            arguments.gravity,
        )
        model = setup.model
        note(f"robot: {setup.robot}; parameters: {setup.origin}")
        begin = time.monotonic()
        with new_bag(arguments.output) as output:
            result = replay(
                bag,
                output,
                model,
                read_settings(setup.parameters),
                topics=topics,
                rename=dict(arguments.rename),
                activation_check=NodeSettings.read(setup.parameters).activation_check,
                configuration=configuration_of(setup.robot, setup.parameters),
            )
            with BagReader(output) as replayed:
                for text in missed_trajectory(bag, replayed, commands):
                    note(text)
    print(summary(result, time.monotonic() - begin, arguments.output))


def summary(result: Replay, seconds: float, output: Path | None) -> str:
    """Return lines with counts of messages, changes of mode and cut efforts, real time, and the path of the bag.

    ``seconds`` is the real time (s) of the run. ``output`` is the path to name, None for none.
    """
    lines = [
        f"{result.states} joint_states, {result.commands} commands, {len(result.transitions)} changes of mode, "
        f"{seconds:.1f} s"
    ]
    lines += [
        f"  effort limit of {joint}: cut {count} commands"
        for joint, count in result.saturated.items()
    ]
    if output is not None:
        lines.append(f"bag: {output}")
    return "\n".join(lines)
