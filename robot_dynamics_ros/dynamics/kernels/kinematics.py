"""Kinematics of links and closed loops: pose, Jacobian, and acceleration at zero joint acceleration.

Craig chapter 5: v = J(q) qd, hence a = J qdd + dJ/dt qd. All quantities are at the origin of the link's frame, in the
axes of the root frame, linear rows first.

Arguments: ``robot`` has the model arrays (from layout.unpack), ``q`` and ``qd`` (n,) are in rad or m. A link is
given by its ``body``, -1 for the fixed base, and by ``frame`` (12,), the placement of the link in its body's frame:
rotation row by row, position. ``work`` (bodies + rotors, WORK_SIZE) and ``world`` (bodies, 12) are scratch.

A loop keeps a point p_a of body a at a point p_b of body b, LaValle (13.171): phi = p_b - p_a = 0, in root axes. Hence
G qd = 0 and G qdd + drift = 0, with G = J_b - J_a, the Jacobians of the points (Craig chapter 5), and drift = dG/dt qd.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.dynamics.kernels.compilation import (
    allocating_kernel,
    forceinlined_kernel,
    kernel,
)
from robot_dynamics_ros.dynamics.kernels.couplings import add_column, clear, expand
from robot_dynamics_ros.dynamics.kernels.layout import (
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    KIND,
    MOTION,
    PARENT,
    REVOLUTE,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.newton_euler import move_bodies
from robot_dynamics_ros.dynamics.kernels.placement import (
    Vector,
    compose,
    cross,
    place_bodies,
    place_in_root,
    plus,
    rotate,
    scaled,
    vector_at,
)
from robot_dynamics_ros.dynamics.kernels.types import Array, IntArray


@kernel
def _place(robot: ModelArrays, q: Array, work: Array, world: Array) -> None:
    expand(robot, q, work, JOINT_POSITION)
    place_bodies(robot, work)
    place_in_root(robot, work, world)


@kernel
def _place_and_move(
    robot: ModelArrays, q: Array, qd: Array, work: Array, world: Array
) -> None:
    """Write the placements of the bodies, and their motion at zero joint acceleration."""
    expand(robot, qd, work, JOINT_RATE)
    clear(work, JOINT_ACCELERATION)
    _place(robot, q, work, world)
    move_bodies(robot, work)


@kernel
def _position(body: int, point: Vector, world: Array) -> Vector:
    """Return a body's point in the root frame."""
    if body < 0:
        return point
    return plus(vector_at(world, body, 9), rotate(world[body], point))


@kernel
def _acceleration(
    robot: ModelArrays, body: int, point: Vector, work: Array, world: Array
) -> Vector:
    """Return the acceleration of a body's point at zero joint acceleration, Craig (6.12)."""
    if body < 0:
        return 0.0, 0.0, 0.0
    w = vector_at(work, body, MOTION)
    a = plus(vector_at(work, body, MOTION + 6), cross(w, cross(w, point)))
    a = plus(a, cross(vector_at(work, body, MOTION + 3), point))
    gravity = robot.gravity
    # Without the acceleration of the base against gravity.
    return plus(rotate(world[body], a), (gravity[0], gravity[1], gravity[2]))


@forceinlined_kernel
def _axis(world: Array, i: int) -> Vector:
    """Return the axis of joint i."""
    return world[i, 2], world[i, 5], world[i, 8]


@forceinlined_kernel
def _velocity(robot: ModelArrays, i: int, at: Vector, world: Array) -> Vector:
    """Return the velocity of point ``at`` at unit velocity of joint i: z x (p - p_i) or z, Craig 5.7."""
    if robot.tree[i, KIND] != REVOLUTE:
        return _axis(world, i)
    arm = plus(at, scaled(-1.0, vector_at(world, i, 9)))
    return cross(_axis(world, i), arm)


@forceinlined_kernel
def _add_columns(robot: ModelArrays, i: int, v: Vector, rows: Array) -> None:
    """Add a vector for joint i to the columns of its coordinates in three ``rows`` (3 or more, n)."""
    add_column(robot, i, v[0], rows[0])
    add_column(robot, i, v[1], rows[1])
    add_column(robot, i, v[2], rows[2])


