"""Inverse dynamics by the recursive Newton-Euler algorithm.

Craig (6.45)-(6.53), Tsai (9.49)-(9.70). Forces and moments are taken at the origin of each body's frame, so that a body
enters by its mass, and its first moment and inertia about that origin. Rotors: Tsai (9.157).

Arguments: ``robot`` has the model arrays (from layout.unpack). ``q``, ``qd``, ``qdd`` and the result ``tau`` have
shape (n,), in rad or m and Nm or N. ``wrenches`` (bodies, 6) are external forces (N) and moments (Nm) on the bodies, at
the origin and in the axes of the body's frame; shape (0, 6) means none. ``work`` (bodies + rotors, WORK_SIZE) is
scratch, with the columns of layout.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import (
    forceinlined_kernel,
    inlined,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.couplings import clear, expand, project
from robot_dynamics_ros.dynamics.kernels.layout import (
    FIRST_MOMENT,
    INERTIA,
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    JOINT_TORQUE,
    KIND,
    MASS,
    MOTION,
    PARENT,
    REVOLUTE,
    ROTOR_INERTIA,
    SPIN_AXIS,
    WRENCH,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.placement import (
    cross,
    origin,
    place_bodies,
    symmetric_at,
    symmetric_product,
    to_body,
    to_parent,
    vector_at,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

# Motion of a body in its own axes: angular velocity, angular acceleration, linear acceleration.
_W = MOTION
_DW = MOTION + 3
_A = MOTION + 6


@kernel
def move_bodies(robot: ModelArrays, work: Array) -> None:
    """Write the velocities and accelerations of the bodies to ``work``, from the base outwards: Craig (6.45)-(6.48).

    The caller has filled the joint rates and accelerations (columns JOINT_RATE, JOINT_ACCELERATION) and the placements
    (placement.place_bodies) of ``work``. Results are in the nine columns from MOTION on, in the axes of each body:
    angular velocity, angular acceleration, and linear acceleration of the frame's origin. The base accelerates against
    gravity, so that each linear acceleration includes -g.
    """
    tree = robot.tree
    gravity = robot.gravity
    for i in range(robot.bodies.shape[0]):
        parent = tree[i, PARENT]
        rate = work[i, JOINT_RATE]
        acceleration = work[i, JOINT_ACCELERATION]
        if parent < 0:
            wx = 0.0
            wy = 0.0
            wz = 0.0
            dwx = 0.0
            dwy = 0.0
            dwz = 0.0
            ax, ay, az = to_body(work, i, -gravity[0], -gravity[1], -gravity[2])
        else:
            ux, uy, uz = vector_at(work, parent, _W)
            dux, duy, duz = vector_at(work, parent, _DW)
            ax, ay, az = vector_at(work, parent, _A)
            px, py, pz = origin(work, i)
            cx, cy, cz = cross(ux, uy, uz, px, py, pz)
            cx, cy, cz = cross(ux, uy, uz, cx, cy, cz)
            tx, ty, tz = cross(dux, duy, duz, px, py, pz)
            wx, wy, wz = to_body(work, i, ux, uy, uz)
            dwx, dwy, dwz = to_body(work, i, dux, duy, duz)
            ax, ay, az = to_body(work, i, ax + cx + tx, ay + cy + ty, az + cz + tz)
        if tree[i, KIND] == REVOLUTE:
            dwx += wy * rate
            dwy -= wx * rate
            dwz += acceleration
            wz += rate
        else:
            ax += 2.0 * wy * rate
            ay -= 2.0 * wx * rate
            az += acceleration
        work[i, _W] = wx
        work[i, _W + 1] = wy
        work[i, _W + 2] = wz
        work[i, _DW] = dwx
        work[i, _DW + 1] = dwy
        work[i, _DW + 2] = dwz
        work[i, _A] = ax
        work[i, _A + 1] = ay
        work[i, _A + 2] = az


@inlined
def _subtract_wrench(wrenches: Array, i: int, work: Array) -> None:
    if wrenches.shape[0] > 0:
        for k in range(6):
            work[i, WRENCH + k] -= wrenches[i, k]


@kernel
def _set_body_wrenches(robot: ModelArrays, wrenches: Array, work: Array) -> None:
    """Write the wrench that each body's motion requires, minus external wrenches: Craig (6.49)-(6.51)."""
    bodies = robot.bodies
    for i in range(bodies.shape[0]):
        m = bodies[i, MASS]
        hx, hy, hz = vector_at(bodies, i, FIRST_MOMENT)
        wx, wy, wz = vector_at(work, i, _W)
        dwx, dwy, dwz = vector_at(work, i, _DW)
        ax, ay, az = vector_at(work, i, _A)
        cx, cy, cz = cross(wx, wy, wz, hx, hy, hz)
        cx, cy, cz = cross(wx, wy, wz, cx, cy, cz)
        tx, ty, tz = cross(dwx, dwy, dwz, hx, hy, hz)
        work[i, WRENCH] = m * ax + tx + cx
        work[i, WRENCH + 1] = m * ay + ty + cy
        work[i, WRENCH + 2] = m * az + tz + cz
        lx, ly, lz = symmetric_product(symmetric_at(bodies, i, INERTIA), wx, wy, wz)
        gx, gy, gz = cross(wx, wy, wz, lx, ly, lz)
        ex, ey, ez = symmetric_product(symmetric_at(bodies, i, INERTIA), dwx, dwy, dwz)
        ox, oy, oz = cross(hx, hy, hz, ax, ay, az)
        work[i, WRENCH + 3] = ex + gx + ox
        work[i, WRENCH + 4] = ey + gy + oy
        work[i, WRENCH + 5] = ez + gz + oz
        _subtract_wrench(wrenches, i, work)


