"""Equations of one rigid body: derivatives of motions, invariants of a tumbling body, and whole robots."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from oracles import craig_planar_2r, tsai_planar_2r
from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.dynamics.model.link_tree import LinkTree
from robot_dynamics_ros.textbooks import newton_euler_equations
from robot_dynamics_ros.textbooks.lagrange import link_jacobians
from robot_dynamics_ros.textbooks.propagation import velocity_jacobian
from robot_dynamics_ros.textbooks.shared_terms import with_end_effector
from support import arms
from support.arms import Array
from support.comparing import assert_close
from support.worked_arms import load


def _turned(axis_rates: Array, t: float) -> Array:
    """Return the rotation of a frame that rotates at constant rates about z, then x, then y."""
    turns = [
        Rotation.from_rotvec(rate * t * np.eye(3)[k])
        for k, rate in zip((2, 0, 1), axis_rates, strict=True)
    ]
    return np.asarray((turns[0] * turns[1] * turns[2]).as_matrix())


def _rate(of: Callable[[float], Array], t: float) -> Array:
    """Return the derivative by central differences of fourth order."""
    h = 1e-4
    return (8.0 * (of(t + h) - of(t - h)) - (of(t + 2 * h) - of(t - 2 * h))) / (
        12.0 * h
    )


def _spin(rotation: Callable[[float], Array], t: float) -> Array:
    """Return the angular velocity from S(w) = dR/dt R^T, Spong (9.42)."""
    s = _rate(rotation, t) @ rotation(t).T
    return np.array([s[2, 1] - s[1, 2], s[0, 2] - s[2, 0], s[1, 0] - s[0, 1]]) / 2.0


@given(seed=st.integers(0, 10**6))
def test_a_point_of_a_moving_frame(seed: int) -> None:
    """Craig (6.10): a point that moves along a curve in a tumbling frame, whose origin moves along another."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(-2.0, 2.0, 3)
    a = rng.uniform(-1.0, 1.0, (3, 3))
    b = rng.uniform(-1.0, 1.0, (3, 3))

    def rotation(t: float) -> Array:
        return _turned(rates, t)

    def curve(c: Array, t: float) -> Array:
        return np.asarray(c[0] + c[1] * t + c[2] * t * t)

    def place(t: float) -> Array:
        return curve(a, t) + rotation(t) @ curve(b, t)

    t = 0.3
    spin = partial(_spin, rotation)
    r, relative, gaining = (
        rotation(t) @ x for x in (curve(b, t), b[1] + 2.0 * b[2] * t, 2.0 * b[2])
    )
    w = spin(t)
    dw = _rate(spin, t)
    np.testing.assert_allclose(
        newton_euler_equations.point_velocity(a[1] + 2.0 * a[2] * t, w, r, relative),
        _rate(place, t),
        atol=1e-9,
    )
    second = _rate(lambda at: _rate(place, at), t)
    np.testing.assert_allclose(
        newton_euler_equations.point_acceleration(
            2.0 * a[2], w, dw, r, relative, gaining
        ),
        second,
        atol=1e-5,
    )


@given(seed=st.integers(0, 10**6))
def test_a_body_that_turns_in_a_turning_frame(seed: int) -> None:
    """Craig (6.13)-(6.15)."""
    outer, inner = np.random.default_rng(seed).uniform(-2.0, 2.0, (2, 3))

    t = 0.4
    frame = _turned(outer, 0.4)
    first, second = (
        partial(_spin, partial(_turned, rates)) for rates in (outer, inner)
    )
    both = partial(_spin, lambda at: _turned(outer, at) @ _turned(inner, at))
    np.testing.assert_allclose(first(t) + frame @ second(t), both(t), atol=1e-8)
    result = newton_euler_equations.angular_acceleration(
        first(t), _rate(first, t), frame @ second(t), frame @ _rate(second, t)
    )
    np.testing.assert_allclose(result, _rate(both, t), atol=1e-5)


