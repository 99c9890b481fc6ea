"""Task-space control law: closed loop, singularities, and limits of the approach."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.end_effector.poses import TaskMotion, pose_error
from robot_dynamics_ros.control.end_effector.task_space import (
    TaskGains,
    TaskTorque,
    task_space_computed_torque,
)
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.textbooks.cartesian_dynamics import Task, cartesian_dynamics
from support.comparing import assert_close
from support.task_space_loops import (
    END_EFFECTOR_LINKS,
    READY,
    gains,
    random_motion,
    rotated,
)


def law(
    model: RobotModel,
    g: TaskGains,
    link: str,
    desired: TaskMotion,
    q: Any,
    qd: Any,
    rows: tuple[int, ...] = (0, 1, 2, 3, 4, 5),
    posture: Motion | None = None,
    most: float = np.inf,
) -> TaskTorque:
    """Return the law's torque; by default the posture is the present position, and joint velocities have no limits."""
    posture = posture or Motion(q, 0.0 * q, 0.0 * q)
    allowed = np.full((2, len(model.limit_rows.names)), [[-most], [most]])
    return task_space_computed_torque(
        model, g, link, desired, q, qd, rows, posture, allowed
    )


def command(
    model: RobotModel, g: TaskGains, link: str, desired: TaskMotion, q: Any, qd: Any
) -> Any:
    """Return the acceleration xdd_d + Kd e' + Kp e (6,)."""
    error = pose_error(desired.pose, model.link_pose(q, link))
    return (
        desired.acceleration
        + g.kd * (desired.twist - model.jacobian(q, link) @ qd)
        + g.kp * error
    )


def acceleration(model: RobotModel, link: str, q: Any, qd: Any, torque: Any) -> Any:
    """Return the acceleration of the link (6,) under a torque, by forward dynamics."""
    return model.jacobian(q, link) @ model.forward_dynamics(
        q, qd, torque
    ) + model.jacobian_dot_qd(q, qd, link)


@pytest.mark.parametrize("robot", END_EFFECTOR_LINKS)
@pytest.mark.parametrize("with_posture", [False, True])
def test_the_error_is_linear(
    robot: str, with_posture: bool, load_robot: Callable[..., RobotModel]
) -> None:
    """xdd = xdd_d + Kd e' + Kp e near the target, for any posture."""
    model = load_robot(robot)
    link = END_EFFECTOR_LINKS[robot]
    rng = np.random.default_rng(3)
    g = gains(model.n)
    posture = Motion(*rng.normal(size=(3, model.n))) if with_posture else None
    for _ in range(10):
        q = READY[robot] + rng.uniform(-0.3, 0.3, model.n)
        qd = rng.normal(size=model.n)
        desired = random_motion(rng, model.link_pose(q, link), 0.002)
        solution = law(model, g, link, desired, q, qd, posture=posture)
        assert not solution.damped
        smallest = np.linalg.svd(model.jacobian(q, link))[1].min()
        assert solution.smallest_singular_value == pytest.approx(smallest, abs=1e-12)
        expected = command(model, g, link, desired, q, qd)
        assert_close(
            acceleration(model, link, q, qd, solution.torque), expected, 1e-9, scale=1e3
        )


@pytest.mark.parametrize("robot", END_EFFECTOR_LINKS)
def test_it_is_the_cartesian_form(
    robot: str, load_robot: Callable[..., RobotModel]
) -> None:
    """J^T (Mx a + Vx + Gx) of Craig (6.104) plus (I - J^T Jbar^T)(M qdd0 + V + G) of Khatib."""
    model = load_robot(robot)
    link = END_EFFECTOR_LINKS[robot]
    rng = np.random.default_rng(5)
    q = READY[robot] + 0.1
    qd = rng.normal(size=model.n)
    g = gains(model.n)
    desired = random_motion(rng, model.link_pose(q, link))
    form = cartesian_dynamics(model, q, qd, Task(link))
    force = (
        form.mass @ command(model, g, link, desired, q, qd)
        + form.velocity_terms
        + form.gravity
    )
    posture = Motion(READY[robot], *rng.normal(size=(2, model.n)))
    free = (
        posture.qdd + g.posture_kp * (posture.q - q) + g.posture_kd * (posture.qd - qd)
    )
    free = model.inverse_dynamics(q, qd, free)
    expected = form.jacobian.T @ (force - form.inverse.T @ free) + free
    torque = law(model, g, link, desired, q, qd, posture=posture).torque
    assert_close(torque, expected, 1e-9, scale=1e3)


