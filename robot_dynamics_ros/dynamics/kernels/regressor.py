"""Regressor: the torque is linear in the inertial parameters, Spong (9.121); An, Atkeson, Hollerbach 1985.

A column is the torque for a unit value of one parameter. The wrench of that parameter on its body, Craig (6.49)-(6.51),
is propagated to the base, (6.52)-(6.53). The parameters of a body are mass, first moment (3) and inertia about the
origin (ixx ixy ixz iyy iyz izz), in the axes of the body's link. The axial inertia of each rotor follows, Tsai (9.157).
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import kernel
from robot_dynamics_ros.dynamics.kernels.couplings import add_column, expand
from robot_dynamics_ros.dynamics.kernels.layout import (
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    KIND,
    MOTION,
    PARENT,
    PLACEMENT,
    REVOLUTE,
    SPIN_AXIS,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.newton_euler import move_bodies
from robot_dynamics_ros.dynamics.kernels.placement import (
    Vector,
    cross,
    place_bodies,
    rotate,
    rotate_back,
)
from robot_dynamics_ros.dynamics.kernels.types import Array

PARAMETERS = 10  # inertial parameters of a body


@kernel
def _add_torques(
    robot: ModelArrays,
    work: Array,
    body: int,
    force: Vector,
    moment: Vector,
    column: Array,
) -> None:
    """Add the joint torques that balance a wrench on a body, at and in its frame, to ``column`` (n,)."""
    fx, fy, fz = force
    nx, ny, nz = moment
    i = body
    while i >= 0:
        add_column(robot, i, nz if robot.tree[i, KIND] == REVOLUTE else fz, column)
        r = work[i, PLACEMENT:]
        fx, fy, fz = rotate(r, fx, fy, fz)
        nx, ny, nz = rotate(r, nx, ny, nz)
        px, py, pz = cross(r[9], r[10], r[11], fx, fy, fz)
        nx = nx + px
        ny = ny + py
        nz = nz + pz
        i = robot.tree[i, PARENT]


@kernel
def _unit_wrench(
    parameter: int, w: Vector, dw: Vector, a: Vector
) -> tuple[Vector, Vector]:
    """Return force and moment on a body for a unit value of one of its ten parameters."""
    wx, wy, wz = w
    dx, dy, dz = dw
    ax, ay, az = a
    if parameter == 0:
        return a, (0.0, 0.0, 0.0)
    if parameter < 4:
        hx = 1.0 if parameter == 1 else 0.0
        hy = 1.0 if parameter == 2 else 0.0
        hz = 1.0 if parameter == 3 else 0.0
        cx, cy, cz = cross(wx, wy, wz, hx, hy, hz)
        cx, cy, cz = cross(wx, wy, wz, cx, cy, cz)
        tx, ty, tz = cross(dx, dy, dz, hx, hy, hz)
        return (cx + tx, cy + ty, cz + tz), cross(hx, hy, hz, ax, ay, az)
    if parameter == 4:  # ixx
        lx = wx
        ly = 0.0
        lz = 0.0
        ex = dx
        ey = 0.0
        ez = 0.0
    elif parameter == 5:  # ixy
        lx = wy
        ly = wx
        lz = 0.0
        ex = dy
        ey = dx
        ez = 0.0
    elif parameter == 6:  # ixz
        lx = wz
        ly = 0.0
        lz = wx
        ex = dz
        ey = 0.0
        ez = dx
    elif parameter == 7:  # iyy
        lx = 0.0
        ly = wy
        lz = 0.0
        ex = 0.0
        ey = dy
        ez = 0.0
    elif parameter == 8:  # iyz
        lx = 0.0
        ly = wz
        lz = wy
        ex = 0.0
        ey = dz
        ez = dy
    else:  # izz
        lx = 0.0
        ly = 0.0
        lz = wz
        ex = 0.0
        ey = 0.0
        ez = dz
    gx, gy, gz = cross(wx, wy, wz, lx, ly, lz)
    return (0.0, 0.0, 0.0), (ex + gx, ey + gy, ez + gz)


@kernel
def regressor(
    robot: ModelArrays,
    link_rotations: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    work: Array,
    columns: Array,
) -> None:
    """Write the transposed regressor Y^T to ``columns`` (10 bodies + rotors, n).

    Y times the parameters is the torque without friction. ``robot`` has the model arrays (from layout.unpack).
    ``link_rotations`` (bodies, 9) are the axes of the body's link in the body's frame, row by row. ``q``, ``qd`` and
    ``qdd`` (n,) are in rad or m. ``work`` (bodies + rotors, WORK_SIZE) is scratch.
    """
    tree = robot.tree
    count = robot.bodies.shape[0]
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    expand(robot, qdd, work, JOINT_ACCELERATION)
    place_bodies(robot, work)
    move_bodies(robot, work)
    columns[:] = 0.0
    for i in range(count):
        m = work[i, MOTION:]
        r = link_rotations[i]
        w = rotate_back(r, m[0], m[1], m[2])
        dw = rotate_back(r, m[3], m[4], m[5])
        a = rotate_back(r, m[6], m[7], m[8])
        for parameter in range(PARAMETERS):
            force, moment = _unit_wrench(parameter, w, dw, a)
            force = rotate(r, force[0], force[1], force[2])
            moment = rotate(r, moment[0], moment[1], moment[2])
            _add_torques(
                robot, work, i, force, moment, columns[PARAMETERS * i + parameter]
            )
    for k in range(robot.rotors.shape[0]):
        column = columns[PARAMETERS * count + k]
        spin = work[count + k, JOINT_RATE]
        acceleration = work[count + k, JOINT_ACCELERATION]
        carrier = tree[count + k, PARENT]
        along = 0.0
        if carrier >= 0:
            m = work[carrier, MOTION:]
            x = robot.rotors[k, SPIN_AXIS]
            y = robot.rotors[k, SPIN_AXIS + 1]
            z = robot.rotors[k, SPIN_AXIS + 2]
            gx, gy, gz = cross(m[0], m[1], m[2], x, y, z)
            moment = (
                acceleration * x + spin * gx,
                acceleration * y + spin * gy,
                acceleration * z + spin * gz,
            )
            _add_torques(robot, work, carrier, (0.0, 0.0, 0.0), moment, column)
            along = x * m[3] + y * m[4] + z * m[5]
        add_column(robot, count + k, acceleration + along, column)
