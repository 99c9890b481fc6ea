"""Properties of a robot's model: the object of `robot_dynamics inspect --json`, see docs/inspect.md."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.cli.robot_source import RobotSource
from robot_dynamics_ros.errors import RobotModelWarning
from robot_dynamics_ros.formulations.closed_form import closed_form
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.formulations.properties import minimal_parameters
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, read_dynamics_file
from robot_dynamics_ros.model.urdf import Description, parse_urdf

Facts = dict[str, Any]

_SAMPLES = 2000
_SEED = 0
_UNLIMITED = (np.pi, 1.0)  # range to either side of joints without position limits: rad, m
_GRID = 73  # steps of 5 degrees in a whole turn: the maximum of a cosine is met to 0.1 %
_SWEEPS = 2
_SINGULAR = 1e15
_ROUNDING = 1e-12  # of the largest torque of all joints
_FRICTION = {
    "viscous": layout.VISCOUS,
    "coulomb": layout.COULOMB,
    "coulomb_negative": layout.COULOMB_NEGATIVE,
    "static": layout.STATIC,
    "ripple": layout.RIPPLE_AMPLITUDE,
    "sigmoid": layout.SIGMOID_AMPLITUDE,
}


def collect(
    source: RobotSource,
    model: RobotModel,
    q: Array,
    locked: Mapping[str, float],
    messages: Sequence[str],
    equations: bool,
) -> Facts:
    """Return the properties of a model of ``source`` at positions q (n,), with ``locked`` joints.

    ``messages`` are the warnings of the model; ``equations`` asks for formulas. Raises RobotDynamicsError if there are
    too many joints for formulas, or no SymPy.
    """
    form = closed_form(model) if equations else None  # first, as it may refuse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        description = parse_urdf(source.text, source.name)
    dynamics = DynamicsFile() if source.dynamics is None else read_dynamics_file(source.dynamics)
    payload = 0.0 if dynamics.payload is None else dynamics.payload[1].mass
    mass = sum(link.mass for link in {**description.links, **dynamics.links}.values()) + payload
    tree, minimal = LinkTree.of(model), minimal_parameters(model)
    coefficients = model.packed.friction[:, list(_FRICTION.values())].tolist()
    friction = dict(zip(model.moving_joints, coefficients, strict=True))
    frictionless = [name for name, values in friction.items() if not any(values)]
    pose, extremes = _at_pose(model, q), _over_range(model)
    notes = [_split(message) for message in messages]
    if frictionless:
        every = len(frictionless) == len(friction)
        notes.append(
            _note(
                "no joint has friction" if every else f"{', '.join(frictionless)}: no friction",
                "find it from a recording by robot_dynamics identify, or name it in a dynamics file "
                "(docs/dynamics_file.md)",
            )
        )
    return {
        "robot": model.name,
        "source": source.name,
        "dynamics_file": source.dynamics,
        "gravity": model.gravity.tolist(),
        "mass": {"total": float(mass), "moving": sum(link.mass for link in tree.links)},
        "joints": list(_joints(model, description)),
        "locked": dict(locked),
        "bodies": list(_bodies(model, tree)),
        "friction": [{"joint": name, **dict(zip(_FRICTION, values, strict=True))} for name, values in friction.items()],
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
        "notes": [*notes, *_load_notes(model, pose, extremes)],
        "equations": None
        if form is None
        else {
            "symbols": {str(symbol): name for symbol, name in zip(form.q, form.joint_names, strict=True)},
            "lines": list(form.lines()),
        },
    }


def _joints(model: RobotModel, description: Description) -> Iterator[Facts]:
    kinds = {joint.name: joint.kind for joint in description.joints}
    limits = (model.position_lower, model.position_upper, model.velocity_limits, model.effort_limits)
    for name, *values in zip(model.joint_names, *limits, strict=True):
        lower, upper, velocity, effort = map(_or_none, values)
        kind = kinds.get(name, "coordinate")
        yield {"name": name, "kind": kind, "lower": lower, "upper": upper, "velocity": velocity, "effort": effort}


def _bodies(model: RobotModel, tree: LinkTree) -> Iterator[Facts]:
    rotations = model.packed.link_rotations.reshape(-1, 3, 3)
    for name, link, rotation in zip(model.packed.body_links, tree.links, rotations, strict=True):
        com, inertia = rotation.T @ link.com, rotation.T @ link.inertia @ rotation  # of the joint's frame in link axes
        yield {
            "link": name,
            "joint": link.joint,
            "mass": link.mass,
            "com": com.tolist(),
            "inertia": inertia[np.triu_indices(3)].tolist(),
        }


def _rotors(model: RobotModel, tree: LinkTree) -> Iterator[Facts]:
    for name, rotor, ratios in zip(model.packed.rotor_names, tree.rotors, tree.rotor_couplings, strict=True):
        yield {
            "name": name,
            "carrier": None if rotor.carrier == BASE else model.packed.body_links[rotor.carrier],
            "inertia": rotor.inertia,
            "reflected_inertia": rotor.inertia * float(ratios @ ratios),
            "ratio": _named(model, ratios),
        }


def _named(model: RobotModel, row: Array) -> dict[str, float]:
    return {name: x for name, x in zip(model.joint_names, row.tolist(), strict=True) if x != 0.0}


def _at_pose(model: RobotModel, q: Array) -> Facts:
    matrix, torque = model.mass_matrix(q), model.gravity_torque(q)
    return {
        "position": q.tolist(),
        "gravity": torque.tolist(),
        "gravity_percent": list(map(_percent, torque, model.effort_limits)),
        "mass_matrix": matrix.tolist(),
        "condition": _or_none(float(_condition(matrix))),
    }


def _over_range(model: RobotModel) -> Facts:
    """Search the range of the joints by random states, uniform between the limits."""
    reach = np.array([_UNLIMITED[name in model.prismatic_joints] for name in model.joint_names])
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -reach)
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, reach)
    q = np.random.default_rng(_SEED).uniform(lower, upper, (_SAMPLES, model.n))
    condition = _condition(model.mass_matrix(q))
    columns = (model.joint_names, *_worst_gravity(model, lower, upper, q), model.effort_limits)
    return {
        "samples": _SAMPLES,
        "seed": _SEED,
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "gravity": [
            {"joint": name, "torque": float(torque), "percent": _percent(torque, limit), "position": position.tolist()}
            for name, position, torque, limit in zip(*columns, strict=True)
        ],
        "condition": {
            "minimum": _or_none(condition.min()),
            "median": _or_none(np.median(condition)),
            "maximum": _or_none(condition.max()),
            "position": q[int(condition.argmax())].tolist(),
        },
    }


def _worst_gravity(model: RobotModel, lower: Array, upper: Array, q: Array) -> tuple[Array, Array]:
    """Return for each joint the positions (n, n), a row each, of its largest gravity torque, and that torque (n,).

    The best of the samples q (samples, n) is improved one coordinate after the other: with a few thousand samples of
    many joints none is near the maximum.
    """
    each = np.arange(model.n)
    torques = model.gravity_torque(q)
    best = np.abs(torques).argmax(axis=0)
    where, torque = q[best], torques[best, each]
    for i in np.tile(each, _SWEEPS):
        tried = np.repeat(where[:, None, :], _GRID, axis=1)
        tried[:, :, i] = np.linspace(lower[i], upper[i], _GRID)
        torques = model.gravity_torque(tried)[each, :, each]
        best = np.abs(torques).argmax(axis=1)
        better = np.abs(torques[each, best]) > np.abs(torque)
        where[better] = tried[each, best][better]
        torque = np.where(better, torques[each, best], torque)
    noise = _ROUNDING * np.abs(torque).max(initial=0.0)
    return where, np.where(np.abs(torque) > noise, torque, 0.0)


def _condition(matrix: Array) -> Array:
    """Return the ratio of the largest to the smallest eigenvalue of mass matrices (..., n, n); inf if singular."""
    values = np.linalg.eigvalsh(matrix)
    least, largest = values[..., 0], values[..., -1]
    singular = least * _SINGULAR <= largest
    return np.asarray(np.where(singular, np.inf, largest / np.where(singular, 1.0, least)))


def _percent(torque: float, limit: float) -> float | None:
    return None if not np.isfinite(limit) else 100.0 * abs(float(torque)) / float(limit)


def _or_none(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _note(message: str, cure: str | None) -> Facts:
    return {"message": message, "cure": cure}


def _split(text: str) -> Facts:
    message, _, cure = text.removeprefix("URDF: ").partition(". Cure: ")
    return _note(message, cure or None)


def _load_notes(model: RobotModel, pose: Facts, extremes: Facts) -> Iterator[Facts]:
    """Note missing gravity, a state outside the limits, and joints that cannot carry their own weight."""
    if not model.gravity.any():
        yield _note("gravity is zero", "unless that is meant, give --gravity 0 0 -9.81, or correct the dynamics file")
    outside = (pose["position"] < model.position_lower) | (pose["position"] > model.position_upper)
    if outside.any():
        names = [name for name, out in zip(model.joint_names, outside, strict=True) if out]
        yield _note(f"{', '.join(names)}: the state is outside the position limits", "give another --state")
    shares = zip(model.joint_names, pose["gravity_percent"], strict=True)
    here = {name: share for name, share in shares if (share or 0.0) > 100.0}
    gravity = {entry["joint"]: entry["percent"] for entry in extremes["gravity"]}
    worst = {name: share for name, share in gravity.items() if (share or 0.0) > 100.0 and name not in here}
    for heavy, where in ((here, "at this state"), (worst, "somewhere in the range")):
        if heavy:
            yield _note(
                f"{', '.join(f'{name} ({share:.0f} %)' for name, share in heavy.items())}: gravity takes more than the "
                f"effort limit {where}, so that the joint cannot carry its own weight there",
                "check the masses and the effort limit, take load off, or keep away from there",
            )
