"""Computed torque at the hand: its error in pose, and what the closed loop does, on the simulation too."""

from collections.abc import Callable

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.task_space import TaskMotion, task_space_computed_torque
from robot_dynamics_ros.formulations.cartesian_dynamics import Task, cartesian_dynamics
from support import arms
from support.comparing import assert_close
from support.task_space_loops import HANDS, READY, gains, random_motion, rotated

# The closed loop


@pytest.mark.parametrize("robot", HANDS)
@pytest.mark.parametrize("with_posture", [False, True])
def test_the_error_is_linear(robot: str, with_posture: bool, load_robot: Callable[..., RobotModel]) -> None:
    """xdd = xdd_d + Kd e' + Kp e near the goal, with the acceleration from forward dynamics, whatever the posture."""
    model, link = load_robot(robot), HANDS[robot]
    rng = np.random.default_rng(3)
    g = gains(model.n)
    posture = Motion(*rng.normal(size=(3, model.n))) if with_posture else None
    for _ in range(10):
        q, qd = READY[robot] + rng.uniform(-0.3, 0.3, model.n), rng.normal(size=model.n)
        desired, j = random_motion(rng, model.link_pose(q, link), 0.002), model.jacobian(q, link)
        found = task_space_computed_torque(model, g, link, desired, q, qd, posture=posture)
        assert not found.damped
        assert found.smallest_singular_value == pytest.approx(np.linalg.svd(j)[1].min(), abs=1e-12)
        acceleration = j @ model.forward_dynamics(q, qd, found.torque) + model.jacobian_dot_qd(q, qd, link)
        expected = desired.acceleration + g.kd * (desired.twist - j @ qd)
        expected += g.kp * pose_error(desired.pose, model.link_pose(q, link))
        assert_close(acceleration, expected, 1e-9, scale=1e3)


@pytest.mark.parametrize("robot", HANDS)
def test_it_is_the_cartesian_form(robot: str, load_robot: Callable[..., RobotModel]) -> None:
    """J^T (Mx a + Vx + Gx) of Craig (6.104), and (I - J^T Jbar^T)(M qdd0 + V + G) of Khatib beside it."""
    model, link = load_robot(robot), HANDS[robot]
    rng = np.random.default_rng(5)
    q, qd = READY[robot] + 0.1, rng.normal(size=model.n)
    g, desired = gains(model.n), random_motion(rng, model.link_pose(q, link))
    form = cartesian_dynamics(model, q, qd, Task(link))
    command = desired.acceleration + g.kd * (desired.twist - form.jacobian @ qd)
    command += g.kp * pose_error(desired.pose, model.link_pose(q, link))
    force = form.mass @ command + form.velocity_terms + form.gravity
    posture = Motion(READY[robot], *rng.normal(size=(2, model.n)))
    wanted = posture.qdd + g.posture_kp * (posture.q - q) + g.posture_kd * (posture.qd - qd)
    free = model.inverse_dynamics(q, qd, wanted)
    expected = form.jacobian.T @ (force - form.inverse.T @ free) + free
    torque = task_space_computed_torque(model, g, link, desired, q, qd, posture=posture).torque
    assert_close(torque, expected, 1e-9, scale=1e3)


@pytest.mark.parametrize(("robot", "link", "rows"), [("scara", "tool0", (0, 1, 2)), ("planar_2r", "tip", (0, 2))])
def test_a_part_of_the_motion(
    robot: str, link: str, rows: tuple[int, ...], load_robot: Callable[..., RobotModel]
) -> None:
    """Arms with fewer than six joints follow what they can; what is not asked for does not enter."""
    model = load_robot(robot)
    rng = np.random.default_rng(1)
    select, others = list(rows), [k for k in range(6) if k not in rows]
    q, qd = np.array([0.4, -1.0, 0.1])[: model.n], rng.normal(size=model.n)
    g, desired, j = gains(model.n), random_motion(rng, model.link_pose(q, link)), model.jacobian(q, link)
    torque = task_space_computed_torque(model, g, link, desired, q, qd, rows).torque
    acceleration = j @ model.forward_dynamics(q, qd, torque) + model.jacobian_dot_qd(q, qd, link)
    error = pose_error(desired.pose, model.link_pose(q, link))
    expected = desired.acceleration + g.kd * (desired.twist - j @ qd) + g.kp * error
    assert_close(acceleration[select], expected[select], 1e-9, scale=1e3)
    desired.twist[others] += 1.0
    desired.acceleration[others] += 1.0
    assert np.array_equal(task_space_computed_torque(model, g, link, desired, q, qd, rows).torque, torque)
    with pytest.raises(RobotDynamicsError, match="6 components"):
        task_space_computed_torque(model, g, link, desired, q, qd)


@pytest.mark.parametrize("slower", [0.5, 1.5, 4.0])
def test_a_far_target_is_approached_as_fast_as_hand_and_joints_may(
    slower: float, load_robot: Callable[..., RobotModel]
) -> None:
    """From rest Kd xd, where xd = Kp/Kd e is shortened, not turned: to 0.2 m/s and 0.3 rad/s, then for the joints."""
    model, q, still = load_robot("ur5e"), READY["ur5e"], np.zeros(6)
    pose = model.link_pose(q, "tool0")
    goal = pose.copy()
    goal[:3, 3] += 0.3, -0.4, 0.0
    goal[:3, :3] = rotated([0.6, 0.0, 0.8]) @ pose[:3, :3]
    j, approach = model.jacobian(q, "tool0"), np.array([0.12, -0.16, 0.0, 0.18, 0.0, 0.24])
    fastest = np.abs(np.linalg.solve(j, approach)).max()
    g = gains(6, linear_velocity=0.2, angular_velocity=0.3)
    most = np.full(6, 2.0 * fastest / slower)  # half of it is for the approach
    hold = TaskMotion.at_rest(goal)
    torque = task_space_computed_torque(
        model, g, "tool0", hold, q, still, joint_velocities=np.array([-most, most])
    ).torque
    expected = g.kd * approach / max(slower, 1.0)
    assert_close(j @ model.forward_dynamics(q, still, torque), expected, 1e-9, scale=10.0)


def test_wrong_arguments(load_robot: Callable[..., RobotModel]) -> None:
    model, q = load_robot("ur5e"), READY["ur5e"]
    g, hold = gains(6), TaskMotion.at_rest(model.link_pose(q, "tool0"))
    with pytest.raises(RobotDynamicsError, match="hand"):
        task_space_computed_torque(model, g, "hand", hold, q, np.zeros(6))
    with pytest.raises(RobotDynamicsError, match="rows"):
        task_space_computed_torque(model, g, "tool0", hold, q, np.zeros(6), (0, 6))
    with pytest.raises(RobotDynamicsError, match="finite"):
        task_space_computed_torque(model, g, "tool0", hold, q * np.nan, np.zeros(6))
    with pytest.raises(RobotDynamicsError, match="q"):
        task_space_computed_torque(model, g, "tool0", hold, q[:5], np.zeros(6))
    light = RobotModel.from_urdf(arms.planar_2r(1, 1, arms.Link("", 1.0), arms.Link("")).urdf)
    with pytest.raises(RobotDynamicsError, match="no mass"):
        task_space_computed_torque(light, gains(2), "tool", hold, np.ones(2), np.zeros(2), (0, 1))
