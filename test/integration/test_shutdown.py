"""SIGINT and SIGTERM: an orderly end at once, a last command, and nothing left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.cli.processes import NodeProcess
from support.robot import move
from support.ros import PATIENCE, PLANAR, Driver, Graph, Log, gravity
from support.simulation import Simulation

#: The promise is 2 s; a loaded machine gets more, but less than compiling takes.
BOUND = 20.0
INT, TERM = signal.SIGINT, signal.SIGTERM


def _end(process: NodeProcess, signals: list[signal.Signals]) -> None:
    """Signal a process, the later ones while it ends; it must end in time, well and without a traceback."""
    process.process.send_signal(signals[0])
    for number in signals[1:]:
        time.sleep(0.01)
        if process.process.poll() is None:
            process.process.send_signal(number)
    try:
        code = process.process.wait(timeout=BOUND)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{process.name} runs on {BOUND} s after {signals[0].name}") from None
    assert code == 0, f"{process.name}: exit code {code}\n{process.tail()}"
    log = process.log.read_text(encoding="utf-8")
    assert "Traceback" not in log and "[FATAL]" not in log, log


@pytest.mark.parametrize("signals", [[INT], [TERM, INT] * 30], ids=["once", "again and again"])
def test_every_node_ends_at_once(signals: list[signal.Signals], tmp_path: Path) -> None:
    """Alive and at work: a plant, its controller, a recorder, and a trajectory that waits to be heard."""
    bag = tmp_path / "bag"
    with Graph(tmp_path) as graph:
        nodes = [
            graph.start("recorder_node", {"output": str(bag), "topics": ["/joint_states"]}),
            graph.start("trajectory_node", {"listeners": ["nobody"]}),
            graph.start("computed_torque_node", PLANAR),
            graph.start("simulation_node", PLANAR),
        ]
        recorded, log = Log(nodes[0].log), Log(nodes[1].log)
        efforts = Driver(graph).efforts
        graph.wait(lambda: len(efforts) > 10, "the controller to answer")
        graph.await_log(log, "waiting for nobody to listen")
        graph.wait(lambda: re.search(r'"/joint_states": [1-9]\d', recorded.text()) is not None, "the recorder")
        # The recorder first, the plant last; or the other way round, so that each loses what it works with.
        for node in nodes if signals == [INT] else reversed(nodes):
            assert node.process.poll() is None
            _end(node, signals)
    (series,) = read_joint_states(bag, ["/joint_states"]).values()
    assert len(series.stamps) > 10
    assert (np.diff(series.stamps) > 0).all()


@pytest.mark.parametrize(("rate", "executor", "ended"), [(0.0, "events", True), (200.0, "single_threaded", False)])
def test_the_controller_stops_the_arm_first(rate: float, executor: str, ended: bool, tmp_path: Path) -> None:
    """At the end of the process and on deactivation; the plant has no friction that could."""
    with Graph(tmp_path) as graph:
        plant = Simulation(graph, {**PLANAR, "publish_rate": 250.0})
        parameters = {**PLANAR, "update_rate": rate, "executor": executor, "minimum_rate_ratio": 0.0}
        node = graph.start("computed_torque_node", {**parameters, "stop_timeout": 30.0})
        driver = Driver(graph)
        graph.wait(lambda: driver.efforts, "commands")
        log = Log(node.log)
        while "following" not in log.text():  # DDS may lose the first message
            driver.follow(move((0.0, 3.0), 3.0))
            graph.settle(0.5)
        graph.wait(lambda: plant.states and plant.states[-1].velocity[1] > 1.0, "the motion")
        count = len(plant.states)
        if ended:
            node.process.send_signal(INT)
            graph.wait(lambda: node.process.poll() is not None, "the end")
        else:
            assert graph.transition("computed_torque_node", Transition.TRANSITION_DEACTIVATE)
        end = time.time_ns()
        graph.wait(lambda: plant.now > end, "the state after that")
        at_rest = [state for state in plant.states[count:] if np.abs(state.velocity).max() < 0.1]
        assert at_rest and at_rest[0].position[1] < 2.5, "well before the end of the motion"
        assert "Traceback" not in node.log.read_text(encoding="utf-8")


@pytest.mark.parametrize(("on_fault", "number"), [("hold", INT), ("zero", TERM)])
def test_the_controller_leaves_a_last_command(on_fault: str, number: signal.Signals, tmp_path: Path) -> None:
    """An effort controller keeps it for ever: the torque that holds the arm, or none."""
    q = (0.4, -0.7)
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "law": "pd", "on_fault": on_fault, "position_step_limit": [float("inf")]}
        node = graph.start("computed_torque_node", parameters)
        driver = Driver(graph)
        driver.ask((0.0, 0.0))
        driver.ask(q, (0.5, 1.0))
        before = len(driver.efforts)
        _end(node, [number])
        expected = gravity(q) if on_fault == "hold" else np.zeros(2)
        assert np.abs(np.subtract(driver.efforts[before - 1].data, expected)).max() > 0.1
        graph.wait(lambda: np.allclose(driver.efforts[-1].data, expected, rtol=0, atol=1e-9), "the last command")


@pytest.mark.parametrize(("node", "late"), [("computed_torque_node", True), ("simulation_node", False)])
def test_compiling_is_broken_off(node: str, late: bool, tmp_path: Path) -> None:
    """The first start compiles for half a minute; it ends at once all the same."""
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "robot_description": ""} if late else PLANAR
        process = graph.start(node, parameters, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        log = Log(process.log)
        driver = Driver(graph)
        if late:
            graph.await_log(log, "waiting for the topic")
            graph.describe(PLANAR["robot_description"])
        graph.await_log(log, "compiling the dynamics kernels")
        graph.settle(1.0)
        _end(process, [INT, INT])
        assert driver.efforts == []
        assert log.errors == []


@pytest.mark.slow
def test_a_subscriber_that_hangs_holds_nobody_up(tmp_path: Path) -> None:
    """trajectory_node waits for confirmation, but not for ever."""
    with Graph(tmp_path) as graph:
        controller = graph.start("computed_torque_node", PLANAR)
        topic = "/computed_torque_node/joint_trajectory"
        listeners = {"listeners": ["computed_torque_node", "late_comer"]}
        trajectory = graph.start("trajectory_node", listeners, "-r", f"joint_trajectory:={topic}")
        log = Log(trajectory.log)
        graph.collect(JointTrajectory, topic)
        graph.wait(lambda: graph.client.count_publishers(topic), "the trajectory node")
        driver = Driver(graph)
        while "waiting for late_comer to listen" not in log.text():  # the two others do
            driver.ask((0.0, 0.0))
            graph.settle(0.1)
        controller.process.send_signal(signal.SIGSTOP)
        late_comer = rclpy.create_node("late_comer", context=graph.client.context)
        late_comer.create_subscription(JointTrajectory, topic, lambda message: None, 1)
        graph.wait(lambda: trajectory.process.poll() is not None, "the trajectory node to end")
        late_comer.destroy_node()
        trajectory.join(0.0)
        graph.processes.members.remove(trajectory)  # the group takes exit code 1 for a failure
        assert trajectory.process.returncode == 1
        assert "not every subscriber confirmed" in log.text() and "no report" in log.text()


# The demo, which starts processes itself


def _children(parent: int) -> dict[int, str]:
    """Processes whose parent this is: number and command line."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == parent and fields[0] != "Z":
                found[int(folder.name)] = _command_line(int(folder.name))
        except OSError:
            continue
    return found


