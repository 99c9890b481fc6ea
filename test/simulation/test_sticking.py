"""Coulomb friction: it sticks exactly, slides by the closed forms, and never gives energy."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import plants

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant

INTEGRATORS = ("rk4", "semi_implicit")
PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]


def _planar(urdf_path: Callable[[str], Path], tmp_path: Path, text: str) -> RobotModel:
    file = tmp_path / "friction.yaml"
    file.write_text(f"joints: {text}")
    return RobotModel.from_urdf_file(urdf_path("planar_2r"), dynamics=file)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("sign", [1, -1])
def test_no_drift_in_a_minute_just_below_breakaway(integrator: str, sign: int, load_robot: Callable[..., Any]) -> None:
    """All joints of the Panda at 0.999 of their Coulomb level beyond gravity: the same bits after 60 s."""
    model = load_robot("panda", "panda_coulomb")
    level = sign * model.friction_torque(PANDA, sign * np.ones(7)) * sign
    plant = Plant(model, integrator, initial_positions=PANDA)
    tau = model.gravity_torque(PANDA) + 0.999 * level
    for _ in range(60):
        plant.step(tau, 1000)
        assert plant.stuck.all()
    assert plant.time == 60.0
    assert np.array_equal(plant.position, PANDA)
    assert not plant.velocity.any()


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("joint", range(7))
def test_breaks_away_just_above(integrator: str, sign: int, joint: int, load_robot: Callable[..., Any]) -> None:
    model = load_robot("panda", "panda_coulomb")
    level = model.friction_torque(PANDA, sign * np.ones(7))[joint]
    for factor in (0.999, 1.001):
        plant = Plant(model, integrator, initial_positions=PANDA)
        tau = model.gravity_torque(PANDA)
        tau[joint] += factor * level
        plant.step(tau, 50)
        moved = plant.position[joint] - PANDA[joint]
        assert (sign * moved > 0.0) if factor > 1.0 else (moved == 0.0)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("v0", [0.8, -0.7345])
def test_sliding_mass_stops_at_the_closed_form(integrator: str, v0: float) -> None:
    """On the level with friction mu m g: it stops after v0^2 / (2 mu g), within one step's length, for good."""
    mass, mu, g, dt = 2.0, 0.3, 9.81, 0.001
    plant = plants.slider(mass, mu * mass * g, (0, 0, -g), integrator=integrator, step_size=dt, initial_velocities=[v0])
    plant.step([0.0], math.ceil(abs(v0) / (mu * g) / dt) + 1)
    stop = plant.position
    error = mu * g * dt**2 if integrator == "rk4" else abs(v0) * dt
    assert stop[0] == pytest.approx(math.copysign(v0**2 / (2 * mu * g), v0), abs=error)
    assert plant.stuck.all()
    plant.step([0.0], 5000)
    assert np.array_equal(plant.position, stop)


@pytest.mark.parametrize("mu", [0.5, 0.9])
def test_mass_thrown_up_a_slope(mu: float) -> None:
    """Slope of 35 degrees, tan = 0.70: it stops after v0^2 / (2 g (sin + mu cos)).

    It stays there only where mu > tan, else it slides back with g (sin - mu cos).
    """
    mass, g, v0, slope = 1.5, 9.81, 2.0, math.radians(35)
    plant = plants.slider(
        mass,
        mu * mass * g * math.cos(slope),
        (-g * math.sin(slope), 0, -g * math.cos(slope)),
        initial_velocities=[v0],
    )
    up = g * (math.sin(slope) + mu * math.cos(slope))
    top, rise_time = v0**2 / (2 * up), v0 / up
    plant.step([0.0], math.ceil(rise_time / 0.001))
    assert plant.position[0] == pytest.approx(top, abs=up * 0.001**2)
    stop = plant.position
    plant.step([0.0], 1000)
    if mu > math.tan(slope):
        assert np.array_equal(plant.position, stop)
    else:
        down = g * (math.sin(slope) - mu * math.cos(slope))
        time = plant.time - rise_time
        assert plant.velocity[0] == pytest.approx(-down * time, abs=up * 0.001)
        assert plant.position[0] == pytest.approx(top - down * time**2 / 2, abs=up * 0.001 * time)


