"""Inverse dynamics by the recursive Newton-Euler algorithm.

Craig (6.45)-(6.53), Tsai (9.49)-(9.70), with forces and moments taken at the origin of each body's
frame, so that a body enters by its mass, first moment and inertia there. Rotors: Tsai (9.157).
"""

from __future__ import annotations

from robot_dynamics_ros.kernels.compilation import inlined, joined_kernel, kernel
from robot_dynamics_ros.kernels.couplings import clear, expand, project
from robot_dynamics_ros.kernels.layout import (
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    JOINT_TORQUE,
    KIND,
    LOAD,
    MASS,
    MOMENT,
    MOTION,
    PARENT,
    REVOLUTE,
    ROTOR_INERTIA,
    SPIN_AXIS,
    ModelArrays,
)
from robot_dynamics_ros.kernels.placement import cross, origin, place_bodies, three, times_inertia, to_body, to_parent
from robot_dynamics_ros.kernels.types import Array

# The motion of a body, in its own axes: angular velocity and acceleration, linear acceleration.
_W, _DW, _A = MOTION, MOTION + 3, MOTION + 6


@kernel
def move_bodies(robot: ModelArrays, work: Array) -> None:
    """Outward recursion, Craig (6.45)-(6.48); the base accelerates against gravity."""
    tree, gravity = robot.tree, robot.gravity
    for i in range(robot.bodies.shape[0]):
        parent = tree[i, PARENT]
        rate = work[i, JOINT_RATE]
        acceleration = work[i, JOINT_ACCELERATION]
        if parent < 0:
            wx, wy, wz = 0.0, 0.0, 0.0
            dwx, dwy, dwz = 0.0, 0.0, 0.0
            ax, ay, az = to_body(work, i, -gravity[0], -gravity[1], -gravity[2])
        else:
            ux, uy, uz = three(work, parent, _W)
            dux, duy, duz = three(work, parent, _DW)
            ax, ay, az = three(work, parent, _A)
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
        work[i, _W], work[i, _W + 1], work[i, _W + 2] = wx, wy, wz
        work[i, _DW], work[i, _DW + 1], work[i, _DW + 2] = dwx, dwy, dwz
        work[i, _A], work[i, _A + 1], work[i, _A + 2] = ax, ay, az


@inlined
def _subtract_wrench(wrenches: Array, i: int, work: Array) -> None:
    if wrenches.shape[0] > 0:
        for k in range(6):
            work[i, LOAD + k] -= wrenches[i, k]


@kernel
def _load_bodies(robot: ModelArrays, wrenches: Array, work: Array) -> None:
    """Force and moment that each body needs for its motion, Craig (6.49)-(6.51), less external wrenches."""
    bodies = robot.bodies
    for i in range(bodies.shape[0]):
        m = bodies[i, MASS]
        hx, hy, hz = three(bodies, i, MOMENT)
        wx, wy, wz = three(work, i, _W)
        dwx, dwy, dwz = three(work, i, _DW)
        ax, ay, az = three(work, i, _A)
        cx, cy, cz = cross(wx, wy, wz, hx, hy, hz)
        cx, cy, cz = cross(wx, wy, wz, cx, cy, cz)
        tx, ty, tz = cross(dwx, dwy, dwz, hx, hy, hz)
        work[i, LOAD] = m * ax + tx + cx
        work[i, LOAD + 1] = m * ay + ty + cy
        work[i, LOAD + 2] = m * az + tz + cz
        lx, ly, lz = times_inertia(bodies, i, wx, wy, wz)
        gx, gy, gz = cross(wx, wy, wz, lx, ly, lz)
        ex, ey, ez = times_inertia(bodies, i, dwx, dwy, dwz)
        ox, oy, oz = cross(hx, hy, hz, ax, ay, az)
        work[i, LOAD + 3], work[i, LOAD + 4], work[i, LOAD + 5] = ex + gx + ox, ey + gy + oy, ez + gz + oz
        _subtract_wrench(wrenches, i, work)


@kernel
def _load_bodies_at_rest(robot: ModelArrays, wrenches: Array, work: Array) -> None:
    """Craig (6.47)-(6.51) for bodies at rest: what carries their weights, less external wrenches."""
    bodies, gravity = robot.bodies, robot.gravity
    for i in range(bodies.shape[0]):
        parent = robot.tree[i, PARENT]
        if parent < 0:
            ax, ay, az = to_body(work, i, -gravity[0], -gravity[1], -gravity[2])
        else:
            ax, ay, az = three(work, parent, _A)
            ax, ay, az = to_body(work, i, ax, ay, az)
        work[i, _A], work[i, _A + 1], work[i, _A + 2] = ax, ay, az
        m = bodies[i, MASS]
        hx, hy, hz = three(bodies, i, MOMENT)
        work[i, LOAD], work[i, LOAD + 1], work[i, LOAD + 2] = m * ax, m * ay, m * az
        ox, oy, oz = cross(hx, hy, hz, ax, ay, az)
        work[i, LOAD + 3], work[i, LOAD + 4], work[i, LOAD + 5] = ox, oy, oz
        _subtract_wrench(wrenches, i, work)


