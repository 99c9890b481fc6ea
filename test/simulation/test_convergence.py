"""What the plant converges to as its step shrinks, and how fast: energy, and the event method with friction."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from simulation import plants

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

Array = NDArray[np.float64]
START = [0.4, -0.7]
STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4)
KINDS = {
    "coulomb": (
        {"coulomb": 2.0, "viscous": 0.4},
        {"coulomb": 1.0, "coulomb_negative": 0.8, "viscous": 0.2},
    ),
    "stribeck": (
        {"coulomb": 2.0, "static": 3.0, "stribeck_velocity": 0.1, "viscous": 0.4},
        {"coulomb": 1.0, "static": 1.5, "stribeck_velocity": 0.1, "viscous": 0.2},
    ),
}


@pytest.mark.parametrize(
    "start", [[0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3], [0.0, 0.4, 0.0, -2.0, 0.0, 1.6, 0.8]], ids=["bent", "plain"]
)
def test_energy_error_without_friction_falls_at_fourth_order(
    start: list[float], urdf_path: Callable[[str], Path]
) -> None:
    """Largest error of T + U over a second of the falling Panda: halving the step of rk4 divides it by 2^4."""
    model = RobotModel.from_urdf(plants.unlimited(urdf_path("panda")))
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        plant = Plant(model, "rk4", step, initial_positions=start)
        drift = 0.0
        for _ in range(100):
            plant.step(np.zeros(7), round(0.01 / step))
            energy = model.kinetic_energy(plant.position, plant.velocity) + model.potential_energy(plant.position)
            drift = max(drift, abs(float(energy - model.potential_energy(start))))
        errors.append(drift)
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(4.0, abs=0.25)


def _path(model: RobotModel, method: str, step: float) -> tuple[Array, NDArray[np.bool_]]:
    """Positions and who sticks, every 0.05 s for 2 s, under waves about gravity that move the joints by turns."""
    plant = plants.start(model, method, step, initial_positions=START)
    positions, stuck = [], []
    for k in range(40):
        wave = np.array([3.3 * np.sin(0.25 * k), 1.7 * np.sin(0.365 * k + 1)])
        plant.step(model.gravity_torque(plant.position) + wave, round(0.05 / step))
        positions.append(plant.position)
        stuck.append(plant.stuck)
    return np.array(positions), np.array(stuck)


@cache
def _damped_arm(kind: str) -> tuple[RobotModel, Array]:
    first, second = KINDS[kind]
    model = plants.planar({"joint1": first, "joint2": second})
    positions, stuck = _path(model, "event", 0.05)
    changes = (stuck[1:] != stuck[:-1]).sum(axis=0)
    assert changes.min() >= 4, "each joint starts and stops"
    assert np.ptp(positions, axis=0).min() > 0.05
    return model, positions


@pytest.mark.parametrize(
    ("kind", "integrator", "factor"),
    [
        ("coulomb", "rk4", 0.1),
        ("coulomb", "semi_implicit", 2.0),
        ("stribeck", "rk4", 20.0),
        ("stribeck", "semi_implicit", 30.0),
    ],
)
def test_friction_damped_arm_agrees_with_the_event_method_to_first_order(
    kind: str, integrator: str, factor: float
) -> None:
    """Largest position error over 2 s of stick-slip is below factor (rad/s) times the step.

    Measured: order 1 for both integrators, from the steps in which joints start, stop and reverse. Fits from 5 ms
    to 0.02 ms: Coulomb rk4 1.04, semi_implicit 1.00; Stribeck 1.15, 1.13. Errors (rad) at 1 ms: Coulomb 3e-5 and
    1.2e-3; Stribeck, whose level is that of the last velocity, 0.01 and 0.02. The fit over the steps here is 0.8 at
    least.
    """
    model, reference = _damped_arm(kind)
    errors = [np.abs(_path(model, integrator, step)[0] - reference).max() for step in STEPS]
    order = np.polyfit(np.log(STEPS), np.log(errors), 1)[0]
    print(f"{kind}, {integrator}: order {order:.2f}, error at 1 ms {errors[STEPS.index(1e-3)]:.1e} rad")
    assert order > 0.8
    assert np.all(np.array(errors) < factor * np.array(STEPS))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_random_robots_agree_with_the_event_method(seed: int) -> None:
    """With limits and every kind of friction, from rest or moving: 1e-3 rad after 0.2 s of 0.02 ms steps."""
    rng = np.random.default_rng(seed)
    model = plants.random_robot(rng, 4)
    q = np.clip(rng.uniform(-0.5, 0.5, model.n), model.position_lower, model.position_upper)
    v = rng.choice([0.0, 1.0]) * rng.uniform(-1.0, 1.0, model.n)
    torques = [model.gravity_torque(q) + rng.choice([2.0, 8.0]) * rng.standard_normal(model.n) for _ in range(4)]
    ends = []
    for method, step in (("event", 0.05), ("rk4", 2e-5), ("semi_implicit", 2e-5)):
        plant = plants.start(model, method, step, initial_positions=q, initial_velocities=v)
        for tau in torques:
            plant.step(tau, round(0.05 / step))
        ends.append(plant.position)
    assert np.abs(ends[1] - ends[0]).max() < 1e-3
    assert np.abs(ends[2] - ends[0]).max() < 1e-3
