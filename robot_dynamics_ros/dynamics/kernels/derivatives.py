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
from robot_dynamics_ros.dynamics.kernels.placement import (
    cross,
    origin,
    place_bodies,
    place_in_root,
    rotate,
    symmetric_at,
    symmetric_product,
    vector_at,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

SpatialVector = tuple[float, float, float, float, float, float]

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
    return (
        spatial[i, column],
        spatial[i, column + 1],
        spatial[i, column + 2],
        spatial[i, column + 3],
        spatial[i, column + 4],
        spatial[i, column + 5],
    )


@forceinlined_kernel
def _write(spatial: Array, i: int, column: int, vector: SpatialVector) -> None:
    for k in range(6):
        spatial[i, column + k] = vector[k]


@kernel
def _plus(a: SpatialVector, b: SpatialVector) -> SpatialVector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@kernel
def _dot(a: SpatialVector, b: SpatialVector) -> float:
    return (
        a[0] * b[0]
        + a[1] * b[1]
        + a[2] * b[2]
        + a[3] * b[3]
        + a[4] * b[4]
        + a[5] * b[5]
    )


@kernel
def _motion_cross(a: SpatialVector, b: SpatialVector) -> SpatialVector:
    """Cross product a x b of two motions."""
    wx, wy, wz = cross(a[0], a[1], a[2], b[0], b[1], b[2])
    x, y, z = cross(a[0], a[1], a[2], b[3], b[4], b[5])
    u, v, w = cross(a[3], a[4], a[5], b[0], b[1], b[2])
    return wx, wy, wz, x + u, y + v, z + w


@kernel
def _force_cross(a: SpatialVector, f: SpatialVector) -> SpatialVector:
    """Cross product a x* f of a motion and a wrench."""
    mx, my, mz = cross(a[0], a[1], a[2], f[0], f[1], f[2])
    cx, cy, cz = cross(a[3], a[4], a[5], f[3], f[4], f[5])
    fx, fy, fz = cross(a[0], a[1], a[2], f[3], f[4], f[5])
    return mx + cx, my + cy, mz + cz, fx, fy, fz


@forceinlined_kernel
def _times_inertia(spatial: Array, i: int, b: SpatialVector) -> SpatialVector:
    """Wrench I b: moment J w + h x v, force m v + w x h."""
    m = spatial[i, _I]
    hx, hy, hz = vector_at(spatial, i, _I + 1)
    x, y, z = symmetric_product(symmetric_at(spatial, i, _I + 4), b[0], b[1], b[2])
    cx, cy, cz = cross(hx, hy, hz, b[3], b[4], b[5])
    px, py, pz = cross(b[0], b[1], b[2], hx, hy, hz)
    return (
        x + cx,
        y + cy,
        z + cz,
        m * b[3] + px,
        m * b[4] + py,
        m * b[5] + pz,
    )


@forceinlined_kernel
def _velocity_wrench(spatial: Array, i: int, b: SpatialVector) -> SpatialVector:
    """Wrench 2 B b."""
    x = 2.0 * b[0]
    y = 2.0 * b[1]
    z = 2.0 * b[2]
    fx, fy, fz = cross(x, y, z, spatial[i, _P], spatial[i, _P + 1], spatial[i, _P + 2])
    return (
        spatial[i, _N] * x + spatial[i, _N + 1] * y + spatial[i, _N + 2] * z,
        spatial[i, _N + 3] * x + spatial[i, _N + 4] * y + spatial[i, _N + 5] * z,
        spatial[i, _N + 6] * x + spatial[i, _N + 7] * y + spatial[i, _N + 8] * z,
        fx,
        fy,
        fz,
    )


@kernel
def _move(robot: ModelArrays, work: Array, world: Array, spatial: Array) -> None:
    """Write axes, velocities and accelerations, from the root outwards; the base accelerates against gravity."""
    gravity = robot.gravity
    for i in range(robot.bodies.shape[0]):
        parent = robot.tree[i, PARENT]
        x = world[i, 2]
        y = world[i, 5]
        z = world[i, 8]
        if robot.tree[i, KIND] == REVOLUTE:
            px, py, pz = cross(world[i, 9], world[i, 10], world[i, 11], x, y, z)
            s = (x, y, z, px, py, pz)
        else:
            s = (0.0, 0.0, 0.0, x, y, z)
        v = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        a = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
        if parent >= 0:
            v = _read(spatial, parent, _V)
            a = _read(spatial, parent, _A)
        rate = work[i, JOINT_RATE]
        acceleration = work[i, JOINT_ACCELERATION]
        v = (v[0] + rate * s[0], v[1] + rate * s[1], v[2] + rate * s[2],
             v[3] + rate * s[3], v[4] + rate * s[4], v[5] + rate * s[5])  # fmt: skip
        ds = _motion_cross(v, s)
        a = (a[0] + acceleration * s[0] + rate * ds[0], a[1] + acceleration * s[1] + rate * ds[1],
             a[2] + acceleration * s[2] + rate * ds[2], a[3] + acceleration * s[3] + rate * ds[3],
             a[4] + acceleration * s[4] + rate * ds[4], a[5] + acceleration * s[5] + rate * ds[5])  # fmt: skip
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
        v = _read(spatial, i, _V)
        momentum = _times_inertia(spatial, i, v)
        _write(
            spatial,
            i,
            _F,
            _plus(
                _times_inertia(spatial, i, _read(spatial, i, _A)),
                _force_cross(v, momentum),
            ),
        )
        spatial[i, _P] = momentum[3]
        spatial[i, _P + 1] = momentum[4]
        spatial[i, _P + 2] = momentum[5]
        wx, wy, wz, vx, vy, vz = v
        hx, hy, hz = vector_at(spatial, i, _I + 1)
        xx, xy, xz = vector_at(spatial, i, _I + 4)
        yy, yz, zz = vector_at(spatial, i, _I + 7)
        half = 0.5 * (xx + yy + zz)
        # N column by column: -w x (column of E) - h x (v x unit vector), the latter v h^T - (h . v).
        hv = hx * vx + hy * vy + hz * vz
        ax, ay, az = cross(half - xx, -xy, -xz, wx, wy, wz)
        bx, by, bz = cross(-xy, half - yy, -yz, wx, wy, wz)
        cx, cy, cz = cross(-xz, -yz, half - zz, wx, wy, wz)
        spatial[i, _N] = ax + hv - vx * hx
        spatial[i, _N + 1] = bx - vx * hy
        spatial[i, _N + 2] = cx - vx * hz
        spatial[i, _N + 3] = ay - vy * hx
        spatial[i, _N + 4] = by + hv - vy * hy
        spatial[i, _N + 5] = cy - vy * hz
        spatial[i, _N + 6] = az - vz * hx
        spatial[i, _N + 7] = bz - vz * hy
        spatial[i, _N + 8] = cz + hv - vz * hz


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
        inertia = robot.rotors[k, ROTOR_INERTIA]
        x, y, z = rotate(
            world[carrier],
            robot.rotors[k, SPIN_AXIS],
            robot.rotors[k, SPIN_AXIS + 1],
            robot.rotors[k, SPIN_AXIS + 2],
        )
        x = inertia * x
        y = inertia * y
        z = inertia * z
        spin = work[row, JOINT_RATE]
        acceleration = work[row, JOINT_ACCELERATION]
        gx, gy, gz = cross(
            spatial[carrier, _V],
            spatial[carrier, _V + 1],
            spatial[carrier, _V + 2],
            x,
            y,
            z,
        )
        spatial[carrier, _F] += acceleration * x + spin * gx
        spatial[carrier, _F + 1] += acceleration * y + spin * gy
        spatial[carrier, _F + 2] += acceleration * z + spin * gz
        half = 0.5 * spin
        spatial[carrier, _N + 1] += half * z
        spatial[carrier, _N + 2] -= half * y
        spatial[carrier, _N + 3] -= half * z
        spatial[carrier, _N + 5] += half * x
        spatial[carrier, _N + 6] += half * y
        spatial[carrier, _N + 7] -= half * x
        i = carrier
        while i >= 0:
            s = _read(spatial, i, _S)
            ds = _read(spatial, i, _DS)
            dds = _read(spatial, i, _DDS)
            turning = gx * s[0] + gy * s[1] + gz * s[2]
            add_element(robot, i, row, turning, dqd)
            # The axis a rotates with its carrier: a . (S'' - w x S') and a . (2 S' - w x S); a . (w x s) = -g . s.
            along = x * ds[0] + y * ds[1] + z * ds[2]
            add_element(robot, row, i, 2.0 * along + turning, dqd)
            along = x * dds[0] + y * dds[1] + z * dds[2]
            add_element(robot, row, i, along + gx * ds[0] + gy * ds[1] + gz * ds[2], dq)
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
        px, py, pz = cross(
            spatial[j, _P], spatial[j, _P + 1], spatial[j, _P + 2], s[3], s[4], s[5]
        )
        wx = 2.0 * (
            spatial[j, _N] * s[0]
            + spatial[j, _N + 3] * s[1]
            + spatial[j, _N + 6] * s[2]
            + px
        )
        wy = 2.0 * (
            spatial[j, _N + 1] * s[0]
            + spatial[j, _N + 4] * s[1]
            + spatial[j, _N + 7] * s[2]
            + py
        )
        wz = 2.0 * (
            spatial[j, _N + 2] * s[0]
            + spatial[j, _N + 5] * s[1]
            + spatial[j, _N + 8] * s[2]
            + pz
        )
        add_element(robot, j, j, _dot(s, first), dq)
        add_element(robot, j, j, _dot(s, second), dqd)
        i = tree[j, PARENT]
        while i >= 0:
            s = _read(spatial, i, _S)
            ds = _read(spatial, i, _DS)
            dds = _read(spatial, i, _DDS)
            add_element(robot, i, j, _dot(s, first), dq)
            add_element(robot, i, j, _dot(s, second), dqd)
            add_element(
                robot,
                j,
                i,
                _dot(inertial, dds) + wx * ds[0] + wy * ds[1] + wz * ds[2],
                dq,
            )
            add_element(
                robot,
                j,
                i,
                2.0 * _dot(inertial, ds) + wx * s[0] + wy * s[1] + wz * s[2],
                dqd,
            )
            i = tree[i, PARENT]
        parent = tree[j, PARENT]
        if parent >= 0:
            for k in range(_I, SPATIAL_SIZE):
                spatial[parent, k] += spatial[j, k]


@kernel
def _shift_origin(robot: ModelArrays, work: Array) -> None:
    """Move the root's origin to the first body: the rounding error grows with the square of the distance from it."""
    x, y, z = origin(work, 0)
    for i in range(robot.bodies.shape[0]):
        if robot.tree[i, PARENT] < 0:
            work[i, PLACEMENT + 9] -= x
            work[i, PLACEMENT + 10] -= y
            work[i, PLACEMENT + 11] -= z


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
