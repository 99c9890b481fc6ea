"""Bad input: one clear error that names the culprit, the node goes on, and no torque is ever other than finite."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import trajectory_message
from support.ros import JOINTS, PLANAR, URDF, Driver, Graph, Log, gravity

Q = (-0.6, 0.9)
NODES = ("computed_torque_node", "simulation_node")
BROKEN = URDF.replace('<mass value="4"/>', '<mass value="four"/>')
assert BROKEN != URDF


def _one_error(graph: Graph, log: Log, *culprits: str) -> None:
    graph.wait(lambda: log.errors, f"an error that names {culprits}")
    graph.settle(0.2)
    assert len(log.errors) == 1, log.errors
    assert all(culprit in log.errors[0] for culprit in culprits), log.errors
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
    return JointState(**{"name": list(JOINTS), "position": [0.1, 0.2], "velocity": [0.0, 0.0], **changes})


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
    "unknown joint": (_trajectory(("joint1", "elbow")), "elbow"),
    "missing joint": (_trajectory(("joint1",), ((0.1,), (0.2,))), "joint2"),
    "wrong number": (_trajectory(positions=((0.1, 0.2), (0.3,))), "point 1"),
    "nan": (_trajectory(positions=((0.1, np.nan), (0.3, 0.4))), "joint2"),
    "in the past": (_in_the_past(), "stamp"),
}


def test_trajectories(driver: Driver) -> None:
    """One error each, the arm goes on with what it did; a good one is followed after all."""
    for message, culprit in BAD_TRAJECTORIES.values():
        log = _log(driver)
        before = driver.ask(Q)
        driver.send_trajectory(message)
        _one_error(driver.graph, log, culprit)
        assert driver.ask(Q).position == before.position
    log = _log(driver)
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


def test_effort_commands(plant: Any) -> None:
    """Bad ones leave the brakes on; a good one moves the arm after all."""
    for data, culprit in (([1.0], "2 joints"), ([0.0, np.nan], "joint2")):
        log = Log(plant.processes.members[0].log)

        def refused(data: list[float] = data, log: Log = log) -> bool:
            plant.commands.publish(Float64MultiArray(data=data))
            plant.settle(0.1)  # one of them is told each second
            return bool(log.errors)

        plant.wait(refused, "the refusal")
        assert culprit in log.errors[0] and "effort_commands" in log.errors[0]
    seen = len(plant.states)
    plant.wait(lambda: len(plant.states) > seen + 5, "joint_states to go on")
    assert {tuple(state.position) for state in plant.states} == {Q}
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
    """Of the parameter and of the latched topic; a good one may come later."""
    with Graph(tmp_path) as graph:
        process = graph.start(node, {**PLANAR, "robot_description": BROKEN})
        _one_error(graph, Log(process.log), "link1", "four")
        for urdf, culprit in (("<robot name='x'>", "URDF"), ("<sdf/>", "sdf")):
            graph.wait(lambda: graph.client.count_subscribers("robot_description"), "the node to listen")
            log = Log(process.log)
            graph.describe(urdf)
            _one_error(graph, log, culprit)
        graph.describe(URDF)
        _runs(graph, node)


def test_what_the_other_nodes_lack(tmp_path: Path) -> None:
    """A recorder that cannot record ends with the reason; a trajectory that cannot be is not published."""
    (tmp_path / "bag").mkdir()
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [b", encoding="utf-8")
    with Graph(tmp_path) as graph:
        topics = "topics:=['/never_there']"
        states = graph.publisher(JointState, "joint_states")
        for arguments, reason in (
            ([], "output"),
            (["-p", f"output:={tmp_path / 'bag'}", "-p", topics], str(tmp_path / "bag")),
            (["--params-file", str(broken)], "broken.yaml"),
        ):
            command = [sys.executable, "-m", "robot_dynamics_ros.nodes.recorder_node", "--ros-args", *arguments]
            run = subprocess.run(command, env=graph.environment, capture_output=True, text=True, timeout=200)
            assert run.returncode == 1
            (line,) = [line for line in run.stderr.splitlines() if not line.startswith(("[INFO]", "[ERROR]"))]
            assert reason in line

        log = Log(graph.start("trajectory_node", {"trajectory": {"kind": "spiral"}}).log)
        graph.wait(lambda: states.get_subscription_count(), "the trajectory node")
        while not log.errors:
            states.publish(_state())
            graph.settle(0.1)
        assert "spiral" in log.errors[0]


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


# Parameters

GOOD_CONTROLLER = {
    "dynamics_file": PLANAR["dynamics_file"],
    "joints": [""],
    "gains.natural_frequency": 10,  # an integer where a double is meant
    "gains.kp": [],
    "gains.kd": [],
    "update_rate": 0,
}
#: Wrong for this robot, or beside others: refused when the node is configured.
UNFIT = [
    ({"dynamics_file": "/nowhere/arm.dynamics.yaml"}, "/nowhere/arm.dynamics.yaml"),
    ({"joints": ["joint1", "elbow"]}, "elbow"),
    ({"gains.kp": [1.0, 2.0, 3.0], "gains.kd": [1.0]}, "gains.kp"),
]


def test_unfit_parameters_of_the_controller(tmp_path: Path) -> None:
    """An unconfigured node does not know its robot yet; a configured one refuses them at once."""
    node = "computed_torque_node"
    with Graph(tmp_path) as graph:
        process = graph.start(node, {**PLANAR, "autostart": False})
        reasons = graph.try_parameters(node, {"update_rate": "often", "law": "telepathy"})
        assert all(name in reason for name, reason in reasons.items()), "wrong for whatever robot"
        for values, culprit in UNFIT:
            log = Log(process.log)
            graph.set_parameters(node, {**GOOD_CONTROLLER, **values})
            assert not graph.transition(node, Transition.TRANSITION_CONFIGURE)
            _one_error(graph, log, culprit)
            graph.set_parameters(node, GOOD_CONTROLLER)
            graph.configure(node)
            for name, reason in graph.try_parameters(node, values).items():
                assert name.rpartition(".")[2] in reason
            assert graph.transition(node, Transition.TRANSITION_CLEANUP)
        graph.configure(node)
        assert graph.transition(node, Transition.TRANSITION_ACTIVATE)
        _runs(graph, node)


GOOD_PLANT: dict[str, Any] = {
    "dynamics_file": PLANAR["dynamics_file"],
    "joints": [""],
    "step_size": 0.001,
    "publish_rate": 500,
    "integrator": "rk4",
    "initial_positions": [],
}
BAD_PLANT: list[tuple[dict[str, Any], str]] = [
    ({"dynamics_file": "/nowhere/arm.dynamics.yaml"}, "/nowhere/arm.dynamics.yaml"),
    ({"publish_rate": 300.0}, "publish_rate"),
    ({"integrator": "euler"}, "euler"),
    ({"initial_positions": [0.1]}, "initial_positions"),
    ({"lockstep": True, "lockstep_topic": "a b"}, "lockstep_topic"),
    ({"effort_delay": 0.0005}, "effort_delay"),
]


def test_parameters_of_the_plant(tmp_path: Path) -> None:
    """ROS itself refuses numbers that are out of range; the node tells the rest when it learns its robot."""
    node = "simulation_node"
    good = {**GOOD_PLANT, "lockstep": False, "lockstep_topic": "answers", "effort_delay": 0.0}
    with Graph(tmp_path) as graph:
        process = graph.start(node, {**PLANAR, "robot_description": ""})
        graph.await_log(Log(process.log), "waiting for the topic robot_description")
        for values, culprit in BAD_PLANT:
            log = Log(process.log)
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


def test_qos_overrides_of_the_controller(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        override = {"/joint_states": {"subscription": {"reliability": "relaible"}}}
        process = graph.start("computed_torque_node", {**PLANAR, "qos_overrides": override})
        _one_error(graph, Log(process.log), "qos_overrides")
