"""Potential energy of the bodies in the field of gravity, Tsai (9.88)."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.layout import MASS, MOMENT, PARENT
from robot_dynamics_ros.kernels.placement import place_bodies
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.kernels.vectors import rotate


@kernel
def potential_energy(tree: Ints, bodies: Floats, gravity: Floats, q: Floats) -> float:
    """-sum m g . c, zero where every body's centre of mass lies at the root frame's origin."""
    count = tree.shape[0]
    placement = np.empty((count, 12))
    place_bodies(tree, bodies, q, placement)
    mass = np.empty(count)
    moment = np.empty((count, 3))
    for i in range(count):
        mass[i] = bodies[i, MASS]
        for k in range(3):
            moment[i, k] = bodies[i, MOMENT + k]
    energy = 0.0
    for i in range(count - 1, -1, -1):
        r = placement[i]
        x, y, z = rotate(r, moment[i, 0], moment[i, 1], moment[i, 2])
        x, y, z = x + mass[i] * r[9], y + mass[i] * r[10], z + mass[i] * r[11]
        parent = tree[i, PARENT]
        if parent >= 0:
            mass[parent] += mass[i]
            moment[parent, 0] += x
            moment[parent, 1] += y
            moment[parent, 2] += z
        else:
            energy -= gravity[0] * x + gravity[1] * y + gravity[2] * z
    return energy
