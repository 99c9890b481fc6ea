"""robot_dynamics torque: does the model explain the effort that a robot measured, and if not, what may be wrong."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.cli.arguments import (
    add_bag,
    add_joint_states,
    add_output,
    add_robot,
    check_output,
    load_robot,
    read_series,
)
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.identification.hints import hints
from robot_dynamics_ros.identification.motion import (
    Smoothing,
    TorqueAnalysis,
    analyse_torque,
    recorded_motion,
    root_mean_square,
)
from robot_dynamics_ros.model import RobotModel

_PARTS = ("measured", "inertia", "velocity", "gravity", "friction", "residual")
_WIDTH = 110


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "torque",
        help="explain a bag's measured effort by the model, and hint at what is wrong",
        description="Computes the model's joint torque along a recorded motion, split into inertia, velocity terms, "
        "gravity and friction, compares it with the measured effort, and says what is probably wrong where the two "
        "differ: a forgotten payload, missing friction, another direction of gravity, signs, order, units.",
    )
    add_bag(parser)
    add_joint_states(parser)
    add_robot(parser)
    parser.add_argument(
        "--cutoff",
        type=float,
        metavar="HZ",
        help="cutoff of the zero-phase filter, 0 for none (default: 10, or a sixth of the sampling rate)",
    )
    add_output(parser, "-o", "--output", metavar="CSV", help="write the torques, sample by sample")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the table and the hints; raises RobotDynamicsError for what cannot be read or does not fit."""
    if arguments.output is not None:
        check_output(arguments, arguments.output)
    smoothing = Smoothing(arguments.cutoff)
    recorded = read_series(arguments.bag, arguments)
    model = load_robot(arguments, recorded.joint_names, arguments.bag)
    series = recorded.in_order(model.joint_names)
    motion = recorded_motion(series, smoothing)
    analysis = analyse_torque(model, motion)
    found = hints(model, analysis)
    if arguments.output is not None:
        write_csv(analysis, arguments.output)
    seconds = motion.time[-1] - motion.time[0]
    print(f"{arguments.bag}: {len(motion.time)} samples over {seconds:.1f} s, from {len(series.stamps)} messages")
    print(_wrapped(f"filter: {motion.smoothing}"))
    print(f"\n{torque_table(model, analysis)}\n")
    for hint in found:
        print(_wrapped(f"hint: {hint}"))
    if not found:
        print("hints: none; no likely cause explains what the model leaves over")


def torque_table(model: RobotModel, analysis: TorqueAnalysis) -> str:
    """Return a table with a row for each joint: RMS of effort and parts, of the error, its mean, what is explained."""
    columns = [root_mean_square(values) for values in _series(analysis)]
    header = ["RMS of", "", *_PARTS[:-1], "error", "bias", "explained"]
    rows = [
        [
            name,
            "N" if name in model.prismatic_joints else "Nm",
            *(f"{column[j]:.3f}" for column in columns),
            f"{analysis.bias[j]:.3f}",
            "-" if np.isnan(analysis.explained[j]) else f"{100 * analysis.explained[j]:.2f} %",
        ]
        for j, name in enumerate(model.joint_names)
    ]
    first = max(len(row[0]) for row in [header, *rows])
    return "\n".join(
        f"{row[0]:<{first}} {row[1]:<2}" + "".join(f"{cell:>11}" for cell in row[2:]) for row in [header, *rows]
    )


def write_csv(analysis: TorqueAnalysis, path: Path) -> None:
    """Write time (s) and, for each joint, measured torque, its parts and the residual (Nm or N).

    Raises RobotDynamicsError where the file cannot be written.
    """
    motion = analysis.motion
    table = np.column_stack([motion.time, np.stack(_series(analysis), axis=2).reshape(len(motion.time), -1)])
    names = ["time", *(f"{joint}.{part}" for joint in motion.joint_names for part in _PARTS)]
    try:
        np.savetxt(path, table, fmt="%.9g", delimiter=",", header=",".join(names), comments="")
    except OSError as problem:
        raise RobotDynamicsError(f"{path}: {problem.strerror}. Cure: name another file with -o") from None


def _series(analysis: TorqueAnalysis) -> list[Any]:
    """Return the torques (m, n) in the order of ``_PARTS``."""
    parts = (analysis.inertia, analysis.velocity, analysis.gravity, analysis.friction)
    return [analysis.motion.tau, *parts, analysis.residual]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
