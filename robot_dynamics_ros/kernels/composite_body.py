"""Mass matrix by the composite-rigid-body algorithm.

Walker and Orin 1982; Featherstone, Rigid Body Dynamics Algorithms, table 6.2. Column j is the torque
for a unit acceleration of joint j alone: the bodies beyond j then move as one.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.layout import (
    CARRIER,
    COORDINATE,
    INERTIA,
    KIND,
    MASS,
    PARENT,
    RATIO,
    REVOLUTE,
    ROTOR_INERTIA,
    SPIN_AXIS,
)
from robot_dynamics_ros.kernels.placement import place_bodies
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.kernels.vectors import cross, rotate

_BODY = 10  # mass, first moment, inertia: the layout's columns from MASS on


@kernel
def _add_to_parent(r: Floats, body: Floats, parent: Floats) -> None:
    """Add a body's mass, first moment and inertia to its parent's, in the parent's frame.

    I_parent = R I R^T - [p][h] - [h][p] - m [p][p], with h = R h_body and [.] the cross-product matrix.
    """
    m = body[0]
    hx, hy, hz = rotate(r, body[1], body[2], body[3])
    px, py, pz = r[9], r[10], r[11]
    parent[0] += m
    parent[1] += hx + m * px
    parent[2] += hy + m * py
    parent[3] += hz + m * pz
    # Rows of R I, then (R I) R^T.
    ax = r[0] * body[4] + r[1] * body[5] + r[2] * body[6]
    ay = r[0] * body[5] + r[1] * body[7] + r[2] * body[8]
    az = r[0] * body[6] + r[1] * body[8] + r[2] * body[9]
    bx = r[3] * body[4] + r[4] * body[5] + r[5] * body[6]
    by = r[3] * body[5] + r[4] * body[7] + r[5] * body[8]
    bz = r[3] * body[6] + r[4] * body[8] + r[5] * body[9]
    cx = r[6] * body[4] + r[7] * body[5] + r[8] * body[6]
    cy = r[6] * body[5] + r[7] * body[7] + r[8] * body[8]
    cz = r[6] * body[6] + r[7] * body[8] + r[8] * body[9]
    # u = 2 h + m p: the steps from one origin to the other, both products at once.
    ux, uy, uz = 2.0 * hx + m * px, 2.0 * hy + m * py, 2.0 * hz + m * pz
    parent[4] += ax * r[0] + ay * r[1] + az * r[2] + py * uy + pz * uz
    parent[5] += ax * r[3] + ay * r[4] + az * r[5] - 0.5 * (px * uy + py * ux)
    parent[6] += ax * r[6] + ay * r[7] + az * r[8] - 0.5 * (px * uz + pz * ux)
    parent[7] += bx * r[3] + by * r[4] + bz * r[5] + px * ux + pz * uz
    parent[8] += bx * r[6] + by * r[7] + bz * r[8] - 0.5 * (py * uz + pz * uy)
    parent[9] += cx * r[6] + cy * r[7] + cz * r[8] + px * ux + py * uy


@kernel
def _add_rotors(tree: Ints, rotors: Floats, placement: Floats, matrix: Floats) -> None:
    """Add I r r^T and, for a carrier that turns, I (r w^T + w r^T), w the axial rate of the carrier per joint."""
    n = matrix.shape[0]
    for k in range(rotors.shape[0]):
        inertia = rotors[k, ROTOR_INERTIA]
        for i in range(n):
            for j in range(n):
                matrix[i, j] += inertia * rotors[k, RATIO + i] * rotors[k, RATIO + j]
        body = int(rotors[k, CARRIER])
        x, y, z = rotors[k, SPIN_AXIS], rotors[k, SPIN_AXIS + 1], rotors[k, SPIN_AXIS + 2]
        while body >= 0:
            if tree[body, KIND] == REVOLUTE:
                i = tree[body, COORDINATE]
                for j in range(n):
                    coupling = inertia * z * rotors[k, RATIO + j]
                    matrix[i, j] += coupling
                    matrix[j, i] += coupling
            x, y, z = rotate(placement[body], x, y, z)
            body = tree[body, PARENT]


@kernel
def composite_body(tree: Ints, bodies: Floats, rotors: Floats, q: Floats, matrix: Floats) -> None:
    """Write the mass matrix (n, n) at ``q`` to ``matrix``."""
    count = tree.shape[0]
    placement = np.empty((count, 12))
    composite = np.empty((count, _BODY))
    place_bodies(tree, bodies, q, placement)
    matrix[:] = 0.0
    for i in range(count):
        for k in range(_BODY):
            composite[i, k] = bodies[i, MASS + k]
    for i in range(count - 1, -1, -1):
        if tree[i, PARENT] >= 0:
            _add_to_parent(placement[i], composite[i], composite[tree[i, PARENT]])
        body = composite[i]
        if tree[i, KIND] == REVOLUTE:
            fx, fy, fz = -body[2], body[1], 0.0
            nx, ny, nz = body[INERTIA - MASS + 2], body[INERTIA - MASS + 4], body[INERTIA - MASS + 5]
        else:
            fx, fy, fz = 0.0, 0.0, body[0]
            nx, ny, nz = body[2], -body[1], 0.0
        column = tree[i, COORDINATE]
        j = i
        while True:
            part = nz if tree[j, KIND] == REVOLUTE else fz
            row = tree[j, COORDINATE]
            matrix[row, column] += part
            if j != i:
                matrix[column, row] += part
            if tree[j, PARENT] < 0:
                break
            r = placement[j]
            fx, fy, fz = rotate(r, fx, fy, fz)
            nx, ny, nz = rotate(r, nx, ny, nz)
            px, py, pz = cross(r[9], r[10], r[11], fx, fy, fz)
            nx, ny, nz = nx + px, ny + py, nz + pz
            j = tree[j, PARENT]
    _add_rotors(tree, rotors, placement, matrix)