@kernel
def _turn_rotors(robot: ModelArrays, work: Array) -> None:
    """Torque that spins the rotors up, and the moment that they put on their carriers, Tsai (9.157).

    A carrier's own inertia holds the rotor at rest; what is added is the spin I s a in the carrier's frame.
    """
    count = robot.bodies.shape[0]
    for k in range(robot.rotors.shape[0]):
        inertia = robot.rotors[k, ROTOR_INERTIA]
        spin, acceleration = work[count + k, JOINT_RATE], work[count + k, JOINT_ACCELERATION]
        carrier = robot.tree[count + k, PARENT]
        along = 0.0
        if carrier >= 0:
            x, y, z = three(robot.rotors, k, SPIN_AXIS)
            wx, wy, wz = three(work, carrier, _W)
            dwx, dwy, dwz = three(work, carrier, _DW)
            gx, gy, gz = cross(wx, wy, wz, x, y, z)
            work[carrier, LOAD + 3] += inertia * (acceleration * x + spin * gx)
            work[carrier, LOAD + 4] += inertia * (acceleration * y + spin * gy)
            work[carrier, LOAD + 5] += inertia * (acceleration * z + spin * gz)
            along = x * dwx + y * dwy + z * dwz
        work[count + k, JOINT_TORQUE] = inertia * (acceleration + along)


@kernel
def _gather_torques(robot: ModelArrays, work: Array) -> None:
    """Inward recursion, Craig (6.52)-(6.53): loads add up towards the base, joints carry the z part."""
    tree = robot.tree
    for i in range(robot.bodies.shape[0] - 1, -1, -1):
        work[i, JOINT_TORQUE] = work[i, LOAD + 5] if tree[i, KIND] == REVOLUTE else work[i, LOAD + 2]
        parent = tree[i, PARENT]
        if parent >= 0:
            fx, fy, fz = three(work, i, LOAD)
            nx, ny, nz = three(work, i, LOAD + 3)
            fx, fy, fz = to_parent(work, i, fx, fy, fz)
            nx, ny, nz = to_parent(work, i, nx, ny, nz)
            px, py, pz = origin(work, i)
            px, py, pz = cross(px, py, pz, fx, fy, fz)
            work[parent, LOAD] += fx
            work[parent, LOAD + 1] += fy
            work[parent, LOAD + 2] += fz
            work[parent, LOAD + 3] += nx + px
            work[parent, LOAD + 4] += ny + py
            work[parent, LOAD + 5] += nz + pz


@kernel
def _recursion(robot: ModelArrays, wrenches: Array, work: Array) -> None:
    """Torque of each row of the tree for the motion of the rows, all in ``work``."""
    place_bodies(robot, work)
    move_bodies(robot, work)
    _load_bodies(robot, wrenches, work)
    _turn_rotors(robot, work)
    _gather_torques(robot, work)


@joined_kernel
def newton_euler(robot: ModelArrays, q: Array, qd: Array, qdd: Array, wrenches: Array, work: Array, tau: Array) -> None:
    """Write to ``tau`` (n,) the torque that moves the robot with acceleration ``qdd``, friction left out.

    ``work`` then holds each body's placement, motion and the load on its joint.
    """
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    expand(robot, qdd, work, JOINT_ACCELERATION)
    _recursion(robot, wrenches, work)
    project(robot, work, JOINT_TORQUE, tau)


@kernel
def bias_torque(robot: ModelArrays, q: Array, qd: Array, wrenches: Array, work: Array, tau: Array) -> None:
    """Write to ``tau`` (n,) the torque without acceleration, V + G of Craig (6.59)."""
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    clear(work, JOINT_ACCELERATION)
    _recursion(robot, wrenches, work)
    project(robot, work, JOINT_TORQUE, tau)


@joined_kernel
def gravity_torque(robot: ModelArrays, q: Array, wrenches: Array, work: Array, tau: Array) -> None:
    """Write to ``tau`` (n,) the torque that holds the robot still, G of Craig (6.59)."""
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    _load_bodies_at_rest(robot, wrenches, work)
    clear(work, JOINT_TORQUE)  # rotors have none
    _gather_torques(robot, work)
    project(robot, work, JOINT_TORQUE, tau)
