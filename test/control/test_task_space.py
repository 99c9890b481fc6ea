"""Computed torque at the hand: its error in pose, and what the closed loop does, on the simulation too."""

from collections.abc import Callable

import arms
import numpy as np
import pytest
from comparing import assert_close
from task_space_loops import HANDS, OMEGA, READY, follow, gains, random_motion, rotated, stay

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.laws import Motion
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.task_space import TaskMotion, task_space_computed_torque
from robot_dynamics_ros.formulations.cartesian_dynamics import Task, cartesian_dynamics

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
    with pytest.raises(RobotDynamicsError, match="6 components.*Cure"):
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


@pytest.mark.parametrize("robot", ["panda", "ur5e"])
def test_regulation(robot: str, load_robot: Callable[..., RobotModel]) -> None:
    """From rest e(t) = e0 (1 + omega t) exp(-omega t), as the second-order system says, turning about one axis."""
    model, link = load_robot(robot).scaled(friction=0.0), HANDS[robot]
    pose = model.link_pose(READY[robot], link)
    goal, first = pose.copy(), np.array([0.06, -0.04, 0.05, 0.2, 0.1, -0.15])
    goal[:3, 3] += first[:3]
    goal[:3, :3] = rotated(first[3:]) @ pose[:3, :3]
    hold = TaskMotion.at_rest(goal)
    errors, torques, plant = follow(model, gains(model.n), link, lambda t: hold, READY[robot], 1.2)
    times = 0.002 * np.arange(len(errors))
    expected = np.outer((1.0 + OMEGA * times) * np.exp(-OMEGA * times), first)
    # A torque holds for a step, in which the error goes on: omega times half a step of 1 ms is what it may be off.
    assert np.abs(np.array(errors) - expected).max() < OMEGA * 0.002 * np.abs(first).max()
    assert np.abs(errors[-1]).max() < 1e-4
    assert np.abs(plant.velocity).max() < 0.02
    assert not any(found.damped for found in torques)


@pytest.mark.parametrize("robot", ["panda", "ur5e"])
def test_circle(robot: str, load_robot: Callable[..., RobotModel]) -> None:
    """Along a circle at constant orientation, begun beside it: the error dies out, and stays away."""
    model, link = load_robot(robot).scaled(friction=0.0), HANDS[robot]
    pose = model.link_pose(READY[robot], link)
    radius, speed = 0.08, 2.0 * np.pi

    def desired(t: float) -> TaskMotion:
        c, s = np.cos(speed * t), np.sin(speed * t)
        motion = TaskMotion.at_rest(pose)
        motion.pose[:3, 3] += radius * (c - 0.9), radius * s, 0.0
        motion.twist[:2] = -radius * speed * s, radius * speed * c
        motion.acceleration[:2] = -radius * speed**2 * c, -radius * speed**2 * s
        return motion

    left = {}
    for step in (0.001, 0.002):
        errors, torques, _ = follow(
            model, gains(model.n), link, desired, READY[robot], 1.5, step=step, posture=READY[robot]
        )
        assert np.abs(errors[0]).max() == pytest.approx(0.1 * radius)
        assert not any(found.damped for found in torques)
        left[step] = np.abs(errors[-round(0.5 / step) :]).max()
    # All that is left is that a torque holds for a step.
    assert left[0.002] < 5e-4
    assert left[0.001] < 0.55 * left[0.002]


def test_a_redundant_arm_comes_to_its_posture_without_moving_the_hand(load_robot: Callable[..., RobotModel]) -> None:
    """Pushed along its self-motion, the hand stays; without a posture the joints stop, with one they go back."""
    model, link, start = load_robot("panda").scaled(friction=0.0), HANDS["panda"], READY["panda"]
    push = np.linalg.svd(model.jacobian(start, link))[2][-1]
    hold = TaskMotion.at_rest(model.link_pose(start, link))
    away = {}
    for posture in (None, start):
        errors, _, plant = follow(model, gains(7), link, lambda t: hold, start, 1.5, rate=push, posture=posture)
        assert np.abs(errors).max() < 1e-3
        assert np.abs(plant.velocity).max() < 2e-2
        away[posture is None] = np.linalg.norm(plant.position - start)
    assert away[False] < 0.01 < 0.05 < away[True]


def test_a_robot_that_carries_its_own_weight(load_robot: Callable[..., RobotModel]) -> None:
    """Without gravity the same torque less G, whatever the arm's posture."""
    model, q = load_robot("panda"), READY["panda"]
    g, hold = gains(7), TaskMotion.at_rest(model.link_pose(q, HANDS["panda"]))
    full, light = (
        task_space_computed_torque(m, g, HANDS["panda"], hold, q, np.ones(7), posture=stay(np.zeros(7))).torque
        for m in (model, model.without_gravity())
    )
    assert_close(full - light, model.gravity_torque(q), 1e-11, 100.0)


def test_a_motion_at_rest() -> None:
    rest = TaskMotion.at_rest(np.eye(4))
    assert rest.twist.tolist() == rest.acceleration.tolist() == [0.0] * 6


def test_wrong_arguments(load_robot: Callable[..., RobotModel]) -> None:
    model, q = load_robot("ur5e"), READY["ur5e"]
    g, hold = gains(6), TaskMotion.at_rest(model.link_pose(q, "tool0"))
    with pytest.raises(RobotDynamicsError, match='no link "hand".*Cure'):
        task_space_computed_torque(model, g, "hand", hold, q, np.zeros(6))
    with pytest.raises(RobotDynamicsError, match="rows.*Cure"):
        task_space_computed_torque(model, g, "tool0", hold, q, np.zeros(6), (0, 6))
    with pytest.raises(RobotDynamicsError, match="finite.*"):
        task_space_computed_torque(model, g, "tool0", hold, q * np.nan, np.zeros(6))
    with pytest.raises(RobotDynamicsError, match="q"):
        task_space_computed_torque(model, g, "tool0", hold, q[:5], np.zeros(6))
    light = RobotModel.from_urdf(arms.planar_2r(1, 1, arms.Link("", 1.0), arms.Link("")).urdf)
    with pytest.raises(RobotDynamicsError, match="no mass"):
        task_space_computed_torque(light, gains(2), "tool", hold, np.ones(2), np.zeros(2), (0, 1))
