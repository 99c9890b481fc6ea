"""Rigid-body dynamics with 50 decimal digits, the reference for the kernels' rounding errors.

The method differs from that of the kernels: all vectors are in the root frame, inertias are about centres of mass, and
the torque of a joint is a sum over all bodies that it moves (d'Alembert's principle). The inputs are the doubles of the
kernels; rotation matrices are replaced by the nearest exact rotations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels import layout
from robot_dynamics_ros.dynamics.model.model_data import views

MP = mpmath.MPContext()
MP.dps = 50

Exact = NDArray[np.object_]
"""Numbers of 50 digits."""

_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # ixx ixy ixz iyy iyz izz


class Body(NamedTuple):
    """Body in its own frame, whose z axis is the joint axis; inertia about the centre of mass."""

    parent: int
    slides: bool
    rotation: Exact
    position: Exact
    mass: Any
    com: Exact
    inertia: Exact


class Rotor(NamedTuple):
    """Rotor and the body that carries it, -1 for the base."""

    carrier: int
    axis: Exact
    inertia: Any


class ExactRobot(NamedTuple):
    """Robot; ``couplings`` (bodies, then rotors; n) map the velocities of the coordinates to those of all."""

    bodies: tuple[Body, ...]
    rotors: tuple[Rotor, ...]
    couplings: Exact
    gravity: Exact


class Moving(NamedTuple):
    """Pose, velocity and acceleration of a body in the root frame; the acceleration includes -g."""

    axes: Exact
    origin: Exact
    w: Exact
    dw: Exact
    a: Exact


def exact(values: ArrayLike) -> Exact:
    """Return doubles as numbers with 50 digits; numbers that have them are unchanged."""
    array = np.asarray(values)
    out = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        out[place] = value if array.dtype == object else MP.mpf(float(value))
    return out


def cross(a: Exact, b: Exact) -> Exact:
    """Return the cross product a x b."""
    return np.array(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ],
        dtype=object,
    )


def next_rotation(matrix: ArrayLike) -> Exact:
    """Return the nearest rotation to an almost orthogonal matrix by Newton's iteration for the polar decomposition."""
    r = exact(matrix)
    for _ in range(3):  # 1e-16, 1e-32, 1e-64
        r = r @ (3 * exact(np.eye(3)) - r.T @ r) / 2
    return r


def _symmetric(six: Exact) -> Exact:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=object)


def exact_robot(model: RobotModel) -> ExactRobot:
    """Return the robot with the doubles of a model, payload included."""
    robot = views(model.kernels.topology, model.kernels.parameters)
    couplings = exact(np.zeros((len(robot.tree), model.n)))
    for row, line in enumerate(robot.tree):
        for entry in range(line[layout.FIRST], line[layout.AFTER]):
            couplings[row, robot.coordinates[entry]] += MP.mpf(
                float(robot.factors[entry])
            )
    bodies = []
    for line, numbers in zip(robot.tree, robot.bodies, strict=False):
        mass = MP.mpf(float(numbers[layout.MASS]))
        moment = exact(numbers[layout.FIRST_MOMENT : layout.INERTIA])
        com = moment / mass if mass > 0 else moment
        about_origin = _symmetric(exact(numbers[layout.INERTIA :]))
        about_com = about_origin - mass * (
            com @ com * exact(np.eye(3)) - np.outer(com, com)
        )
        rotation = next_rotation(numbers[: layout.POSITION].reshape(3, 3))
        position = exact(numbers[layout.POSITION : layout.MASS])
        slides = bool(line[layout.KIND] == layout.PRISMATIC)
        bodies.append(
            Body(
                int(line[layout.PARENT]),
                slides,
                rotation,
                position,
                mass,
                com,
                about_com,
            )
        )
    rotors = tuple(
        Rotor(
            int(line[layout.PARENT]),
            exact(numbers[:3]),
            MP.mpf(float(numbers[layout.ROTOR_INERTIA])),
        )
        for line, numbers in zip(robot.tree[len(bodies) :], robot.rotors, strict=True)
    )
    return ExactRobot(tuple(bodies), rotors, couplings, exact(model.gravity))


def move(
    robot: ExactRobot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    weightless: bool = False,
) -> list[Moving]:
    """Return the motion of every body for coordinates, velocities and accelerations (n,)."""
    positions, rates, accelerations = (robot.couplings @ exact(x) for x in (q, qd, qdd))
    zero = exact(np.zeros(3))
    base = Moving(
        exact(np.eye(3)), zero, zero, zero, zero if weightless else -robot.gravity
    )
    found: list[Moving] = []
    for body, x, v, acceleration in zip(
        robot.bodies, positions, rates, accelerations, strict=False
    ):
        parent = found[body.parent] if body.parent >= 0 else base
        axes = parent.axes @ body.rotation
        z = axes[:, 2]
        lever = parent.axes @ body.position
        if body.slides:
            lever = lever + x * z
        else:
            c = MP.cos(x)
            s = MP.sin(x)
            zero_ = MP.mpf(0)
            one = MP.mpf(1)
            axes = axes @ np.array(
                [[c, -s, zero_], [s, c, zero_], [zero_, zero_, one]], dtype=object
            )
        w = parent.w
        dw = parent.dw
        a = parent.a + cross(dw, lever) + cross(w, cross(w, lever))
        if body.slides:
            a = a + acceleration * z + 2 * v * cross(w, z)
        else:
            dw = dw + acceleration * z + v * cross(w, z)
            w = w + v * z
        found.append(Moving(axes, parent.origin + lever, w, dw, a))
    return found


