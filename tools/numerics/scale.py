"""Size of the terms whose sum is a torque, the scale of its rounding error.

The kernels' formulas with lengths in place of vectors and sums of lengths in place of sums: the torque if no two terms
had opposite signs. Rounding of a rotation or cross product errs by a few eps of the lengths, not of the single
components. An error of k eps times this scale therefore corresponds to slightly different numbers in the URDF.

FLOOR, the smallest normal number, is added to every term, because eps times it is the last digit of denormal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.dynamics.kernels import friction, layout
from robot_dynamics_ros.dynamics.kernels.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.model.model_data import views

Floats = NDArray[np.float64]

FLOOR = float(np.finfo(np.float64).tiny)


class Sizes(NamedTuple):
    """Lengths of a robot's vectors: distances of frames, first moments and inertias; and its couplings."""

    parents: list[int]
    slides: list[bool]
    ways: Floats
    masses: Floats
    moments: Floats
    inertias: Floats
    carriers: list[int]
    rotors: Floats
    couplings: Floats
    gravity: float


def sizes(model: RobotModel) -> Sizes:
    """Return the lengths of a model, payload included."""
    robot = views(model.kernels.topology, model.kernels.parameters)
    count = len(model.moving_joints)
    couplings = np.zeros((len(robot.tree), model.n))
    for row, line in enumerate(robot.tree):
        for entry in range(line[layout.FIRST], line[layout.AFTER]):
            couplings[row, robot.coordinates[entry]] += abs(robot.factors[entry])
    six = robot.bodies[:, layout.INERTIA :]
    return Sizes(
        robot.tree[:count, layout.PARENT].tolist(),
        (robot.tree[:count, layout.KIND] == layout.PRISMATIC).tolist(),
        _lengths(robot.bodies[:, layout.POSITION : layout.MASS]),
        robot.bodies[:, layout.MASS],
        _lengths(robot.bodies[:, layout.FIRST_MOMENT : layout.INERTIA]),
        _lengths(six[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]]),
        robot.tree[count:, layout.PARENT].tolist(),
        robot.rotors[:, layout.ROTOR_INERTIA],
        couplings,
        float(np.linalg.norm(robot.gravity)),
    )


def _lengths(rows: Floats) -> Floats:
    """Return the lengths without squares, in which denormal numbers would vanish."""
    return np.asarray(np.hypot.reduce(rows, axis=1))


class _Motion(NamedTuple):
    ways: Floats
    w: Floats
    dw: Floats
    a: Floats
    rates: Floats
    accelerations: Floats


def _move(
    of: Sizes, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, gravity: float
) -> _Motion:
    positions, rates, accelerations = (of.couplings @ np.abs(x) for x in (q, qd, qdd))
    count = len(of.parents)
    ways = of.ways + np.where(of.slides, positions[:count], 0.0)
    w = np.empty(count)
    dw = np.empty(count)
    a = np.empty(count)
    for i, parent in enumerate(of.parents):
        u, du, b = (
            (w[parent], dw[parent], a[parent]) if parent >= 0 else (0.0, 0.0, gravity)
        )
        b = b + (du + u * u) * ways[i]
        if of.slides[i]:
            b = b + accelerations[i] + 2.0 * u * rates[i]
        else:
            du = du + accelerations[i] + u * rates[i]
            u = u + rates[i]
        w[i] = u + FLOOR
        dw[i] = du + FLOOR
        a[i] = b + FLOOR
    return _Motion(ways, w, dw, a, rates[count:], accelerations[count:])


def path(of: Sizes, body: int) -> Iterator[int]:
    """Yield the bodies from this one to the base."""
    while body >= 0:
        yield body
        body = of.parents[body]


def _carry(of: Sizes, ways: Floats, body: int, force: float, moment: float) -> Floats:
    """Return torques (n,) for a wrench on a body."""
    on_joints = np.zeros(len(of.couplings))
    for i in path(of, body):
        on_joints[i] = (force if of.slides[i] else moment) + FLOOR
        moment += ways[i] * force
    return np.asarray(on_joints @ of.couplings)


def torque_scale(
    of: Sizes, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, weightless: bool = False
) -> Floats:
    """Return the scale of the torque (n,) for a motion."""
    motion = _move(of, q, qd, qdd, 0.0 if weightless else of.gravity)
    total = np.full(of.couplings.shape[1], FLOOR)
    for i in range(len(of.parents)):
        turning = motion.dw[i] + motion.w[i] ** 2
        force = of.masses[i] * motion.a[i] + turning * of.moments[i] + FLOOR
        moment = of.inertias[i] * turning + of.moments[i] * motion.a[i] + FLOOR
        total += _carry(of, motion.ways, i, force, moment)
    for k, inertia in enumerate(of.rotors):
        total += inertia * _spin(of, motion, k)
    return total


