"""The controller under ``task_space_computed_torque``: what the hand does, on the simulation, cycle by cycle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.status import StatusReport
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from support.comparing import assert_close
from support.pinocchio_peer import Peer
from support.task_space_control import PERIOD, Loop, errors, free, settings
from support.task_space_loops import HANDS, READY, rotated


@pytest.fixture(scope="module")
def smooth(load_robot: Callable[..., RobotModel]) -> Callable[[str], RobotModel]:
    """Robots without friction."""
    made: dict[str, RobotModel] = {}
    return lambda robot: made.setdefault(robot, load_robot(robot).scaled(friction=0.0))


def moved(pose: Any, way: Any, turn: Any = (0.0, 0.0, 0.0)) -> Any:
    goal = pose.copy()
    goal[:3, 3] += way
    goal[:3, :3] = rotated(np.asarray(turn)) @ pose[:3, :3]
    return goal


# Following


def circle(centre: Any, radius: float, rate: float) -> Callable[[float], tuple[Any, Any, Any]]:
    def motion(t: float) -> tuple[Any, Any, Any]:
        c, s = np.cos(rate * t), np.sin(rate * t)
        twist, acceleration = np.zeros(6), np.zeros(6)
        twist[:2] = radius * rate * -s, radius * rate * c
        acceleration[:2] = -radius * rate**2 * c, -radius * rate**2 * s
        return moved(centre, (radius * (c - 1.0), radius * s, 0.0)), twist, acceleration

    return motion


def test_a_stream_of_targets_is_followed_smoothly(smooth: Any) -> None:
    """A circle at 100 Hz, a cycle each millisecond: with feedforward the hand stays on it, without it lags."""
    left = []
    for parts in (3, 1):
        loop = Loop("panda", smooth("panda"), settings(free()))
        motion = circle(loop.pose, 0.08, np.pi)
        loop.cycle()

        def send(t: float, loop: Loop = loop, motion: Any = motion, parts: int = parts) -> None:
            if round(t / PERIOD) % 5 == 1:
                loop.aim(*motion(t)[:parts], at=t)

        samples = loop.run(1.2, send)
        away = errors(samples, lambda t, motion=motion: motion(t)[0])[300:, :3]  # type: ignore[misc]
        left.append(np.linalg.norm(away, axis=1).max())
    assert left[0] < 5e-4
    assert left[1] > 0.03, "2 zeta / omega times the speed is 0.05 m"


@pytest.mark.parametrize(
    ("robot", "target"),
    [("ur5e", 11), ("panda", (0.67, 0.73, 0.89))],
)
def test_far_targets_end_at_rest(robot: str, target: Any, smooth: Any, urdf_path: Callable[[str], Path]) -> None:
    """On Pinocchio's dynamics: a reachable one is reached past singularities, one beyond reach stretches the arm."""
    model, link, q = smooth(robot), HANDS[robot], READY[robot]
    low, high = np.maximum(model.position_lower, -np.pi), np.minimum(model.position_upper, np.pi)
    postures = np.random.default_rng(0).uniform(low, high, (16, model.n))
    goal = model.link_pose(q if isinstance(target, tuple) else postures[target], link).copy()
    if isinstance(target, tuple):
        goal[:3, 3] = target
    peer, controller, qd = Peer(urdf_path(robot).read_text(), model.joint_names), Controller(model, settings()), 0.0 * q
    for k in range(round(10.0 / PERIOD)):
        controller.measure(PERIOD * k, PERIOD * k, q, qd)
        command = controller.update(PERIOD * k, PERIOD * k)
        assert command is not None and controller.fault is None
        if k == 0:
            controller.targets().follow(goal, 0, 0.0, 0.0)
        q, qd = peer.step(q, qd, command.effort, PERIOD)
    assert np.abs(qd).max() < 0.02 and (np.abs(command.effort) < 0.9 * model.effort_limits).all()
    assert isinstance(target, tuple) or np.abs(pose_error(goal, model.link_pose(q, link))).max() < 1e-3


def test_friction_is_made_up_for_along_the_targets_motion(load_robot: Callable[..., RobotModel]) -> None:
    """By the model's friction at the joint velocities that the twist takes; none is added while the hand holds."""
    model = load_robot("puma560", "puma560")
    assert model.packed.friction.any()
    q, qd, twist = READY["puma560"], np.zeros(6), np.array([0.1, -0.05, 0.2, 0.1, 0.2, -0.3])
    efforts = {}
    for on in (True, False):
        controller = Controller(model, settings(friction_compensation=on))
        for k, moving in enumerate((False, True)):
            controller.measure(0.01 * k, 0.0, q, qd)
            if moving:
                controller.targets().feed_forward("twist", twist, 0, 0.01)
                controller.targets().follow(model.link_pose(q, "tool0"), 0, 0.01, 0.01)
            command = controller.update(0.01 * k, 0.0)
            assert command is not None
            efforts[on, moving] = command.effort.copy()
    assert np.array_equal(efforts[True, False], efforts[False, False])
    rates = np.linalg.solve(model.jacobian(q, "tool0"), twist)
    assert_close(efforts[True, True] - efforts[False, True], model.friction_torque(q, rates, 0.01), 1e-9)


