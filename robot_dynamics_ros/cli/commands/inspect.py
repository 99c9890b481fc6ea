"""robot_dynamics inspect: print the properties of a robot model as tables, or as the JSON of docs/inspect.md.

``run_inspect`` takes the parsed arguments that ``add_inspect`` declares.
"""

from __future__ import annotations

import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.cli.command_line import (
    add_joints,
    add_json,
    add_named_robot,
    command_text,
    print_json,
    table,
    wrapped,
)
from robot_dynamics_ros.cli.model_facts import (
    FRICTION_TERMS,
    RATE_LIMITS,
    Facts,
    model_facts,
    without_rounding,
)
from robot_dynamics_ros.cli.named_robots import chosen_model, named_robot
from robot_dynamics_ros.cli.textbook_forms import (
    add_textbook_forms,
    textbook_facts,
    textbook_sections,
)
from robot_dynamics_ros.cli.thresholds import PRINTED_ZERO

_MAX_COLUMNS = 8  # joints for which the mass matrix fits the width of a screen


def add_inspect(parser: ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Inspect any robot, shipped or your own URDF/xacro: joints, limits, masses, inertias, friction, rotors and "
        "couplings. Prints the mass matrix and the gravity torque relative to the effort limits, at one state and "
        "over the joint range, and notes on missing or implausible data, with cures. --equations prints the "
        "equations of motion, --trace the steps of Newton-Euler. docs/inspect.md explains the tables and the keys of "
        "--json."
    )
    add_named_robot(parser)
    add_joints(parser)
    parser.add_argument(
        "--state",
        type=float,
        nargs="+",
        metavar="Q",
        help="joint positions, rad or m, in the order of the table (default: 0, or the nearest limit)",
    )
    add_textbook_forms(parser)
    add_json(parser)


