"""Analytical derivatives of inverse dynamics, in spatial vectors of the root frame.

Singh, Russo, Wensing 2022, "Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra". S is
the motion axis of a joint, v and a are the velocity and acceleration of its parent body, S' = v x S, S'' = a x S + v x
S'. I is the spatial inertia of all bodies from j outwards, f the wrench on them, and B v the part of that wrench that
depends on velocity. x* is the cross product with a wrench. For i from the root to j:

    dtau_i/dq_j = S_i . (I S''_j + 2 B S'_j + S_j x* f)      dtau_i/dqd_j = 2 S_i . (I S'_j + B S_j)
    dtau_j/dq_i = S_j . (I S''_i + 2 B S'_i)                 dtau_j/dqd_i = 2 S_j . (I S'_i + B S_i)

Spatial vectors have the angular part first: motion (w, v), wrench (moment, force). B of a rigid body has twelve nonzero
numbers: moment N w and force w x P. P is the body's momentum and N = -[w] E - [h] [v], with its second moment of mass E
and first moment h. A rotor with angular momentum s adds -[s] / 2 to N. The Coriolis matrix of the Christoffel symbols
is half of dtau/dqd (Spong (9.61)-(9.63); Echeandia and Wensing 2021).
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import forceinlined_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.composite_body import add_inertia
from robot_dynamics_ros.dynamics.kernels.couplings import add_element, expand
from robot_dynamics_ros.dynamics.kernels.layout import (
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    KIND,
    MASS,
    PARENT,
    PLACEMENT,
    REVOLUTE,
    ROTOR_INERTIA,
    SPIN_AXIS,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.newton_euler import base_acceleration
from robot_dynamics_ros.dynamics.kernels.placement import (
    Vector,
    add_vector,
    cross,
    dot,
    origin,
    place_bodies,
    place_in_root,
    plus,
    rotate,
    rotate_back,
    scaled,
    set_vector,
    symmetric_at,
    symmetric_product,
    vector_at,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

SpatialVector = tuple[Vector, Vector]

# Columns of ``spatial``, which has one row for each body.
_S = 0  # axis
_DS = 6  # its first derivative
_DDS = 12  # its second derivative
_V = 18
_A = 24
_I = 30  # mass, first moment, inertia: of the body, then of all bodies from it outwards
_F = 40
_N = 46  # 9 values, row by row
_P = 55
SPATIAL_SIZE = 58


@forceinlined_kernel
def _read(spatial: Array, i: int, column: int) -> SpatialVector:
    return vector_at(spatial, i, column), vector_at(spatial, i, column + 3)


@forceinlined_kernel
def _write(spatial: Array, i: int, column: int, vector: SpatialVector) -> None:
    set_vector(spatial, i, column, vector[0])
    set_vector(spatial, i, column + 3, vector[1])


@kernel
def _plus(a: SpatialVector, b: SpatialVector) -> SpatialVector:
    return plus(a[0], b[0]), plus(a[1], b[1])


@kernel
def _scaled(factor: float, a: SpatialVector) -> SpatialVector:
    return scaled(factor, a[0]), scaled(factor, a[1])


@forceinlined_kernel
def _add_dot(total: float, a: Vector, b: Vector) -> float:
    return total + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _dot(a: SpatialVector, b: SpatialVector) -> float:
    return _add_dot(dot(a[0], b[0]), a[1], b[1])


@kernel
def _motion_cross(a: SpatialVector, b: SpatialVector) -> SpatialVector:
    """Cross product a x b of two motions."""
    return cross(a[0], b[0]), plus(cross(a[0], b[1]), cross(a[1], b[0]))


@kernel
def _force_cross(a: SpatialVector, f: SpatialVector) -> SpatialVector:
    """Cross product a x* f of a motion and a wrench."""
    return plus(cross(a[0], f[0]), cross(a[1], f[1])), cross(a[0], f[1])


@forceinlined_kernel
def _times_inertia(spatial: Array, i: int, b: SpatialVector) -> SpatialVector:
    """Wrench I b: moment J w + h x v, force m v + w x h."""
    h = vector_at(spatial, i, _I + 1)
    moment = symmetric_product(symmetric_at(spatial, i, _I + 4), b[0])
    return (
        plus(moment, cross(h, b[1])),
        plus(scaled(spatial[i, _I], b[1]), cross(b[0], h)),
    )


@forceinlined_kernel
def _velocity_wrench(spatial: Array, i: int, b: SpatialVector) -> SpatialVector:
    """Wrench 2 B b."""
    twice = scaled(2.0, b[0])
    return rotate(spatial[i, _N:], twice), cross(twice, vector_at(spatial, i, _P))


@kernel
def _move(robot: ModelArrays, work: Array, world: Array, spatial: Array) -> None:
    """Write axes, velocities and accelerations, from the root outwards; the base accelerates against gravity."""
    zero = (0.0, 0.0, 0.0)
    for i in range(robot.bodies.shape[0]):
        parent = robot.tree[i, PARENT]
        axis = (world[i, 2], world[i, 5], world[i, 8])
        if robot.tree[i, KIND] == REVOLUTE:
            s = (axis, cross(vector_at(world, i, 9), axis))
        else:
            s = (zero, axis)
        v = (zero, zero)
        a = (zero, base_acceleration(robot))
        if parent >= 0:
            v = _read(spatial, parent, _V)
            a = _read(spatial, parent, _A)
        rate = work[i, JOINT_RATE]
        v = _plus(v, _scaled(rate, s))
        ds = _motion_cross(v, s)
        a = _plus(a, _scaled(work[i, JOINT_ACCELERATION], s))
        a = _plus(a, _scaled(rate, ds))
        _write(spatial, i, _S, s)
        _write(spatial, i, _DS, ds)
        _write(spatial, i, _DDS, _plus(_motion_cross(a, s), _motion_cross(v, ds)))
        _write(spatial, i, _V, v)
        _write(spatial, i, _A, a)


@kernel
def _set_inertias_and_wrenches(
    robot: ModelArrays, world: Array, spatial: Array
) -> None:
    """Write the inertia, the wrench, N and P of each single body."""
    for i in range(robot.bodies.shape[0]):
        for k in range(10):
            spatial[i, _I + k] = 0.0
        add_inertia(world[i], robot.bodies[i, MASS:], spatial[i, _I:])
        velocity = _read(spatial, i, _V)
        momentum = _times_inertia(spatial, i, velocity)
        wrench = _times_inertia(spatial, i, _read(spatial, i, _A))
        _write(spatial, i, _F, _plus(wrench, _force_cross(velocity, momentum)))
        set_vector(spatial, i, _P, momentum[1])
        w, v = velocity
        h = vector_at(spatial, i, _I + 1)
        xx, xy, xz = vector_at(spatial, i, _I + 4)
        yy, yz, zz = vector_at(spatial, i, _I + 7)
        half = 0.5 * (xx + yy + zz)
        # N column by column: -w x (column of E) - h x (v x unit vector), the latter v h^T - (h . v).
        hv = dot(h, v)
        a = cross((half - xx, -xy, -xz), w)
        b = cross((-xy, half - yy, -yz), w)
        c = cross((-xz, -yz, half - zz), w)
        set_vector(
            spatial,
            i,
            _N,
            (a[0] + hv - v[0] * h[0], b[0] - v[0] * h[1], c[0] - v[0] * h[2]),
        )
        set_vector(
            spatial,
            i,
            _N + 3,
            (a[1] - v[1] * h[0], b[1] + hv - v[1] * h[1], c[1] - v[1] * h[2]),
        )
        set_vector(
            spatial,
            i,
            _N + 6,
            (a[2] - v[2] * h[0], b[2] - v[2] * h[1], c[2] + hv - v[2] * h[2]),
        )


@kernel
def _add_rotors(
    robot: ModelArrays, work: Array, world: Array, spatial: Array, dq: Array, dqd: Array
) -> None:
    """Add the rotors' wrenches and B to their carriers, and the derivatives of their own torques: Tsai (9.157)."""
    count = robot.bodies.shape[0]
    for k in range(robot.rotors.shape[0]):
        row = count + k
        carrier = robot.tree[row, PARENT]
        if carrier < 0:
            continue
        axis = rotate(world[carrier], vector_at(robot.rotors, k, SPIN_AXIS))
        axis = scaled(robot.rotors[k, ROTOR_INERTIA], axis)
        spin = work[row, JOINT_RATE]
        g = cross(vector_at(spatial, carrier, _V), axis)
        moment = plus(scaled(work[row, JOINT_ACCELERATION], axis), scaled(spin, g))
        add_vector(spatial, carrier, _F, moment)
        x, y, z = scaled(0.5 * spin, axis)
        add_vector(spatial, carrier, _N, (0.0, z, -y))
        add_vector(spatial, carrier, _N + 3, (-z, 0.0, x))
        add_vector(spatial, carrier, _N + 6, (y, -x, 0.0))
        i = carrier
        while i >= 0:
            s = vector_at(spatial, i, _S)
            ds = vector_at(spatial, i, _DS)
            dds = vector_at(spatial, i, _DDS)
            turning = dot(g, s)
            add_element(robot, i, row, turning, dqd)
            # The axis a rotates with its carrier: a . (S'' - w x S') and a . (2 S' - w x S); a . (w x s) = -g . s.
            add_element(robot, row, i, 2.0 * dot(axis, ds) + turning, dqd)
            add_element(robot, row, i, _add_dot(dot(axis, dds), g, ds), dq)
            i = robot.tree[i, PARENT]


