"""Commands torque and identify. run_<command> takes the parsed arguments that add_<command> declares."""

from __future__ import annotations

import argparse
import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.analysis.identification.estimate import (
    FRICTION_KINDS,
    Identification,
    dynamics_document,
    identify,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.friction import COEFFICIENTS
from robot_dynamics_ros.analysis.identification.hints import hints
from robot_dynamics_ros.analysis.identification.least_squares import torque_is_determined
from robot_dynamics_ros.analysis.identification.motion import (
    ROUNDING,
    RecordedMotion,
    Smoothing,
    TorqueAnalysis,
    analyse_torque,
    recorded_motion,
    root_mean_square,
)
from robot_dynamics_ros.base.errors import RobotDynamicsError
from robot_dynamics_ros.base.plain_yaml import load_yaml
from robot_dynamics_ros.base.resources import find_resource
from robot_dynamics_ros.cli.command_line import (
    add_cutoff,
    add_effort,
    add_joint_states,
    add_output,
    check_output,
    drive_gains,
    joint_state_topic,
    read_series,
    table,
    wrapped,
)
from robot_dynamics_ros.cli.robot_source import add_robot, command_text, load_robot, recorded_robot
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.recordings.bags import JointSeries

_PARTS = ("measured", "inertia", "velocity", "gravity", "friction", "residual")
_MAX_HOLDOUT = 0.9
_LARGE_LOSS = 0.5
_SMALL_RESIDUAL = 0.01  # of a joint's RMS torque: a loss is not reported as a cause below it
_DETERMINED = 0.2  # standard deviation of a base parameter, as a share of its estimate
_JOINT_KEYS = (*COEFFICIENTS, "rotor_inertia")
_ONE_WAY = 0.02  # of a joint's highest speed, which it does not reach in the other direction


def add_torque(parser: argparse.ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of torque."""
    parser.description = (
        "Compute the model's joint torque along a recorded motion, split into inertia, velocity terms, "
        "gravity and friction, compare it with the measured effort, and report probable causes where the two "
        "differ: a forgotten payload, missing friction or rotor inertia, other link parameters, another direction of "
        "gravity, signs, order, units, a delay of the effort."
    )
    recording = parser.add_mutually_exclusive_group(required=True)
    recording.add_argument("bag", nargs="?", type=Path, metavar="BAG", help="a bag's folder, or one of its files")
    recording.add_argument(
        "--example",
        action="store_true",
        help="read an installed recording of a real Panda instead; default robot: a Panda with its hand",
    )
    add_joint_states(parser)
    add_robot(parser)
    add_cutoff(parser)
    add_effort(parser)
    add_output(parser, "-o", "--output", metavar="CSV", help="write motion and torques, sample by sample")


def run_torque(arguments: argparse.Namespace) -> None:
    """Print the table of torques and the hints. Raise RobotDynamicsError for unusable bags, robots and arguments."""
    if arguments.example:
        _use_example(arguments)
    check_output(arguments, arguments.output)
    series = read_series(arguments.bag, arguments)
    model = load_robot(arguments, arguments.bag)
    motion = _motion(series, model, arguments)
    analysis = analyse_torque(model, motion)
    causes = hints(model, analysis)
    if arguments.output is not None:
        _write_csv(analysis, arguments.output)
    seconds = motion.time[-1] - motion.time[0]
    print(f"{arguments.bag}: {len(motion.time)} samples over {seconds:.1f} s, from {len(series.stamps)} messages")
    print(wrapped(f"filter: {motion.smoothing}"))
    if motion.smoothing.cutoff:
        rate = 1.0 / np.median(np.diff(motion.time))
        print(
            wrapped(
                f"samples: {rate:.4g} per second are kept, which is enough below the filter's cutoff. The first and "
                f"last {motion.smoothing.edge:.3g} s of each stretch without gaps are left out, because the filter "
                "needs samples on both sides"
            )
        )
    topic = joint_state_topic(arguments.bag, arguments.topic)
    effort = "commanded" if topic.endswith("/command_states") else "measured"
    if effort == "commanded":
        print(f"note: {topic}: the motion is the desired one, the effort is commanded, not measured")
    print(f"\n{_torque_table(model, analysis, effort)}\n")
    for name, still, qd in zip(motion.joint_names, motion.still, motion.qd.T, strict=True):
        if still:
            print(f"note: {name} does not move: friction and inertia at it are not tested")
        elif min(qd.max(), -qd.min()) < _ONE_WAY * np.abs(qd).max():
            print(f"note: {name} moves in one direction only: friction in the other is not tested")
    for cause in causes:
        print(wrapped(f"hint: {cause}"))
    if not causes:
        print("hints: none; no likely cause explains the residual")


def _use_example(arguments: argparse.Namespace) -> None:
    """Set BAG to the installed recording, and --rename, --robot and --dynamics where they are not given."""
    arguments.bag = find_resource("recordings", "panda_exciting_trajectory.mcap")
    arguments.rename = arguments.rename or [("fer_", "panda_")]
    if arguments.robot is None:
        arguments.robot = "panda"
        arguments.dynamics = arguments.dynamics or "panda_hand"
    print("example: a recording of a real Panda. The same command:")
    print(_torque_command(arguments, arguments.bag), end="\n\n")


def _torque_command(arguments: argparse.Namespace, bag: Path) -> str:
    """Return the command torque for ``bag`` with the options of ``arguments``, which do not include outputs."""
    options = ("robot", "dynamics", "gravity", "rename", "topic", "xacro_arg", "cutoff", "effort_delay", "drive_gains")
    return command_text("torque", arguments, bag, options=options)


def _motion(series: JointSeries, model: RobotModel, arguments: argparse.Namespace) -> RecordedMotion:
    """Return the motion of the model's joints by --cutoff, --effort-delay and --drive-gains."""
    gains = drive_gains(arguments, model.joint_names)
    return recorded_motion(
        series.in_order(model.joint_names), Smoothing(arguments.cutoff), arguments.effort_delay or 0.0, gains
    )


def _torque_table(model: RobotModel, analysis: TorqueAnalysis, effort: str) -> str:
    """Return a table with a row for each joint: RMS of effort, terms and error, mean error, explained variance."""
    columns = [*(root_mean_square(values) for values in _parts(analysis)), analysis.bias]
    rows = []
    for name, *numbers, explained in zip(model.joint_names, *columns, analysis.explained_in_words, strict=True):
        unit = "N" if name in model.prismatic_joints else "Nm"
        rows.append([name, unit, *(f"{number:.3f}" for number in numbers), explained])
    return table(["RMS of", "", effort, *_PARTS[1:-1], "error", "bias", "explained"], rows)


def _write_csv(analysis: TorqueAnalysis, path: Path) -> None:
    """Write time (s) and, for each joint, motion (SI units), measured torque, model terms and residual (Nm or N)."""
    motion = analysis.motion
    fields = (motion.q, motion.qd, motion.qdd, *_parts(analysis))
    columns = np.column_stack([motion.time, np.stack(fields, axis=2).reshape(len(motion.time), -1)])
    names = ["time", *(f"{joint}.{part}" for joint in motion.joint_names for part in ("q", "qd", "qdd", *_PARTS))]
    np.savetxt(path, columns, fmt="%.9g", delimiter=",", header=",".join(names), comments="")


def _parts(analysis: TorqueAnalysis) -> list[Any]:
    """Return the torques (m, n) in the order of ``_PARTS``."""
    parts = (analysis.inertia, analysis.velocity, analysis.gravity, analysis.friction)
    return [analysis.motion.tau, *parts, analysis.residual]


def add_identify(parser: argparse.ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of identify."""
    parser.description = (
        "Identify the inertial parameters, rotor inertias and friction that explain the measured effort of "
        "recorded motions, test them on the last part of each recording, or on other recordings, and write them as a "
        "dynamics file."
    )
    parser.add_argument("bags", type=Path, nargs="+", metavar="BAG", help="a bag's folder, or a .mcap or .db3 file")
    add_joint_states(parser)
    add_robot(parser)
    add_output(parser, "-o", "--output", required=True, metavar="FILE", help="the new dynamics file")
    tested = parser.add_mutually_exclusive_group()
    tested.add_argument(
        "--holdout",
        type=float,
        default=0.33,
        metavar="SHARE",
        help="share at the end of each bag that tests the result and is not fitted (default: %(default)g; 0: none)",
    )
    tested.add_argument(
        "--test",
        type=Path,
        action="append",
        default=[],
        metavar="BAG",
        help="bag that tests the result and is not fitted, instead of a share of each bag; may be repeated",
    )
    parser.add_argument(
        "--friction",
        choices=FRICTION_KINDS,
        default=FRICTION_KINDS[0],
        help="friction to identify; auto: viscous and Coulomb friction, with the Stribeck effect or as a sigmoid for "
        "joints in which cross-validation favours it; none: no friction; keep: the model's, unchanged (default: "
        "%(default)s)",
    )
    add_cutoff(parser)
    add_effort(parser)


def run_identify(arguments: argparse.Namespace) -> None:
    """Write the dynamics file, print its quality. Raise RobotDynamicsError for unusable bags, robots and arguments."""
    if not 0.0 <= arguments.holdout <= _MAX_HOLDOUT:
        raise RobotDynamicsError(
            f"--holdout {arguments.holdout:g} is out of range. Cure: give a share from 0 to {_MAX_HOLDOUT:g}"
        )
    check_output(arguments, arguments.output)
    first = arguments.bags[0]
    model = load_robot(arguments, first)
    # Long recordings: only one unfiltered series is in memory at a time.
    recorded = used = [_motion(read_series(bag, arguments), model, arguments) for bag in arguments.bags]
    tested = [_motion(read_series(bag, arguments), model, arguments) for bag in arguments.test]
    test_data = ", ".join(str(bag) for bag in arguments.test)
    if not tested and arguments.holdout > 0.0:
        ends = [round((1.0 - arguments.holdout) * len(motion.time)) for motion in used]
        tested = [motion.part(slice(end, None)) for motion, end in zip(used, ends, strict=True)]
        used = [motion.part(slice(end)) for motion, end in zip(used, ends, strict=True)]
        test_data = f"the last {100 * arguments.holdout:.0f} % of each bag"
    identification = identify(model, used, arguments.friction)
    source = recorded_robot(arguments, first)
    notes, deviations = _notes(identification, recorded), _deviations(identification)
    document = dynamics_document(identification, load_yaml(source.dynamics_content()) or {})
    write_dynamics_file(
        arguments.output,
        document,
        "\n".join([*_report(arguments, identification, used), *notes]).splitlines(),
        joint_comments={
            joint: f"std. dev.: {', '.join(map(' '.join, row.items()))}" for joint, row in deviations.items() if row
        },
        footer=_parameter_table(identification),
        overwrite=arguments.overwrite,
    )
    if tested:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the prior model has issued them already
            identified = replace(source, dynamics=str(arguments.output)).model(
                joints=model.joint_names, gravity=arguments.gravity or source.gravity or None
            )
        motion = _joined(tested)
        determined = [torque_is_determined(identification.parameterization, part) & ~part.still for part in tested]
        without = "" if arguments.friction == "none" else ", without rest and reversals, where friction is undetermined"
        print(wrapped(f"held out: {test_data}, {len(motion.time)} samples{without}"))
        analyses = analyse_torque(model, motion), analyse_torque(identified, motion)
        print(_holdout_table(*analyses, np.concatenate(determined)), end="\n\n")
    precise = identification.estimate.deviations < _DETERMINED * np.abs(identification.estimate.values)
    print(
        f"{np.count_nonzero(precise)} of {len(precise)} base parameters are determined better than "
        f"{100 * _DETERMINED:.0f} %; the other inertias keep mostly the prior's values\n"
    )
    print("\n".join([*_friction_table(deviations, document["joints"]), *notes]).rstrip())
    print(f"\ndynamics file: {arguments.output} (comments: method, all base parameters)")
    arguments.dynamics = arguments.output
    print(f"next: {_torque_command(arguments, [*arguments.test, first][0])}")


def _joined(motions: Sequence[RecordedMotion]) -> RecordedMotion:
    fields = zip(*((motion.time, motion.q, motion.qd, motion.qdd, motion.tau) for motion in motions), strict=True)
    time, q, qd, qdd, tau = (np.concatenate(parts) for parts in fields)
    return RecordedMotion(motions[0].joint_names, time, q, qd, qdd, tau, motions[0].smoothing)


def _report(arguments: argparse.Namespace, identification: Identification, used: Sequence[RecordedMotion]) -> list[str]:
    """Return paragraphs on the data, the method and the quality of the estimate."""
    estimate = identification.estimate
    share = "" if arguments.test or arguments.holdout == 0.0 else f"the first {100 * (1 - arguments.holdout):.0f} % of "
    lines = [
        "Made by robot_dynamics identify.",
        f"identified from {share}{', '.join(str(bag) for bag in arguments.bags)}",
        f"filter: {used[0].smoothing}",
        f"{len(estimate.values)} base parameters from {identification.samples} torques; condition number "
        f"{estimate.condition:.3g}; friction: {arguments.friction}",
        f"physically consistent inertias: the residual is {100 * identification.loss:.1f} % larger than that of "
        f"unconstrained least squares; weight of the prior model {identification.weight:g}",
        "Links that are fixed to another link are merged into it: they have mass 0 here.",
        "Behind each joint: standard deviations of the unconstrained estimates. At the end: all base parameters.",
    ]
    return [wrapped(line) for line in lines]


def _notes(identification: Identification, recorded: Sequence[RecordedMotion]) -> list[str]:
    """Return warnings and notes on data and estimate, a paragraph each."""
    estimate, model, lines = identification.estimate, identification.parameterization.model, []
    residual = (1.0 + identification.loss) * estimate.noise
    large = residual > _SMALL_RESIDUAL * root_mean_square(np.concatenate([motion.tau for motion in recorded]))
    if identification.loss > _LARGE_LOSS and large.any():
        lines.append("hint: no physical robot produces these torques; run robot_dynamics torque for probable causes")
    if estimate.still:
        lines.append(
            f"note: {', '.join(estimate.still)} does not move. Its effort is not used, its friction in the file is the "
            "prior model's, and the links at it are identified as one body. Cure: record a motion of all joints"
        )
    if unseen := [name for name in estimate.unseen if name.rpartition(".")[0] not in estimate.still]:
        lines.append(
            f"note: the motion does not excite {', '.join(unseen)}: these have the values of the prior model, a "
            "direction of Coulomb friction that of the other direction"
        )
    if model.payload_link is not None:
        lines.append(f"note: the payload on {model.payload_link} is assumed known: it remains in the file")
        causes = hints(model, analyse_torque(model, recorded[0]))
        lines += [f"warning: the data contradict the payload: {cause}" for cause in causes if "payload" in cause]
    if names := list(itertools.compress(estimate.base.names, identification.impossible)):
        short = ", ".join(re.sub(r" \+ .*", " + ...", name) for name in names)
        lines.append(
            f"warning: determined weakly: {short}. The estimates are negative, which no robot can have; the file has "
            "positive values. Cure: record a motion of robot_dynamics excite; if the standard deviations at the end of "
            "the file are much smaller than the estimates, run robot_dynamics torque for causes"
        )
    return [wrapped(line) for line in lines]


def _deviations(identification: Identification) -> dict[str, dict[str, str]]:
    """Return standard deviations of friction and rotors by joint and key in the dynamics file."""
    estimate = identification.estimate
    pairs = zip(estimate.base.names, estimate.deviations, strict=True)
    known = {name.replace(" rotor.inertia", ".rotor_inertia"): f"{deviation:.2g}" for name, deviation in pairs}
    return {
        joint: {key: known[f"{joint}.{key}"] for key in _JOINT_KEYS if f"{joint}.{key}" in known}
        for joint in identification.parameterization.model.moving_joints
    }


def _friction_table(deviations: dict[str, dict[str, str]], joints: dict[str, Any]) -> list[str]:
    """Return a table of the identified friction and rotors of ``joints`` in the file; nothing if there are none."""
    keys = [key for key in _JOINT_KEYS if any(key in row for row in deviations.values())]
    rows = []
    for joint, known in deviations.items():
        values = joints[joint] | {"sigmoid": (joints[joint].get("sigmoid") or {}).get("amplitude")}
        rows.append([joint, *(f"{values[k]:.3g} ({known.get(k, '-')})" if values.get(k) else "-" for k in keys)])
    return ["friction and rotors in the file (SI units; std. dev.)", table(["", *keys], rows), ""] if keys else []


def _parameter_table(identification: Identification) -> list[str]:
    """Return a table with a row for each base parameter: estimate, standard deviation, value in the file."""
    estimate = identification.estimate
    header = f"{'estimate':>11}{'std. dev.':>11}{'in the file':>13}  base parameter (SI units)"
    row = "{:>11.4g}{:>11.2g}{:>13.4g}  {}".format
    return [header, *map(row, estimate.values, estimate.deviations, identification.base_values, estimate.base.names)]


def _holdout_table(before: TorqueAnalysis, after: TorqueAnalysis, used: NDArray[np.bool_]) -> str:
    """Return a table of each joint's RMS effort and errors (Nm or N; %) over samples ``used`` (m, n), and a verdict."""
    rows, worse, count = [], list[str](), 0
    efforts = (before.motion.tau, before.residual, after.residual)
    for j, name in enumerate(before.motion.joint_names):
        if not used[:, j].any():
            rows.append([name, *["-"] * 5])
            continue
        size, old, new = (float(np.sqrt(np.mean(values[used[:, j], j] ** 2))) for values in efforts)
        shares = [f"{100 * error / size:.1f} %" if size > ROUNDING else "-" for error in (old, new)]
        rows.append([name, f"{size:.3f}", f"{old:.3f}", shares[0], f"{new:.3f}", shares[1]])
        worse, count = worse + [name] * (new >= old), count + 1
    lines = [table(["RMS of", "measured", "error before", "", "now", ""], rows)]
    exceptions = f", not in {', '.join(worse)}" if worse else ""
    lines.append(wrapped(f"the error is smaller in {count - len(worse)} of {count} joints{exceptions}"))
    if len(worse) > count - len(worse):
        hint = "hint: if the prior's friction is right, as in a simulation of it, give --friction keep; else record a "
        lines.append(wrapped(hint + "longer motion that moves all joints fast and slowly, far and in all directions"))
    return "\n".join(lines)
