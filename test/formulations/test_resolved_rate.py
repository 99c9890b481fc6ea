"""Joint rates for the hand's velocity: exact where the arm can, refused or damped where it cannot."""

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.formulations.cartesian_dynamics import (
    joint_rates,
    resolved_rate_motion,
    smallest_singular_value,
)
from robot_dynamics_ros.resources import robot_urdf
from support.comparing import assert_close

UR5E = np.array([0.4, -1.2, 1.4, -1.7, -1.4, 0.3])
PANDA = np.array([0.3, -0.5, 0.2, -2.0, 0.3, 1.8, 0.6])


@pytest.mark.parametrize(("robot", "link", "q"), [("ur5e", "tool0", UR5E), ("panda", "panda_link8", PANDA)])
def test_the_hand_moves_as_asked(robot: str, link: str, q: np.ndarray) -> None:
    model = RobotModel.from_urdf_file(robot_urdf(robot))
    j, v = model.jacobian(q, link), np.array([0.1, -0.2, 0.05, 0.3, 0.1, -0.2])
    rates = joint_rates(j, v, q)
    assert_close(j @ rates, v, 1e-12)
    # No faster than needed: nothing of it leaves the hand where it is.
    null = np.linalg.svd(j)[2][6:]
    assert_close(null @ rates, np.zeros(len(null)), 1e-12)


def test_a_singularity_is_refused_with_its_measure() -> None:
    """The wrist of Craig, example 5.6: axes 4 and 6 in one line."""
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    q = UR5E * [1, 1, 1, 1, 0, 1]
    j, v = model.jacobian(q, "tool0"), np.ones(6)
    assert smallest_singular_value(j) < 1e-12
    with pytest.raises(RobotDynamicsError, match=r"\[0\.4, "):
        joint_rates(j, v, q)
    with pytest.raises(RobotDynamicsError, match="6.*2"):
        joint_rates(np.ones((6, 2)), v, np.zeros(2))


def test_damping_bounds_the_rates_and_asks_little_where_the_arm_can() -> None:
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    v, damping = np.ones(6), 0.02
    for bend in (0.0, 1e-3, 1e-2, 0.1):
        q = UR5E * [1, 1, 1, 1, 0, 1] + [0, 0, 0, 0, bend, 0]
        rates = joint_rates(model.jacobian(q, "tool0"), v, q, damping=damping)
        assert np.linalg.norm(rates) <= np.linalg.norm(v) / (2 * damping)
    j = model.jacobian(UR5E, "tool0")
    error = v - j @ joint_rates(j, v, UR5E, damping=damping)
    # Of each direction's part of v it leaves damping^2 / (sigma^2 + damping^2).
    u, sigma, _ = np.linalg.svd(j)
    assert_close(u.T @ error, damping**2 / (sigma**2 + damping**2) * (u.T @ v), 1e-12)


def test_a_motion_goes_where_its_velocity_leads() -> None:
    """Euler's error falls with the step."""
    model = RobotModel.from_urdf_file(robot_urdf("ur5e"))
    v = np.array([0.05, -0.04, 0.03, 0.0, 0.0, 0.0])
    start, error = model.link_pose(UR5E, "tool0")[:3, 3], []
    for steps in (50, 100):
        positions, rates = resolved_rate_motion(
            lambda q: model.jacobian(q, "tool0"), v, UR5E, step=1.0 / steps, steps=steps
        )
        assert positions.shape == rates.shape == (steps + 1, 6)
        assert np.array_equal(positions[0], UR5E)
        assert_close(np.diff(positions, axis=0), rates[:-1] / steps, 1e-15)
        error.append(np.linalg.norm(model.link_pose(positions[-1], "tool0")[:3, 3] - start - v[:3]))
    assert error[0] < 1e-3 and error[1] == pytest.approx(error[0] / 2, rel=0.1)