@kernel
def _set_body_wrenches_at_rest(
    robot: ModelArrays, wrenches: Array, work: Array
) -> None:
    """Write the wrench that balances each body's weight, minus external wrenches: Craig (6.47)-(6.51) at rest."""
    bodies = robot.bodies
    gravity = robot.gravity
    for i in range(bodies.shape[0]):
        parent = robot.tree[i, PARENT]
        if parent < 0:
            ax, ay, az = to_body(work, i, -gravity[0], -gravity[1], -gravity[2])
        else:
            ax, ay, az = vector_at(work, parent, _A)
            ax, ay, az = to_body(work, i, ax, ay, az)
        work[i, _A] = ax
        work[i, _A + 1] = ay
        work[i, _A + 2] = az
        m = bodies[i, MASS]
        hx, hy, hz = vector_at(bodies, i, FIRST_MOMENT)
        work[i, WRENCH] = m * ax
        work[i, WRENCH + 1] = m * ay
        work[i, WRENCH + 2] = m * az
        ox, oy, oz = cross(hx, hy, hz, ax, ay, az)
        work[i, WRENCH + 3] = ox
        work[i, WRENCH + 4] = oy
        work[i, WRENCH + 5] = oz
        _subtract_wrench(wrenches, i, work)


@kernel
def _add_rotor_torques(robot: ModelArrays, work: Array) -> None:
    """Write the torques that accelerate the rotors and add their moments on the carriers, Tsai (9.157).

    The carrier's inertia includes the rotor at rest. The additional angular momentum is I s a in the carrier's frame.
    """
    count = robot.bodies.shape[0]
    for k in range(robot.rotors.shape[0]):
        inertia = robot.rotors[k, ROTOR_INERTIA]
        spin = work[count + k, JOINT_RATE]
        acceleration = work[count + k, JOINT_ACCELERATION]
        carrier = robot.tree[count + k, PARENT]
        along = 0.0
        if carrier >= 0:
            x, y, z = vector_at(robot.rotors, k, SPIN_AXIS)
            wx, wy, wz = vector_at(work, carrier, _W)
            dwx, dwy, dwz = vector_at(work, carrier, _DW)
            gx, gy, gz = cross(wx, wy, wz, x, y, z)
            work[carrier, WRENCH + 3] += inertia * (acceleration * x + spin * gx)
            work[carrier, WRENCH + 4] += inertia * (acceleration * y + spin * gy)
            work[carrier, WRENCH + 5] += inertia * (acceleration * z + spin * gz)
            along = x * dwx + y * dwy + z * dwz
        work[count + k, JOINT_TORQUE] = inertia * (acceleration + along)


