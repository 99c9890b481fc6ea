"""Placement of the bodies' frames in their parents' frames and in the root frame.

A placement (12,) is a rotation matrix (9,), row by row, and a position (3,), m. ``robot`` has the model arrays (from
layout.unpack). ``work`` (bodies + rotors, WORK_SIZE) has the intermediate results of each row, in the columns that
layout names; body i is row i. ``place_bodies`` fills its placements, which the other functions read. A ``Vector`` is a
tuple of three floats.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.kernels.compilation import forceinlined_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.layout import (
    JOINT_POSITION,
    KIND,
    PARENT,
    PLACEMENT,
    POSITION,
    REVOLUTE,
    ROTATION,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

Vector = tuple[float, float, float]
Elements = Array | tuple[float, ...]
_Six = tuple[float, float, float, float, float, float]
_Nine = tuple[float, float, float, float, float, float, float, float, float]


@forceinlined_kernel
def cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@forceinlined_kernel
def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@forceinlined_kernel
def plus(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@forceinlined_kernel
def scaled(factor: float, a: Vector) -> Vector:
    """Return ``factor`` times a."""
    return factor * a[0], factor * a[1], factor * a[2]


@forceinlined_kernel
def rotate(r: Elements, v: Vector) -> Vector:
    """Return R v, from a body's axes to its parent's; R is ``r`` (9 or more,), row by row."""
    return (
        r[0] * v[0] + r[1] * v[1] + r[2] * v[2],
        r[3] * v[0] + r[4] * v[1] + r[5] * v[2],
        r[6] * v[0] + r[7] * v[1] + r[8] * v[2],
    )


@forceinlined_kernel
def rotate_back(r: Elements, v: Vector) -> Vector:
    """Return R^T v, from the parent's axes to the body's; R is ``r`` (9 or more,), row by row."""
    return (
        r[0] * v[0] + r[3] * v[1] + r[6] * v[2],
        r[1] * v[0] + r[4] * v[1] + r[7] * v[2],
        r[2] * v[0] + r[5] * v[1] + r[8] * v[2],
    )


@forceinlined_kernel
def symmetric_product(s: Elements, v: Vector) -> Vector:
    """Return S v; ``s`` (6 or more,) has the elements xx xy xz yy yz zz of a symmetric matrix S."""
    return (
        s[0] * v[0] + s[1] * v[1] + s[2] * v[2],
        s[1] * v[0] + s[3] * v[1] + s[4] * v[2],
        s[2] * v[0] + s[4] * v[1] + s[5] * v[2],
    )


@forceinlined_kernel
def vector_at(table: Array, i: int, column: int) -> Vector:
    """Return three consecutive elements of row ``i`` (an index) of ``table`` (rows, columns), from ``column`` on."""
    return table[i, column], table[i, column + 1], table[i, column + 2]


@forceinlined_kernel
def set_vector(table: Array, i: int, column: int, v: Vector) -> None:
    """Write a vector to row ``i`` of ``table`` (rows, columns), from ``column`` on."""
    table[i, column] = v[0]
    table[i, column + 1] = v[1]
    table[i, column + 2] = v[2]


@forceinlined_kernel
def place_bodies(robot: ModelArrays, work: Array) -> None:
    """Write the placement of each body in its parent's frame to ``work``.

    The positions of the joints (rad or m) are read from the column JOINT_POSITION of ``work`` (see couplings.expand).
    The joint rotates about or translates along the z axis of the body's frame: R = R0 Rz(q), p = p0, or R = R0, p = p0
    + R0 z q. R0 and p0 are the placement at zero position.
    """
    bodies = robot.bodies
    for i in range(bodies.shape[0]):
        q = work[i, JOINT_POSITION]
        if robot.tree[i, KIND] == REVOLUTE:
            c = math.cos(q)
            s = math.sin(q)
            for row in range(3):
                x, y, z = vector_at(bodies, i, ROTATION + 3 * row)
                turned = (x * c + y * s, y * c - x * s, z)
                set_vector(work, i, PLACEMENT + 3 * row, turned)
                work[i, PLACEMENT + 9 + row] = bodies[i, POSITION + row]
        else:
            for row in range(3):
                x, y, z = vector_at(bodies, i, ROTATION + 3 * row)
                set_vector(work, i, PLACEMENT + 3 * row, (x, y, z))
                work[i, PLACEMENT + 9 + row] = bodies[i, POSITION + row] + z * q


@forceinlined_kernel
def symmetric_at(table: Array, i: int, column: int) -> _Six:
    """Return six consecutive elements of row ``i`` (an index) of ``table``, from ``column`` on."""
    return vector_at(table, i, column) + vector_at(table, i, column + 3)


@forceinlined_kernel
def _rotation(work: Array, i: int) -> _Nine:
    """Return the rotation of body ``i``, row by row: a tuple, as a slice of ``work`` would be checked for its size."""
    return symmetric_at(work, i, PLACEMENT) + vector_at(work, i, PLACEMENT + 6)


@forceinlined_kernel
def add_vector(table: Array, i: int, column: int, v: Vector) -> None:
    """Add a vector to row ``i`` of ``table`` (rows, columns), from ``column`` on."""
    table[i, column] += v[0]
    table[i, column + 1] += v[1]
    table[i, column + 2] += v[2]


@forceinlined_kernel
def to_parent(work: Array, i: int, v: Vector) -> Vector:
    """Return a vector that is given in the axes of body ``i`` in the axes of its parent."""
    return rotate(_rotation(work, i), v)


@forceinlined_kernel
def to_body(work: Array, i: int, v: Vector) -> Vector:
    """Return a vector that is given in the axes of the parent of body ``i`` in the axes of the body."""
    return rotate_back(_rotation(work, i), v)


@forceinlined_kernel
def origin(work: Array, i: int) -> Vector:
    """Return the origin of the frame of body ``i`` in its parent's frame, m."""
    return vector_at(work, i, PLACEMENT + 9)


@kernel
def compose(r: Array, s: Array, product: Array) -> None:
    """Write the placement of C in A to ``product``, from the placements ``r`` of B in A and ``s`` of C in B.

    Each has shape (12,). ``product`` must not be ``r``.
    """
    for column in range(3):
        x, y, z = rotate(r, (s[column], s[3 + column], s[6 + column]))
        product[column] = x
        product[3 + column] = y
        product[6 + column] = z
    x, y, z = rotate(r, (s[9], s[10], s[11]))
    product[9] = r[9] + x
    product[10] = r[10] + y
    product[11] = r[11] + z


@kernel
def place_in_root(robot: ModelArrays, work: Array, world: Array) -> None:
    """Write each body's placement in the root frame to ``world`` (bodies, 12), from the placements in ``work``."""
    for i in range(world.shape[0]):
        parent = robot.tree[i, PARENT]
        if parent < 0:
            for k in range(12):
                world[i, k] = work[i, PLACEMENT + k]
        else:
            compose(world[parent], work[i, PLACEMENT:], world[i])
