"""Constrained motion and closed chains: closed forms, the complete linear system, closure, energy and forces."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from scipy.integrate import solve_ivp

from oracles import lavalle_closed_chain, spong_five_bar
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.base.resources import robot_urdf
from robot_dynamics_ros.dynamics.description.dynamics_file import Loop
from robot_dynamics_ros.dynamics.model.loops import (
    Constraints,
    close_loops,
    loop_constraints,
    loop_forces,
)
from robot_dynamics_ros.textbooks.constraints import (
    consistent_velocity,
    constrained_forward_dynamics,
    constrained_inverse_dynamics,
    driven_motion,
    loops_of,
    run_constrained,
)
from support import arms, robots_with_drives, worked_arms
from support.comparing import assert_close
from support.mechanisms import FIVE_BAR_COUPLINGS, GROUND, ROWS, assembled, four_bar

Array = arms.Array


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf_file(robot_urdf("panda"))


def particle(mass: float, gravity: list[float], *, turning: bool = False) -> RobotModel:
    """Return a point that translates along x, y, z of the base; or along x and y, and rotates about z."""
    last = arms.Joint(
        "c", "continuous" if turning else "prismatic", "b", "c", axis=(0, 0, 1)
    )
    arm = arms.Arm(
        (
            arms.Link("base"),
            arms.Link("a"),
            arms.Link("b"),
            arms.Link("c", mass, (0, 0, 0), np.eye(3) * 0.3),
        ),
        (
            arms.Joint("a", "prismatic", "base", "a", axis=(1, 0, 0)),
            arms.Joint("b", "prismatic", "a", "b", axis=(0, 1, 0)),
            last,
        ),
    )
    with pytest.warns(match="no mass of their own"):
        return RobotModel.from_urdf(arm.urdf, gravity=gravity)


def sphere(q: Array, qd: Array) -> Constraints:
    """Return the constraint of the unit sphere: LaValle (13.175), (13.176)."""
    return Constraints(2 * q[None], np.array([2 * qd @ qd]), np.array([q @ q - 1]))


def circle(q: Array, qd: Array) -> Constraints:
    """Return the constraint of the unit circle in the x-z plane."""
    ball = sphere(q * [1, 0, 1], qd * [1, 0, 1])
    return Constraints(
        np.vstack([ball.jacobian, [0, 1, 0]]),
        np.append(ball.drift, 0.0),
        np.append(ball.error, q[1]),
    )


def still(t: float, q: Array, qd: Array) -> Array:
    return np.zeros_like(q)


def test_particle_on_a_sphere() -> None:
    """LaValle example 13.14: a great circle at constant speed."""
    model = particle(1.5, [0, 0, 0])
    q = np.array([0.6, 0.0, 0.8])
    qd = np.array([-0.8, 1.5, 0.6])
    run = run_constrained(model, sphere, q, qd, still, 1.0, 0.01)
    assert_close(run.q, lavalle_closed_chain.sphere_motion(q, qd, run.times), 1e-8)
    assert_close(
        run.multipliers[:, 0],
        np.full(101, lavalle_closed_chain.sphere_multiplier(1.5, qd)),
        1e-8,
    )
    assert_close(run.q @ np.cross(q, qd), np.zeros(101), 1e-8)  # the plane (13.178)
    assert run.error.max() < 1e-14 < run.drift.max() < 1e-8


def test_knife_edge_on_an_incline() -> None:
    """Constraints on velocities only: the blade drifts across the slope and never down it."""
    slope = 0.4
    rate = 2.0
    model = particle(
        1.3, [9.81 * np.sin(slope), 0.0, -9.81 * np.cos(slope)], turning=True
    )

    def blade(q: Array, qd: Array) -> Constraints:
        s = np.sin(q[2])
        c = np.cos(q[2])
        return Constraints(
            np.array([[s, -c, 0.0]]),
            np.array([qd[2] * (c * qd[0] + s * qd[1])]),
            np.zeros(1),
        )

    run = run_constrained(model, blade, np.zeros(3), [0, 0, rate], still, 2.0, 0.01)
    assert_close(run.times, np.linspace(0.0, 2.0, 201), 1e-14)
    assert_close(
        run.q[:, :2],
        lavalle_closed_chain.knife_edge(slope, rate, 9.81, run.times),
        1e-8,
    )
    assert_close(run.q[:, 2], rate * run.times, 1e-12)


def case(
    model: RobotModel, seed: int, k: int
) -> tuple[Array, Array, Array, Constraints]:
    """Return a random position, a velocity consistent with k random constraints, a torque, and the constraints."""
    rng = np.random.default_rng(seed)
    q, qd, tau = (x[0] for x in arms.states(seed, model.n, 1))
    g = rng.standard_normal((k, model.n))
    qd = qd - np.linalg.pinv(g) @ (g @ qd)
    return (
        q,
        qd,
        tau,
        Constraints(g, rng.standard_normal(k), 0.01 * rng.standard_normal(k)),
    )


@given(arm=arms.trees())
def test_the_whole_system_is_solved(arm: arms.Arm) -> None:
    """[M -G^T; G 0] [qdd; lambda], with Baumgarte's terms; LaValle (13.180) for G of full rank."""
    model = RobotModel.from_urdf(arm.urdf)
    k = 1 + arm.seed % model.n
    q, qd, tau, c = case(model, arm.seed, k)
    got = constrained_forward_dynamics(model, q, qd + 0.1, tau, c, stabilisation=3.0)
    whole = np.block(
        [[model.mass_matrix(q), -c.jacobian.T], [c.jacobian, np.zeros((k, k))]]
    )
    right = np.append(
        tau - model.bias_torque(q, qd + 0.1),
        -c.drift - 6.0 * c.jacobian @ (qd + 0.1) - 9.0 * c.error,
    )
    solution = np.append(got.qdd, got.multipliers)
    size = np.abs(whole) @ np.abs(solution) + np.abs(right)
    assert np.all(np.abs(whole @ solution - right) <= 1e-9 * size.max())
    assert got.rank == k and np.abs(got.unmet).max() <= 1e-9 * size.max()


