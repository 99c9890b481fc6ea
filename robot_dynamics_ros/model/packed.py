"""The robot as kernels take it, with names, limits and friction; and the same with another payload or no gravity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics_ros.errors import RobotModelError
from robot_dynamics_ros.kernels.layout import AFTER, FIRST, INERTIA, MASS, MOMENT, PARENT, ROTOR_INERTIA, Robot, unpack
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.model.inertia import Array, Inertial, InertiaSum, symmetric

# As plain Python, so that loading a model compiles nothing.
_unpack: Callable[[Ints, Floats], Robot] = getattr(unpack, "py_func", unpack)


@dataclass(frozen=True)
class LinkFrame:
    """Where a link's frame stands: on which body (-1: the fixed base), and how in that body's frame."""

    body: int
    rotation: Array
    position: Array


@dataclass(frozen=True)
class PackedModel:
    """A robot as flat arrays (see kernels/layout.py) and the names that go with them.

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
    structure, numbers
        What ``layout.unpack`` reads.
    link_rotations
        (bodies, 9), row by row: from the axes of the body's link to the axes of the body's frame.
    friction
        (bodies, FRICTION_SIZE): friction of the moving joints, by the columns in layout.
    bare_inertials
        (bodies, 10) as in ``numbers``, from MASS on, but without the payload.
    payload
        The link that carries the payload, and its inertia; None for none.
    position_lower, position_upper, velocity_limits, effort_limits
        (n,) of the independent joints; infinite where there is none, and for named coordinates.
    massless_ends
        Names of the independent coordinates that move nothing with mass.
    """

    joint_names: tuple[str, ...]
    moving_joints: tuple[str, ...]
    body_links: tuple[str, ...]
    rotor_names: tuple[str, ...]
    frames: dict[str, LinkFrame]
    structure: Ints
    numbers: Floats
    link_rotations: Floats
    friction: Floats
    bare_inertials: Floats
    payload: tuple[str, Inertial] | None
    position_lower: Floats
    position_upper: Floats
    velocity_limits: Floats
    effort_limits: Floats
    massless_ends: tuple[str, ...]

    @property
    def coupled(self) -> bool:
        """Whether some moving joint is not itself an independent coordinate."""
        return set(self.moving_joints) != set(self.joint_names)

    @property
    def robot(self) -> Robot:
        """Views into ``structure`` and ``numbers``."""
        return _unpack(self.structure, self.numbers)

    def inertial_parameters(self) -> Floats:
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
    frame = packed.frames.get(link) if isinstance(link, str) else None
    if frame is None:
        raise RobotModelError(f'payload: no link "{link}". Cure: use one of {", ".join(packed.frames)}')
    numbers = packed.numbers.copy()
    robot = _unpack(packed.structure, numbers)
    robot.bodies[:, MASS:] = packed.bare_inertials
    if frame.body >= 0:
        total = InertiaSum.zero()
        total.add(inertial, frame.rotation, frame.position)
        robot.bodies[frame.body, MASS:] += total.flat()
    if not np.isfinite(numbers).all():
        raise RobotModelError(f'payload on link "{link}": its inertia is too large for a number. Cure: check the units')
    return replace(packed, numbers=numbers, payload=(link, inertial), massless_ends=massless(robot, packed.joint_names))


def without_gravity(packed: PackedModel) -> PackedModel:
    """Return the same robot where nothing has weight; only numbers differ."""
    numbers = packed.numbers.copy()
    _unpack(packed.structure, numbers).gravity[:] = 0.0
    return replace(packed, numbers=numbers)


def own_mass(robot: Robot) -> Array:
    """More than zero for each body that has mass or inertia."""
    bodies = robot.bodies
    return bodies[:, MASS] + bodies[:, INERTIA] + bodies[:, INERTIA + 3] + bodies[:, INERTIA + 5]


def carried_mass(robot: Robot) -> Array:
    """More than zero for each body that has mass or inertia, or carries a body that does."""
    carried = own_mass(robot)
    for i in range(len(carried) - 1, -1, -1):
        if robot.tree[i, PARENT] >= 0:
            carried[robot.tree[i, PARENT]] += carried[i]
    return carried


def massless(robot: Robot, names: Sequence[str]) -> tuple[str, ...]:
    """Names of the coordinates that move neither a body with mass nor a rotor."""
    moves = [*carried_mass(robot), *robot.rotors[:, ROTOR_INERTIA]]
    driven: set[int] = set()
    for row, mass in zip(robot.tree, moves, strict=True):
        if mass > 0.0:
            driven.update(robot.coordinates[row[FIRST] : row[AFTER]].tolist())
    return tuple(name for k, name in enumerate(names) if k not in driven)
