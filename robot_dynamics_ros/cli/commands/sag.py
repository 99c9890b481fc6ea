"""Command sag. ``run_sag`` takes the parsed arguments that ``add_sag`` declares."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from robot_dynamics_ros.analysis.diagnosis.causes import interval
from robot_dynamics_ros.analysis.diagnosis.static_poses import (
    PosePairs,
    SagAnalysis,
    analyse_sag,
    read_pairs,
)
from robot_dynamics_ros.analysis.identification.identified_file import (
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import with_gains
from robot_dynamics_ros.analysis.thresholds import HINT_INTERVAL
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.plain_yaml import load_yaml
from robot_dynamics_ros.cli.command_line import (
    add_drive_gains,
    add_output,
    add_recorded_robot,
    check_output,
    drive_gains,
    load_setup,
    read_series,
    table,
    wrapped,
)
from robot_dynamics_ros.cli.kernels import TORQUE, load_torque_kernels
from robot_dynamics_ros.recordings.bags import BagReader
from robot_dynamics_ros.recordings.bags.commanded_positions import commanded_positions


def add_sag(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of sag."""
    parser.description = (
        "Explain the position errors of an arm at rest under its own position control, by ten or more poses that each "
        "joint approaches from both sides, or slow sweeps in both directions. Prints friction, load, stiffness of the "
        "control and offset of the effort with 95 % intervals, and what is wrong if the loads are not the model's."
    )
    parser.add_argument(
        "bags",
        type=Path,
        nargs="+",
        metavar="BAG",
        help="recording, and optionally one with an added weight, --known on --link",
    )
    parser.add_argument(
        "--command-topic",
        metavar="TOPIC",
        help="topic of the commanded positions (default: drive_commands, position_commands, controller_state or "
        "command_states)",
    )
    parser.add_argument("--link", help="link that carries the added weight")
    parser.add_argument(
        "--known",
        type=float,
        nargs=4,
        metavar=("MASS", "X", "Y", "Z"),
        help="added weight of the second recording: mass (kg), and centre of mass in the frame of the link (m)",
    )
    add_recorded_robot(parser)
    add_drive_gains(parser)
    add_output(
        parser,
        "-o",
        "--output",
        metavar="FILE",
        help="new dynamics file with the payload or direction of gravity, if it alone explains the loads",
    )


def run_sag(arguments: Namespace) -> None:
    """Print the table of the joints and the mistakes; with --output write a corrected dynamics file.

    Raises RobotDynamicsError for bags and robots that cannot be read or used, for a second bag without --link and
    --known or the reverse, as ``check_output``, and for --output if no single mistake of the model was found.
    """
    check_output(arguments, arguments.output)
    weighted = len(arguments.bags) > 1
    given = {weighted, arguments.known is not None, arguments.link is not None}
    if len(arguments.bags) > 2 or len(given) > 1:
        raise RobotDynamicsError(
            "an added weight needs a second bag, --link and --known. Cure: give all three, or none"
        )
    recorded = []
    for path in arguments.bags:
        with BagReader(path) as bag:
            series = read_series(bag, arguments)
            setup = load_setup(arguments, bag, series)
            model = setup.model
            series = series.in_order(model.joint_names)
            command = commanded_positions(
                bag,
                arguments.command_topic,
                model.joint_names,
                dict(arguments.rename),
                series.received,
            )
        series = with_gains(series, drive_gains(arguments, model.joint_names))
        recorded.append(read_pairs(series, command))
    load_torque_kernels(model, TORQUE)
    pairs = PosePairs(*map(np.concatenate, zip(*recorded, strict=True)))
    added = None
    if weighted:
        mass, *com = arguments.known
        heavy = model.with_payload(arguments.link, mass, com, [0.0] * 6)
        added = heavy.gravity_torque(pairs.q) - model.gravity_torque(pairs.q)
        added[: len(recorded[0].q)] = 0.0
    sag = analyse_sag(model, pairs, added)
    estimates = {
        "load/model": sag.ratio,
        "effort at 0": sag.offset,
        "stiffness": sag.stiffness,
    }
    cells = []
    for j, name in enumerate(model.joint_names):
        each = [_determined(*estimate[:, j]) for estimate in estimates.values()]
        cells.append([name, f"{sag.sag[j]:.3g}", f"{sag.friction[j]:.3g}", *each])
    lines = map(wrapped, _conclusions(sag, weighted))
    print(table(["joint", "sag", "friction", *estimates], cells), *lines, sep="\n")
    if arguments.output is not None:
        change = sag.rivals[0].change if len(sag.rivals) == 1 else {}
        if not change:
            raise RobotDynamicsError(
                f"{arguments.output}: not written, as no payload or direction of gravity alone explains the loads. "
                "Cure: run robot_dynamics identify"
            )
        prior = load_yaml(setup.robot.dynamics_content()) or {}
        write_dynamics_file(
            arguments.output,
            {**prior, **change},
            [sag.rivals[0].text],
            overwrite=arguments.overwrite,
        )


def _determined(value: float, error: float) -> str:
    """Return the 95 % interval of an estimate, or "undetermined" if it is wider than its value."""
    wide = HINT_INTERVAL * error > max(1.0, abs(value))
    return "undetermined" if wide else interval(value, error)


def _conclusions(sag: SagAnalysis, weighted: bool) -> Iterator[str]:
    """Yield sentences: mistakes, stiffness as a parameter, and what to record next."""
    for text in sag.certain:
        yield f"mistake: {text}"
    if sag.unexplained:
        yield (
            "mistake: the loads are not the model's, and no single cause explains them. Cure: check the model, or run "
            "robot_dynamics identify"
        )
    for k, mistake in enumerate(sag.rivals):
        yield f"{'or' if k else 'mistake'}: {mistake.text}"
    without_effort = np.isinf(sag.offset[1]).all()
    if not (sag.certain or sag.unexplained or sag.rivals):
        yield (
            "no mistake is seen: the arm sags by its load over the stiffness, as P control does. Cure: send the "
            "gravity torque as feedforward, or shift the set points by it over the stiffness (docs/drives.md)"
        )
    if without_effort and not weighted:
        yield "without efforts only masses over stiffness are seen: the stiffness is that for the masses of the model"
    determined = (sag.stiffness[1] * HINT_INTERVAL < sag.stiffness[0]).all()
    if determined and len(sag.rivals) < 2 and not (without_effort and sag.unexplained):
        numbers = ", ".join(f"{value:.4g}" for value in sag.stiffness[0])
        yield f"stiffness: [{numbers}]"
    if not weighted and (len(sag.rivals) > 1 or without_effort):
        yield (
            "next: hang a weight of known mass on a link, record the poses again, and add this bag with --link and "
            "--known: it separates stiffness, unit and mass"
        )