@kernel
def _accumulate(robot: ModelArrays, spatial: Array, dq: Array, dqd: Array) -> None:
    """Write each body's row and column and add its inertia, wrench and B to its parent, from the end links inwards."""
    tree = robot.tree
    for j in range(robot.bodies.shape[0] - 1, -1, -1):
        s = _read(spatial, j, _S)
        ds = _read(spatial, j, _DS)
        dds = _read(spatial, j, _DDS)
        first = _plus(_times_inertia(spatial, j, dds), _velocity_wrench(spatial, j, ds))
        first = _plus(first, _force_cross(s, _read(spatial, j, _F)))
        second = _times_inertia(spatial, j, ds)
        second = _plus(_plus(second, second), _velocity_wrench(spatial, j, s))
        inertial = _times_inertia(spatial, j, s)
        # 2 B^T S has no force.
        moment = rotate_back(spatial[j, _N:], s[0])
        moment = plus(moment, cross(vector_at(spatial, j, _P), s[1]))
        moment = scaled(2.0, moment)
        add_element(robot, j, j, _dot(s, first), dq)
        add_element(robot, j, j, _dot(s, second), dqd)
        i = tree[j, PARENT]
        while i >= 0:
            s = _read(spatial, i, _S)
            ds = _read(spatial, i, _DS)
            dds = _read(spatial, i, _DDS)
            add_element(robot, i, j, _dot(s, first), dq)
            add_element(robot, i, j, _dot(s, second), dqd)
            by_q = _add_dot(_dot(inertial, dds), moment, ds[0])
            add_element(robot, j, i, by_q, dq)
            by_qd = _add_dot(2.0 * _dot(inertial, ds), moment, s[0])
            add_element(robot, j, i, by_qd, dqd)
            i = tree[i, PARENT]
        parent = tree[j, PARENT]
        if parent >= 0:
            for k in range(_I, SPATIAL_SIZE):
                spatial[parent, k] += spatial[j, k]


