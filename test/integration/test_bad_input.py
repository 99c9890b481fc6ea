"""Bad input: one clear error that names the culprit, the node goes on, and no torque is ever other than finite."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integration.ros import JOINTS, PLANAR, TSAI, URDF, Driver, Graph, Log, gravity
from lifecycle_msgs.msg import Transition
from oracles.tsai_planar_2r import torque
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import nanoseconds, stamp, trajectory_message

Q = (-0.6, 0.9)
THROTTLE = 1.1  # errors that may come at every cycle are said once a second
NODES = ("computed_torque_node", "simulation_node")
BROKEN = URDF.replace('<mass value="4"/>', '<mass value="four"/>')
assert BROKEN != URDF


def _one_error(graph: Graph, log: Log, *culprits: str) -> None:
    graph.wait(lambda: log.errors, f"an error that names {culprits}")
    graph.settle(0.2)
    assert len(log.errors) == 1, log.errors
    for culprit in culprits:
        assert culprit in log.errors[0]
    assert "Traceback" not in log.text()


# What a controller receives


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A robot and its controller, which answers."""
    with Graph(tmp_path_factory.mktemp("controller")) as graph:
        graph.start("computed_torque_node", PLANAR)
        driver = Driver(graph)
        driver.ask(Q)
        yield driver
        driver.assert_finite()


def _log(driver: Driver) -> Log:
    return Log(driver.graph.processes.members[0].log)


def _state(**changes: Any) -> JointState:
    fields = {"name": list(JOINTS), "position": [0.1, 0.2], "velocity": [0.0, 0.0], **changes}
    return JointState(**fields)


def _send_next(driver: Driver, state: JointState) -> None:
    """Send a state with the stamp that is due."""
    driver.now += 10_000_000
    state.header.stamp = stamp(driver.now)
    driver.send(state)


def _carries(driver: Driver, q: tuple[float, float]) -> None:
    """The last answer, and the command, carry the arm at rest there: Tsai (9.117)-(9.118)."""
    answer = driver.answers[-1]
    assert (tuple(answer.position), tuple(answer.velocity)) == (q, (0.0, 0.0))
    np.testing.assert_allclose(answer.effort, gravity(q), rtol=0, atol=1e-9)
    assert answer.effort == driver.efforts[-1].data


def _clear_fault(driver: Driver, log: Log) -> None:
    """Every check passes for a while, and somebody says that the arm may move again."""
    driver.ask(Q)
    driver.ask(Q, dt=0.5)
    driver.graph.await_log(log, "hold -> fault")
    known = log.errors
    assert driver.clear_fault().success
    driver.graph.await_log(log, "fault -> active")
    driver.ask(Q)
    _carries(driver, Q)
    assert log.errors == known


BAD_STATES = {
    "nan": (_state(position=[0.1, np.nan]), ("joint_states", "position", "joint2", "finite")),
    "infinite": (_state(velocity=[np.inf, 0.0]), ("joint_states", "velocity", "joint1", "finite")),
    "no position": (_state(position=[]), ("joint_states", "no position")),
    "too many": (_state(position=[0.1, 0.2, 0.3]), ("joint_states", "3 numbers in position", "2 names")),
    "too few": (_state(name=[*JOINTS, "gripper"]), ("joint_states", "2 numbers in position", "3 names")),
    "huge": (_state(velocity=[1e200, -1e200]), ("joint_states", "velocity", "joint1", "1e+200")),
}


@pytest.mark.parametrize("case", BAD_STATES)
def test_joint_states(case: str, driver: Driver) -> None:
    """A state that cannot be is answered by what carries the arm where it last was; nothing moves until cleared."""
    message, culprits = BAD_STATES[case]
    time.sleep(THROTTLE)
    graph, log = driver.graph, _log(driver)
    before = len(driver.answers)
    _send_next(driver, message)
    _one_error(graph, log, "active -> hold", *culprits)
    graph.settle(0.1)
    assert len(driver.answers) == before + 1, "more commands come, but they answer nothing"
    assert nanoseconds(driver.answers[-1].header.stamp) == driver.now
    _carries(driver, Q)
    driver.send_trajectory(_trajectory())
    graph.await_log(log, "trajectory refused: the controller is in hold")
    for dt in (0.01, 0.5, 3.0):
        driver.ask(Q, dt=dt)
        _carries(driver, Q)
    _clear_fault(driver, log)
    driver.assert_finite()