# Stopping and holding


def test_a_publisher_that_dies_stops_the_arm(smooth: Any) -> None:
    """The target goes on for task_space.target_timeout, no further."""
    loop = Loop("panda", smooth("panda"), settings(free(target_timeout=0.2)))
    loop.cycle()
    pose, begin = loop.pose, loop.time
    twist = np.array([0.1, 0.0, -0.1, 0.0, 0.0, 0.3])
    loop.aim(pose, twist)
    samples = loop.run(1.2)
    for sample in samples[::20]:
        t = min(sample.time - begin, 0.2)
        left = np.abs(pose_error(moved(pose, t * twist[:3], t * twist[3:]), sample.pose))
        assert left.max() < 0.04
    assert left.max() < 1e-4 and np.abs(samples[-1].twist).max() < 1e-3


def test_cancel_holds_the_hand_where_it_is(smooth: Any) -> None:
    loop = Loop("panda", smooth("panda"), settings())
    loop.cycle()
    loop.aim(moved(loop.pose, (0.1, 0.1, 0.0)))
    loop.run(0.4)
    loop.controller.cancel()
    assert loop.controller.hand is None
    here = loop.cycle().pose
    assert loop.controller.hand is not None and loop.controller.hand.position_error == 0.0
    assert np.abs(errors(loop.run(0.7)[-1:], lambda t: here)).max() < 1e-3


def test_a_fault_forgets_the_target(smooth: Any) -> None:
    """Targets are refused until it is cleared; then the hand stays where it is."""
    loop = Loop("panda", smooth("panda"), settings())
    loop.cycle()
    loop.aim(moved(loop.pose, (0.2, 0.0, 0.0)))
    loop.run(0.3)
    loop.controller.targets().follow(moved(loop.pose, (0.0, 0.2, 0.0)), 1, loop.time + 0.5, loop.time)
    q, bad = loop.plant.position.copy(), np.full(7, np.nan)
    loop.controller.measure(loop.time, loop.time, q, bad)
    failed = loop.controller.update(loop.time, loop.time)
    assert failed is not None and failed.mode is Mode.HOLD
    with pytest.raises(RobotDynamicsError, match="hold"):
        loop.controller.targets()
    assert loop.controller.hand is None
    loop.run(0.4)
    assert loop.controller.mode is Mode.FAULT
    loop.controller.clear_fault(loop.time)
    here = loop.pose
    assert np.abs(errors(loop.run(0.5), lambda t: here)).max() < 1e-3, "it still crept"


# The posture


def test_a_trajectory_is_the_posture(smooth: Any) -> None:
    """The joints follow it as far as the hand allows: along the self-motion, while the hand stays."""
    model, start = smooth("panda"), READY["panda"]
    loop = Loop("panda", model, settings())
    pose = loop.pose
    loop.cycle()
    along = np.linalg.svd(model.jacobian(start, loop.link))[2][-1]
    goal = start + 0.3 * along * np.sign(along[0])
    zeros = np.zeros((1, 7))
    loop.controller.follow(
        TrajectoryPoints(model.joint_names, np.array([0.6]), goal[None], zeros, zeros), None, loop.time
    )
    samples = loop.run(1.0)
    assert np.abs(errors(samples, lambda t: pose)).max() < 1e-4
    assert_close(samples[-1].command.desired.q, goal, 1e-12)
    assert np.linalg.norm(loop.plant.position - start) > 0.2
    # What is left is what the hand does not allow.
    tangent = np.linalg.svd(model.jacobian(loop.plant.position, loop.link))[2][-1]
    mass = model.mass_matrix(loop.plant.position)
    assert abs(tangent @ mass @ (goal - loop.plant.position)) < 1e-3


def test_another_law_takes_over_where_the_hand_has_led_the_arm(smooth: Any) -> None:
    loop = Loop("panda", smooth("panda"), settings())
    loop.cycle()
    goal = moved(loop.pose, (0.1, 0.0, 0.1))
    loop.aim(goal)
    here = loop.run(1.2)[-1].q
    assert np.abs(here - READY["panda"]).max() > 0.05
    loop.controller.tune(ControllerSettings())
    assert_close(loop.cycle().command.desired.q, here, 1e-12)
    with pytest.raises(RobotDynamicsError, match="computed_torque"):
        loop.controller.targets()
    loop.controller.tune(settings())
    here = loop.pose
    assert np.abs(errors(loop.run(0.3), lambda t: here)).max() < 1e-3


