"""The controller under ``task_space_computed_torque``: what the hand does, on the simulation, cycle by cycle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparing import assert_close
from pinocchio_peer import Peer
from task_space_control import PERIOD, Loop, errors, free, settings
from task_space_loops import HANDS, READY, rotated

from robot_dynamics_ros import RobotDynamicsError, RobotModel
from robot_dynamics_ros.control.controller import Controller
from robot_dynamics_ros.control.faults import Cause
from robot_dynamics_ros.control.poses import pose_error
from robot_dynamics_ros.control.rehearsal import rehearse
from robot_dynamics_ros.control.safety import Mode
from robot_dynamics_ros.control.settings import ControllerSettings
from robot_dynamics_ros.control.status import StatusReport
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints

X = np.eye(6)[0]


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


@pytest.mark.parametrize("robot", ["panda", "ur5e"])
def test_the_error_is_linear(robot: str, smooth: Any) -> None:
    """xdd = xdd_d + Kd e' + Kp e in each cycle, with the acceleration from forward dynamics: no matter what else."""
    model = smooth(robot)
    gains = {"natural_frequency": [8, 9, 10, 11, 12, 13], "damping_ratio": [0.8, 0.9, 1.0, 0.7, 1.1, 1.2]}
    omega, zeta = (np.array(values) for values in gains.values())
    loop = Loop(robot, model, settings(free(**gains)))
    loop.run(0.01)
    twist, acceleration = np.array([0.05, 0.1, -0.05, 0.1, 0.0, -0.1]), np.array([0.5, -0.2, 0.1, 0.0, 0.0, 0.0])
    goal = moved(loop.pose, (0.015, -0.01, 0.01), (0.04, -0.02, 0.05))
    begin = loop.time
    loop.aim(goal, twist, acceleration)
    for sample in loop.run(0.08)[::8]:
        assert not sample.command.saturated
        t = sample.time - begin
        way = twist * t + acceleration * t**2 / 2
        error = pose_error(moved(goal, way[:3], way[3:]), sample.pose)
        expected = acceleration + 2 * zeta * omega * (twist + acceleration * t - sample.twist) + omega**2 * error
        qdd = model.forward_dynamics(sample.q, sample.qd, sample.command.effort)
        j = model.jacobian(sample.q, loop.link)
        assert_close(j @ qdd + model.jacobian_dot_qd(sample.q, sample.qd, loop.link), expected, 1e-6, scale=1.0)


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


def test_a_far_target_is_approached_at_a_bounded_speed(smooth: Any) -> None:
    """In a straight line, turning about one axis, without going past it; the arm does not jump."""
    loop = Loop("ur5e", smooth("ur5e"), settings({"max_linear_velocity": 0.2, "max_angular_velocity": 0.5}))
    start = loop.pose
    way, turn = np.array([-0.1, 0.2, -0.1]), np.array([0.0, 0.3, 0.6])
    goal = moved(start, way, turn)
    loop.cycle()
    loop.aim(goal)
    samples = loop.run(2.7)
    speed = np.array([[np.linalg.norm(s.twist[:3]), np.linalg.norm(s.twist[3:])] for s in samples])
    assert speed.max(axis=0) == pytest.approx([0.2, 0.5], rel=0.01)
    left = errors(samples, lambda t: goal)
    along = left[:, :3] @ way / np.linalg.norm(way)
    assert along.min() > -1e-4 and (left[:, 3:] @ turn).min() > -1e-4, "no overshoot"
    aside = left[:, :3] - np.outer(along, way / np.linalg.norm(way))
    assert np.abs(aside).max() < 1e-3
    assert np.abs(left[-1]).max() < 1e-3


@pytest.mark.parametrize(("robot", "distance"), [("ur5e", 1.5), pytest.param("panda", 1.7, marks=pytest.mark.slow)])
def test_a_goal_beyond_reach_is_no_fault(robot: str, distance: float, smooth: Any) -> None:
    """Half a metre too far, the posture pulling back: the arm stretches no faster than its joints may, and rests."""
    loop = Loop(robot, smooth(robot), settings())
    loop.cycle()
    loop.aim(moved(loop.pose, loop.pose[:3, 3] * (distance / np.linalg.norm(loop.pose[:3, 3]) - 1.0)))
    samples = loop.run(4.0)
    assert loop.controller.mode is Mode.ACTIVE and loop.controller.fault is None
    hand = loop.controller.hand
    assert hand is not None and hand.damped and hand.position_error > 0.3
    qd = np.abs([sample.qd for sample in samples])
    assert (qd < loop.model.velocity_limits).all() and qd[-500:].max() < 0.02


