"""Constrained motion: closed forms, the whole linear system, energy, and what dependent constraints do not tell."""

import numpy as np
import pytest
from hypothesis import given
from scipy.integrate import solve_ivp

from oracles import lavalle_closed_chain
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations.constraints import (
    Constraints,
    consistent_velocity,
    constrained_forward_dynamics,
    constrained_inverse_dynamics,
    driven_motion,
    run_constrained,
)
from robot_dynamics_ros.resources import robot_urdf
from support import arms
from support.comparing import assert_close

Array = arms.Array


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf_file(robot_urdf("panda"))


def particle(mass: float, gravity: list[float], *, turning: bool = False) -> RobotModel:
    """A point that slides along x, y, z of the base; or along x and y, and turns about z."""
    last = arms.Joint("c", "continuous" if turning else "prismatic", "b", "c", axis=(0, 0, 1))
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("a"), arms.Link("b"), arms.Link("c", mass, (0, 0, 0), np.eye(3) * 0.3)),
        (
            arms.Joint("a", "prismatic", "base", "a", axis=(1, 0, 0)),
            arms.Joint("b", "prismatic", "a", "b", axis=(0, 1, 0)),
            last,
        ),
    )
    with pytest.warns(match="no mass of their own"):
        return RobotModel.from_urdf(arm.urdf, gravity=gravity)


def sphere(q: Array, qd: Array) -> Constraints:
    """The unit sphere: LaValle (13.175), (13.176)."""
    return Constraints(2 * q[None], np.array([2 * qd @ qd]), np.array([q @ q - 1]))


def circle(q: Array, qd: Array) -> Constraints:
    """The unit circle in the x-z plane."""
    ball = sphere(q * [1, 0, 1], qd * [1, 0, 1])
    return Constraints(np.vstack([ball.jacobian, [0, 1, 0]]), np.append(ball.drift, 0.0), np.append(ball.error, q[1]))


def still(t: float, q: Array, qd: Array) -> Array:
    return np.zeros(3)


def test_particle_on_a_sphere() -> None:
    """LaValle example 13.14: a great circle at constant speed."""
    model = particle(2.0, [0, 0, 0])
    q, qd = np.array([0.6, 0.0, 0.8]), np.array([-0.8, 1.5, 0.6])
    run = run_constrained(model, sphere, q, qd, still, 1.0, 0.01)
    assert_close(run.q, lavalle_closed_chain.sphere_motion(q, qd, run.times), 1e-8)
    assert_close(run.multipliers[:, 0], np.full(101, lavalle_closed_chain.sphere_multiplier(2.0, qd)), 1e-8)
    assert run.error.max() < 1e-14 < run.drift.max() < 1e-8


def test_knife_edge_on_an_incline() -> None:
    """Constraints on rates alone: the blade drifts across the slope and never down it."""
    slope, rate = 0.4, 2.0
    model = particle(1.3, [9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)], turning=True)

    def blade(q: Array, qd: Array) -> Constraints:
        s, c = np.sin(q[2]), np.cos(q[2])
        return Constraints(np.array([[s, -c, 0.0]]), np.array([qd[2] * (c * qd[0] + s * qd[1])]), np.zeros(1))

    run = run_constrained(model, blade, np.zeros(3), [0, 0, rate], still, 2.0, 0.01)
    assert_close(run.q[:, :2], lavalle_closed_chain.knife_edge(slope, rate, 9.81, run.times), 1e-8)
    assert_close(run.q[:, 2], rate * run.times, 1e-12)


def case(model: RobotModel, seed: int, k: int) -> tuple[Array, Array, Array, Constraints]:
    """Random position, velocity that k random constraints let through, torque, and the constraints."""
    rng = np.random.default_rng(seed)
    q, qd, tau = (x[0] for x in arms.states(seed, model.n, 1))
    g = rng.standard_normal((k, model.n))
    qd = qd - np.linalg.pinv(g) @ (g @ qd)
    return q, qd, tau, Constraints(g, rng.standard_normal(k), 0.01 * rng.standard_normal(k))


@given(arm=arms.trees())
def test_the_whole_system_is_solved(arm: arms.Arm) -> None:
    """[M -G^T; G 0] [qdd; lambda] as one, with Baumgarte's terms; LaValle (13.180) where G is complete."""
    model = RobotModel.from_urdf(arm.urdf)
    k = 1 + arm.seed % model.n
    q, qd, tau, c = case(model, arm.seed, k)
    got = constrained_forward_dynamics(model, q, qd + 0.1, tau, c, stabilisation=3.0)
    whole = np.block([[model.mass_matrix(q), -c.jacobian.T], [c.jacobian, np.zeros((k, k))]])
    right = np.append(tau - model.bias_torque(q, qd + 0.1), -c.drift - 6.0 * c.jacobian @ (qd + 0.1) - 9.0 * c.error)
    solution = np.append(got.qdd, got.multipliers)
    size = np.abs(whole) @ np.abs(solution) + np.abs(right)
    assert np.all(np.abs(whole @ solution - right) <= 1e-9 * size.max())
    assert got.rank == k and np.abs(got.unmet).max() <= 1e-9 * size.max()


