"""Mass matrix by the composite-rigid-body algorithm, and energies.

Walker and Orin 1982; Featherstone, Rigid Body Dynamics Algorithms, table 6.2. Column j is the torque for a unit
acceleration of joint j alone, during which the bodies beyond joint j move as one rigid body.

Arguments: ``robot`` has the model arrays (from layout.unpack), ``q`` (n,) is the position in rad or m, and ``work``
(bodies + rotors, WORK_SIZE) is scratch, with the columns of layout. The mass matrix is in kg m^2, kg m or kg.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import forceinlined_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.couplings import add_symmetric, expand, mirror
from robot_dynamics_ros.dynamics.kernels.layout import (
    COMPOSITE,
    INERTIA,
    JOINT_POSITION,
    KIND,
    MASS,
    PARENT,
    PLACEMENT,
    REVOLUTE,
    ROTOR_INERTIA,
    SPIN_AXIS,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.placement import (
    cross,
    origin,
    place_bodies,
    rotate,
    symmetric_product,
    to_parent,
    vector_at,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

_BODY = 10  # mass, first moment, inertia: the columns of ``bodies`` from MASS on


@forceinlined_kernel
def add_inertia(r: Array, body: Array, carrier: Array) -> None:
    """Add the inertial parameters of ``body`` (10,) to those of ``carrier`` (10,), in the carrier's frame.

    Both are mass, first moment (3) and inertia about the frame's origin (ixx ixy ixz iyy iyz izz). ``r`` (12,) is the
    placement (rotation row by row, position) of the body in the carrier's frame. With h = R h_body and [.] the
    cross-product matrix: I_carrier += R I R^T - [p][h] - [h][p] - m [p][p].
    """
    m = body[0]
    hx, hy, hz = rotate(r, body[1], body[2], body[3])
    px = r[9]
    py = r[10]
    pz = r[11]
    carrier[0] += m
    carrier[1] += hx + m * px
    carrier[2] += hy + m * py
    carrier[3] += hz + m * pz
    # Rows of R I, then (R I) R^T.
    s = (body[4], body[5], body[6], body[7], body[8], body[9])
    ax, ay, az = symmetric_product(s, r[0], r[1], r[2])
    bx, by, bz = symmetric_product(s, r[3], r[4], r[5])
    cx, cy, cz = symmetric_product(s, r[6], r[7], r[8])
    # With u = 2 h + m p the three cross-product terms combine into one.
    ux = 2.0 * hx + m * px
    uy = 2.0 * hy + m * py
    uz = 2.0 * hz + m * pz
    carrier[4] += ax * r[0] + ay * r[1] + az * r[2] + py * uy + pz * uz
    carrier[5] += ax * r[3] + ay * r[4] + az * r[5] - 0.5 * (px * uy + py * ux)
    carrier[6] += ax * r[6] + ay * r[7] + az * r[8] - 0.5 * (px * uz + pz * ux)
    carrier[7] += bx * r[3] + by * r[4] + bz * r[5] + px * ux + pz * uz
    carrier[8] += bx * r[6] + by * r[7] + bz * r[8] - 0.5 * (py * uz + pz * uy)
    carrier[9] += cx * r[6] + cy * r[7] + cz * r[8] + px * ux + py * uy


@forceinlined_kernel
def _add_rotors(robot: ModelArrays, work: Array, matrix: Array) -> None:
    """Add each rotor's inertia, and its coupling to the joints that rotate its carrier: Tsai (9.157)."""
    tree = robot.tree
    count = robot.bodies.shape[0]
    for k in range(robot.rotors.shape[0]):
        inertia = robot.rotors[k, ROTOR_INERTIA]
        add_symmetric(robot, count + k, count + k, inertia, matrix)
        body = tree[count + k, PARENT]
        x, y, z = vector_at(robot.rotors, k, SPIN_AXIS)
        while body >= 0:
            if tree[body, KIND] == REVOLUTE:
                add_symmetric(robot, body, count + k, inertia * z, matrix)
            x, y, z = to_parent(work, body, x, y, z)
            body = tree[body, PARENT]


@forceinlined_kernel
def gather_composites(robot: ModelArrays, work: Array, matrix: Array) -> None:
    """Write the mass matrix (n, n), both triangles, to ``matrix``, for the body placements in ``work``.

    placement.place_bodies has written these. The composite inertias are left in ``work``.
    """
    tree = robot.tree
    count = robot.bodies.shape[0]
    matrix[:] = 0.0
    for i in range(count):
        for k in range(_BODY):
            work[i, COMPOSITE + k] = robot.bodies[i, MASS + k]
    for i in range(count - 1, -1, -1):
        body = work[i, COMPOSITE:]
        if tree[i, PARENT] >= 0:
            add_inertia(work[i, PLACEMENT:], body, work[tree[i, PARENT], COMPOSITE:])
        if tree[i, KIND] == REVOLUTE:
            fx = -body[2]
            fy = body[1]
            fz = 0.0
            nx = body[INERTIA - MASS + 2]
            ny = body[INERTIA - MASS + 4]
            nz = body[INERTIA - MASS + 5]
        else:
            fx = 0.0
            fy = 0.0
            fz = body[0]
            nx = body[2]
            ny = -body[1]
            nz = 0.0
        j = i
        while True:
            add_symmetric(robot, j, i, nz if tree[j, KIND] == REVOLUTE else fz, matrix)
            if tree[j, PARENT] < 0:
                break
            fx, fy, fz = to_parent(work, j, fx, fy, fz)
            nx, ny, nz = to_parent(work, j, nx, ny, nz)
            px, py, pz = origin(work, j)
            px, py, pz = cross(px, py, pz, fx, fy, fz)
            nx = nx + px
            ny = ny + py
            nz = nz + pz
            j = tree[j, PARENT]
    _add_rotors(robot, work, matrix)
    mirror(matrix)


@forceinlined_kernel
def composite_body(robot: ModelArrays, q: Array, work: Array, matrix: Array) -> None:
    """Write the mass matrix (n, n) at position ``q``, with rotors, both triangles, to ``matrix``."""
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    gather_composites(robot, work, matrix)


@kernel
def potential_energy(robot: ModelArrays, q: Array, work: Array) -> float:
    """Return the potential energy -sum m g . c (J) of the bodies at position ``q``.

    m is mass, g the acceleration of gravity, and c the centre of mass from the origin of the root frame.
    """
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    count = robot.bodies.shape[0]
    for i in range(count):
        for k in range(4):
            work[i, COMPOSITE + k] = robot.bodies[i, MASS + k]
    energy = 0.0
    for i in range(count - 1, -1, -1):
        r = work[i, PLACEMENT:]
        body = work[i, COMPOSITE:]
        x, y, z = rotate(r, body[1], body[2], body[3])
        x = x + body[0] * r[9]
        y = y + body[0] * r[10]
        z = z + body[0] * r[11]
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
    """Return 1/2 v^T M v, the kinetic energy (J) of mass matrix ``matrix`` (n, n) at velocity ``vector`` (n,)."""
    total = 0.0
    for i in range(vector.shape[0]):
        for j in range(vector.shape[0]):
            total += vector[i] * matrix[i, j] * vector[j]
    return 0.5 * total
