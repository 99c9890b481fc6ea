"""From a checked description to the flat arrays that the kernels read."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import RobotModelError, RobotModelWarning
from robot_dynamics_ros.kernels.layout import (
    BODY_SIZE,
    FRICTION_SIZE,
    INERTIA,
    MASS,
    PARENT,
    PRISMATIC,
    RATIO,
    REVOLUTE,
)
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.model.dynamics_file import DynamicsFile, JointDynamics
from robot_dynamics_ros.model.inertia import Array, Inertial, InertiaSum
from robot_dynamics_ros.model.urdf import MOVABLE, Description, Joint

_STANDARD_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class LinkFrame:
    """Where a link's frame stands: on which body (-1: the fixed base), and how in that body's frame."""

    body: int
    rotation: Array
    position: Array


@dataclass(frozen=True)
class PackedModel:
    """A robot as flat arrays (see kernels/layout.py) and the names that go with them."""

    joint_names: tuple[str, ...]
    frames: dict[str, LinkFrame]
    tree: Ints
    bodies: Floats
    rotors: Floats
    gravity: Floats
    friction: Floats
    position_lower: Floats
    position_upper: Floats
    velocity_limits: Floats
    effort_limits: Floats
    massless_ends: tuple[str, ...]


def assemble(
    description: Description,
    dynamics: DynamicsFile,
    gravity: Sequence[float] | None,
    joints: Sequence[str] | None,
    locked: Mapping[str, float] | None,
    strict: bool,
) -> PackedModel:
    """Merge what does not move, put each body's frame on its joint's axis, and pack the numbers.

    Raises RobotModelError for names that the URDF does not have, joints that are neither controlled nor
    locked, a gravity that is not three finite numbers, and, where ``strict``, moving bodies without mass.
    """
    movable = {joint.name: joint for joint in description.joints if joint.kind in MOVABLE}
    locked = _checked_locked(description, movable, locked)
    names = _controlled(description, movable, joints, locked)
    _refuse_unknown(description, dynamics, movable)
    coordinate = {name: index for index, name in enumerate(names)}

    frames = {description.root: LinkFrame(-1, np.eye(3), np.zeros(3))}
    rows: list[tuple[int, int, int]] = []
    placements: list[Array] = []
    order: list[Joint] = []
    rotors: list[Array] = []
    for joint in description.joints:
        parent = frames[joint.parent]
        rotation = parent.rotation @ joint.rotation
        position = parent.position + parent.rotation @ joint.position
        if joint.name not in coordinate:
            if joint.name in locked:
                rotation, position = _moved(joint, locked[joint.name], rotation, position)
            frames[joint.child] = LinkFrame(parent.body, rotation, position)
            continue
        aligned = _frame_along(joint.axis)
        placement = rotation @ aligned
        frames[joint.child] = LinkFrame(len(rows), aligned.T, np.zeros(3))
        kind = PRISMATIC if joint.kind == "prismatic" else REVOLUTE
        rows.append((parent.body, kind, coordinate[joint.name]))
        placements.append(np.concatenate([placement.ravel(), position]))
        order.append(joint)
        extra = dynamics.joints.get(joint.name, JointDynamics())
        if extra.rotor_inertia > 0.0:
            carrier = parent.body if extra.rotor_carrier == "parent" else -1
            rotor = np.concatenate([[carrier], placement[:, 2], [extra.rotor_inertia], np.zeros(len(names))])
            rotor[RATIO + coordinate[joint.name]] = extra.gear_ratio
            rotors.append(rotor)

    tree = np.array(rows, dtype=np.int64)
    bodies = np.zeros((len(rows), BODY_SIZE))
    for i, numbers in enumerate(placements):
        bodies[i, :MASS] = numbers
    for i, total in enumerate(_body_inertias(description, dynamics, frames, len(rows))):
        bodies[i, MASS:] = total.flat()
    limits = np.array([[j.lower, j.upper, j.velocity, j.effort] for j in (movable[name] for name in names)])
    return PackedModel(
        joint_names=names,
        frames=frames,
        tree=tree,
        bodies=bodies,
        rotors=np.array(rotors).reshape(len(rotors), RATIO + len(names)),
        gravity=_gravity(gravity, dynamics),
        friction=_friction([movable[name] for name in names], dynamics),
        position_lower=limits[:, 0].copy(),
        position_upper=limits[:, 1].copy(),
        velocity_limits=limits[:, 2].copy(),
        effort_limits=limits[:, 3].copy(),
        massless_ends=_massless(description.source, tree, bodies, order, strict),
    )


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
    """Placement of a locked joint's child at joint position ``value``."""
    if joint.kind == "prismatic":
        return rotation, position + rotation @ joint.axis * value
    aligned = _frame_along(joint.axis)
    c, s = math.cos(value), math.sin(value)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return rotation @ aligned @ turn @ aligned.T, position


