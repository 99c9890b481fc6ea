"""What drives and brakes the joints: rotors, Tsai 9.9, and the parameters of friction, Craig (6.110)-(6.113)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.kernels.layout import (
    BODY_SIZE,
    FRICTION_SIZE,
    MASS,
    PRISMATIC,
    REVOLUTE,
    ROTOR,
    ROTOR_SIZE,
    ModelArrays,
    pack,
)
from robot_dynamics_ros.kernels.types import Array, IntArray
from robot_dynamics_ros.model.couplings import Couplings
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, JointDynamics, Rotor, Row
from robot_dynamics_ros.model.inertia import InertiaSum
from robot_dynamics_ros.model.packed import (
    LinkFrame,
    PackedModel,
    check_mass,
    gravity_vector,
    massless,
    with_payload,
)
from robot_dynamics_ros.model.urdf import Description, Joint


@dataclass(frozen=True)
class RotorRow:
    """A rotor as the kernels take it: carrier body (-1: none), axis in its frame, spin rate by coordinate."""

    name: str
    body: int
    axis: Array
    inertia: float
    factors: Mapping[str, float]


def rotor_rows(
    description: Description, dynamics: DynamicsFile, couplings: Couplings, frames: Mapping[str, LinkFrame]
) -> list[RotorRow]:
    """Rotors that can spin. Raises RobotModelError for one whose axis neither the file nor its place gives."""
    rows: list[RotorRow] = []
    for name, rotor, factors in couplings.rotors:
        where = f"{dynamics.source}: {name}"
        axis = _axis_of_the_joint(description, where, rotor) if rotor.axis is None else rotor.axis
        if factors:  # one that stands still on its carrier is a part of it already
            frame = frames[description.root if rotor.carrier is None else rotor.carrier]
            rows.append(RotorRow(name, frame.body, frame.rotation @ axis, rotor.inertia, factors))
    return rows


def _axis_of_the_joint(description: Description, where: str, rotor: Rotor) -> Array:
    if rotor.carrier is None:
        return np.array([0.0, 0.0, 1.0])  # any will do: nothing turns it
    driven = [joint for joint in description.joints if joint.name in rotor.ratio]
    if len(rotor.ratio) == 1 and driven and driven[0].parent == rotor.carrier:
        return driven[0].rotation @ driven[0].axis
    raise RobotModelError(
        f'{where}: axis is missing, and link "{rotor.carrier}" is not the parent of one joint that alone it drives. '
        f'Cure: give axis in the frame of link "{rotor.carrier}"'
    )


def friction_table(dynamics: DynamicsFile, couplings: Couplings, moving: Sequence[Joint]) -> Array:
    """Friction of the joints that move, (bodies, FRICTION_SIZE); the file goes before the URDF."""
    table = np.zeros((len(moving), FRICTION_SIZE))
    for row, joint in zip(table, moving, strict=True):
        extra = dynamics.joints.get(joint.name, JointDynamics())
        amplitude, per_turn, phase = extra.ripple
        row[:] = (
            joint.damping if extra.viscous is None else extra.viscous,
            *_coulomb(joint, extra),
            extra.static or 0.0,
            extra.stribeck_velocity,
            amplitude,
            per_turn,
            phase + per_turn * couplings.rows[joint.name].offset,  # kernels know positions without offset
            *extra.sigmoid,
        )
    return table


def check_static(description: Description, dynamics: DynamicsFile) -> None:
    """Raise RobotModelError where a joint would hold less at rest than it does while it slides."""
    for joint in description.joints:
        extra = dynamics.joints.get(joint.name, JointDynamics())
        level = max(_coulomb(joint, extra))
        if extra.static is not None and extra.static < level:
            raise RobotModelError(
                f'{dynamics.source}: joint "{joint.name}" static: {extra.static:g} is below its Coulomb level '
                f"{level:g}. Cure: give at least that, or leave it out"
            )


def _coulomb(joint: Joint, extra: JointDynamics) -> tuple[float, float]:
    """Coulomb level in the joint's positive and negative direction."""
    positive = joint.friction if extra.coulomb is None else extra.coulomb
    return positive, positive if extra.coulomb_negative is None else extra.coulomb_negative


_STANDARD_GRAVITY = (0.0, 0.0, -9.81)
_NOISE = 1e-15  # of directions, and of metres


