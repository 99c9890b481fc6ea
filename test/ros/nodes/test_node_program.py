"""Base class of the nodes: callbacks during a transition, /clock, too many messages, and bounded logs."""

import subprocess
import sys
import time
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64

from robot_dynamics_ros.base.resources import command_line
from robot_dynamics_ros.control.configuration.settings import ALL
from robot_dynamics_ros.control.interface import ERROR, OK, WARN, Note
from robot_dynamics_ros.ros.nodes import node_program
from robot_dynamics_ros.ros.nodes.computed_torque_node import ComputedTorqueNode
from robot_dynamics_ros.ros.nodes.node_program import (
    BoundedLog,
    NodeProgram,
    Spinner,
    spin_once,
)


@pytest.fixture(params=["events", "single_threaded"])
def executor(
    request: pytest.FixtureRequest, context: rclpy.Context
) -> Iterator[Executor]:
    if request.param == "events":
        experimental = pytest.importorskip("rclpy.experimental")
        made = experimental.EventsExecutor(context=context)
    else:
        made = SingleThreadedExecutor(context=context)
    yield made
    made.shutdown()


class Stopper(ComputedTorqueNode):
    """Node whose deactivation waits for three messages and a timer."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.got = 0
        self.ticks = 0
        self.left = -1
        self.create_subscription(Float64, "x", self._receive, 10)
        self.create_steady_timer(0.01, self._tick)

    def _receive(self, message: Float64) -> None:
        self.got += 1

    def _tick(self) -> None:
        self.ticks += 1

    def configure(self) -> None: ...

    def activate(self) -> None: ...

    def stop(self) -> None:
        got = self.got
        ticks = self.ticks
        self.spin_until(lambda: self.got >= got + 3 and self.ticks > ticks, 60.0)
        self.left = self.got - got


def test_callbacks_run_while_a_transition_waits(
    executor: Executor, context: rclpy.Context
) -> None:
    """The transition is requested by a client; afterwards the node works as before."""
    node = Stopper(
        context=context,
        parameter_overrides=[Parameter("autostart", value=False)],
    )
    client_node = rclpy.create_node("client", context=context)
    publisher = client_node.create_publisher(Float64, "x", 10)
    client = client_node.create_client(ChangeState, "computed_torque_node/change_state")
    other = SingleThreadedExecutor(context=context)
    running = True
    other.add_node(client_node)
    executor.add_node(node)
    node.trigger_configure()
    node.trigger_activate()

    def publish() -> None:
        while running:
            publisher.publish(Float64())
            other.spin_once(timeout_sec=0.005)

    thread = Thread(target=publish)
    thread.start()
    try:
        client.wait_for_service()
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_DEACTIVATE
        answer = client.call_async(request)
        while not answer.done():
            executor.spin_once(timeout_sec=0.1)
        assert answer.result().success and node.left == 3 and node.executor is executor
        got = node.got
        ticks = node.ticks
        while node.got < got + 3 or node.ticks < ticks + 3:
            executor.spin_once(timeout_sec=0.1)
    finally:
        running = False
        thread.join()
        other.shutdown()
        node.destroy_node()
        client_node.destroy_node()


def test_too_many_messages_are_left_to_the_middleware_for_a_while(
    context: rclpy.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rclpy.experimental")
    monkeypatch.setattr(node_program, "REPLACEMENT_TIME", 0.5)
    node = NodeProgram("reader", context=context)
    pause = 0.0
    got = 0

    def receive(message: Float64) -> None:
        nonlocal got
        got += 1
        time.sleep(pause)

    node.create_subscription(Float64, "x", receive, 10)
    publisher = node.create_publisher(Float64, "x", 10)
    spinner = Spinner(node, "events")
    first = node.executor

    def send(messages: int, spins: int) -> None:
        for _ in range(messages):
            publisher.publish(Float64())
        for _ in range(spins):
            spinner.spin_once(0.01)

    end = time.monotonic() + 60.0
    while got == 0 and time.monotonic() < end:
        send(1, 1)
    pause = 0.7
    send(20, 1)  # one long callback
    pause = 0.0
    send(0, 50)
    assert node.executor is first
    pause = 0.002
    while node.executor is first and time.monotonic() < end:
        send(3, 1)
    assert isinstance(node.executor, SingleThreadedExecutor)
    while isinstance(node.executor, SingleThreadedExecutor) and time.monotonic() < end:
        send(0, 1)
    before = got
    while got == before and time.monotonic() < end:
        send(1, 1)
    assert got > before and not isinstance(node.executor, SingleThreadedExecutor)
    node.executor.shutdown()
    node.destroy_node()


def test_a_negative_time_on_clock_ends_no_node(
    executor: Executor, context: rclpy.Context
) -> None:
    node = NodeProgram(
        "listener",
        context=context,
        parameter_overrides=[Parameter("use_sim_time", value=True)],
    )
    publisher = node.create_publisher(Clock, "/clock", 10)
    executor.add_node(node)
    for sec in (-1, -(2**31), 5):
        clock = Clock()
        clock.clock.sec = sec
        end = 5_000_000_000 if sec > 0 else 0
        for _ in range(100):
            publisher.publish(clock)
            spin_once(executor, node, 0.01)
            if end and node.get_clock().now().nanoseconds == end:
                break
    assert node.get_clock().now().nanoseconds == 5_000_000_000
    node.destroy_node()


class Recorder:
    """Logger that stores lines, and a clock (s) for the bounded log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(node_program.time, "monotonic", lambda: self.now)
        self.lines: list[str] = []
        self.info = self.warning = self.error = self.lines.append
        self.log = BoundedLog(self)


def test_a_flood_of_lines_is_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten lines per second of each kind, the text before the first colon."""
    recorder = Recorder(monkeypatch)
    for k in range(1000):
        recorder.log.note(Note(ERROR, f"refused: {k}"))
    recorder.log.note(Note(ERROR, "another kind"))
    assert recorder.lines == [*(f"refused: {k}" for k in range(10)), "another kind"]
    for now in (1.0, 1.5):
        recorder.now = now
        for k in range(6):
            recorder.log.note(Note(WARN, f"late: {k}"))
    assert len(recorder.lines) == 11 + 10
    recorder.now = 2.0
    recorder.lines.clear()
    for _ in range(2):
        recorder.now += 1.0
        for _ in range(15):
            recorder.log.note(Note(OK, "again"))
    assert (
        recorder.lines
        == ["again"] * 10 + ["again (5 similar messages omitted)"] + ["again"] * 9
    )


def test_a_line_may_have_a_longer_period(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    for k in range(50):
        recorder.now = 0.1 * k
        recorder.log.note(Note(WARN, f"slow: {k}", 2.0))
    more = "(19 similar messages omitted)"
    assert recorder.lines == ["slow: 0", f"slow: 20 {more}", f"slow: 40 {more}"]


@pytest.mark.parametrize("words", [["--help"], ["-h", "--ros-args", "-p", "law:=pd"]])
def test_help_prints_the_usage_instead_of_starting_the_node(words: list[str]) -> None:
    command = [
        sys.executable,
        "-m",
        "robot_dynamics_ros.cli.executables",
        "computed_torque_node",
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr
    program = command_line(
        "ros2 run robot_dynamics_ros computed_torque_node", "computed_torque_node"
    )
    assert done.stdout.startswith(f"usage: {program} --ros-args ")
    assert all(f"\n  {parameter.name} (" in done.stdout for parameter in ALL)