# What it is told


def test_the_status_tells_how_the_hand_follows(smooth: Any) -> None:
    loop = Loop("ur5e", smooth("ur5e"), settings())
    loop.cycle()
    loop.aim(moved(loop.pose, (0.0, 0.03, 0.04), (0.1, 0.0, 0.0)))
    loop.cycle()
    values = StatusReport(0.0).status(loop.controller, loop.time, 0.0, None).values
    assert values["hand position error"] == pytest.approx(0.05)
    assert values["hand rotation error"] == pytest.approx(0.1)
    j = loop.model.jacobian(READY["ur5e"], "tool0")
    assert values["smallest singular value"] == pytest.approx(np.linalg.svd(j)[1].min(), rel=1e-6)
    assert values["hand directions damped"] is False
    loop.controller.tune(ControllerSettings())
    assert "hand position error" not in StatusReport(0.0).status(loop.controller, 0.0, 0.0, None).values


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_numbers_give_finite_torques(sign: float, smooth: Any) -> None:
    """Up to 1e9 a target is taken; the command stays within the limits, whatever becomes of the arm."""
    loop = Loop("panda", smooth("panda"), settings(free()))
    huge = np.full(6, sign * 1e9)
    loop.cycle()
    for twist, acceleration in ((None, None), (huge, None), (huge, huge)):
        loop.aim(moved(loop.pose, huge[:3] / 2), twist, acceleration)
        for sample in loop.run(0.005):
            assert np.isfinite(sample.command.effort).all()
            assert (np.abs(sample.command.effort) <= loop.model.effort_limits).all()


# Settings

BRANCHING = """<robot name="fork"><link name="base"/>
  <link name="arm"><inertial>
    <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"/><link name="right"/><link name="camera"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
  <joint name="l" type="fixed"><parent link="arm"/><child link="left"/></joint>
  <joint name="r" type="fixed"><parent link="arm"/><child link="right"/></joint>
  <joint name="c" type="fixed"><parent link="base"/><child link="camera"/></joint></robot>"""


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"link": ""}, "left, right"),
        ({"link": "hand"}, '"hand"'),
        ({"link": "camera"}, '"camera"'),
        ({"components": ("rz", "x")}, "components: 2"),
        ({"components": ("rz", "yaw")}, "rz yaw"),
        ({"components": ("rz", "rz")}, "rz rz"),
        ({"components": ()}, "components"),
        ({"natural_frequency": [0.0]}, "natural_frequency 0"),
        ({"natural_frequency": [1e200]}, "natural_frequency 1e.200"),
        ({"natural_frequency": [1.0, 2.0]}, "natural_frequency: 2 numbers"),
        ({"damping_ratio": [1, 1, 1, 1, 1, np.nan]}, 'damping_ratio: nan.*"rz"'),
        ({"damping_ratio": [0.0]}, "damping_ratio 0"),
        ({"max_linear_velocity": np.nan}, "max_linear_velocity: nan"),
    ],
)
def test_settings_that_cannot_be(change: dict[str, Any], culprit: str) -> None:
    model = RobotModel.from_urdf(BRANCHING)
    Controller(model, settings({"link": "left", "components": ("rz",)}))
    with pytest.raises(RobotDynamicsError, match=f"task_space.*{culprit}"):
        Controller(model, settings({"link": "left", "components": ("rz",), **change}))


def test_settings_change_while_it_runs(smooth: Any) -> None:
    """Gains from the next cycle on; another link or other components hold what they find."""
    loop = Loop("panda", smooth("panda"), settings())
    loop.cycle()
    start = loop.pose
    loop.aim(moved(start, (0.1, 0.0, 0.0)))
    loop.run(0.2)
    loop.controller.tune(settings({"natural_frequency": [20.0], "target_timeout": 0.5}))
    loop.cycle()
    assert loop.controller.hand is not None and loop.controller.hand.position_error > 0.04
    for change in ({"components": ("x", "y", "z")}, {"link": "panda_link7"}):
        loop.controller.tune(settings(change))
        loop.cycle()
        assert loop.controller.hand is not None and loop.controller.hand.position_error == 0.0
    with pytest.raises(RobotDynamicsError, match="task_space.link"):
        loop.controller.tune(settings({"link": "hand"}))
    assert loop.controller.settings.task_space.link == "panda_link7"


def test_no_targets_before_there_is_a_state(smooth: Any) -> None:
    controller = Controller(smooth("panda"), settings())
    with pytest.raises(RobotDynamicsError, match="joint_states"):
        controller.targets()