def _path(robot: ExactRobot, body: int) -> Iterator[int]:
    while body >= 0:
        yield body
        body = robot.bodies[body].parent


def _carry(
    robot: ExactRobot,
    moving: list[Moving],
    body: int,
    point: Exact,
    force: Exact,
    moment: Exact,
) -> Exact:
    """Return torques (bodies,) of the tree's joints for a wrench at a point of a body, in the root frame."""
    torques = exact(np.zeros(len(robot.bodies)))
    for i in _path(robot, body):
        z = moving[i].axes[:, 2]
        turning = moment + cross(point - moving[i].origin, force)
        torques[i] = z @ (force if robot.bodies[i].slides else turning)
    return torques


def _spin(
    robot: ExactRobot, moving: list[Moving], rotor: int, qd: Exact, qdd: Exact
) -> Exact:
    """Return torques (n,) for a rotor of inertia 1, Tsai (9.157)."""
    carrier, axis, _ = robot.rotors[rotor]
    row = robot.couplings[len(robot.bodies) + rotor]
    spin = row @ qd
    spin_up = row @ qdd
    if carrier < 0:
        return np.asarray(row * spin_up)
    at = moving[carrier]
    e = at.axes @ axis
    moment = spin_up * e + spin * cross(at.w, e)
    on_joints = _carry(robot, moving, carrier, at.origin, exact(np.zeros(3)), moment)
    return np.asarray(
        on_joints @ robot.couplings[: len(robot.bodies)] + row * (spin_up + e @ at.dw)
    )


def torque(
    robot: ExactRobot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    weightless: bool = False,
) -> Exact:
    """Return the torque (n,) for a motion."""
    moving = move(robot, q, qd, qdd, weightless)
    on_joints = exact(np.zeros(len(robot.bodies)))
    for i, (body, at) in enumerate(zip(robot.bodies, moving, strict=True)):
        arm = at.axes @ body.com
        force = body.mass * (at.a + cross(at.dw, arm) + cross(at.w, cross(at.w, arm)))
        inertia = at.axes @ body.inertia @ at.axes.T
        moment = inertia @ at.dw + cross(at.w, inertia @ at.w)
        on_joints = on_joints + _carry(robot, moving, i, at.origin + arm, force, moment)
    total = on_joints @ robot.couplings[: len(robot.bodies)]
    rates = exact(qd)
    accelerations = exact(qdd)
    for k, rotor in enumerate(robot.rotors):
        total = total + rotor.inertia * _spin(robot, moving, k, rates, accelerations)
    return np.asarray(total)


def mass_matrix(robot: ExactRobot, q: ArrayLike) -> Exact:
    """Return the mass matrix (n, n); its columns are torques for unit accelerations without gravity."""
    n = robot.couplings.shape[1]
    return np.array(
        [torque(robot, q, np.zeros(n), unit, weightless=True) for unit in np.eye(n)]
    ).T


def derivatives(
    robot: ExactRobot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Exact, Exact]:
    """Return the derivatives (n, n) of the torque with respect to q and qd, by differences.

    Those with respect to q have a step of 1e-16 and 30 correct digits; those with respect to qd are exact, because the
    torque is quadratic in the velocities.
    """
    x = exact(q)
    v = exact(qd)
    still = 0 * v
    small = MP.mpf(10) ** -16
    by_q = []
    by_qd = []
    size = max(abs(v)) or MP.mpf(1)
    for unit in exact(np.eye(len(x))):
        step = small * unit
        by_q.append(
            (torque(robot, x + step, v, qdd) - torque(robot, x - step, v, qdd))
            / (2 * small)
        )
        step = size * unit
        ahead = torque(robot, x, v + step, still, True)
        behind = torque(robot, x, v - step, still, True)
        by_qd.append((ahead - behind) / (2 * size))
    return np.array(by_q).T, np.array(by_qd).T


def acceleration(matrix: Exact, bias: Exact, tau: ArrayLike) -> tuple[Exact, Exact]:
    """Return the solution qdd (n,) of matrix qdd + bias = tau, and the inverse (n, n) of the matrix."""
    inverse = np.array((MP.matrix(matrix.tolist()) ** -1).tolist(), dtype=object)
    return inverse @ (exact(tau) - bias), inverse


