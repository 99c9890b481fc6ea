"""Facts of a robot's model: the keys of `robot_dynamics inspect --json`, see docs/inspect.md."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Mass:
    """kg: of all links and the payload, and what of it moves."""

    total: float
    moving: float


@dataclass(frozen=True)
class JointFacts:
    """An independent joint, or a coordinate of the dynamics file, and its limits; None is no limit."""

    name: str
    kind: str
    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None


@dataclass(frozen=True)
class Body:
    """A moving link with all that is fixed to it; com (3,) and inertia ixx ixy ixz iyy iyz izz about it, link axes."""

    link: str
    joint: str
    mass: float
    com: Vector
    inertia: Vector


@dataclass(frozen=True)
class FrictionFacts:
    """Friction of a joint of the tree; ripple and sigmoid are amplitudes."""

    joint: str
    viscous: float
    coulomb: float
    coulomb_negative: float
    static: float
    ripple: float
    sigmoid: float


@dataclass(frozen=True)
class RotorFacts:
    """A rotor on a link, None for the base or none; it spins at the sum of ratio times the joints' rates."""

    name: str
    carrier: str | None
    inertia: float
    reflected_inertia: float
    ratio: Mapping[str, float]


@dataclass(frozen=True)
class Coupling:
    """A joint that is not independent: it moves at the sum of factor times the joints' rates."""

    joint: str
    follows: Mapping[str, float]


@dataclass(frozen=True)
class LoopFacts:
    """A closed chain."""

    link_a: str
    link_b: str


@dataclass(frozen=True)
class Parameters:
    """How many inertial parameters there are, how many any torque depends on, and by how many combinations."""

    inertial: int
    effective: int
    base: int


@dataclass(frozen=True)
class PoseFacts:
    """At positions (n,): gravity torque (n,), Nm or N, in percent of the effort limits; M (n, n); its condition number.

    None: no limit, or singular.
    """

    position: Vector
    gravity: Vector
    gravity_percent: tuple[float | None, ...]
    mass_matrix: tuple[Vector, ...]
    condition: float | None


@dataclass(frozen=True)
class WorstGravity:
    """The largest gravity torque found for a joint, in percent of its effort limit (None: it has none), and where."""

    joint: str
    torque: float
    percent: float | None
    position: Vector


@dataclass(frozen=True)
class Condition:
    """Condition number of M over the samples, None where M is singular; ``position`` is that of the largest."""

    minimum: float | None
    median: float | None
    maximum: float | None
    position: Vector


@dataclass(frozen=True)
class RangeFacts:
    """What was found between ``lower`` and ``upper`` by that many samples, uniform, of that seed."""

    samples: int
    seed: int
    lower: Vector
    upper: Vector
    gravity: tuple[WorstGravity, ...]
    condition: Condition


@dataclass(frozen=True)
class Note:
    """Something that is missing or odd, and what helps."""

    message: str
    cure: str | None


@dataclass(frozen=True)
class EquationFacts:
    """M, V and G as formulas; ``symbols`` are the joints' positions."""

    symbols: Mapping[str, str]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """All of it. SI units; vectors (n,) in the order of ``joints``."""

    robot: str
    source: str
    dynamics_file: str | None
    gravity: Vector
    mass: Mass
    joints: tuple[JointFacts, ...]
    locked: Mapping[str, float]
    bodies: tuple[Body, ...]
    friction: tuple[FrictionFacts, ...]
    joints_without_friction: tuple[str, ...]
    rotors: tuple[RotorFacts, ...]
    couplings: tuple[Coupling, ...]
    loops: tuple[LoopFacts, ...]
    parameters: Parameters
    pose: PoseFacts
    range: RangeFacts
    notes: tuple[Note, ...]
    equations: EquationFacts | None


SAMPLES = 2000
SEED = 0
UNLIMITED = (np.pi, 1.0)
"""How far to either side joints without position limits are moved: rad where they turn, m where they slide."""

_GRID = 73  # steps of 5 degrees in a whole turn: a cosine's top is met to 0.1 %
_SWEEPS = 2
_SINGULAR = 1e15
_ROUNDING = 1e-12  # of the largest torque of all joints


def at_pose(model: RobotModel, q: Array) -> PoseFacts:
    """Return what holds at positions q (n,), rad or m."""
    matrix, torque = model.mass_matrix(q), model.gravity_torque(q)
    return PoseFacts(
        positions(q),
        positions(torque),
        tuple(map(_percent, torque, model.effort_limits)),
        tuple(map(positions, matrix)),
        or_none(float(_condition(matrix))),
    )


