"""robot_dynamics excite: a trajectory from which a robot's parameters can be identified."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from robot_dynamics_ros.cli.arguments import add_output, add_robot, check_output, named_robot
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.identification.excitation import Excitation, ExcitationLimits, find_excitation
from robot_dynamics_ros.model import RobotModel

_SAMPLES = 1000
_POINTS = 40.0  # of the trajectory in each period of the highest harmonic


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "excite",
        help="find a trajectory that excites a robot for identification",
        description="Finds a Fourier series for each joint, within the limits of position, velocity and effort, that "
        "makes the condition number of the base regressor small, and writes it as parameters of trajectory_node. "
        "Collisions are not considered.",
    )
    add_robot(parser)
    parser.add_argument("--joints", nargs="+", metavar="JOINT", help="what to move (default: all); others locked at 0")
    parser.add_argument("--duration", type=float, default=20.0, help="seconds of a period (default: %(default)g)")
    parser.add_argument("--cycles", type=int, default=1, help="periods, one after the other (default: %(default)d)")
    parser.add_argument("--harmonics", type=int, default=5, help="terms of each series (default: %(default)d)")
    parser.add_argument(
        "--margin", type=float, default=0.1, help="share of every limit that stays free (default: %(default)g)"
    )
    parser.add_argument(
        "--acceleration",
        type=float,
        nargs="+",
        default=[math.inf],
        metavar="A",
        help="largest acceleration, one for all or one for each joint (default: no limit)",
    )
    parser.add_argument("--restarts", type=int, default=3, help="random motions to start from (default: %(default)d)")
    parser.add_argument("--seed", type=int, default=0, help="of these random motions (default: %(default)d)")
    add_output(parser, "-o", "--output", default=Path("excitation.yaml"), help="default: %(default)s")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the trajectory; raises RobotDynamicsError for arguments that do not fit and where nothing is found."""
    if arguments.robot is None:
        raise RobotDynamicsError("which robot? Cure: --robot with a shipped robot's name or a URDF file")
    if arguments.cycles < 1 or arguments.seed < 0:
        raise RobotDynamicsError("--cycles is 1 or more, --seed 0 or more. Cure: give such numbers")
    check_output(arguments, arguments.output)
    model = named_robot(arguments).part(arguments.joints, note="locked at 0", gravity=arguments.gravity)
    limits = ExcitationLimits.of(model, arguments.margin, arguments.acceleration)
    excitation, first = find_excitation(
        model, limits, arguments.duration, arguments.harmonics, arguments.restarts, arguments.seed
    )
    _write(excitation, limits, arguments)
    print(
        f"condition number of the base regressor, columns of unit length: {first:.2f} for the first random motion, "
        f"{excitation.condition:.2f} for the best found"
    )
    print(f"\n{limits_table(model, limits, excitation)}\n")
    print("collisions, of the arm with itself or anything else, are not considered: watch it in simulation first")
    print(f"written: {arguments.output}, for trajectory_node")


def limits_table(model: RobotModel, limits: ExcitationLimits, excitation: Excitation) -> str:
    """Return a table with what each joint reaches, and its limits, margin included."""
    q, qd, qdd = excitation.samples(_SAMPLES)
    tau = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd)
    header = ("", "position", "of", "velocity", "of", "acceleration", "of", "effort", "of")
    rows = [
        (
            name,
            f"{q[:, j].min():.2f} .. {q[:, j].max():.2f}",
            f"{limits.lower[j]:.2f} .. {limits.upper[j]:.2f}",
            *_reached(qd[:, j], limits.velocity[j]),
            *_reached(qdd[:, j], limits.acceleration[j]),
            *_reached(tau[:, j], limits.effort[j]),
        )
        for j, name in enumerate(model.joint_names)
    ]
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    return "\n".join(
        f"{row[0]:<{widths[0]}}" + "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
        for row in (header, *rows)
    )


def _reached(values: Any, limit: float) -> tuple[str, str]:
    return f"{np.abs(values).max():.2f}", f"{limit:.2f}" if math.isfinite(limit) else "-"


def _write(excitation: Excitation, limits: ExcitationLimits, arguments: argparse.Namespace) -> None:
    """Write parameters of trajectory_node; RobotDynamicsError where the file cannot be written."""
    first = excitation.samples(1)[0][0]
    trajectory = {
        "kind": "fourier",
        "center": excitation.center.tolist(),
        "base_frequency": excitation.base_frequency,
        "sine": excitation.sine.ravel().tolist(),
        "cosine": excitation.cosine.ravel().tolist(),
        "cycles": arguments.cycles,
        "move_time": math.ceil(10.0 * limits.time_to(first)) / 10.0,
        "rate": max(20.0, _POINTS * arguments.harmonics * excitation.base_frequency),
    }
    parameters = {"joints": list(excitation.joint_names), "trajectory": trajectory}
    text = yaml.safe_dump({"/**": {"ros__parameters": parameters}}, default_flow_style=None, sort_keys=False, width=110)
    condition = f"# An exciting trajectory; condition number of the base regressor {excitation.condition:.2f}.\n"
    try:
        arguments.output.write_text(condition + text, encoding="utf-8")
    except OSError as problem:
        raise RobotDynamicsError(f"{arguments.output}: {problem.strerror}. Cure: name another file with -o") from None
