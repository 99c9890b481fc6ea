"""How long and how far one rotating joint slides before friction stops it: closed forms."""

import math

import pytest
from simulation import plants

STEP = {"rk4": 0.001, "semi_implicit": 0.001, "event": 0.02}


def _run_out(method: str, inertia: float, v0: float, step: float, **friction: float) -> tuple[float, float, float]:
    """Time before and after the step in which the joint stops, and where it stops, for good."""
    plant = plants.start(plants.turning(inertia, **friction), method, step, initial_velocities=[v0])
    while plant.velocity[0] != 0.0:
        before = plant.time
        plant.step([0.0])
        assert plant.time < 10.0
    after, stop = plant.time, plant.position[0]
    assert plant.stuck[0]
    plant.step([0.0], 1000)
    assert plant.position[0] == stop
    return before, after, stop


@pytest.mark.parametrize("method", plants.METHODS)
@pytest.mark.parametrize(("v0", "level"), [(1.37, 0.42), (-2.3, 0.9)])
def test_coulomb_friction_alone(method: str, v0: float, level: float) -> None:
    """It stops after I |v0| / tau_c, having turned by I v0^2 / (2 tau_c), tau_c by direction.

    In the step in which this time lies; rk4 within tau_c / I dt^2 of the place, semi_implicit, q+ = q + dt v+,
    within |v0| dt, the event method to rounding.
    """
    inertia, forward, backward, dt = 0.31, 0.42, 0.9, STEP[method]
    time, angle = inertia * abs(v0) / level, math.copysign(inertia * v0**2 / (2 * level), v0)
    before, after, stop = _run_out(method, inertia, v0, dt, coulomb=forward, coulomb_negative=backward)
    assert before < time < after
    error = {"rk4": level / inertia * dt**2, "semi_implicit": abs(v0) * dt, "event": 1e-12}[method]
    assert stop == pytest.approx(angle, rel=0, abs=error)


@pytest.mark.parametrize("method", plants.METHODS)
@pytest.mark.parametrize("v0", [1.7, -1.7])
def test_viscous_and_coulomb_friction(method: str, v0: float) -> None:
    """It stops after T = (I/b) ln(1 + b v0/tau_c), having turned by (I v0 - tau_c T) / b.

    From I v' = -b v - tau_c. semi_implicit is a step or two off in time, from its first order.
    """
    inertia, coulomb, viscous, dt = 0.31, 0.42, 0.8, STEP[method]
    time = inertia / viscous * math.log1p(viscous * abs(v0) / coulomb)
    angle = math.copysign((inertia * abs(v0) - coulomb * time) / viscous, v0)
    before, after, stop = _run_out(method, inertia, v0, dt, coulomb=coulomb, viscous=viscous)
    slack = 2 * dt if method == "semi_implicit" else 0.0
    assert before - slack < time < after + slack
    error = {"rk4": coulomb / inertia * dt**2, "semi_implicit": abs(v0) * dt, "event": 1e-11}[method]
    assert stop == pytest.approx(angle, rel=0, abs=error)


@pytest.mark.parametrize(("method", "order"), [("rk4", 2), ("semi_implicit", 1)])
def test_place_of_the_stop_converges(method: str, order: int) -> None:
    """The error of I v0^2 / (2 tau_c) is below a bound proportional to dt^2 (rk4) or dt, for three steps."""
    inertia, coulomb, v0 = 0.31, 0.42, 1.37
    for step in (0.01, 0.001, 0.0001):
        _, _, stop = _run_out(method, inertia, v0, step, coulomb=coulomb)
        bound = coulomb / inertia * step**2 if order == 2 else v0 * step
        assert abs(stop - inertia * v0**2 / (2 * coulomb)) < bound


@pytest.mark.parametrize("method", plants.METHODS)
@pytest.mark.parametrize("step", [1e-3, 1e-4, 1e-5])
def test_a_joint_that_would_reverse_is_caught_by_the_static_level(method: str, step: float) -> None:
    """Against 5 Nm it stops after I v0^2 / (2 (tau_c + 5)) and stays: 2 Nm while it slides would not hold it, 8 do."""
    plant = plants.start(plants.turning(0.3, coulomb=2.0, static=8.0), method, step, initial_velocities=[0.5])
    plant.step([-5.0], round(0.1 / step))
    assert plant.stuck[0]
    assert plant.velocity[0] == 0.0
    assert plant.position[0] == pytest.approx(0.3 * 0.5**2 / (2 * 7.0), abs=0.5 * step + 1e-12)
