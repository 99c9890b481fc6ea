"""robot_dynamics inspect: the properties of a robot's model as tables, or as JSON."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.cli.command_line import pair, table, wrapped
from robot_dynamics_ros.cli.inspect_facts import Facts, collect
from robot_dynamics_ros.cli.robot_source import add_named_robot, named_robot
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.formulations.closed_form import MOST_JOINTS
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel

_ROUNDING = 1e-14
_MAX_COLUMNS = 8  # joints, of which a row of a table still fits a screen


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Declare description and arguments."""
    parser.description = (
        "Shows the joints, limits, masses, inertias, friction, rotors and couplings of a robot as the "
        "model has them; mass matrix, and gravity torque against the effort limits, at a state and over the joints' "
        "range; what is missing or odd, with cures; and on request the equations of motion as formulas."
    )
    parser.epilog = "docs/inspect.md explains the tables and the keys of --json."
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


def _position(text: str) -> tuple[str, float]:
    name, value = pair(text, "NAME=VALUE")
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE") from None


def run_inspect(arguments: argparse.Namespace) -> None:
    """Print the model; RobotDynamicsError for a robot that cannot be read, or has too many joints for formulas."""
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
    messages = [str(warning.message) for warning in caught]
    facts = collect(source, model, q, dict.fromkeys(others, 0.0) | locked, messages, arguments.equations)
    print(json.dumps(facts, indent=2, allow_nan=False) if arguments.json else "\n\n".join(_sections(facts)))


def _state(arguments: argparse.Namespace, model: RobotModel) -> Array:
    if arguments.state is None:
        return np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    q = model.vector("--state", arguments.state)
    if not np.isfinite(q).all():
        raise RobotDynamicsError(f"--state {arguments.state}: not finite. Cure: give {model.n} finite numbers")
    return q


def _sections(facts: Facts) -> Iterator[str]:
    """Yield tables, equations and notes as text."""
    yield _summary(facts)
    yield _table(["joint", "kind", "lower", "upper", "velocity", "effort"], facts["joints"])
    axes = ["x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz"]
    yield _table(["body", "moved by", "mass", *axes], facts["bodies"])
    friction = [entry for entry in facts["friction"] if entry["joint"] not in facts["joints_without_friction"]]
    if friction:
        header = ["friction of", "viscous", "coulomb", "negative", "static", "ripple", "sigmoid"]
        yield _table(header, friction)
    if facts["rotors"]:
        rotors = [{**rotor, "carrier": rotor["carrier"] or "base or none"} for rotor in facts["rotors"]]
        yield _table(["rotor", "on", "inertia", "reflected", "rate"], rotors)
    if constraints := _constraints(facts):
        yield "\n".join(constraints)
    count = facts["parameters"]
    yield (
        f"parameters: the torque depends on {count['base']} base parameters, combinations of {count['effective']} of "
        f"{count['inertial']} inertial ones"
    )
    yield _at_state(facts)
    yield _over_range(facts)
    if facts["equations"] is not None:
        yield from _equations(facts)
    notes = [
        f"note: {note['message']}" + (f". Cure: {note['cure']}" if note["cure"] else "") for note in facts["notes"]
    ]
    yield "\n".join(map(wrapped, notes)) if notes else "notes: none; nothing is missing or odd"


def _summary(facts: Facts) -> str:
    mass, gravity = facts["mass"], " ".join(f"{x:g}" for x in facts["gravity"])
    lines = [
        f"{facts['robot']}: {len(facts['joints'])} joints, {mass['moving']:.4g} kg move of {mass['total']:.4g} kg, "
        f"gravity {gravity} m/s^2"
    ]
    if facts["locked"]:
        lines.append(wrapped(f"locked: {', '.join(f'{name} {value:g}' for name, value in facts['locked'].items())}"))
    lines.append("rad or m, Nm or N, kg, kg m^2; inertias about the centre of mass, in link axes; - is no limit")
    return "\n".join(lines)


