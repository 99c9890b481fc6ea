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
    Elements,
    Vector,
    add_vector,
    cross,
    dot,
    origin,
    place_bodies,
    plus,
    scaled,
    set_vector,
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


@forceinlined_kernel
def base_acceleration(robot: ModelArrays) -> Vector:
    """Return the acceleration (m/s^2) of the base against gravity, which has the effect of the weights."""
    return -robot.gravity[0], -robot.gravity[1], -robot.gravity[2]


@kernel
def move_bodies(robot: ModelArrays, work: Array) -> None:
    """Write the velocities and accelerations of the bodies to ``work``, from the base outwards: Craig (6.45)-(6.48).

    The caller has filled the joint rates and accelerations (columns JOINT_RATE, JOINT_ACCELERATION) and the placements
    (placement.place_bodies) of ``work``. Results are in the nine columns from MOTION on, in the axes of each body:
    angular velocity, angular acceleration, and linear acceleration of the frame's origin. The base accelerates against
    gravity, so that each linear acceleration includes -g.
    """
    tree = robot.tree
    for i in range(robot.bodies.shape[0]):
        parent = tree[i, PARENT]
        rate = work[i, JOINT_RATE]
        acceleration = work[i, JOINT_ACCELERATION]
        if parent < 0:
            w = (0.0, 0.0, 0.0)
            dw = (0.0, 0.0, 0.0)
            a = to_body(work, i, base_acceleration(robot))
        else:
            u = vector_at(work, parent, _W)
            du = vector_at(work, parent, _DW)
            p = origin(work, i)
            a = plus(vector_at(work, parent, _A), cross(u, cross(u, p)))
            a = to_body(work, i, plus(a, cross(du, p)))
            w = to_body(work, i, u)
            dw = to_body(work, i, du)
        x = w[0] * rate
        y = w[1] * rate
        if tree[i, KIND] == REVOLUTE:
            dw = (dw[0] + y, dw[1] - x, dw[2] + acceleration)
            w = (w[0], w[1], w[2] + rate)
        else:
            a = (a[0] + 2.0 * y, a[1] - 2.0 * x, a[2] + acceleration)
        set_vector(work, i, _W, w)
        set_vector(work, i, _DW, dw)
        set_vector(work, i, _A, a)


@forceinlined_kernel
def required_wrench(
    mass: float, moment: Vector, inertia: Elements, w: Vector, dw: Vector, a: Vector
) -> tuple[Vector, Vector]:
    """Return force and moment about its frame's origin that the motion of a body requires: Craig (6.49)-(6.51).

    ``moment`` is its first moment of mass, ``inertia`` xx xy xz yy yz zz about the origin. ``w``, ``dw`` and ``a`` are
    angular velocity and acceleration, and the acceleration of the origin.
    """
    force = plus(scaled(mass, a), cross(dw, moment))
    about_com = plus(
        symmetric_product(inertia, dw), cross(w, symmetric_product(inertia, w))
    )
    return (
        plus(force, cross(w, cross(w, moment))),
        plus(about_com, cross(moment, a)),
    )


@forceinlined_kernel
def rotor_moment(axis: Vector, spin: float, acceleration: float, w: Vector) -> Vector:
    """Return the moment of a carrier with angular velocity ``w`` on a rotor of unit inertia, Tsai (9.157).

    The carrier's inertia includes the rotor at rest. The additional angular momentum is the spin along the axis, which
    is fixed to the carrier.
    """
    return plus(scaled(acceleration, axis), scaled(spin, cross(w, axis)))


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
        force, moment = required_wrench(
            bodies[i, MASS],
            vector_at(bodies, i, FIRST_MOMENT),
            symmetric_at(bodies, i, INERTIA),
            vector_at(work, i, _W),
            vector_at(work, i, _DW),
            vector_at(work, i, _A),
        )
        set_vector(work, i, WRENCH, force)
        set_vector(work, i, WRENCH + 3, moment)
        _subtract_wrench(wrenches, i, work)


@kernel
def _set_body_wrenches_at_rest(
    robot: ModelArrays, wrenches: Array, work: Array
) -> None:
    """Write the wrench that balances each body's weight, minus external wrenches: Craig (6.47)-(6.51) at rest."""
    bodies = robot.bodies
    for i in range(bodies.shape[0]):
        parent = robot.tree[i, PARENT]
        if parent < 0:
            a = to_body(work, i, base_acceleration(robot))
        else:
            a = to_body(work, i, vector_at(work, parent, _A))
        set_vector(work, i, _A, a)
        set_vector(work, i, WRENCH, scaled(bodies[i, MASS], a))
        moment = cross(vector_at(bodies, i, FIRST_MOMENT), a)
        set_vector(work, i, WRENCH + 3, moment)
        _subtract_wrench(wrenches, i, work)


@kernel
def _add_rotor_torques(robot: ModelArrays, work: Array) -> None:
    """Write the torques that accelerate the rotors and add their moments on the carriers, Tsai (9.157)."""
    count = robot.bodies.shape[0]
    for k in range(robot.rotors.shape[0]):
        inertia = robot.rotors[k, ROTOR_INERTIA]
        spin = work[count + k, JOINT_RATE]
        acceleration = work[count + k, JOINT_ACCELERATION]
        carrier = robot.tree[count + k, PARENT]
        along = 0.0
        if carrier >= 0:
            axis = vector_at(robot.rotors, k, SPIN_AXIS)
            w = vector_at(work, carrier, _W)
            moment = rotor_moment(axis, spin, acceleration, w)
            add_vector(work, carrier, WRENCH + 3, scaled(inertia, moment))
            along = dot(axis, vector_at(work, carrier, _DW))
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
            force = to_parent(work, i, vector_at(work, i, WRENCH))
            moment = to_parent(work, i, vector_at(work, i, WRENCH + 3))
            moment = plus(moment, cross(origin(work, i), force))
            add_vector(work, parent, WRENCH, force)
            add_vector(work, parent, WRENCH + 3, moment)


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