def _spin(of: Sizes, motion: _Motion, rotor: int) -> Floats:
    carrier = of.carriers[rotor]
    row = of.couplings[len(of.parents) + rotor]
    spin = motion.rates[rotor] + FLOOR
    spin_up = motion.accelerations[rotor] + FLOOR
    if carrier < 0:
        return np.asarray(row * spin_up)
    on_joints = _carry(
        of, motion.ways, carrier, 0.0, spin_up + spin * motion.w[carrier]
    )
    return np.asarray(on_joints + row * (spin_up + motion.dw[carrier]))


def matrix_scale(of: Sizes, q: ArrayLike) -> Floats:
    """Return the scale of the mass matrix (n, n)."""
    n = of.couplings.shape[1]
    return np.array(
        [torque_scale(of, q, np.zeros(n), unit, weightless=True) for unit in np.eye(n)]
    ).T


def regressor_scale(of: Sizes, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Floats:
    """Return the scale of the regressor (n, parameters)."""
    motion = _move(of, q, qd, qdd, of.gravity)
    columns = []
    for i in range(len(of.parents)):
        turning = float(motion.dw[i] + motion.w[i] ** 2)
        loads = (
            [(float(motion.a[i]), 0.0)]
            + 3 * [(turning, float(motion.a[i]))]
            + 6 * [(0.0, turning)]
        )
        assert len(loads) == PARAMETERS
        columns += [
            _carry(of, motion.ways, i, force, moment) + FLOOR for force, moment in loads
        ]
    columns += [_spin(of, motion, k) + FLOOR for k in range(len(of.rotors))]
    return np.array(columns).T


def jacobian_scale(model: RobotModel, of: Sizes, q: ArrayLike, link: str) -> Floats:
    """Return the scale of the Jacobian (6, n): distance to the link for revolute joints, 1 for other elements."""
    frame = model.link_frames[link]
    still = np.zeros(of.couplings.shape[1])
    ways = _move(of, q, still, still, 0.0).ways
    reach = float(
        np.linalg.norm(frame.position) + sum(ways[i] for i in path(of, frame.body))
    )
    rows = np.full((6, len(of.couplings)), FLOOR)
    for i in path(of, frame.body):
        rows[:3, i] += 1.0 if of.slides[i] else reach
        rows[3:, i] += 0.0 if of.slides[i] else 1.0
    return np.asarray(rows @ of.couplings + FLOOR)


def acceleration_scale(
    model: RobotModel, of: Sizes, q: ArrayLike, qd: ArrayLike, link: str
) -> Floats:
    """Return the scale of Jdot qd (6,); its recursion includes gravity, which is subtracted again."""
    frame = model.link_frames[link]
    if frame.body < 0:
        return np.full(6, FLOOR)
    motion = _move(of, q, qd, np.zeros(of.couplings.shape[1]), of.gravity)
    w = motion.w[frame.body]
    dw = motion.dw[frame.body]
    a = motion.a[frame.body]
    linear = a + (dw + w * w) * float(np.linalg.norm(frame.position)) + of.gravity
    return np.repeat([linear, dw], 3)


def potential_scale(of: Sizes, q: ArrayLike) -> float:
    """Return the scale of the potential energy."""
    still = np.zeros(of.couplings.shape[1])
    ways = _move(of, q, still, still, 0.0).ways
    reach = [sum(ways[i] for i in path(of, body)) for body in range(len(of.parents))]
    return (
        of.gravity * float(of.masses @ reach + of.moments.sum() + len(reach) * FLOOR)
        + FLOOR
    )


def friction_scale(model: RobotModel, of: Sizes, q: ArrayLike, qd: ArrayLike) -> Floats:
    """Return the scale of the friction torque (n,); the angle of a ripple is rounded before the sine."""
    driven = of.couplings[: len(of.parents)]
    table = np.abs(model.friction_parameters)
    ripple = (
        1.0
        + table[:, friction.RIPPLE_PER_TURN] * (driven @ np.abs(q))
        + table[:, friction.RIPPLE_PHASE]
    )
    joints = (
        table[:, friction.VISCOUS] * (driven @ np.abs(qd))
        + table[:, [friction.COULOMB, friction.COULOMB_NEGATIVE, friction.STATIC]].sum(
            axis=1
        )
        + table[:, friction.RIPPLE_AMPLITUDE] * ripple
        + 2.0 * table[:, friction.SIGMOID_AMPLITUDE]
    )
    return np.asarray((joints + FLOOR) @ driven)
