"""What the forms share: the way between a robot's coordinates q and the joints of its links, q_tree = G q + c."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.kernels.layout import (
    AFTER,
    FIRST,
    INERTIA,
    KIND,
    MASS,
    MOMENT,
    PARENT,
    POSITION,
    PRISMATIC,
    ROTATION,
    ROTOR_INERTIA,
    SPIN_AXIS,
)
from robot_dynamics_ros.kernels.types import Array
from robot_dynamics_ros.model import RobotModel


def link_tree(robot: RobotModel | LinkTree) -> LinkTree:
    """Return the links of a model; links stay what they are."""
    return robot if isinstance(robot, LinkTree) else LinkTree.of(robot)


def coordinates(tree: LinkTree, **vectors: ArrayLike) -> list[Array]:
    """Return the vectors as arrays (n,); numbers that are Python objects, such as symbols, stay what they are.

    Raises RobotDynamicsError, with the vector's name, for any other shape.
    """
    n, arrays = tree.couplings.shape[1], []
    for name, values in vectors.items():
        array = np.asarray(values)
        if array.shape != (n,):
            raise RobotDynamicsError(f"{name} has shape {array.shape}. Cure: one number for each of {n} coordinates")
        arrays.append(array if array.dtype == object else array.astype(np.float64))
    return arrays


def to_coordinates(tree: LinkTree, term: Array) -> Array:
    """Take a joint-space term to the coordinates by virtual work: G^T tau, G^T M G, every axis of a tensor by G."""
    for _ in range(term.ndim):
        term = np.moveaxis(term, 0, -1) @ tree.couplings
    return term


def joint_axes(tree: LinkTree, rotations: Array) -> Array:
    """Unit vectors along the joints' axes (links, 3) in the base frame, by the links' rotations.

    Link frames are Craig's, with z on the link's own joint; in Tsai's and Milicevic's that vector is z_{i-1}, and the
    origin on it, here p_i, is p_{i-1}.
    """
    return rotations[:, :, 2]


def velocity_torque(dM: Array, qd: Array) -> Array:
    """Return V (n,), Tsai (9.101), for qd (n,) and the derivatives of M (n, n, n), dM[i, j, k] that of M_ij by q_k."""
    return np.asarray(np.einsum("ijk,j,k->i", dM, qd, qd) - 0.5 * np.einsum("jki,j,k->i", dM, qd, qd))


BASE = -1
"""The parent of links on the fixed base."""


@dataclass(frozen=True, eq=False)
class Link:
    """A moving link in its own frame, whose z axis is the axis of the joint that moves it (Craig's frames).

    Attributes
    ----------
    joint
        Name of that joint.
    parent
        Number of the link that carries it, or BASE; parents come first.
    prismatic
        Whether the joint slides along z; else it turns about z.
    rotation, position
        The frame's axes (3, 3), as columns, and origin (3,) in the parent's frame where the joint is at zero, m.
    mass, com, inertia
        kg; centre of mass (3,), m; inertia tensor about it (3, 3), kg m^2.
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
        """Rotation (3, 3) and origin (3,) in the parent's frame with the joint at q (rad or m), Craig (3.6)."""
        if self.prismatic:
            return self.rotation, self.position + q * self.rotation[:, 2]
        c, s = np.cos(q), np.sin(q)
        return self.rotation @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), self.position


@dataclass(frozen=True, eq=False)
class LinkRotor:
    """A motor's rotor: the link that carries it, or BASE; its axis (3,) there; its inertia about it, kg m^2.

    The carrier's mass and inertia include the rotor at rest.
    """

    carrier: int
    axis: Array
    inertia: float


@dataclass(frozen=True, eq=False)
class LinkTree:
    """A robot's links and rotors.

    Attributes
    ----------
    links, rotors
        The moving links, parents first; the rotors.
    couplings
        (links, n): rates of the joints by those of the independent coordinates, G. Constant offsets are in the
        links' placements.
    rotor_couplings
        (rotors, n): spin rates of the rotors by the same.
    gravity
        (3,) in the base frame, m/s^2.
    """

    links: tuple[Link, ...]
    rotors: tuple[LinkRotor, ...]
    couplings: Array
    rotor_couplings: Array
    gravity: Array

    @classmethod
    def of(cls, model: RobotModel) -> LinkTree:
        """Return the links of a model, payload included."""
        robot, count = model.packed.robot, len(model.moving_joints)
        rows = np.zeros((len(robot.tree), model.n))
        for row, line in enumerate(robot.tree):
            for entry in range(line[FIRST], line[AFTER]):
                rows[row, robot.coordinates[entry]] += robot.factors[entry]
        links = []
        for name, line, numbers in zip(model.moving_joints, robot.tree, robot.bodies, strict=False):
            mass, moment = float(numbers[MASS]), numbers[MOMENT : MOMENT + 3]
            com = moment / mass if mass > 0.0 else np.zeros(3)
            xx, xy, xz, yy, yz, zz = numbers[INERTIA : INERTIA + 6]
            about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            # Parallel axes, Craig (6.26).
            about_com = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
            rotation = numbers[ROTATION : ROTATION + 9].reshape(3, 3).copy()
            position = numbers[POSITION : POSITION + 3].copy()
            links.append(
                Link(name, int(line[PARENT]), bool(line[KIND] == PRISMATIC), rotation, position, mass, com, about_com)
            )
        rotors = tuple(
            LinkRotor(int(line[PARENT]), numbers[SPIN_AXIS : SPIN_AXIS + 3].copy(), float(numbers[ROTOR_INERTIA]))
            for line, numbers in zip(robot.tree[count:], robot.rotors, strict=True)
        )
        return cls(tuple(links), rotors, rows[:count], rows[count:], model.gravity)

    def joint_positions(self, q: ArrayLike) -> Array:
        """Positions of the joints (links,), rad or m, by the coordinates q (n,)."""
        return np.asarray(self.couplings @ np.asarray(q, dtype=np.float64))

    def base_placements(self, q: ArrayLike) -> tuple[Array, Array]:
        """Rotations (links, 3, 3) and origins (links, 3) of the links' frames in the base frame at q (n,)."""
        rotations, origins = np.empty((len(self.links), 3, 3)), np.empty((len(self.links), 3))
        for i, (link, position) in enumerate(zip(self.links, self.joint_positions(q), strict=True)):
            rotation, origin = link.placed(float(position))
            if link.parent == BASE:
                rotations[i], origins[i] = rotation, origin
            else:
                rotations[i] = rotations[link.parent] @ rotation
                origins[i] = origins[link.parent] + rotations[link.parent] @ origin
        return rotations, origins

    def path(self, i: int) -> list[int]:
        """Numbers of the links from the base to link i, i included: those whose joints move it."""
        found: list[int] = []
        while i != BASE:
            found.append(i)
            i = self.links[i].parent
        return found[::-1]
