"""The integral of the error, and that it does not wind up."""

from typing import Any

import arms
import numpy as np
import pytest
from comparing import assert_close

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.gains import Gains
from robot_dynamics_ros.control.integral import ErrorIntegral
from robot_dynamics_ros.control.laws import JOINT_LAWS, Motion
from robot_dynamics_ros.simulation import Plant


def test_it_sums_error_times_time() -> None:
    integral = ErrorIntegral(2)
    assert_close(integral.value, [0.0, 0.0], 0.0)
    value = integral.value
    for error, dt in (([1.0, -2.0], 0.1), ([0.5, 0.0], 0.2), ([-3.0, 1.0], 0.0)):
        integral.add(np.array(error), dt, np.zeros(2))
    assert_close(integral.value, [0.2, -0.2], 1e-15)
    assert integral.value is value
    integral.reset()
    assert_close(value, [0.0, 0.0], 0.0)


@pytest.mark.parametrize(
    ("cut", "error", "moves"),
    [
        (0.1, 1.0, False),  # beyond the limit, and further
        (-0.1, -1.0, False),
        (0.1, 0.01, False),  # however small the error
        (0.1, -1.0, True),  # beyond it, but coming back
        (-0.1, 1.0, True),
        (0.0, 1.0, True),  # at the limit nothing is cut
    ],
)
def test_it_stands_still_where_growing_would_only_push_further(cut: float, error: float, moves: bool) -> None:
    """Each joint for itself: the other one goes on."""
    integral = ErrorIntegral(2)
    integral.value[:] = 0.3
    integral.add(np.array([error, error]), 0.1, np.array([cut, 0.0]))
    assert_close(integral.value, [0.3 + 0.1 * error * moves, 0.3 + 0.1 * error], 1e-15)


def _overshoot(protected: bool) -> tuple[float, float]:
    """How far a clamped joint runs past a step of 2 rad, and how far off it is at the end."""
    limit = 1.5
    arm = arms.Arm(
        (arms.Link("base"), arms.Link("flywheel", 2.0, inertia=np.diag([0.3, 0.3, 0.5]))),
        (arms.Joint("spin", "continuous", "base", "flywheel", limit=f'<limit effort="{limit}" velocity="100"/>'),),
    )
    model = RobotModel.from_urdf(arm.urdf)
    law, dt, goal = JOINT_LAWS["computed_torque"], 0.002, np.array([2.0])
    gains = Gains(np.array([50.0]), np.array([18.0]), np.array([100.0]))
    desired = Motion(goal, np.zeros(1), np.zeros(1))
    limits = model.effort_limits if protected else np.full(1, np.inf)
    plant, integral, furthest = Plant(model), ErrorIntegral(1), 0.0
    for _ in range(6000):
        q: Any = plant.position
        wanted = law.torque(model, gains, desired, q, plant.velocity, integral.value)
        integral.add(goal - q, dt, wanted - np.clip(wanted, -limits, limits))
        plant.step(wanted, 2)
        furthest = max(furthest, float(plant.position[0]))
    return furthest - 2.0, abs(float(plant.position[0]) - 2.0)


def test_a_clamped_joint_does_not_run_past_its_goal() -> None:
    """The same step with the limits known to the integral, and kept from it."""
    overshoot, left = _overshoot(protected=True)
    wound_up, _ = _overshoot(protected=False)
    assert left < 1e-6
    assert overshoot < 0.25 * 2.0
    assert wound_up > 4.0 * overshoot


def test_a_new_gain_keeps_the_torque() -> None:
    integral = ErrorIntegral(4)
    integral.value[:] = [1.0, -2.0, 3.0, -4.0]
    integral.keep_torque(np.array([4.0, 0.0, 2.0, 0.25]), np.array([8.0, 5.0, 0.0, 0.5]))
    np.testing.assert_array_equal(integral.value, [0.5, 0.0, 0.0, -2.0])
