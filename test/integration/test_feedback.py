"""What drivers send: numbers that cannot be, grippers, gaps, no velocity, wrong efforts; and an arm that is pushed."""

import math

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.nodes.messages import nanoseconds
from robot_dynamics_ros.simulation import Plant
from support.robot import ERROR, NODE, WARN, Robot, following, move, near
from support.ros import JOINTS, PLANAR, TSAI, URDF, Array, gravity

Q = (-0.6, 0.9)
NAN, INF = math.nan, math.inf


# Numbers that cannot be


@pytest.mark.parametrize(
    ("field", "joint", "value"), [("position", 1, NAN), ("velocity", 0, -INF), ("velocity", 1, 1e200)]
)
def test_states_that_cannot_be(field: str, joint: int, value: float, robot: Robot) -> None:
    """A fault at once that names joint and value; the arm is held where it was last seen well."""
    robot.begin(Q, {"fault_reset": "auto"})
    last = (Q[0] + 0.01, Q[1])
    robot.answer_to(last, (0.1, 0.2))
    robot.edit = lambda state: getattr(state, field).__setitem__(joint, value)
    answer = robot.answer_to((0.5, 0.5), (1.0, 1.0))
    assert near(answer.effort, gravity(last)) and tuple(answer.position) == last
    robot.edit = lambda state: None
    robot.drive(lambda: len(robot.changes) >= 2, "it is over", Q)
    hold, active = robot.changes
    assert (hold.change, hold.level) == (("active", "hold"), ERROR)
    assert (hold.values["cause"], hold.values["joint"]) == ("state_invalid", JOINTS[joint])
    np.testing.assert_equal(hold.number("value"), value)
    assert active.change == ("hold", "active")


def test_states_of_the_wrong_size(robot: Robot) -> None:
    """Without /clear_fault nothing moves after that, and no trajectory is taken."""
    robot.begin(Q)
    robot.edit = lambda state: setattr(state, "position", [0.1, 0.2, 0.3])
    assert near(robot.answer_to(Q).effort, gravity(Q))
    robot.edit = lambda state: None
    fault = robot.drive_to("fault", Q)
    assert fault.values["cause"] == "state_invalid"
    robot.refuses_a_trajectory("fault")
    assert near(robot.answer_to(Q, dt=3.0).effort, gravity(Q))
    assert robot.clear_fault().success
    assert near(robot.answer_to(Q).effort, gravity(Q))


def test_no_states_and_those_of_others(robot: Robot) -> None:
    """Log and /diagnostics say why nothing is commanded, without a cycle that could."""
    _inactive(robot)
    log = robot.log_from_now()
    assert robot.activate()
    robot.graph.await_log(log, "no joint_states")
    robot.edit = lambda state: setattr(state, "name", ["finger1", "finger2"])
    robot.drive(lambda: "joint1, joint2" in robot.statuses[-1].message, "the joints that are missing", Q)
    assert robot.statuses[-1].level == WARN
    robot.edit = lambda state: None
    assert near(robot.answer_to(Q).effort, gravity(Q))


# Other joints, missing joints and velocities


def _with_gripper(state: JointState) -> None:
    """Arm and gripper in one message, in another order, and efforts that nobody reads once it is active."""
    state.name = ["left_finger", "joint2", "right_finger", "joint1"]
    state.effort = [NAN, INF, NAN, INF]
    for field in ("position", "velocity"):
        first, second = getattr(state, field)
        setattr(state, field, [NAN, second, INF, first])


def test_a_gripper_on_the_same_topic(robot: Robot) -> None:
    """Its own messages say nothing, whatever their stamps and numbers; in the arm's own ones they are passed over."""
    graph = robot.graph
    robot.begin(Q)
    log = robot.log_from_now()
    gripper = JointState(name=["left_finger", "right_finger"], position=[NAN, 0.01], velocity=[INF, 0.0])
    gripper.header.stamp.sec = 5  # of a clock of its own
    stamps, count = [], len(robot.efforts)
    robot.answers.clear()
    for k in range(15):
        robot.edit = _with_gripper if k % 3 == 0 else lambda state: None
        q, qd = (Q[0] + 0.001 * k, Q[1]), (0.1, 0.002 * k)
        robot.send(gripper)
        answer = robot.exchange(q, qd)
        assert tuple(answer.name) == JOINTS and near(answer.effort, following(q, qd, Q))
        robot.send(gripper)
        stamps.append(robot.now)
    graph.settle(0.2)
    assert [nanoseconds(answer.header.stamp) for answer in robot.answers] == stamps
    assert len(robot.efforts) == count + 15
    assert log.errors == [] and robot.changes == []

    # It goes on, the arm does not.
    robot.set("state_timeout", 0.5)
    robot.play(lambda: robot.mode == "hold", "the arm's states to be missed", lambda: gripper)
    assert robot.changes[-1].values["cause"] == "state_stale"


