"""Invalid input: one error that names the culprit, the node continues, and all torques are finite."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState

from support.ros import JOINTS, PLANAR, URDF, Driver, Graph, Log, gravity

Q = (-0.6, 0.9)
NODES = ("computed_torque_node", "simulation_node")
BROKEN = URDF.replace('<mass value="4"/>', '<mass value="four"/>')
assert BROKEN != URDF


def _one_error(graph: Graph, log: Log, *culprits: str) -> None:
    graph.wait(lambda: log.errors, f"an error that names {culprits}")
    graph.spin_for(0.2)
    assert len(log.errors) == 1, log.errors
    assert all(culprit in log.errors[0] for culprit in culprits), log.errors
    assert "Traceback" not in log.text()


def _runs(graph: Graph, node: str) -> None:
    """Check that the node works with a valid robot."""
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
def test_invalid_robot_can_be_replaced(node: str, tmp_path: Path) -> None:
    """An invalid robot from the parameter or the latched topic can be replaced later."""
    with Graph(tmp_path) as graph:
        process = graph.start(node, {**PLANAR, "robot_description": BROKEN})
        _one_error(graph, Log(process.log), "link1", "four")
        for urdf, culprit in (("<robot name='x'>", "URDF"), ("<sdf/>", "sdf")):
            graph.wait(
                lambda: graph.client.count_subscribers("robot_description"),
                "the node to listen",
            )
            log = Log(process.log)
            graph.describe(urdf)
            _one_error(graph, log, culprit)
        graph.describe(URDF)
        _runs(graph, node)


def test_invalid_qos_and_trajectory_parameters_are_reported(tmp_path: Path) -> None:
    """Nodes report the error, and wait until it is corrected."""
    override = {"/joint_states": {"subscription": {"reliability": "relaible"}}}
    with Graph(tmp_path) as graph:
        controller = Log(
            graph.start(
                "computed_torque_node", {**PLANAR, "qos_overrides": override}
            ).log
        )
        trajectory = Log(
            graph.start("trajectory_node", {"trajectory": {"kind": "spiral"}}).log
        )
        states = graph.publisher(JointState, "joint_states")
        _one_error(graph, controller, "qos_overrides")
        message = JointState(name=JOINTS, position=Q)
        graph.repeat(
            lambda: states.publish(message), lambda: trajectory.errors, "an error"
        )
        assert "spiral" in trajectory.errors[0]


def test_recorder_ends_with_an_error_if_it_cannot_record(tmp_path: Path) -> None:
    """In a domain of its own, because Fast DDS 3.2 may crash during discovery at exit."""
    bag = tmp_path / "bag"
    broken = tmp_path / "broken.yaml"
    bag.mkdir()
    broken.write_text("a: [b", encoding="utf-8")
    for arguments, reason in (
        (["-p", f"output:={bag}", "-p", "topics:=['/never_there']"], str(bag)),
        (["--params-file", str(broken)], "broken.yaml"),
    ):
        command = [
            sys.executable,
            "-m",
            "robot_dynamics_ros.ros.nodes.recorder_node",
            "--ros-args",
            *arguments,
        ]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 1
        (line,) = [
            line
            for line in run.stderr.splitlines()
            if not line.startswith(("[INFO]", "[ERROR]"))
        ]
        assert reason in line


def test_invalid_parameters_of_the_controller(tmp_path: Path) -> None:
    """Parameters that depend on the robot are refused when the node is configured."""
    node = "computed_torque_node"
    with Graph(tmp_path) as graph:
        process = graph.start(node, {**PLANAR, "autostart": False})
        reasons = graph.try_parameters(
            node, {"update_rate": "often", "law": "telepathy"}
        )
        assert all(name in reason for name, reason in reasons.items()), (
            "wrong for whatever robot"
        )
        for name, bad, good in (
            ("dynamics_file", "/nowhere/arm.dynamics.yaml", PLANAR["dynamics_file"]),
            # an integer where a double is meant
            ("gains.natural_frequency", [1.0, 2.0, 3.0], 10),
        ):
            log = Log(process.log)
            graph.set_parameters(node, {name: bad})
            assert not graph.transition(node, Transition.TRANSITION_CONFIGURE)
            _one_error(graph, log, "/nowhere/arm" if name == "dynamics_file" else name)
            graph.set_parameters(node, {name: good})
        graph.configure(node)
        assert graph.transition(node, Transition.TRANSITION_ACTIVATE)
        _runs(graph, node)


GOOD_PLANT: dict[str, Any] = {
    "dynamics_file": PLANAR["dynamics_file"],
    "publish_rate": 500,
    "integrator": "rk4",
    "lockstep": False,
    "lockstep_topic": "answers",
}
BAD_PLANT: list[tuple[dict[str, Any], str]] = [
    ({"dynamics_file": "/nowhere/arm.dynamics.yaml"}, "/nowhere/arm.dynamics.yaml"),
    ({"publish_rate": 300.0}, "publish_rate"),
    ({"integrator": "euler"}, "euler"),
    ({"lockstep": True, "lockstep_topic": "a b"}, "lockstep_topic"),
]


def test_invalid_parameters_of_the_plant(tmp_path: Path) -> None:
    """ROS refuses numbers out of range; the node reports the others when its robot is known."""
    node = "simulation_node"
    with Graph(tmp_path) as graph:
        misspelt = {"gains": {"natural_freqency": [5.0]}, "publish_rte": 100.0}
        process = graph.start(
            node, {**PLANAR, **misspelt, "robot_description": ""}, "-p", "strange:=1"
        )
        graph.await_log(Log(process.log), "waiting for the topic robot_description")
        # Of those in the file the one that is like one of this node's; all that are given to this node alone.
        graph.await_log(Log(process.log, begin=0), "strange")
        assert [
            "publish_rate" in line for line in Log(process.log, begin=0).lines("WARN")
        ] == [True, False]
        for values, culprit in BAD_PLANT:
            log = Log(process.log)
            graph.set_parameters(node, GOOD_PLANT)
            reasons = "".join(graph.try_parameters(node, values).values())
            if reasons:
                assert culprit in reasons
                continue
            graph.describe(URDF)
            _one_error(graph, log, culprit)
        graph.set_parameters(node, GOOD_PLANT)
        graph.describe(URDF)
        _runs(graph, node)