def test_dependent_constraints_share(model: RobotModel) -> None:
    """A constraint repeated three times does not change the motion, and each copy has a third of the force."""
    q, qd, tau, c = case(model, 5, 2)
    once = constrained_forward_dynamics(model, q, qd, tau, c)
    rows = [0, 0, 0, 1]
    more = constrained_forward_dynamics(
        model, q, qd, tau, Constraints(c.jacobian[rows], c.drift[rows], c.error[rows])
    )
    assert more.rank == 2
    assert_close(more.qdd, once.qdd, 1e-10)
    assert_close(more.multipliers, once.multipliers[rows] / [3, 3, 3, 1], 1e-10)
    against = Constraints(c.jacobian[[0, 0]], np.array([1.0, 2.0]), np.zeros(2))
    assert_close(
        constrained_forward_dynamics(model, q, qd, tau, against).unmet,
        [0.5, -0.5],
        1e-10,
    )


def test_inverse_dynamics_inverts_forward_dynamics(model: RobotModel) -> None:
    """The last joints are driven, as many as there are degrees of freedom."""
    k = 2
    q, qd, tau, c = case(model, 8, k)
    tau[:k] = 0.0
    # N, N m on the last link
    wrenches = {model.link_names[-1]: [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]}
    forward = constrained_forward_dynamics(
        model, q, qd, tau, c, external_wrenches=wrenches
    )
    assert not np.allclose(
        forward.qdd, constrained_forward_dynamics(model, q, qd, tau, c).qdd, atol=1e-3
    )
    driven = model.joint_names[k:]
    got, multipliers = constrained_inverse_dynamics(
        model, q, qd, forward.qdd, c, driven, wrenches
    )
    scale = float(np.abs(c.jacobian.T * forward.multipliers).max())
    assert_close(got, tau[k:], 1e-10, scale)
    assert_close(multipliers, forward.multipliers, 1e-10, scale)
    # One drive more than freedoms: among all torques of this motion the least.
    more, _ = constrained_inverse_dynamics(
        model, q, qd, forward.qdd, c, model.joint_names[k - 1 :], wrenches
    )
    assert np.linalg.norm(more) < np.linalg.norm(got)
    again = constrained_forward_dynamics(
        model, q, qd, np.append(np.zeros(k - 1), more), c, external_wrenches=wrenches
    )
    assert_close(again.qdd, forward.qdd, 1e-9)


def test_an_impact_takes_the_least_energy(model: RobotModel) -> None:
    """The change of velocity is orthogonal, in kinetic energy, to the remaining velocity: Carnot's theorem."""
    q, _, qd, c = case(model, 3, 2)
    after = consistent_velocity(model, q, qd, c)
    assert_close(c.jacobian @ after, np.zeros(2), 1e-12)
    lost = model.kinetic_energy(q, qd) - model.kinetic_energy(q, after)
    assert lost == pytest.approx(model.kinetic_energy(q, qd - after), rel=1e-10)


