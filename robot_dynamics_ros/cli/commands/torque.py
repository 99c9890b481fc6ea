"""Command torque. ``run_torque`` takes the parsed arguments that ``add_torque`` declares."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.recorded_motion import (
    RecordedMotion,
    Smoothing,
    recorded_motion,
)
from robot_dynamics_ros.analysis.identification.torque_analysis import (
    LOADS,
    TorqueAnalysis,
    analyse_torque,
    largest_bearing_loads,
)
from robot_dynamics_ros.base.resources import find_resource
from robot_dynamics_ros.cli.command_line import (
    add_filter,
    add_json,
    add_output,
    add_recorded_robot,
    check_output,
    command_text,
    drive_gains,
    joint_state_topic,
    load_setup,
    print_json,
    read_series,
    table,
    wrapped,
)
from robot_dynamics_ros.cli.kernels import TORQUE, load_torque_kernels
from robot_dynamics_ros.cli.thresholds import ONE_WAY_SPEED
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import BagReader, JointSeries

_PARTS = ("measured", "inertia", "velocity", "gravity", "friction", "residual")
_KEYS = (*_PARTS[:-1], "error", "bias", "explained")


def add_torque(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of torque."""
    parser.description = (
        "Compute the model's joint torque along a recorded motion, split into inertia, velocity terms, "
        "gravity and friction, and compare it with the measured effort. Reports probable causes of the "
        "difference: a forgotten payload, missing friction or rotor inertia, other link parameters, another direction "
        "of gravity, signs, order, units and zeros, a delay of the effort. docs/identify.md lists the keys of --json."
    )
    recording = parser.add_mutually_exclusive_group(required=True)
    recording.add_argument(
        "bag",
        nargs="?",
        type=Path,
        metavar="BAG",
        help="a bag's folder, or one of its files",
    )
    recording.add_argument(
        "--example",
        action="store_true",
        help="read an installed recording of a real Panda instead; default robot: a Panda with its hand",
    )
    add_recorded_robot(parser)
    add_filter(parser)
    parser.add_argument(
        "--bearing-loads",
        action="store_true",
        help="print the largest load on each joint's bearing: force along its axis, force and moment normal to it",
    )
    add_output(
        parser,
        "-o",
        "--output",
        metavar="CSV",
        help="write motion and torques, sample by sample",
    )
    add_json(parser)


def run_torque(arguments: Namespace) -> None:
    """Print the table of torques and the hints, or them as JSON; with --output write motion and torques as CSV.

    Raises RobotDynamicsError for a bag or a robot that cannot be read or used, for invalid options of the filter, and
    as ``check_output``.
    """
    if arguments.example:
        _use_example(arguments)
    check_output(arguments, arguments.output)
    with BagReader(arguments.bag) as bag:
        series = read_series(bag, arguments)
        model = load_setup(arguments, bag, series).model
        topic = joint_state_topic(bag, arguments.topic)
    load_torque_kernels(model, TORQUE)
    motion = filtered_motion(series, model, arguments)
    analysis = analyse_torque(model, motion)
    causes = hints(model, analysis)
    rows = _torque_rows(model, analysis)
    loads = largest_bearing_loads(model, motion) if arguments.bearing_loads else []
    if arguments.output is not None:
        _write_csv(analysis, arguments.output)
    effort = "measured"
    notes = _motion_notes(motion)
    if topic.endswith("/command_states"):
        effort = "commanded"
        notes.insert(
            0,
            f"{topic}: the motion is the desired one, the effort is commanded, not measured",
        )
    seconds = motion.time[-1] - motion.time[0]
    if arguments.json:
        print_json(
            {
                "bag": arguments.bag,
                "topic": topic,
                "effort": effort,
                "messages": len(series.stamps),
                "samples": len(motion.time),
                "seconds": seconds,
                "cutoff": motion.smoothing.cutoff,
                "joints": rows,
                "notes": notes,
                "hints": causes,
                "bearing_loads": loads,
            }
        )
        return
    print(
        f"{arguments.bag}: {len(motion.time)} samples over {seconds:.1f} s, from {len(series.stamps)} messages"
    )
    print(wrapped(f"filter: {motion.smoothing}"))
    if motion.smoothing.cutoff:
        rate = 1.0 / motion.period
        print(
            wrapped(
                f"samples: {rate:.4g} per second are kept, which is enough below the filter's cutoff. The first and "
                f"last {motion.smoothing.edge:.3g} s of each stretch without gaps are left out, because the filter "
                "needs samples on both sides"
            )
        )
    if left := {
        row["joint"]: len(motion.time) - row["used"]
        for row in rows
        if row["used"] < len(motion.time)
    }:
        counts = ", ".join(f"{name} {count}" for name, count in left.items())
        print(
            wrapped(
                f"left out of the table, because friction is undetermined at rest: samples of {counts}"
            )
        )
    print(f"\n{_torque_table(rows, analysis.explained_in_words, effort)}\n")
    if loads:
        cells = [[row["joint"], *(f"{row[key]:.1f}" for key in LOADS)] for row in loads]
        print(table(["largest load of", *LOADS.values()], cells), end="\n\n")
    for note in notes:
        print(f"note: {note}")
    for cause in causes:
        print(wrapped(f"hint: {cause}"))
    if not causes:
        print("hints: none; no residual is clearly above the noise")