def test_moment_on_a_tumbling_body() -> None:
    """Tsai (9.36), (9.43)-(9.47): the rate of the angular momentum; (9.48), exercise 6, in principal axes."""
    rates = np.array([1.3, -0.7, 2.1])
    inertia = np.diag([0.3, 0.5, 0.7])
    zero = np.zeros(3)
    t = 0.3
    rotation = partial(_turned, rates)
    spin = partial(_spin, rotation)

    def momentum(t: float) -> Array:
        in_base = rotation(t) @ inertia @ rotation(t).T
        return newton_euler_equations.angular_momentum(
            1.0, in_base, np.ones(3), zero, spin(t)
        )

    w = rotation(t).T @ spin(t)
    dw = rotation(t).T @ _rate(spin, t)
    np.testing.assert_allclose(
        rotation(t) @ newton_euler_equations.euler_moment(inertia, w, dw),
        _rate(momentum, t),
        atol=1e-5,
    )
    (x, y, z) = w
    (i, j, k) = np.diag(inertia)
    expected = [-y * z * (j - k), -z * x * (k - i), -x * y * (i - j)]
    np.testing.assert_allclose(
        newton_euler_equations.euler_moment(inertia, w, zero), expected, rtol=1e-14
    )


def _bodies(
    model: RobotModel, q: Array, qd: Array
) -> list[tuple[float, Array, Array, Array, Array]]:
    """Return mass, inertia, centre, its velocity and the angular velocity of each body, in the base frame."""
    tree = LinkTree.of(model)
    parts = zip(
        tree.links,
        *tree.base_placements(q),
        *(j @ qd for j in link_jacobians(tree, q)),
        strict=True,
    )
    return [
        (link.mass, r @ link.inertia @ r.T, p + r @ link.com, v, w)
        for link, r, p, v, w in parts
    ]


@pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")
@pytest.mark.parametrize("robot", ["scara", "puma560"])
def test_a_robot_is_its_bodies(robot: str) -> None:
    """The sum of Tsai (9.34) is the kinetic energy; that of (9.18), (9.22) changes by the base reaction, (9.36)."""
    model = RobotModel.from_urdf_file(robot_urdf(robot), gravity=[0.0, 0.0, 0.0])
    q, qd, qdd = (rows[0] for rows in arms.states(3, model.n, 1))
    energy = sum(
        newton_euler_equations.kinetic_energy(m, i, v, w)
        for m, i, _, v, w in _bodies(model, q, qd)
    )
    assert energy == pytest.approx(float(model.kinetic_energy(q, qd)), rel=1e-12)

    def momenta(t: float) -> Array:
        bodies = _bodies(model, q + qd * t + 0.5 * qdd * t * t, qd + qdd * t)
        linear = sum(
            newton_euler_equations.linear_momentum(m, v) for m, _, _, v, _ in bodies
        )
        angular = sum(
            newton_euler_equations.angular_momentum(m, i, c, v, w)
            for m, i, c, v, w in bodies
        )
        return np.concatenate([linear, angular])

    f, n = newton_euler_equations.joint_reactions(model, q, qd, qdd)
    (r, *_), (p, *_) = LinkTree.of(model).base_placements(q)
    given_by_base = np.concatenate([r @ f[0], r @ n[0] + np.cross(p, r @ f[0])])
    np.testing.assert_allclose(_rate(momenta, 0.0), given_by_base, rtol=1e-7, atol=1e-7)


STATE = ([0.4, 0.9], [1.0, -2.0], [0.5, 1.5])


