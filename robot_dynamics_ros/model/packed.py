"""The robot as kernels take it, with names, limits and friction; and the same with some other numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.codegen.tracing import interpreted
from robot_dynamics_ros.errors import RobotModelError, RobotModelWarning
from robot_dynamics_ros.kernels.composite_body import add_inertia
from robot_dynamics_ros.kernels.couplings import expand
from robot_dynamics_ros.kernels.layout import (
    AFTER,
    COULOMB,
    COULOMB_NEGATIVE,
    FIRST,
    INERTIA,
    JOINT_POSITION,
    KIND,
    MASS,
    MOMENT,
    PARENT,
    PLACEMENT,
    REVOLUTE,
    RIPPLE_AMPLITUDE,
    ROTOR_INERTIA,
    SIGMOID_AMPLITUDE,
    STATIC,
    VISCOUS,
    WORK_SIZE,
    ModelArrays,
    unpack,
)
from robot_dynamics_ros.kernels.placement import place_bodies
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.model.dynamics_file import Loop
from robot_dynamics_ros.model.inertia import Inertial, InertiaSum, real_numbers, symmetric

# Columns of the friction table to which a joint's friction torque is proportional.
_FRICTION_TORQUES = [VISCOUS, COULOMB, COULOMB_NEGATIVE, STATIC, RIPPLE_AMPLITUDE, SIGMOID_AMPLITUDE]

# As plain Python, so that loading a model compiles nothing.
views: Callable[[IntArray, Array], ModelArrays] = interpreted(unpack)
"""``layout.unpack``."""
_expand, _place_bodies, _add_inertia = map(interpreted, (expand, place_bodies, add_inertia))

_NOISE = 1e-14  # of the sum of the principal moments


def _freeze(owner: object) -> None:
    for value in vars(owner).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


@dataclass(frozen=True)
class LinkFrame:
    """Where a link's frame stands: on which body (-1: the fixed base), and how in that body's frame."""

    body: int
    rotation: Array
    position: Array

    def __post_init__(self) -> None:
        _freeze(self)


@dataclass(frozen=True)
class PackedModel:
    """A robot as flat arrays (see kernels/layout.py), which are read-only, and the names that go with them.

    Attributes
    ----------
    joint_names
        The n independent joints and coordinates.
    moving_joints, body_links
        The tree's moving joints and their child links: one for each body, in the bodies' order.
    rotor_names
        One for each rotor, in their order after the bodies.
    frames
        Where each link's frame stands; the root first.
    tips
        The links that move and carry no other.
    structure, numbers
        What ``layout.unpack`` reads.
    link_rotations
        (bodies, 9), row by row: from the axes of the body's link to the axes of the body's frame.
    friction
        (bodies, FRICTION_SIZE): friction of the moving joints, by the columns in layout.
    joint_ranges
        (bodies, 3): lower and upper position limit of the moving joints, less the offset of coupled ones, and their
        velocity limit; infinite where there is none.
    bare_inertials
        (bodies, 10) as in ``numbers``, from MASS on, but without the payload.
    payload
        The link that carries the payload, and its inertia; None for none.
    position_lower, position_upper, velocity_limits, effort_limits, soft_lower, soft_upper
        (n,) of the independent joints; infinite where there is none, and for named coordinates.
    continuous
        (n,) True where a turn of 2 pi leads to the same configuration: URDF joints of type continuous that no other
        joint follows.
    massless_ends
        Names of the independent coordinates that move no inertia, see ``massless``.
    loops
        Points that stay together; the tree itself is open.
    locked
        Positions of the locked joints and coordinates.
    """

    joint_names: tuple[str, ...]
    moving_joints: tuple[str, ...]
    body_links: tuple[str, ...]
    rotor_names: tuple[str, ...]
    frames: dict[str, LinkFrame]
    tips: tuple[str, ...]
    structure: IntArray
    numbers: Array
    link_rotations: Array
    friction: Array
    joint_ranges: Array
    bare_inertials: Array
    payload: tuple[str, Inertial] | None
    position_lower: Array
    position_upper: Array
    velocity_limits: Array
    effort_limits: Array
    continuous: NDArray[np.bool_]
    soft_lower: Array
    soft_upper: Array
    massless_ends: tuple[str, ...]
    loops: tuple[Loop, ...]
    locked: Mapping[str, float]

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def robot(self) -> ModelArrays:
        """Views into ``structure`` and ``numbers``."""
        return views(self.structure, self.numbers)

    def inertial_parameters(self) -> Array:
        """What the regressor multiplies (10 bodies + rotors,), payload included: see kernels/regressor.py.

        For each body mass, first moment and inertia (ixx ixy ixz iyy iyz izz) at the origin of its link, in
        the link's axes, with all that is fixed to the link; then the axial inertia of each rotor.
        """
        parts: list[Array] = []
        for body, rotation in zip(self.robot.bodies, self.link_rotations.reshape(-1, 3, 3), strict=True):
            inertia = rotation.T @ symmetric(*body[INERTIA:]) @ rotation
            parts += [body[MASS:MOMENT], rotation.T @ body[MOMENT:INERTIA], inertia[np.triu_indices(3)]]
        return np.concatenate([*parts, self.robot.rotors[:, ROTOR_INERTIA]])


def with_payload(packed: PackedModel, link: str, inertial: Inertial) -> PackedModel:
    """Return the same robot with this payload on ``link`` in place of the one it had.

    Only numbers differ. Raises RobotModelError for a link that the robot does not have.
    """
    if not isinstance(link, str) or link not in packed.frames:
        raise RobotModelError(f'payload: no link "{link}". Cure: use one of {", ".join(packed.frames)}')
    loaded = _loaded(replace(packed, payload=(link, inertial)))
    if not np.isfinite(loaded.numbers).all():
        raise RobotModelError(f'payload on link "{link}": its inertia is too large for a number. Cure: check the units')
    return loaded


def scaled(packed: PackedModel, mass: float, friction: ArrayLike) -> PackedModel:
    """Return the same robot with other links and friction, see ``RobotModel.scaled``; only numbers differ."""
    factor = real_numbers(mass)
    if factor is None or factor.shape != () or not 0.0 < factor < np.inf:
        raise RobotModelError(f"scaled: mass is {mass!r}. Cure: give a positive number, 1.0 for no change")
    table = packed.friction.copy()
    factors = _friction_factors(packed, friction)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        table[:, _FRICTION_TORQUES] *= factors[:, np.newaxis]
        heavier = _loaded(replace(packed, friction=table, bare_inertials=packed.bare_inertials * factor))
    if not (np.isfinite(heavier.numbers).all() and np.isfinite(table).all()):
        raise RobotModelError(
            f"scaled: mass {mass!r} or friction {friction!r} makes numbers too large. Cure: give factors near 1"
        )
    return heavier


def _friction_factors(packed: PackedModel, friction: ArrayLike) -> Array:
    """A factor for each moving joint (bodies,) from one for all, or one for each independent joint."""
    names = packed.joint_names
    factors = real_numbers(friction)
    if factors is None or factors.shape not in ((), (len(names),)):
        raise RobotModelError(
            f"scaled: friction is {friction!r}. Cure: give one number, or {len(names)}: for {', '.join(names)}"
        )
    factors = np.broadcast_to(factors, len(names))
    for name, value in zip(names, factors.tolist(), strict=True):
        if not 0.0 <= value < np.inf:
            raise RobotModelError(
                f'scaled: friction: {value} for joint "{name}". Cure: give finite numbers, at least 0'
            )
    result = np.empty(len(packed.moving_joints))
    robot = packed.robot
    for body, name in enumerate(packed.moving_joints):
        followed = robot.coordinates[robot.tree[body, FIRST] : robot.tree[body, AFTER]]
        if np.unique(factors[followed]).size > 1:
            several = ", ".join(f"{names[k]}: {factors[k]:g}" for k in followed)
            raise RobotModelError(
                f'scaled: friction: joint "{name}" follows others with different factors ({several}). '
                "Cure: give these the same factor"
            )
        result[body] = factors[followed[0]]
    return result


def _loaded(packed: PackedModel) -> PackedModel:
    """Return the robot with the numbers of its bare bodies and its payload."""
    numbers = packed.numbers.copy()
    robot = views(packed.structure, numbers)
    robot.bodies[:, MASS:] = packed.bare_inertials
    if packed.payload is not None:
        link, inertial = packed.payload
        frame = packed.frames[link]
        if frame.body >= 0:
            total = InertiaSum.zero()
            total.add(inertial, frame.rotation, frame.position)
            robot.bodies[frame.body, MASS:] += total.flat()
    return replace(packed, numbers=numbers, massless_ends=massless(robot, packed.joint_names))


def with_gravity(packed: PackedModel, vector: ArrayLike) -> PackedModel:
    """Return the same robot under another gravity; only numbers differ."""
    numbers = packed.numbers.copy()
    views(packed.structure, numbers).gravity[:] = gravity_vector(vector)
    return replace(packed, numbers=numbers)


def gravity_vector(vector: ArrayLike) -> Array:
    """Return three finite numbers (3,); RobotModelError for anything else."""
    result = real_numbers(vector)
    if result is None or result.shape != (3,) or not np.isfinite(result).all():
        raise RobotModelError(f"gravity: {vector!r} is not three finite numbers. Cure: give x, y, z in m/s^2")
    return result


def differ_in_numbers_only(one: PackedModel, other: PackedModel) -> bool:
    """Return whether two robots differ at most in inertias and friction."""
    return (one.joint_names, one.loops) == (other.joint_names, other.loops) and all(
        np.array_equal(x, y)
        for x, y in (
            (one.structure, other.structure),
            (one.robot.bodies[:, :MASS], other.robot.bodies[:, :MASS]),
            (one.robot.rotors, other.robot.rotors),
            (one.robot.factors, other.robot.factors),
            (one.robot.gravity, other.robot.gravity),
            (one.joint_ranges, other.joint_ranges),
            (one.effort_limits, other.effort_limits),
        )
    )


def own_mass(robot: ModelArrays) -> Array:
    """More than zero for each body that has mass or inertia."""
    bodies = robot.bodies
    with np.errstate(over="ignore"):  # infinity is more than zero, too
        return bodies[:, MASS] + bodies[:, INERTIA] + bodies[:, INERTIA + 3] + bodies[:, INERTIA + 5]


def carried_mass(robot: ModelArrays) -> Array:
    """More than zero for each body that has mass or inertia, or carries a body that does."""
    carried = own_mass(robot)
    with np.errstate(over="ignore"):
        for i in range(len(carried) - 1, -1, -1):
            if robot.tree[i, PARENT] >= 0:
                carried[robot.tree[i, PARENT]] += carried[i]
    return carried


def massless(robot: ModelArrays, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the coordinates that move neither mass nor inertia nor a rotor.

    What a joint moves resists it by its mass along the axis or its inertia about it, at an arbitrary configuration.
    """
    tree, count = robot.tree, len(robot.bodies)
    work = np.empty((len(tree), WORK_SIZE))
    composites = robot.bodies[:, MASS:].copy()
    with np.errstate(all="ignore"):  # masses may be huge
        _expand(robot, 0.5 + np.arange(len(names)), work, JOINT_POSITION)
        _place_bodies(robot, work)
        for i in range(count - 1, -1, -1):
            if tree[i, PARENT] >= 0:
                _add_inertia(work[i, PLACEMENT:], composites[i], composites[tree[i, PARENT]])
        moments = composites[:, [INERTIA - MASS, INERTIA - MASS + 3, INERTIA - MASS + 5]]
        turns = moments[:, 2] > _NOISE * moments.sum(axis=1)
    moved = np.where(tree[:count, KIND] == REVOLUTE, turns, composites[:, 0] > 0.0)
    driven: set[int] = set()
    for row, moves in zip(tree, [*moved, *(robot.rotors[:, ROTOR_INERTIA] > 0.0)], strict=True):
        if moves:
            driven.update(robot.coordinates[row[FIRST] : row[AFTER]].tolist())
    return tuple(name for k, name in enumerate(names) if k not in driven)


def check_mass(packed: PackedModel, source: str, strict: bool) -> None:
    """Warn of joints that move no inertia and of inner bodies without mass; where ``strict``, raise RobotModelError."""
    masses = zip(packed.moving_joints, own_mass(packed.robot), carried_mass(packed.robot), strict=True)
    inner = [name for name, own, carried in masses if own <= 0.0 < carried]
    reports: list[tuple[str, str]] = []
    if packed.massless_ends:
        ends = f"joints {list(packed.massless_ends)} move no mass, or only mass on their axes without inertia"
        cure = "give their links mass and inertia, or lock them"
        reports.append((f"{ends}: forward dynamics and simulation refuse this robot", cure))
    if inner:
        cure = "give their links an inertial; if they are massless on purpose, load with strict=False"
        reports.append((f"the bodies moved by joints {inner} have no mass of their own", cure))
    for problem, cure in reports:
        if strict:
            raise RobotModelError(f"{source}: {problem}. Cure: {cure}")
        warnings.warn(f"{source}: {problem}. Cure: {cure}", RobotModelWarning, stacklevel=5)
