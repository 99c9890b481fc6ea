"""Exciting trajectories: limits, also between the samples of the search, and condition number."""

from collections.abc import Callable

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.analysis.identification.excitation import (
    Excitation,
    ExcitationLimits,
    _Search,
    find_excitation,
)

LoadRobot = Callable[..., RobotModel]
pytestmark = pytest.mark.filterwarnings("ignore::robot_dynamics_ros.RobotModelWarning")


@pytest.fixture
def planar_2r(load_robot: LoadRobot) -> RobotModel:
    return load_robot("planar_2r")


def assert_within(
    model: RobotModel, limits: ExcitationLimits, excitation: Excitation
) -> None:
    # a prime: almost no sample coincides with one of the search
    q, qd, qdd = excitation.samples(7919)
    assert (q >= limits.lower - 1e-12).all() and (q <= limits.upper + 1e-12).all()
    assert (np.abs(qd) <= limits.velocity).all() and (
        np.abs(qdd) <= limits.acceleration
    ).all()
    assert limits.effort_ratio(model, q, qd, qdd) <= 1.0
    # The motion starts at rest.
    np.testing.assert_allclose(qd[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(qdd[0], 0.0, atol=1e-12)


@pytest.mark.parametrize("acceleration", [np.inf, 3.0])
def test_excitation_stays_within_limits_and_improves_condition(
    planar_2r: RobotModel, acceleration: float
) -> None:
    limits = ExcitationLimits.of(planar_2r, margin=0.0, acceleration=acceleration)
    excitation, first = find_excitation(planar_2r, limits, 8.0, restarts=1)
    assert_within(planar_2r, limits, excitation)
    assert 1.0 <= excitation.condition < 0.7 * first


def test_condition_is_that_of_the_base_regressor(load_robot: LoadRobot) -> None:
    """A revolute joint under gravity has three base parameters: izz, mcx (g cos q), mcy (g sin q); Spong (9.121)."""
    model = load_robot("planar_2r", joints=["joint2"], locked={"joint1": 0.0})
    excitation, _ = find_excitation(model, ExcitationLimits.of(model), 5.0, restarts=1)
    q, _, qdd = (values[:, 0] for values in excitation.samples(50))
    columns = np.column_stack([qdd, np.cos(q), np.sin(q)])
    assert excitation.condition == pytest.approx(
        np.linalg.cond(columns / np.linalg.norm(columns, axis=0)), rel=1e-6
    )


@pytest.mark.parametrize("share", [1.0, 0.02])
def test_gradient_of_the_cost(load_robot: LoadRobot, share: float) -> None:
    """Central differences of the cost, without and with efforts above their bound."""
    model = load_robot("scara", "scara")
    search = _Search(model, ExcitationLimits.of(model), 0.25, 3)
    x = np.random.default_rng(3).normal(size=search.size)
    steps = 1e-5 * np.eye(search.size)
    costs = np.array(
        [[search.cost(x + sign * step, share)[0] for sign in (1, -1)] for step in steps]
    )
    cost, gradient = search.cost(x, share)
    assert cost > 10.0 or share == 1.0, "the penalty is active"
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(
        gradient, (costs[:, 0] - costs[:, 1]) / 2e-5, rtol=1e-3, atol=1e-4 * scale
    )


@pytest.mark.parametrize("seed", [0, 7])
def test_excitation_stays_within_effort_limits(
    planar_2r: RobotModel, seed: int
) -> None:
    full = ExcitationLimits.of(planar_2r, margin=0.0)
    rest = np.abs(planar_2r.gravity_torque([0.0, 0.0]))
    limits = ExcitationLimits(
        full.lower, full.upper, full.velocity, full.acceleration, 1.15 * rest
    )
    excitation, _ = find_excitation(
        planar_2r, limits, 4.0, harmonics=3, restarts=2, seed=seed
    )
    assert_within(planar_2r, limits, excitation)


def test_the_same_seed_gives_the_same_motion(planar_2r: RobotModel) -> None:
    limits = ExcitationLimits.of(planar_2r)
    a, b, c = (
        find_excitation(planar_2r, limits, 8.0, 2, 1, seed)[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(a.sine, b.sine)
    assert not np.array_equal(a.sine, c.sine)


def test_rounding_errors_of_the_start_do_not_change_the_motion(
    load_robot: LoadRobot,
) -> None:
    model = load_robot("scara", "scara")
    search = _Search(model, ExcitationLimits.of(model), 0.05, 5)
    start = np.random.default_rng(0).normal(size=search.size)
    a, b = (
        search.minimise(x, lambda _: None)
        for x in (start, start * (1.0 + 4.0 * np.finfo(np.float64).eps))
    )
    assert a is not None and b is not None
    np.testing.assert_allclose(a.samples(200)[0], b.samples(200)[0], atol=1e-5)


def test_margin_reduces_model_limits(load_robot: LoadRobot) -> None:
    model = load_robot("panda", "panda")
    limits = ExcitationLimits.of(model, margin=0.2)
    span = model.position_upper - model.position_lower
    np.testing.assert_allclose(limits.lower, model.position_lower + 0.1 * span)
    np.testing.assert_allclose(limits.upper, model.position_upper - 0.1 * span)
    np.testing.assert_allclose(limits.velocity, 0.8 * model.velocity_limits)
    np.testing.assert_allclose(limits.effort, 0.8 * model.effort_limits)


def test_time_to_start_respects_limits(planar_2r: RobotModel) -> None:
    """From the farther end of the range: largest velocity 15/8 d / T, largest acceleration 10 / sqrt(3) d / T^2."""
    for acceleration in (np.inf, 0.5):
        limits = ExcitationLimits.of(planar_2r, acceleration=acceleration)
        q = np.array([0.3, -0.4])
        time = limits.time_to(q)
        far = np.maximum(q - limits.lower, limits.upper - q)
        used = max(
            (15 / 8 * far / time / limits.velocity).max(),
            (10 / 3**0.5 * far / time**2 / acceleration).max(),
        )
        assert used == pytest.approx(1.0)


def test_invalid_arguments_are_refused(planar_2r: RobotModel) -> None:
    for change in (
        {"margin": 1.0},
        {"acceleration": 0.0},
        {"acceleration": [1.0, 2.0, 3.0]},
    ):
        with pytest.raises(RobotDynamicsError, match=next(iter(change))):
            ExcitationLimits.of(planar_2r, **change)
    full = ExcitationLimits.of(planar_2r)
    weak = ExcitationLimits(
        full.lower, full.upper, full.velocity, full.acceleration, np.array([1e-3, 1e-3])
    )
    for limits, search, culprit in (
        (full, (0.0, 5, 1), "0.0 s"),
        (full, (5.0, 1, 1), "harmonics"),
        (full, (5.0, 5, 0), "restart"),
        (weak, (4.0, 5, 1), "effort limits"),
    ):
        with pytest.raises(RobotDynamicsError, match=culprit):
            find_excitation(planar_2r, limits, *search)