def run_inspect(arguments: Namespace) -> None:
    """Print the model that ``arguments`` select, as tables or JSON.

    Raises RobotDynamicsError if it cannot be read, an option does not fit it, or SymPy is missing for formulas.
    """
    source = named_robot(arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = chosen_model(source, arguments)
    q = model.limit_rows.within(np.zeros(model.n))
    if arguments.state is not None:
        q = model.vector("--state", arguments.state)
        if not np.isfinite(q).all():
            raise RobotDynamicsError(
                f"--state {arguments.state}: not finite. Cure: give {model.n} finite numbers"
            )
    forms = textbook_facts(model, arguments)  # first, because it may fail
    messages = [str(warning.message) for warning in caught]
    facts = model_facts(source, model, q, messages) | forms
    if arguments.json:
        print_json(facts)
        return
    sections = [*_sections(facts, arguments)]
    if arguments.joints is None:
        view, simulate = (
            command_text(name, arguments, arguments.robot)
            for name in ("view", "simulate")
        )
        sections.append(f"next: {view}\n      {simulate}")
    print("\n\n".join(sections))


def _sections(facts: Facts, arguments: Namespace) -> Iterator[str]:
    """Yield tables, equations and notes as text."""
    yield _summary(facts)
    limits = ["kind", "lower", "upper", "velocity", "effort"]
    limits += [
        rate for rate in RATE_LIMITS if any(rate in joint for joint in facts["joints"])
    ]
    yield _table(
        ["joint", *limits],
        [[joint.get(key) for key in ("name", *limits)] for joint in facts["joints"]],
    )
    axes = ["x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz"]
    title = "moving links, with the links fixed to them: centre of mass, and inertia about it, in link axes"
    yield f"{title}\n{_table(['link', 'joint', 'mass', *axes], facts['bodies'])}"
    friction = [
        entry
        for entry in facts["friction"]
        if entry["joint"] not in facts["joints_without_friction"]
    ]
    if friction:
        terms = [
            term for term in FRICTION_TERMS if any(entry[term] for entry in friction)
        ]
        rows = [
            [entry["joint"], *(entry[term] for term in terms)] for entry in friction
        ]
        yield _table(
            ["friction of", *(term.removeprefix("coulomb_") for term in terms)], rows
        )
    if facts["rotors"]:
        rotors = [
            {**rotor, "carrier": rotor["carrier"] or "base or none"}
            for rotor in facts["rotors"]
        ]
        yield _table(["rotor", "on", "inertia", "reflected", "rate"], rotors)
    if constraints := _constraints(facts):
        yield "\n".join(constraints)
    yield _at_state(facts)
    yield _range_text(facts)
    count = facts["parameters"]
    yield (
        f"identification: {count['base']} base parameters, combinations of {count['effective']} of the "
        f"{count['inertial']} inertial parameters"
    )
    yield from textbook_sections(facts, arguments)
    notes = [
        f"note: {note['message']}" + (f". Cure: {note['cure']}" if note["cure"] else "")
        for note in facts["notes"]
    ]
    yield (
        "\n".join(map(wrapped, notes))
        if notes
        else "notes: none; no data are missing or implausible"
    )


def _summary(facts: Facts) -> str:
    mass = facts["mass"]
    gravity = " ".join(f"{x:g}" for x in facts["gravity"])
    lines = [
        f"{facts['robot']}: {len(facts['joints'])} joints, {mass['moving']:.4g} kg move of {mass['total']:.4g} kg, "
        f"gravity {gravity} m/s^2"
    ]
    if facts["locked"]:
        lines.append(
            wrapped(
                f"locked: {', '.join(f'{name} {value:g}' for name, value in facts['locked'].items())}"
            )
        )
    lines.append("units: rad or m, Nm or N, kg, kg m^2; - is no limit")
    return "\n".join(lines)


def _constraints(facts: Facts) -> list[str]:
    joints: dict[str, list[str]] = {}
    for coupling in facts["couplings"]:
        joints.setdefault(_rates(coupling["follows"]), []).append(coupling["joint"])
    lines = [
        wrapped(
            f"coupling: {', '.join(names)} {'moves' if len(names) == 1 else 'move'} at {rates}"
        )
        for rates, names in joints.items()
    ]
    return lines + [
        f"loop: link {loop['link_a']} stays with link {loop['link_b']}"
        for loop in facts["loops"]
    ]


def _at_state(facts: Facts) -> str:
    pose = facts["pose"]
    whole = len(facts["joints"]) <= _MAX_COLUMNS
    torques, matrix = (
        without_rounding(np.array(pose[key])) for key in ("gravity", "mass_matrix")
    )
    columns = (
        facts["joints"],
        pose["position"],
        torques,
        pose["gravity_percent"],
        matrix.tolist(),
    )
    rows = [
        [joint["name"], q, torque, _percent(share), row if whole else row[i]]
        for i, (joint, q, torque, share, row) in enumerate(zip(*columns, strict=True))
    ]
    condition = pose["condition"]
    last = (
        "M is singular"
        if condition is None
        else f"condition number of M: {condition:.4g}"
    )
    title = "gravity torque, its share of the effort limit, and the mass matrix M, at the state q"
    header = ["joint", "q", "gravity", "of limit", "M" if whole else "diagonal of M"]
    return f"{title}\n{_table(header, rows)}\n{last}"


def _range_text(facts: Facts) -> str:
    extremes = facts["range"]
    condition = facts["range"]["condition"]
    n = len(facts["joints"])
    whole = n <= _MAX_COLUMNS
    rows = []
    for entry in extremes["gravity"]:
        position = _short(entry["position"]) if entry["torque"] else [""] * n
        rows.append(
            [
                entry["joint"],
                entry["torque"],
                _percent(entry["percent"]),
                *([position] if whole else []),
            ]
        )
    values = (condition[key] for key in ("minimum", "median", "maximum"))
    least, median, most = (
        "singular" if value is None else f"{value:.4g}" for value in values
    )
    at = f" at q = {', '.join(_short(condition['position']))}" if whole else ""
    table_text = _table(
        ["most gravity", "torque", "of limit", *(["at q"] if whole else [])], rows
    )
    range_text = wrapped(
        f"condition number of M: smallest {least}, median {median}, largest {most}{at}"
    )
    source = (
        f"from {extremes['samples']} random states (seed {extremes['seed']}) within the position limits, +-pi or +-1 m "
        "where there are none; the gravity torque is then maximized joint by joint"
    )
    return f"largest gravity torque of each joint in its range\n{table_text}\n{range_text}\n{wrapped(source)}"


def _table(header: Sequence[str], entries: Sequence[Facts | Sequence[Any]]) -> str:
    """Return a table of the values of each entry; columns beyond the header belong to the last heading."""
    rows = [
        _cells(entry.values() if isinstance(entry, dict) else entry)
        for entry in entries
    ]
    return table([*header, *[""] * (len(rows[0]) - len(header))], rows)


def _cells(values: Iterable[Any]) -> list[str]:
    """Return the values as text; a vector gives one cell for each element."""
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
            cells.append(f"{value:.4g}" if abs(value) > PRINTED_ZERO else "0")
    return cells


def _rates(factors: Mapping[str, float]) -> str:
    return " ".join(f"{x:+.6g} {name}" for name, x in factors.items()).removeprefix("+")


def _short(values: Sequence[float]) -> list[str]:
    return [f"{round(value, 2) + 0.0:.2f}" for value in values]


def _percent(share: float | None) -> str:
    return (
        "-" if share is None else f"{share:.1f} %" if share < 9.95 else f"{share:.0f} %"
    )