def test_errors_decay_as_by_baumgarte() -> None:
    """A bead 1 mm off its circle: phi decays as (1 + a t) exp(-a t); with a = 0 it is constant."""
    model = particle(0.7, [0, 0, -9.81])

    def rates(t: float, state: Array, a: float) -> Array:
        c = circle(state[:3], state[3:])
        answer = constrained_forward_dynamics(
            model, state[:3], state[3:], np.zeros(3), c, stabilisation=a
        )
        return np.append(state[3:], answer.qdd)

    start = np.array([1.001, 0, 0, 0, 0, 0])
    for a in (0.0, 20.0):
        end = solve_ivp(rates, (0, 0.2), start, args=(a,), rtol=1e-10, atol=1e-12).y[
            :, -1
        ]
        expected = (1 + a * 0.2) * np.exp(-a * 0.2) * (1.001**2 - 1)
        assert end[:3] @ end[:3] - 1 == pytest.approx(expected, abs=1e-9)


def test_a_right_side_is_followed() -> None:
    """LaValle (13.165), x' = f(x, u) = u x with u = 0.5: x grows as exp(u t), the drive pushes with m x''."""
    model = particle(2.0, [0, 0, 0])
    u = 0.5

    def driven(q: Array, qd: Array) -> Constraints:
        return Constraints(
            np.array([[1.0, 0, 0]]),
            np.array([-u * qd[0]]),
            np.zeros(1),
            np.array([u * q[0]]),
        )

    start = np.array([0.4, 0.0, 0.0])
    run = run_constrained(model, driven, start, [0.2, 1.0, 0.0], still, 1.0, 0.01)
    assert_close(run.q[-1], [0.4 * np.exp(0.5), 1.0, 0.0], 1e-8)
    assert_close(run.multipliers[:, 0], 2.0 * u**2 * run.q[:, 0], 1e-8)
    with pytest.raises(RobotDynamicsError, match=r"initial velocity .*\[-0\.2"):
        run_constrained(model, driven, start, np.zeros(3), still, 1.0)
    assert_close(
        consistent_velocity(model, start, [0.0, 1.0, 0.0], driven(start, start)),
        [0.2, 1.0, 0.0],
        1e-14,
    )
    qd, qdd = driven_motion(model, driven, start, ["b", "c"], [1.0, 0.0], [0.0, 0.0])
    assert_close([qd, qdd], [[0.2, 1.0, 0.0], [0.1, 0.0, 0.0]], 1e-14)
    tau, forces = constrained_inverse_dynamics(
        model, start, qd, qdd, driven(start, qd), ["b", "c"]
    )
    assert_close(np.append(tau, forces), [0.0, 0.0, 0.2], 1e-12)
    too_fast = constrained_forward_dynamics(
        model, start, qd * 2, [0, 0, 0], driven(start, qd * 2), stabilisation=5.0
    )
    assert too_fast.qdd[0] == pytest.approx(u * 0.4 - 2 * 5.0 * 0.2)


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


# --- Closed chains


def with_loop(robot: robots_with_drives.Robot) -> RobotModel:
    """Return the robot's model with a loop between two random links at random points."""
    model = robot.model()
    rng = np.random.default_rng(robot.bare.seed)
    links = model.link_names
    a, b = rng.choice(len(links), 2, replace=False)
    (ax, ay, az), (bx, by, bz) = rng.uniform(-0.5, 0.5, (2, 3)).tolist()
    return with_loops(model, (Loop(links[a], (ax, ay, az), links[b], (bx, by, bz)),))


def with_loops(model: RobotModel, loops: tuple[Loop, ...]) -> RobotModel:
    return replace(model, _data=replace(model._data, loops=loops))


@given(robot=robots_with_drives.robots())
def test_jacobian_and_drift_are_rates_of_the_gap(
    robot: robots_with_drives.Robot,
) -> None:
    """Random loops in random trees with couplings, including the root, compared with differences."""
    model = with_loop(robot)
    q, qd, _ = robots_with_drives.state(robot, model.n)
    speed = robots_with_drives.stride(robot, model.joint_names, qd)
    now = loop_constraints(model, q, qd)
    size = 10.0 * len(model.link_names)
    (loop,) = model.loops
    a, b = (
        model.link_pose(q, link) @ [*point, 1.0]
        for link, point in ((loop.link_a, loop.point_a), (loop.link_b, loop.point_b))
    )
    assert_close(now.error, (b - a)[:3], 1e-12, size)

    def rate(t: float) -> Array:
        return np.asarray(loop_constraints(model, q + qd * t, qd).jacobian @ qd)

    slope = robots_with_drives.slope(
        lambda t: loop_constraints(model, q + qd * t, qd).error, speed
    )
    assert_close(now.jacobian @ qd, slope, 1e-8, size * speed)
    assert_close(
        now.drift, robots_with_drives.slope(rate, speed), 1e-8, size * speed**2
    )


