"""SIGINT and SIGTERM: orderly shutdown at once, a final command, and no process left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.base.background import SUCCESS
from robot_dynamics_ros.cli import processes
from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.recordings.bags import read_joint_states
from support.robot import move
from support.ros import (
    PATIENCE,
    PLANAR,
    Driver,
    Graph,
    Log,
    gravity,
    processes_with,
    recorded_counts,
)
from support.simulation import Simulation

#: The promise is 2 s; a loaded machine gets more, but less than compiling takes.
BOUND = 20.0
INT = signal.SIGINT
TERM = signal.SIGTERM
#: A node whose middleware blocks after the final command or at shutdown, and keeps the interpreter lock as rclpy does.
BLOCKED = """
import ctypes, runpy, rclpy, rclpy.publisher
rclpy.try_shutdown = ctypes.PyDLL(None).pause
rclpy.publisher.Publisher.wait_for_all_acked = lambda *_: rclpy.try_shutdown()
runpy.run_module("robot_dynamics_ros.cli.executables", run_name="__main__")
"""


def _end(process: NodeProcess, signals: list[signal.Signals]) -> None:
    """Send signals to a process; it must end in time, successfully and without a traceback."""
    process.process.send_signal(signals[0])
    for number in signals[1:]:
        time.sleep(0.01)
        if process.process.poll() is None:
            process.process.send_signal(number)
    code = process.process.wait(timeout=BOUND)
    assert code in SUCCESS, f"{process.name}: exit code {code}\n{process.tail()}"
    log = process.log.read_text(encoding="utf-8")
    assert "Traceback" not in log and "[FATAL]" not in log, log


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param([INT], marks=pytest.mark.slow, id="once"),
        pytest.param([TERM, INT] * 30, id="again and again"),
    ],
)
def test_nodes_shut_down_promptly(
    signals: list[signal.Signals], tmp_path: Path
) -> None:
    """With running nodes: plant, controller, recorder, and a trajectory_node that waits for subscribers."""
    bag = tmp_path / "bag"
    with Graph(tmp_path) as graph:
        nodes = [
            graph.start(
                "recorder_node", {"output": str(bag), "topics": ["/joint_states"]}
            ),
            graph.start("trajectory_node", {"listeners": ["nobody"]}),
            graph.start("computed_torque_node", PLANAR),
            graph.start("simulation_node", PLANAR),
        ]
        log = Log(nodes[1].log)
        efforts = Driver(graph).efforts
        graph.wait(lambda: len(efforts) > 10, "the controller to answer")
        graph.await_log(log, "waiting for nobody to subscribe")
        graph.wait(
            lambda: recorded_counts(bag)["/joint_states"] >= 10,
            "the recorder",
        )
        # The recorder first, the plant last; or the other way round, so that each loses what it works with.
        for node in nodes if signals == [INT] else reversed(nodes):
            assert node.process.poll() is None
            _end(node, signals)
    (series,) = read_joint_states(bag, ["/joint_states"]).values()
    assert len(series.stamps) > 10
    assert (np.diff(series.stamps) > 0).all()


def test_the_controller_stops_the_arm_first(tmp_path: Path) -> None:
    """The plant has no friction that could stop the arm."""
    with Graph(tmp_path) as graph:
        plant = Simulation(graph, {**PLANAR, "publish_rate": 250.0})
        parameters = {
            "update_rate": 200.0,
            "executor": "single_threaded",
            "minimum_rate_ratio": 0.0,
        }
        node = graph.start(
            "computed_torque_node", {**PLANAR, **parameters, "stop_timeout": 30.0}
        )
        driver = Driver(graph)
        log = Log(node.log)
        graph.wait(lambda: driver.efforts, "commands")
        goal = move((0.0, 3.0), 10.0)
        graph.repeat(
            lambda: driver.follow(goal),
            lambda: "following" in log.text(),
            "the trajectory",
        )
        graph.wait(
            lambda: plant.states and plant.states[-1].velocity[1] > 0.3, "the motion"
        )
        count = len(plant.states)
        node.process.send_signal(INT)
        graph.wait(lambda: node.process.poll() is not None, "the end")
        end = time.time_ns()
        graph.wait(lambda: plant.now > end, "the state after that")
        at_rest = [
            state
            for state in plant.states[count:]
            if np.abs(state.velocity).max() < 0.05
        ]
        assert at_rest and at_rest[0].position[1] < 2.5, (
            "well before the end of the motion"
        )
        assert "Traceback" not in node.log.read_text(encoding="utf-8")


def test_controller_publishes_a_final_command(tmp_path: Path) -> None:
    """The final command is the gravity torque, which an effort controller continues to apply."""
    q = (0.4, -0.7)
    with Graph(tmp_path) as graph:
        node = graph.start(
            "computed_torque_node",
            {**PLANAR, "law": "pd", "position_step_limit": [float("inf")]},
        )
        driver = Driver(graph)
        driver.ask((0.0, 0.0))
        driver.ask(q, (0.5, 1.0))
        assert np.abs(np.subtract(driver.efforts[-1].data, gravity(q))).max() > 0.1
        _end(node, [TERM])
        graph.wait(
            lambda: np.allclose(driver.efforts[-1].data, gravity(q), rtol=0, atol=1e-9),
            "the last command",
        )


def test_a_blocked_middleware_does_not_keep_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The final command and the recording are complete, and only an error is a failure for a group of processes."""
    command = processes.node_command
    bag = tmp_path / "bag"
    monkeypatch.setattr(
        processes,
        "node_command",
        lambda *given: [sys.executable, "-c", BLOCKED, *command(*given)[2:]],
    )
    with Graph(tmp_path) as graph:
        recorder = graph.start(
            "recorder_node",
            {"output": str(bag), "topics": ["/joint_states", "/effort_commands"]},
        )
        controller = graph.start("computed_torque_node", {**PLANAR, "law": "pd"})
        refused = graph.start("recorder_node")
        driver = Driver(graph)
        graph.repeat(
            lambda: driver.ask((0.4, -0.7)),
            lambda: recorded_counts(bag)["/joint_states"],
            "the recorder",
        )
        for node in (controller, recorder):
            node.stop()
            graph.wait(
                lambda node=node: node.process.poll() is not None, "the end", BOUND
            )
            assert node.process.returncode == -signal.SIGALRM, node.tail()
        graph.wait(lambda: refused.process.poll() is not None, "the end")
        graph.processes.members.remove(refused)
        assert refused.process.returncode == 1, refused.tail()
        assert np.allclose(
            driver.efforts[-1].data, gravity((0.4, -0.7)), rtol=0, atol=1e-9
        )
    assert len(read_joint_states(bag, ["/joint_states"])["/joint_states"].stamps) > 0