def test_a_driver_without_velocity(driver: Driver) -> None:
    """One that sent it until now: it is differentiated from position; computed torque by Tsai (9.73)-(9.74), w = 10."""
    log = _log(driver)
    driver.ask(Q)
    for rest in (0.5, 0.5):
        driver.now += round(rest * 1e9)
        _send_next(driver, _state(position=list(Q), velocity=[]))
        driver.graph.wait(lambda: nanoseconds(driver.answers[-1].header.stamp) == driver.now, "an answer")
    _carries(driver, Q)
    moved = (Q[0] + 0.004, Q[1] - 0.002)
    _send_next(driver, _state(position=list(moved), velocity=[]))
    driver.graph.wait(lambda: nanoseconds(driver.answers[-1].header.stamp) == driver.now, "an answer")
    q, qd = np.array(moved), np.array([0.4, -0.2])
    asked = -20.0 * qd - 100.0 * (q - Q)
    np.testing.assert_allclose(driver.answers[-1].effort, torque(TSAI, q, qd, asked), rtol=0, atol=1e-4)
    assert log.errors == []


def test_a_joint_that_is_missing(driver: Driver) -> None:
    """Said once a second and not answered; no fault until the state is too old."""
    graph, log = driver.graph, _log(driver)
    driver.ask(Q)
    before = len(driver.efforts)
    time.sleep(THROTTLE)
    begin = time.monotonic()
    while time.monotonic() < begin + 2.0 * THROTTLE:
        _send_next(driver, _state(name=["joint1", "gripper"]))
        graph.settle(0.05)
    said = log.lines("WARN")
    assert 2 <= len(said) <= time.monotonic() - begin + 1.0
    assert all("joint_states" in line and "joint2" in line and "missing" in line for line in said)
    assert log.errors == []
    assert len(driver.efforts) == before
    driver.ask(Q)
    _carries(driver, Q)
    assert "active -> " not in log.text()


def test_joint_states_of_other_joints_are_none_of_its_business(driver: Driver) -> None:
    log = _log(driver)
    driver.send(_state(name=["left_finger", "right_finger"], position=[np.nan, np.nan]))
    driver.send(JointState())
    driver.graph.settle(0.3)
    driver.ask(Q)
    assert log.text() == ""


def _trajectory(names: tuple[str, ...] = JOINTS, positions: Any = ((0.1, 0.2), (0.3, 0.4))) -> Any:
    message = trajectory_message(TrajectoryPoints(JOINTS, np.array([1.0, 2.0]), np.zeros((2, 2))))
    message.joint_names = list(names)
    for point, row in zip(message.points, positions, strict=True):
        point.positions = list(row)
    return message


def _in_the_past() -> Any:
    message = _trajectory()
    message.header.stamp.sec = 1_600_000_000
    return message


BAD_TRAJECTORIES = {
    "unknown joint": (_trajectory(("joint1", "elbow")), ("elbow", "joint1, joint2")),
    "missing joint": (_trajectory(("joint1",), ((0.1,), (0.2,))), ("joint2", "allow_partial_joints_goal")),
    "joint twice": (_trajectory(("joint1", "joint1")), ("joint1", "twice")),
    "wrong number": (_trajectory(positions=((0.1, 0.2), (0.3,))), ("point 1", "1 positions", "2 joint names")),
    "nan": (_trajectory(positions=((0.1, np.nan), (0.3, 0.4))), ("point 0", "nan", "joint2")),
    "no points": (_trajectory(("joint1", "joint2"), ((), ())), ("positions",)),
    "in the past": (_in_the_past(), ("ended", "ago", "stamp")),
}


@pytest.mark.parametrize("case", BAD_TRAJECTORIES)
def test_trajectories(case: str, driver: Driver) -> None:
    message, culprits = BAD_TRAJECTORIES[case]
    log = _log(driver)
    before = driver.ask(Q)
    driver.send_trajectory(message)
    _one_error(driver.graph, log, "trajectory", *culprits)
    after = driver.ask(Q)
    assert after.position == before.position  # it goes on with what it did
    driver.assert_finite()


def test_a_good_trajectory_is_followed_after_all_that(driver: Driver) -> None:
    log = _log(driver)
    driver.ask(Q)
    driver.send_trajectory(_trajectory())
    driver.graph.await_log(log, "following a trajectory of 2 points")
    driver.ask(Q, dt=2.5)
    np.testing.assert_allclose(driver.answers[-1].position, [0.3, 0.4], rtol=0, atol=1e-12)
    assert log.errors == []


