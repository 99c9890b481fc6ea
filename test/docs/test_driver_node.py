"""The driver of the page on drives: its reactions to commands, and its motion under the controller."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from support.documents.markdown_blocks import ROOT, blocks
from support.ros import Graph

FILES = {block.file: block.text for block in blocks(ROOT / "docs" / "drives.md")}
INTERFACES = ["position", "velocity", "stiffness", "damping", "effort"]


@contextmanager
def driver(graph: Graph) -> Iterator[list[JointState]]:
    """Run the driver of the page; yield its states."""
    file = graph.folder / "my_driver.py"
    file.write_text(FILES[file.name], encoding="utf-8")
    states: list[JointState] = graph.collect(JointState, "/joint_states")
    process = subprocess.Popen([sys.executable, file], env=graph.environment)
    try:
        graph.wait(lambda: states, "states of the driver")
        yield states
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=30.0)
    assert code == 0


def test_driver_refuses_bad_commands_and_holds_without_commands(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph, driver(graph) as states:
        commands = graph.publisher(Float64MultiArray, "/drive_commands")

        def send(*column: float, age: int = 0, unasked: bool = False) -> None:
            stamp = states[-1].header.stamp
            answered = [float(stamp.sec - age), float(stamp.nanosec)]
            if unasked:
                answered = [0.0, 0.0]
            commands.publish(Float64MultiArray(data=[*answered, *column]))

        def rests_at(position: float) -> bool:
            last = states[-1]
            return abs(last.position[0] - position) < 0.01 > abs(last.velocity[0])

        graph.repeat(
            lambda: send(0.5, 0.0, 50.0, 4.0, 0.0),
            lambda: rests_at(0.5),
            "the set point",
            0.02,
        )
        for _ in range(50):
            send(1.0, 0.0, 50.0, 4.0, np.nan)
            send(1.0, 0.0, 50.0, 4.0, 0.0, age=1)
            send(1.0, 0.0, 50.0, 4.0)
            graph.spin_for(0.01)
        assert rests_at(0.5)
        graph.repeat(
            lambda: send(0.5, 1.0, 50.0, 4.0, 0.0),
            lambda: rests_at(0.58),
            "the set point with a velocity",
            0.02,
        )
        graph.wait(lambda: rests_at(0.5), "the hold")
        send(0.3, 0.0, 50.0, 4.0, 0.0, unasked=True)
        graph.wait(lambda: rests_at(0.3), "the last command of the node")


@pytest.mark.slow
def test_driver_follows_the_node_and_outlives_it(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph, driver(graph) as states:
        node = graph.start(
            "computed_torque_node",
            {
                "robot_description": FILES["turntable.urdf"],
                "command_interfaces": INTERFACES,
                "state_timeout": float("inf"),
            },
        )
        subprocess.run(
            [sys.executable, ROOT / "examples" / "send_trajectory.py", "joint1=1.0"],
            env=graph.environment | {"PYTHONPATH": str(ROOT)},
            check=True,
            timeout=600.0,
        )
        graph.wait(lambda: abs(states[-1].position[0] - 1.0) < 0.01, "the goal")
        os.kill(node.process.pid, signal.SIGKILL)
        node.process.wait()
        graph.processes.members.remove(node)
        first = len(states)
        graph.wait(lambda: len(states) > first + 500, "a second")
        np.testing.assert_allclose(states[-1].position, 1.0, atol=0.01)
