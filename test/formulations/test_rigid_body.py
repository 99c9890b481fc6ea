"""One rigid body's equations: against derivatives of motions, a tumbling body's invariants, and whole robots."""

from collections.abc import Callable

import arms
import numpy as np
import pytest
from comparing import assert_close
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.formulations.joint_space import joint_axes
from robot_dynamics_ros.formulations.link_tree import BASE, LinkTree
from robot_dynamics_ros.formulations.newton_euler_links import joint_reactions
from robot_dynamics_ros.formulations.rigid_body import (
    angular_acceleration,
    angular_momentum,
    euler_moment,
    kinetic_energy,
    linear_momentum,
    newton_force,
    point_acceleration,
    point_velocity,
)
from robot_dynamics_ros.resources import robot_names, robot_urdf

Array = NDArray[np.float64]

_STEP = 1e-4


def _turned(axis_rates: Array, t: float) -> Array:
    """Rotation of a frame whose constant rates about z, then x, then y turn it, one after the other."""
    turns = [Rotation.from_rotvec(rate * t * np.eye(3)[k]) for k, rate in zip((2, 0, 1), axis_rates, strict=True)]
    return np.asarray((turns[0] * turns[1] * turns[2]).as_matrix())


def _rate(of: Callable[[float], Array], t: float) -> Array:
    """Derivative by central differences of fourth order."""
    h = _STEP
    return (8.0 * (of(t + h) - of(t - h)) - (of(t + 2 * h) - of(t - 2 * h))) / (12.0 * h)


def _spin(rotation: Callable[[float], Array], t: float) -> Array:
    """Angular velocity by S(w) = dR/dt R^T, Spong (9.42)."""
    s = _rate(rotation, t) @ rotation(t).T
    return np.array([s[2, 1] - s[1, 2], s[0, 2] - s[2, 0], s[1, 0] - s[0, 1]]) / 2.0


@given(seed=st.integers(0, 10**6))
def test_a_point_of_a_moving_frame(seed: int) -> None:
    """Craig (6.10): a point that runs along a curve in a frame that tumbles while its origin runs along another."""
    rng = np.random.default_rng(seed)
    rates, a, b = rng.uniform(-2.0, 2.0, 3), rng.uniform(-1.0, 1.0, (3, 3)), rng.uniform(-1.0, 1.0, (3, 3))

    def rotation(t: float) -> Array:
        return _turned(rates, t)

    def curve(c: Array, t: float) -> Array:
        return np.asarray(c[0] + c[1] * t + c[2] * t * t)

    def place(t: float) -> Array:
        return curve(a, t) + rotation(t) @ curve(b, t)

    def spin(t: float) -> Array:
        return _spin(rotation, t)

    t = 0.3
    r, relative, gaining = (rotation(t) @ x for x in (curve(b, t), b[1] + 2.0 * b[2] * t, 2.0 * b[2]))
    w, dw = spin(t), _rate(spin, t)
    np.testing.assert_allclose(point_velocity(a[1] + 2.0 * a[2] * t, w, r, relative), _rate(place, t), atol=1e-9)
    second = _rate(lambda at: _rate(place, at), t)
    np.testing.assert_allclose(point_acceleration(2.0 * a[2], w, dw, r, relative, gaining), second, atol=1e-5)


@given(seed=st.integers(0, 10**6))
def test_a_body_that_turns_in_a_turning_frame(seed: int) -> None:
    """Craig (6.13)-(6.15)."""
    outer, inner = np.random.default_rng(seed).uniform(-2.0, 2.0, (2, 3))

    def rotation(t: float) -> Array:
        return _turned(outer, t) @ _turned(inner, t)

    t = 0.4
    frame = _turned(outer, t)
    w, relative = _spin(lambda at: _turned(outer, at), t), frame @ _spin(lambda at: _turned(inner, at), t)
    dw = _rate(lambda at: _spin(lambda x: _turned(outer, x), at), t)
    gaining = frame @ _rate(lambda at: _spin(lambda x: _turned(inner, x), at), t)
    np.testing.assert_allclose(w + relative, _spin(rotation, t), atol=1e-8)
    found = angular_acceleration(w, dw, relative, gaining)
    np.testing.assert_allclose(found, _rate(lambda at: _spin(rotation, at), t), atol=1e-5)


