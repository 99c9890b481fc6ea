"""The plant as an object: state, reset, determinism, and what it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import arms
import numpy as np
import pytest
from simulation import plants

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.simulation import Plant

INTEGRATORS = ("rk4", "semi_implicit")
PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]


@pytest.fixture
def panda(load_robot: Callable[..., Any]) -> Plant:
    return Plant(load_robot("panda", "panda_coulomb"), initial_positions=PANDA)


def _state(plant: Plant) -> tuple[Any, ...]:
    return plant.time, plant.position.tolist(), plant.velocity.tolist(), plant.stuck.tolist(), plant.effort.tolist()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_same_inputs_give_the_same_bits(integrator: str, load_robot: Callable[..., Any]) -> None:
    plant = Plant(load_robot("panda", "panda_coulomb"), integrator, initial_positions=PANDA)
    runs = []
    for split in (1, 1, 5):
        plant.reset()
        for k in range(40):
            for _ in range(split):
                plant.step(np.sin(k + np.arange(7.0)) * 5.0, 10 // split)
        runs.append(_state(plant))
    assert runs[0] == runs[1] == runs[2]


def test_reset_goes_back_to_the_start(panda: Plant) -> None:
    start = _state(panda)
    panda.step(np.ones(7), 100)
    assert _state(panda) != start
    panda.reset()
    assert _state(panda) == start
    assert start == (0.0, PANDA, [0.0] * 7, [True] * 7, [0.0] * 7)


def test_time_does_not_accumulate_rounding(panda: Plant) -> None:
    for _ in range(10):
        panda.step(np.zeros(7), 77)
    assert panda.time == 770 * 0.001


def test_starts_at_zero_or_at_the_nearest_limit(load_robot: Callable[..., Any]) -> None:
    model = load_robot("panda")
    plant = Plant(model)
    assert np.array_equal(plant.position, np.clip(0.0, model.position_lower, model.position_upper))
    assert not plant.stuck.any(), "it has no friction that could hold it"


def test_returned_arrays_are_copies(panda: Plant) -> None:
    panda.position[:] = 9.0
    panda.velocity[:] = 9.0
    panda.effort[:] = 9.0
    assert panda.position.tolist() == PANDA
    assert not panda.velocity.any()
    assert not panda.effort.any()


def test_warm_up_moves_nothing(panda: Plant) -> None:
    start = _state(panda)
    panda.warm_up()
    assert _state(panda) == start


def test_torque_is_clamped_to_the_effort_limits(panda: Plant) -> None:
    tau = np.array([1e3, -1e3, 1.0, 0.0, 1e3, -1e3, 2.0])
    panda.step(tau)
    expected = np.clip(tau, -panda.model.effort_limits, panda.model.effort_limits)
    assert np.array_equal(panda.effort, expected)
    peer = Plant(panda.model, initial_positions=PANDA)
    peer.step(expected)
    assert np.array_equal(panda.velocity, peer.velocity)


def test_external_wrench_moves_the_arm() -> None:
    """A force of m g along -x on a block for 1 s: v = -g, closed form."""
    plant = plants.slider(2.0, 0.0, (0, 0, -9.81))
    plant.step([0.0], 1000, {"block": [-2.0 * 9.81, 0, 0, 0, 0, 0]})
    assert plant.velocity[0] == pytest.approx(-9.81, rel=1e-12)
    assert plant.position[0] == pytest.approx(-9.81 / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("tau", "words"),
    [
        ([0, 0, np.nan, 0, 0, 0, 0], ["panda_joint3", "nan"]),
        ([0, 0, 0, 0, 0, 0, -np.inf], ["panda_joint7", "inf"]),
        ([0.0] * 6, [r"\(6,\)", r"\(7,\)"]),
        (["a"] * 7, ["numbers"]),
    ],
)
def test_bad_torque_is_refused_and_the_state_kept(panda: Plant, tau: Any, words: list[str]) -> None:
    panda.step(np.ones(7), 10)
    before = _state(panda)
    with pytest.raises(RobotDynamicsError, match="(?s)" + "".join(f"(?=.*{word})" for word in ["tau", *words])):
        panda.step(tau)
    assert _state(panda) == before


def test_bad_wrenches_and_counts_are_refused(panda: Plant) -> None:
    before = _state(panda)
    with pytest.raises(RobotDynamicsError, match="panda_link3.*not finite"):
        panda.step(np.zeros(7), 1, {"panda_link3": [np.nan] * 6})
    with pytest.raises(RobotDynamicsError, match="panda_link3.*not 6 numbers"):
        panda.step(np.zeros(7), external_wrenches={"panda_link3": ["1", "2", "3", "4", "5", "six"]})
    with pytest.raises(RobotDynamicsError, match="no_such_link"):
        panda.step(np.zeros(7), 1, {"no_such_link": np.zeros(6)})
    with pytest.raises(RobotDynamicsError, match="count"):
        panda.step(np.zeros(7), 0)
    assert _state(panda) == before


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"integrator": "euler"}, ["euler", "rk4", "semi_implicit"]),
        ({"step_size": 0.0}, ["step_size"]),
        ({"step_size": float("nan")}, ["step_size", "nan"]),
        ({"initial_positions": [0.0, 0.0]}, ["initial_positions", r"\(2,\)"]),
        ({"initial_velocities": [0, 0, 0, 0, 0, 0, np.nan]}, ["initial_velocities", "panda_joint7"]),
    ],
)
def test_bad_settings_are_refused(keywords: dict[str, Any], words: list[str], load_robot: Callable[..., Any]) -> None:
    with pytest.raises(RobotDynamicsError, match="(?s)" + "".join(f"(?=.*{word})" for word in words)):
        Plant(load_robot("panda"), **keywords)


@pytest.mark.filterwarnings("ignore")
def test_robot_with_a_massless_end_is_refused() -> None:
    arm = arms.random_arm(np.random.default_rng(1), [0, 1], ["revolute", "revolute"])
    arm = arm.with_link(arm.links[-1].name, mass=None)
    with pytest.raises(RobotModelError, match=arm.movable[-1]):
        Plant(RobotModel.from_urdf(arm.urdf))


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_motion_that_becomes_infinite_is_refused_at_the_last_good_step(
    integrator: str, urdf_path: Callable[[str], Path]
) -> None:
    """A fast arm in steps of half a second: no explicit integrator can follow it."""
    model = RobotModel.from_urdf(plants.unlimited(urdf_path("planar_2r")))
    plant = Plant(model, integrator, step_size=0.5, initial_velocities=[50.0, -80.0])
    with pytest.raises(RobotDynamicsError, match="joint[12].*infinite.*step_size"):
        plant.step([0.0, 0.0], 1000)
    good = _state(plant)
    assert 0.0 < plant.time < 500.0
    assert np.isfinite(plant.position).all()
    assert np.isfinite(plant.velocity).all()
    with pytest.raises(RobotDynamicsError, match="infinite"):
        plant.step([0.0, 0.0])
    assert _state(plant) == good


def test_singular_mass_matrix_is_refused() -> None:
    """Two sliders along the same line, the first without mass of its own, move but one mass."""
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("rail"), arms.Link("block", 1.0)),
        (
            arms.Joint("first", "prismatic", "base", "rail", axis=(1, 0, 0)),
            arms.Joint("second", "prismatic", "rail", "block", axis=(1, 0, 0)),
        ),
    )
    with pytest.warns(UserWarning):
        model = RobotModel.from_urdf(arm.urdf)
    plant = Plant(model)
    with pytest.raises(RobotDynamicsError, match="first.*positive definite"):
        plant.step([1.0, -1.0])
    assert plant.position.tolist() == [0.0, 0.0]
    assert plant.time == 0.0


def test_brakes_stop_the_arm_where_it_is_and_let_time_pass(panda: Plant) -> None:
    panda.step(50.0 * np.ones(7), 20)
    position = panda.position
    assert panda.velocity.all()
    panda.brake(30)
    assert panda.time == 0.05
    assert np.array_equal(panda.position, position)
    assert not panda.velocity.any()
    assert not panda.effort.any()
    assert panda.stuck.all()
    fresh = Plant(panda.model, initial_positions=position)
    for plant in (panda, fresh):
        plant.step(3.0 * np.ones(7), 20)
    assert np.array_equal(panda.position, fresh.position)


def test_another_payload_or_friction_goes_on_from_the_same_state(panda: Plant) -> None:
    """As a plant made for the other robot that starts there; another robot is refused."""
    panda.step(20.0 * np.ones(7), 20)
    heavy = panda.model.scaled(mass=1.3, friction=2.0)
    fresh = Plant(heavy, initial_positions=panda.position, initial_velocities=panda.velocity)
    panda.change_model(heavy)
    assert panda.time == 0.02
    for plant in (panda, fresh):
        plant.step(5.0 * np.ones(7), 20)
    assert np.array_equal(panda.position, fresh.position)
    other = RobotModel.from_urdf(arms.random_arm(np.random.default_rng(3), [0], ["revolute"]).urdf)
    with pytest.raises(RobotDynamicsError, match="has other joints than.*Cure"):
        panda.change_model(other)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_velocity_limits_hold_where_they_are_asked_for(integrator: str, load_robot: Callable[..., Any]) -> None:
    """Joints reach their limit and stay on it to the last bit; without, they get faster."""
    model = load_robot("panda")
    tau = [80.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0]
    limited = Plant(model, integrator, initial_positions=PANDA, velocity_limits=True)
    free = Plant(model, integrator, initial_positions=PANDA)
    reached = np.zeros(7, dtype=bool)
    for _ in range(100):
        limited.step(tau)
        free.step(tau)
        assert np.all(np.abs(limited.velocity) <= model.velocity_limits)
        reached |= np.abs(limited.velocity) == model.velocity_limits
    assert reached[6]
    assert np.any(np.abs(free.velocity) > model.velocity_limits)


def test_too_stiff_a_joint_is_refused_by_rk4_and_not_by_semi_implicit() -> None:
    """dt b / m = 3 > 2.785, where rk4 makes the motion grow; 2.7, where it still dampens it, is taken."""
    with pytest.raises(RobotDynamicsError, match=r'joint "slide".*too stiff for rk4.*Cure: .*semi_implicit'):
        plants.slider(1.0, 0.0, (0, 0, 0), viscous=3000.0, initial_velocities=[1.0]).step([0.0])
    for integrator, viscous in (("rk4", 2700.0), ("semi_implicit", 3000.0)):
        plant = plants.slider(1.0, 0.0, (0, 0, 0), viscous=viscous, integrator=integrator, initial_velocities=[1.0])
        plant.step([0.0], 100)
        assert abs(plant.velocity[0]) < 1e-4
