"""An oscillator with Coulomb friction: one rotating joint, the spring as torque -k q applied each step."""

import math

import pytest
from simulation import plants

INERTIA, STIFFNESS, COULOMB = 0.2, 5.0, 0.35


def _turning_points(method: str, step: float, start: float) -> list[float]:
    """Where the velocity changes its sign, and where the joint comes to rest last, for good."""
    model = plants.turning(INERTIA, coulomb=COULOMB)
    plant = plants.start(model, method, step, initial_positions=[start])
    turns = []
    direction = 0.0
    while plant.time < 6.0:
        before = plant.position
        plant.step(-STIFFNESS * before)
        v = plant.velocity[0]
        if direction != 0.0 and v * direction <= 0.0:
            turns.append(plant.position[0])
        direction = v
    assert plant.stuck[0]
    rest = plant.position
    plant.step(-STIFFNESS * rest, 1000)
    assert plant.position[0] == rest[0] == turns[-1]
    return turns


def _worst(method: str, step: float, start: float) -> float:
    """Largest error of the turning points: +-(q0 - 2 k tau_c / stiffness) until |stiffness q| <= tau_c."""
    fall = 2 * COULOMB / STIFFNESS
    expected = [start]
    while STIFFNESS * abs(expected[-1]) > COULOMB:
        expected.append(-math.copysign(abs(expected[-1]) - fall, expected[-1]))
    turns = _turning_points(method, step, start)
    assert len(turns) == len(expected) - 1 >= 3
    assert STIFFNESS * abs(turns[-1]) <= COULOMB
    return max(abs(a - b) for a, b in zip(turns, expected[1:], strict=True))


@pytest.mark.parametrize(
    ("method", "start", "steps"),
    [("rk4", 1.0, (1e-3, 2.5e-4)), ("semi_implicit", 1.0, (4e-3, 1e-3)), ("event", 0.44, (0.004,))],
)
def test_turning_points_fall_by_twice_the_friction_over_the_stiffness(
    method: str, start: float, steps: tuple[float, ...]
) -> None:
    """Each half cycle by 2 tau_c / k, and it rests where |k q| <= tau_c, within 20 rad/s times the step.

    The torque of a step is that at its beginning, half a step late: each half cycle adds pi/4 omega dt of the
    amplitude, omega = 5 rad/s, so that seven of them add up to 16 rad/s dt.
    """
    for step in steps:
        assert _worst(method, step, start) < 20.0 * step
