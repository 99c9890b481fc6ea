"""Model arrays with names, limits and friction, and copies of them with changed parameters.

A body is a moving link with all links fixed to it. ``robot`` has the views of the model arrays, as ``ModelData.robot``
returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.base.errors import RobotModelError, require_known
from robot_dynamics_ros.dynamics.description.dynamics_file import Loop
from robot_dynamics_ros.dynamics.description.inertia import (
    Inertial,
    InertiaSum,
    real_numbers,
    symmetric,
)
from robot_dynamics_ros.dynamics.kernels.composite_body import add_inertia
from robot_dynamics_ros.dynamics.kernels.couplings import expand
from robot_dynamics_ros.dynamics.kernels.friction import (
    COULOMB,
    COULOMB_NEGATIVE,
    FRICTION_PARAMETERS,
    load_coefficient,
)
from robot_dynamics_ros.dynamics.kernels.interpretation import interpreted
from robot_dynamics_ros.dynamics.kernels.layout import (
    AFTER,
    FIRST,
    FIRST_MOMENT,
    INERTIA,
    JOINT_POSITION,
    KIND,
    MASS,
    PARENT,
    PLACEMENT,
    REVOLUTE,
    ROTOR_INERTIA,
    WORK_SIZE,
    ModelArrays,
    unpack,
)
from robot_dynamics_ros.dynamics.kernels.placement import place_bodies
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray
from robot_dynamics_ros.dynamics.model.joint_limits import JointLimits
from robot_dynamics_ros.dynamics.thresholds import MOMENT_NOISE

# Columns of the friction table to which a joint's friction torque is proportional.
_LINEAR = [parameter.column for parameter in FRICTION_PARAMETERS if parameter.linear]

# Plain Python, so that loading a model compiles nothing.
views: Callable[[IntArray, Array], ModelArrays] = interpreted(unpack)
"""``layout.unpack`` as plain Python."""
_expand, _place_bodies, _add_inertia = map(
    interpreted, (expand, place_bodies, add_inertia)
)


def _freeze(owner: object) -> None:
    for value in vars(owner).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False


@dataclass(frozen=True)
class LinkFrame:
    """Placement of a link's frame on a moving body.

    Attributes
    ----------
    body
        Index of the body in ``RobotModel.moving_links``, -1 for the fixed base.
    rotation
        Rotation (3, 3) from the link's axes to the axes of the body's frame. The z axis of a body's frame is the
        axis of the joint that moves it.
    position
        Origin (3,) of the link's frame in the body's frame, m.
    """

    body: int
    rotation: Array
    position: Array

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def placement(self) -> Array:
        """Rotation, row by row, then position (12,), as kernels take them."""
        return np.concatenate([self.rotation.ravel(), self.position])


@dataclass(frozen=True)
class ModelData:
    """Read-only model arrays of a robot with names, limits and friction.

    Units are rad or m, per s, Nm or N, kg, kg m and kg m^2.

    Attributes
    ----------
    joint_names
        The n independent joints and coordinates.
    moving_joints, body_links
        Moving joints of the tree and their child links, one for each body, in the order of the bodies.
    rotor_names
        Names of the rotors.
    frames
        Frame of each link on its body, by name; the root comes first.
    end_links
        Links that move and are the parent of no joint, moving or fixed.
    topology, parameters
        Flat arrays that kernels read, integers and floating-point numbers; ``robot`` has views of them.
    friction
        (bodies, FRICTION_SIZE): friction of the moving joints, in the columns of ``RobotModel.friction_parameters``.
    bare_inertials
        (bodies, 10): mass, first moment and inertia (ixx ixy ixz iyy iyz izz) of the bodies without the payload, about
        the origin and in the axes of the body's frame.
    payload
        Link with the payload, and its mass properties in the link's frame; None without payload.
    limits
        Limits of the coordinates and of the moving joints.
    loops
        Closed loops; the tree itself is open.
    locked
        Positions of the locked joints and coordinates, by name.
    checksums
        SHA-256 of the texts of URDF and dynamics file, hexadecimal; empty if there is no file.
    """

    joint_names: tuple[str, ...]
    moving_joints: tuple[str, ...]
    body_links: tuple[str, ...]
    rotor_names: tuple[str, ...]
    frames: dict[str, LinkFrame]
    end_links: tuple[str, ...]
    topology: IntArray
    parameters: Array
    friction: Array
    bare_inertials: Array
    payload: tuple[str, Inertial] | None
    limits: JointLimits
    loops: tuple[Loop, ...]
    locked: Mapping[str, float]
    checksums: tuple[str, str]

    def __post_init__(self) -> None:
        for owner in (self, self.limits, self.limits.rows):
            _freeze(owner)

    @property
    def robot(self) -> ModelArrays:
        """Views of ``topology`` and ``parameters`` as tables, without a copy; read-only."""
        return views(self.topology, self.parameters)

    @cached_property
    def link_rotations(self) -> Array:
        """Rotations (bodies, 3, 3) from the axes of the body's link to those of the body's frame."""
        return np.array([self.frames[link].rotation for link in self.body_links])

    @cached_property
    def massless_joints(self) -> tuple[str, ...]:
        """Names of the independent coordinates that move neither mass, nor inertia about a revolute axis, nor a rotor.

        An arbitrary configuration is checked.
        """
        robot = self.robot
        tree = robot.tree
        count = len(robot.bodies)
        work = np.empty((len(tree), WORK_SIZE))
        composites = robot.bodies[:, MASS:].copy()
        with np.errstate(all="ignore"):  # large masses may overflow
            _expand(robot, 0.5 + np.arange(len(self.joint_names)), work, JOINT_POSITION)
            _place_bodies(robot, work)
            for i in range(count - 1, -1, -1):
                if tree[i, PARENT] >= 0:
                    _add_inertia(
                        work[i, PLACEMENT:], composites[i], composites[tree[i, PARENT]]
                    )
            moments = composites[
                :, [INERTIA - MASS, INERTIA - MASS + 3, INERTIA - MASS + 5]
            ]
            turns = moments[:, 2] > MOMENT_NOISE * moments.sum(axis=1)
        moved = np.where(tree[:count, KIND] == REVOLUTE, turns, composites[:, 0] > 0.0)
        driven: set[int] = set()
        for row, moves in zip(
            tree, [*moved, *(robot.rotors[:, ROTOR_INERTIA] > 0.0)], strict=True
        ):
            if moves:
                driven.update(robot.coordinates[row[FIRST] : row[AFTER]].tolist())
        return tuple(name for k, name in enumerate(self.joint_names) if k not in driven)

    def inertial_parameters(self) -> Array:
        """Return the parameters (10 bodies + rotors,) that the regressor multiplies, including the payload.

        For each body: mass, first moment, and inertia (ixx ixy ixz iyy iyz izz) about the origin of its link's frame,
        in the link's axes, including all links fixed to it. Then the axial inertia of each rotor, kg m^2.
        """
        parts: list[Array] = []
        for body, rotation in zip(self.robot.bodies, self.link_rotations, strict=True):
            inertia = rotation.T @ symmetric(*body[INERTIA:]) @ rotation
            parts += [
                body[MASS:FIRST_MOMENT],
                rotation.T @ body[FIRST_MOMENT:INERTIA],
                inertia[np.triu_indices(3)],
            ]
        return np.concatenate([*parts, self.robot.rotors[:, ROTOR_INERTIA]])


def with_payload(data: ModelData, link: str, inertial: Inertial) -> ModelData:
    """Return a copy of the model data with a payload on ``link`` that replaces the present one.

    ``inertial`` has its mass properties in the link's frame. Only ``parameters`` changes. Raises RobotModelError for an
    unknown link and for an inertia that overflows.
    """
    problem = f'payload: no link "{link}"'
    require_known(link, data.frames, problem, RobotModelError)
    loaded = _loaded(replace(data, payload=(link, inertial)))
    if not np.isfinite(loaded.parameters).all():
        raise RobotModelError(
            f'payload on link "{link}": the inertia overflows a float. Cure: check the units'
        )
    return loaded


def scaled(data: ModelData, mass: float, friction: ArrayLike) -> ModelData:
    """Return a copy of the model data with links scaled by ``mass``, and friction by ``friction``, one factor or (n,).

    ``mass`` scales mass, first moment and inertia of links, not of payload and rotors; ``friction`` all torques of the
    joints and of those that follow them. Raises RobotModelError as ``check_load``, for a ``mass`` that is not positive
    and finite, and for a friction factor that is negative or not finite. It is also raised for different factors of
    joints that the same joint follows, and for overflow.
    """
    factor = real_numbers(mass)
    if factor is None or factor.shape != () or not 0.0 < factor < np.inf:
        raise RobotModelError(
            f"scaled: mass is {mass!r}. Cure: pass a positive number, 1.0 for no change"
        )
    table = data.friction.copy()
    factors = _friction_factors(data, friction)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        table[:, _LINEAR] *= factors[:, np.newaxis]
        heavier = _loaded(
            replace(data, friction=table, bare_inertials=data.bare_inertials * factor)
        )
    if not (np.isfinite(heavier.parameters).all() and np.isfinite(table).all()):
        raise RobotModelError(
            f"scaled: parameters overflow with mass {mass!r} or friction {friction!r}. Cure: pass factors near 1"
        )
    for name, row in zip(data.moving_joints, table, strict=True):
        check_load(row, f'scaled: friction: joint "{name}"')
    return heavier


def without_rotors(data: ModelData) -> ModelData:
    """Return a copy of the model data with rotors of inertia 0."""
    parameters = data.parameters.copy()
    views(data.topology, parameters).rotors[:, ROTOR_INERTIA] = 0.0
    return replace(data, parameters=parameters)


def check_load(joint: Array, where: str) -> None:
    """Raise RobotModelError if the load increases the friction of a joint by as much as itself or more, also at rest.

    ``joint`` (FRICTION_SIZE,) is a row of the friction table; ``where`` is the beginning of the message.
    """
    at_rest = max(
        interpreted(load_coefficient)(joint, level, 0.0, driving)
        for level in joint[[COULOMB, COULOMB_NEGATIVE]]
        for driving in (True, False)
    )
    if at_rest >= 1.0:
        raise RobotModelError(
            f"{where}: the load coefficient times static over Coulomb level is {at_rest:g}: the joint could never be "
            "moved. Cure: write a load_coefficient so that it is below 1"
        )


def _friction_factors(data: ModelData, friction: ArrayLike) -> Array:
    """Return a factor for each moving joint (bodies,), from one factor or one for each independent joint."""
    names = data.joint_names
    factors = real_numbers(friction)
    if factors is None or factors.shape not in ((), (len(names),)):
        raise RobotModelError(
            f"scaled: friction is {friction!r}. Cure: pass one number, or {len(names)}: for {', '.join(names)}"
        )
    factors = np.broadcast_to(factors, len(names))
    for name, value in zip(names, factors.tolist(), strict=True):
        if not 0.0 <= value < np.inf:
            raise RobotModelError(
                f'scaled: friction: {value} for joint "{name}". Cure: pass finite numbers of at least 0'
            )
    result = np.empty(len(data.moving_joints))
    robot = data.robot
    for body, name in enumerate(data.moving_joints):
        followed = robot.coordinates[robot.tree[body, FIRST] : robot.tree[body, AFTER]]
        if np.unique(factors[followed]).size > 1:
            several = ", ".join(f"{names[k]}: {factors[k]:g}" for k in followed)
            raise RobotModelError(
                f'scaled: friction: joint "{name}" follows joints with different factors ({several}). '
                "Cure: pass the same factor for these"
            )
        result[body] = factors[followed[0]]
    return result


def _loaded(data: ModelData) -> ModelData:
    """Return the model data with parameters computed from the bodies without payload and the payload."""
    parameters = data.parameters.copy()
    robot = views(data.topology, parameters)
    robot.bodies[:, MASS:] = data.bare_inertials
    if data.payload is not None:
        link, inertial = data.payload
        frame = data.frames[link]
        if frame.body >= 0:
            total = InertiaSum.zero()
            total.add(inertial, frame.rotation, frame.position)
            robot.bodies[frame.body, MASS:] += total.flat()
    return replace(data, parameters=parameters)


def with_gravity(data: ModelData, vector: ArrayLike) -> ModelData:
    """Return a copy of the model data with the acceleration of gravity ``vector`` (3,), m/s^2, in the root frame.

    Only ``parameters`` changes. Raises RobotModelError if ``vector`` is not three finite numbers.
    """
    parameters = data.parameters.copy()
    views(data.topology, parameters).gravity[:] = gravity_vector(vector)
    return replace(data, parameters=parameters)


def gravity_vector(vector: ArrayLike) -> Array:
    """Return ``vector`` as an array of three finite numbers (3,). Raises RobotModelError for any other value."""
    result = real_numbers(vector)
    if result is None or result.shape != (3,) or not np.isfinite(result).all():
        raise RobotModelError(
            f"gravity: {vector!r} is not three finite numbers. Cure: pass x, y, z in m/s^2"
        )
    return result


def differ_in_parameters_only(one: ModelData, other: ModelData) -> bool:
    """Return True if the dynamics of two robots differ at most in inertias of links, payload and friction.

    Names of joints, kinematics, rotors, gravity, loops, and position, velocity and effort limits are then equal.
    """
    return (one.joint_names, one.loops) == (other.joint_names, other.loops) and all(
        np.array_equal(x, y)
        for x, y in (
            (one.topology, other.topology),
            (one.robot.bodies[:, :MASS], other.robot.bodies[:, :MASS]),
            (one.robot.rotors, other.robot.rotors),
            (one.robot.factors, other.robot.factors),
            (one.robot.gravity, other.robot.gravity),
            (one.limits.joints, other.limits.joints),
            (one.limits.effort, other.limits.effort),
        )
    )