def _body_inertias(
    description: Description, dynamics: DynamicsFile, frames: dict[str, LinkFrame], count: int
) -> list[InertiaSum]:
    sums = [InertiaSum.zero() for _ in range(count)]
    parts: list[tuple[str, Inertial]] = list({**description.links, **dynamics.links}.items())
    if dynamics.payload is not None:
        parts.append(dynamics.payload)
    for name, part in parts:
        frame = frames[name]
        if frame.body >= 0:
            sums[frame.body].add(part, frame.rotation, frame.position)
    return sums


def _friction(joints: list[Joint], dynamics: DynamicsFile) -> Floats:
    table = np.zeros((len(joints), FRICTION_SIZE))
    for row, joint in zip(table, joints, strict=True):
        extra = dynamics.joints.get(joint.name, JointDynamics())
        coulomb = joint.friction if extra.coulomb is None else extra.coulomb
        row[:] = (
            joint.damping if extra.viscous is None else extra.viscous,
            coulomb,
            coulomb if extra.coulomb_negative is None else extra.coulomb_negative,
            *extra.sigmoid,
        )
    return table


def _gravity(gravity: Sequence[float] | None, dynamics: DynamicsFile) -> Floats:
    if gravity is None:
        return np.array(_STANDARD_GRAVITY) if dynamics.gravity is None else dynamics.gravity.copy()
    try:
        vector = np.array(gravity, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise RobotModelError(f"gravity: {gravity!r} is not three finite numbers. Cure: give x, y, z in m/s^2")
    return vector


def _checked_locked(
    description: Description, movable: dict[str, Joint], locked: Mapping[str, Any] | None
) -> dict[str, float]:
    result: dict[str, float] = {}
    for name, value in (locked or {}).items():
        if name not in movable:
            raise RobotModelError(_no_joint(description, "locked", name, movable))
        if not isinstance(value, Real) or not math.isfinite(value):
            raise RobotModelError(f'locked: joint "{name}": position {value!r} is not finite. Cure: give a number')
        result[name] = float(value)
    return result


def _controlled(
    description: Description,
    movable: dict[str, Joint],
    joints: Sequence[str] | None,
    locked: dict[str, float],
) -> tuple[str, ...]:
    if joints is None:
        names = tuple(name for name in movable if name not in locked)
    else:
        if isinstance(joints, str):
            raise RobotModelError(f"joints: {joints!r} is one text. Cure: give a list of names")
        names = tuple(joints)
        for name in names:
            if name not in movable:
                raise RobotModelError(_no_joint(description, "joints", name, movable))
        if len(set(names)) < len(names):
            raise RobotModelError(f"joints: {list(names)} names a joint twice. Cure: name each once")
        both = [name for name in names if name in locked]
        if both:
            raise RobotModelError(f"joints: {both} are locked as well. Cure: name each joint in one of the two")
        loose = [name for name in movable if name not in names and name not in locked]
        if loose:
            raise RobotModelError(
                f"joints: {loose} of {description.source} are neither controlled nor locked. "
                "Cure: add them to joints, or give their positions in locked"
            )
    if not names:
        raise RobotModelError(f"{description.source}: no joint is left to move. Cure: use a robot with movable joints")
    return names


def _no_joint(description: Description, argument: str, name: str, movable: dict[str, Joint]) -> str:
    return f'{argument}: {description.source} has no movable joint "{name}". Cure: use one of {", ".join(movable)}'


def _refuse_unknown(description: Description, dynamics: DynamicsFile, movable: dict[str, Joint]) -> None:
    for name in dynamics.joints:
        if name not in movable:
            raise RobotModelError(_no_joint(description, dynamics.source, name, movable))
    links = [*dynamics.links, *([dynamics.payload[0]] if dynamics.payload else [])]
    for name in links:
        if name not in description.links:
            raise RobotModelError(
                f'{dynamics.source}: {description.source} has no link "{name}". '
                f"Cure: use one of {', '.join(description.links)}"
            )


def _massless(source: str, tree: Ints, bodies: Floats, order: list[Joint], strict: bool) -> tuple[str, ...]:
    """Names of joints that move nothing with mass; warns of bodies without mass."""
    carried = bodies[:, MASS] + bodies[:, INERTIA] + bodies[:, INERTIA + 3] + bodies[:, INERTIA + 5]
    empty = carried <= 0.0
    for i in range(len(order) - 1, -1, -1):
        if tree[i, PARENT] >= 0:
            carried[tree[i, PARENT]] += carried[i]
    ends = tuple(joint.name for joint, mass in zip(order, carried, strict=True) if mass <= 0.0)
    inner = [j.name for j, none, mass in zip(order, empty, carried, strict=True) if none and mass > 0.0]
    if ends:
        warnings.warn(
            f"{source}: joints {list(ends)} move no mass: forward dynamics and simulation will refuse this robot",
            RobotModelWarning,
            stacklevel=5,
        )
    if inner and strict:
        raise RobotModelError(
            f"{source}: the bodies moved by joints {inner} have no mass of their own. "
            "Cure: give their links an inertial, or load with strict=False"
        )
    if inner:
        warnings.warn(
            f"{source}: the bodies moved by joints {inner} have no mass of their own",
            RobotModelWarning,
            stacklevel=5,
        )
    return ends
