"""What drivers send: grippers beside the arm, joints in any order, gaps, no velocity, wrong efforts, and pushes."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from integration.robot import ERROR, NODE, Robot, following, move, near
from integration.ros import JOINTS, PLANAR, TSAI, URDF, Array, gravity
from sensor_msgs.msg import JointState

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.nodes.messages import nanoseconds
from robot_dynamics_ros.simulation import Plant

Q = (-0.6, 0.9)
NAN, INF = math.nan, math.inf


# Other joints, other orders, missing joints and velocities


def _with_gripper(state: JointState) -> None:
    """Arm and gripper in one message, in another order."""
    state.name = ["left_finger", "joint2", "right_finger", "joint1"]
    for field in ("position", "velocity"):
        first, second = getattr(state, field)
        setattr(state, field, [NAN, second, INF, first])


def test_a_gripper_on_the_same_topic(robot: Robot) -> None:
    """Its own messages say nothing, whatever their stamps and numbers; in the arm's own ones they are passed over."""
    graph = robot.graph
    robot.begin(Q, {"state_timeout": 0.5})
    log = robot.log_from_now()
    gripper = JointState(name=["left_finger", "right_finger"], position=[NAN, 0.01], velocity=[INF, 0.0])
    gripper.header.stamp.sec = 5  # of a clock of its own
    graph.settle(0.1)
    robot.answers.clear()
    robot.efforts.clear()
    stamps = []
    for k in range(60):
        robot.edit = _with_gripper if k % 3 == 0 else lambda state: None
        q, qd = (Q[0] + 0.001 * k, Q[1]), (0.1, 0.002 * k)
        robot.send(gripper)
        assert near(robot.exchange(q, qd).effort, following(q, qd, Q))
        robot.send(gripper)
        stamps.append(robot.now)
    graph.settle(0.2)
    assert [nanoseconds(answer.header.stamp) for answer in robot.answers] == stamps
    assert len(robot.efforts) == 60
    assert log.errors == [] and robot.changes == []

    # It goes on, the arm does not.
    robot.play(lambda: robot.mode == "hold", "the arm's states to be missed", lambda: gripper)
    assert robot.changes[-1].values["cause"] == "state_stale"


def test_names_in_another_order_each_time(robot: Robot) -> None:
    robot.begin(Q)
    orders = [(0, 1), (1, 0)]

    def permuted(state: JointState, order: tuple[int, ...]) -> None:
        for field in ("name", "position", "velocity"):
            values = list(getattr(state, field))
            setattr(state, field, [values[k] for k in order])

    for k in range(6):
        robot.edit = lambda state, k=k: permuted(state, orders[k % 2])
        q, qd = (Q[0] + 0.01 * k, Q[1] - 0.02 * k), (0.3, -0.1 * k)
        answer = robot.answer_to(q, qd)
        assert tuple(answer.name) == JOINTS
        assert near(answer.effort, following(q, qd, Q))


def _without_joint2(state: JointState) -> None:
    for field in ("name", "position", "velocity"):
        setattr(state, field, getattr(state, field)[:1])


def test_missing_joints(robot: Robot) -> None:
    """For a moment that is no fault; when it stays so it is one, which names them."""
    robot.begin(Q, {"state_timeout": 0.5, "stale_hold_time": 0.3})
    for _ in range(20):
        robot.edit = _without_joint2
        robot.step(Q)
        robot.edit = lambda state: None
        robot.answer_to(Q)
    assert robot.changes == []
    robot.edit = _without_joint2
    fault = robot.drive_to("hold", (0.5, 0.5))
    assert (fault.level, fault.values["cause"]) == (ERROR, "state_stale")
    assert "joint2" in fault.message and "missing" in fault.message and "joint1" not in fault.message
    robot.drive_to("zero", (0.5, 0.5))
    held = [message.data for message in robot.efforts if np.any(message.data)][-1]
    assert near(held, gravity(Q)), "nothing is taken from a message that lacks joints"
    robot.edit = lambda state: None
    robot.drive_to("fault", Q)
    assert robot.clear_fault().success
    assert near(robot.answer_to(Q).effort, gravity(Q))


def _no_velocity(state: JointState) -> None:
    state.velocity = []


def _nan_velocity(state: JointState) -> None:
    """As ros2_control's joint_state_broadcaster fills in what a driver has not."""
    state.velocity = [NAN] * len(state.name)


@pytest.mark.parametrize("edit", [_no_velocity, _nan_velocity])
def test_a_driver_without_velocity(edit: Callable[[JointState], None], robot: Robot) -> None:
    """The torque is that of the velocity with which the positions change."""
    robot.edit = edit
    robot.begin(Q)
    robot.answer_to(Q)
    velocity, dt = np.array([0.4, -0.7]), 0.005
    q = np.array(Q)
    for _ in range(20):
        q = q + velocity * dt
        answer = robot.exchange(q, dt=dt)
        np.testing.assert_allclose(answer.effort, following(q, velocity, Q), rtol=0, atol=1e-5)
    assert robot.changes == []


# Efforts at activation

_G = gravity(Q)
BAD_EFFORTS = {
    "swapped": (_G[::-1], ("order", '"joint1"', '"joint2"', "check which motor is which joint")),
    "sign": (_G * (1.0, -1.0), ("sign", '"joint2"', "turn round the sign")),
    "doubled": (2.0 * _G, ("twice", '"joint1"', '"joint2"', "robot_compensates_gravity")),
}
GOOD_EFFORTS = {"right": _G + (0.5, -0.2), "none": np.empty(0), "zero": np.zeros(2), "unknown": np.full(2, NAN)}


