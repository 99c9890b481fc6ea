"""Many plants at once, and the step that is compiled for one robot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.simulation import Plant, Plants
from support import plants

Array = NDArray[np.float64]
INTEGRATORS = ("rk4", "semi_implicit")
FRICTION = {
    "joint1": {"viscous": 0.3, "coulomb": 1.0, "static": 1.5, "stribeck_velocity": 0.1},
    "joint2": {"coulomb": 0.6, "coulomb_negative": 0.8, "sigmoid": {"amplitude": 0.3, "slope": 4.0, "shift": 0.1}},
}
COUNT = 37  # more than a block, and no whole number of them


def _models(customised: bool) -> list[RobotModel]:
    model = plants.planar(FRICTION, gravity=(0.0, 0.0, 0.0))
    model = model.customised() if customised else model
    rng = np.random.default_rng(4)
    models = [model.scaled(mass, friction) for mass, friction in rng.uniform(0.7, 1.4, (COUNT, 2))]
    models[3] = models[3].with_payload("link2", 0.5, [0.1, 0.0, 0.0], [1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3])
    return models


def _torques(k: int) -> Array:
    """Of all plants at time k: they start, slide, reverse and stick."""
    phase = np.arange(COUNT)[:, np.newaxis]
    return np.hstack([3.0 * np.sin(0.3 * k + phase), 1.5 * np.cos(0.5 * k + phase)])


def _run(many: Plants, first: int = 0) -> Array:
    """Positions, velocities and who sticks, at each of 60 times: (60, plants, 6)."""
    states = []
    for k in range(60):
        many.step(_torques(k)[first : first + many.count], 10)
        states.append(np.concatenate([many.position, many.velocity, many.stuck], axis=1))
    return np.array(states)


@pytest.mark.parametrize(
    ("customised", "integrator"),
    [
        (False, "rk4"),
        (False, "semi_implicit"),
        # This compiles for ten seconds.
        pytest.param(True, "rk4", marks=pytest.mark.slow),
    ],
)
def test_each_moves_as_it_does_alone(integrator: str, customised: bool) -> None:
    """To rounding: computed together, sines are another program's. No bit depends on the other plants."""
    models = _models(customised)
    starts = np.random.default_rng(5).uniform(-0.5, 0.5, (COUNT, 2))
    many = Plants(models, integrator=integrator, initial_positions=starts)
    together = _run(many)
    part = Plants(models[5:25], integrator=integrator, initial_positions=starts[5:25])
    assert np.array_equal(_run(part, 5), together[:, 5:25])
    assert many.time == pytest.approx(0.6)
    assert 0.1 < together[..., 4:].mean() < 0.9
    for i in range(0, COUNT, 6):
        one = Plant(models[i], integrator, initial_positions=starts[i])
        for k in range(60):
            one.step(_torques(k)[i], 10)
            assert np.abs(np.concatenate([one.position, one.velocity, one.stuck]) - together[k, i]).max() < 1e-9


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("wrenches", [None, {"link2": [1.0, -2.0, 0.5, 0.1, 0.2, -0.3]}])
def test_the_customised_step_gives_the_bits_of_the_general_one(integrator: str, wrenches: Any) -> None:
    model = plants.planar(FRICTION, gravity=(0.0, 0.0, 0.0))
    pair = [Plant(kind, integrator, initial_positions=[0.3, -0.6]) for kind in (model, model.customised())]
    for k in range(100):
        for plant in pair:
            plant.step(_torques(k)[0], 10, wrenches)
        assert np.array_equal(pair[0].position, pair[1].position)
        assert np.array_equal(pair[0].velocity, pair[1].velocity)
    assert np.abs(pair[0].position - [0.3, -0.6]).max() > 0.02


def test_one_model_many_times_and_reset() -> None:
    many = Plants(plants.planar(FRICTION), 5, initial_velocities=[1.0, -1.0])
    start = many.position, many.velocity
    many.step([3.0, 1.0], 100)
    assert np.ptp(many.position, axis=0).max() == 0.0
    assert many.effort.tolist() == [[3.0, 1.0]] * 5
    many.reset()
    assert many.time == 0.0
    assert np.array_equal((many.position, many.velocity), start)


@pytest.mark.timeout(1500)  # where the machine is busy compiling takes minutes
@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("customised", [False, True])
def test_one_that_cannot_go_on_is_named_and_the_others_go_on(integrator: str, customised: bool) -> None:
    speeds = np.ones((COUNT, 2))
    speeds[7] = 1e160  # its square is infinite
    many = Plants(_models(customised), integrator=integrator, initial_velocities=speeds)
    before = many.position
    with pytest.raises(RobotDynamicsError, match='plant 7: .*joint "joint.": .*infinite'):
        many.step([1.0, 0.0], 5)
    assert np.all((many.position != before).all(axis=1) == (np.arange(COUNT) != 7))
    assert many.velocity[7].tolist() == [1e160, 1e160]


def test_bad_arguments_are_refused(urdf_path: Callable[[str], Path]) -> None:
    model = plants.planar(FRICTION)
    other = RobotModel.from_urdf_file(urdf_path("planar_2r"), gravity=[0.0, 0.0, -1.62])
    many = Plants(model, 2)
    refused: list[tuple[Callable[..., Any], Any, str]] = [
        (Plants, ([],), "0 models"),
        (Plants, (model,), "count"),
        (Plants, ([model], 2), "1 models, count 2"),
        (Plants, ([model, other],), r"models\[1\]"),
        (Plants, (model, 2, "euler"), "euler"),
        (Plants, (model, 2, "rk4", -0.1), "step_size"),
        (Plants, (model, 2, "rk4", 0.1, [[0.0, 0.0]] * 3), r"initial_positions.*\(3, 2\)"),
        (Plants, (model, 2, "rk4", 0.1, [[0.0, 0.0], [0.0, np.nan]]), "initial_positions: plant 1.*joint2.*nan"),
        (many.step, ([0.0] * 3,), "tau"),
        (many.step, ([[0.0, np.inf]] * 2,), "plant 0.*joint2.*inf"),
        (many.step, ([0.0, 0.0], 0), "count is 0"),
    ]
    for call, arguments, culprit in refused:
        with pytest.raises(RobotDynamicsError, match=culprit):
            call(*arguments)
