"""From a robot's model to the facts that `robot_dynamics inspect` shows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from robot_dynamics_ros.cli.inspect_facts import (
    Body,
    Coupling,
    Equations,
    Facts,
    Friction,
    Joint,
    Loop,
    Mass,
    Note,
    Parameters,
    PoseFacts,
    RangeFacts,
    Rotor,
)
from robot_dynamics_ros.cli.inspect_range import at_pose, or_none, over_range, positions
from robot_dynamics_ros.cli.robot_source import RobotSource
from robot_dynamics_ros.errors import RobotModelWarning
from robot_dynamics_ros.formulations.closed_form import closed_form
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.formulations.minimal_parameters import minimal_parameters
from robot_dynamics_ros.kernels import layout
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, read_dynamics_file
from robot_dynamics_ros.model.urdf import Description, parse_urdf


def collect(
    source: RobotSource, model: RobotModel, q: Array, locked: Mapping[str, float], said: Sequence[str], equations: bool
) -> Facts:
    """Return the facts of a model of ``source`` at positions q (n,), with ``locked`` joints.

    ``said`` are the warnings that it gave; the formulas are part of it where ``equations``. Raises RobotDynamicsError
    where there are too many joints for formulas, or no SymPy.
    """
    formulas = _equations(model) if equations else None  # first, as it may refuse
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobotModelWarning)
        description = parse_urdf(source.text, source.name)
    dynamics = DynamicsFile() if source.dynamics is None else read_dynamics_file(source.dynamics)
    tree = LinkTree.of(model)
    friction = tuple(_friction(model))
    without = tuple(entry.joint for entry in friction if not any(list(vars(entry).values())[1:]))
    pose, extremes = at_pose(model, q), over_range(model)
    minimal = minimal_parameters(model)
    parameters = len(model.parameter_names)
    notes = [_split(text) for text in said]
    notes += _missing_friction(friction, without)
    notes += _pose_notes(model, pose, extremes)
    return Facts(
        robot=model.name,
        source=source.name,
        dynamics_file=source.dynamics,
        gravity=positions(model.gravity),
        mass=Mass(_total_mass(description, dynamics), sum(link.mass for link in tree.links)),
        joints=tuple(_joints(model, description)),
        locked=dict(locked),
        bodies=tuple(_bodies(model, tree)),
        friction=friction,
        joints_without_friction=without,
        rotors=tuple(_rotors(model, tree)),
        couplings=tuple(_couplings(model, tree)),
        loops=tuple(Loop(loop.link_a, loop.link_b) for loop in model.loops),
        parameters=Parameters(parameters, parameters - len(minimal.without_effect), len(minimal.names)),
        pose=pose,
        range=extremes,
        notes=tuple(notes),
        equations=formulas,
    )


def _total_mass(description: Description, dynamics: DynamicsFile) -> float:
    links = {**description.links, **dynamics.links}
    payload = 0.0 if dynamics.payload is None else dynamics.payload[1].mass
    return float(sum(link.mass for link in links.values()) + payload)


def _joints(model: RobotModel, description: Description) -> Iterator[Joint]:
    kinds = {joint.name: joint.kind for joint in description.joints}
    limits = (model.position_lower, model.position_upper, model.velocity_limits, model.effort_limits)
    for name, *values in zip(model.joint_names, *limits, strict=True):
        yield Joint(name, kinds.get(name, "coordinate"), *map(or_none, values))


def _bodies(model: RobotModel, tree: LinkTree) -> Iterator[Body]:
    rotations = model.packed.link_rotations.reshape(-1, 3, 3)
    for name, link, rotation in zip(model.packed.body_links, tree.links, rotations, strict=True):
        com, inertia = rotation.T @ link.com, rotation.T @ link.inertia @ rotation  # of the joint's frame in link axes
        yield Body(name, link.joint, link.mass, positions(com), positions(inertia[np.triu_indices(3)]))


def _friction(model: RobotModel) -> Iterator[Friction]:
    columns = (
        layout.VISCOUS,
        layout.COULOMB,
        layout.COULOMB_NEGATIVE,
        layout.STATIC,
        layout.RIPPLE_AMPLITUDE,
        layout.SIGMOID_AMPLITUDE,
    )
    for name, row in zip(model.moving_joints, model.packed.friction, strict=True):
        yield Friction(name, *row[list(columns)].tolist())


def _rotors(model: RobotModel, tree: LinkTree) -> Iterator[Rotor]:
    for name, rotor, ratios in zip(model.packed.rotor_names, tree.rotors, tree.rotor_couplings, strict=True):
        carrier = None if rotor.carrier == BASE else model.packed.body_links[rotor.carrier]
        yield Rotor(name, carrier, rotor.inertia, rotor.inertia * float(ratios @ ratios), _named(model, ratios))


def _couplings(model: RobotModel, tree: LinkTree) -> Iterator[Coupling]:
    for name, row in zip(model.moving_joints, tree.couplings, strict=True):
        if name not in model.joint_names:
            yield Coupling(name, _named(model, row))


def _named(model: RobotModel, row: Array) -> Mapping[str, float]:
    return {name: float(x) for name, x in zip(model.joint_names, row, strict=True) if x != 0.0}


def _equations(model: RobotModel) -> Equations:
    form = closed_form(model)
    symbols = {str(symbol): name for symbol, name in zip(form.q, form.joint_names, strict=True)}
    return Equations(symbols, tuple(form.lines()))


def _split(text: str) -> Note:
    message, _, cure = text.removeprefix("URDF: ").partition(". Cure: ")
    return Note(message, cure or None)


def _missing_friction(friction: Sequence[Friction], without: Sequence[str]) -> Iterator[Note]:
    if without:
        every = len(without) == len(friction)
        yield Note(
            "no joint has friction" if every else f"{', '.join(without)}: no friction",
            "find it from a recording by robot_dynamics identify, or name it in a dynamics file "
            "(docs/dynamics_file.md)",
        )


def _pose_notes(model: RobotModel, pose: PoseFacts, extremes: RangeFacts) -> Iterator[Note]:
    if not model.gravity.any():
        yield Note("gravity is zero", "unless that is meant, give --gravity 0 0 -9.81, or correct the dynamics file")
    outside = (pose.position < model.position_lower) | (pose.position > model.position_upper)
    if outside.any():
        names = [name for name, out in zip(model.joint_names, outside, strict=True) if out]
        yield Note(f"{', '.join(names)}: the state is outside the position limits", "give another --state")
    here = dict(zip(model.joint_names, pose.gravity_percent, strict=True))
    worst = {entry.joint: entry.percent for entry in extremes.gravity if not _too_much(here[entry.joint])}
    for shares, where in ((here, "at this state"), (worst, "somewhere in the range")):
        heavy = [f"{name} ({share:.0f} %)" for name, share in shares.items() if _too_much(share)]
        if heavy:
            yield Note(
                f"{', '.join(heavy)}: gravity takes more than the effort limit {where}, so that the joint cannot "
                "carry its own weight there",
                "check the masses and the effort limit, take load off, or keep away from there",
            )


def _too_much(percent: float | None) -> bool:
    return percent is not None and percent > 100.0