@pytest.mark.parametrize("node", ["computed_torque_node", "simulation_node"])
def test_signal_interrupts_compilation(node: str, tmp_path: Path) -> None:
    """The first start compiles for half a minute; the node stays responsive and ends at once."""
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "robot_description": ""}
        process = graph.start(node, parameters, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        log = Log(process.log)
        driver = Driver(graph)
        graph.await_log(log, "waiting for the topic")
        graph.describe(PLANAR["robot_description"])
        graph.await_log(log, "compiling the dynamics kernels")
        if node == "computed_torque_node":
            graph.set_parameters(node, {"law": "pd_gravity"})
            assert not graph.transition(node, Transition.TRANSITION_CONFIGURE)
            graph.await_log(log, "still compiling")
            assert "kernels ready" not in log.text()
        _end(process, [INT, INT])
        assert driver.efforts == []
        assert log.errors == []


@pytest.mark.slow
def test_hanging_subscriber_does_not_delay_shutdown(tmp_path: Path) -> None:
    """trajectory_node waits for acknowledgement for a limited time."""
    with Graph(tmp_path) as graph:
        controller = graph.start("computed_torque_node", PLANAR)
        topic = "computed_torque_node/joint_trajectory"
        listeners = {"listeners": ["computed_torque_node", "late_comer"]}
        trajectory = graph.start(
            "trajectory_node", listeners, "-r", f"joint_trajectory:={topic}"
        )
        driver = Driver(graph)
        log = Log(trajectory.log)
        graph.collect(JointTrajectory, topic)  # two listen, of which one is named
        graph.wait(lambda: graph.client.count_publishers(topic), "the trajectory node")
        while "waiting for late_comer to subscribe" not in log.text():
            driver.ask((0.0, 0.0))
            graph.spin_for(0.1)
        controller.process.send_signal(signal.SIGSTOP)
        late_comer = rclpy.create_node("late_comer", context=graph.client.context)
        late_comer.create_subscription(JointTrajectory, topic, lambda message: None, 1)
        graph.wait(
            lambda: trajectory.process.poll() is not None, "the trajectory node to end"
        )
        late_comer.destroy_node()
        # the group takes exit code 1 for a failure
        graph.processes.members.remove(trajectory)
        assert (
            trajectory.process.returncode == 1
            and "not every subscriber acknowledged" in log.text()
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "signals", [[INT], [TERM, INT] * 10], ids=["once", "again and again"]
)
def test_interrupted_demo_ends_all_its_processes(
    signals: list[signal.Signals], tmp_path: Path
) -> None:
    log = tmp_path / "demo.log"
    out = tmp_path / "out"
    command = "-m robot_dynamics_ros.cli.main demo --live --robot planar_2r --law computed_torque"
    with log.open("w") as output:
        demo = subprocess.Popen(
            [
                sys.executable,
                *command.split(),
                "--duration",
                "60",
                "--output",
                str(out),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + PATIENCE
        trajectory = out / "live" / "computed_torque" / "trajectory_node.log"
        while demo.poll() is None and not (
            trajectory.exists() and "published" in trajectory.read_text()
        ):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        assert len(processes_with(str(out))) >= 4, (
            "the demo and its nodes; trajectory_node may have ended"
        )
        for number in signals:
            if demo.poll() is None:
                demo.send_signal(number)
            time.sleep(0.02)
        code = demo.wait(timeout=3 * BOUND)
        assert processes_with(str(out)) == []
        assert code == 128 + INT, log.read_text()
        for file in (log, *out.rglob("*_node.log")):
            assert "Traceback" not in file.read_text(), file
    finally:
        for process in processes_with(str(out)):
            os.kill(process, signal.SIGKILL)
        demo.wait()