# What a plant receives


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with Graph(tmp_path_factory.mktemp("plant")) as graph:
        graph.start("simulation_node", {**PLANAR, "initial_positions": list(Q), "publish_rate": 100.0})
        graph.states = graph.collect(JointState, "joint_states")  # type: ignore[attr-defined]
        graph.commands = graph.publisher(Float64MultiArray, "effort_commands")  # type: ignore[attr-defined]
        graph.wait(lambda: graph.states and graph.commands.get_subscription_count(), "the plant")
        yield graph


@pytest.mark.parametrize(
    ("data", "culprits"),
    [
        ([1.0], ("effort_commands", "1 numbers for 2 joints", "joint1, joint2")),
        ([1.0, 2.0, 3.0], ("effort_commands", "3 numbers for 2 joints")),
        ([], ("effort_commands", "0 numbers")),
        ([0.0, np.nan], ("effort_commands", "joint2", "not finite")),
        ([-np.inf, 0.0], ("effort_commands", "joint1", "not finite")),
    ],
)
def test_effort_commands(data: list[float], culprits: tuple[str, ...], plant: Any) -> None:
    time.sleep(THROTTLE)
    log = Log(plant.processes.members[0].log)
    plant.commands.publish(Float64MultiArray(data=data))
    _one_error(plant, log, *culprits)
    seen = len(plant.states)
    plant.wait(lambda: len(plant.states) > seen + 5, "joint_states to go on")
    assert {tuple(state.position) for state in plant.states} == {Q}, "the brakes are on until a good command"


def test_a_good_effort_command_moves_the_plant_after_all_that(plant: Any) -> None:
    plant.commands.publish(Float64MultiArray(data=[20.0, 5.0]))
    plant.wait(lambda: np.abs(np.subtract(plant.states[-1].position, Q)).max() > 0.01, "the plant to move")
    assert all(np.isfinite([*s.position, *s.velocity, *s.effort]).all() for s in plant.states)


# Robots


def _runs(graph: Graph, node: str) -> None:
    """The node has a good robot now and does its work."""
    if node == "computed_torque_node":
        driver = Driver(graph)
        effort = driver.ask(Q).effort
        np.testing.assert_allclose(effort, gravity(Q), rtol=0, atol=1e-9)
        driver.assert_finite()
    else:
        states = graph.collect(JointState, "joint_states")
        graph.wait(lambda: states, "joint_states")
        assert tuple(states[-1].name) == JOINTS


