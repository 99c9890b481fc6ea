"""Mirror symmetry: an arm in a plane, without gravity and with the same friction both ways."""

import numpy as np
import pytest
from numpy.typing import NDArray
from simulation import plants

Array = NDArray[np.float64]
FRICTION = {
    "joint1": {"coulomb": 2.0, "static": 3.0, "stribeck_velocity": 0.1, "viscous": 0.4},
    "joint2": {"coulomb": 1.0, "viscous": 0.2},
}
LIMIT = '<limit lower="-0.3" upper="0.3" effort="100" velocity="10"/>'


def _motion(method: str, side: float, calls: int, count: int, **more: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    friction = {"joint1": FRICTION["joint1"], "joint2": FRICTION["joint2"] | more}
    model = plants.planar(friction, gravity=(0, 0, 0), limit2=LIMIT)
    start = {"initial_positions": [side * 0.4, side * -0.2], "initial_velocities": [0.0, side * 1.3]}
    plant = plants.start(model, method, **start)
    rows = []
    for k in range(calls):
        plant.step(side * np.array([4.0 * np.sin(5e-3 * count * k), 2.0 * np.sin(7e-3 * count * k + 1)]), count)
        rows.append((plant.position, plant.velocity, plant.stuck))
    q, v, stuck = (np.array(column) for column in zip(*rows, strict=True))
    return q, v, stuck


@pytest.mark.parametrize("method", plants.METHODS)
def test_mirrored_start_and_torque_give_the_mirrored_motion(method: str) -> None:
    """q -> -q, v -> -v, tau -> -tau leaves the equations as they are: bit for bit with the plant's steps.

    The motion has joints that stick, slide both ways and lie against a limit.
    """
    calls, count = (40, 50) if method == "event" else (2000, 1)
    left, right = _motion(method, 1.0, calls, count), _motion(method, -1.0, calls, count)
    exact = method != "event"
    for a, b in zip(left[:2], right[:2], strict=True):
        assert np.abs(a + b).max() <= (0.0 if exact else 1e-9)
    assert np.array_equal(left[2], right[2])
    q, v, stuck = left
    assert stuck.any(axis=0).all()
    assert (v > 0.0).any(axis=0).all()
    assert (v < 0.0).any(axis=0).all()
    assert (np.abs(q[:, 1]) == 0.3).any()


def test_friction_by_direction_breaks_the_symmetry() -> None:
    """What the test above would see."""
    left, right = (_motion("rk4", side, 500, 1, coulomb_negative=0.7) for side in (1.0, -1.0))
    assert np.abs(left[0] + right[0]).max() > 1e-3
