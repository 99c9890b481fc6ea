"""robot_dynamics from-dh: a URDF from a table of Denavit-Hartenberg parameters.

``run_from_dh`` takes the parsed arguments that ``add_from_dh`` declares.
"""

from __future__ import annotations

import argparse
from functools import partial

from robot_dynamics_ros.base.resources import find_resource, textbook_arm_names
from robot_dynamics_ros.cli.command_line import add_output, check_output, pair
from robot_dynamics_ros.dynamics.description.dh_file import read_dh_file
from robot_dynamics_ros.dynamics.description.dynamics_file import parse_dynamics_file
from robot_dynamics_ros.dynamics.model import RobotModel


def add_from_dh(parser: argparse.ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Write the URDF of a robot given by Denavit-Hartenberg parameters, in the standard or in Craig's convention, "
        "and mass properties. docs/dh_tables.md has the format of the table. A table with rotors or couplings also "
        "gives a dynamics file with the name of the URDF."
    )
    names = ", ".join(textbook_arm_names())
    parser.add_argument("table", metavar="TABLE", help=f"a DH table (YAML), or a textbook arm: {names}")
    parser.add_argument(
        "--set",
        type=partial(pair, form="NAME=VALUE"),
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the table, SI units",
    )
    add_output(parser, "-o", "--output", required=True, metavar="FILE", help="the new URDF")


def run_from_dh(arguments: argparse.Namespace) -> None:
    """Write the URDF. Raise RobotDynamicsError for an invalid table, and if a file exists without --overwrite."""
    if arguments.table in textbook_arm_names():
        arguments.table = find_resource("textbook_arms", f"{arguments.table}.yaml")
    text, dynamics = read_dh_file(arguments.table, dict(arguments.set))
    files = {arguments.output: text}
    if dynamics:
        files[arguments.output.with_suffix(".dynamics.yaml")] = dynamics
    for path in files:
        check_output(arguments, path)
    model = RobotModel.from_urdf(text, dynamics=parse_dynamics_file(dynamics, str(arguments.table)))
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")
    print(f"{model.name}: {model.n} joints, written to {', '.join(map(str, files))}")