def test_pendulum_swings_out_by_its_energy() -> None:
    """Between turning points a, b: m g l (cos b - cos a) = tau_c (|a| + |b|); it ends where friction holds."""
    mass, length, coulomb, start = 2.0, 0.5, 0.6, 1.2
    plant = plants.pendulum(mass, length, coulomb, initial_positions=[start], step_size=0.0005)
    weight = mass * 9.81 * length
    expected, turn = [], start
    while weight * math.sin(abs(turn)) > coulomb:
        low, high = 0.0, abs(turn)  # bisection on the energy left over at the other side
        for _ in range(60):
            middle = (low + high) / 2
            left = weight * (math.cos(middle) - math.cos(turn)) - coulomb * (abs(turn) + middle)
            low, high = (middle, high) if left > 0.0 else (low, middle)
        turn = -math.copysign(low, turn)
        expected.append(turn)
    turns, direction = [], -1.0
    while not plant.stuck[0] or len(turns) < len(expected) - 1:
        plant.step([0.0])
        if plant.velocity[0] * direction < 0.0:
            turns.append(plant.position[0])
            direction = -direction
        assert plant.time < 30.0
    turns.append(plant.position[0])
    assert len(expected) > 5
    assert turns == pytest.approx(expected, abs=2e-5)
    plant.step([0.0], 10000)
    assert plant.position[0] == turns[-1]


def test_joint_that_sticks_is_as_good_as_locked(urdf_path: Callable[[str], Path], tmp_path: Path) -> None:
    """Joint 2 swings while friction holds joint 1, as if joint 1 were a fixed joint: to rounding."""
    model = _planar(urdf_path, tmp_path, "{joint1: {coulomb: 1000.0}}")
    locked = RobotModel.from_urdf_file(urdf_path("planar_2r"), locked={"joint1": 0.4})
    plant = Plant(model, initial_positions=[0.4, -0.3])
    peer = Plant(locked, initial_positions=[-0.3])
    for _ in range(20):
        plant.step([0.0, 1.0], 50)
        peer.step([1.0], 50)
        assert plant.position[0] == 0.4
        assert plant.position[1] == pytest.approx(peer.position[0], abs=1e-12)


def test_both_integrators_converge_to_the_same_stick_slip_motion(load_robot: Callable[..., Any]) -> None:
    """Joints start, stop and reverse under a slow torque; at a tenth of the step they agree ten times better."""
    model = load_robot("panda", "panda_coulomb")
    gap = []
    for step in (0.001, 0.0001):
        ends = []
        for integrator in INTEGRATORS:
            plant = Plant(model, integrator, step, initial_positions=PANDA)
            for k in range(100):
                wave = np.sin(0.2 * k + np.arange(7)) * [4.0, 4.0, 2.0, 2.0, 1.0, 0.6, 0.6]
                plant.step(model.gravity_torque(PANDA) + wave, round(0.01 / step))
            ends.append(plant.position)
        gap.append(np.abs(ends[0] - ends[1]).max())
    assert np.abs(ends[0] - PANDA).max() > 0.05
    assert gap[1] < 0.25 * gap[0]


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31 - 1), integrator=st.sampled_from(INTEGRATORS))
def test_friction_and_limits_do_no_positive_work(seed: int, integrator: str, load_robot: Callable[..., Any]) -> None:
    """Their impulse and the velocity after the step never have the same sign, whatever the torque."""
    model = load_robot("panda", "panda_coulomb")
    rng = np.random.default_rng(seed)
    lower, upper = model.position_lower, model.position_upper
    plant = Plant(
        model,
        integrator,
        initial_positions=rng.uniform(lower, upper),
        initial_velocities=rng.choice([0.0, 1.0]) * rng.uniform(-2, 2, 7),
    )
    for _ in range(20):
        tau = model.gravity_torque(plant.position) + rng.choice([0.2, 2.0, 20.0]) * rng.standard_normal(7)
        for _ in range(10):
            plant.step(tau)
            assert np.all(plant._state.impulse * plant.velocity <= 0.0)
            assert np.all((plant.position >= lower) & (plant.position <= upper))


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31 - 1))
def test_energy_only_falls_without_torque(seed: int, load_robot: Callable[..., Any]) -> None:
    model = load_robot("panda", "panda_coulomb")
    rng = np.random.default_rng(seed)
    plant = Plant(model, initial_positions=rng.uniform(model.position_lower, model.position_upper))
    energy = model.potential_energy(plant.position)
    for _ in range(300):
        plant.step(np.zeros(7), 5)
        after = model.kinetic_energy(plant.position, plant.velocity) + model.potential_energy(plant.position)
        assert after <= energy + 1e-6
        energy = after
