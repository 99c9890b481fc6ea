"""Position limits: joints stop there, stay there, and gain nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from simulation import plants

from robot_dynamics_ros.simulation import Plant

INTEGRATORS = ("rk4", "semi_implicit")
LIMIT = '<limit lower="-0.4" upper="0.5" effort="100" velocity="10"/>'


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("coulomb", [0.0, 0.5])
@pytest.mark.parametrize(("force", "limit"), [(7.0, 0.5), (-7.0, -0.4)])
def test_mass_driven_into_a_limit_stops_and_stays(integrator: str, coulomb: float, force: float, limit: float) -> None:
    plant = plants.slider(1.3, coulomb, (0, 0, -9.81), limit=LIMIT, integrator=integrator)
    fastest = 0.0
    for _ in range(1000):
        plant.step([force])
        fastest = max(fastest, abs(plant.velocity[0]))
        assert -0.4 <= plant.position[0] <= 0.5
    assert fastest > 1.0
    assert plant.position[0] == limit
    assert plant.velocity[0] == 0.0
    assert not plant.stuck[0]
    plant.step([-force], 10)
    assert abs(plant.position[0]) < abs(limit)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_joint_beyond_its_limit_is_not_pushed_but_may_come_back(integrator: str) -> None:
    plant = plants.slider(1.3, 0.0, (0, 0, -9.81), LIMIT, integrator=integrator, initial_positions=[0.7])
    plant.step([0.0], 100)
    assert plant.position[0] == 0.7
    plant.step([5.0], 100)
    assert plant.position[0] == 0.7
    assert plant.velocity[0] == 0.0
    plant.step([-5.0], 100)
    assert 0.5 < plant.position[0] < 0.7
    moving = plants.slider(1.3, 0.0, (0, 0, -9.81), LIMIT, integrator=integrator, initial_positions=[0.7])
    moving.step([-5.0], 1000)
    assert moving.position[0] == -0.4


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_joint_between_equal_limits_never_moves(integrator: str) -> None:
    limit = '<limit lower="0" upper="0" effort="100" velocity="10"/>'
    plant = plants.slider(1.3, 0.0, (3.0, 0, -9.81), limit, integrator=integrator)
    plant.step([5.0], 100)
    plant.step([-50.0], 100)
    assert plant.position[0] == 0.0


@pytest.mark.parametrize("start", [[0.0, 0.3, 0.0, -1.0, 0.0, 1.5, 0.0], [0.5, 1.0, -1.0, -2.0, 1.0, 2.0, 1.0]])
def test_collapsing_arm_gains_no_energy_from_its_limits(start: list[float], load_robot: Callable[..., Any]) -> None:
    """The Panda falls onto its limits; each stop takes energy, none gives any, and no limit is passed."""
    model = load_robot("panda")
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