def _inactive(robot: Robot, effort: Array) -> None:
    """A robot that will report this effort, and a controller that has commanded nothing yet."""
    robot.edit = lambda state: setattr(state, "effort", list(effort))
    if robot.active:
        robot.deactivate()
    robot.graph.settle(0.1)
    for messages in (robot.efforts, robot.answers):
        messages.clear()


def _cure(robot: Robot) -> None:
    """Nothing has been commanded; with right efforts it can be activated, and it holds the arm."""
    assert robot.efforts == [] and robot.answers == []
    robot.edit = lambda state: setattr(state, "effort", list(_G))
    first = robot.now
    robot.drive(lambda: robot.now > first + 50_000_000, "a few states", Q)
    assert robot.activate()
    assert near(robot.answer_to(Q).effort, _G)


@pytest.mark.parametrize("case", BAD_EFFORTS)
def test_wrong_efforts_before_activation(case: str, robot: Robot) -> None:
    effort, culprits = BAD_EFFORTS[case]
    _inactive(robot, effort)
    first = robot.now
    robot.drive(lambda: robot.now > first + 50_000_000, "a few states", Q)
    log = robot.log_from_now()
    assert not robot.activate()
    (error,) = log.errors
    assert "not activated" in error
    for culprit in culprits:
        assert culprit in error
    robot.drive(lambda: robot.now > first + 100_000_000, "a few more", Q)
    _cure(robot)


@pytest.mark.parametrize("case", BAD_EFFORTS)
def test_wrong_efforts_after_activation(case: str, robot: Robot) -> None:
    """The first state that it sees takes it back."""
    effort, culprits = BAD_EFFORTS[case]
    _inactive(robot, effort)
    log = robot.log_from_now()
    assert robot.activate()
    robot.drive(lambda: "deactivated" in log.text(), "the node to take it back", Q)
    (error,) = log.errors
    for culprit in culprits:
        assert culprit in error
    robot.await_mode("inactive")
    robot.active = False
    _cure(robot)


@pytest.mark.parametrize("known", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("case", GOOD_EFFORTS)
def test_efforts_that_allow_activation(case: str, known: bool, robot: Robot) -> None:
    _inactive(robot, GOOD_EFFORTS[case])
    log = robot.log_from_now()
    first = robot.now
    if known:
        robot.drive(lambda: robot.now > first + 50_000_000, "a few states", Q)
    assert robot.activate()
    assert near(robot.answer_to(Q).effort, gravity(Q))
    assert log.errors == []


# A pushed arm

FORCE = np.array([4.0, -9.0])  # N at the tip, in the axes of the last link


def _true_torque(q: Array) -> Array:
    """J^T w of the force at the tip: about joint 2 with the arm a2, about joint 1 with a2 and a1 turned by -q2."""
    about2 = TSAI.a2 * FORCE[1]
    return np.array([about2 + TSAI.a1 * (math.cos(q[1]) * FORCE[1] + math.sin(q[1]) * FORCE[0]), about2])


def _push(robot: Robot, plant: Plant, steps: int, force: Array) -> None:
    """The plant as driver, in lockstep: each state is answered before the next 2 ms are simulated."""
    wrench = {"link2": [*force, 0.0, 0.0, 0.0, TSAI.a2 * force[1]]}
    for _ in range(steps):
        plant.step(robot.exchange(plant.position, plant.velocity, dt=0.002).effort, 2, wrench)


def test_a_pushed_arm(robot: Robot) -> None:
    """The observer finds the torque of a push within 5 %, at rest and in motion; as a collision it is a fault."""
    model = RobotModel.from_urdf(URDF, dynamics=PLANAR["dynamics_file"])
    plant = Plant(model, step_size=0.001, initial_positions=Q)
    seen = robot.graph.collect(JointState, f"{NODE}/external_torque")
    robot.begin(Q, {"observer.gain": 50.0})
    robot.drive(lambda: seen, "the observer", Q)
    _push(robot, plant, 50, np.zeros(2))
    assert np.abs([message.effort for message in seen]).max() < 0.01, "nobody pushes"
    robot.takes_a_trajectory(move((0.0, 0.2), 1.0))
    pushed = {}
    for _ in range(400):
        _push(robot, plant, 1, FORCE)
        pushed[robot.now] = plant.position
    robot.graph.wait(
        lambda: nanoseconds(seen[-1].header.stamp) == robot.now, "the stamp of the last state", seconds=5.0
    )
    assert np.abs(plant.velocity).max() > 0.3
    settled = list(pushed)[150]  # 0.3 s: fifteen time constants
    observed = {nanoseconds(message.header.stamp): message for message in seen}
    observed = {stamp: message for stamp, message in observed.items() if stamp >= settled}
    assert len(observed) > 200
    for stamp, message in observed.items():
        assert tuple(message.name) == JOINTS
        np.testing.assert_allclose(message.effort, _true_torque(pushed[stamp]), rtol=0.05)
    assert robot.changes == []

    robot.set("observer.collision_threshold", [5.0, 100.0])
    _push(robot, plant, 5, FORCE)
    robot.graph.wait(lambda: robot.changes, "the collision")
    (fault,) = robot.changes
    assert (fault.change, fault.level) == (("active", "hold"), ERROR)
    assert (fault.values["cause"], fault.values["joint"]) == ("collision", "joint1")
    assert fault.number("value") == pytest.approx(_true_torque(plant.position)[0], rel=0.05)
    answer = robot.exchange(plant.position, plant.velocity, dt=0.002)
    braking = np.asarray(answer.effort) - model.gravity_torque(plant.position)
    assert braking @ plant.velocity < 0.0
    robot.refuses_a_trajectory("collision_threshold", "joint1")
    assert not robot.clear_fault().success
