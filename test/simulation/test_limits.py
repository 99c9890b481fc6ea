"""Position limits: joints stop there, stay there, and gain nothing."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant
from support import plants

LIMIT = '<limit lower="-0.4" upper="0.5" effort="100" velocity="10"/>'
any_method = pytest.mark.parametrize("method", plants.METHODS)


def _mass(coulomb: float = 0.0, limit: str = LIMIT) -> RobotModel:
    return plants.slider(1.3, coulomb, (0, 0, -9.81), limit).model


@any_method
@pytest.mark.parametrize("coulomb", [0.0, 0.5])
@pytest.mark.parametrize(("force", "limit"), [(7.0, 0.5), (-7.0, -0.4)])
def test_mass_driven_into_a_limit_stops_and_leaves_it_again(
    method: str, coulomb: float, force: float, limit: float
) -> None:
    """It lies there, pressed and not stuck; with less force than friction it is stuck; then q = limit + a t^2 / 2."""
    step = 0.001
    plant = plants.start(_mass(coulomb), method, step)
    for _ in range(20):
        plant.step([force], 50)
        assert -0.4 <= plant.position[0] <= 0.5
    assert (plant.position[0], plant.velocity[0], plant.stuck[0]) == (limit, 0.0, False)
    plant.step([0.0], 1000)
    assert (plant.position[0], plant.stuck[0]) == (limit, coulomb > 0.0)
    plant.step([-force / 7.0], 500)
    acceleration = -math.copysign(1.0 - coulomb, force) / 1.3
    error = 1e-11 if method == "event" else abs(acceleration) * 0.5 * step
    assert plant.position[0] == pytest.approx(limit + acceleration * 0.5**2 / 2, rel=0, abs=error)


@any_method
def test_joint_beyond_its_limit_is_not_pushed_but_may_come_back(method: str) -> None:
    plant = plants.start(_mass(), method, initial_positions=[0.7], initial_velocities=[2.0])
    for force in (0.0, 5.0):
        plant.step([force], 100)
        assert (plant.position[0], plant.velocity[0]) == (0.7, 0.0)
    plant.step([-1.0], 100)
    assert 0.5 < plant.position[0] < 0.7
    assert plant.velocity[0] < 0.0
    place = plant.position[0]
    plant.step([100.0], 100)
    assert 0.5 < plant.position[0] <= place, "beyond the limit it does not turn outwards again"
    plant.step([-5.0], 2000)
    assert plant.position[0] == -0.4


@any_method
@pytest.mark.filterwarnings("ignore")
def test_joint_between_equal_limits_never_moves(method: str) -> None:
    plant = plants.start(_mass(limit='<limit lower="0" upper="0" effort="100" velocity="10"/>'), method)
    for force in (5.0, -50.0):
        plant.step([force], 100)
        assert plant.position[0] == 0.0


def test_collapsing_arm_gains_no_energy_from_its_limits(load_robot: Callable[..., Any]) -> None:
    """The Panda falls onto its limits; each stop takes energy, none gives any, and no limit is passed."""
    model, start = load_robot("panda"), [0.5, 1.0, -1.0, -2.0, 1.0, 2.0, 1.0]
    plant = Plant(model, initial_positions=start)
    energy = model.potential_energy(start)
    stopped = np.zeros(7, dtype=bool)
    for _ in range(3000):
        plant.step(np.zeros(7))
        after = model.kinetic_energy(plant.position, plant.velocity) + model.potential_energy(plant.position)
        assert after <= energy + 1e-3
        energy = min(energy, after)
        assert np.all((plant.position >= model.position_lower) & (plant.position <= model.position_upper))
        stopped |= (plant.position == model.position_lower) | (plant.position == model.position_upper)
    assert stopped.sum() >= 2
