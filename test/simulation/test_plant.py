"""Plants and batches: state, reset, determinism, arguments and errors, with all integrators."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel, RobotModelError
from robot_dynamics_ros.simulation import Plant, PlantBatch
from support import arms, plants
from support.arms import Array

PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
any_integrator = pytest.mark.parametrize("method", plants.INTEGRATORS)
FRICTION = {
    "joint1": {"viscous": 0.3, "coulomb": 1.0, "static": 1.5, "stribeck_velocity": 0.1},
    "joint2": {
        "coulomb": 0.6,
        "coulomb_negative": 0.8,
        "sigmoid": {"amplitude": 0.3, "slope": 4.0, "shift": 0.1},
    },
}
COUNT = 37  # more than a block, not a multiple of its size


@pytest.fixture
def model(load_robot: Callable[..., Any]) -> RobotModel:
    robot: RobotModel = load_robot("panda", "panda_coulomb")
    return robot


@pytest.fixture
def panda(model: RobotModel) -> Plant:
    return Plant(model, initial_positions=PANDA)


def _state(plant: Plant) -> tuple[Any, ...]:
    return (
        plant.time,
        plant.position.tolist(),
        plant.velocity.tolist(),
        plant.stuck.tolist(),
        plant.effort.tolist(),
    )


@any_integrator
def test_a_reset_reproduces_the_motion_exactly(method: str, model: RobotModel) -> None:
    plant = plants.start(model, method, initial_positions=PANDA)
    start = _state(plant)
    assert start == (0.0, PANDA, [0.0] * 7, [True] * 7, [0.0] * 7)
    runs = []
    for split in (1, 1, 5):
        for k in range(40):
            for _ in range(split):
                plant.step(np.sin(k + np.arange(7.0)) * 5.0, 10 // split)
        runs.append(_state(plant))
        plant.reset()
        assert _state(plant) == start
    assert all(run == runs[0] != start for run in runs)


@any_integrator
def test_time_does_not_accumulate_rounding_and_state_is_returned_as_copies(
    method: str,
) -> None:
    plant = plants.start(plants.turning(1.0, coulomb=2.0), method)
    for _ in range(10):
        plant.step([1.0], 77)
    assert plant.time == 770 * 0.001
    before = _state(plant)
    for array in (plant.position, plant.velocity, plant.effort):
        array[:] = 9.0
    assert _state(plant) == before


@any_integrator
def test_default_start_is_zero_or_the_nearest_limit(
    method: str, load_robot: Callable[..., Any]
) -> None:
    model = load_robot("panda")
    plant = plants.start(model, method)
    assert np.array_equal(
        plant.position, np.clip(0.0, model.position_lower, model.position_upper)
    )
    assert not plant.stuck.any(), "it has no friction that could hold it"
    assert plant.model is model and plant.step_size == 0.001


def test_warm_up_does_not_change_the_state(panda: Plant) -> None:
    start = _state(panda)
    panda.warm_up()
    assert _state(panda) == start


@any_integrator
def test_effort_is_clamped_to_the_effort_limits(method: str, model: RobotModel) -> None:
    plant, peer = (
        plants.start(model, method, initial_positions=PANDA) for _ in range(2)
    )
    tau = np.array([1e3, -1e3, 1.0, 0.0, 1e3, -1e3, 2.0])
    clamped = np.clip(tau, -model.effort_limits, model.effort_limits)
    plant.step(tau)
    peer.step(clamped)
    assert np.array_equal(plant.effort, clamped) and np.array_equal(
        plant.velocity, peer.velocity
    )


@pytest.mark.parametrize("method", plants.METHODS)
def test_external_wrench_moves_the_arm(method: str) -> None:
    """A force of m g along -x on a block for 1 s: v = -g; half of it does not overcome friction of m g."""
    plant = plants.start(plants.slider(2.0, 0.0, (0, 0, -9.81)).model, method)
    plant.step([0.0], 1000, {"block": [-2.0 * 9.81, 0, 0, 0, 0, 0]})
    assert plant.velocity[0] == pytest.approx(-9.81, rel=1e-12)
    assert plant.position[0] == pytest.approx(
        -9.81 / 2, rel=2e-3 if method == "semi_implicit" else 1e-12
    )
    held = plants.start(plants.slider(2.0, 2.0 * 9.81, (0, 0, -9.81)).model, method)
    held.step([0.0], 1000, {"block": [-9.81, 0, 0, 0, 0, 0]})
    assert held.position[0] == 0.0


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (([0.0, np.nan],), "tau.*joint2.*nan"),
        (([-np.inf, 0.0],), "tau.*joint1.*inf"),
        (([0.0],), r"tau.*\(1,\)"),
        ((["a", "b"],), "tau"),
        (([0.0, 0.0], 0), "count is 0"),
        (([0.0, 0.0], 1, {"link2": [np.nan] * 6}), "link2"),
        (([0.0, 0.0], 1, {"link2": ["1", "2", "3", "4", "5", "six"]}), "link2"),
        (([0.0, 0.0], 1, {"nothing": np.zeros(6)}), "nothing"),
    ],
)
def test_bad_arguments_are_refused_and_the_state_kept(
    arguments: Any, culprit: str
) -> None:
    plant = Plant(plants.planar({}))
    plant.step([1.0, 0.0])
    before = _state(plant)
    with pytest.raises(RobotDynamicsError, match=f"(?s){culprit}"):
        plant.step(*arguments)
    assert _state(plant) == before


@pytest.mark.parametrize(
    ("keywords", "culprit"),
    [
        ({"integrator": "euler"}, "euler"),
        ({"step_size": 0.0}, "step_size"),
        ({"step_size": np.nan}, "step_size.*nan"),
        ({"initial_positions": [0.0]}, r"initial_positions.*\(1,\)"),
        ({"initial_velocities": [0.0, np.inf]}, "initial_velocities.*joint2.*inf"),
    ],
)
def test_bad_settings_are_refused(keywords: dict[str, Any], culprit: str) -> None:
    with pytest.raises(RobotDynamicsError, match=f"(?s){culprit}"):
        Plant(plants.planar({}), **keywords)


@any_integrator
@pytest.mark.filterwarnings("ignore")
def test_robot_with_a_massless_end_is_refused(method: str) -> None:
    arm = arms.random_arm(np.random.default_rng(1), [0, 1], ["revolute", "revolute"])
    arm = arm.with_link(arm.links[-1].name, mass=None)
    with pytest.raises(RobotModelError, match=arm.movable[-1]):
        plants.start(RobotModel.from_urdf(arm.urdf), method)


@any_integrator
@pytest.mark.filterwarnings("ignore")
def test_singular_mass_matrix_is_refused(method: str) -> None:
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("rail"), arms.Link("block", 1.0)),
        (
            arms.Joint("first", "prismatic", "base", "rail", axis=(1, 0, 0)),
            arms.Joint("second", "prismatic", "rail", "block", axis=(1, 0, 0)),
        ),
    )
    plant = plants.start(RobotModel.from_urdf(arm.urdf), method)
    before = _state(plant)
    with pytest.raises(RobotDynamicsError, match="(?s)positive definite"):
        plant.step([1.0, -1.0])
    assert _state(plant)[:2] == before[:2]


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
def test_infinite_motion_is_refused_at_the_last_good_step(
    integrator: str, urdf_path: Callable[[str], Path]
) -> None:
    model = RobotModel.from_urdf(plants.unlimited(urdf_path("planar_2r")))
    plant = Plant(model, integrator, step_size=0.5, initial_velocities=[50.0, -80.0])
    with pytest.raises(RobotDynamicsError, match="joint[12].*step_size"):
        plant.step([0.0, 0.0], 1000)
    good = _state(plant)
    assert (
        0.0 < plant.time < 500.0 and np.isfinite([plant.position, plant.velocity]).all()
    )
    with pytest.raises(RobotDynamicsError, match="infinite"):
        plant.step([0.0, 0.0])
    assert _state(plant) == good


def test_too_stiff_a_joint_is_refused_by_rk4_and_not_by_semi_implicit() -> None:
    """dt b / m = 3 > 2.785, where rk4 is unstable; 2.7 is stable and accepted."""
    with pytest.raises(RobotDynamicsError, match=r'joint "slide".*rk4'):
        plants.slider(
            1.0, 0.0, (0, 0, 0), viscous=3000.0, initial_velocities=[1.0]
        ).step([0.0])
    for integrator, viscous in (("rk4", 2700.0), ("semi_implicit", 3000.0)):
        plant = plants.slider(
            1.0,
            0.0,
            (0, 0, 0),
            viscous=viscous,
            integrator=integrator,
            initial_velocities=[1.0],
        )
        plant.step([0.0], 100)
        assert abs(plant.velocity[0]) < 1e-4


def test_brakes_lock_the_arm_while_time_advances(panda: Plant) -> None:
    panda.step(50.0 * np.ones(7), 20)
    position = panda.position
    assert panda.velocity.all()
    panda.brake(30)
    assert _state(panda) == (0.05, position.tolist(), [0.0] * 7, [True] * 7, [0.0] * 7)
    fresh = Plant(panda.model, initial_positions=position)
    for plant in (panda, fresh):
        plant.step(3.0 * np.ones(7), 20)
    assert np.array_equal(panda.position, fresh.position)


def test_change_of_payload_or_friction_keeps_the_state(panda: Plant) -> None:
    """The motion is that of a plant of the new model from the same state; another robot is refused."""
    panda.step(20.0 * np.ones(7), 20)
    heavy = panda.model.scaled(mass=1.3, friction=2.0)
    fresh = Plant(
        heavy, initial_positions=panda.position, initial_velocities=panda.velocity
    )
    panda.change_model(heavy)
    assert panda.time == 0.02
    for plant in (panda, fresh):
        plant.step(5.0 * np.ones(7), 20)
    assert np.array_equal(panda.position, fresh.position)
    with pytest.raises(RobotDynamicsError, match="panda"):
        panda.change_model(plants.turning(1.0))


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
def test_velocity_limits_are_optional(
    integrator: str, load_robot: Callable[..., Any]
) -> None:
    model = load_robot("panda")
    tau = [80.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0]
    limited = Plant(model, integrator, initial_positions=PANDA, velocity_limits=True)
    free = Plant(model, integrator, initial_positions=PANDA)
    reached = np.zeros(7, dtype=bool)
    for _ in range(100):
        before = limited.position
        limited.step(tau)
        free.step(tau)
        assert np.all(np.abs(limited.velocity) <= model.velocity_limits)
        assert np.all(
            np.abs(limited.position - before) <= 0.00101 * model.velocity_limits
        )
        reached |= np.abs(limited.velocity) == model.velocity_limits
    assert reached[6] and np.any(np.abs(free.velocity) > model.velocity_limits)


def _models(customised: bool) -> list[RobotModel]:
    model = plants.planar(FRICTION, gravity=(0.0, 0.0, 0.0))
    model = model.customised() if customised else model
    rng = np.random.default_rng(4)
    models = [
        model.scaled(mass, friction)
        for mass, friction in rng.uniform(0.7, 1.4, (COUNT, 2))
    ]
    models[3] = models[3].with_payload(
        "link2", 0.5, [0.1, 0.0, 0.0], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3]
    )
    return models


def _torques(k: int) -> Array:
    """Return the torques of all plants at time k, under which joints break away, slip, reverse and stick."""
    phase = np.arange(COUNT)[:, np.newaxis]
    return np.hstack([3.0 * np.sin(0.3 * k + phase), 1.5 * np.cos(0.5 * k + phase)])


def _run(many: PlantBatch, first: int = 0) -> Array:
    """Return positions, velocities and stuck joints at 60 times: (60, plants, 6)."""
    states = []
    for k in range(60):
        many.step(_torques(k)[first : first + many.count], 10)
        states.append(
            np.concatenate([many.position, many.velocity, many.stuck], axis=1)
        )
    return np.array(states)


@pytest.mark.parametrize(
    ("customised", "integrator"),
    [
        (False, "rk4"),
        (False, "semi_implicit"),
        # Compilation takes ten seconds.
        pytest.param(True, "rk4", marks=pytest.mark.slow),
    ],
)
def test_each_agrees_with_a_single_plant(integrator: str, customised: bool) -> None:
    """Up to rounding, as SIMD sines differ. Results do not depend on the other plants, bit for bit."""
    models = _models(customised)
    starts = np.random.default_rng(5).uniform(-0.5, 0.5, (COUNT, 2))
    many = PlantBatch(models, integrator=integrator, initial_positions=starts)
    together = _run(many)
    part = PlantBatch(
        models[5:25], integrator=integrator, initial_positions=starts[5:25]
    )
    assert np.array_equal(_run(part, 5), together[:, 5:25])
    assert many.time == pytest.approx(0.6)
    assert 0.1 < together[..., 4:].mean() < 0.9
    for i in range(0, COUNT, 6):
        one = Plant(models[i], integrator, initial_positions=starts[i])
        for k in range(60):
            one.step(_torques(k)[i], 10)
            assert (
                np.abs(
                    np.concatenate([one.position, one.velocity, one.stuck])
                    - together[k, i]
                ).max()
                < 1e-9
            )


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
@pytest.mark.parametrize(
    "wrenches", [None, {"link2": [1.0, -2.0, 0.5, 0.1, 0.2, -0.3]}]
)
def test_the_customised_step_gives_the_bits_of_the_general_one(
    integrator: str, wrenches: Any
) -> None:
    model = plants.planar(FRICTION, gravity=(0.0, 0.0, 0.0))
    pair = [
        Plant(kind, integrator, initial_positions=[0.3, -0.6])
        for kind in (model, model.customised())
    ]
    for k in range(100):
        for plant in pair:
            plant.step(_torques(k)[0], 10, wrenches)
        assert np.array_equal(pair[0].position, pair[1].position)
        assert np.array_equal(pair[0].velocity, pair[1].velocity)
    assert np.abs(pair[0].position - [0.3, -0.6]).max() > 0.02


def test_one_model_many_times_and_reset() -> None:
    many = PlantBatch(plants.planar(FRICTION), 5, initial_velocities=[1.0, -1.0])
    start = many.position, many.velocity
    many.step([3.0, 1.0], 100)
    assert (
        np.ptp(many.position, axis=0).max() == 0.0
        and many.effort.tolist() == [[3.0, 1.0]] * 5
    )
    many.reset()
    assert many.time == 0.0 and np.array_equal((many.position, many.velocity), start)


@pytest.mark.parametrize("integrator", plants.INTEGRATORS)
@pytest.mark.parametrize(
    "customised", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_a_failing_plant_is_named_and_the_others_advance(
    integrator: str, customised: bool
) -> None:
    speeds = np.ones((COUNT, 2))
    speeds[7] = 1e160  # the square is infinite
    many = PlantBatch(
        _models(customised), integrator=integrator, initial_velocities=speeds
    )
    before = many.position
    with pytest.raises(
        RobotDynamicsError, match='plant 7: .*joint "joint.": .*infinite'
    ):
        many.step([1.0, 0.0], 5)
    assert np.all((many.position != before).all(axis=1) == (np.arange(COUNT) != 7))
    assert many.velocity[7].tolist() == [1e160, 1e160]


def test_bad_arguments_of_batches_are_refused(urdf_path: Callable[[str], Path]) -> None:
    model = plants.planar(FRICTION)
    other = RobotModel.from_urdf_file(urdf_path("planar_2r"), gravity=[0.0, 0.0, -1.62])
    many = PlantBatch(model, 2)
    refused: list[tuple[Callable[..., Any], Any, str]] = [
        (PlantBatch, ([],), "0 models"),
        (PlantBatch, (model,), "count"),
        (PlantBatch, ([model], 2), "1 models, count 2"),
        (PlantBatch, ([model, other],), r"models\[1\]"),
        (PlantBatch, (model, 2, "euler"), "euler"),
        (PlantBatch, (model, 2, "rk4", -0.1), "step_size"),
        (
            PlantBatch,
            (model, 2, "rk4", 0.1, [[0.0, 0.0]] * 3),
            r"initial_positions.*\(3, 2\)",
        ),
        (
            PlantBatch,
            (model, 2, "rk4", 0.1, [[0.0, 0.0], [0.0, np.nan]]),
            "initial_positions: plant 1.*joint2.*nan",
        ),
        (many.step, ([0.0] * 3,), "tau"),
        (many.step, ([[0.0, np.inf]] * 2,), "plant 0.*joint2.*inf"),
        (many.step, ([0.0, 0.0], 0), "count is 0"),
    ]
    for call, arguments, culprit in refused:
        with pytest.raises(RobotDynamicsError, match=culprit):
            call(*arguments)
