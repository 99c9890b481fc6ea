"""robot_dynamics inspect: print the properties of a robot model as tables, or as the JSON of docs/inspect.md.

``run_inspect`` takes the parsed arguments that ``add_inspect`` declares.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotDynamicsError, RobotModelWarning
from robot_dynamics_ros.cli.command_line import joint_value, table, wrapped
from robot_dynamics_ros.cli.robot_source import RobotSource, add_named_robot, command_text, named_robot
from robot_dynamics_ros.dynamics.kernels import layout
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.dynamics_file import DynamicsFile, read_dynamics_file
from robot_dynamics_ros.dynamics.model.inertia_errors import implausible_links
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree
from robot_dynamics_ros.dynamics.model.minimal_parameters import minimal_parameters
from robot_dynamics_ros.dynamics.model.urdf import Description, parse_urdf
from robot_dynamics_ros.textbooks.closed_form import MOST_JOINTS, closed_form

Facts = dict[str, Any]

_SAMPLES = 2000
_SEED = 0
_UNLIMITED = (np.pi, 1.0)  # half range of revolute (rad) and prismatic (m) joints without position limits
_GRID = 73  # steps of 5 degrees in a whole turn, which resolve the maximum of a cosine to 0.1 %
_SWEEPS = 2
_SINGULAR = 1e15
_ROUNDING = 1e-12  # relative to the largest element of a vector or matrix; smaller ones are rounding errors
_TINY = 1e-14  # smaller values are printed as 0
_MAX_COLUMNS = 8  # joints for which the mass matrix fits the width of a screen
_COLUMNS = {
    "viscous": layout.VISCOUS,
    "coulomb": layout.COULOMB,
    "coulomb_negative": layout.COULOMB_NEGATIVE,
    "static": layout.STATIC,
    "ripple": layout.RIPPLE_AMPLITUDE,
    "sigmoid": layout.SIGMOID_AMPLITUDE,
}
_RATES = ("acceleration", "deceleration", "jerk")  # limits that few URDFs have


def add_inspect(parser: argparse.ArgumentParser) -> None:
    """Set the description of ``parser`` and add the arguments."""
    parser.description = (
        "Inspect any robot, shipped or your own URDF/xacro: joints, limits, masses, inertias, friction, rotors, "
        "couplings; the mass matrix and the gravity torque relative to the effort limits, at one state and over the "
        "joint range; and notes on missing or implausible data, with cures. --equations prints the equations of "
        "motion. docs/inspect.md explains the tables and the keys of --json."
    )
    add_named_robot(parser)
    parser.add_argument("--joints", nargs="+", metavar="NAME", help="joints to inspect (default: all movable joints)")
    parser.add_argument(
        "--locked",
        type=joint_value,
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="positions of locked joints, rad or m (default: 0 for joints that --joints omits)",
    )
    parser.add_argument(
        "--state",
        type=float,
        nargs="+",
        metavar="Q",
        help="joint positions, rad or m, in the order of the table (default: 0, or the nearest limit)",
    )
    parser.add_argument(
        "--equations", action="store_true", help=f"print M, V and G as formulas (up to {MOST_JOINTS} joints)"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")


def run_inspect(arguments: argparse.Namespace) -> None:
    """Print the model that ``arguments`` select, as tables or JSON.

    Raises RobotDynamicsError if it cannot be read, an option does not fit it, or it has too many joints for
    --equations.
    """
    source, locked = named_robot(arguments), dict(arguments.locked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RobotModelWarning)
        model = source.part(arguments.joints, locked, gravity=arguments.gravity)
    others = [name for name in source.joint_names() if name not in model.joint_names]
    q = model.limit_rows.within(np.zeros(model.n))
    if arguments.state is not None:
        q = model.vector("--state", arguments.state)
        if not np.isfinite(q).all():
            raise RobotDynamicsError(f"--state {arguments.state}: not finite. Cure: give {model.n} finite numbers")
    if arguments.equations and model.n > MOST_JOINTS:
        raise RobotDynamicsError(
            f"--equations: {model.n} joints of {model.name} are too many for formulas. Cure: give --joints with up to "
            f"{MOST_JOINTS} of {' '.join(model.joint_names)}; the others are locked at 0, or by --locked NAME=VALUE"
        )
    messages = [str(warning.message) for warning in caught]
    facts = _collect(source, model, q, dict.fromkeys(others, 0.0) | locked, messages, arguments.equations)
    if arguments.json:
        print(json.dumps(facts, indent=2, allow_nan=False))
        return
    sections = [*_sections(facts)]
    if arguments.joints is None:
        view, simulate = (command_text(name, arguments, arguments.robot) for name in ("view", "simulate"))
        sections.append(f"next: {view}\n      {simulate}")
    print("\n\n".join(sections))


def _collect(
    source: RobotSource, model: RobotModel, q: Array, locked: dict[str, float], messages: list[str], equations: bool
) -> Facts:
    """Return the properties of a model of ``source`` at positions q (n,), with ``locked`` joints.

    ``messages`` are the warnings of the model. ``equations`` adds formulas, which need SymPy: RobotDynamicsError if it
    is not installed.
    """
    formulas = None
    if equations:  # first, because it may fail
        form = closed_form(model)
        symbols = {str(symbol): name for symbol, name in zip(form.q, form.joint_names, strict=True)}
        formulas = {"symbols": symbols, "lines": list(form.lines())}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        description = parse_urdf(source.text, source.name)
    dynamics = DynamicsFile() if source.dynamics is None else read_dynamics_file(source.dynamics)
    payload = 0.0 if dynamics.payload is None else dynamics.payload[1].mass
    mass = sum(link.mass for link in {**description.links, **dynamics.links}.values()) + payload
    tree, minimal = LinkTree.of(model), minimal_parameters(model)
    coefficients = model.friction_parameters[:, list(_COLUMNS.values())].tolist()
    friction = dict(zip(model.moving_joints, coefficients, strict=True))
    frictionless = [name for name, values in friction.items() if not any(values)]
    matrix, torque, extremes = model.mass_matrix(q), model.gravity_torque(q), _over_range(model)
    pose = {
        "position": q.tolist(),
        "gravity": torque.tolist(),
        "gravity_percent": list(map(_share, torque, model.effort_limits)),
        "mass_matrix": matrix.tolist(),
        "condition": _or_none(_condition(matrix)),
    }
    notes = [(message.removeprefix("URDF: "), "") for message in messages]
    published = {name: link for name, link in description.links.items() if name not in dynamics.links}
    for message in implausible_links(description.robot, published):
        notes.append((message, "correct mass (kg), position (m) and inertia (kg m^2, about the centre of mass)"))
    if frictionless:
        every = len(frictionless) == len(friction)
        notes.append(
            (
                "no joint has friction" if every else f"{', '.join(frictionless)}: no friction",
                "identify it from a recording with robot_dynamics identify, or define it in a dynamics file "
                "(docs/dynamics_file.md)",
            )
        )
    notes += _load_notes(model, pose, extremes)
    return {
        "robot": model.name,
        "source": source.name,
        "dynamics_file": source.dynamics,
        "gravity": model.gravity.tolist(),
        "mass": {"total": float(mass), "moving": sum(link.mass for link in tree.links)},
        "joints": list(_joints(model, description)),
        "locked": locked,
        "bodies": list(_bodies(model, tree)),
        "friction": [{"joint": name, **dict(zip(_COLUMNS, values, strict=True))} for name, values in friction.items()],
        "joints_without_friction": frictionless,
        "rotors": list(_rotors(model, tree)),
        "couplings": [
            {"joint": name, "follows": _named(model, row)}
            for name, row in zip(model.moving_joints, tree.couplings, strict=True)
            if name not in model.joint_names
        ],
        "loops": [{"link_a": loop.link_a, "link_b": loop.link_b} for loop in model.loops],
        "parameters": {
            "inertial": len(model.parameter_names),
            "effective": len(model.parameter_names) - len(minimal.without_effect),
            "base": len(minimal.names),
        },
        "pose": pose,
        "range": extremes,
        "notes": [{"message": message, "cure": cure or None} for message, cure in notes],
        "equations": formulas,
    }


def _joints(model: RobotModel, description: Description) -> Iterator[Facts]:
    kinds = {joint.name: joint.kind for joint in description.joints}
    limits = (model.position_lower, model.position_upper, model.velocity_limits, model.effort_limits)
    rates = zip(*(getattr(model, f"{rate}_limits") for rate in _RATES), strict=True)
    for name, given, *values in zip(model.joint_names, rates, *limits, strict=True):
        lower, upper, velocity, effort = map(_or_none, values)
        kind = kinds.get(name, "coordinate")
        extended = {rate: float(limit) for rate, limit in zip(_RATES, given, strict=True) if np.isfinite(limit)}
        own = {"name": name, "kind": kind, "lower": lower, "upper": upper, "velocity": velocity, "effort": effort}
        yield own | extended


def _bodies(model: RobotModel, tree: LinkTree) -> Iterator[Facts]:
    for name, link in zip(model.moving_links, tree.links, strict=True):
        rotation = model.link_frames[name].rotation
        com, inertia = rotation.T @ link.com, rotation.T @ link.inertia @ rotation  # of the joint's frame in link axes
        yield {
            "link": name,
            "joint": link.joint,
            "mass": link.mass,
            "com": com.tolist(),
            "inertia": inertia[np.triu_indices(3)].tolist(),
        }


def _rotors(model: RobotModel, tree: LinkTree) -> Iterator[Facts]:
    for name, rotor, ratios in zip(model.rotor_names, tree.rotors, tree.rotor_couplings, strict=True):
        yield {
            "name": name,
            "carrier": None if rotor.carrier == BASE else model.moving_links[rotor.carrier],
            "inertia": rotor.inertia,
            "reflected_inertia": rotor.inertia * float(ratios @ ratios),
            "ratio": _named(model, ratios),
        }


def _named(model: RobotModel, row: Array) -> dict[str, float]:
    return {name: x for name, x in zip(model.joint_names, row.tolist(), strict=True) if x != 0.0}


def _over_range(model: RobotModel) -> Facts:
    """Return extremes of gravity torque and condition number over random states, uniform within the limits."""
    reach = np.array([_UNLIMITED[name in model.prismatic_joints] for name in model.joint_names])
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -reach)
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, reach)
    q = np.random.default_rng(_SEED).uniform(lower, upper, (_SAMPLES, model.n))
    condition = _condition(model.mass_matrix(q))
    columns = (model.joint_names, *_largest_gravity(model, lower, upper, q), model.effort_limits)
    return {
        "samples": _SAMPLES,
        "seed": _SEED,
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "gravity": [
            {"joint": name, "torque": float(torque), "percent": _share(torque, limit), "position": position.tolist()}
            for name, position, torque, limit in zip(*columns, strict=True)
        ],
        "condition": {
            "minimum": _or_none(condition.min()),
            "median": _or_none(np.median(condition)),
            "maximum": _or_none(condition.max()),
            "position": q[int(condition.argmax())].tolist(),
        },
    }


def _largest_gravity(model: RobotModel, lower: Array, upper: Array, q: Array) -> tuple[Array, Array]:
    """Return for each joint the positions at its largest gravity torque, rows of (n, n), and this torque (n,).

    Coordinate search from the best of the samples q (samples, n), because in many dimensions no sample is near the
    maximum.
    """
    each = np.arange(model.n)
    torques = model.gravity_torque(q)
    best = np.abs(torques).argmax(axis=0)
    positions, torque = q[best], torques[best, each]
    for i in np.tile(each, _SWEEPS):
        tried = np.repeat(positions[:, None, :], _GRID, axis=1)
        tried[:, :, i] = np.linspace(lower[i], upper[i], _GRID)
        torques = model.gravity_torque(tried)[each, :, each]
        best = np.abs(torques).argmax(axis=1)
        better = np.abs(torques[each, best]) > np.abs(torque)
        positions[better] = tried[each, best][better]
        torque = np.where(better, torques[each, best], torque)
    return positions, _without_rounding(torque)


def _without_rounding(values: Array) -> Array:
    return np.where(np.abs(values) > _ROUNDING * np.abs(values).max(initial=0.0), values, 0.0)


def _condition(matrix: Array) -> Array:
    """Return the condition numbers (...,) of mass matrices (..., n, n); inf for singular ones."""
    condition = np.linalg.cond(matrix)
    return np.where(condition < _SINGULAR, condition, np.inf)


def _share(torque: float, limit: float) -> float | None:
    return None if not np.isfinite(limit) else 100.0 * abs(float(torque)) / float(limit)


def _or_none(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _load_notes(model: RobotModel, pose: Facts, extremes: Facts) -> Iterator[tuple[str, str]]:
    """Yield message and cure for zero gravity, a state outside the limits, and gravity above the effort limits."""
    if not model.gravity.any():
        yield "gravity is zero", "unless that is meant, give --gravity 0 0 -9.81, or correct the dynamics file"
    outside = (pose["position"] < model.position_lower) | (pose["position"] > model.position_upper)
    if outside.any():
        names = [name for name, out in zip(model.joint_names, outside, strict=True) if out]
        yield f"{', '.join(names)}: the state is outside the position limits", "give another --state"
    shares = zip(model.joint_names, pose["gravity_percent"], strict=True)
    here = {name: share for name, share in shares if (share or 0.0) > 100.0}
    gravity = {entry["joint"]: entry["percent"] for entry in extremes["gravity"]}
    worst = {name: share for name, share in gravity.items() if (share or 0.0) > 100.0 and name not in here}
    for heavy, where in ((here, "at this state"), (worst, "somewhere in the range")):
        if heavy:
            yield (
                f"{', '.join(f'{name} ({share:.0f} %)' for name, share in heavy.items())}: the gravity torque exceeds "
                f"the effort limit {where}, so that the joint cannot hold its position there",
                "check the masses and the effort limit, reduce the payload, or avoid these positions",
            )


def _sections(facts: Facts) -> Iterator[str]:
    """Yield tables, equations and notes as text."""
    yield _summary(facts)
    limits = ["kind", "lower", "upper", "velocity", "effort"]
    limits += [rate for rate in _RATES if any(rate in joint for joint in facts["joints"])]
    yield _table(["joint", *limits], [[joint.get(key) for key in ("name", *limits)] for joint in facts["joints"]])
    axes = ["x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz"]
    title = "moving links, with the links fixed to them: centre of mass, and inertia about it, in link axes"
    yield f"{title}\n{_table(['link', 'joint', 'mass', *axes], facts['bodies'])}"
    friction = [entry for entry in facts["friction"] if entry["joint"] not in facts["joints_without_friction"]]
    if friction:
        terms = [term for term in _COLUMNS if any(entry[term] for entry in friction)]
        rows = [[entry["joint"], *(entry[term] for term in terms)] for entry in friction]
        yield _table(["friction of", *(term.removeprefix("coulomb_") for term in terms)], rows)
    if facts["rotors"]:
        rotors = [{**rotor, "carrier": rotor["carrier"] or "base or none"} for rotor in facts["rotors"]]
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
    if facts["equations"] is not None:
        yield from _equations(facts)
    notes = [
        f"note: {note['message']}" + (f". Cure: {note['cure']}" if note["cure"] else "") for note in facts["notes"]
    ]
    yield "\n".join(map(wrapped, notes)) if notes else "notes: none; no data are missing or implausible"


def _summary(facts: Facts) -> str:
    mass, gravity = facts["mass"], " ".join(f"{x:g}" for x in facts["gravity"])
    lines = [
        f"{facts['robot']}: {len(facts['joints'])} joints, {mass['moving']:.4g} kg move of {mass['total']:.4g} kg, "
        f"gravity {gravity} m/s^2"
    ]
    if facts["locked"]:
        lines.append(wrapped(f"locked: {', '.join(f'{name} {value:g}' for name, value in facts['locked'].items())}"))
    lines.append("units: rad or m, Nm or N, kg, kg m^2; - is no limit")
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
    torques, matrix = (_without_rounding(np.array(pose[key])) for key in ("gravity", "mass_matrix"))
    columns = (facts["joints"], pose["position"], torques, pose["gravity_percent"], matrix.tolist())
    rows = [
        [joint["name"], q, torque, _percent(share), row if whole else row[i]]
        for i, (joint, q, torque, share, row) in enumerate(zip(*columns, strict=True))
    ]
    condition = pose["condition"]
    last = "M is singular" if condition is None else f"condition number of M: {condition:.4g}"
    title = "gravity torque, its share of the effort limit, and the mass matrix M, at the state q"
    header = ["joint", "q", "gravity", "of limit", "M" if whole else "diagonal of M"]
    return f"{title}\n{_table(header, rows)}\n{last}"


def _range_text(facts: Facts) -> str:
    extremes, condition, n = facts["range"], facts["range"]["condition"], len(facts["joints"])
    whole = n <= _MAX_COLUMNS
    rows = []
    for entry in extremes["gravity"]:
        position = _short(entry["position"]) if entry["torque"] else [""] * n
        rows.append([entry["joint"], entry["torque"], _percent(entry["percent"]), *([position] if whole else [])])
    values = (condition[key] for key in ("minimum", "median", "maximum"))
    least, median, most = ("singular" if value is None else f"{value:.4g}" for value in values)
    at = f" at q = {', '.join(_short(condition['position']))}" if whole else ""
    table_text = _table(["most gravity", "torque", "of limit", *(["at q"] if whole else [])], rows)
    range_text = wrapped(f"condition number of M: smallest {least}, median {median}, largest {most}{at}")
    source = (
        f"from {extremes['samples']} random states (seed {extremes['seed']}) within the position limits, +-pi or +-1 m "
        "where there are none; the gravity torque is then maximized joint by joint"
    )
    return f"largest gravity torque of each joint in its range\n{table_text}\n{range_text}\n{wrapped(source)}"


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
    """Return a table of the values of each entry; columns beyond the header belong to the last heading."""
    rows = [_cells(entry.values() if isinstance(entry, dict) else entry) for entry in entries]
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
            cells.append(f"{value:.4g}" if abs(value) > _TINY else "0")
    return cells


def _rates(factors: Mapping[str, float]) -> str:
    return " ".join(f"{x:+.6g} {name}" for name, x in factors.items()).removeprefix("+")


def _short(values: Sequence[float]) -> list[str]:
    return [f"{round(value, 2) + 0.0:.2f}" for value in values]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1f} %" if share < 9.95 else f"{share:.0f} %"
