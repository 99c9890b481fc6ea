"""Properties of the equations of motion against the kernels, worked examples, energy, and other positions."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.integrate import solve_ivp

from oracles import craig_planar_2r, spong_elbow
from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.dynamics.model.base_parameters import minimal_parameters
from robot_dynamics_ros.textbooks import equation_properties
from robot_dynamics_ros.textbooks.equation_properties import (
    eigenvalue_range,
    inertia_bounds,
)
from support import arms, robots_with_drives
from support.comparing import assert_close
from support.worked_arms import DOWN, IN_PLANE, elbow, load

pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


@given(arm=arms.trees(6))
def test_velocity_torque_of_trees(arm: arms.Arm) -> None:
    """Craig (6.63): at one position, B and C are valid for every velocity."""
    model = RobotModel.from_urdf(arm.urdf)
    q = arms.states(arm.seed, model.n, 1)[0][0]
    b = equation_properties.coriolis_coefficients(model, q)
    c = equation_properties.centrifugal_coefficients(model, q)
    assert b.shape == (model.n, model.n * (model.n - 1) // 2)
    for qd in arms.states(arm.seed + 1, model.n, 3)[1]:
        gravity = model.gravity_torque(q)
        velocity = model.bias_torque(q, qd) - gravity
        products = equation_properties.velocity_products(qd)
        squares = equation_properties.velocity_squares(qd)
        assert_close(
            b @ products + c @ squares, velocity, 1e-10, float(np.abs(gravity).max())
        )
        assert_close(
            equation_properties.velocity_torque(model, q, qd),
            b @ products + c @ squares,
            1e-14,
        )


def test_craigs_two_links() -> None:
    """Craig example 6.4: (6.66)-(6.68) for point masses at the ends of links l1, l2."""
    p = craig_planar_2r.Parameters(0.5, 0.4, 2.0, 1.5)
    q = np.array([0.3, -1.1])
    model = RobotModel.from_urdf(arms.craig_planar_2r(p).urdf)
    b, c = craig_planar_2r.coriolis_and_centrifugal(p, q)
    assert_close(equation_properties.coriolis_coefficients(model, q), b, 1e-14)
    assert_close(equation_properties.centrifugal_coefficients(model, q), c, 1e-14)


def test_order_of_products() -> None:
    """Craig (6.64)."""
    qd = np.array([2.0, 3.0, 5.0, 7.0])
    assert equation_properties.velocity_products(qd).tolist() == [6, 10, 14, 15, 21, 35]
    assert equation_properties.velocity_squares(qd).tolist() == [4, 9, 25, 49]


@given(robot=robots_with_drives.robots())
def test_coriolis_matrix_of_any_robot(robot: robots_with_drives.Robot) -> None:
    """Spong (9.62), (9.111), for trees with couplings, rotors on moving carriers and a payload."""
    model = robot.model()
    assume(len(model.moving_joints) <= 8)
    q, qd, _ = robots_with_drives.state(robot, model.n)
    c = equation_properties.coriolis_matrix(model, q, qd)
    assert_close(c, model.coriolis_matrix(q, qd), 1e-10)
    n = equation_properties.skew_symmetric_matrix(model, q, qd)
    assert_close(n.T, -n, 1e-10, float(np.abs(c).max()))
    stride = robots_with_drives.stride(robot, model.joint_names, qd)
    # (9.109)
    rate = robots_with_drives.slope(lambda t: model.mass_matrix(q + qd * t), stride)
    assert_close(
        n, rate - 2.0 * c, 1e-8, stride * float(np.abs(model.mass_matrix(q)).max())
    )


def test_planar_elbow() -> None:
    """Spong (9.83): h = -m2 l1 lc2 sin q2, and (9.88)."""
    p = spong_elbow.Parameters(0.7, 0.2, 0.3, 1.5, 2.5, 0.05, 0.1)
    model = load(elbow(p), IN_PLANE)
    q = np.array([0.4, 1.1])
    qd = np.array([0.8, -1.7])
    h = -p.m2 * p.l1 * p.lc2 * np.sin(q[1])
    expected = np.zeros((2, 2, 2))
    expected[0, 1, 0] = expected[1, 0, 0] = expected[1, 1, 0] = h
    expected[0, 0, 1] = -h
    assert_close(equation_properties.christoffel_symbols(model, q), expected, 1e-14)
    assert_close(
        equation_properties.coriolis_matrix(model, q, qd),
        spong_elbow.coriolis_matrix(p, q, qd),
        1e-14,
    )


def test_energy_balance(load_robot: Callable[..., RobotModel]) -> None:
    """Spong (9.117)-(9.118): work is the increase of energy; a free arm releases at most its initial energy."""
    model = load_robot("scara")

    def torque(t: float) -> np.ndarray:
        return np.array([2.0, 1.0, 20.0]) * np.sin([3.0 * t, 5.0 * t, 4.0 * t])

    def rates(t: float, z: np.ndarray) -> np.ndarray:
        tau = torque(t)
        qd = z[3:6]
        return np.concatenate([qd, model.forward_dynamics(z[:3], qd, tau), [qd @ tau]])

    time = np.linspace(0.0, 2.0, 801)
    motion = solve_ivp(
        rates, (0.0, 2.0), np.zeros(7), t_eval=time, rtol=1e-11, atol=1e-12
    ).y.T
    q = motion[:, :3]
    qd = motion[:, 3:6]
    energy, work = equation_properties.energy_balance(
        model, time, q, qd, [torque(t) for t in time]
    )
    assert np.ptp(energy) > 1.0  # J
    assert_close(work, motion[:, 6], 1e-7)
    assert_close(work, energy - energy[0], 1e-7)
    energy, work = equation_properties.energy_balance(
        model, time, q, qd, np.array([torque(t) for t in time]) + 0.5 * qd
    )
    assert work[-1] - (energy[-1] - energy[0]) > 0.1  # what friction would take


def test_rows_of_a_wrong_shape_are_refused(
    load_robot: Callable[..., RobotModel],
) -> None:
    model = load_robot("scara")
    rows = np.zeros((4, 3))
    with pytest.raises(RobotDynamicsError, match=r"tau .*\(3, 3\)"):
        equation_properties.energy_balance(model, [0, 1, 2, 3], rows, rows, rows[:3])
    with pytest.raises(RobotDynamicsError, match="time"):
        equation_properties.energy_balance(model, [0, 1, 1, 3], rows, rows, rows)


def test_bounds_of_the_planar_elbow() -> None:
    """M of Spong (9.82) depends on q2 only: a fine grid contains its extremes; the largest is at the stretched arm."""
    p = spong_elbow.Parameters(0.7, 0.2, 0.3, 1.5, 2.5, 0.05, 0.1)
    model = load(elbow(p), DOWN)
    bounds = inertia_bounds(model)
    turns = np.linspace(0.0, 2.0 * np.pi, 100001)
    eigenvalues = np.linalg.eigvalsh(
        model.mass_matrix(np.column_stack([0.0 * turns, turns]))
    )
    assert bounds.lower == pytest.approx(eigenvalues[:, 0].min(), rel=1e-8)
    assert bounds.upper == pytest.approx(eigenvalues[:, 1].max(), rel=1e-8)
    assert np.cos(bounds.upper_at[1]) == pytest.approx(1.0, abs=1e-6)
    bent = np.array([0.0, np.pi / 2])
    narrow = inertia_bounds(model, bent, bent)
    expected = np.linalg.eigvalsh(spong_elbow.mass_matrix(p, bent))
    for found in (eigenvalue_range(model, bent), [narrow.lower, narrow.upper]):
        assert_close(found, expected, 1e-14)


@pytest.mark.parametrize("robot", ["scara", "puma560"])
def test_every_position_keeps_to_them(
    robot: str, load_robot: Callable[..., RobotModel]
) -> None:
    """Spong (9.120) at positions not used by the search; the bounds are attained and reported."""
    model = load_robot(robot, "puma560" if robot == "puma560" else None)
    bounds = inertia_bounds(model)
    low = np.maximum(model.position_lower, -np.pi)
    high = np.minimum(model.position_upper, np.pi)
    q = np.random.default_rng(8).uniform(low, high, (20000, model.n))
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(q))
    assert bounds.lower <= eigenvalues[:, 0].min() * (1 + 1e-9)
    assert bounds.upper >= eigenvalues[:, -1].max() * (1 - 1e-9)
    assert eigenvalue_range(model, bounds.lower_at)[0] == bounds.lower
    assert eigenvalue_range(model, bounds.upper_at)[1] == bounds.upper
    for at in (bounds.lower_at, bounds.upper_at):
        assert np.all((model.position_lower <= at) & (at <= model.position_upper))


@given(robot=robots_with_drives.robots())
def test_guaranteed_bounds_of_any_robot(robot: robots_with_drives.Robot) -> None:
    """Spong (9.112), (9.120) with couplings, rotors and payload: at random positions of a range, and at its ends."""
    model = robot.model()
    assume(len(model.moving_joints) <= 8)
    low = -np.ones(model.n)
    high = np.full(model.n, 2.0)
    lowest, highest = equation_properties.guaranteed_inertia_bounds(model, low, high)
    q = np.vstack(
        [
            low,
            high,
            np.random.default_rng(robot.bare.seed).uniform(low, high, (200, model.n)),
        ]
    )
    eigenvalues = np.linalg.eigvalsh(model.mass_matrix(q))
    assert lowest <= eigenvalues[:, 0].min() + 1e-12 * highest
    assert highest >= eigenvalues[:, -1].max() * (1 - 1e-12)
    _, qd, _ = robots_with_drives.state(robot, model.n)
    beta = equation_properties.passivity_bound(model, low, qd, low, high)
    total = model.kinetic_energy(low, qd) + model.potential_energy(low)
    potential = model.potential_energy(q)
    assert beta >= total - potential.min() - 1e-12 * (
        abs(total) + np.abs(potential).max()
    )


def test_guaranteed_bounds_of_the_planar_elbow() -> None:
    """At q2 = 0 the upper bound is attained: both links are stretched. The lower one is det / (A_11 + A_22) there."""
    p = spong_elbow.Parameters(0.7, 0.2, 0.3, 1.5, 2.5, 0.05, 0.1)
    model = load(elbow(p), IN_PLANE)
    lowest, highest = equation_properties.guaranteed_inertia_bounds(model)
    searched = inertia_bounds(model)
    assert highest == pytest.approx(searched.upper, rel=1e-12)
    d = spong_elbow.mass_matrix(p, np.zeros(2))
    own = (p.m1 * p.lc1**2 + p.i1) * d[1, 1]
    assert lowest == pytest.approx(own / np.trace(d), rel=1e-12)
    assert 0.2 * searched.lower < lowest < searched.lower
    # Upright; the weights fall twice their height.
    q = np.array([0.5 * np.pi, 0.0])
    qd = np.array([1.0, -2.0])
    fall = 2.0 * p.g * (p.m1 * p.lc1 + p.m2 * (p.l1 + p.lc2))
    assert equation_properties.passivity_bound(
        load(elbow(p), [0, -p.g, 0]), q, qd
    ) == pytest.approx(model.kinetic_energy(q, qd) + fall, rel=1e-12)


def test_massless_links_have_the_bound_zero() -> None:
    arm = arms.planar_2r(0.5, 0.4, arms.Link(""), arms.Link("", 1.0, (0.4, 0, 0)))
    assert equation_properties.guaranteed_inertia_bounds(load(arm, DOWN))[0] == 0.0


def test_invalid_ranges_are_refused() -> None:
    arm = arms.random_arm(np.random.default_rng(2), [0, 1], ["continuous", "prismatic"])
    slide = arm.movable[1]
    endless = RobotModel.from_urdf(
        arm.with_joint(slide, limit='<limit effort="1" velocity="1"/>').urdf
    )
    with pytest.raises(RobotDynamicsError, match=slide):
        inertia_bounds(endless)
    assert inertia_bounds(endless, [-np.inf, 0.0], [np.inf, 0.5]).upper > 0.0
    with pytest.raises(RobotDynamicsError, match="empty"):
        inertia_bounds(endless, [0.0, 1.0], [1.0, 0.0])


def test_a_coupling_by_a_fraction_has_no_full_turn() -> None:
    arm = arms.random_arm(
        np.random.default_rng(2), [0, 1], ["continuous", "continuous"]
    )
    first, second = arm.movable
    model = RobotModel.from_urdf(
        arm.with_joint(second, extra=f'<mimic joint="{first}" multiplier="0.5"/>').urdf
    )
    with pytest.raises(RobotDynamicsError, match="full turn"):
        inertia_bounds(model)
    assert inertia_bounds(model, [-2 * np.pi], [2 * np.pi]).upper > 0.0


P = spong_elbow.Parameters(0.7, 0.25, 0.3, 1.5, 2.5, 0.08, 0.11)


def test_planar_elbow_has_spongs_parameters() -> None:
    """Each Theta is a sum of ours. Apart from mcy1 and mcy2, zero here, ours are four: Theta_2 = l1 Theta_5."""
    result = minimal_parameters(load(elbow(P), [0, -P.g, 0]))
    values = dict(zip(result.names, result.theta.tolist(), strict=True))
    izz1 = values.pop("link1.izz + 0.49 link2.mass")
    izz2 = values.pop("link2.izz")
    mcx1 = values.pop("link1.mcx + 0.7 link2.mass")
    mcx2 = values.pop("link2.mcx")
    assert_close(
        np.array([izz1 + izz2, P.l1 * mcx2, izz2, mcx1, mcx2]),
        spong_elbow.parameters(P),
        1e-13,
    )
    assert values.keys() == {"link1.mcy", "link2.mcy"}
    assert_close(list(values.values()), [0.0, 0.0], 1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_spongs_regressor(seed: int) -> None:
    """Spong (9.132) corrected times (9.133) is the torque of the kernels."""
    q, qd, qdd = (x[0] for x in arms.states(seed, 2, 1))
    torque = load(elbow(P), [0, -P.g, 0]).inverse_dynamics(q, qd, qdd)
    assert_close(
        equation_properties.elbow_regressor(q, qd, qdd, P.g)
        @ spong_elbow.parameters(P),
        torque,
        1e-12,
    )


def test_without_gravity_three_are_left() -> None:
    """Spong, the remark below (9.133): Theta_1 to Theta_3, apart from mcy2, which is zero."""
    result = minimal_parameters(load(elbow(P), [0, 0, 0]))
    assert set(result.names) == {
        "link1.izz + 0.49 link2.mass",
        "link2.mcx",
        "link2.mcy",
        "link2.izz",
    }
    assert {"link1.mcx", "link1.mcy", "link1.mass", "link2.ixx", "link2.mcz"} <= set(
        result.without_effect
    )


@pytest.mark.parametrize(
    ("robot", "count"), [("panda", 43), ("puma560", 36), ("scara", 5)]
)
def test_they_give_the_torque(
    robot: str, count: int, load_robot: Callable[..., RobotModel]
) -> None:
    """Spong (9.121) at states not used by the search; counts as published (Gaz et al., Mayeda et al.)."""
    rigid = load_robot(robot)
    link = rigid.link_names[-1]
    driven = load_robot(robot, robot).with_payload(
        link, 1.2, [0.01, 0.02, 0.1], np.eye(3) * 0.01
    )
    q, qd, qdd = arms.states(4, rigid.n, 20)
    assert len(minimal_parameters(rigid).names) == count
    for model in (rigid, driven):
        result = minimal_parameters(model)
        y = result.regressor(q, qd, qdd)
        assert_close(y @ result.theta, model.inverse_dynamics(q, qd, qdd), 1e-10)
        columns = y.reshape(-1, len(result.names))
        assert np.linalg.matrix_rank(columns / np.linalg.norm(columns, axis=0)) == len(
            result.names
        )
    assert any("rotor.inertia" in name for name in result.names) == (robot == "puma560")


@given(arm=arms.trees(4))
def test_minimal_parameters_of_trees(arm: arms.Arm) -> None:
    model = RobotModel.from_urdf(arm.urdf)
    result = minimal_parameters(model)
    q, qd, qdd = arms.states(arm.seed, model.n, 5)
    # Columns that are almost dependent have large parameters, whose rounding counts.
    scale = max(100.0, float(np.abs(result.theta).max()))
    assert_close(
        result.regressor(q, qd, qdd) @ result.theta,
        model.inverse_dynamics(q, qd, qdd),
        1e-9,
        scale,
    )
