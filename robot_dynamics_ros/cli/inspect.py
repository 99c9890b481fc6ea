"""robot_dynamics inspect: what the model of a robot holds, what it lacks, and its equations of motion."""

from __future__ import annotations

import argparse
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.cli.first_run import compilation_announced
from robot_dynamics_ros.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.formulations.closed_form import closed_form
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.formulations.minimal_parameters import minimal_parameters
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.kernels.regressor import PARAMETERS
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.resources import robot_dynamics_file, robot_names, robot_urdf

_WIDTH = 110
_ROUNDING = 1e-14
_FRICTION = {
    "viscous": layout.VISCOUS,
    "coulomb": layout.COULOMB,
    "negative": layout.COULOMB_NEGATIVE,
    "static": layout.STATIC,
    "ripple": layout.RIPPLE_AMPLITUDE,
    "sigmoid": layout.SIGMOID_AMPLITUDE,
}


def add_parser(commands: Any) -> None:
    """Add the subcommand to the parser's subparsers."""
    parser = commands.add_parser(
        "inspect",
        help="show what a robot's model holds and lacks, and its equations of motion",
        description="Shows the joints, limits, masses, inertias, friction, rotors and couplings of a robot as the "
        "model has them, what is missing or odd, how many parameters its torque depends on, and mass matrix and "
        "gravity torque at a state; and on request its equations of motion as formulas.",
    )
    parser.add_argument("robot", metavar="ROBOT|URDF", help=f"one of {', '.join(robot_names())}, or a URDF file")
    parser.add_argument("--dynamics", metavar="FILE", help="dynamics file (default: that of ROBOT; none: do without)")
    parser.add_argument(
        "--state",
        type=float,
        nargs="+",
        metavar="Q",
        help="joint positions, rad or m, in the order that is shown (default: 0, or the limit next to it)",
    )
    parser.add_argument("--equations", action="store_true", help="print M, V and G as formulas (up to 4 joints)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print what the model is; raises RobotDynamicsError for what cannot be read, or has too many joints."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = _load(arguments.robot, arguments.dynamics)
    if arguments.state is None:
        q = np.clip(np.zeros(model.n), model.position_lower, model.position_upper)
    else:
        q = model.vector("--state", arguments.state)
        if not np.isfinite(q).all():
            raise RobotDynamicsError(f"--state {arguments.state}: not finite. Cure: give {model.n} finite numbers")
    equations = list(_equations(model)) if arguments.equations else []
    with compilation_announced("inspect"):
        parts = [_summary(model), _joints(model), _bodies(model), *_drives(model)]
        parts += [_parameters(model), _at_state(model, q)]
    parts += equations
    oddities = [str(warning.message) for warning in caught] + list(_missing(model))
    parts.append(
        "\n".join(_wrapped(f"note: {oddity}") for oddity in oddities) or "notes: none; nothing is missing or odd"
    )
    print("\n\n".join(parts))


def _load(robot: str, dynamics: str | None) -> RobotModel:
    path = Path(robot)
    if robot in robot_names():
        path = robot_urdf(robot)
        if dynamics is None and (own := robot_dynamics_file(robot)) is not None:
            dynamics = str(own)
    elif not path.exists():
        raise RobotDynamicsError(f"{robot}: there is no such file. Cure: a URDF, or one of {', '.join(robot_names())}")
    return RobotModel.from_urdf_file(path, dynamics=None if dynamics == "none" else dynamics)


def _summary(model: RobotModel) -> str:
    mass = model.inertial_parameters[: PARAMETERS * len(model.moving_joints) : PARAMETERS].sum()
    gravity = " ".join(f"{x:g}" for x in model.gravity)
    return (
        f"{model.name}: {model.n} joints, {mass:.4g} kg move, gravity {gravity} m/s^2\n"
        "rad or m, Nm or N, kg, kg m^2; inertias about the centre of mass, in link axes; - is no limit"
    )


def _joints(model: RobotModel) -> str:
    limits = (model.position_lower, model.position_upper, model.velocity_limits, model.effort_limits)
    rows = []
    for name, *values in zip(model.joint_names, *limits, strict=True):
        kind = "prismatic" if name in model.prismatic_joints else "revolute"
        rows.append([name, kind if name in model.moving_joints else "coordinate", *map(_number, values)])
    return _table(["joint", "kind", "lower", "upper", "velocity", "effort"], rows)


def _bodies(model: RobotModel) -> str:
    """Mass, centre of mass and inertia about it, in the link's axes, of each moving body."""
    rows = []
    bodies = model.inertial_parameters[: PARAMETERS * len(model.moving_joints)].reshape(-1, PARAMETERS)
    for link, joint, (mass, *numbers) in zip(model.packed.body_links, model.moving_joints, bodies, strict=True):
        com = np.array(numbers[:3]) / mass if mass > 0.0 else np.zeros(3)
        shift = mass * (com @ com * np.eye(3) - np.outer(com, com))  # Craig (6.26)
        central = np.array(numbers[3:]) - shift[np.triu_indices(3)]
        rows.append([link, joint, *map(_number, (mass, *com, *central))])
    return _table(["body", "moved by", "mass", *"xyz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz"], rows)


def _drives(model: RobotModel) -> Iterator[str]:
    """Friction, rotors, couplings and loops, where there are any."""
    tree = LinkTree.of(model)
    table = model.packed.friction[:, list(_FRICTION.values())]
    worn = [(name, row) for name, row in zip(model.moving_joints, table, strict=True) if row.any()]
    if worn:
        yield _table(["friction of", *_FRICTION], [[name, *map(_number, row)] for name, row in worn])
    rotors = zip(model.packed.rotor_names, tree.rotors, tree.rotor_couplings, strict=True)
    rows = []
    for name, rotor, ratios in rotors:
        carrier = "base or none" if rotor.carrier == BASE else model.packed.body_links[rotor.carrier]
        reflected = rotor.inertia * float(ratios @ ratios)
        rows.append([name, carrier, _number(rotor.inertia), _number(reflected), _rates(model, ratios)])
    if rows:
        yield _table(["rotor", "on", "inertia", "reflected", "rate"], rows)
    coupled = [
        f"coupling: {name} moves at {_rates(model, row)}"
        for name, row in zip(model.moving_joints, tree.couplings, strict=True)
        if name not in model.joint_names
    ]
    coupled += [f"loop: link {loop.link_a} stays with link {loop.link_b}" for loop in model.loops]
    if coupled:
        yield "\n".join(coupled)


def _rates(model: RobotModel, row: NDArray[np.float64]) -> str:
    terms = [f"{x:+.6g} {name}" for x, name in zip(row, model.joint_names, strict=True) if x != 0.0]
    return " ".join(terms).removeprefix("+")


def _parameters(model: RobotModel) -> str:
    minimal = minimal_parameters(model)
    return (
        f"parameters: the torque depends on {len(minimal.names)} base parameters, combinations of "
        f"{len(model.parameter_names) - len(minimal.without_effect)} of {len(model.parameter_names)} inertial ones"
    )


def _at_state(model: RobotModel, q: NDArray[np.float64]) -> str:
    matrix, weight = model.mass_matrix(q), model.gravity_torque(q)
    rows = [
        [name, _number(position), _number(torque), *map(_number, line)]
        for name, position, torque, line in zip(model.joint_names, q, weight, matrix, strict=True)
    ]
    condition = float(np.linalg.cond(matrix))
    said = "M is singular" if not condition < 1e15 else f"condition number of M: {condition:.4g}"
    return f"{_table(['at', 'q', 'gravity', 'M', *[''] * (model.n - 1)], rows)}\n{said}"


def _missing(model: RobotModel) -> Iterator[str]:
    if not model.packed.friction.any():
        yield "no joint has friction: name it in a dynamics file, see docs/dynamics_file.md"
    if not model.gravity.any():
        yield "gravity is zero"


def _equations(model: RobotModel) -> Iterator[str]:
    form = closed_form(model)
    names = [
        f"{symbol} = {name} ({'m' if str(symbol).startswith('d') else 'rad'})"
        for symbol, name in zip(form.q, form.joint_names, strict=True)
    ]
    yield _wrapped(f"M(q) q'' + V(q, q') + G(q) = tau, with {', '.join(names)}, c1 = cos(q1), s12 = sin(q1 + q2)")
    if model.loops:
        yield "loops are cut open in these equations"
    yield "\n".join(map(_wrapped, form.lines()))


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{value:.4g}" if abs(value) > _ROUNDING else "0"


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
