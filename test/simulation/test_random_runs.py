"""Random robots with every kind of friction under random torques: what must hold in each step."""

import numpy as np
import pytest
from simulation import plants

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

INTEGRATORS = ("rk4", "semi_implicit")


def _run(model: RobotModel, integrator: str, rng: np.random.Generator, steps: int) -> tuple[int, int]:
    """Joint-steps in which a joint stuck, and in which it was at a limit."""
    lower, upper = model.position_lower, model.position_upper
    plant = Plant(
        model,
        integrator,
        float(rng.choice([1e-4, 1e-3, 1e-2])),
        np.clip(rng.uniform(-0.5, 0.5, model.n), lower, upper),
        rng.choice([0.0, 1.0]) * rng.uniform(-2.0, 2.0, model.n),
    )
    stuck = limited = 0
    for _ in range(steps):
        plant.step(model.gravity_torque(plant.position) + rng.choice([1.0, 5.0, 50.0]) * rng.standard_normal(model.n))
        assert np.all(plant.impulse * plant.velocity <= 0.0)
        assert np.all((lower <= plant.position) & (plant.position <= upper))
        stuck += int(plant.stuck.sum())
        limited += int(np.sum((plant.position == lower) | (plant.position == upper)))
    return stuck, limited


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "robots", [pytest.param(25, id="500 runs"), pytest.param(500, id="10000 runs", marks=pytest.mark.slow)]
)
def test_friction_and_limits_do_no_positive_work(robots: int) -> None:
    """lambda_j v+_j <= 0 for each joint in each step, lambda the impulse of friction and limits; 20 runs a robot."""
    stuck = limited = 0
    for seed in range(robots):
        rng = np.random.default_rng(seed)
        model = plants.random_robot(rng)
        for run in range(20):
            counts = _run(model, INTEGRATORS[run % 2], rng, 10)
            stuck, limited = stuck + counts[0], limited + counts[1]
    assert min(stuck, limited) > 20 * robots