def test_a_tumbling_body_keeps_momentum_and_energy() -> None:
    """Tsai (9.36), (9.43)-(9.47): without a moment the momentum stays where it points, and 9.48 is exercise 6."""
    principal = np.array([0.3, 0.5, 0.7])
    inertia, start = np.diag(principal), np.array([0.1, 3.0, 0.05])  # about the middle axis: it turns over

    def rates(t: float, y: Array) -> Array:
        w = y[:3]
        dw = np.linalg.solve(inertia, -euler_moment(inertia, w, np.zeros(3)))
        turn = Rotation.from_quat(y[3:])
        half = 0.5 * np.array([*w, 0.0])
        # dq/dt of a quaternion x y z w whose body turns at w in its own axes
        x, y_, z, s = turn.as_quat()
        product = np.array([[s, -z, y_, x], [z, s, -x, y_], [-y_, x, s, z], [-x, -y_, -z, s]])
        return np.concatenate([dw, product @ half])

    run = solve_ivp(rates, (0.0, 10.0), np.concatenate([start, [0, 0, 0, 1]]), rtol=1e-11, atol=1e-12)
    assert run.y[1].min() < -2.9  # it did turn over
    turns = Rotation.from_quat(run.y[3:].T)
    zero = np.zeros(3)
    momenta = [
        turn.apply(angular_momentum(1.0, inertia, zero, zero, w)) for turn, w in zip(turns, run.y[:3].T, strict=True)
    ]
    np.testing.assert_allclose(momenta, np.broadcast_to(momenta[0], (len(momenta), 3)), atol=1e-7)
    energy = [kinetic_energy(1.0, inertia, zero, w) for w in run.y[:3].T]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    x, y, z = start
    i, j, k = principal
    expected = [-y * z * (j - k), -z * x * (k - i), -x * y * (i - j)]  # Tsai (9.48) at rest
    np.testing.assert_allclose(euler_moment(inertia, start, zero), expected, rtol=1e-14)


def _bodies(model: RobotModel, q: Array, qd: Array) -> list[tuple[float, Array, Array, Array, Array]]:
    """Mass, inertia, centre, its velocity and the angular velocity of each moving body, in the base frame."""
    tree = LinkTree.of(model)
    rotations, p = tree.base_placements(q)
    z, rates = joint_axes(tree, rotations), tree.couplings @ qd
    bodies = []
    for i, link in enumerate(tree.links):
        center = p[i] + rotations[i] @ link.com
        w, v = np.zeros(3), np.zeros(3)
        for j in tree.path(i):
            if tree.links[j].prismatic:
                v = v + rates[j] * z[j]
            else:
                w, v = w + rates[j] * z[j], v + rates[j] * np.cross(z[j], center - p[j])
        bodies.append((link.mass, rotations[i] @ link.inertia @ rotations[i].T, center, v, w))
    return bodies


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("robot", robot_names())
def test_a_robot_is_its_bodies(robot: str) -> None:
    """The sum of Tsai (9.34) is the kinetic energy; that of (9.18) and (9.22) changes by what the base gives, (9.36).

    Without the momentum of rotors, which a robot whose dynamics file is left out does not have.
    """
    model = RobotModel.from_urdf_file(robot_urdf(robot), gravity=[0.0, 0.0, 0.0])
    q, qd, qdd = (rows[0] for rows in arms.states(3, model.n, 1))
    energy = sum(kinetic_energy(m, i, v, w) for m, i, _, v, w in _bodies(model, q, qd))
    assert energy == pytest.approx(float(model.kinetic_energy(q, qd)), rel=1e-12)

    def momenta(t: float) -> Array:
        bodies = _bodies(model, q + qd * t + 0.5 * qdd * t * t, qd + qdd * t)
        linear = sum(linear_momentum(m, v) for m, _, _, v, _ in bodies)
        angular = sum(angular_momentum(m, i, c, v, w) for m, i, c, v, w in bodies)
        return np.concatenate([linear, angular])

    f, n = joint_reactions(model, q, qd, qdd)
    tree = LinkTree.of(model)
    rotations, p = tree.base_placements(q)
    given_force, given_moment = np.zeros(3), np.zeros(3)
    for i, link in enumerate(tree.links):
        if link.parent == BASE:
            force = rotations[i] @ f[i]
            given_force = given_force + force
            given_moment = given_moment + rotations[i] @ n[i] + np.cross(p[i], force)
    np.testing.assert_allclose(_rate(momenta, 0.0), np.concatenate([given_force, given_moment]), rtol=1e-7, atol=1e-7)


def test_force_of_a_mass() -> None:
    """Tsai (9.37)-(9.38)."""
    assert_close(newton_force(2.0, np.array([0.5, -1.0, 3.0])), np.array([1.0, -2.0, 6.0]), 1e-15)
