"""robot_dynamics identify: the inertias and the friction that explain recorded torques, as a dynamics file."""

from __future__ import annotations

import argparse
import contextlib
import io
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.cli.arguments import (
    add_joint_states,
    add_output,
    add_robot,
    bag_robot,
    check_output,
    load_robot,
    read_series,
)
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.identification.dynamics_output import dynamics_document, write_dynamics_file
from robot_dynamics_ros.identification.estimate import Identification, identify
from robot_dynamics_ros.identification.motion import (
    RecordedMotion,
    Smoothing,
    TorqueAnalysis,
    analyse_torque,
    recorded_motion,
    root_mean_square,
)
from robot_dynamics_ros.identification.unknowns import KINDS
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.plain_yaml import load_yaml

_WIDTH = 110
_MOST_HELD_OUT = 0.9
_MUCH_LOSS = 0.5


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "identify",
        help="find inertias and friction from bags, as a dynamics file",
        description="Finds the inertial parameters, rotor inertias and friction that explain the measured effort of "
        "recorded motions, tests them on the last part of each recording, which it does not use otherwise, and writes "
        "them as a dynamics file.",
    )
    parser.add_argument("bags", type=Path, nargs="+", metavar="BAG", help="a bag's folder, or a .mcap or .db3 file")
    add_joint_states(parser)
    add_robot(parser)
    add_output(parser, "-o", "--output", required=True, metavar="FILE", help="the new dynamics file")
    parser.add_argument(
        "--holdout",
        type=float,
        default=0.33,
        metavar="SHARE",
        help="last share of each bag that only tests the result (default: %(default)g; 0: none)",
    )
    parser.add_argument(
        "--friction",
        choices=KINDS,
        default=KINDS[0],
        help="what to identify of it; keep: none of it, the model's own is right (default: %(default)s)",
    )
    parser.add_argument(
        "--cutoff",
        type=float,
        metavar="HZ",
        help="cutoff of the zero-phase filter, 0 for none (default: 10, or a sixth of the sampling rate)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Identify, write the file, print what it is worth; RobotDynamicsError for what cannot be read or does not fit."""
    _check(arguments)
    model, motions = _recorded(arguments)
    ends = [round((1.0 - arguments.holdout) * len(motion.time)) for motion in motions]
    learnt = [motion.part(slice(end)) for motion, end in zip(motions, ends, strict=True)]
    identification = identify(model, learnt, arguments.friction)
    # The file is made of what the bags say, and what it says is what is tested.
    prior = _prior_document(arguments)
    report = _report(arguments, identification, motions[0].smoothing)
    document, comments = dynamics_document(identification, prior), _comments(identification, report)
    write_dynamics_file(arguments.output, document, comments, overwrite=arguments.overwrite)
    print("\n".join(report))
    print(f"\n{_parameter_table(identification)}")
    if arguments.holdout > 0.0:
        tested = _joined([motion.part(slice(end, None)) for motion, end in zip(motions, ends, strict=True)])
        before, after = (analyse_torque(m, tested) for m in (model, _identified(arguments, model)))
        print(f"\nheld out: the last {100 * arguments.holdout:.0f} % of each bag, {len(tested.time)} samples")
        print(_holdout_table(before, after))
    print(f"\ndynamics file: {arguments.output}")


def _recorded(arguments: argparse.Namespace) -> tuple[RobotModel, list[RecordedMotion]]:
    """Return the robot and its motions; recordings are long, so that one at a time is in memory, and once."""
    smoothing = Smoothing(arguments.cutoff)
    model: RobotModel | None = None
    motions = []
    for bag in arguments.bags:
        series = read_series(bag, arguments)
        if model is None:
            model = load_robot(arguments, series.joint_names, bag)
        series = series.in_order(model.joint_names)
        motions.append(recorded_motion(series, smoothing))
        del series
    assert model is not None, "there is at least one bag"
    return model, motions


def _check(arguments: argparse.Namespace) -> None:
    if not 0.0 <= arguments.holdout <= _MOST_HELD_OUT:
        raise RobotDynamicsError(
            f"--holdout {arguments.holdout:g} is out of range. Cure: give a share from 0 to {_MOST_HELD_OUT:g}"
        )
    check_output(arguments, arguments.output)


def _prior_document(arguments: argparse.Namespace) -> Mapping[str, Any]:
    content: Mapping[str, Any] = load_yaml(bag_robot(arguments, arguments.bags[0]).dynamics_content()) or {}
    return content


def _identified(arguments: argparse.Namespace, model: RobotModel) -> RobotModel:
    """Load the robot with the new file."""
    again = argparse.Namespace(**{**vars(arguments), "dynamics": str(arguments.output)})
    # All that there is to say of the robot was said when it was loaded first.
    with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_robot(again, model.joint_names, arguments.bags[0])


def _joined(motions: Sequence[RecordedMotion]) -> RecordedMotion:
    fields = zip(*((motion.time, motion.q, motion.qd, motion.qdd, motion.tau) for motion in motions), strict=True)
    time, q, qd, qdd, tau = (np.concatenate(parts) for parts in fields)
    return RecordedMotion(motions[0].joint_names, time, q, qd, qdd, tau, motions[0].smoothing)


def _report(arguments: argparse.Namespace, identification: Identification, smoothing: Smoothing) -> list[str]:
    """Say what was done, line by line."""
    estimate = identification.estimate
    share = "" if arguments.holdout == 0.0 else f"the first {100 * (1 - arguments.holdout):.0f} % of "
    lines = [
        f"identified from {share}{', '.join(str(bag) for bag in arguments.bags)}",
        f"filter: {smoothing}",
        f"{len(estimate.values)} base parameters from {identification.samples} torques; condition number "
        f"{estimate.condition:.3g}; friction: {arguments.friction}",
        f"inertias that bodies can have: {100 * identification.loss:.1f} % more residual than unconstrained least "
        f"squares, the prior model weighing {identification.weight:g}",
    ]
    if identification.loss > _MUCH_LOSS:
        lines.append("hint: that is much, as if no robot gave these torques; robot_dynamics torque may say why")
    if estimate.unseen:
        lines.append(f"the motion tells nothing of {', '.join(estimate.unseen)}: these are as the prior model has them")
    if identification.unknowns.model.packed.payload is not None:
        link = identification.unknowns.model.packed.payload[0]
        lines.append(f"the payload on {link} is taken as known: it stays in the file, and the link is without it")
    return [_wrapped(line) for line in lines]


def _wrapped(line: str) -> str:
    return textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _comments(identification: Identification, report: Sequence[str]) -> list[str]:
    names, noise = identification.unknowns.model.joint_names, identification.estimate.noise
    residuals = ", ".join(f"{name} {value:.3g}" for name, value in zip(names, noise, strict=True))
    lines = [
        "Made by robot_dynamics identify.",
        *report,
        _wrapped(f"RMS residual of the base parameters in N m or N: {residuals}"),
        "Links that are fixed to another link count with it: they have mass 0 here.",
    ]
    return "\n".join(lines).splitlines()


def _parameter_table(identification: Identification) -> str:
    """Return a row for each base parameter: least squares, standard deviation, what the file has."""
    estimate = identification.estimate
    rows = [f"{'estimate':>11}{'std. dev.':>11}{'%':>8}{'in the file':>13}  base parameter (SI units)"]
    columns = (estimate.values, estimate.deviations, identification.base_values, estimate.base.names)
    for value, deviation, consistent, name in zip(*columns, strict=True):
        share = min(100 * deviation / abs(value), 1000.0) if value else 1000.0
        percent = f"{share:.2g}" if share < 99.5 else f"{share:.0f}" if share < 999.5 else ">999"
        rows.append(f"{value:>11.4g}{deviation:>11.2g}{percent:>8}{consistent:>13.4g}  {name}")
    return "\n".join(rows)


def _holdout_table(before: TorqueAnalysis, after: TorqueAnalysis) -> str:
    """Return a row for each joint: RMS of effort and error (Nm or N), and what is explained, before and after."""
    names = before.motion.joint_names
    width = max(len("RMS of"), *map(len, names))
    rows = [
        f"{'RMS of':<{width}}{'measured':>11}{'error before':>14}{'now':>9}{'explained before':>19}{'now':>9}",
    ]
    columns = (names, root_mean_square(before.motion.tau), before.rms, after.rms, before.explained, after.explained)
    for name, measured, old, new, *shares in zip(*columns, strict=True):
        first, second = ("-" if np.isnan(share) else f"{100 * share:.1f} %" for share in shares)
        rows.append(f"{name:<{width}}{measured:>11.3f}{old:>14.3f}{new:>9.3f}{first:>19}{second:>9}")
    better = int(np.count_nonzero(after.rms < before.rms))
    rows.append(f"the error is smaller in {better} of {len(names)} joints")
    if better < len(names) - better:
        rows.append("hint: record a longer motion that moves all joints fast and slowly, far and in all directions")
    return "\n".join(rows)