@kernel
def _propagate_wrenches(robot: ModelArrays, work: Array) -> None:
    """Write the joint torques, propagating the wrenches towards the base: Craig (6.52)-(6.53)."""
    tree = robot.tree
    for i in range(robot.bodies.shape[0] - 1, -1, -1):
        work[i, JOINT_TORQUE] = (
            work[i, WRENCH + 5] if tree[i, KIND] == REVOLUTE else work[i, WRENCH + 2]
        )
        parent = tree[i, PARENT]
        if parent >= 0:
            fx, fy, fz = vector_at(work, i, WRENCH)
            nx, ny, nz = vector_at(work, i, WRENCH + 3)
            fx, fy, fz = to_parent(work, i, fx, fy, fz)
            nx, ny, nz = to_parent(work, i, nx, ny, nz)
            px, py, pz = origin(work, i)
            px, py, pz = cross(px, py, pz, fx, fy, fz)
            work[parent, WRENCH] += fx
            work[parent, WRENCH + 1] += fy
            work[parent, WRENCH + 2] += fz
            work[parent, WRENCH + 3] += nx + px
            work[parent, WRENCH + 4] += ny + py
            work[parent, WRENCH + 5] += nz + pz


@kernel
def _recursion(robot: ModelArrays, wrenches: Array, work: Array) -> None:
    """Write the torque of each row of the tree to ``work``, for the motion of the rows in ``work``."""
    place_bodies(robot, work)
    move_bodies(robot, work)
    _set_body_wrenches(robot, wrenches, work)
    _add_rotor_torques(robot, work)
    _propagate_wrenches(robot, work)


@forceinlined_kernel
def newton_euler(
    robot: ModelArrays,
    q: Array,
    qd: Array,
    qdd: Array,
    wrenches: Array,
    work: Array,
    tau: Array,
) -> None:
    """Write the torque for the motion ``q``, ``qd``, ``qdd`` without friction to ``tau``.

    Afterwards ``work`` has each body's placement and motion, and the wrench on it from its joint.
    """
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    expand(robot, qdd, work, JOINT_ACCELERATION)
    _recursion(robot, wrenches, work)
    project(robot, work, JOINT_TORQUE, tau)


@kernel
def bias_torque(
    robot: ModelArrays, q: Array, qd: Array, wrenches: Array, work: Array, tau: Array
) -> None:
    """Write the torque at zero acceleration to ``tau``: V + G of Craig (6.59), minus the joint torque of ``wrenches``.

    Afterwards ``work`` has each body's placement and motion, and the wrench on it from its joint.
    """
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    clear(work, JOINT_ACCELERATION)
    _recursion(robot, wrenches, work)
    project(robot, work, JOINT_TORQUE, tau)


@forceinlined_kernel
def gravity_torque(
    robot: ModelArrays, q: Array, wrenches: Array, work: Array, tau: Array
) -> None:
    """Write the torque that holds the robot at rest to ``tau``: G of Craig (6.59), minus the joint torque of wrenches.

    ``wrenches`` are external ones on the bodies.
    """
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    _set_body_wrenches_at_rest(robot, wrenches, work)
    clear(work, JOINT_TORQUE)  # rotors have no gravity torque
    _propagate_wrenches(robot, work)
    project(robot, work, JOINT_TORQUE, tau)
