"""Command identify. ``run_identify`` takes the parsed arguments that ``add_identify`` declares."""

from __future__ import annotations

import csv
import warnings
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.analysis.diagnosis.hints import hints
from robot_dynamics_ros.analysis.identification.estimate import (
    FRICTION_KINDS,
    Identification,
    identify,
)
from robot_dynamics_ros.analysis.identification.friction_shapes import (
    COEFFICIENTS,
    FORM_TERMS,
    IDENTIFIED,
)
from robot_dynamics_ros.analysis.identification.identified_file import (
    dynamics_document,
    identified_parameters,
    parameter_table,
    write_dynamics_file,
)
from robot_dynamics_ros.analysis.identification.model_files import (
    differences,
    lost_properties,
    mjcf_text,
    urdf_text,
)
from robot_dynamics_ros.analysis.identification.recorded_motion import RecordedMotion
from robot_dynamics_ros.analysis.identification.torque_analysis import analyse_torque
from robot_dynamics_ros.analysis.thresholds import TINY
from robot_dynamics_ros.base.errors import RobotDynamicsError, use_one_of
from robot_dynamics_ros.base.plain_yaml import load_yaml
from robot_dynamics_ros.base.statistics import root_mean_square
from robot_dynamics_ros.cli.command_line import (
    add_filter,
    add_json,
    add_list,
    add_output,
    add_recorded_robot,
    check_output,
    locked_joints,
    one_of,
    print_json,
    read_measured,
    read_series,
    table,
    wrapped,
)
from robot_dynamics_ros.cli.commands.torque import filtered_motion, torque_command
from robot_dynamics_ros.cli.kernels import IDENTIFY, load_torque_kernels
from robot_dynamics_ros.cli.thresholds import (
    DETERMINED_DEVIATION,
    LARGE_LOSS,
    LARGEST_HOLDOUT,
    SMALL_RESIDUAL,
)
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel

_TERMS = ("gravity_torque", "mass_matrix", "bias_torque")
_JOINT_KEYS = (*COEFFICIENTS, "rotor_inertia")