def assemble(
    description: Description,
    dynamics: DynamicsFile,
    couplings: Couplings,
    gravity: Sequence[float] | None,
    strict: bool,
) -> PackedModel:
    """Merge what does not move, put each body's frame on its joint's axis, and pack the numbers.

    Raises RobotModelError for links that the URDF does not have, rotors that cannot be, a static friction below the
    Coulomb level, a gravity that is not three finite numbers, and, where ``strict``, moving bodies without mass.
    """
    _refuse_unknown_links(description, dynamics)
    check_static(description, dynamics)
    frames, moving, bodies = _place(description, couplings)
    bare = _body_inertias(description, dynamics, frames, len(moving))
    bodies[:, MASS:] = bare
    rotors = rotor_rows(description, dynamics, couplings, frames)
    followed = [couplings.rows[joint.name].factors for joint in moving]
    offsets = [couplings.rows[joint.name].offset for joint in moving]  # kernels do not know them
    tree, coordinates, factors = _entries(
        couplings.names,
        [
            *(
                (frames[joint.parent].body, PRISMATIC if joint.kind == "prismatic" else REVOLUTE, row)
                for joint, row in zip(moving, followed, strict=True)
            ),
            *((rotor.body, ROTOR, rotor.factors) for rotor in rotors),
        ],
    )
    robot = ModelArrays(
        tree,
        coordinates,
        factors,
        bodies,
        np.array([[*rotor.axis, rotor.inertia] for rotor in rotors]).reshape(len(rotors), ROTOR_SIZE),
        _gravity(gravity, dynamics),
    )
    carrying = {joint.parent for joint in description.joints}
    limits, friction = _limits(description, couplings.names), friction_table(dynamics, couplings, moving)
    continuous = _continuous(description, couplings.names, followed)
    structure, numbers = pack(robot, len(couplings.names))
    packed = PackedModel(
        joint_names=couplings.names,
        moving_joints=tuple(joint.name for joint in moving),
        body_links=tuple(joint.child for joint in moving),
        rotor_names=tuple(rotor.name for rotor in rotors),
        frames=frames,
        tips=tuple(link for link, frame in frames.items() if frame.body >= 0 and link not in carrying),
        structure=structure,
        numbers=numbers,
        link_rotations=np.array([frames[joint.child].rotation.ravel() for joint in moving]),
        friction=friction,
        joint_ranges=np.array(
            [(j.lower - at, j.upper - at, j.velocity) for j, at in zip(moving, offsets, strict=True)]
        ),
        bare_inertials=bare,
        payload=None,
        position_lower=limits[:, 0].copy(),
        position_upper=limits[:, 1].copy(),
        velocity_limits=limits[:, 2].copy(),
        effort_limits=limits[:, 3].copy(),
        continuous=continuous,
        soft_lower=limits[:, 4].copy(),
        soft_upper=limits[:, 5].copy(),
        massless_ends=massless(robot, couplings.names),
        loops=dynamics.loops,
        locked=couplings.locked,
    )
    if dynamics.payload is not None:
        packed = with_payload(packed, *dynamics.payload)
    check_mass(packed, description.source, strict)
    return packed


def _place(description: Description, couplings: Couplings) -> tuple[dict[str, LinkFrame], list[Joint], Array]:
    """Frames of all links, the joints that move, and their bodies' placements where all coordinates are zero."""
    frames = {description.root: LinkFrame(-1, np.eye(3), np.zeros(3))}
    moving: list[Joint] = []
    placements: list[Array] = []
    for joint in description.joints:
        parent = frames[joint.parent]
        rotation = parent.rotation @ joint.rotation
        position = parent.position + parent.rotation @ joint.position
        row = couplings.rows.get(joint.name, Row({}))
        if row.offset != 0.0:
            rotation, position = _moved(joint, row.offset, rotation, position)
        rotation, position = _without_noise(rotation), _without_noise(position)
        if not row.factors:
            frames[joint.child] = LinkFrame(parent.body, rotation, position)
            continue
        aligned = _frame_along(joint.axis)
        frames[joint.child] = LinkFrame(len(moving), aligned.T, np.zeros(3))
        placements.append(np.concatenate([_without_noise(rotation @ aligned).ravel(), position]))
        moving.append(joint)
    bodies = np.zeros((len(moving), BODY_SIZE))
    bodies[:, :MASS] = np.array(placements).reshape(len(moving), MASS)
    return frames, moving, bodies


