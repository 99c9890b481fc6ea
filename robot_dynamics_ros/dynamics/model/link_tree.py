"""Links and rotors of a robot in the form of the textbooks, with coordinates q: q_tree = G q + c.

q (n,) are the positions of the independent joints and coordinates of the model, q_tree (links,) those of the joints
that move the links, rad or m; G and c are constant. The base is the root link. Link frames are Craig's, with z on the
axis of the link's own joint. Tsai and Milicevic call this axis z_{i-1} and the origin on it p_{i-1}. Here they are z_i,
the third column of the link's rotation, and p_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.description.inertia import steiner, symmetric
from robot_dynamics_ros.dynamics.kernels import layout
from robot_dynamics_ros.dynamics.kernels.types import Array
from robot_dynamics_ros.dynamics.model.robot_model import RobotModel

BASE = -1
"""Parent index of links on the fixed base."""


@dataclass(frozen=True, eq=False)
class Link:
    """Moving link in its own frame, whose z axis is the axis of the joint that moves it (Craig's frames).

    Attributes
    ----------
    joint
        Name of that joint.
    parent
        Index of the parent link in ``LinkTree.links``, or BASE (-1). Parents precede their children.
    prismatic
        True for a prismatic joint along z, False for a revolute joint about z.
    rotation, position
        Axes (3, 3), as columns, and origin (3,), m, of the frame in the parent's frame at joint position zero, of a
        coupled joint at its constant offset.
    mass
        Mass, kg.
    com
        Centre of mass (3,), m, in this frame.
    inertia
        Inertia (3, 3) about the centre of mass in the axes of this frame, kg m^2.
    """

    joint: str
    parent: int
    prismatic: bool
    rotation: Array
    position: Array
    mass: float
    com: Array
    inertia: Array

    def placed(self, q: float) -> tuple[Array, Array]:
        """Return axes (3, 3), as columns, and origin (3,), m, in the parent's frame at joint position q: Craig (3.6).

        q is in rad or m, and without the constant offset c of a coupled joint, which ``rotation`` and ``position``
        include.
        """
        if self.prismatic:
            return self.rotation, self.position + q * self.rotation[:, 2]
        c = np.cos(q)
        s = np.sin(q)
        return self.rotation @ np.array(
            [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
        ), self.position


@dataclass(frozen=True, eq=False)
class LinkRotor:
    """Rotor of a motor. Mass and inertia of its carrier include the rotor at rest.

    Attributes
    ----------
    carrier
        Index in ``LinkTree.links`` of the link that carries it, or BASE (-1).
    axis
        Unit vector (3,) along its axis in the carrier's frame.
    inertia
        Axial inertia, kg m^2.
    """

    carrier: int
    axis: Array
    inertia: float


@dataclass(frozen=True, eq=False)
class LinkTree:
    """Links and rotors of a robot.

    Attributes
    ----------
    links
        Moving links; parents precede their children.
    rotors
        Rotors.
    couplings
        G (links, n): rates of the joints = G qd. Constant offsets are included in the links' placements.
    rotor_couplings
        (rotors, n): spin rates of the rotors by coordinate.
    gravity
        Acceleration of gravity (3,) in the base frame, m/s^2.
    """

    links: tuple[Link, ...]
    rotors: tuple[LinkRotor, ...]
    couplings: Array
    rotor_couplings: Array
    gravity: Array

    @classmethod
    def of(cls, model: RobotModel) -> LinkTree:
        """Return the links and rotors of a model, including its payload, as copies."""
        robot = model._data.robot
        count = len(model.moving_joints)
        rates = model.coupling_matrix
        links = []
        for name, entry, numbers in zip(
            model.moving_joints, robot.tree, robot.bodies, strict=False
        ):
            mass = float(numbers[layout.MASS])
            moment = numbers[layout.FIRST_MOMENT : layout.FIRST_MOMENT + 3]
            com = moment / mass if mass > 0.0 else np.zeros(3)
            inertia = symmetric(
                *numbers[layout.INERTIA : layout.INERTIA + 6]
            ) - steiner(mass, com)  # Craig (6.26)
            rotation = (
                numbers[layout.ROTATION : layout.ROTATION + 9].reshape(3, 3).copy()
            )
            position = numbers[layout.POSITION : layout.POSITION + 3].copy()
            prismatic = bool(entry[layout.KIND] == layout.PRISMATIC)
            links.append(
                Link(
                    name,
                    int(entry[layout.PARENT]),
                    prismatic,
                    rotation,
                    position,
                    mass,
                    com,
                    inertia,
                )
            )
        rotors = []
        for entry, numbers in zip(robot.tree[count:], robot.rotors, strict=True):
            axis = numbers[layout.SPIN_AXIS : layout.SPIN_AXIS + 3].copy()
            rotors.append(
                LinkRotor(
                    int(entry[layout.PARENT]),
                    axis,
                    float(numbers[layout.ROTOR_INERTIA]),
                )
            )
        return cls(
            tuple(links), tuple(rotors), rates[:count], rates[count:], model.gravity
        )

    def joint_positions(self, q: ArrayLike) -> Array:
        """Return G q (links,), the positions of the joints without their offsets c, rad or m, at q (n,)."""
        return np.asarray(self.couplings @ np.asarray(q))

    def base_placements(self, q: ArrayLike) -> tuple[Array, Array]:
        """Return axes (links, 3, 3), as columns, and origins (links, 3), m, of link frames at q (n,), in the base."""
        positions = self.joint_positions(q)
        rotations, origins = (
            np.empty((len(self.links), *axes), dtype=positions.dtype)
            for axes in ((3, 3), (3,))
        )
        for i, (link, position) in enumerate(zip(self.links, positions, strict=True)):
            rotation, origin = link.placed(position)
            if link.parent == BASE:
                rotations[i] = rotation
                origins[i] = origin
            else:
                rotations[i] = rotations[link.parent] @ rotation
                origins[i] = origins[link.parent] + rotations[link.parent] @ origin
        return rotations, origins

    def path(self, i: int) -> list[int]:
        """Return the indices in ``links`` from the base to link i, including i: their joints move link i."""
        links: list[int] = []
        while i != BASE:
            links.append(i)
            i = self.links[i].parent
        return links[::-1]