def test_dependent_constraints_share(model: RobotModel) -> None:
    """Said three times, a constraint moves nothing otherwise, and each has a third of the force."""
    q, qd, tau, c = case(model, 5, 2)
    once = constrained_forward_dynamics(model, q, qd, tau, c)
    rows = [0, 0, 0, 1]
    more = constrained_forward_dynamics(model, q, qd, tau, Constraints(c.jacobian[rows], c.drift[rows], c.error[rows]))
    assert more.rank == 2
    assert_close(more.qdd, once.qdd, 1e-10)
    assert_close(more.multipliers, once.multipliers[rows] / [3, 3, 3, 1], 1e-10)
    against = Constraints(c.jacobian[[0, 0]], np.array([1.0, 2.0]), np.zeros(2))
    assert_close(constrained_forward_dynamics(model, q, qd, tau, against).unmet, [0.5, -0.5], 1e-10)


def test_inverse_dynamics_inverts_forward_dynamics(model: RobotModel) -> None:
    """The last joints are driven, as many as there are freedoms."""
    k = 2
    q, qd, tau, c = case(model, 8, k)
    tau[:k] = 0.0
    forward = constrained_forward_dynamics(model, q, qd, tau, c)
    driven = model.joint_names[k:]
    got, multipliers = constrained_inverse_dynamics(model, q, qd, forward.qdd, c, driven)
    scale = float(np.abs(c.jacobian.T * forward.multipliers).max())
    assert_close(got, tau[k:], 1e-10, scale)
    assert_close(multipliers, forward.multipliers, 1e-10, scale)
    # One drive more than freedoms: among all torques of this motion the least.
    more, _ = constrained_inverse_dynamics(model, q, qd, forward.qdd, c, model.joint_names[k - 1 :])
    assert np.linalg.norm(more) < np.linalg.norm(got)
    again = constrained_forward_dynamics(model, q, qd, np.append(np.zeros(k - 1), more), c)
    assert_close(again.qdd, forward.qdd, 1e-9)


def test_an_impact_takes_the_least_energy(model: RobotModel) -> None:
    """What it stops is orthogonal, by kinetic energy, to what goes on: Carnot's theorem."""
    q, _, qd, c = case(model, 3, 2)
    after = consistent_velocity(model, q, qd, c)
    assert_close(c.jacobian @ after, np.zeros(2), 1e-12)
    lost = model.kinetic_energy(q, qd) - model.kinetic_energy(q, after)
    assert lost == pytest.approx(model.kinetic_energy(q, qd - after), rel=1e-10)


def test_errors_die_out_as_baumgarte_says() -> None:
    """A bead 1 mm off its circle: the error of phi is (1 + a t) exp(-a t) times the first; without, it stays."""
    model = particle(0.7, [0, 0, -9.81])

    def rates(t: float, state: Array, a: float) -> Array:
        c = circle(state[:3], state[3:])
        answer = constrained_forward_dynamics(model, state[:3], state[3:], np.zeros(3), c, stabilisation=a)
        return np.append(state[3:], answer.qdd)

    start = np.array([1.001, 0, 0, 0, 0, 0])
    for a in (0.0, 20.0):
        end = solve_ivp(rates, (0, 0.2), start, args=(a,), rtol=1e-10, atol=1e-12).y[:, -1]
        expected = (1 + a * 0.2) * np.exp(-a * 0.2) * (1.001**2 - 1)
        assert end[:3] @ end[:3] - 1 == pytest.approx(expected, abs=1e-9)


def test_bad_requests_name_the_culprit(model: RobotModel) -> None:
    q, qd, tau, c = case(model, 8, 2)
    names = model.joint_names
    qdd = constrained_forward_dynamics(model, q, qd, tau, c).qdd
    for rates, rates_of_rates, driven, culprit in (
        (qd, qdd, ["elbow"], "elbow"),
        (qd, qdd, [names[0], names[0]], "twice"),
        (qd, qdd, names[3:], f"{model.n - 2} degrees of freedom"),
        (qd, qdd + 1.0, names[2:], r"acceleration .*\[0, 1\]"),
        (qd + 1.0, qdd, names[2:], "velocity"),
    ):
        with pytest.raises(RobotDynamicsError, match=culprit):
            constrained_inverse_dynamics(model, q, rates, rates_of_rates, c, driven)
    with pytest.raises(RobotDynamicsError, match="determine"):
        driven_motion(model, lambda q, qd: c, q, names[3:], qd[3:], qdd[3:])