@pytest.mark.parametrize("node", NODES)
def test_broken_robots(node: str, tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        log = Log(graph.start(node, {**PLANAR, "robot_description": BROKEN}).log)
        _one_error(graph, log, "link1", "four")
        for urdf, culprit in (("", "URDF"), ("<robot name='x'>", "URDF"), ("<sdf/>", "sdf")):
            graph.wait(lambda: graph.client.count_subscribers("robot_description"), "the node to listen")
            log = Log(graph.processes.members[0].log)
            graph.describe(urdf)
            if urdf or node == "simulation_node":
                _one_error(graph, log, culprit)
            else:
                graph.settle(0.3)
        graph.describe(URDF)
        _runs(graph, node)


@pytest.mark.parametrize("node", NODES)
def test_the_robot_may_come_later(node: str, tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        log = Log(graph.start(node, {**PLANAR, "robot_description": ""}).log)
        graph.await_log(log, "waiting for the topic robot_description")
        graph.describe(URDF)
        _runs(graph, node)
        assert log.errors == []


def test_what_the_other_nodes_lack(tmp_path: Path) -> None:
    """A recorder that cannot record ends with the reason; a trajectory that cannot be is not published."""
    (tmp_path / "bag").mkdir()
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [b", encoding="utf-8")
    with Graph(tmp_path) as graph:
        topics = "topics:=['/never_there']"
        states = graph.publisher(JointState, "joint_states")
        for arguments, reason in (
            ([], "output and topics"),
            (["-p", f"output:={tmp_path / 'bag'}", "-p", topics], f"{tmp_path / 'bag'}: it exists"),
            (["--params-file", str(broken)], "broken.yaml"),
        ):
            command = [sys.executable, "-m", "robot_dynamics_ros.nodes.recorder_node", "--ros-args", *arguments]
            run = subprocess.run(command, env=graph.environment, capture_output=True, text=True, timeout=60)
            assert run.returncode == 1
            (line,) = [line for line in run.stderr.splitlines() if not line.startswith(("[INFO]", "[ERROR]"))]
            assert reason in line

        log = Log(graph.start("trajectory_node", {"trajectory": {"kind": "spiral"}}).log)
        graph.wait(lambda: states.get_subscription_count(), "the trajectory node")
        while not log.errors:
            states.publish(_state())
            graph.settle(0.1)
        assert "spiral" in log.errors[0] and "point_to_point" in log.errors[0]


def test_misspelt_parameters_are_named_by_the_node_that_has_the_right_one(tmp_path: Path) -> None:
    shared = {"gains": {"natural_freqency": [5.0]}, "publish_rte": 100.0, "trajectory": {"move_tme": 1.0}}
    with Graph(tmp_path) as graph:
        logs = {
            word: Log(graph.start(node, shared, "-p", "strange:=1", "-r", "__ns:=/left").log)
            for node, word in (
                ("computed_torque_node", "gains.natural_frequency"),
                ("simulation_node", "publish_rate"),
                ("trajectory_node", "trajectory.move_time"),
            )
        }
        for word, log in logs.items():
            graph.await_log(log, word)
            (line,) = log.lines("WARN")
            assert "is unknown" in line


# Parameters. Both nodes read them when they learn their robot, so that one process serves all the cases.

GOOD = {
    "dynamics_file": PLANAR["dynamics_file"],
    "joints": [""],
}
GOOD_CONTROLLER = {
    **GOOD,
    "law": "computed_torque",
    "gains.natural_frequency": 10,  # an integer where a double is meant
    "gains.kp": [],
    "gains.kd": [],
    "update_rate": 0,
    "state_timeout": 1,
    "on_fault": "hold",
    "friction_compensation": True,
    "friction_smoothing_velocity": 0.01,
}
#: Wrong whatever robot it is: refused at once.
WRONG = [
    ("dynamics_file", 5, "a text"),
    ("joints", [1, 2], "a list of names"),
    ("law", "telepathy", "computed_torque"),
    ("law", 3, "computed_torque"),
    ("gains.natural_frequency", "fast", "numbers"),
    ("gains.natural_frequency", ["fast", "slow"], "numbers"),
    ("gains.natural_frequency", [1.0, -2.0], "-2.0 (number 2 of 2)"),
    ("gains.natural_frequency", [1.0, np.nan], "nan (number 2 of 2)"),
    ("gains.natural_frequency", [], "one for each joint"),
    ("update_rate", "often", "a number"),
    ("update_rate", -1.0, "-1.0"),
    ("update_rate", np.inf, "inf"),
    ("update_rate", 1e-300, "1e-300"),
    ("update_rate", 1e300, "1e+300"),
    ("state_timeout", "long", "a number"),
    ("state_timeout", 0, "above 0"),
    ("on_fault", "panic", "hold, zero"),
    ("on_fault", True, "hold, zero"),
    ("friction_compensation", 1, "true or false"),
    ("friction_smoothing_velocity", -0.1, "-0.1"),
]
#: Wrong for this robot, or beside others: refused when the node is configured.
UNFIT = [
    ({"dynamics_file": "/nowhere/arm.dynamics.yaml"}, "/nowhere/arm.dynamics.yaml"),
    ({"joints": ["joint1", "elbow"]}, "elbow"),
    ({"gains.natural_frequency": [1.0, 2.0, 3.0]}, "gains.natural_frequency"),
    ({"gains.kp": [1.0, 2.0, 3.0], "gains.kd": [1.0]}, "gains.kp"),
    ({"gains.kp": [1.0]}, "kd"),
]


@pytest.fixture(scope="module")
def unconfigured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    with Graph(tmp_path_factory.mktemp("unconfigured")) as graph:
        graph.start("computed_torque_node", {**PLANAR, "autostart": False})
        yield graph


def _value(graph: Graph, name: str) -> Any:
    request = GetParameters.Request(names=[name])
    (value,) = graph.call(GetParameters, "computed_torque_node/get_parameters", request).values
    return value


@pytest.mark.parametrize(("name", "value", "culprit"), WRONG, ids=str)
def test_wrong_parameters_of_the_controller(name: str, value: Any, culprit: str, unconfigured: Graph) -> None:
    graph, node = unconfigured, "computed_torque_node"
    log = Log(graph.processes.members[0].log)
    graph.set_parameters(node, {name: GOOD_CONTROLLER[name]})
    before = _value(graph, name)
    reason = graph.try_parameters(node, {name: value})[name]
    assert name in reason and culprit in reason
    assert _value(graph, name) == before
    assert not [line for line in log.text().splitlines() if not line.startswith("[INFO]")]


@pytest.mark.parametrize(("values", "culprit"), UNFIT, ids=str)
def test_unfit_parameters_of_the_controller(values: dict[str, Any], culprit: str, unconfigured: Graph) -> None:
    """An unconfigured node does not know its robot yet; a configured one refuses them at once."""
    graph, node = unconfigured, "computed_torque_node"
    log = Log(graph.processes.members[0].log)
    graph.set_parameters(node, {**GOOD_CONTROLLER, **values})
    assert not graph.transition(node, Transition.TRANSITION_CONFIGURE)
    _one_error(graph, log, culprit)
    graph.set_parameters(node, GOOD_CONTROLLER)
    assert graph.transition(node, Transition.TRANSITION_CONFIGURE), "it can be configured after the cure"
    before = [_value(graph, name) for name in values]
    for name, reason in graph.try_parameters(node, values).items():
        assert name.rpartition(".")[2] in reason
    assert [_value(graph, name) for name in values] == before
    assert graph.transition(node, Transition.TRANSITION_CLEANUP)


def test_a_well_set_controller_answers_after_all_that(unconfigured: Graph) -> None:
    for number in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        assert unconfigured.transition("computed_torque_node", number)
    _runs(unconfigured, "computed_torque_node")


GOOD_PLANT = {**GOOD, "step_size": 0.001, "publish_rate": 500, "integrator": "rk4", "initial_positions": []}
BAD_PLANT = [
    ({"dynamics_file": "/nowhere/arm.dynamics.yaml"}, "/nowhere/arm.dynamics.yaml"),
    ({"publish_rate": 300.0}, "publish_rate"),
    ({"publish_rate": "often"}, "publish_rate"),
    ({"publish_rate": 0.0}, "publish_rate"),
    ({"publish_rate": 1e-200}, "publish_rate"),
    ({"publish_rate": 2000.0}, "publish_rate"),
    ({"publish_rate": 1e-3, "step_size": 1e-300}, "step_size"),
    ({"step_size": 0.003}, "step_size"),
    ({"step_size": -0.001}, "step_size"),
    ({"step_size": "short"}, "step_size"),
    ({"integrator": "euler"}, "euler"),
    ({"initial_positions": [0.1]}, "initial_positions"),
    ({"initial_positions": [0.1, np.nan]}, "initial_positions"),
    ({"initial_positions": ["here", "there"]}, "initial_positions"),
    ({"publish_clock": "yes"}, "publish_clock"),
]


def test_parameters_of_the_plant(tmp_path: Path) -> None:
    """ROS itself refuses numbers that are out of range; the node tells the rest when it learns its robot."""
    node = "simulation_node"
    good = {**GOOD_PLANT, "publish_clock": False}
    with Graph(tmp_path) as graph:
        graph.start(node, {**PLANAR, "robot_description": ""})
        for values, culprit in BAD_PLANT:
            log = Log(graph.processes.members[0].log)
            graph.set_parameters(node, good)
            reasons = "".join(graph.try_parameters(node, values).values())
            if reasons:
                assert culprit in reasons
                continue
            graph.describe(URDF)
            _one_error(graph, log, culprit)
        graph.set_parameters(node, good)
        graph.describe(URDF)
        _runs(graph, node)


@pytest.mark.parametrize("node", NODES)
def test_numbers_in_the_parameter_file(node: str, tmp_path: Path) -> None:
    """Integers are taken for doubles, a text is refused by name."""
    integers = {"update_rate": 0, "publish_rate": 500, "state_timeout": 1, "gains": {"natural_frequency": [10, 10]}}
    names = {"computed_torque_node": "state_timeout", "simulation_node": "publish_rate"}
    with Graph(tmp_path) as graph:
        log = Log(graph.start(node, {**PLANAR, **integers, names[node]: "much"}).log)
        _one_error(graph, log, names[node], "much")
    (tmp_path / "good").mkdir()
    with Graph(tmp_path / "good") as graph:
        graph.start(node, {**PLANAR, **integers})
        _runs(graph, node)


@pytest.mark.parametrize("override", [{"reliability": "relaible"}, {"depth": -1}], ids=str)
def test_qos_overrides_of_the_controller(override: dict[str, Any], tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "qos_overrides": {"/joint_states": {"subscription": override}}}
        log = Log(graph.start("computed_torque_node", parameters).log)
        _one_error(graph, log, "not configured", "qos_overrides")