def _command_line(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def _await(true: Any, what: str, log: Path, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}\n{log.read_text()}"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("signals", [[INT], [TERM, INT] * 10], ids=["once", "again and again"])
def test_the_interrupted_demo_leaves_nothing_behind(signals: list[signal.Signals], tmp_path: Path) -> None:
    log = tmp_path / "demo.log"
    command = "-m robot_dynamics_ros.cli.main demo --robot planar_2r --law computed_torque --duration 60".split()
    with log.open("w") as output:
        demo = subprocess.Popen(
            [sys.executable, *command, "--output", str(tmp_path / "out")],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    children: dict[int, str] = {}
    try:
        _await(lambda: demo.poll() is not None or " of 61.0 s" in log.read_text(), "the motion to begin", log)
        children = _children(demo.pid)
        assert len(children) >= 3, children  # trajectory_node may have ended
        for number in signals:
            if demo.poll() is None:
                demo.send_signal(number)
            time.sleep(0.02)
        code = demo.wait(timeout=3 * BOUND)
        assert [line for child, line in children.items() if _command_line(child) == line] == []
        assert code == 128 + INT, log.read_text()
        assert "Traceback" not in log.read_text()
        for file in (tmp_path / "out").rglob("*_node.log"):
            assert "Traceback" not in file.read_text(), file
    finally:
        demo.kill()
        demo.wait()
        for child, line in children.items():
            if _command_line(child) == line:
                os.kill(child, signal.SIGKILL)
