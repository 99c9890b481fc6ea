"""Energies: of the bodies in the field of gravity, Tsai (9.88), and of motion, Craig (6.71)."""

from __future__ import annotations

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.couplings import expand
from robot_dynamics_ros.kernels.layout import COMPOSITE, JOINT_POSITION, MASS, PARENT, PLACEMENT, ModelArrays
from robot_dynamics_ros.kernels.placement import place_bodies, rotate
from robot_dynamics_ros.kernels.types import Array


@kernel
def potential_energy(robot: ModelArrays, q: Array, work: Array) -> float:
    """-sum m g . c, zero where every body's centre of mass lies at the root frame's origin."""
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    count = robot.bodies.shape[0]
    for i in range(count):
        for k in range(4):
            work[i, COMPOSITE + k] = robot.bodies[i, MASS + k]
    energy = 0.0
    for i in range(count - 1, -1, -1):
        r, body = work[i, PLACEMENT:], work[i, COMPOSITE:]
        x, y, z = rotate(r, body[1], body[2], body[3])
        x, y, z = x + body[0] * r[9], y + body[0] * r[10], z + body[0] * r[11]
        parent = robot.tree[i, PARENT]
        if parent >= 0:
            carrying = work[parent, COMPOSITE:]
            carrying[0] += body[0]
            carrying[1] += x
            carrying[2] += y
            carrying[3] += z
        else:
            energy -= robot.gravity[0] * x + robot.gravity[1] * y + robot.gravity[2] * z
    return energy


@kernel
def quadratic_form(matrix: Array, vector: Array) -> float:
    """1/2 v^T M v: the kinetic energy of M at rates v."""
    total = 0.0
    for i in range(vector.shape[0]):
        for j in range(vector.shape[0]):
            total += vector[i] * matrix[i, j] * vector[j]
    return 0.5 * total