@kernel
def _shift_origin(robot: ModelArrays, work: Array) -> None:
    """Move the root's origin to the first body: the rounding error grows with the square of the distance from it."""
    shift = scaled(-1.0, origin(work, 0))
    for i in range(robot.bodies.shape[0]):
        if robot.tree[i, PARENT] < 0:
            add_vector(work, i, PLACEMENT + 9, shift)


@kernel
def differentiate(
    robot: ModelArrays,
    q: Array,
    qd: Array,
    qdd: Array,
    work: Array,
    world: Array,
    spatial: Array,
    dq: Array,
    dqd: Array,
) -> None:
    """Write dtau/dq and dtau/dqd (n, n) of inverse dynamics without external wrenches to ``dq`` and ``dqd``.

    Element [i, j] is the derivative of torque i (Nm or N) by position or velocity j. ``robot`` has the model arrays
    (from layout.unpack). ``q``, ``qd`` and ``qdd`` (n,) are position, velocity and acceleration in rad or m. ``work``
    (bodies + rotors, WORK_SIZE), ``world`` (bodies, 12) and ``spatial`` (bodies, SPATIAL_SIZE) are scratch.
    """
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    expand(robot, qdd, work, JOINT_ACCELERATION)
    place_bodies(robot, work)
    _shift_origin(robot, work)
    place_in_root(robot, work, world)
    dq[:] = 0.0
    dqd[:] = 0.0
    _move(robot, work, world, spatial)
    _set_inertias_and_wrenches(robot, world, spatial)
    _add_rotors(robot, work, world, spatial, dq, dqd)
    _accumulate(robot, spatial, dq, dqd)
