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
    add_vector,
    cross,
    dot,
    origin,
    place_bodies,
    plus,
    rotate,
    scaled,
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
    h = rotate(r, (body[1], body[2], body[3]))
    p = (r[9], r[10], r[11])
    carrier[0] += m
    carrier[1] += h[0] + m * p[0]
    carrier[2] += h[1] + m * p[1]
    carrier[3] += h[2] + m * p[2]
    # Rows of R and of R I, then (R I) R^T.
    s = (body[4], body[5], body[6], body[7], body[8], body[9])
    x = (r[0], r[1], r[2])
    y = (r[3], r[4], r[5])
    z = (r[6], r[7], r[8])
    a = symmetric_product(s, x)
    b = symmetric_product(s, y)
    c = symmetric_product(s, z)
    # With u = 2 h + m p the three cross-product terms combine into one.
    u = plus(scaled(2.0, h), scaled(m, p))
    carrier[4] += dot(a, x) + p[1] * u[1] + p[2] * u[2]
    carrier[5] += dot(a, y) - 0.5 * (p[0] * u[1] + p[1] * u[0])
    carrier[6] += dot(a, z) - 0.5 * (p[0] * u[2] + p[2] * u[0])
    carrier[7] += dot(b, y) + p[0] * u[0] + p[2] * u[2]
    carrier[8] += dot(b, z) - 0.5 * (p[1] * u[2] + p[2] * u[1])
    carrier[9] += dot(c, z) + p[0] * u[0] + p[1] * u[1]


@forceinlined_kernel
def _add_rotors(robot: ModelArrays, work: Array, matrix: Array) -> None:
    """Add each rotor's inertia, and its coupling to the joints that rotate its carrier: Tsai (9.157)."""
    tree = robot.tree
    count = robot.bodies.shape[0]
    for k in range(robot.rotors.shape[0]):
        inertia = robot.rotors[k, ROTOR_INERTIA]
        add_symmetric(robot, count + k, count + k, inertia, matrix)
        body = tree[count + k, PARENT]
        axis = vector_at(robot.rotors, k, SPIN_AXIS)
        while body >= 0:
            if tree[body, KIND] == REVOLUTE:
                add_symmetric(robot, body, count + k, inertia * axis[2], matrix)
            axis = to_parent(work, body, axis)
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
            force = (-body[2], body[1], 0.0)
            moment = (
                body[INERTIA - MASS + 2],
                body[INERTIA - MASS + 4],
                body[INERTIA - MASS + 5],
            )
        else:
            force = (0.0, 0.0, body[0])
            moment = (body[2], -body[1], 0.0)
        j = i
        while True:
            along = moment[2] if tree[j, KIND] == REVOLUTE else force[2]
            add_symmetric(robot, j, i, along, matrix)
            if tree[j, PARENT] < 0:
                break
            force = to_parent(work, j, force)
            moment = plus(to_parent(work, j, moment), cross(origin(work, j), force))
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
    gravity = robot.gravity
    energy = 0.0
    for i in range(count - 1, -1, -1):
        mass = work[i, COMPOSITE]
        moment = to_parent(work, i, vector_at(work, i, COMPOSITE + 1))
        moment = plus(moment, scaled(mass, origin(work, i)))
        parent = robot.tree[i, PARENT]
        if parent >= 0:
            work[parent, COMPOSITE] += mass
            add_vector(work, parent, COMPOSITE + 1, moment)
        else:
            energy -= dot((gravity[0], gravity[1], gravity[2]), moment)
    return energy


@kernel
def quadratic_form(matrix: Array, vector: Array) -> float:
    """Return 1/2 v^T M v, the kinetic energy (J) of mass matrix ``matrix`` (n, n) at velocity ``vector`` (n,)."""
    total = 0.0
    for i in range(vector.shape[0]):
        for j in range(vector.shape[0]):
            total += vector[i] * matrix[i, j] * vector[j]
    return 0.5 * total
