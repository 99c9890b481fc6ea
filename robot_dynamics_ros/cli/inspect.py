"""The facts of a robot's model as a person reads them."""

from __future__ import annotations

import argparse
import json
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.cli.arguments import add_named_robot, named_robot
from robot_dynamics_ros.cli.inspect_facts import Facts, FrictionFacts, collect
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.formulations.closed_form import MOST_JOINTS
from robot_dynamics_ros.model import RobotModel

_WIDTH = 110
_ROUNDING = 1e-14
_MOST_COLUMNS = 8  # joints, of which a row of a table still fits a screen


def show(facts: Facts) -> str:
    """Return everything as text: tables, the equations, and what there is to note."""
    parts = [_summary(facts), _joints(facts), _bodies(facts), *_drives(facts), _parameters(facts)]
    parts += [_at_state(facts), _over_range(facts), *_equations(facts), _notes(facts)]
    return "\n\n".join(parts)


def _summary(facts: Facts) -> str:
    gravity = " ".join(f"{x:g}" for x in facts.gravity)
    lines = [
        f"{facts.robot}: {len(facts.joints)} joints, {facts.mass.moving:.4g} kg move of {facts.mass.total:.4g} kg, "
        f"gravity {gravity} m/s^2"
    ]
    if facts.locked:
        lines.append(_wrapped(f"locked: {', '.join(f'{name} {value:g}' for name, value in facts.locked.items())}"))
    lines.append("rad or m, Nm or N, kg, kg m^2; inertias about the centre of mass, in link axes; - is no limit")
    return "\n".join(lines)


def _joints(facts: Facts) -> str:
    rows = [
        [joint.name, joint.kind, *map(_number, (joint.lower, joint.upper, joint.velocity, joint.effort))]
        for joint in facts.joints
    ]
    return _table(["joint", "kind", "lower", "upper", "velocity", "effort"], rows)


def _bodies(facts: Facts) -> str:
    rows = [[body.link, body.joint, *map(_number, (body.mass, *body.com, *body.inertia))] for body in facts.bodies]
    return _table(["body", "moved by", "mass", *"xyz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz"], rows)


def _drives(facts: Facts) -> Iterator[str]:
    """Friction, rotors, couplings and loops, where there are any."""
    worn = [entry for entry in facts.friction if entry.joint not in facts.joints_without_friction]
    if worn:
        yield _friction(worn)
    if facts.rotors:
        rows = [
            [
                rotor.name,
                rotor.carrier or "base or none",
                _number(rotor.inertia),
                _number(rotor.reflected_inertia),
                _rates(rotor.ratio),
            ]
            for rotor in facts.rotors
        ]
        yield _table(["rotor", "on", "inertia", "reflected", "rate"], rows)
    alike: dict[str, list[str]] = {}
    for coupling in facts.couplings:
        alike.setdefault(_rates(coupling.follows), []).append(coupling.joint)
    lines = [
        _wrapped(f"coupling: {', '.join(names)} {'moves' if len(names) == 1 else 'move'} at {rates}")
        for rates, names in alike.items()
    ]
    lines += [f"loop: link {loop.link_a} stays with link {loop.link_b}" for loop in facts.loops]
    if lines:
        yield "\n".join(lines)


def _friction(worn: Sequence[FrictionFacts]) -> str:
    rows = [
        [
            entry.joint,
            *map(
                _number,
                (entry.viscous, entry.coulomb, entry.coulomb_negative, entry.static, entry.ripple, entry.sigmoid),
            ),
        ]
        for entry in worn
    ]
    return _table(["friction of", "viscous", "coulomb", "negative", "static", "ripple", "sigmoid"], rows)


def _rates(factors: Mapping[str, float]) -> str:
    return " ".join(f"{x:+.6g} {name}" for name, x in factors.items()).removeprefix("+")


def _parameters(facts: Facts) -> str:
    count = facts.parameters
    return (
        f"parameters: the torque depends on {count.base} base parameters, combinations of {count.effective} of "
        f"{count.inertial} inertial ones"
    )


