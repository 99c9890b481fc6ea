"""Regressor: the torque is linear in the inertial parameters, Spong (9.121); An, Atkeson, Hollerbach 1985.

A column is the torque for a unit value of one parameter. The wrench of that parameter on its body, Craig (6.49)-(6.51),
is propagated to the base, (6.52)-(6.53). The parameters of a body are mass, first moment (3) and inertia about the
origin (ixx ixy ixz iyy iyz izz), in the axes of the body's link. The axial inertia of each rotor follows, Tsai (9.157).
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.kernels.compilation import forceinlined_kernel, kernel
from robot_dynamics_ros.dynamics.kernels.couplings import add_column, expand
from robot_dynamics_ros.dynamics.kernels.layout import (
    JOINT_ACCELERATION,
    JOINT_POSITION,
    JOINT_RATE,
    KIND,
    MOTION,
    PARENT,
    REVOLUTE,
    SPIN_AXIS,
    ModelArrays,
)
from robot_dynamics_ros.dynamics.kernels.newton_euler import (
    move_bodies,
    required_wrench,
    rotor_moment,
)
from robot_dynamics_ros.dynamics.kernels.placement import (
    Vector,
    cross,
    dot,
    origin,
    place_bodies,
    plus,
    rotate,
    rotate_back,
    to_parent,
    vector_at,
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
    i = body
    while i >= 0:
        along = moment[2] if robot.tree[i, KIND] == REVOLUTE else force[2]
        add_column(robot, i, along, column)
        force = to_parent(work, i, force)
        moment = plus(to_parent(work, i, moment), cross(origin(work, i), force))
        i = robot.tree[i, PARENT]


@forceinlined_kernel
def _delta(i: int, k: int) -> float:
    """Return 1 if i is k, else 0."""
    return 1.0 if i == k else 0.0


@forceinlined_kernel
def _unit_wrench(
    parameter: int, w: Vector, dw: Vector, a: Vector
) -> tuple[Vector, Vector]:
    """Return force and moment on a body for a unit value of one of its ten parameters."""
    mass = _delta(parameter, 0)
    moment = (_delta(parameter, 1), _delta(parameter, 2), _delta(parameter, 3))
    inertia = (
        _delta(parameter, 4),
        _delta(parameter, 5),
        _delta(parameter, 6),
        _delta(parameter, 7),
        _delta(parameter, 8),
        _delta(parameter, 9),
    )
    return required_wrench(mass, moment, inertia, w, dw, a)


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
        r = link_rotations[i]
        w = rotate_back(r, vector_at(work, i, MOTION))
        dw = rotate_back(r, vector_at(work, i, MOTION + 3))
        a = rotate_back(r, vector_at(work, i, MOTION + 6))
        for parameter in range(PARAMETERS):
            force, moment = _unit_wrench(parameter, w, dw, a)
            column = columns[PARAMETERS * i + parameter]
            _add_torques(robot, work, i, rotate(r, force), rotate(r, moment), column)
    for k in range(robot.rotors.shape[0]):
        column = columns[PARAMETERS * count + k]
        spin = work[count + k, JOINT_RATE]
        acceleration = work[count + k, JOINT_ACCELERATION]
        carrier = tree[count + k, PARENT]
        along = 0.0
        if carrier >= 0:
            axis = vector_at(robot.rotors, k, SPIN_AXIS)
            w = vector_at(work, carrier, MOTION)
            moment = rotor_moment(axis, spin, acceleration, w)
            _add_torques(robot, work, carrier, (0.0, 0.0, 0.0), moment, column)
            along = dot(axis, vector_at(work, carrier, MOTION + 3))
        add_column(robot, count + k, acceleration + along, column)
