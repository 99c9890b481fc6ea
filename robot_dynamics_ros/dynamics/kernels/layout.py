"""Layout of the model arrays that kernels read.

A robot is stored in two flat arrays: ``topology`` (int64) and ``parameters`` (float64). Parents precede their children
in the order of the bodies. Exactly one joint of the tree moves each body. The z axis of the body's frame is the axis of
that joint (Craig's convention), and its origin is on the axis.

Rows are the joints of the tree, one for each body, followed by the rotors. The rates of all rows follow from the n
independent coordinates by the coupling matrix G: rate_row = sum_c G[row, c] qd_c. G is stored row by row as
``entries``, each with its coordinate and factor. Hence tau = G^T tau_rows and M = G^T M_rows G (Tsai 9.9 for rotors).
Constant offsets of coupled joints are included in the placements of the bodies.

The constants of this module are the columns of the tables ``tree``, ``bodies``, ``rotors`` and ``work``. A rotor is the
spinning mass of a motor; the body that carries it is its carrier. An entry is a nonzero element of G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.compilation import inlined
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray

# Columns of ``tree``. The parent of a rotor is the body that carries it, or -1 for the fixed base.
PARENT = 0
KIND = 1
FIRST = 2  # entries FIRST to AFTER - 1 belong to the row
AFTER = 3
TREE_SIZE = 4
REVOLUTE = 0
PRISMATIC = 1
ROTOR = 2

# Columns of ``bodies``.
# 9 values, row by row: axes of the body's frame in the parent's frame, at zero position
ROTATION = 0
# 3 values: origin of the body's frame in the parent's frame, at zero position
POSITION = 9
MASS = 12
FIRST_MOMENT = 13  # 3 values: first moment of mass, mass times centre of mass
INERTIA = 16  # ixx ixy ixz iyy iyz izz about the frame's origin
BODY_SIZE = 22

# Columns of ``rotors``.
SPIN_AXIS = 0  # unit vector in the carrier's frame
ROTOR_INERTIA = 3  # axial inertia
ROTOR_SIZE = 4

# Columns of ``work``, the intermediate results of the algorithms for each row.
JOINT_POSITION = 0
JOINT_RATE = 1
JOINT_ACCELERATION = 2
JOINT_TORQUE = 3
PLACEMENT = 4  # rotation (9), position (3): the body's frame in its parent's
# angular velocity, angular acceleration, linear acceleration, in the body's axes
MOTION = 16
WRENCH = 25  # force, moment at the origin and in the axes of the body's frame
COMPOSITE = 31  # mass, first moment, inertia of the body and all bodies beyond it
WORK_SIZE = 41

_HEADER = 4


class ModelArrays(NamedTuple):
    """Views of the two model arrays, as tables.

    Attributes
    ----------
    tree
        (rows, 4), int: index of the parent body (of a rotor, its carrier) or -1 for the fixed base; kind of joint,
        REVOLUTE, PRISMATIC or ROTOR (0, 1, 2); FIRST and AFTER, so that the row's entries have the indices FIRST to
        AFTER - 1.
    coordinates, factors
        (entries,): index of the coordinate, and value, of each nonzero element of the coupling matrix G.
    bodies
        (bodies, BODY_SIZE): of each body, rotation (9, row by row) and origin (3, m) of its frame in its parent's at
        zero position, mass (kg), first moment (3, kg m), and inertia about the frame's origin (ixx ixy ixz iyy iyz izz,
        kg m^2) in the frame's axes.
    rotors
        (rotors, 4): unit spin axis in the carrier's frame, and axial inertia (kg m^2).
    gravity
        (3,): acceleration of gravity in the root frame, m/s^2.
    """

    tree: IntArray
    coordinates: IntArray
    factors: Array
    bodies: Array
    rotors: Array
    gravity: Array


def pack(robot: ModelArrays, n: int) -> tuple[IntArray, Array]:
    """Return new flat model arrays, ``topology`` and ``parameters``, with the tables of a robot with ``n`` coordinates.

    ``unpack`` reverses this.
    """
    header = [len(robot.bodies), len(robot.rotors), len(robot.factors), n]
    topology = np.concatenate([header, robot.tree.ravel(), robot.coordinates]).astype(
        np.int64
    )
    parameters = [
        robot.gravity,
        robot.bodies.ravel(),
        robot.rotors.ravel(),
        robot.factors,
    ]
    return topology, np.concatenate(parameters).astype(np.float64)


@inlined
def unpack(topology: IntArray, parameters: Array) -> ModelArrays:
    """Return the tables as views of the arrays ``topology`` and ``parameters`` that ``pack`` made."""
    bodies = topology[0]
    rotors = topology[1]
    entries = topology[2]
    rows = bodies + rotors
    first = _HEADER + rows * TREE_SIZE
    second = 3 + bodies * BODY_SIZE
    third = second + rotors * ROTOR_SIZE
    return ModelArrays(
        topology[_HEADER:first].reshape(rows, TREE_SIZE),
        topology[first : first + entries],
        parameters[third : third + entries],
        parameters[3:second].reshape(bodies, BODY_SIZE),
        parameters[second:third].reshape(rotors, ROTOR_SIZE),
        parameters[:3],
    )


@inlined
def coordinate_count(topology: IntArray) -> int:
    """Return the number n of independent coordinates, which ``topology`` stores."""
    return int(topology[3])