def _use_example(arguments: Namespace) -> None:
    """Set BAG to the installed recording, and --rename, --robot and --dynamics where they are not given.

    Prints the command with these arguments, unless --json is given.
    """
    arguments.bag = find_resource("recordings", "panda_exciting_trajectory.mcap")
    arguments.rename = arguments.rename or [("fer_", "panda_")]
    if arguments.robot is None:
        arguments.robot = "panda"
        arguments.dynamics = arguments.dynamics or "panda_hand"
    if not arguments.json:
        print("example: a recording of a real Panda. The same command:")
        print(torque_command(arguments, arguments.bag), end="\n\n")


def torque_command(arguments: Namespace, bag: Path) -> str:
    """Return the command torque for ``bag`` with the options of ``arguments``, which do not include outputs."""
    options = (
        "robot",
        "dynamics",
        "gravity",
        "joints",
        "locked",
        "rename",
        "topic",
        "xacro_arg",
        "cutoff",
        "effort_delay",
        "drive_gains",
    )
    return command_text("torque", arguments, bag, options=options)


def filtered_motion(
    series: JointSeries, model: RobotModel, arguments: Namespace
) -> RecordedMotion:
    """Return the motion of the model's joints by --cutoff, --effort-delay and --drive-gains.

    Raises RobotDynamicsError as ``recorded_motion``, and for joints that ``series`` does not have.
    """
    gains = drive_gains(arguments, model.joint_names)
    return recorded_motion(
        series.in_order(model.joint_names),
        Smoothing(arguments.cutoff),
        arguments.effort_delay or 0.0,
        gains,
    )


def _torque_rows(model: RobotModel, analysis: TorqueAnalysis) -> list[dict[str, Any]]:
    """Return for each joint: RMS of effort, terms and error, mean error (Nm or N), explained share of the variance.

    ``used`` is the number of samples of these statistics.
    """
    columns = [
        *map(analysis.size, _parts(analysis)),
        analysis.bias,
        analysis.explained,
        analysis.used.sum(axis=0),
    ]
    return [
        {
            "joint": name,
            "unit": "N" if name in model.prismatic_joints else "Nm",
            **dict(zip((*_KEYS, "used"), numbers, strict=True)),
        }
        for name, *numbers in zip(model.joint_names, *columns, strict=True)
    ]


def _torque_table(
    rows: Sequence[dict[str, Any]], explained: Sequence[str], effort: str
) -> str:
    """Return the table of ``_torque_rows``, with texts for the explained shares."""
    cells = [
        [row["joint"], row["unit"], *(f"{row[key]:.3f}" for key in _KEYS[:-1]), share]
        for row, share in zip(rows, explained, strict=True)
    ]
    return table(["RMS of", "", effort, *_KEYS[1:]], cells)


def _motion_notes(motion: RecordedMotion) -> list[str]:
    """Return a note for each joint whose friction is not tested in both directions."""
    notes = []
    for name, still, qd in zip(
        motion.joint_names, motion.still, motion.qd.T, strict=True
    ):
        if still:
            notes.append(
                f"{name} does not move: friction and inertia at it are not tested"
            )
        elif min(qd.max(), -qd.min()) < ONE_WAY_SPEED * np.abs(qd).max():
            notes.append(
                f"{name} moves in one direction only: friction in the other is not tested"
            )
    return notes


def _write_csv(analysis: TorqueAnalysis, path: Path) -> None:
    """Write time (s) and, for each joint, motion (SI units), measured torque, model terms and residual (Nm or N)."""
    motion = analysis.motion
    fields = (*motion.states, *_parts(analysis))
    columns = np.column_stack(
        [motion.time, np.stack(fields, axis=2).reshape(len(motion.time), -1)]
    )
    names = [
        "time",
        *(
            f"{joint}.{part}"
            for joint in motion.joint_names
            for part in ("q", "qd", "qdd", *_PARTS)
        ),
    ]
    np.savetxt(
        path, columns, fmt="%.9g", delimiter=",", header=",".join(names), comments=""
    )


def _parts(analysis: TorqueAnalysis) -> list[Any]:
    """Return the torques (m, n) in the order of ``_PARTS``."""
    parts = (analysis.inertia, analysis.velocity, analysis.gravity, analysis.friction)
    return [analysis.motion.tau, *parts, analysis.residual]