def _without_noise(array: Array) -> Array:
    """Zero for what is no more than rounding, as cos(pi / 2): kernels made for one robot leave zeros out."""
    return np.where(np.abs(array) < _NOISE, 0.0, array)


def _frame_along(axis: Array) -> Array:
    """Rotation (3, 3) whose third column is the unit vector ``axis``; exact for the axes x, y, z."""
    if axis[2] == 1.0:
        return np.eye(3)
    least = np.zeros(3)
    least[int(np.argmin(np.abs(axis)))] = 1.0
    y = np.cross(axis, least)
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, axis), y, axis])


def _moved(joint: Joint, value: float, rotation: Array, position: Array) -> tuple[Array, Array]:
    """Placement of a joint's child at joint position ``value``."""
    if joint.kind == "prismatic":
        return rotation, position + rotation @ joint.axis * value
    aligned = _frame_along(joint.axis)
    c, s = math.cos(value), math.sin(value)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return rotation @ aligned @ turn @ aligned.T, position


def _entries(
    names: Sequence[str], rows: Sequence[tuple[int, int, Mapping[str, float]]]
) -> tuple[IntArray, IntArray, Array]:
    """The table of the tree and the entries of G, from each row's parent, kind and factors."""
    index = {name: k for k, name in enumerate(names)}
    tree: list[tuple[int, int, int, int]] = []
    coordinates: list[int] = []
    factors: list[float] = []
    for parent, kind, row in rows:
        first = len(coordinates)
        for name in sorted(row, key=index.__getitem__):
            coordinates.append(index[name])
            factors.append(row[name])
        tree.append((parent, kind, first, len(coordinates)))
    return (
        np.array(tree, dtype=np.int64).reshape(len(tree), 4),
        np.array(coordinates, dtype=np.int64),
        np.array(factors),
    )


def _body_inertias(description: Description, dynamics: DynamicsFile, frames: dict[str, LinkFrame], count: int) -> Array:
    sums = [InertiaSum.zero() for _ in range(count)]
    for name, part in {**description.links, **dynamics.links}.items():
        frame = frames[name]
        if frame.body >= 0:
            sums[frame.body].add(part, frame.rotation, frame.position)
            if not np.isfinite(sums[frame.body].flat()).all():
                raise RobotModelError(
                    f'{description.source}: link "{name}": its inertia is too large for a number. Cure: check the units'
                )
    return np.array([total.flat() for total in sums]).reshape(count, BODY_SIZE - MASS)


def _limits(description: Description, names: Sequence[str]) -> Array:
    """Position lower and upper, velocity and effort limit, soft lower and upper of each name, (n, 6)."""
    table = {j.name: (j.lower, j.upper, j.velocity, j.effort, j.soft_lower, j.soft_upper) for j in description.joints}
    return np.array([table.get(name, (-math.inf, *3 * (math.inf,), -math.inf, math.inf)) for name in names])


def _continuous(
    description: Description, names: Sequence[str], followed: Sequence[Mapping[str, float]]
) -> NDArray[np.bool_]:
    kinds = {joint.name: joint.kind for joint in description.joints}
    # A turn of a joint that others follow moves those elsewhere.
    return np.array([kinds.get(name) == "continuous" and sum(name in row for row in followed) == 1 for name in names])


def _gravity(gravity: Sequence[float] | None, dynamics: DynamicsFile) -> Array:
    if gravity is None:
        return np.array(_STANDARD_GRAVITY) if dynamics.gravity is None else dynamics.gravity.copy()
    return gravity_vector(gravity)


def _refuse_unknown_links(description: Description, dynamics: DynamicsFile) -> None:
    links = [*dynamics.links, *([dynamics.payload[0]] if dynamics.payload else [])]
    links += [link for loop in dynamics.loops for link in (loop.link_a, loop.link_b)]
    for name in (*links, *(rotor.carrier for rotor in dynamics.rotors if rotor.carrier is not None)):
        if name not in description.links:
            raise RobotModelError(
                f'{dynamics.source}: {description.source} has no link "{name}". '
                f"Cure: use one of {', '.join(description.links)}"
            )
