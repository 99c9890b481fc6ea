"""robot_dynamics inspect: what the model of a robot holds, what it lacks, and its equations of motion."""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.cli.arguments import add_named_robot, named_robot
from robot_dynamics_ros.cli.inspect_collect import collect
from robot_dynamics_ros.cli.inspect_table import show
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.formulations.closed_form import MOST_JOINTS
from robot_dynamics_ros.model import RobotModel


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "inspect",
        help="show what a robot's model holds and lacks, and its equations of motion",
        description="Shows the joints, limits, masses, inertias, friction, rotors and couplings of a robot as the "
        "model has them; mass matrix, and gravity torque against the effort limits, at a state and over the joints' "
        "range; what is missing or odd, with cures; and on request the equations of motion as formulas.",
        epilog="docs/inspect.md explains the tables and the keys of --json.",
    )
    add_named_robot(parser)
    parser.add_argument("--joints", nargs="+", metavar="NAME", help="the joints to look at (default: all that move)")
    parser.add_argument(
        "--locked",
        type=_position,
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="where other joints stand still, rad or m (default: 0 for what --joints leaves out)",
    )
    parser.add_argument(
        "--state",
        type=float,
        nargs="+",
        metavar="Q",
        help="joint positions, rad or m, in the order that is shown (default: 0, or the limit next to it)",
    )
    parser.add_argument(
        "--equations", action="store_true", help=f"print M, V and G as formulas (up to {MOST_JOINTS} joints)"
    )
    parser.add_argument("--json", action="store_true", help="print all of it as one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print what the model is; raises RobotDynamicsError for what cannot be read, or has too many joints."""
    source, locked = named_robot(arguments), dict(arguments.locked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = source.part(arguments.joints, locked, gravity=arguments.gravity)
    others = [name for name in source.joint_names() if name not in model.joint_names]
    q = _state(arguments, model)
    if arguments.equations and model.n > MOST_JOINTS:
        raise RobotDynamicsError(
            f"--equations: {model.n} joints of {model.name} make formulas of pages. Cure: --joints with up to "
            f"{MOST_JOINTS} of {' '.join(model.joint_names)}; the others are locked at 0, or by --locked NAME=VALUE"
        )
    said = [str(warning.message) for warning in caught]
    facts = collect(source, model, q, dict.fromkeys(others, 0.0) | locked, said, arguments.equations)
    print(json.dumps(asdict(facts), indent=2, allow_nan=False) if arguments.json else show(facts))


def _state(arguments: argparse.Namespace, model: RobotModel) -> NDArray[np.float64]:
    if arguments.state is None:
        return np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    q = model.vector("--state", arguments.state)
    if not np.isfinite(q).all():
        raise RobotDynamicsError(f"--state {arguments.state}: not finite. Cure: give {model.n} finite numbers")
    return q


def _position(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        if equals and name:
            return name, float(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