def _at_state(facts: Facts) -> str:
    pose, n = facts.pose, len(facts.joints)
    whole = n <= _MOST_COLUMNS
    rows = [
        [
            joint.name,
            *map(_number, (position, torque)),
            _percent(share),
            *map(_number, line if whole else line[i : i + 1]),
        ]
        for i, (joint, position, torque, share, line) in enumerate(
            zip(facts.joints, pose.position, pose.gravity, pose.gravity_percent, pose.mass_matrix, strict=True)
        )
    ]
    matrix = ["M", *[""] * (n - 1)] if whole else ["diagonal of M"]
    said = "M is singular" if pose.condition is None else f"condition number of M: {pose.condition:.4g}"
    return f"{_table(['at', 'q', 'gravity', 'of limit', *matrix], rows)}\n{said}"


def _over_range(facts: Facts) -> str:
    found, n = facts.range, len(facts.joints)
    whole = n <= _MOST_COLUMNS
    header = ["most gravity", "torque", "of limit", *(["at q", *[""] * (n - 1)] if whole else [])]
    rows = [
        [entry.joint, _number(entry.torque), _percent(entry.percent)]
        + ([] if not whole else _short(entry.position) if entry.torque else [""] * n)
        for entry in found.gravity
    ]
    condition = found.condition
    spread = [condition.minimum, condition.median, condition.maximum]
    least, median, most = ("singular" if value is None else f"{value:.4g}" for value in spread)
    at = f" at q = {', '.join(_short(condition.position))}" if whole else ""
    lines = [
        _table(header, rows),
        _wrapped(f"condition number of M: smallest {least}, median {median}, largest {most}{at}"),
        _wrapped(
            f"by {found.samples} random states (seed {found.seed}) between the position limits, or +-pi and +-1 m; "
            "gravity's further improved joint by joint"
        ),
    ]
    return "\n".join(lines)


def _equations(facts: Facts) -> Iterator[str]:
    if facts.equations is None:
        return
    names = [
        f"{symbol} = {name} ({'m' if symbol.startswith('d') else 'rad'})"
        for symbol, name in facts.equations.symbols.items()
    ]
    yield _wrapped(f"M(q) q'' + V(q, q') + G(q) = tau, with {', '.join(names)}, c1 = cos(q1), s12 = sin(q1 + q2)")
    if facts.loops:
        yield "loops are cut open in these equations"
    yield "\n".join(map(_wrapped, facts.equations.lines))


def _notes(facts: Facts) -> str:
    if not facts.notes:
        return "notes: none; nothing is missing or odd"
    cured = [f"note: {note.message}" + (f". Cure: {note.cure}" if note.cure else "") for note in facts.notes]
    return "\n".join(map(_wrapped, cured))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if abs(value) > _ROUNDING else "0"


def _short(values: Sequence[float]) -> list[str]:
    return [f"{round(value, 2) + 0.0:.2f}" for value in values]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1f} %" if share < 9.95 else f"{share:.0f} %"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need; numbers to the right, the first column to the left."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in [header, *rows]:
        cells = [f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([f"{row[0]:<{widths[0]}}", *cells[1:]]).rstrip())
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "inspect",
        help="show what a robot's model holds and lacks, and its equations of motion",
        description="Shows the joints, limits, masses, inertias, friction, rotors and couplings of a robot as the "
        "model has them; mass matrix, and gravity torque against the effort limits, at a state and over the joints' "
        "range; what is missing or odd, with cures; and on request the equations of motion as formulas.",
        epilog="docs/inspect.md explains the tables and the keys of --json.",
    )
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print what the model is; raises RobotDynamicsError for what cannot be read, or has too many joints."""
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
    said = [str(warning.message) for warning in caught]
    facts = collect(source, model, q, dict.fromkeys(others, 0.0) | locked, said, arguments.equations)
    print(json.dumps(asdict(facts), indent=2, allow_nan=False) if arguments.json else show(facts))


def _state(arguments: argparse.Namespace, model: RobotModel) -> NDArray[np.float64]:
    if arguments.state is None:
        return np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    q = model.vector("--state", arguments.state)
    if not np.isfinite(q).all():
        raise RobotDynamicsError(f"--state {arguments.state}: not finite. Cure: give {model.n} finite numbers")
    return q


def _position(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        if equals and name:
            return name, float(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