def over_range(model: RobotModel) -> RangeFacts:
    """Search the range of the joints; joints without position limits by UNLIMITED."""
    reach = np.array([UNLIMITED[name in model.prismatic_joints] for name in model.joint_names])
    lower = np.where(np.isfinite(model.position_lower), model.position_lower, -reach)
    upper = np.where(np.isfinite(model.position_upper), model.position_upper, reach)
    q = np.random.default_rng(SEED).uniform(lower, upper, (SAMPLES, model.n))
    condition = _condition(model.mass_matrix(q))
    where, torque = _worst_gravity(model, lower, upper, q)
    least, median, most = (or_none(float(value)) for value in (condition.min(), np.median(condition), condition.max()))
    columns = (model.joint_names, torque, model.effort_limits, where)
    return RangeFacts(
        SAMPLES,
        SEED,
        positions(lower),
        positions(upper),
        tuple(
            WorstGravity(name, float(worst), _percent(worst, limit), positions(at))
            for name, worst, limit, at in zip(*columns, strict=True)
        ),
        Condition(least, median, most, positions(q[int(condition.argmax())])),
    )


def _worst_gravity(model: RobotModel, lower: Array, upper: Array, q: Array) -> tuple[Array, Array]:
    """For each joint a row of positions (n, n) where gravity asks most of it, and the torque (n,).

    The best of the samples q (samples, n), made better one coordinate after the other: with a few thousand samples
    of many joints none is near the worst.
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
    """Ratio of the largest to the smallest eigenvalue of mass matrices (..., n, n); inf where one is singular."""
    values = np.linalg.eigvalsh(matrix)
    least, largest = values[..., 0], values[..., -1]
    singular = least * _SINGULAR <= largest
    return np.asarray(np.where(singular, np.inf, largest / np.where(singular, 1.0, least)))


def _percent(torque: float, limit: float) -> float | None:
    return None if not np.isfinite(limit) else 100.0 * abs(float(torque)) / float(limit)


def or_none(value: float) -> float | None:
    """Return a number as JSON has it: None for what is not finite."""
    return float(value) if np.isfinite(value) else None


def positions(values: Array) -> Vector:
    """Return an array (k,) as plain numbers."""
    return tuple(np.asarray(values).tolist())


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
        loops=tuple(LoopFacts(loop.link_a, loop.link_b) for loop in model.loops),
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


def _joints(model: RobotModel, description: Description) -> Iterator[JointFacts]:
    kinds = {joint.name: joint.kind for joint in description.joints}
    limits = (model.position_lower, model.position_upper, model.velocity_limits, model.effort_limits)
    for name, *values in zip(model.joint_names, *limits, strict=True):
        yield JointFacts(name, kinds.get(name, "coordinate"), *map(or_none, values))


def _bodies(model: RobotModel, tree: LinkTree) -> Iterator[Body]:
    rotations = model.packed.link_rotations.reshape(-1, 3, 3)
    for name, link, rotation in zip(model.packed.body_links, tree.links, rotations, strict=True):
        com, inertia = rotation.T @ link.com, rotation.T @ link.inertia @ rotation  # of the joint's frame in link axes
        yield Body(name, link.joint, link.mass, positions(com), positions(inertia[np.triu_indices(3)]))


def _friction(model: RobotModel) -> Iterator[FrictionFacts]:
    columns = (
        layout.VISCOUS,
        layout.COULOMB,
        layout.COULOMB_NEGATIVE,
        layout.STATIC,
        layout.RIPPLE_AMPLITUDE,
        layout.SIGMOID_AMPLITUDE,
    )
    for name, row in zip(model.moving_joints, model.packed.friction, strict=True):
        yield FrictionFacts(name, *row[list(columns)].tolist())


def _rotors(model: RobotModel, tree: LinkTree) -> Iterator[RotorFacts]:
    for name, rotor, ratios in zip(model.packed.rotor_names, tree.rotors, tree.rotor_couplings, strict=True):
        carrier = None if rotor.carrier == BASE else model.packed.body_links[rotor.carrier]
        yield RotorFacts(name, carrier, rotor.inertia, rotor.inertia * float(ratios @ ratios), _named(model, ratios))


def _couplings(model: RobotModel, tree: LinkTree) -> Iterator[Coupling]:
    for name, row in zip(model.moving_joints, tree.couplings, strict=True):
        if name not in model.joint_names:
            yield Coupling(name, _named(model, row))


def _named(model: RobotModel, row: Array) -> Mapping[str, float]:
    return {name: float(x) for name, x in zip(model.joint_names, row, strict=True) if x != 0.0}


def _equations(model: RobotModel) -> EquationFacts:
    form = closed_form(model)
    symbols = {str(symbol): name for symbol, name in zip(form.q, form.joint_names, strict=True)}
    return EquationFacts(symbols, tuple(form.lines()))


def _split(text: str) -> Note:
    message, _, cure = text.removeprefix("URDF: ").partition(". Cure: ")
    return Note(message, cure or None)


def _missing_friction(friction: Sequence[FrictionFacts], without: Sequence[str]) -> Iterator[Note]:
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