def _constraints(facts: Facts) -> list[str]:
    joints: dict[str, list[str]] = {}
    for coupling in facts["couplings"]:
        joints.setdefault(_rates(coupling["follows"]), []).append(coupling["joint"])
    lines = [
        wrapped(f"coupling: {', '.join(names)} {'moves' if len(names) == 1 else 'move'} at {rates}")
        for rates, names in joints.items()
    ]
    return lines + [f"loop: link {loop['link_a']} stays with link {loop['link_b']}" for loop in facts["loops"]]


def _at_state(facts: Facts) -> str:
    pose, whole = facts["pose"], len(facts["joints"]) <= _MAX_COLUMNS
    columns = (facts["joints"], pose["position"], pose["gravity"], pose["gravity_percent"], pose["mass_matrix"])
    rows = [
        [joint["name"], q, torque, _percent(share), row if whole else row[i]]
        for i, (joint, q, torque, share, row) in enumerate(zip(*columns, strict=True))
    ]
    condition = pose["condition"]
    last = "M is singular" if condition is None else f"condition number of M: {condition:.4g}"
    return f"{_table(['at', 'q', 'gravity', 'of limit', 'M' if whole else 'diagonal of M'], rows)}\n{last}"


def _over_range(facts: Facts) -> str:
    extremes, n = facts["range"], len(facts["joints"])
    whole = n <= _MAX_COLUMNS
    rows = []
    for entry in extremes["gravity"]:
        position = _short(entry["position"]) if entry["torque"] else [""] * n
        row = [entry["joint"], entry["torque"], _percent(entry["percent"])]
        rows.append([*row, position] if whole else row)
    condition = extremes["condition"]
    values = (condition[key] for key in ("minimum", "median", "maximum"))
    least, median, most = ("singular" if value is None else f"{value:.4g}" for value in values)
    at = f" at q = {', '.join(_short(condition['position']))}" if whole else ""
    lines = [
        _table(["most gravity", "torque", "of limit", *(["at q"] if whole else [])], rows),
        wrapped(f"condition number of M: smallest {least}, median {median}, largest {most}{at}"),
        wrapped(
            f"by {extremes['samples']} random states (seed {extremes['seed']}) between the position limits, or +-pi "
            "and +-1 m; gravity's further improved joint by joint"
        ),
    ]
    return "\n".join(lines)


def _equations(facts: Facts) -> Iterator[str]:
    names = [
        f"{symbol} = {name} ({'m' if symbol.startswith('d') else 'rad'})"
        for symbol, name in facts["equations"]["symbols"].items()
    ]
    yield wrapped(f"M(q) q'' + V(q, q') + G(q) = tau, with {', '.join(names)}, c1 = cos(q1), s12 = sin(q1 + q2)")
    if facts["loops"]:
        yield "loops are cut open in these equations"
    yield "\n".join(map(wrapped, facts["equations"]["lines"]))


def _table(header: Sequence[str], entries: Sequence[Facts | Sequence[Any]]) -> str:
    """Return a table of the values of each entry; the columns beyond the header belong to its last one."""
    rows = [_cells(entry.values() if isinstance(entry, dict) else entry) for entry in entries]
    return table([*header, *[""] * (len(rows[0]) - len(header))], rows)


def _cells(values: Iterable[Any]) -> list[str]:
    """Return values as text; vectors are a cell for each number."""
    cells = []
    for value in values:
        if isinstance(value, list):
            cells += _cells(value)
        elif isinstance(value, dict):
            cells.append(_rates(value))
        elif isinstance(value, str):
            cells.append(value)
        elif value is None:
            cells.append("-")
        else:
            cells.append(f"{value:.4g}" if abs(value) > _ROUNDING else "0")
    return cells


def _rates(factors: Mapping[str, float]) -> str:
    return " ".join(f"{x:+.6g} {name}" for name, x in factors.items()).removeprefix("+")


def _short(values: Sequence[float]) -> list[str]:
    return [f"{round(value, 2) + 0.0:.2f}" for value in values]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1f} %" if share < 9.95 else f"{share:.0f} %"