@pytest.mark.parametrize(
    ("robot", "target"),
    [("ur5e", 11), ("panda", 12), ("ur5e", (-0.52, 0.68, 1.16)), ("panda", (0.67, 0.73, 0.89))],
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


def test_it_holds_where_it_finds_the_hand(smooth: Any) -> None:
    loop = Loop("panda", smooth("panda"), settings())
    pose = loop.pose
    samples = loop.run(0.3)
    assert np.abs(errors(samples, lambda t: pose)).max() < 1e-9
    assert_close(samples[0].command.effort, loop.model.gravity_torque(READY["panda"]), 1e-9)
    assert_close(samples[-1].command.desired.q, READY["panda"], 0.0)


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
    with pytest.raises(RobotDynamicsError, match=r"hold \(joint_states.*clear_fault"):
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
    with pytest.raises(RobotDynamicsError, match="the law computed_torque follows none.*task_space_computed_torque"):
        loop.controller.targets()
    loop.controller.tune(settings())
    here = loop.pose
    assert np.abs(errors(loop.run(0.3), lambda t: here)).max() < 1e-3


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


# What it is told


def test_a_robot_that_carries_its_own_weight_and_a_payload(smooth: Any) -> None:
    model = smooth("panda")
    payload = ("panda_link8", 1.5, (0.0, 0.0, 0.1), (0.01, 0.0, 0.0, 0.01, 0.0, 0.01))
    q = READY["panda"]
    for own, weight in ((True, np.zeros(7)), (False, model.with_payload(*payload).gravity_torque(q))):
        controller = Controller(model, settings(robot_compensates_gravity=own))
        controller.set_payload(*payload)
        controller.measure(0.0, 0.0, q, np.zeros(7))
        command = controller.update(0.0, 0.0)
        assert command is not None
        assert_close(command.effort, weight, 1e-9)


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


def test_nothing_is_compiled_after_the_rehearsal(load_robot: Callable[..., RobotModel]) -> None:
    """Not even where the law is chosen later."""
    model = load_robot("ur5e")
    rehearse(model, ControllerSettings())
    ready = set(vars(model.kernels))
    loop = Loop("ur5e", model, settings())
    loop.cycle()
    loop.aim(loop.pose, X)
    loop.cycle()
    assert set(vars(model.kernels)) == ready
    rehearse(model, settings())


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
    ("change", "message"),
    [
        ({"link": ""}, r'task_space.link: "" is not clear, the robot has 2 tips. Cure: name a link, as left, right'),
        ({"link": "hand"}, 'task_space.link: no link "hand".*left'),
        ({"link": "camera"}, '"camera" does not move'),
        ({"components": ("rz", "x")}, r'task_space.components: 2 of them for 1 joints. Cure: name at most 1, as "x"'),
        ({"components": ("rz", "yaw")}, 'task_space.components: "rz yaw".*x y z rx ry rz'),
        ({"components": ("rz", "rz")}, 'task_space.components: "rz rz"'),
        ({"components": ()}, "task_space.components"),
        ({"natural_frequency": [0.0]}, "task_space: natural_frequency 0 with damping_ratio 1 for component x"),
        ({"natural_frequency": [1e200]}, "task_space: natural_frequency 1e.200"),
        ({"natural_frequency": [1.0, 2.0]}, "task_space.natural_frequency: 2 numbers.*6: for x, y, z, rx, ry, rz"),
        ({"damping_ratio": [1, 1, 1, 1, 1, np.nan]}, 'task_space.damping_ratio: nan for component "rz"'),
        ({"damping_ratio": [0.0]}, "damping_ratio 0"),
        ({"max_linear_velocity": np.nan}, "task_space.max_linear_velocity: nan"),
        ({"max_angular_velocity": -1.0}, "task_space.max_angular_velocity: -1.0"),
        ({"target_timeout": np.inf}, "task_space.target_timeout: inf"),
    ],
)
def test_settings_that_cannot_be(change: dict[str, Any], message: str) -> None:
    model = RobotModel.from_urdf(BRANCHING)
    Controller(model, settings({"link": "left", "components": ("rz",)}))
    with pytest.raises(RobotDynamicsError, match=message + ".*|.*Cure"):
        Controller(model, settings({"link": "left", "components": ("rz",), **change}))


def test_the_posture_is_to_be_damped(smooth: Any) -> None:
    with pytest.raises(RobotDynamicsError, match='nothing damps joint "panda_joint2".*Cure'):
        Controller(smooth("panda"), settings(kp=[1.0], kd=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]))


@pytest.mark.parametrize("robot", sorted(HANDS))
def test_the_only_tip_is_the_hand(robot: str, smooth: Any) -> None:
    assert smooth(robot).packed.tips == (HANDS[robot],)


def test_no_targets_before_there_is_a_state(smooth: Any) -> None:
    controller = Controller(smooth("panda"), settings())
    with pytest.raises(RobotDynamicsError, match="not known yet"):
        controller.targets()


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_no_torque_is_no_command(smooth: Any) -> None:
    """Where the law's numbers run over, the arm is held: gains of a size that nobody has."""
    loop = Loop("panda", smooth("panda"), settings(free(natural_frequency=[1e150], damping_ratio=[1e150])))
    loop.cycle()
    loop.aim(moved(loop.pose, (1e8, 0.0, 0.0)), 1e9 * X)
    command = loop.cycle().command
    assert np.isfinite(command.effort).all()
    assert command.mode is Mode.HOLD and loop.controller.fault is not None
    assert loop.controller.fault.cause is Cause.TORQUE_NOT_FINITE