def regressor(
    model: RobotModel, robot: ExactRobot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> Exact:
    """Return torques (n, parameters) for a unit of each of ``model.inertial_parameters``."""
    moving = move(robot, q, qd, qdd)
    columns = []
    zero = exact(np.zeros(3))
    units = exact(np.eye(3))
    for i, link in enumerate(model.moving_links):
        at = moving[i]
        axes = at.axes @ next_rotation(model.link_frames[link].rotation)
        loads = [(at.a, zero)]
        for k in range(3):
            h = axes @ units[k]
            loads.append(
                (cross(at.dw, h) + cross(at.w, cross(at.w, h)), cross(h, at.a))
            )
        for row, column in _PAIRS:
            unit = exact(np.zeros((3, 3)))
            unit[row, column] = unit[column, row] = MP.mpf(1)
            inertia = axes @ unit @ axes.T
            loads.append((zero, inertia @ at.dw + cross(at.w, inertia @ at.w)))
        for force, moment in loads:
            on_joints = _carry(robot, moving, i, at.origin, force, moment)
            columns.append(on_joints @ robot.couplings[: len(robot.bodies)])
    rates = exact(qd)
    accelerations = exact(qdd)
    columns += [
        _spin(robot, moving, k, rates, accelerations) for k in range(len(robot.rotors))
    ]
    return np.array(columns).T


def jacobian(model: RobotModel, robot: ExactRobot, q: ArrayLike, link: str) -> Exact:
    """Return the Jacobian (6, n) of a link's origin, linear rows first, Craig 5.7."""
    still = np.zeros(model.n)
    moving = move(robot, q, still, still)
    frame = model.link_frames[link]
    rows = exact(np.zeros((6, len(robot.bodies))))
    if frame.body >= 0:
        end = moving[frame.body].origin + moving[frame.body].axes @ exact(
            frame.position
        )
        for i in _path(robot, frame.body):
            z = moving[i].axes[:, 2]
            if robot.bodies[i].slides:
                rows[:3, i] = z
            else:
                rows[:3, i] = cross(z, end - moving[i].origin)
                rows[3:, i] = z
    return np.asarray(rows @ robot.couplings[: len(robot.bodies)])


def jacobian_dot_qd(
    model: RobotModel, robot: ExactRobot, q: ArrayLike, qd: ArrayLike, link: str
) -> Exact:
    """Return the linear and angular acceleration (6,) of a link's origin for zero joint accelerations."""
    frame = model.link_frames[link]
    if frame.body < 0:
        return exact(np.zeros(6))
    at = move(robot, q, qd, np.zeros(model.n), weightless=True)[frame.body]
    arm = at.axes @ exact(frame.position)
    return np.concatenate(
        [at.a + cross(at.dw, arm) + cross(at.w, cross(at.w, arm)), at.dw]
    )


def potential_energy(robot: ExactRobot, q: ArrayLike) -> Any:
    """Return the potential energy -sum m g . c."""
    still = np.zeros(robot.couplings.shape[1])
    moving = move(robot, q, still, still)
    return -sum(
        (body.mass * (robot.gravity @ (at.origin + at.axes @ body.com)))
        for body, at in zip(robot.bodies, moving, strict=True)
    )


def kinetic_energy(matrix: Exact, qd: ArrayLike) -> Any:
    """Return the kinetic energy 1/2 qd^T M qd."""
    rates = exact(qd)
    return rates @ matrix @ rates / 2


def friction_torque(
    model: RobotModel, robot: ExactRobot, q: ArrayLike, qd: ArrayLike
) -> Exact:
    """Return the friction torque (n,) by the formulas of kernels/friction.py, which names their sources."""
    driven = robot.couplings[: len(robot.bodies)]
    torques = [
        _joint_friction(line, x, v)
        for line, x, v in zip(
            exact(model.friction_parameters),
            driven @ exact(q),
            driven @ exact(qd),
            strict=True,
        )
    ]
    return np.asarray(np.array(torques, dtype=object) @ driven)


def _joint_friction(line: Exact, position: Any, rate: Any) -> Any:
    (
        viscous,
        coulomb,
        negative,
        static,
        stribeck,
        ripple,
        per_turn,
        phase,
        amplitude,
        slope,
        shift,
        *_,
    ) = line

    def logistic(x: Any) -> Any:
        return 1 / (1 + MP.exp(-x))

    total = viscous * rate + amplitude * (
        logistic(slope * (rate + shift)) - logistic(slope * shift)
    )
    if rate == 0:
        return total
    level = coulomb if rate > 0 else negative
    fade = MP.exp(-((rate / stribeck) ** 2)) if stribeck > 0 else MP.mpf(0)
    dry = (
        level
        + fade * max(static - level, MP.mpf(0))
        + ripple * MP.sin(per_turn * position + phase)
    )
    return total + MP.sign(rate) * max(dry, MP.mpf(0))
