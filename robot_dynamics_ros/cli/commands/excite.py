"""robot_dynamics excite: an exciting trajectory for identification.

``run_excite`` takes the parsed arguments that ``add_excite`` declares.
"""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np
import yaml

from robot_dynamics_ros.analysis.identification.excitation import (
    Excitation,
    ExcitationLimits,
    find_excitation,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.cli.command_line import (
    add_joints,
    add_output,
    add_robot,
    check_output,
    note_locked,
    table,
)
from robot_dynamics_ros.cli.named_robots import chosen_model, named_robot
from robot_dynamics_ros.cli.thresholds import EXCITATION_SAMPLES, POINTS_PER_PERIOD
from robot_dynamics_ros.dynamics.model import RobotModel


def add_excite(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Find a Fourier series for each joint, within the limits of position, velocity and effort, that "
        "minimizes the condition number of the base regressor, and write it as parameters of trajectory_node. "
        "Collisions are not considered."
    )
    add_robot(parser)
    add_joints(parser)
    parser.add_argument(
        "--duration",
        type=float,
        default=20.0,
        help="period in seconds (default: %(default)g)",
    )
    parser.add_argument(
        "--cycles", type=int, default=1, help="number of periods (default: %(default)d)"
    )
    parser.add_argument(
        "--harmonics",
        type=int,
        default=5,
        help="terms of each series (default: %(default)d)",
    )
    parser.add_argument(
        "--margin",
        type=float,
        default=0.1,
        help="share of every limit that stays free (default: %(default)g)",
    )
    parser.add_argument(
        "--acceleration",
        type=float,
        nargs="+",
        default=[math.inf],
        metavar="A",
        help="largest acceleration, one for all or one for each joint (default: no limit)",
    )
    parser.add_argument(
        "--restarts",
        type=int,
        default=3,
        help="random motions to start from (default: %(default)d)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of the random motions (default: %(default)d)",
    )
    add_output(
        parser,
        "-o",
        "--output",
        default=Path("excitation.yaml"),
        help="the new parameter file (default: %(default)s)",
    )


def run_excite(arguments: Namespace) -> None:
    """Write the parameter file of trajectory_node; print condition numbers and the largest values beside the limits.

    Raises RobotDynamicsError without --robot, for a robot that cannot be read, for arguments out of range, if no motion
    within the limits is found, and as ``check_output``.
    """
    if arguments.robot is None:
        raise RobotDynamicsError(
            "no robot is given. Cure: --robot with the name of a shipped robot, or a URDF file"
        )
    if arguments.cycles < 1 or arguments.seed < 0:
        raise RobotDynamicsError(
            f"--cycles {arguments.cycles}, --seed {arguments.seed}: out of range. Cure: give at least 1 cycle "
            "and a seed of 0 or more"
        )
    check_output(arguments, arguments.output)
    model = chosen_model(named_robot(arguments), arguments)
    note_locked(model)
    limits = ExcitationLimits.of(model, arguments.margin, arguments.acceleration)
    excitation, first = find_excitation(
        model,
        limits,
        arguments.duration,
        arguments.harmonics,
        arguments.restarts,
        arguments.seed,
    )
    _write_trajectory(excitation, limits, arguments)
    print(
        f"condition number of the base regressor, columns of unit length: {first:.2f} for the first random motion, "
        f"{excitation.condition:.2f} for the best found"
    )
    print(f"\n{_limits_table(model, limits, excitation)}\n")
    print(
        "collisions of the arm with itself or its surroundings are not checked: run it in simulation first"
    )
    print(f"written: {arguments.output}, for trajectory_node")


def _write_trajectory(
    excitation: Excitation, limits: ExcitationLimits, arguments: Namespace
) -> None:
    """Write parameters of trajectory_node. Raise OSError if the file cannot be written."""
    first = excitation.samples(1)[0][0]
    trajectory = {
        "kind": "fourier",
        "center": excitation.center.tolist(),
        "base_frequency": excitation.base_frequency,
        "sine": excitation.sine.ravel().tolist(),
        "cosine": excitation.cosine.ravel().tolist(),
        "cycles": arguments.cycles,
        "move_time": math.ceil(10.0 * limits.time_to(first)) / 10.0,
        "rate": max(
            20.0, POINTS_PER_PERIOD * arguments.harmonics * excitation.base_frequency
        ),
    }
    parameters = {"joints": list(excitation.joint_names), "trajectory": trajectory}
    text = yaml.safe_dump(
        {"/**": {"ros__parameters": parameters}},
        default_flow_style=None,
        sort_keys=False,
        width=110,
    )
    comment = f"# An exciting trajectory; condition number of the base regressor {excitation.condition:.2f}.\n"
    arguments.output.write_text(comment + text, encoding="utf-8")


def _limits_table(
    model: RobotModel, limits: ExcitationLimits, excitation: Excitation
) -> str:
    """Return a table with the largest values of each joint and its limits reduced by the margin."""
    q, qd, qdd = excitation.samples(EXCITATION_SAMPLES)
    tau = model.inverse_dynamics(q, qd, qdd) + model.friction_torque(q, qd, qdd=qdd)
    bounded = ((qd, limits.velocity), (qdd, limits.acceleration), (tau, limits.effort))
    rows = []
    for j, name in enumerate(model.joint_names):
        row = [
            name,
            f"{q[:, j].min():.2f} .. {q[:, j].max():.2f}",
            f"{limits.lower[j]:.2f} .. {limits.upper[j]:.2f}",
        ]
        for values, limit in bounded:
            row += [
                f"{np.abs(values[:, j]).max():.2f}",
                f"{limit[j]:.2f}" if math.isfinite(limit[j]) else "-",
            ]
        rows.append(row)
    return table(
        ("", "position", "of", "velocity", "of", "acceleration", "of", "effort", "of"),
        rows,
    )
