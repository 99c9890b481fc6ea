"""Where a link is and how it moves: pose, Jacobian, and the acceleration at rest of the joints' rates.

Craig chapter 5: v = J(q) qd, and so a = J qdd + Jdot qd. All in the axes of the root frame, at the origin
of the link's frame, linear rows first. A link stands in its body's frame at ``frame`` (12): rotation, position.
"""

from __future__ import annotations

from robot_dynamics_ros.kernels.compilation import kernel
from robot_dynamics_ros.kernels.couplings import add_column, clear, expand
from robot_dynamics_ros.kernels.layout import (
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    KIND,
    MOTION,
    PARENT,
    REVOLUTE,
    ModelArrays,
)
from robot_dynamics_ros.kernels.newton_euler import move_bodies
from robot_dynamics_ros.kernels.placement import compose, cross, place_bodies, place_in_root, rotate
from robot_dynamics_ros.kernels.types import Array


@kernel
def link_pose(robot: ModelArrays, body: int, frame: Array, q: Array, work: Array, world: Array, pose: Array) -> None:
    """Write the link's pose (4, 4) in the root frame to ``pose``; ``body`` -1 is the fixed base."""
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    place_in_root(robot, work, world)
    placement = work[0]
    for k in range(12):
        placement[k] = frame[k]
    if body >= 0:
        compose(world[body], frame, placement)
    for row in range(3):
        for column in range(3):
            pose[row, column] = placement[3 * row + column]
        pose[row, 3] = placement[9 + row]
        pose[3, row] = 0.0
    pose[3, 3] = 1.0


@kernel
def jacobian(robot: ModelArrays, body: int, frame: Array, q: Array, work: Array, world: Array, matrix: Array) -> None:
    """Write the link's Jacobian (6, n) to ``matrix``: columns (z x (p - p_i), z) or (z, 0), Craig 5.7."""
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    place_in_root(robot, work, world)
    matrix[:] = 0.0
    if body < 0:
        return
    px, py, pz = rotate(world[body], frame[9], frame[10], frame[11])
    px, py, pz = px + world[body, 9], py + world[body, 10], pz + world[body, 11]
    i = body
    while i >= 0:
        x, y, z = world[i, 2], world[i, 5], world[i, 8]
        if robot.tree[i, KIND] == REVOLUTE:
            vx, vy, vz = cross(x, y, z, px - world[i, 9], py - world[i, 10], pz - world[i, 11])
            add_column(robot, i, x, matrix[3])
            add_column(robot, i, y, matrix[4])
            add_column(robot, i, z, matrix[5])
        else:
            vx, vy, vz = x, y, z
        add_column(robot, i, vx, matrix[0])
        add_column(robot, i, vy, matrix[1])
        add_column(robot, i, vz, matrix[2])
        i = robot.tree[i, PARENT]


@kernel
def jacobian_dot_qd(
    robot: ModelArrays, body: int, frame: Array, q: Array, qd: Array, work: Array, world: Array, product: Array
) -> None:
    """Write Jdot qd (6,) to ``product``: the link's acceleration while no joint accelerates."""
    expand(robot, q, work, JOINT_POSITION)
    expand(robot, qd, work, JOINT_RATE)
    clear(work, JOINT_ACCELERATION)
    place_bodies(robot, work)
    place_in_root(robot, work, world)
    move_bodies(robot, work)
    product[:] = 0.0
    if body < 0:
        return
    m = work[body, MOTION:]
    px, py, pz = frame[9], frame[10], frame[11]
    cx, cy, cz = cross(m[0], m[1], m[2], px, py, pz)
    cx, cy, cz = cross(m[0], m[1], m[2], cx, cy, cz)
    tx, ty, tz = cross(m[3], m[4], m[5], px, py, pz)
    x, y, z = rotate(world[body], m[6] + cx + tx, m[7] + cy + ty, m[8] + cz + tz)
    # The recursion's base accelerates against gravity: take that away again.
    product[0], product[1], product[2] = x + robot.gravity[0], y + robot.gravity[1], z + robot.gravity[2]
    product[3], product[4], product[5] = rotate(world[body], m[3], m[4], m[5])
