"""robot_dynamics report: a recording as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from robot_dynamics_ros.bags import read_joint_names
from robot_dynamics_ros.cli.arguments import (
    add_bag,
    add_joint_states,
    add_output,
    add_robot,
    check_output,
    joint_state_topic,
    load_robot,
    renaming,
)
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model import RobotModel


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "report",
        help="a bag as one HTML page: tracking, torque, timing, faults",
        description="Writes what a bag holds as one HTML page with interactive plots, which opens without network. "
        "What the bag does not have is said there.",
    )
    add_bag(parser)
    add_output(parser, "-o", "--output", default=Path("report.html"), help="file (default: %(default)s)")
    add_joint_states(parser)
    add_robot(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the report; raises RobotDynamicsError for a bag or a robot that cannot be read."""
    from robot_dynamics_ros.report import read_recording, write_report

    check_output(arguments, arguments.output)
    topic = joint_state_topic(arguments.bag, arguments.topic)
    model, why = _model(arguments, topic)
    recording = read_recording(arguments.bag, topic, model=model, rename=renaming(arguments), no_model=why)
    write_report(recording, arguments.output, overwrite=arguments.overwrite)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")


def _model(arguments: argparse.Namespace, topic: str) -> tuple[RobotModel | None, str]:
    """Return the robot of --robot or of the bag, or why there is none; what --robot says must be usable."""
    names = read_joint_names(arguments.bag, topic, renaming(arguments))
    try:
        return load_robot(arguments, names, arguments.bag), ""
    except RobotDynamicsError as problem:
        if arguments.robot is not None:
            raise
        return None, str(problem)
