"""Faults: invalid states from drivers, the commands after a check fails, and the recovery."""

import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from robot_dynamics_ros import RobotModel
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.recordings.bags import assert_bags_match
from robot_dynamics_ros.ros.conversions import nanoseconds
from robot_dynamics_ros.runs.replay import COMMANDS
from robot_dynamics_ros.simulation import Plant
from support.robot import (
    ERROR,
    NODE,
    OK,
    Robot,
    comes_to_rest_at,
    following,
    holding,
    holds,
    move,
    near,
    reliable_states,
)
from support.ros import JOINTS, LATCHED, PLANAR, TSAI, URDF, Array, Graph, gravity

Q = (-0.6, 0.9)
STALE = {"stale_hold_time": 1.0, "state_timeout": 1.0}
FORCE = np.array([4.0, -9.0])  # N at the tip, in the axes of the last link


@pytest.fixture(scope="module")
def robots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Robot]]:
    """Start a controller for each clock and update rate, each in its namespace."""
    with Graph(tmp_path_factory.mktemp("robots")) as graph:
        robots = {}
        for clock, rate in (("wall", 0), ("wall", 200), ("simulated", 200)):
            name = f"{clock}_{rate}"
            parameters = {**PLANAR, **reliable_states(f"/{name}"), "update_rate": rate}
            parameters["use_sim_time"] = clock == "simulated"
            process = graph.start(
                "computed_torque_node", parameters, "-r", f"__ns:=/{name}"
            )
            robots[name] = Robot(graph, process, f"/{name}", clock=clock == "simulated")
        for robot in robots.values():
            robot.answer_to(Q)
        yield robots
        for robot in robots.values():
            robot.assert_finite()


@pytest.fixture
def robot(robots: dict[str, Robot]) -> Iterator[Robot]:
    yield robots["wall_0"]
    robots["wall_0"].edit = lambda state: None


@pytest.mark.parametrize("name", ["wall_0", "wall_200", "simulated_200"])
def test_stale_feedback(name: str, robots: dict[str, Robot]) -> None:
    robot = robots[name]
    graph = robot.graph
    robot.begin(Q)
    robot.takes_a_trajectory(move((0.5, 0.5), 100.0))
    last = (-0.5, 0.8)
    speed = (0.4, -0.3)
    robot.drive(
        lambda: any(robot.answers[-1].velocity), "the motion to begin", last, speed
    )
    robot.answer_to(last, speed)
    assert not near(robot.efforts[-1].data, gravity(last))

    # Silence: the arm stops by the model and is held, without damping; then the torque fades.
    before = len(robot.efforts)
    graph.set_parameters(robot.node, STALE)
    hold = robot.await_mode("hold")
    assert (hold.change, hold.level, hold.values["cause"]) == (
        ("active", "hold"),
        ERROR,
        "state_stale",
    )
    assert hold.number("value") > 1.0 and hold.number("state age") > 1.0
    robot.refuses_a_trajectory("state_timeout")
    zero = robot.await_mode("zero")
    assert (zero.change, zero.level, zero.values["cause"]) == (
        ("hold", "zero"),
        ERROR,
        "state_stale",
    )
    assert not robot.clear_fault().success
    graph.wait(
        lambda: not np.any([message.data for message in robot.efforts[-3:]]),
        "no torque",
    )
    silent = np.array([message.data for message in robot.efforts[before:]])
    # In 0.1 s, or by the usual deceleration.
    stopped = gravity(np.array(last) + 0.05 * np.array(speed))
    held = np.flatnonzero(np.abs(silent - stopped).max(axis=1) < 0.3)
    assert len(held) > 3 and not np.any(silent[-1]), silent
    fading = np.abs(silent[held[-1] :]).max(axis=1)
    assert (np.diff(fading) <= 1e-9).all(), silent

    # States again: hold at once, the cause is over after 0.2 s, and it waits to be cleared.
    here = (-0.3, 0.7)
    speed = (0.2, 0.1)
    seen = len(robot.changes)
    fault = robot.drive_to("fault", here, speed)
    changes = [status.change for status in robot.changes[seen:]]
    assert changes[0] == ("zero", "hold") and changes[-1] == ("hold", "fault")
    # A busy machine may interrupt the states for more than a second again.
    assert set(changes[1:-1]) <= {("hold", "zero"), ("zero", "hold")}
    assert (fault.level, fault.values["cause"]) == (ERROR, "state_stale")
    robot.set("state_timeout", float("inf"))
    held_at = tuple(robot.answer_to(here, speed).position)
    assert comes_to_rest_at(held_at, here, speed) and held_at != here
    # Elsewhere it is pulled back.
    there = (-0.2, 0.6)
    # Feedback is softer for states that a busy machine delays.
    robot.drive(
        lambda: near(robot.answers[-1].effort, holding(there, speed, held_at)),
        "a pull towards the held position",
        there,
        speed,
    )
    assert robot.clear_fault().success
    answer = robot.later_answer_to(there, speed)
    # 0.09 rad off, it is held where it is measured.
    assert (tuple(answer.position), tuple(answer.velocity)) == (there, (0.0, 0.0)), (
        "the trajectory is forgotten"
    )
    assert near(answer.effort, following(there, speed, there))
    graph.wait(
        lambda: robot.changes[-1].change == ("fault", "active"), "that in /diagnostics"
    )
    assert (robot.changes[-1].level, robot.changes[-1].number("faults")) == (OK, 1)


