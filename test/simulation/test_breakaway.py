"""The end of sticking: when a torque ramp breaks a joint away, and that nothing less does."""

import math

import numpy as np
import pytest
from simulation import plants

from robot_dynamics_ros.simulation.event_plant import EventPlant

STEP = 0.001


@pytest.mark.parametrize("method", plants.METHODS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("friction", [{}, {"static": 0.8}, {"static": 0.8, "stribeck_velocity": 0.05}])
def test_torque_ramp_breaks_away_at_the_static_level(method: str, sign: int, friction: dict[str, float]) -> None:
    """At tau_static / rate, in the very step in which this time lies; tau_c where there is no static level.

    Each step has the torque of its end.
    """
    rate = 1.234
    level = friction.get("static", 0.5 if sign > 0 else 0.6)
    plant = plants.start(plants.turning(0.05, coulomb=0.5, coulomb_negative=0.6, **friction), method, STEP)
    while plant.velocity[0] == 0.0:
        assert plant.position[0] == 0.0
        assert plant.stuck[0]
        before = plant.time
        plant.step([sign * rate * (before + STEP)])
        assert plant.time < 1.0
    assert before < level / rate < plant.time
    assert sign * plant.position[0] > 0.0
    assert not plant.stuck[0]


def _angle(method: str, step: float) -> float:
    plant = plants.start(plants.turning(0.05, coulomb=0.5, static=0.8), method, step)
    plant.step([0.81], round(0.5 / step))
    return float(plant.position[0])


def test_friction_falls_to_the_coulomb_level_once_it_slides() -> None:
    """Without Stribeck velocity q = (tau - tau_c) t^2 / (2 I) from breakaway on.

    A plant's first step has the static level yet: its error is below 2 (tau_static - tau_c) / I t dt. The
    event method has none.
    """
    duration, inertia = 0.5, 0.05
    expected = (0.81 - 0.5) * duration**2 / (2 * inertia)
    assert _angle("event", 0.1) == pytest.approx(expected, rel=1e-11)
    for method in ("rk4", "semi_implicit"):
        for step in (1e-3, 1e-4):
            assert abs(_angle(method, step) - expected) < 2 * 0.3 / inertia * duration * step


@pytest.mark.parametrize("method", plants.METHODS)
@pytest.mark.parametrize("sign", [1, -1])
def test_no_drift_in_a_minute_on_a_tilted_arm(method: str, sign: int) -> None:
    """Held against gravity m g l sin q plus or minus 0.999 tau_c: the same bits after 60 s; 1.001 moves it."""
    mass, length, coulomb, angle = 2.0, 0.5, 0.6, 0.9
    model = plants.pendulum(mass, length, coulomb).model
    weight = mass * 9.81 * length * math.sin(angle)
    plant = plants.start(model, method, STEP, initial_positions=[angle])
    for _ in range(60):
        plant.step([weight + sign * 0.999 * coulomb], 1000)
    assert plant.time == 60.0
    assert plant.position[0] == angle
    assert plant.velocity[0] == 0.0
    assert plant.stuck[0]
    plant.step([weight + sign * 1.001 * coulomb], 10)
    assert sign * (plant.position[0] - angle) > 0.0


def test_neighbours_motion_breaks_a_joint_away() -> None:
    """The first rod sticks while the second swings faster and faster, up to the instant that its force gives way.

    With joint 1 still, the force on it is tau_1 - m2 l1 lc2 (cos q2 a2 - sin q2 v2^2), a2 = tau_2 / I2: found
    by bisection of the closed form of q2 = tau_2 t^2 / (2 I2).
    """
    coulomb, tau = 6.0, 1.3
    model = plants.planar({"joint1": {"coulomb": coulomb}}, gravity=(0, 0, 0))
    inertia, coupling = 3.0 * 0.4**2 / 3, 3.0 * 0.5 * 0.2
    a2 = tau / inertia

    def force(t: float) -> float:
        q2, v2 = a2 * t**2 / 2, a2 * t
        return (inertia + coupling * math.cos(q2)) * a2 - coupling * math.sin(q2) * v2**2

    grid = np.linspace(0.0, 2.0, 20001)
    first = int(np.argmax([abs(force(t)) > coulomb for t in grid]))
    low, high = grid[first - 1], grid[first]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if abs(force(middle)) > coulomb else (middle, high)
    assert low > 0.1
    plant = EventPlant(model, float(low) - 1e-9)
    plant.step([0.0, tau])
    assert plant.stuck.tolist() == [True, False]
    assert plant.position[0] == 0.0
    assert plant.position[1] == pytest.approx(a2 * low**2 / 2, rel=1e-8)
    plant = EventPlant(model, float(low) + 1e-3)
    plant.step([0.0, tau])
    assert plant.position[0] != 0.0