def add_identify(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments of identify."""
    parser.description = (
        "Identify the inertial parameters, rotor inertias and friction that explain the measured effort of "
        "recorded motions, and write them as a dynamics file. They are tested on the last part of each recording, or "
        "on other recordings. docs/identify.md lists the keys of --json."
    )
    parser.add_argument(
        "bags",
        type=Path,
        nargs="+",
        metavar="BAG",
        help="a bag's folder, or a .mcap or .db3 file",
    )
    add_recorded_robot(parser)
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the new dynamics file",
    )
    parser.add_argument(
        "--urdf",
        type=Path,
        metavar="FILE",
        help="new URDF: the robot's with the identified values",
    )
    parser.add_argument(
        "--mjcf",
        type=Path,
        metavar="FILE",
        help="new MJCF of bodies and joints, without shapes",
    )
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
    add_list(
        parser,
        "--friction",
        "KIND|JOINT=TERM[,TERM...]",
        f"friction to identify: one of {', '.join(FRICTION_KINDS)} for all joints (auto: viscous and Coulomb friction, "
        "and each further term that cross-validation favours in a joint; none: no friction; keep: the model's, "
        "unchanged; default: auto), and the terms of joints beside viscous and Coulomb friction, of "
        f"{', '.join(FORM_TERMS)} (directions: Coulomb friction by direction, and no offset of the effort)",
        _friction,
    )
    parser.add_argument(
        "--table",
        dest="csv",
        type=Path,
        metavar="FILE",
        help="new CSV file with errors of the test, offsets of the effort and base parameters",
    )
    add_filter(parser)
    add_json(parser)


def run_identify(arguments: Namespace) -> None:
    """Write the dynamics file, with --urdf and --mjcf these files, too; print the quality of the estimate.

    Raises RobotDynamicsError for bags and robots that cannot be used or read, for arguments out of range, if two
    outputs are the same file, and as ``check_output``.
    """
    if not 0.0 <= arguments.holdout <= LARGEST_HOLDOUT:
        raise RobotDynamicsError(
            f"--holdout {arguments.holdout:g} is out of range. Cure: give a share from 0 to {LARGEST_HOLDOUT:g}"
        )
    outputs = [
        path
        for path in (
            arguments.output,
            arguments.urdf,
            arguments.mjcf,
            arguments.csv,
        )
        if path is not None
    ]
    for path in outputs:
        check_output(arguments, path)
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise RobotDynamicsError(
            "--output, --urdf, --mjcf and --table name the same file. Cure: name a file for each"
        )
    first = arguments.bags[0]
    series, setup = read_measured(first, arguments)
    model = setup.model
    load_torque_kernels(model, IDENTIFY)
    # Long recordings: only one unfiltered series is in memory at a time.
    recorded = used = [filtered_motion(series, model, arguments)]
    del series
    used += [
        filtered_motion(read_series(bag, arguments), model, arguments)
        for bag in arguments.bags[1:]
    ]
    tested = [
        filtered_motion(read_series(bag, arguments), model, arguments)
        for bag in arguments.test
    ]
    test_data = ", ".join(str(bag) for bag in arguments.test)
    if not tested and arguments.holdout > 0.0:
        ends = [round((1.0 - arguments.holdout) * len(motion.time)) for motion in used]
        tested = [
            motion.part(slice(end, None))
            for motion, end in zip(used, ends, strict=True)
        ]
        used = [motion.part(slice(end)) for motion, end in zip(used, ends, strict=True)]
        test_data = f"the last {100 * arguments.holdout:.0f} % of each bag"
    given = dict(arguments.friction)
    friction = given.pop("", FRICTION_KINDS[0])
    identification = identify(model, used, friction, given)
    notes = _notes(identification, recorded)
    deviations = _deviations(identification)
    offsets = _offsets(identification, arguments.bags)
    document = dynamics_document(
        identification, load_yaml(setup.robot.dynamics_content()) or {}
    )
    write_dynamics_file(
        arguments.output,
        document,
        "\n".join(
            map(
                wrapped,
                [*_report(arguments, friction, identification, used), *offsets, *notes],
            )
        ).splitlines(),
        joint_comments={
            joint: f"std. dev.: {', '.join(f'{key} {value:.2g}' for key, value in row.items())}"
            for joint, row in deviations.items()
            if row
        },
        footer=parameter_table(identified_parameters(identification)),
        overwrite=arguments.overwrite,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the prior model has issued them already
        identified = replace(setup.robot, dynamics=str(arguments.output)).model(
            joints=model.joint_names, locked=setup.locked, gravity=setup.gravity
        )
    held_out = None
    if tested:
        found = identification.effort_offsets
        shifts = [found.mean(axis=0)] * len(tested) if arguments.test else found
        held_out = {
            "data": test_data,
            **_held_out(model, identified, tested, shifts),
        }
    facts = _facts(identification, _friction_rows(deviations, document["joints"])) | {
        "held_out": held_out
    }
    if files := _write_model_files(arguments, setup.robot.text, identified):
        facts["model_files"] = files
    if arguments.csv is not None:
        _write_table(arguments.csv, facts)
    if arguments.json:
        print_json({"dynamics_file": arguments.output, **facts, "notes": notes})
        return
    if held_out is not None:
        without = "without rest, where friction is undetermined"
        print(
            wrapped(f"held out: {test_data}, {held_out['samples']} samples, {without}")
        )
        print(_holdout_table(held_out["joints"], friction), end="\n\n")
    print(
        f"{facts['determined']} of {len(facts['base_parameters'])} base parameters are determined better than "
        f"{100 * DETERMINED_DEVIATION:.0f} %; the other inertias keep mostly the prior's values\n"
    )
    texts = [*_choices(identification), *offsets, *notes]
    print("\n".join([*_friction_table(facts["joints"]), *map(wrapped, texts)]).rstrip())
    if files:
        print(_files_report(files))
    print(
        f"\ndynamics file: {arguments.output} (comments: method, all base parameters)"
    )
    arguments.dynamics = arguments.output
    print(f"next: {torque_command(arguments, [*arguments.test, first][0])}")


def _facts(
    identification: Identification, friction: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the quality of the estimate, all base parameters, and ``friction``, the result of ``_friction_rows``."""
    estimate = identification.estimate
    model = identification.parameterization.model
    return {
        "samples": identification.samples,
        "condition": estimate.condition,
        "loss": identification.loss,
        "prior_weight": identification.weight,
        "determined": np.count_nonzero(
            estimate.deviations < DETERMINED_DEVIATION * np.abs(estimate.values)
        ),
        "base_parameters": [
            row._asdict() for row in identified_parameters(identification)
        ],
        "joints": friction,
        "friction_terms": dict(identification.reductions),
        "effort_offsets": [
            dict(zip(model.joint_names, row, strict=True))
            for row in identification.effort_offsets.tolist()
        ],
    }


def _held_out(
    model: RobotModel,
    identified: RobotModel,
    tested: list[RecordedMotion],
    offsets: Sequence[Array] | Array,
) -> dict[str, Any]:
    """Return the number of samples of the motions ``tested``, and errors of prior and ``identified`` model there.

    The error of the identified model is without the ``offsets`` (n,) of the effort, one for each motion. ``joints`` has
    each joint's RMS effort and errors (Nm or N), also those in motion and near reversals, and the share of the variance
    that the model explains; None if its friction is undetermined in all samples.
    """
    shifted = [
        replace(part, tau=part.tau - offset)
        for part, offset in zip(tested, offsets, strict=True)
    ]
    before = [analyse_torque(model, part) for part in tested]
    now = [analyse_torque(identified, part) for part in shifted]
    measured = np.concatenate([part.tau for part in tested])
    errors = [
        np.concatenate([analysis.residual for analysis in analyses])
        for analyses in (before, now)
    ]
    determined = np.concatenate([analysis.determined for analysis in before])
    reversing = np.concatenate([analysis.reversing for analysis in now])
    joints = []
    for j, name in enumerate(model.joint_names):
        rows = determined[:, j]
        near = reversing[:, j]
        spread = float(measured[rows, j].std()) if rows.any() else 0.0
        row = {
            "measured": _rms(measured[rows, j]),
            "error_before": _rms(errors[0][rows, j]),
            "error_now": _rms(errors[1][rows, j]),
            "error_moving": _rms(errors[1][rows & ~near, j]),
            "error_reversals": _rms(errors[1][rows & near, j]),
        }
        if spread > TINY:
            left = errors[1][rows, j]
            row["r2"] = 1.0 - (float(left.std()) / spread) ** 2
            row["nrmse"] = float(root_mean_square(left) / np.ptp(measured[rows, j]))
        joints.append({"joint": name, **row})
    return {"samples": len(determined), "joints": joints}


def _rms(values: Array) -> float | None:
    return float(root_mean_square(values)) if len(values) else None


def _write_table(path: Path, facts: dict[str, Any]) -> None:
    """Write a CSV file with a row for each quantity of the test, the offsets of the effort and the base parameters."""
    rows = [("all", key, facts[key]) for key in ("samples", "condition", "loss")]
    for entry in (facts["held_out"] or {"joints": []})["joints"]:
        rows += [(entry["joint"], key, x) for key, x in entry.items() if key != "joint"]
    for k, offsets in enumerate(facts["effort_offsets"], start=1):
        rows += [(joint, f"effort_offset_{k}", x) for joint, x in offsets.items()]
    for entry in facts["base_parameters"]:
        rows += [(entry["name"], key, x) for key, x in entry.items() if key != "name"]
        share = (
            entry["deviation"] / abs(entry["estimate"]) if entry["estimate"] else None
        )
        rows.append((entry["name"], "relative_deviation", share))
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item", "quantity", "value"), *rows])


def _friction(text: str) -> tuple[str, Any]:
    """Return "" and a kind of friction, or a joint and its form, of an argument of --friction."""
    joint, _, terms = text.rpartition("=")
    if not joint:
        return "", one_of(text, FRICTION_KINDS)
    names = terms.split(",")
    for name in names:
        if name not in FORM_TERMS:
            raise ArgumentTypeError(
                f"{name!r} is no term of friction. Cure: {use_one_of(name, FORM_TERMS)}"
            )
    return joint, frozenset(FORM_TERMS[name] for name in names)


def _choices(identification: Identification) -> list[str]:
    """Return a sentence on the terms of friction beside viscous and Coulomb friction; nothing if none is identified."""
    terms = [
        f"{name} {100.0 * share:.0f} %"
        for name, share in identification.reductions.items()
    ]
    reason = "terms beside viscous and Coulomb friction, by which the cross-validated error falls"
    return [f"{reason}: {', '.join(terms)}", ""] if terms else []


def _offsets(identification: Identification, bags: Sequence[Path]) -> list[str]:
    """Return a paragraph on the offsets of the effort in each bag; nothing without any."""
    estimate = identification.estimate
    model = identification.parameterization.model
    lines = []
    for bag, values, deviations in zip(
        bags, identification.effort_offsets, estimate.offset_deviations, strict=True
    ):
        found = [
            f"{joint} {value:.3g} +- {2.0 * deviation:.2g}"
            for joint, value, deviation in zip(
                model.joint_names, values.tolist(), deviations.tolist(), strict=True
            )
            if abs(value) > 2.0 * deviation
        ]
        if found:
            lines.append(f"effort offset in {bag} (Nm or N): {', '.join(found)}.")
    if lines:
        lines.append(
            "note: offsets belong to a recording: they are not in the file, and no command has them. If they are "
            "errors of the sensors, zero these. If friction of the robot differs by direction, give --friction "
            "JOINT=auto,directions"
        )
    if identification.undetermined_offsets:
        names = ", ".join(identification.undetermined_offsets)
        lines.append(
            f"effort offset undetermined: {names}. The motion does not distinguish it from gravity or from friction; "
            "it is taken as 0 if a weight explains it. Cure: record motions of these joints over a larger range, in "
            "both directions"
        )
    return lines


def _write_model_files(
    arguments: Namespace, urdf: str | bytes, model: RobotModel
) -> dict[str, Any]:
    """Write the files of --urdf and --mjcf; return their paths, differences and lost properties, empty without them."""
    texts = {}
    for kind, path, text in (
        ("urdf", arguments.urdf, urdf_text),
        ("mjcf", arguments.mjcf, mjcf_text),
    ):
        if path is not None:
            texts[kind] = text(urdf, model)
            path.write_text(texts[kind], encoding="utf-8")
    if not texts:
        return {}
    found = {}
    if set(model.moving_joints) == set(model.joint_names):
        found = differences(model, texts.get("urdf"), texts.get("mjcf"))
    rows = [
        {"loaded": name, **dict(zip(_TERMS, values, strict=True))}
        for name, values in found.items()
    ]
    return {
        "urdf": arguments.urdf,
        "mjcf": arguments.mjcf,
        "differences": rows,
        "lost": lost_properties(model),
    }


def _files_report(files: dict[str, Any]) -> str:
    """Return a table of the differences in the result of ``_write_model_files``, and the lost properties."""
    lines = []
    if rows := [
        [row["loaded"], *(f"{row[key]:.1e}" for key in _TERMS)]
        for row in files["differences"]
    ]:
        header = ["difference, relative", *(key.replace("_", " ") for key in _TERMS)]
        lines = [
            "",
            table(header, rows),
            "largest ones from the dynamics file at ten random states, without friction",
        ]
    lines += [wrapped(f"note: {line}") for line in files["lost"]]
    lines += [
        "",
        *(f"{kind.upper()}: {files[kind]}" for kind in ("urdf", "mjcf") if files[kind]),
    ]
    return "\n".join(lines)


def _report(
    arguments: Namespace,
    friction: str,
    identification: Identification,
    used: Sequence[RecordedMotion],
) -> list[str]:
    """Return paragraphs on the data, the method and the quality of the estimate."""
    estimate = identification.estimate
    share = (
        ""
        if arguments.test or arguments.holdout == 0.0
        else f"the first {100 * (1 - arguments.holdout):.0f} % of "
    )
    return [
        "Made by robot_dynamics identify.",
        f"identified from {share}{', '.join(str(bag) for bag in arguments.bags)}",
        f"filter: {used[0].smoothing}",
        *filter(None, [locked_joints(identification.parameterization.model)]),
        f"{len(estimate.values)} base parameters from {identification.samples} torques; condition number "
        f"{estimate.condition:.3g}; friction: {friction}",
        f"physically consistent inertias: the residual is {100 * identification.loss:.1f} % larger than that of "
        f"unconstrained least squares; weight of the prior model {identification.weight:g}",
        "Links that are fixed to another link are merged into it: they have mass 0 here.",
        "Behind each joint: standard deviations of the unconstrained estimates. At the end: all base parameters.",
    ]


def _notes(
    identification: Identification, recorded: Sequence[RecordedMotion]
) -> list[str]:
    """Return warnings and notes on data and estimate, a paragraph each."""
    estimate = identification.estimate
    model = identification.parameterization.model
    lines = list[str]()
    residual = (1.0 + identification.loss) * estimate.noise
    large = residual > SMALL_RESIDUAL * root_mean_square(
        np.concatenate([motion.tau for motion in recorded])
    )
    if identification.loss > LARGE_LOSS and large.any():
        lines.append(
            "hint: no physical robot produces these torques; run robot_dynamics torque for probable causes"
        )
    if estimate.still:
        lines.append(
            f"note: {', '.join(estimate.still)} does not move. Its effort is not used, its friction in the file is the "
            "prior model's, and the links at it are identified as one body. Cure: record a motion of all joints"
        )
    if unseen := [
        name
        for name in estimate.unseen
        if name.rpartition(".")[0] not in estimate.still
    ]:
        lines.append(
            f"note: the motion does not excite {', '.join(unseen)}: these have the values of the prior model, a "
            "direction of Coulomb friction that of the other direction"
        )
    if model.payload_link is not None:
        lines.append(
            f"note: the payload on {model.payload_link} is assumed known: it remains in the file"
        )
        causes = hints(model, analyse_torque(model, recorded[0]))
        lines += [
            f"warning: the data contradict the payload: {cause}"
            for cause in causes
            if "payload" in cause
        ]
    return lines


def _deviations(identification: Identification) -> dict[str, dict[str, float]]:
    """Return standard deviations of friction and rotors by joint and key in the dynamics file."""
    estimate = identification.estimate
    pairs = zip(estimate.base.names, estimate.deviations, strict=True)
    known = {
        name.replace(" rotor.inertia", ".rotor_inertia"): float(deviation)
        for name, deviation in pairs
    }
    return {
        joint: {
            key: known[f"{joint}.{key}"]
            for key in _JOINT_KEYS
            if f"{joint}.{key}" in known
        }
        for joint in identification.parameterization.model.moving_joints
    }


def _friction_rows(
    deviations: dict[str, dict[str, float]], joints: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return for each joint in the file ``value`` and ``deviation`` of friction and rotor, None where it has none.

    Only keys identified in some joint are included.
    """
    keys = [
        key for key in _JOINT_KEYS if any(key in row for row in deviations.values())
    ]
    rows = []
    for joint, known in deviations.items():
        values = dict(joints[joint])
        for parameter in IDENTIFIED:
            if isinstance(inner := values.get(parameter.group), dict):
                values[parameter.group] = inner.get(parameter.name)
        cells = {
            k: {"value": values[k], "deviation": known.get(k)}
            if values.get(k)
            else None
            for k in keys
        }
        rows.append({"joint": joint, **cells})
    return rows


def _friction_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table of ``_friction_rows``; nothing if no friction or rotor was identified."""
    keys = list(rows[0])[1:]
    cells = [
        [row["joint"], *(_friction_cell(row[key]) for key in keys)] for row in rows
    ]
    return (
        [
            "friction and rotors in the file (SI units; std. dev.)",
            table(["", *keys], cells),
            "",
        ]
        if keys
        else []
    )


def _friction_cell(entry: dict[str, float | None] | None) -> str:
    if entry is None:
        return "-"
    deviation = entry["deviation"]
    return f"{entry['value']:.3g} ({'-' if deviation is None else f'{deviation:.2g}'})"


def _holdout_table(held_out: Sequence[dict[str, Any]], friction: str) -> str:
    """Return a table of the ``joints`` of ``_held_out``, with errors in % of the effort too, and a verdict.

    ``friction`` is the value of --friction.
    """
    rows = []
    worse = list[str]()
    count = 0
    for entry in held_out:
        name, size, old, new, moving, reversals = list(entry.values())[:6]
        if size is None:
            rows.append([name, *["-"] * 7])
            continue
        parts = ["-" if x is None else f"{x:.3f}" for x in (moving, reversals)]
        shares = [
            f"{100 * error / size:.1f} %" if size > TINY else "-"
            for error in (old, new)
        ]
        errors = [f"{old:.3f}", shares[0], f"{new:.3f}", shares[1]]
        rows.append([name, f"{size:.3f}", *errors, *parts])
        worse = worse + [name] * (new >= old)
        count = count + 1
    header = [
        "RMS of",
        "measured",
        "error before",
        "",
        "now",
        "",
        "moving",
        "reversals",
    ]
    lines = [table(header, rows)]
    exceptions = f", not in {', '.join(worse)}" if worse else ""
    lines.append(
        wrapped(
            f"the error is smaller in {count - len(worse)} of {count} joints{exceptions}"
        )
    )
    if len(worse) > count - len(worse):
        keep = "if the prior's friction is right, as in a simulation of it, give --friction keep; else "
        hint = "record a longer motion that moves all joints fast and slowly, far and in all directions"
        lines.append(wrapped(f"hint: {'' if friction == 'keep' else keep}{hint}"))
    return "\n".join(lines)
