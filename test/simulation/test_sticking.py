"""Dry friction by closed forms, for every method: what it holds, where it gives way, and where it stops a motion."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.event_plant import EventPlant
from support import plants

PANDA = [0.3, -0.5, 0.2, -1.5, 0.1, 1.0, 0.3]
any_method = pytest.mark.parametrize("method", plants.METHODS)

# --- At rest


@any_method
@pytest.mark.parametrize("sign", [1, -1])
def test_no_drift_in_a_minute_just_below_breakaway(method: str, sign: int, load_robot: Callable[..., Any]) -> None:
    """All joints of the Panda at 0.999 of their Coulomb level beyond gravity: the same bits after 60 s."""
    model = load_robot("panda", "panda_coulomb")
    plant = plants.start(model, method, initial_positions=PANDA)
    tau = model.gravity_torque(PANDA) + 0.999 * model.friction_torque(PANDA, sign * np.ones(7))
    for _ in range(60):
        plant.step(tau, 1000)
        assert plant.stuck.all()
    assert plant.time == 60.0
    assert np.array_equal(plant.position, PANDA)
    assert not plant.velocity.any()


@any_method
@pytest.mark.parametrize("sign", [1, -1])
def test_each_joint_breaks_away_just_above(method: str, sign: int, load_robot: Callable[..., Any]) -> None:
    model = load_robot("panda", "panda_coulomb")
    levels = model.friction_torque(PANDA, sign * np.ones(7))
    for joint, level in enumerate(levels):
        plant = plants.start(model, method, initial_positions=PANDA)
        for factor in (0.999, 1.001):
            tau = model.gravity_torque(PANDA)
            tau[joint] += factor * level
            plant.step(tau, 50)
            moved = plant.position[joint] - PANDA[joint]
            assert (sign * moved > 0.0) if factor > 1.0 else (moved == 0.0)


@any_method
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("friction", [{}, {"static": 0.8}, {"static": 0.8, "stribeck_velocity": 0.05}])
def test_torque_ramp_breaks_away_at_the_static_level(method: str, sign: int, friction: dict[str, float]) -> None:
    """At tau_static / rate, in the very step in which this time lies; tau_c where there is no static level.

    Each step has the torque of its end.
    """
    rate, step = 1.234, 0.001
    level = friction.get("static", 0.5 if sign > 0 else 0.6)
    plant = plants.start(plants.turning(0.05, coulomb=0.5, coulomb_negative=0.6, **friction), method, step)
    while plant.velocity[0] == 0.0:
        assert plant.position[0] == 0.0
        assert plant.stuck[0]
        before = plant.time
        plant.step([sign * rate * (before + step)])
        assert plant.time < 1.0
    assert before < level / rate < plant.time
    assert sign * plant.position[0] > 0.0
    assert not plant.stuck[0]


@any_method
def test_friction_falls_to_the_coulomb_level_once_it_slides(method: str) -> None:
    """Without Stribeck velocity q = (tau - tau_c) t^2 / (2 I) from breakaway on.

    A plant's first step has the static level yet: its error is below 2 (tau_static - tau_c) / I t dt.
    """
    duration, inertia = 0.5, 0.05
    expected = (0.81 - 0.5) * duration**2 / (2 * inertia)
    for step in (0.1,) if method == "event" else (1e-3, 1e-4):
        plant = plants.start(plants.turning(inertia, coulomb=0.5, static=0.8), method, step)
        plant.step([0.81], round(duration / step))
        error = 1e-11 if method == "event" else 2 * 0.3 / inertia * duration * step
        assert plant.position[0] == pytest.approx(expected, rel=0, abs=error)


def test_neighbours_motion_breaks_a_joint_away() -> None:
    """The first rod sticks while the second swings faster and faster, up to the instant that its force gives way.

    With joint 1 still, the force on it is tau_1 - m2 l1 lc2 (cos q2 a2 - sin q2 v2^2), a2 = tau_2 / I2: found
    by bisection of the closed form of q2 = tau_2 t^2 / (2 I2).
    """
    coulomb, tau = 6.0, 1.3
    model = plants.planar({"joint1": {"coulomb": coulomb}}, gravity=(0, 0, 0))
    inertia, coupling = 3.0 * 0.4**2 / 3, 3.0 * 0.5 * 0.2
    a2 = tau / inertia

    def gives_way(t: float) -> bool:
        q2, v2 = a2 * t**2 / 2, a2 * t
        return abs((inertia + coupling * math.cos(q2)) * a2 - coupling * math.sin(q2) * v2**2) > coulomb

    grid = np.linspace(0.0, 2.0, 20001)
    first = int(np.argmax([gives_way(t) for t in grid]))
    low, high = grid[first - 1], grid[first]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if gives_way(middle) else (middle, high)
    assert low > 0.1
    plant, late = (EventPlant(model, float(low) + more) for more in (-1e-9, 1e-3))
    plant.step([0.0, tau])
    assert plant.stuck.tolist() == [True, False]
    assert plant.position[0] == 0.0
    assert plant.position[1] == pytest.approx(a2 * low**2 / 2, rel=1e-8)
    late.step([0.0, tau])
    assert late.position[0] != 0.0


def test_joint_that_sticks_is_as_good_as_locked(urdf_path: Callable[[str], Path]) -> None:
    """Joint 2 swings while friction holds joint 1, as if joint 1 were a fixed joint: to rounding."""
    model = plants.with_friction(urdf_path("planar_2r").read_text(), {"joint1": {"coulomb": 1000.0}})
    locked = RobotModel.from_urdf_file(urdf_path("planar_2r"), locked={"joint1": 0.4})
    plant, peer = Plant(model, initial_positions=[0.4, -0.3]), Plant(locked, initial_positions=[-0.3])
    for _ in range(20):
        plant.step([0.0, 1.0], 50)
        peer.step([1.0], 50)
        assert plant.position[0] == 0.4
        assert plant.position[1] == pytest.approx(peer.position[0], abs=1e-12)


# --- Coming to rest


@any_method
@pytest.mark.parametrize(("v0", "level", "viscous"), [(1.37, 0.42, 0.0), (-2.3, 0.9, 0.0), (1.7, 0.42, 0.8)])
def test_sliding_joint_stops_by_the_closed_form(method: str, v0: float, level: float, viscous: float) -> None:
    """I v' = -b v - tau_c, tau_c by direction: after T = (I/b) ln(1 + b v0/tau_c), at (I v0 - tau_c T) / b.

    Without b: after I v0 / tau_c, at I v0^2 / (2 tau_c). In the step in which this time lies; rk4 within
    tau_c / I dt^2 of the place, semi_implicit, q+ = q + dt v+, within v0 dt, and with b a step or two off in time.
    """
    inertia, speed = 0.31, abs(v0)
    time, angle = inertia * speed / level, inertia * v0**2 / (2 * level)
    if viscous:
        time = inertia / viscous * math.log1p(viscous * speed / level)
        angle = (inertia * speed - level * time) / viscous
    model = plants.turning(inertia, coulomb=0.42, coulomb_negative=0.9, viscous=viscous)
    for step in (0.02,) if method == "event" else (0.01, 0.001, 0.0001):
        plant = plants.start(model, method, step, initial_velocities=[v0])
        while plant.velocity[0] != 0.0:
            before = plant.time
            plant.step([0.0])
            assert plant.time < 10.0
        slack = 2 * step if method == "semi_implicit" and viscous else 0.0
        assert before - slack < time < plant.time + slack
        error = {"rk4": level / inertia * step**2, "semi_implicit": speed * step, "event": 1e-11}[method]
        stop = plant.position[0]
        assert stop == pytest.approx(math.copysign(angle, v0), rel=0, abs=error)
        assert plant.stuck[0]
        plant.step([0.0], 1000)
        assert plant.position[0] == stop


@any_method
@pytest.mark.parametrize("step", [1e-3, 1e-4, 1e-5])
def test_joint_that_would_reverse_is_caught_by_the_static_level(method: str, step: float) -> None:
    """Against 5 Nm it stops after I v0^2 / (2 (tau_c + 5)) and stays: 2 Nm while it slides would not hold it, 8 do."""
    plant = plants.start(plants.turning(0.3, coulomb=2.0, static=8.0), method, step, initial_velocities=[0.5])
    plant.step([-5.0], round(0.1 / step))
    assert plant.stuck[0]
    assert plant.velocity[0] == 0.0
    assert plant.position[0] == pytest.approx(0.3 * 0.5**2 / (2 * 7.0), abs=0.5 * step + 1e-12)


@any_method
@pytest.mark.parametrize(("mu", "static"), [(0.5, 0.0), (0.9, 0.0), (0.5, 0.75)])
def test_mass_thrown_up_a_slope(method: str, mu: float, static: float) -> None:
    """Slope of 35 degrees, tan = 0.70: up to v0^2 / (2 g (sin + mu cos)); then it stays where the level is over tan.

    Else it slides back with g (sin - mu cos).
    """
    mass, g, v0, slope, step = 1.5, 9.81, 2.0, math.radians(35), 0.001
    normal = mass * g * math.cos(slope)
    urdf = plants.sliding_block(mass).urdf
    friction = {"slide": {"coulomb": mu * normal, "static": max(mu, static) * normal}}
    model = plants.with_friction(urdf, friction, gravity=(-g * math.sin(slope), 0, -g * math.cos(slope)))
    plant = plants.start(model, method, step, initial_velocities=[v0])
    plant.step([0.0], 1000)
    up, down = g * (math.sin(slope) + mu * math.cos(slope)), g * (math.sin(slope) - mu * math.cos(slope))
    top, left = v0**2 / (2 * up), 1.0 - v0 / up
    slow, held = {"rk4": up * step, "semi_implicit": v0 * step, "event": 1e-11}[method], max(mu, static) > 0.7
    assert plant.stuck[0] == (plant.velocity[0] == 0.0) == held
    if held:
        assert plant.position[0] == pytest.approx(top, rel=0, abs=up * step**2 if method == "rk4" else slow)
    else:
        assert plant.position[0] == pytest.approx(top - down * left**2 / 2, rel=0, abs=2.0 * slow)
        assert plant.velocity[0] == pytest.approx(-down * left, rel=0, abs=2.0 * up * slow)


@pytest.mark.parametrize(("method", "error"), [("rk4", 2e-5), ("event", 1e-11)])
def test_pendulum_swings_out_by_its_energy(method: str, error: float) -> None:
    """Between turning points a, b: m g l (cos b - cos a) = tau_c (|a| + |b|), until friction holds it."""
    mass, length, coulomb, turn, turns = 2.0, 0.5, 0.6, 1.2, 0
    plant = plants.start(plants.pendulum(mass, length, coulomb).model, method, 0.0005, initial_positions=[turn])
    weight = mass * 9.81 * length
    while weight * math.sin(abs(turn)) > coulomb:
        low, high = 0.0, abs(turn)  # bisection on the energy left over at the other side
        for _ in range(60):
            middle = (low + high) / 2
            rest = weight * (math.cos(middle) - math.cos(turn)) - coulomb * (abs(turn) + middle)
            low, high = (middle, high) if rest > 0.0 else (low, middle)
        turn, turns = -math.copysign(low, turn), turns + 1
    assert turns > 5
    plant.step([0.0], 40_000)
    assert plant.stuck[0]
    assert plant.position[0] == pytest.approx(turn, rel=0, abs=error)