@pytest.mark.parametrize(
    ("robot", "link", "rows"),
    [("scara", "tool0", (0, 1, 2)), ("planar_2r", "tip", (0, 2))],
)
def test_part_of_the_motion(
    robot: str, link: str, rows: tuple[int, ...], load_robot: Any
) -> None:
    """Arms with fewer than six joints follow the selected components; others have no effect."""
    model = load_robot(robot)
    rng = np.random.default_rng(1)
    select = list(rows)
    others = [k for k in range(6) if k not in rows]
    q = np.array([0.4, -1.0, 0.1])[: model.n]
    qd = rng.normal(size=model.n)
    g = gains(model.n)
    desired = random_motion(rng, model.link_pose(q, link))
    torque = law(model, g, link, desired, q, qd, rows).torque
    expected = command(model, g, link, desired, q, qd)
    assert_close(
        acceleration(model, link, q, qd, torque)[select],
        expected[select],
        1e-9,
        scale=1e3,
    )
    desired.twist[others] += 1.0
    desired.acceleration[others] += 1.0
    assert np.array_equal(law(model, g, link, desired, q, qd, rows).torque, torque)


SINGULAR = {
    "ur5e stretched": np.zeros(6),
    "ur5e wrist": np.array([0.4, -1.2, 1.4, -1.7, 0.0, 0.3]),
    "panda upright": np.zeros(7),
    "puma560 wrist": np.array([0.2, 0.6, -0.9, 0.4, 0.0, -0.3]),
}


@pytest.mark.parametrize("posture", SINGULAR)
def test_torque_at_a_singularity_is_finite_and_reported(
    posture: str, load_robot: Callable[..., RobotModel]
) -> None:
    """In nonsingular directions the error dynamics remain linear."""
    robot = posture.split()[0]
    q = SINGULAR[posture]
    model = load_robot(robot)
    link = END_EFFECTOR_LINKS[robot]
    rng = np.random.default_rng(2)
    g = gains(model.n)
    qd = rng.normal(size=model.n)
    desired = random_motion(rng, model.link_pose(q, link))
    solution = law(model, g, link, desired, q, qd)
    assert solution.damped and solution.smallest_singular_value < 1e-6
    assert np.isfinite(solution.torque).all() and np.abs(solution.torque).max() < 1e5
    missed = command(model, g, link, desired, q, qd) - acceleration(
        model, link, q, qd, solution.torque
    )
    u, sigma, _ = np.linalg.svd(model.jacobian(q, link))
    kept = sigma > g.singular_value
    assert_close(u[:, kept].T @ missed, np.zeros(kept.sum()), 1e-8, 1e3)


def test_damping_begins_below_the_threshold(
    load_robot: Callable[..., RobotModel],
) -> None:
    """Not at the threshold; just below it the torque is equal up to rounding."""
    model = load_robot("ur5e")
    q = READY["ur5e"]
    still = np.zeros(6)
    desired = random_motion(np.random.default_rng(4), model.link_pose(q, "tool0"))
    least = law(model, gains(6), "tool0", desired, q, still).smallest_singular_value
    at, below = (
        law(model, replace(gains(6), singular_value=value), "tool0", desired, q, still)
        for value in (least, float(np.nextafter(least, 1.0)))
    )
    assert (at.damped, below.damped) == (False, True)
    assert_close(at.torque, below.torque, 1e-9, scale=1e3)


@pytest.mark.parametrize("slower", [0.5, 1.5, 4.0])
def test_a_far_target_is_approached_as_fast_as_allowed(
    slower: float, load_robot: Callable[..., RobotModel]
) -> None:
    """From rest Kd xd, with xd = Kp/Kd e saturated to 0.2 m/s and 0.3 rad/s, then to the joint velocities."""
    model = load_robot("ur5e")
    q = READY["ur5e"]
    still = np.zeros(6)
    pose = model.link_pose(q, "tool0")
    goal = pose.copy()
    goal[:3, 3] += 0.3, -0.4, 0.0
    goal[:3, :3] = rotated([0.6, 0.0, 0.8]) @ pose[:3, :3]
    j = model.jacobian(q, "tool0")
    approach = np.array([0.12, -0.16, 0.0, 0.18, 0.0, 0.24])
    fastest = np.abs(np.linalg.solve(j, approach)).max()
    g = gains(6, linear_velocity=0.2, angular_velocity=0.3)
    hold = TaskMotion(goal, still, still)
    most = 2.0 * fastest / slower  # half of it for the approach
    torque = law(model, g, "tool0", hold, q, still, most=most).torque
    expected = g.kd * approach / max(slower, 1.0)
    assert_close(
        j @ model.forward_dynamics(q, still, torque), expected, 1e-9, scale=10.0
    )


def test_an_unknown_link_is_refused(load_robot: Callable[..., RobotModel]) -> None:
    model = load_robot("ur5e")
    q = READY["ur5e"]
    still = np.zeros(6)
    with pytest.raises(RobotDynamicsError, match="hand"):
        law(model, gains(6), "hand", TaskMotion(np.eye(4), still, still), q, still)
