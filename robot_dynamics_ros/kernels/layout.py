"""How a robot is packed into two flat arrays for the kernels, and how the kernels see it.

Bodies stand in an order in which parents come first; each body is moved by exactly one joint of the tree,
and its frame has the z axis along that joint (Craig's convention), the origin on it.

Rows: first the joints of the tree, one a body, then the rotors. The rates of all rows follow from the n
independent coordinates by the coupling matrix G, rate_row = sum_c G[row, c] qd_c, kept row by row as
``entries``: which coordinate, and the factor. So tau = G^T tau_rows and M = G^T M_rows G (Tsai 9.9 for
the rotors). The constant offsets of coupled joints are inside the bodies' placements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.kernels.compilation import inlined
from robot_dynamics_ros.kernels.types import Array, IntArray

# Columns of ``tree``; a rotor's parent is the body that carries it, or -1 where nothing turns it.
PARENT, KIND, FIRST, AFTER = 0, 1, 2, 3  # entries FIRST to AFTER - 1 belong to the row
TREE_SIZE = 4
REVOLUTE, PRISMATIC, ROTOR = 0, 1, 2

# Columns of ``bodies``.
ROTATION = 0  # 9 values, row by row: axes of the body's frame in the parent's frame, at zero position
POSITION = 9  # 3 values: origin of the body's frame in the parent's frame, at zero position
MASS = 12
MOMENT = 13  # 3 values: mass times centre of mass
INERTIA = 16  # ixx ixy ixz iyy iyz izz about the frame's origin
BODY_SIZE = 22

# Columns of ``rotors``.
SPIN_AXIS, ROTOR_INERTIA = 0, 3  # unit vector in the carrier's frame; axial inertia
ROTOR_SIZE = 4

# Columns of ``work``, one line a row: what one algorithm hands to the next.
JOINT_POSITION, JOINT_RATE, JOINT_ACCELERATION, JOINT_TORQUE = 0, 1, 2, 3
PLACEMENT = 4  # rotation 9, position 3: the body's frame in its parent's
MOTION = 16  # angular velocity, angular acceleration, linear acceleration, in the body's axes
LOAD = 25  # force, moment at the body's origin, in its axes
COMPOSITE = 31  # mass, first moment, inertia of the body and all that it carries
WORK_SIZE = 41

_HEADER = 4


class ModelArrays(NamedTuple):
    """Views into the two flat arrays."""

    tree: IntArray  # (rows, 4)
    coordinates: IntArray  # (entries,)
    factors: Array  # (entries,)
    bodies: Array  # (bodies, 22)
    rotors: Array  # (rotors, 4)
    gravity: Array  # (3,) in the root frame


def pack(robot: ModelArrays, n: int) -> tuple[IntArray, Array]:
    """Flatten a robot with ``n`` coordinates; ``unpack`` gives it back."""
    header = [len(robot.bodies), len(robot.rotors), len(robot.factors), n]
    structure = np.concatenate([header, robot.tree.ravel(), robot.coordinates]).astype(np.int64)
    numbers = [robot.gravity, robot.bodies.ravel(), robot.rotors.ravel(), robot.factors]
    return structure, np.concatenate(numbers).astype(np.float64)


@inlined
def unpack(structure: IntArray, numbers: Array) -> ModelArrays:
    """Views into what ``pack`` made."""
    bodies, rotors, entries = structure[0], structure[1], structure[2]
    rows = bodies + rotors
    first = _HEADER + rows * TREE_SIZE
    second = 3 + bodies * BODY_SIZE
    third = second + rotors * ROTOR_SIZE
    return ModelArrays(
        structure[_HEADER:first].reshape(rows, TREE_SIZE),
        structure[first : first + entries],
        numbers[third : third + entries],
        numbers[3:second].reshape(bodies, BODY_SIZE),
        numbers[second:third].reshape(rotors, ROTOR_SIZE),
        numbers[:3],
    )


@inlined
def coordinate_count(structure: IntArray) -> int:
    """Number n of independent coordinates."""
    return int(structure[3])


# Columns of the friction table, one line for each moving joint of the tree. Static 0: as the Coulomb level.
VISCOUS, COULOMB, COULOMB_NEGATIVE, STATIC, STRIBECK_VELOCITY = 0, 1, 2, 3, 4
RIPPLE_AMPLITUDE, RIPPLE_PER_TURN, RIPPLE_PHASE = 5, 6, 7
SIGMOID_AMPLITUDE, SIGMOID_SLOPE, SIGMOID_SHIFT = 8, 9, 10
FRICTION_SIZE = 11
