"""robot_dynamics replay: the node's controller without ROS, on a recording.

``run_replay`` takes the parsed arguments that ``add_replay`` declares. ``Values`` is a function that returns the value
of a ROS parameter by its name.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from robot_dynamics_ros.base.errors import did_you_mean
from robot_dynamics_ros.base.parameters import (
    DYNAMICS_FILE,
    JOINTS,
    LOCKED,
    ROBOT_DESCRIPTION,
)
from robot_dynamics_ros.base.parameters.file import read_parameter_file
from robot_dynamics_ros.base.parameters.kinds import Values, overridden
from robot_dynamics_ros.base.resources import dynamics_file
from robot_dynamics_ros.cli.command_line import (
    add_bag,
    add_output,
    add_rename,
    check_output,
    new_bag,
    pair,
)
from robot_dynamics_ros.cli.robot_source import RobotSource, add_robot, recorded_robot
from robot_dynamics_ros.control.configuration import parameters as controller
from robot_dynamics_ros.control.configuration.parameters import Configuration
from robot_dynamics_ros.control.configuration.settings import (
    read_settings as controller_settings,
)
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import read_configuration
from robot_dynamics_ros.recordings.bags.reader import BagReader
from robot_dynamics_ros.recordings.messages.inputs import INPUTS
from robot_dynamics_ros.runs.recorder import Replay
from robot_dynamics_ros.runs.replay import commands_of, replay

_TOPICS = (*INPUTS, "command_states")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Run the controller of computed_torque_node on the joint states and trajectories of a bag, without ROS and as "
        "fast as possible, and write command_states and faults (/diagnostics) to a new bag, with the times of the "
        "recording. The same input gives the same bytes."
    )
    add_bag(parser)
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="BAG",
        help="folder of the new bag",
    )
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="the controller's parameter file (default: the parameters in the bag, else the defaults)",
    )
    add_robot(parser)
    parser.add_argument(
        "--topic",
        type=_topic,
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=TOPIC",
        help=f"the bag's topics for {', '.join(INPUTS)} and command_states (default: the only topic of that name)",
    )
    add_rename(parser)


def _topic(text: str) -> tuple[str, str]:
    name, topic = pair(text, "NAME=TOPIC")
    if name not in _TOPICS or not topic:
        cure = f"use one of {', '.join(_TOPICS)} as NAME{did_you_mean(name, _TOPICS)}"
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form NAME=TOPIC. Cure: {cure}"
        )
    return name, topic


def run_replay(arguments: argparse.Namespace) -> None:
    """Replay the bag of ``arguments`` to a new bag and print a summary.

    Raises RobotDynamicsError for an unusable bag, robot, parameter or output.
    """
    check_output(arguments, arguments.output, bag=True)
    topics = dict(arguments.topic)
    with BagReader(arguments.bag) as reader:
        node = commands_of(reader, topics.get("command_states")).rsplit("/", 1)[0]
    recorded = (
        None
        if arguments.config is not None
        else read_configuration(arguments.bag, f"{node}/")
    )
    if recorded is not None:
        values: Values = recorded[1].values
        origin = f"{arguments.bag}: {recorded[0]}"
    else:
        values = read_parameter_file(arguments.config, node, controller.ALL)
        origin = arguments.config or "defaults"
    description = ROBOT_DESCRIPTION.read(values)
    if arguments.robot is not None or not description:
        source = recorded_robot(arguments, arguments.bag, f"{node}/")
    else:
        dynamics = dynamics_file(arguments.dynamics)
        source = RobotSource(
            f"{arguments.config}: {ROBOT_DESCRIPTION.name}", description, dynamics
        )
    source, values, model = controller_model(arguments, source, values)
    print(f"note: robot: {source}; parameters: {origin}", file=sys.stderr)
    begin = time.monotonic()
    with new_bag(arguments.output) as output:
        result = replay(
            arguments.bag,
            output,
            model,
            controller_settings(values),
            topics=topics,
            rename=dict(arguments.rename),
            activation_check=controller.ACTIVATION_CHECK.read(values),
            configuration=configuration_of(source, values),
        )
    print(summary(result, time.monotonic() - begin, arguments.output))


def controller_model(
    arguments: argparse.Namespace, source: RobotSource, values: Values
) -> tuple[RobotSource, Values, RobotModel]:
    """Return the controller's robot, parameters and model, with the command line's --dynamics and --gravity if given.

    Without --dynamics the parameter dynamics_file, if set, replaces the dynamics file of ``source``. The parameters
    gravity, joints and locked are applied. Raises RobotModelError for an invalid robot.
    """
    if arguments.dynamics is None:
        source = replace(source, dynamics=DYNAMICS_FILE.read(values) or source.dynamics)
    values = overridden(values, {controller.GRAVITY.name: arguments.gravity})
    model = source.model(
        gravity=controller.GRAVITY.read(values) or None,
        joints=JOINTS.read(values) or None,
        locked=LOCKED.read(values),
    )
    return source, values, model


def configuration_of(source: RobotSource, values: Values) -> Configuration:
    """Return the content of ~/configuration for a controller: its parameters, URDF and dynamics file.

    Raises RobotModelError if the dynamics file cannot be read, and RobotDynamicsError for an invalid parameter.
    """
    text = (
        source.text
        if isinstance(source.text, str)
        else source.text.decode(errors="replace")
    )
    return Configuration.of(values, text, source.dynamics_content())


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
