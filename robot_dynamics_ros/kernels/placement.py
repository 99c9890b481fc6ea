"""Placement of each body's frame in its parent's, at given joint positions."""

from __future__ import annotations

import math

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.layout import COORDINATE, KIND, POSITION, REVOLUTE, ROTATION
from robot_dynamics_ros.kernels.types import Floats, Ints


@kernel
def place_bodies(tree: Ints, bodies: Floats, q: Floats, placement: Floats) -> None:
    """Write rotation (9, row by row) and position (3) of each body in its parent's frame to ``placement``.

    The joint turns about or slides along the frame's own z axis: R = R0 Rz(q), p = p0 + R0 z q.
    """
    for i in range(tree.shape[0]):
        angle = q[tree[i, COORDINATE]]
        if tree[i, KIND] == REVOLUTE:
            c = math.cos(angle)
            s = math.sin(angle)
            for row in range(3):
                x = bodies[i, ROTATION + 3 * row]
                y = bodies[i, ROTATION + 3 * row + 1]
                placement[i, 3 * row] = x * c + y * s
                placement[i, 3 * row + 1] = y * c - x * s
                placement[i, 3 * row + 2] = bodies[i, ROTATION + 3 * row + 2]
                placement[i, 9 + row] = bodies[i, POSITION + row]
        else:
            for row in range(3):
                placement[i, 3 * row] = bodies[i, ROTATION + 3 * row]
                placement[i, 3 * row + 1] = bodies[i, ROTATION + 3 * row + 1]
                placement[i, 3 * row + 2] = bodies[i, ROTATION + 3 * row + 2]
                placement[i, 9 + row] = bodies[i, POSITION + row] + bodies[i, ROTATION + 3 * row + 2] * angle
