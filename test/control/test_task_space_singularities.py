"""Computed torque at the hand where the arm loses directions: finite, reported, continuous, and stable."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from comparing import assert_close
from task_space_loops import HANDS, READY, follow, gains, random_motion

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.task_space import TaskMotion, TaskTorque, task_space_computed_torque

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


def test_the_damping_sets_in_without_a_jump(load_robot: Callable[..., RobotModel]) -> None:
    model, g = load_robot("ur5e"), gains(6)
    motion = random_motion(np.random.default_rng(0), model.link_pose(READY["ur5e"], "tool0"))

    def at(bend: float) -> TaskTorque:
        q = READY["ur5e"] * [1, 1, 1, 1, 0, 1] + [0, 0, 0, 0, bend, 0]
        return task_space_computed_torque(model, g, "tool0", motion, q, np.zeros(6))

    low, high = 0.0, 0.8
    assert at(low).damped and not at(high).damped
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).damped else (low, middle)
    assert_close(at(low).torque, at(high).torque, 1e-6)


def test_out_of_reach(load_robot: Callable[..., RobotModel]) -> None:
    """Towards a goal beyond its reach the arm stretches, says so, and comes to rest where it is nearest."""
    p_link, model = "tip", load_robot("planar_2r")
    pose = model.link_pose([0.3, 0.8], p_link)
    pose[:3, 3] = 1.2, 0.0, 0.0
    hold = TaskMotion.at_rest(pose)
    g = replace(gains(2, omega=4.0), posture_kd=np.full(2, 20.0))
    errors, torques, plant = follow(model, g, p_link, lambda t: hold, [0.3, 0.8], 4.0, rows=(0, 2))
    assert np.isfinite([found.torque for found in torques]).all()
    assert torques[-1].damped and not torques[0].damped
    assert np.linalg.norm(errors[-1][:3]) == pytest.approx(1.2 - 0.9, abs=0.01)
    assert np.abs(plant.velocity).max() < 0.1


def test_six_joints_out_of_reach(load_robot: Callable[..., RobotModel]) -> None:
    """A goal that moves out of reach: the arm follows, stretches through its singularity, and comes to rest there."""
    model, start = load_robot("ur5e").scaled(friction=0.0), READY["ur5e"]
    pose = model.link_pose(start, "tool0")
    way = pose[:3, 3] * (1.5 / np.linalg.norm(pose[:3, 3]) - 1.0)

    def desired(t: float) -> TaskMotion:
        motion = TaskMotion.at_rest(pose)
        motion.pose[:3, 3] += way * min(t, 1.0)
        motion.twist[:3] = way * (t < 1.0)
        return motion

    _, torques, plant = follow(model, gains(6, singular_value=0.05), "tool0", desired, start, 2.5, step=0.001)
    assert torques[-1].damped and torques[-1].smallest_singular_value < 1e-3
    assert np.abs([found.torque for found in torques]).max() < 400.0
    assert np.abs(plant.velocity).max() < 0.02


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