def test_trace_of_tsais_example() -> None:
    """Tsai 9.7.1: his dv_i is that of the end of link i in its axes, without gravity; f* = -F and n* = -N."""
    p = tsai_planar_2r.Parameters(0.5, 0.4, 3.0, 2.0)
    model = load(arms.tsai_planar_2r(p), (0.0, 0.0, 0.0))
    tree = with_end_effector(model, "tool")
    trace = newton_euler_equations.newton_euler_trace(tree, *STATE)
    turn, _ = tree.links[1].placed(STATE[0][1])
    np.testing.assert_allclose(turn @ trace.dv[1], [-0.5, 0.25, 0.0], atol=1e-15)
    np.testing.assert_allclose(trace.dv[2], [-0.514973, 1.347066, 0.0], atol=5e-7)
    np.testing.assert_allclose(trace.dv_c[1], [-0.314973, 0.947066, 0.0], atol=5e-7)
    np.testing.assert_allclose(-trace.F[1], [0.629947, -1.894132, 0.0], atol=5e-7)
    np.testing.assert_allclose(-trace.N[1], [0.0, 0.0, -0.053333], atol=5e-7)
    np.testing.assert_allclose(trace.w[:, 2], [1.0, -1.0, -1.0])
    np.testing.assert_allclose(trace.dw[:, 2], [0.5, 2.0, 2.0])
    # (9.55): v_1 = (0, a1 w1, 0), v_2 = (s2 v_1, c2 v_1 + a2 w2, 0); (9.60) with g along -y0
    np.testing.assert_allclose(turn @ trace.v[1], [0.0, 0.5, 0.0], atol=1e-15)
    np.testing.assert_allclose(trace.v[2], [0.391663, -0.089195, 0.0], atol=5e-7)
    heavy = newton_euler_equations.newton_euler_trace(
        load(arms.tsai_planar_2r(p), (0.0, -9.81, 0.0)), *STATE
    )
    s = np.sin([0.4, 1.3])
    c = np.cos([0.4, 1.3])
    np.testing.assert_allclose(heavy.g, np.transpose([-9.81 * s, -9.81 * c, [0, 0]]))


def test_trace_of_craigs_example() -> None:
    """Craig (6.54), (6.55), and (6.51), (6.52) with a force at the end effector: tau changes by J^T F, (5.96)."""
    p = craig_planar_2r.Parameters(0.5, 0.4, 4.0, 3.0)
    model = load(arms.craig_planar_2r(p), (0.0, -9.81, 0.0))
    trace = newton_euler_equations.newton_euler_trace(model, *STATE)
    np.testing.assert_allclose(
        trace.dv, [[3.820194, 9.035608, 0.0], [9.337533, 3.171229, 0.0]], atol=5e-7
    )
    np.testing.assert_allclose(
        trace.dv_c, [[3.320194, 9.285608, 0.0], [8.937533, 3.971229, 0.0]], atol=5e-7
    )
    np.testing.assert_allclose(trace.F[0], [13.280776, 37.142434, 0.0], atol=5e-7)
    force = np.array([1.0, -2.0, 0.5, 0.3, -0.1, 0.7])
    tree = with_end_effector(model, "tool")
    loads = np.vstack([np.zeros((2, 6)), force])
    loaded = newton_euler_equations.newton_euler_trace(tree, *STATE, loads)
    np.testing.assert_allclose(np.append(loaded.f[2], loaded.n[2]), force)
    added = velocity_jacobian(model, STATE[0], "tool").T @ force
    np.testing.assert_allclose(loaded.tau, trace.tau + added, rtol=1e-13)


def test_force_of_a_mass() -> None:
    """Tsai (9.37)-(9.38)."""
    assert_close(
        newton_euler_equations.newton_force(2.0, np.array([0.5, -1.0, 3.0])),
        np.array([1.0, -2.0, 6.0]),
        1e-15,
    )


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ([0, 1, 0], [1, -3, 2]),  # x of the link, -z, y
        ([1, 0, 0], [2, 3, 1]),  # y, z, x
        ([0.6, 0.8, 0], [3, -0.4, 2.2]),  # z, across, along
    ],
    ids=["y", "x", "oblique"],
)
def test_frame_of_a_joint_that_is_not_along_z(
    axis: list[float], expected: list[float]
) -> None:
    """The trace has z on the joint, joint_reactions the axes of the URDF's link."""
    gravity = np.array([1.0, 2.0, 3.0])
    at_rest = np.zeros((3, 1))
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("link", 1.0, (0.1, 0.2, 0.3))),
        (arms.Joint("joint", "revolute", "base", "link", axis=axis),),
    )
    model = RobotModel.from_urdf(arm.urdf, gravity=gravity)
    assert_close(
        newton_euler_equations.newton_euler_trace(model, *at_rest).g[0], expected, 1e-15
    )
    assert_close(model.joint_reactions(*at_rest)[0, :3], -gravity, 1e-15)
