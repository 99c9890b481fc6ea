"""Inverse dynamics by the recursive Newton-Euler algorithm.

Craig (6.45)-(6.53), Tsai (9.49)-(9.70), with forces and moments taken at the origin of each body's
frame, so that a body enters by its mass, first moment and inertia there. Rotors: Tsai (9.157).
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
    MOMENT,
    PARENT,
    RATIO,
    REVOLUTE,
    ROTOR_INERTIA,
    SPIN_AXIS,
)
from robot_dynamics_ros.kernels.placement import place_bodies
from robot_dynamics_ros.kernels.types import Floats, Ints
from robot_dynamics_ros.kernels.vectors import cross, rotate, rotate_back, times_inertia

# Columns of the motion of a body, in its own axes: angular velocity and acceleration, linear acceleration.
_W, _DW, _A, _MOTION_SIZE = 0, 3, 6, 9


@kernel
def _move_bodies(tree: Ints, placement: Floats, gravity: Floats, qd: Floats, qdd: Floats, motion: Floats) -> None:
    """Outward recursion, Craig (6.45)-(6.48); the base accelerates against gravity."""
    for i in range(tree.shape[0]):
        parent = tree[i, PARENT]
        rate = qd[tree[i, COORDINATE]]
        acceleration = qdd[tree[i, COORDINATE]]
        r = placement[i]
        if parent < 0:
            wx, wy, wz = 0.0, 0.0, 0.0
            dwx, dwy, dwz = 0.0, 0.0, 0.0
            ax, ay, az = rotate_back(r, -gravity[0], -gravity[1], -gravity[2])
        else:
            m = motion[parent]
            wx, wy, wz = rotate_back(r, m[_W], m[_W + 1], m[_W + 2])
            dwx, dwy, dwz = rotate_back(r, m[_DW], m[_DW + 1], m[_DW + 2])
            cx, cy, cz = cross(m[_W], m[_W + 1], m[_W + 2], r[9], r[10], r[11])
            cx, cy, cz = cross(m[_W], m[_W + 1], m[_W + 2], cx, cy, cz)
            tx, ty, tz = cross(m[_DW], m[_DW + 1], m[_DW + 2], r[9], r[10], r[11])
            ax, ay, az = rotate_back(r, m[_A] + cx + tx, m[_A + 1] + cy + ty, m[_A + 2] + cz + tz)
        if tree[i, KIND] == REVOLUTE:
            dwx += wy * rate
            dwy -= wx * rate
            dwz += acceleration
            wz += rate
        else:
            ax += 2.0 * wy * rate
            ay -= 2.0 * wx * rate
            az += acceleration
        motion[i, _W], motion[i, _W + 1], motion[i, _W + 2] = wx, wy, wz
        motion[i, _DW], motion[i, _DW + 1], motion[i, _DW + 2] = dwx, dwy, dwz
        motion[i, _A], motion[i, _A + 1], motion[i, _A + 2] = ax, ay, az


@kernel
def _load_bodies(bodies: Floats, motion: Floats, wrenches: Floats, load: Floats) -> None:
    """Force and moment that each body needs for its motion, Craig (6.49)-(6.51), less external wrenches."""
    for i in range(bodies.shape[0]):
        m = bodies[i, MASS]
        hx, hy, hz = bodies[i, MOMENT], bodies[i, MOMENT + 1], bodies[i, MOMENT + 2]
        inertia = bodies[i, INERTIA:]
        wx, wy, wz = motion[i, _W], motion[i, _W + 1], motion[i, _W + 2]
        dwx, dwy, dwz = motion[i, _DW], motion[i, _DW + 1], motion[i, _DW + 2]
        ax, ay, az = motion[i, _A], motion[i, _A + 1], motion[i, _A + 2]
        cx, cy, cz = cross(wx, wy, wz, hx, hy, hz)
        cx, cy, cz = cross(wx, wy, wz, cx, cy, cz)
        tx, ty, tz = cross(dwx, dwy, dwz, hx, hy, hz)
        load[i, 0], load[i, 1], load[i, 2] = m * ax + tx + cx, m * ay + ty + cy, m * az + tz + cz
        lx, ly, lz = times_inertia(inertia, wx, wy, wz)
        gx, gy, gz = cross(wx, wy, wz, lx, ly, lz)
        ex, ey, ez = times_inertia(inertia, dwx, dwy, dwz)
        ox, oy, oz = cross(hx, hy, hz, ax, ay, az)
        load[i, 3], load[i, 4], load[i, 5] = ex + gx + ox, ey + gy + oy, ez + gz + oz
        if wrenches.shape[0] > 0:
            for k in range(6):
                load[i, k] -= wrenches[i, k]


@kernel
def _turn_rotors(rotors: Floats, motion: Floats, qd: Floats, qdd: Floats, load: Floats, tau: Floats) -> None:
    """Torque that spins the rotors up, and the gyroscopic moment they put on their carriers, Tsai (9.157).

    A carrier's own inertia holds the rotor at rest; what is added is the spin I s a in the carrier's frame.
    """
    for k in range(rotors.shape[0]):
        inertia = rotors[k, ROTOR_INERTIA]
        spin, dspin = 0.0, 0.0
        for j in range(qd.shape[0]):
            spin += rotors[k, RATIO + j] * qd[j]
            dspin += rotors[k, RATIO + j] * qdd[j]
        carrier = int(rotors[k, CARRIER])
        along = 0.0
        if carrier >= 0:
            x, y, z = rotors[k, SPIN_AXIS], rotors[k, SPIN_AXIS + 1], rotors[k, SPIN_AXIS + 2]
            m = motion[carrier]
            gx, gy, gz = cross(m[_W], m[_W + 1], m[_W + 2], x, y, z)
            load[carrier, 3] += inertia * (dspin * x + spin * gx)
            load[carrier, 4] += inertia * (dspin * y + spin * gy)
            load[carrier, 5] += inertia * (dspin * z + spin * gz)
            along = x * m[_DW] + y * m[_DW + 1] + z * m[_DW + 2]
        for j in range(qd.shape[0]):
            tau[j] += rotors[k, RATIO + j] * inertia * (dspin + along)


@kernel
def _gather_torques(tree: Ints, placement: Floats, load: Floats, tau: Floats) -> None:
    """Inward recursion, Craig (6.52)-(6.53): loads add up towards the base, joints carry the z part."""
    for i in range(tree.shape[0] - 1, -1, -1):
        parent = tree[i, PARENT]
        if tree[i, KIND] == REVOLUTE:
            tau[tree[i, COORDINATE]] += load[i, 5]
        else:
            tau[tree[i, COORDINATE]] += load[i, 2]
        if parent >= 0:
            r = placement[i]
            fx, fy, fz = rotate(r, load[i, 0], load[i, 1], load[i, 2])
            nx, ny, nz = rotate(r, load[i, 3], load[i, 4], load[i, 5])
            px, py, pz = cross(r[9], r[10], r[11], fx, fy, fz)
            load[parent, 0] += fx
            load[parent, 1] += fy
            load[parent, 2] += fz
            load[parent, 3] += nx + px
            load[parent, 4] += ny + py
            load[parent, 5] += nz + pz


@kernel
def newton_euler(
    tree: Ints,
    bodies: Floats,
    rotors: Floats,
    gravity: Floats,
    q: Floats,
    qd: Floats,
    qdd: Floats,
    wrenches: Floats,
    tau: Floats,
) -> None:
    """Write to ``tau`` (n,) the torque that moves the robot with acceleration ``qdd``, friction left out."""
    count = tree.shape[0]
    placement = np.empty((count, 12))
    motion = np.empty((count, _MOTION_SIZE))
    load = np.empty((count, 6))
    tau[:] = 0.0
    place_bodies(tree, bodies, q, placement)
    _move_bodies(tree, placement, gravity, qd, qdd, motion)
    _load_bodies(bodies, motion, wrenches, load)
    _turn_rotors(rotors, motion, qd, qdd, load, tau)
    _gather_torques(tree, placement, load, tau)