def _without_joint2(state: JointState) -> None:
    for field in ("name", "position", "velocity"):
        setattr(state, field, getattr(state, field)[:1])


def test_missing_joints(robot: Robot) -> None:
    """For a moment that is no fault; when it stays so it is one, which names them."""
    robot.begin(Q)
    for _ in range(5):
        robot.edit = _without_joint2
        robot.send(robot.message(Q))
        robot.edit = lambda state: None
        robot.answer_to(Q)
    assert robot.changes == []
    robot.edit = _without_joint2
    for name, value in (("stale_hold_time", 0.3), ("state_timeout", 0.5)):
        robot.set(name, value)
    fault = robot.drive_to("hold", (0.5, 0.5))
    assert (fault.level, fault.values["cause"]) == (ERROR, "state_stale")
    assert "joint2" in fault.message and "joint1" not in fault.message
    robot.drive_to("zero", (0.5, 0.5))
    held = [message.data for message in robot.efforts if np.any(message.data)][-1]
    assert near(held, gravity(Q)), "nothing is taken from a message that lacks joints"
    robot.edit = lambda state: None
    robot.set("state_timeout", float("inf"))
    robot.drive_to("fault", Q)
    assert robot.clear_fault().success
    assert near(robot.answer_to(Q).effort, gravity(Q))


@pytest.mark.parametrize("velocity", [[], [NAN, NAN]], ids=["none", "of a joint_state_broadcaster"])
def test_a_driver_without_velocity(velocity: list[float], robot: Robot) -> None:
    """The torque is that of the velocity with which the positions change."""
    robot.edit = lambda state: setattr(state, "velocity", velocity)
    robot.begin(Q)
    robot.answer_to(Q)
    moving, dt = np.array([0.4, -0.7]), 0.005
    q = np.array(Q)
    for _ in range(10):
        q = q + moving * dt
        np.testing.assert_allclose(robot.exchange(q, dt=dt).effort, following(q, moving, Q), rtol=0, atol=1e-5)
    assert robot.changes == []


# Efforts at activation

_G = gravity(Q)


def _inactive(robot: Robot, effort: Array | None = None) -> None:
    """A robot that will report this effort, and a controller that has commanded nothing yet."""
    robot.edit = lambda state: setattr(state, "effort", [] if effort is None else list(effort))
    if robot.active:
        robot.deactivate()
    robot.graph.settle(0.1)
    for messages in (robot.efforts, robot.answers):
        messages.clear()


def _a_few_states(robot: Robot) -> None:
    end = robot.now + 100_000_000
    robot.drive(lambda: robot.now > end, "a few states", Q)


def _cure(robot: Robot) -> None:
    """Nothing has been commanded; with right efforts it can be activated, and it holds the arm."""
    assert robot.efforts == [] and robot.answers == []
    robot.edit = lambda state: setattr(state, "effort", list(_G))
    robot.graph.wait(lambda: _a_few_states(robot) or robot.activate(), "the activation")
    assert near(robot.answer_to(Q).effort, _G)


@pytest.mark.parametrize("before", [True, False], ids=["before the activation", "after it"])
def test_wrong_efforts(before: bool, robot: Robot) -> None:
    """They keep the controller from being activated; where none came before, the first state takes it back."""
    robot.begin(Q)
    _inactive(robot, _G * (1.0, -1.0))
    log = robot.log_from_now()
    if before:
        robot.graph.wait(lambda: _a_few_states(robot) or not robot.activate(), "a refusal")
    else:
        assert robot.activate()
        robot.drive(lambda: log.errors, "the node to take it back", Q)
        robot.await_mode("inactive")
        robot.active = False
    assert "joint2" in log.errors[0] and "joint1" not in log.errors[0]
    _cure(robot)


@pytest.mark.parametrize("effort", [_G + (0.5, -0.2), np.empty(0), np.zeros(2), np.full(2, NAN)], ids=str)
def test_efforts_that_allow_activation(effort: Array, robot: Robot) -> None:
    _inactive(robot, effort)
    log = robot.log_from_now()
    _a_few_states(robot)
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
    robot.graph.wait(lambda: nanoseconds(seen[-1].header.stamp) == robot.now, "the stamp of the last state")
    assert np.abs(plant.velocity).max() > 0.3
    settled = list(pushed)[150]  # 0.3 s: fifteen time constants
    observed = {nanoseconds(message.header.stamp): message for message in seen}
    observed = {stamp: message for stamp, message in observed.items() if stamp >= settled}
    assert len(observed) > 100
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
    assert not robot.clear_fault().success