def test_a_torque_is_removed_at_its_rate_without_states(robot: Robot) -> None:
    """The watchdog then runs at the interval of the states, 5 ms, instead of 20 ms."""
    robot.begin(Q, {"torque_rate_limit": [20.0], "on_fault": "zero"})
    for _ in range(30):
        robot.exchange(Q, dt=0.005)
    before = len(robot.efforts)
    robot.set("state_timeout", 0.5)

    def period() -> float:
        count = len(robot.efforts)
        begun = time.monotonic()
        robot.graph.wait(
            lambda: len(robot.efforts) >= count + 10, "commands without states"
        )
        return (time.monotonic() - begun) / 10

    robot.graph.wait(lambda: period() < 0.012, "commands at this interval")
    steps = np.abs(
        np.diff([message.data for message in robot.efforts[before - 1 :]], axis=0)
    )
    assert 0.0 < steps.max() <= 1.5 * 20.0 * 0.005 + 1e-9


#: Position and velocity that the driver sends, of true ones, and the cause.
WRONG = {
    "velocity of the wrong sign": (lambda q, qd: (q, -qd), "state_implausible"),
    "no velocity": (lambda q, qd: (q, 0.0 * qd), "state_implausible"),
    "velocity in degrees": (lambda q, qd: (q, 57.3 * qd), "state_implausible"),
    "constant positions": (lambda q, qd: (np.array(Q), qd), "state_implausible"),
    "zeros": (lambda q, qd: (0.0 * q, 0.0 * qd), "state_implausible"),
    "a repeated message": (None, "state_stale"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_feedback(robot: Robot, kind: str) -> None:
    """Of an arm that moves at 2 rad/s; no fault while it is right, and hold or zero effort afterwards."""
    robot.begin(Q, {"position_step_limit": [0.05]})
    speed = np.array([2.0, -2.0])
    begin = robot.now

    def state() -> tuple[Array, Array]:
        return np.array(Q) + speed * (robot.now + 20_000_000 - begin) * 1e-9, speed

    robot.drive(lambda: robot.now > begin + 100_000_000, "some states", Q)
    begin = robot.now
    for _ in range(20):
        last = robot.exchange(*state())
    assert robot.mode in ("", "active") and len(last.effort) == 2
    change, cause = WRONG[kind]
    if change is None:
        robot.set("state_timeout", 0.5)
        message = super(Robot, robot).message(*state())
        robot.graph.repeat(
            lambda: robot.send(message), lambda: robot.mode == "hold", "hold", 0.01
        )
    else:
        robot.play(
            lambda: robot.mode == "hold",
            "hold",
            lambda: robot.message(*change(*state())),
        )
    assert robot.changes[0].values["cause"] == cause
    assert np.abs(robot.efforts[-1].data).max() < 100.0


def test_an_emergency_stop(robot: Robot) -> None:
    """By the topic before the activation, in which the law gives no command; then by the service."""
    service = f"{robot.node}/emergency_stop"
    robot.begin(Q)
    robot.deactivate()
    stop = robot.graph.publisher(Bool, service, LATCHED)
    robot.graph.wait(lambda: stop.get_subscription_count() == 1, "the node to listen")
    stop.publish(Bool(data=True))
    robot.graph.spin_for(0.5)  # nothing tells that an inactive node has it
    assert robot.activate()
    count = len(robot.answers)
    speed = (0.4, -0.3)
    robot.answer_to(Q, speed)
    assert all(holds(answer.effort, Q, speed) for answer in robot.answers[count:])
    assert robot.await_mode("hold").values["cause"] == "emergency_stop"
    assert not robot.clear_fault().success
    stop.publish(Bool(data=False))
    robot.drive(lambda: robot.clear_fault().success, "the end of the stop", Q)
    assert not near(robot.answer_to(Q, speed).effort, gravity(Q))
    assert robot.graph.call(Trigger, service, Trigger.Request()).success
    robot.await_mode("hold")
    assert robot.clear_fault().success


def test_each_emergency_stop_has_its_own_topic(tmp_path: Path) -> None:
    """A second publisher of one is named and refused; the fault is cleared when all are released; replays have it."""
    button = "/cell/button"
    panel = "/cell/emergency_stop"
    boxes = tmp_path / "boxes"
    given = {
        "emergency_stop_topics": [panel],
        "exclusive_topics": True,
        "autostart": False,
    }
    with Graph(tmp_path) as graph:
        given |= {"activation_check": False, "black_box_directory": str(boxes)}
        robot = Robot(
            graph,
            graph.start(NODE, {**PLANAR, **given}, "-r", f"~/emergency_stop:={button}"),
        )
        first, second, rival = (
            graph.publisher(Bool, topic, LATCHED) for topic in (button, panel, button)
        )
        log = robot.log_from_now()
        graph.configure(NODE)
        graph.await_log(log, f"{button} must have one publisher")
        assert not robot.activate()
        graph.client.destroy_publisher(rival)
        graph.await_log(log, "one publisher each again")
        assert robot.activate()
        robot.answer_to(Q)
        assert "no fault" in robot.clear_fault().message
        second.publish(Bool(data=True))
        robot.drive_to("hold", Q)
        first.publish(Bool(data=True))
        robot.answer_to(Q)
        graph.await_log(log, "black box: the messages")
        for pressed, response in (
            (first, f"true on {panel}."),
            (second, "the fault is cleared"),
        ):
            pressed.publish(Bool(data=False))
            robot.drive(
                lambda response=response: response in robot.clear_fault().message,
                "the release",
                Q,
            )
    (bag,) = boxes.iterdir()
    assert main(["replay", str(bag), "-o", str(tmp_path / "replayed")]) == 0
    assert_bags_match(bag, tmp_path / "replayed", topics=[COMMANDS])


def test_a_clock_that_jumps_back(robots: dict[str, Robot]) -> None:
    """The trajectory is dropped, as with a bag played in a loop, and the arm is stopped and held."""
    robot = robots["simulated_200"]
    robot.begin(Q, {"fault_reset": "auto"})
    begin = robot.now
    robot.takes_a_trajectory(move((0.5, 0.5), 100.0))
    robot.drive(lambda: robot.now > begin + 1_000_000_000, "a second", Q)
    assert any(robot.answer_to(Q).velocity)
    end = robot.now
    robot.now = begin
    here = (-0.5, 0.8)
    speed = (0.2, 0.1)
    robot.drive(lambda: len(robot.changes) == 2, "it is over", here, speed)
    first, second = robot.changes
    assert (first.change, first.level, first.values["cause"]) == (
        ("active", "hold"),
        ERROR,
        "clock_jumped_back",
    )
    assert first.number("value") == pytest.approx((end - begin) * 1e-9, abs=0.05)
    assert second.change == ("hold", "active")
    answer = robot.later_answer_to(here, speed)
    held = tuple(answer.position)
    assert (
        comes_to_rest_at(held, here, speed)
        and held != here
        and tuple(answer.velocity) == (0.0, 0.0)
    )
    assert near(answer.effort, following(here, speed, held))


def test_invalid_state(robot: Robot) -> None:
    """A fault that names joint and value; the arm is held at the last valid state until clear_fault."""
    # A busy machine may need longer for the stop than the usual time of a hold without states.
    robot.begin(Q, {"stale_hold_time": 60.0})
    last = (Q[0] + 0.01, Q[1])
    robot.answer_to(last, (0.1, 0.2))
    robot.edit = lambda state: state.position.__setitem__(1, math.nan)
    answer = robot.answer_to((0.5, 0.5), (1.0, 1.0))
    assert not near(answer.effort, gravity(last)), "the last valid state is braked"

    def rests() -> bool:
        answer = robot.answers[-1]
        return not any(answer.velocity) and near(
            answer.effort, gravity(answer.position)
        )

    robot.drive(rests, "a hold at rest", (0.5, 0.5), (1.0, 1.0))
    assert np.allclose(robot.answers[-1].position, last, atol=0.015), "it stops"
    robot.edit = lambda state: None
    robot.drive_to("fault", Q)
    hold = robot.changes[0]
    assert (hold.change, hold.level) == (("active", "hold"), ERROR)
    assert (hold.values["cause"], hold.values["joint"]) == ("state_invalid", "joint2")
    assert math.isnan(hold.number("value"))
    robot.refuses_a_trajectory("fault")
    assert robot.clear_fault().success
    robot.drive_to("active", Q)


def test_a_gripper_on_the_same_topic(robot: Robot) -> None:
    """Its messages have no effect, whatever their stamps and numbers."""
    robot.begin(Q)
    log = robot.log_from_now()
    count = len(robot.efforts)
    gripper = JointState(
        name=["left_finger", "right_finger"],
        position=[math.nan, 0.01],
        velocity=[math.inf, 0.0],
    )
    gripper.header.stamp.sec = 5  # of a clock of its own
    for k in range(5):
        q = (Q[0] + 0.001 * k, Q[1])
        qd = (0.1, 0.002 * k)
        robot.send(gripper)
        assert near(robot.exchange(q, qd).effort, following(q, qd, Q))
    robot.graph.spin_for(0.2)
    assert len(robot.efforts) == count + 5
    assert log.errors == [] and robot.changes == []
    robot.set("state_timeout", 0.5)
    robot.play(
        lambda: robot.mode == "hold", "the arm's states to be missed", lambda: gripper
    )
    assert robot.changes[-1].values["cause"] == "state_stale"


def _inactive(robot: Robot, effort: Array) -> None:
    """Return a robot that will report this effort, with a controller that has published no command yet."""
    robot.edit = lambda state: setattr(state, "effort", list(effort))
    if robot.active:
        robot.deactivate()
    robot.graph.spin_for(0.1)
    for messages in (robot.efforts, robot.answers):
        messages.clear()


def _activate(robot: Robot) -> bool:
    """Activate the controller after a few states."""
    end = robot.now + 100_000_000
    robot.drive(lambda: robot.now > end, "a few states", Q)
    return robot.activate()


def test_wrong_efforts_prevent_activation(robot: Robot) -> None:
    """Wrong efforts prevent the activation; if no state was received before, the first one deactivates the node."""
    robot.begin(Q)
    wrong = gravity(Q) * (1.0, -1.0)
    _inactive(robot, wrong)
    log = robot.log_from_now()
    robot.graph.wait(lambda: not _activate(robot), "a refusal")
    assert "joint2" in log.errors[0] and "joint1" not in log.errors[0]
    assert robot.efforts == [] and robot.answers == []
    _inactive(robot, gravity(Q))
    robot.graph.wait(lambda: _activate(robot), "the activation")
    assert near(robot.answer_to(Q).effort, gravity(Q))

    _inactive(robot, wrong)
    log = robot.log_from_now()
    assert robot.activate()
    robot.drive(lambda: log.errors, "the node to deactivate itself", Q)
    robot.await_mode("inactive")
    robot.active = False
    assert "joint2" in log.errors[0] and robot.efforts == [] and robot.answers == []


def _true_torque(q: Array) -> Array:
    """Return J^T w of the force at the tip: with lever arm a2 about joint 2, a2 and a1 rotated by -q2 about joint 1."""
    about2 = TSAI.a2 * FORCE[1]
    return np.array(
        [
            about2 + TSAI.a1 * (math.cos(q[1]) * FORCE[1] + math.sin(q[1]) * FORCE[0]),
            about2,
        ]
    )


def _push(robot: Robot, plant: Plant, steps: int, force: Array) -> None:
    """Push the plant in lockstep: each state has its command before the next 2 ms are simulated."""
    wrench = {"link2": [*force, 0.0, 0.0, 0.0, TSAI.a2 * force[1]]}
    for _ in range(steps):
        plant.step(
            robot.exchange(plant.position, plant.velocity, dt=0.002).effort, 2, wrench
        )


def test_external_torque_and_collision(robot: Robot) -> None:
    """The observed torque of a push is within 5 %, at rest and in motion; as a collision it is a fault."""
    model = RobotModel.from_urdf(URDF, dynamics=PLANAR["dynamics_file"])
    plant = Plant(model, step_size=0.001, initial_positions=Q)
    seen = robot.graph.collect(JointState, f"{robot.node}/external_torque")
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
        lambda: nanoseconds(seen[-1].header.stamp) == robot.now,
        "the stamp of the last state",
    )
    assert np.abs(plant.velocity).max() > 0.3
    steady = list(pushed)[150]  # 0.3 s: fifteen time constants
    observed = {nanoseconds(message.header.stamp): message for message in seen}
    observed = {
        stamp: message for stamp, message in observed.items() if stamp >= steady
    }
    assert len(observed) > 100
    for stamp, message in observed.items():
        assert tuple(message.name) == JOINTS
        np.testing.assert_allclose(
            message.effort, _true_torque(pushed[stamp]), rtol=0.05
        )
    assert robot.changes == []

    robot.set("observer.collision_threshold", [5.0, 100.0])
    _push(robot, plant, 5, FORCE)
    robot.graph.wait(lambda: robot.changes, "the collision")
    (fault,) = robot.changes
    assert (fault.change, fault.level) == (("active", "hold"), ERROR)
    assert (fault.values["cause"], fault.values["joint"]) == ("collision", "joint1")
    assert fault.number("value") == pytest.approx(
        _true_torque(plant.position)[0], rel=0.05
    )
    assert holds(
        robot.exchange(plant.position, plant.velocity, dt=0.002).effort,
        plant.position,
        plant.velocity,
    )
    assert not robot.clear_fault().success