@given(robot=robots_with_drives.robots())
def test_forces_are_wrenches_on_the_links(robot: robots_with_drives.Robot) -> None:
    """The kernels, with the multipliers as wrenches on both links, give the same acceleration of the open tree."""
    model = with_loop(robot)
    (loop,) = model.loops
    q, qd, tau = robots_with_drives.state(robot, model.n)
    constraints = loop_constraints(model, q, qd)
    got = constrained_forward_dynamics(model, q, qd, tau, constraints)
    force = loop_forces(got.multipliers)[0]
    wrenches = {}
    for link, point, applied in (
        (loop.link_a, loop.point_a, -force),
        (loop.link_b, loop.point_b, force),
    ):
        inside = model.link_pose(q, link)[:3, :3].T @ applied
        wrenches[link] = [*inside, *np.cross(point, inside)]
    forces = np.abs(constraints.jacobian.T) @ np.abs(got.multipliers)
    scale = robots_with_drives.size(model, q, qd, got.qdd) + float(forces.max())
    assert_close(model.inverse_dynamics(q, qd, got.qdd, wrenches), tau, 1e-10, scale)


def test_five_bar_as_loop_and_as_coupling() -> None:
    """The same fall with a loop, with a coupling, and by Spong (9.108); the force balances links 3 and 4."""
    p = spong_five_bar.Parameters(
        *np.random.default_rng(0).uniform(0.4, 1.2, 14).tolist()
    )
    arm = worked_arms.five_bar(p)
    gravity = [0.0, -p.g, 0.0]
    coupled = robots_with_drives.load(
        arm, {"gravity": gravity, "couplings": FIVE_BAR_COUPLINGS}
    )
    ends = {
        "link_a": "link4",
        "point_a": [-p.l2, 0.0, 0.0],
        "link_b": "link3",
        "point_b": [p.l1, 0.0, 0.0],
    }
    looped = robots_with_drives.load(arm, {"gravity": gravity, "loops": [ends]})

    def torque(t: float) -> Array:
        return np.array([6.0 + np.sin(3 * t), 4.0 * np.cos(2 * t)])

    assert coupled.joint_names == ("joint1", "joint2")
    order = [
        looped.joint_names.index(name)
        for name in ("joint1", "joint2", "joint3", "joint4")
    ]
    start = np.array([0.4, 1.7])
    rate = np.array([0.5, -0.8])
    q = np.zeros(4)
    qd = np.zeros(4)
    q[order] = ROWS @ start - [0, 0, 0, np.pi]
    qd[order] = ROWS @ rate

    def on_loop(t: float, q: Array, qd: Array) -> Array:
        tau = np.zeros(4)
        tau[order[:2]] = torque(t)
        return tau

    run = run_constrained(looped, loops_of(looped), q, qd, on_loop, 1.0, 0.002)
    for dynamics in (
        lambda t, x, v: coupled.forward_dynamics(x, v, torque(t)),
        lambda t, x, v: np.linalg.solve(
            spong_five_bar.mass_matrix(p, x),
            torque(t)
            - spong_five_bar.velocity_terms(p, x, v)
            - spong_five_bar.gravity(p, x),
        ),
    ):
        expected = solve_ivp(
            lambda t, y, f=dynamics: np.append(y[2:], f(t, y[:2], y[2:])),
            (0, 1),
            np.append(start, rate),
            "DOP853",
            run.times[::50],
            rtol=1e-12,
            atol=1e-13,
        ).y.T
        assert_close(run.q[::50, order[:2]], expected[:, :2], 1e-8)
        assert_close(run.qd[::50, order[:2]], expected[:, 2:], 1e-8, 10.0)
    assert_close(run.q[:, order[2]], run.q[:, order[0]] - run.q[:, order[1]], 1e-10)
    assert run.error.max() <= 1e-10
    forces = loop_forces(run.multipliers)[:, 0]
    for k in range(0, 501, 50):
        two = order[:2]
        exact = lavalle_closed_chain.five_bar_force(
            p, run.q[k, two], run.qd[k, two], run.qdd[k, two]
        )
        assert_close(forces[k], [*exact, 0.0], 1e-9, 100.0)


