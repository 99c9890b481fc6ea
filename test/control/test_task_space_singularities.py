"""Computed torque at the hand where the arm loses directions: finite, reported, continuous, and stable."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.task_space import task_space_computed_torque
from support.comparing import assert_close
from support.task_space_loops import HANDS, READY, gains, random_motion

SINGULAR = [
    pytest.param("ur5e", np.zeros(6), id="ur5e stretched"),
    pytest.param("ur5e", np.array([0.4, -1.2, 1.4, -1.7, 0.0, 0.3]), id="ur5e wrist"),
    pytest.param("panda", np.zeros(7), id="panda upright"),
    pytest.param("puma560", np.array([0.2, 0.6, -0.9, 0.4, 0.0, -0.3]), id="puma560 wrist"),
]


@pytest.mark.parametrize(("robot", "q"), SINGULAR)
def test_the_torque_at_a_singularity_is_finite_and_reported(
    robot: str, q: Any, load_robot: Callable[..., RobotModel]
) -> None:
    """In the directions that are not lost the error is as linear as elsewhere."""
    model, link = load_robot(robot), HANDS[robot]
    rng = np.random.default_rng(2)
    g, pose, qd = gains(model.n), model.link_pose(q, link), rng.normal(size=model.n)
    desired = random_motion(rng, pose)
    found = task_space_computed_torque(model, g, link, desired, q, qd)
    assert found.damped and found.smallest_singular_value < 1e-6
    assert np.isfinite(found.torque).all() and np.abs(found.torque).max() < 1e5
    j = model.jacobian(q, link)
    command = desired.acceleration + g.kd * (desired.twist - j @ qd) + g.kp * pose_error(desired.pose, pose)
    missed = command - j @ model.forward_dynamics(q, qd, found.torque) - model.jacobian_dot_qd(q, qd, link)
    u, sigma, _ = np.linalg.svd(j)
    assert_close(u[:, sigma > g.singular_value].T @ missed, np.zeros(np.sum(sigma > g.singular_value)), 1e-8, 1e3)


def test_damping_begins_below_the_threshold(load_robot: Callable[..., RobotModel]) -> None:
    """Not at it; and just below the torque is the same, to a rounding."""
    model, link = load_robot("ur5e"), HANDS["ur5e"]
    q, still = READY["ur5e"], np.zeros(model.n)
    desired = random_motion(np.random.default_rng(4), model.link_pose(q, link))
    least = task_space_computed_torque(model, gains(model.n), link, desired, q, still).smallest_singular_value
    at, below = (
        task_space_computed_torque(model, replace(gains(model.n), singular_value=value), link, desired, q, still)
        for value in (least, float(np.nextafter(least, 1.0)))
    )
    assert (at.damped, below.damped) == (False, True)
    assert_close(at.torque, below.torque, 1e-9, scale=1e3)
