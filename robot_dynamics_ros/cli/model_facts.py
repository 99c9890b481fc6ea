"""Properties of a robot model as plain data, the JSON of robot_dynamics inspect (docs/inspect.md)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from robot_dynamics_ros.base.errors import RobotModelWarning
from robot_dynamics_ros.cli.thresholds import (
    FACT_GRID,
    FACT_HALF_STROKE,
    FACT_ROUNDING,
    FACT_SAMPLES,
    FACT_SWEEPS,
    SINGULAR_CONDITION,
)
from robot_dynamics_ros.dynamics.description.dynamics_file import (
    DynamicsFile,
    read_dynamics_file,
)
from robot_dynamics_ros.dynamics.description.inertia import implausible_links
from robot_dynamics_ros.dynamics.description.urdf import Description, parse_urdf
from robot_dynamics_ros.dynamics.kernels.friction import FRICTION_PARAMETERS
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model import RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import (
    minimal_parameters,
    position_ranges,
)
from robot_dynamics_ros.dynamics.model.link_tree import BASE, LinkTree
from robot_dynamics_ros.dynamics.model.robot_source import RobotSource

Facts = dict[str, Any]

FRICTION_TERMS = {
    parameter.group: parameter.column
    for parameter in FRICTION_PARAMETERS
    if parameter.linear
}
"""Friction coefficients by their names in the facts."""

RATE_LIMITS = ("acceleration", "deceleration", "jerk")
"""Limits that few URDFs have."""

_SEED = 0


def model_facts(
    source: RobotSource, model: RobotModel, q: Array, messages: list[str]
) -> Facts:
    """Return the properties of a model of ``source`` at positions q (n,).

    ``messages`` are the warnings of the model. Raises RobotModelError if the dynamics file cannot be read.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        description = parse_urdf(source.text, source.name)
    dynamics = (
        DynamicsFile()
        if source.dynamics is None
        else read_dynamics_file(source.dynamics)
    )
    payload = 0.0 if dynamics.payload is None else dynamics.payload[1].mass
    mass = (
        sum(link.mass for link in {**description.links, **dynamics.links}.values())
        + payload
    )
    tree = LinkTree.of(model)
    minimal = minimal_parameters(model)
    coefficients = model.friction_parameters[:, list(FRICTION_TERMS.values())].tolist()
    friction = dict(zip(model.moving_joints, coefficients, strict=True))
    frictionless = [name for name, values in friction.items() if not any(values)]
    matrix = model.mass_matrix(q)
    torque = model.gravity_torque(q)
    extremes = _over_range(model)
    pose = {
        "position": q.tolist(),
        "gravity": torque.tolist(),
        "gravity_percent": list(map(_share, torque, model.effort_limits)),
        "mass_matrix": matrix.tolist(),
        "condition": _or_none(_condition(matrix)),
    }
    notes = [(message.removeprefix("URDF: "), "") for message in messages]
    published = {
        name: link
        for name, link in description.links.items()
        if name not in dynamics.links
    }
    for message in implausible_links(
        description.written_inertials().values(), published
    ):
        notes.append(
            (
                message,
                "correct mass (kg), position (m) and inertia (kg m^2, about the centre of mass)",
            )
        )
    if frictionless:
        every = len(frictionless) == len(friction)
        notes.append(
            (
                "no joint has friction"
                if every
                else f"{', '.join(frictionless)}: no friction",
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
        "locked": model.locked,
        "bodies": list(_bodies(model, tree)),
        "friction": [
            {"joint": name, **dict(zip(FRICTION_TERMS, values, strict=True))}
            for name, values in friction.items()
        ],
        "joints_without_friction": frictionless,
        "rotors": list(_rotors(model, tree)),
        "couplings": [
            {"joint": name, "follows": _named(model, row)}
            for name, row in zip(model.moving_joints, tree.couplings, strict=True)
            if name not in model.joint_names
        ],
        "loops": [
            {"link_a": loop.link_a, "link_b": loop.link_b} for loop in model.loops
        ],
        "parameters": {
            "inertial": len(model.parameter_names),
            "effective": len(model.parameter_names) - len(minimal.without_effect),
            "base": len(minimal.names),
        },
        "pose": pose,
        "range": extremes,
        "notes": [
            {"message": message, "cure": cure or None} for message, cure in notes
        ],
    }


def _joints(model: RobotModel, description: Description) -> Iterator[Facts]:
    kinds = {joint.name: joint.kind for joint in description.joints}
    limits = (
        model.position_lower,
        model.position_upper,
        model.velocity_limits,
        model.effort_limits,
    )
    rates = zip(
        *(getattr(model, f"{rate}_limits") for rate in RATE_LIMITS), strict=True
    )
    for name, given, *values in zip(model.joint_names, rates, *limits, strict=True):
        lower, upper, velocity, effort = map(_or_none, values)
        kind = kinds.get(name, "coordinate")
        extended = {
            rate: float(limit)
            for rate, limit in zip(RATE_LIMITS, given, strict=True)
            if np.isfinite(limit)
        }
        own = {
            "name": name,
            "kind": kind,
            "lower": lower,
            "upper": upper,
            "velocity": velocity,
            "effort": effort,
        }
        yield own | extended


def _bodies(model: RobotModel, tree: LinkTree) -> Iterator[Facts]:
    for name, link in zip(model.moving_links, tree.links, strict=True):
        rotation = model.link_frames[name].rotation
        # Of the joint's frame in link axes.
        com = rotation.T @ link.com
        inertia = rotation.T @ link.inertia @ rotation
        yield {
            "link": name,
            "joint": link.joint,
            "mass": link.mass,
            "com": com.tolist(),
            "inertia": inertia[np.triu_indices(3)].tolist(),
        }


def _rotors(model: RobotModel, tree: LinkTree) -> Iterator[Facts]:
    for name, rotor, ratios in zip(
        model.rotor_names, tree.rotors, tree.rotor_couplings, strict=True
    ):
        yield {
            "name": name,
            "carrier": None
            if rotor.carrier == BASE
            else model.moving_links[rotor.carrier],
            "inertia": rotor.inertia,
            "reflected_inertia": rotor.inertia * float(ratios @ ratios),
            "ratio": _named(model, ratios),
        }


def _named(model: RobotModel, row: Array) -> dict[str, float]:
    return {
        name: x
        for name, x in zip(model.joint_names, row.tolist(), strict=True)
        if x != 0.0
    }


def _over_range(model: RobotModel) -> Facts:
    """Return extremes of gravity torque and condition number over random states, uniform within the limits."""
    lower, upper = position_ranges(model, FACT_HALF_STROKE)
    q = np.random.default_rng(_SEED).uniform(lower, upper, (FACT_SAMPLES, model.n))
    condition = _condition(model.mass_matrix(q))
    columns = (
        model.joint_names,
        *_largest_gravity(model, lower, upper, q),
        model.effort_limits,
    )
    return {
        "samples": FACT_SAMPLES,
        "seed": _SEED,
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "gravity": [
            {
                "joint": name,
                "torque": float(torque),
                "percent": _share(torque, limit),
                "position": position.tolist(),
            }
            for name, position, torque, limit in zip(*columns, strict=True)
        ],
        "condition": {
            "minimum": _or_none(condition.min()),
            "median": _or_none(np.median(condition)),
            "maximum": _or_none(condition.max()),
            "position": q[int(condition.argmax())].tolist(),
        },
    }


def _largest_gravity(
    model: RobotModel, lower: Array, upper: Array, q: Array
) -> tuple[Array, Array]:
    """Return for each joint the positions at its largest gravity torque, rows of (n, n), and this torque (n,).

    Coordinate search from the best of the samples q (samples, n), because in many dimensions no sample is near the
    maximum.
    """
    each = np.arange(model.n)
    torques = model.gravity_torque(q)
    best = np.abs(torques).argmax(axis=0)
    positions = q[best]
    torque = torques[best, each]
    for i in np.tile(each, FACT_SWEEPS):
        tried = np.repeat(positions[:, None, :], FACT_GRID, axis=1)
        tried[:, :, i] = np.linspace(lower[i], upper[i], FACT_GRID)
        torques = model.gravity_torque(tried)[each, :, each]
        best = np.abs(torques).argmax(axis=1)
        better = np.abs(torques[each, best]) > np.abs(torque)
        positions[better] = tried[each, best][better]
        torque = np.where(better, torques[each, best], torque)
    return positions, without_rounding(torque)


def without_rounding(values: Array) -> Array:
    """Return ``values`` with zeros in place of rounding errors relative to the largest one."""
    return np.where(
        np.abs(values) > FACT_ROUNDING * np.abs(values).max(initial=0.0), values, 0.0
    )


def _condition(matrix: Array) -> Array:
    """Return the condition numbers (...,) of mass matrices (..., n, n); inf for singular ones."""
    condition = np.linalg.cond(matrix)
    return np.where(condition < SINGULAR_CONDITION, condition, np.inf)


def _share(torque: float, limit: float) -> float | None:
    return None if not np.isfinite(limit) else 100.0 * abs(float(torque)) / float(limit)


def _or_none(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _load_notes(
    model: RobotModel, pose: Facts, extremes: Facts
) -> Iterator[tuple[str, str]]:
    """Yield message and cure for zero gravity, a state outside the limits, and gravity above the effort limits."""
    if not model.gravity.any():
        yield (
            "gravity is zero",
            "unless that is meant, give --gravity 0 0 -9.81, or correct the dynamics file",
        )
    outside = (pose["position"] < model.position_lower) | (
        pose["position"] > model.position_upper
    )
    if outside.any():
        names = [
            name for name, out in zip(model.joint_names, outside, strict=True) if out
        ]
        yield (
            f"{', '.join(names)}: the state is outside the position limits",
            "give another --state",
        )
    shares = zip(model.joint_names, pose["gravity_percent"], strict=True)
    here = {name: share for name, share in shares if (share or 0.0) > 100.0}
    gravity = {entry["joint"]: entry["percent"] for entry in extremes["gravity"]}
    worst = {
        name: share
        for name, share in gravity.items()
        if (share or 0.0) > 100.0 and name not in here
    }
    for heavy, where in ((here, "at this state"), (worst, "somewhere in the range")):
        if heavy:
            yield (
                f"{', '.join(f'{name} ({share:.0f} %)' for name, share in heavy.items())}: the gravity torque exceeds "
                f"the effort limit {where}, so that the joint cannot hold its position there",
                "check the masses and the effort limit, reduce the payload, or avoid these positions",
            )