def test_four_bar_keeps_energy_and_closure() -> None:
    """Two seconds of free motion through a full turn of the crank."""
    model = four_bar()
    q, qd = assembled(model, speed=6.0)
    run = run_constrained(model, loops_of(model), q, qd, still, 2.0, 0.004)
    kinetic = model.kinetic_energy(run.q, run.qd)
    assert np.ptp(kinetic + model.potential_energy(run.q)) <= 2e-6 * np.ptp(kinetic)
    assert run.error.max() <= 1e-12 and run.drift.max() <= 1e-6
    assert abs(run.q[-1, 0] - run.q[0, 0]) > 2 * np.pi
    tip = model.link_pose(run.q, "rocker") @ [0.5, 0, 0, 1]
    ground = [*GROUND, 1]
    assert_close(tip, np.broadcast_to(ground, tip.shape), 1e-12)


def test_a_planar_loop_in_space_has_two_constraints() -> None:
    """The constraint across the plane is redundant; 1.5708 for pi / 2 between two axes does not lock the loop."""
    model = four_bar()
    q, qd = assembled(model, speed=6.0)
    expected = constrained_forward_dynamics(
        model, q, qd, np.zeros(3), loop_constraints(model, q, qd)
    )
    assert expected.rank == 2
    assert_close(expected.multipliers[2], 0.0, 1e-12)
    rounded = four_bar(tilt=1.5708 - np.pi / 2)
    almost = constrained_forward_dynamics(
        rounded, q, qd, np.zeros(3), loop_constraints(rounded, q, qd)
    )
    assert almost.rank == 2
    assert_close(almost.qdd, expected.qdd, 1e-4, 100.0)


def test_the_crank_alone_drives_it() -> None:
    """Rates of closed positions along the crank's motion; power equals the rate of energy; forward dynamics."""
    model = four_bar()
    q, _ = assembled(model)
    rate = 2.0
    acceleration = -3.0
    qd, qdd = driven_motion(
        model, loops_of(model), q, ["crank_joint"], [rate], [acceleration]
    )

    def at(t: float) -> Array:
        guess = q.copy()
        guess[0] += rate * t + acceleration * t * t / 2
        return close_loops(model, guess, held=["crank_joint"], tolerance=1e-14)

    assert_close(qd, robots_with_drives.slope(at), 1e-9, 10.0)
    h = 1e-2
    second = (16 * (at(h) + at(-h)) - at(2 * h) - at(-2 * h) - 30 * q) / (12 * h * h)
    assert_close(qdd, second, 1e-5, 10.0)
    c = loop_constraints(model, q, qd)
    tau, multipliers = constrained_inverse_dynamics(
        model, q, qd, qdd, c, ["crank_joint"]
    )
    power = robots_with_drives.slope(
        lambda t: (
            model.kinetic_energy(q + qd * t + qdd * t * t / 2, qd + qdd * t)
            + model.potential_energy(q + qd * t)
        )
    )
    assert_close(tau[0] * qd[0], power, 1e-9, 10.0)
    forward = constrained_forward_dynamics(model, q, qd, [tau[0], 0.0, 0.0], c)
    assert_close(forward.qdd, qdd, 1e-10, 10.0)
    assert_close(forward.multipliers, multipliers, 1e-10, 10.0)


def test_loops_stay_with_the_model() -> None:
    """With a payload, scaling and pickling; the open tree is the same with and without loops."""
    model = four_bar()
    loops = (Loop("base", GROUND, "rocker", (0.5, 0.0, 0.0)),)
    assert (
        model.loops
        == loops
        == model.with_payload("rocker", 1.0, [0, 0, 0], np.eye(3))
        .scaled(mass=2.0)
        .loops
    )
    assert pickle.loads(pickle.dumps(model)).loops == loops
    q, qd, tau = (x[0] for x in arms.states(1, 3, 1))
    bare = with_loops(model, ())
    assert_close(
        model.forward_dynamics(q, qd, tau), bare.forward_dynamics(q, qd, tau), 0.0
    )


def test_impossible_closures_and_drives_are_refused() -> None:
    model = four_bar()
    rest = np.zeros(3)
    with pytest.raises(RobotDynamicsError, match=r'"base" and "rocker" .* 0\.\d+ m'):
        close_loops(model, [0.3, 3.0, 0.0], held=["crank_joint", "coupler_joint"])
    with pytest.raises(RobotDynamicsError, match="elbow"):
        close_loops(model, rest, held=["elbow"])
    with pytest.raises(RobotDynamicsError, match="no loops"):
        close_loops(with_loops(model, ()), rest)
    q, _ = assembled(model)
    with pytest.raises(RobotDynamicsError, match=r"initial position .* 0\.\d+"):
        run_constrained(model, loops_of(model), q + 0.1, rest, still, 0.1)
    with pytest.raises(RobotDynamicsError, match="violates"):
        driven_motion(
            model, loops_of(model), q, model.joint_names, [1.0, 1.0, 1.0], rest
        )