@kernel
def link_pose(
    robot: ModelArrays,
    body: int,
    frame: Array,
    q: Array,
    work: Array,
    world: Array,
    pose: Array,
) -> None:
    """Write the link's pose in the root frame to ``pose`` (4, 4), a homogeneous matrix with positions in m."""
    _place(robot, q, work, world)
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
def jacobian(
    robot: ModelArrays,
    body: int,
    frame: Array,
    q: Array,
    work: Array,
    world: Array,
    matrix: Array,
) -> None:
    """Write the link's Jacobian (6, n) to ``matrix``, with columns (z x (p - p_i), z) or (z, 0): Craig 5.7.

    p is the link's origin, z the axis of revolute joint i through p_i, or of a prismatic joint.
    """
    _place(robot, q, work, world)
    matrix[:] = 0.0
    if body < 0:
        return
    at = _position(body, (frame[9], frame[10], frame[11]), world)
    i = body
    while i >= 0:
        if robot.tree[i, KIND] == REVOLUTE:
            _add_columns(robot, i, _axis(world, i), matrix[3:])
        _add_columns(robot, i, _velocity(robot, i, at, world), matrix)
        i = robot.tree[i, PARENT]


@kernel
def jacobian_dot_qd(
    robot: ModelArrays,
    body: int,
    frame: Array,
    q: Array,
    qd: Array,
    work: Array,
    world: Array,
    product: Array,
) -> None:
    """Write dJ/dt qd, the link's acceleration at zero joint acceleration, to ``product`` (6,).

    Linear (m/s^2), then angular (rad/s^2), without gravity.
    """
    _place_and_move(robot, q, qd, work, world)
    product[:] = 0.0
    if body < 0:
        return
    point = (frame[9], frame[10], frame[11])
    dw = vector_at(work, body, MOTION + 3)
    product[0], product[1], product[2] = _acceleration(robot, body, point, work, world)
    product[3], product[4], product[5] = rotate(world[body], dw)


class Loops(NamedTuple):
    """Closed loops of a robot.

    Attributes
    ----------
    bodies
        (loops, 2), int: bodies of the points a and b; -1 is the fixed base.
    points
        (loops, 6): points a and b, each in its body's frame, m.
    """

    bodies: IntArray
    points: Array


def append_loops(
    topology: IntArray, parameters: Array, loops: Loops
) -> tuple[IntArray, Array]:
    """Return copies of the robot's two flat model arrays with its loops appended.

    layout.unpack ignores the loops, ``unpack_loops`` reads them.
    """
    count = np.array([len(loops.bodies)], dtype=np.int64)
    return np.concatenate([topology, loops.bodies.ravel(), count]), np.concatenate(
        [parameters, loops.points.ravel()]
    )


@allocating_kernel
def unpack_loops(topology: IntArray, parameters: Array) -> Loops:
    """Return views of the loops in the two model arrays that ``append_loops`` returned."""
    end = topology.shape[0] - 1
    count = topology[end]
    return Loops(
        topology[end - 2 * count : end].reshape(count, 2),
        parameters[parameters.shape[0] - 6 * count :].reshape(count, 6),
    )


@kernel
def measure_loops(
    robot: ModelArrays,
    loops: Loops,
    q: Array,
    qd: Array,
    work: Array,
    world: Array,
    gap: Array,
    jacobian: Array,
    drift: Array,
) -> None:
    """Write phi to ``gap`` (3 loops,), G to ``jacobian`` (3 loops, n) and ``drift`` (3 loops,) at ``q``, ``qd``.

    Elements 3 k to 3 k + 2 are the x, y and z of loop k. Units are m, m/rad or 1, and m/s^2. Columns of joints that
    move both points of a loop are zero, also if the loop is open.
    """
    _place_and_move(robot, q, qd, work, world)
    jacobian[:] = 0.0
    for k in range(loops.bodies.shape[0]):
        a = loops.bodies[k, 0]
        b = loops.bodies[k, 1]
        point_a = vector_at(loops.points, k, 0)
        point_b = vector_at(loops.points, k, 3)
        at_a = _position(a, point_a, world)
        at_b = _position(b, point_b, world)
        bias_a = _acceleration(robot, a, point_a, work, world)
        bias_b = _acceleration(robot, b, point_b, work, world)
        for row in range(3):
            gap[3 * k + row] = at_b[row] - at_a[row]
            drift[3 * k + row] = bias_b[row] - bias_a[row]
        rows = jacobian[3 * k : 3 * k + 3]
        # Parents have smaller indices, so the two paths to the root meet at the first equal index.
        while a != b:
            if a > b:
                velocity = _velocity(robot, a, at_a, world)
                _add_columns(robot, a, scaled(-1.0, velocity), rows)
                a = robot.tree[a, PARENT]
            else:
                _add_columns(robot, b, _velocity(robot, b, at_b, world), rows)
                b = robot.tree[b, PARENT]
