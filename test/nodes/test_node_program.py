"""Base class of the nodes: /clock, polled topics and bounded logs."""

import struct
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64

from robot_dynamics_ros.nodes import node_program
from robot_dynamics_ros.nodes.node_program import BoundedLog, NodeProgram
from support.ros import RELIABLE

# /clock: invalid times are ignored, and so is a flood for a while

LITTLE, BIG = b"\x00\x01\x00\x00", b"\x00\x00\x00\x00"


def serialized(sec: int, nanosec: int = 0) -> bytes:
    return LITTLE + struct.pack("<iI", sec, nanosec)


class ClockWorld:
    """A node with simulated time, its executor, and a publisher that is connected to it."""

    def __init__(self, context: rclpy.Context) -> None:
        simulated = [Parameter("use_sim_time", value=True)]
        self.node = NodeProgram("listener", context=context, parameter_overrides=simulated)
        (self.clock,) = (s for s in self.node.subscriptions if s.topic_name == "/clock")
        self.publisher = self.node.create_publisher(Clock, "/clock", 10)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        while self.publisher.get_subscription_count() == 0:
            self.executor.spin_once(timeout_sec=0.01)

    @property
    def now(self) -> int:
        return int(self.node.get_clock().now().nanoseconds)

    @property
    def receives(self) -> bool:
        return self.clock in list(self.node.subscriptions)

    def receive(self, *messages: bytes) -> None:
        callback: Any = self.clock.callback
        for message in messages:
            callback(message)


@pytest.fixture
def clock(context: rclpy.Context) -> Iterator[ClockWorld]:
    clock = ClockWorld(context)
    yield clock
    clock.executor.shutdown()
    clock.node.destroy_node()


def test_both_byte_orders_are_read(clock: ClockWorld) -> None:
    clock.receive(BIG + struct.pack(">iI", 3, 4))
    assert clock.now == 3_000_000_004
    clock.receive(serialized(2**31 - 1, 999_999_999))
    assert clock.now == (2**31 - 1) * 10**9 + 999_999_999


@pytest.mark.parametrize("junk", [serialized(-1), serialized(-(2**31), 5), b"", serialized(5)[:11]])
def test_invalid_times_are_left_out(junk: bytes, clock: ClockWorld, capfd: pytest.CaptureFixture[str]) -> None:
    clock.receive(serialized(5), junk)
    assert clock.now == 5_000_000_000 and clock.receives
    assert "/clock" in capfd.readouterr().err


@pytest.mark.parametrize(("message", "most"), [(serialized(5), 1000), (serialized(-5), 100)])
def test_a_flood_is_shut_out(message: bytes, most: int, clock: ClockWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(node_program.time, "monotonic", lambda: now)
    clock.receive(*[message] * most, message)
    assert clock.receives, "nobody knows in how much time"
    now += 0.09
    clock.receive(*[message] * most)
    assert clock.receives
    clock.receive(message)
    assert not clock.receives
    clock.receive(serialized(9))
    assert clock.now in (0, 5_000_000_000), "what was on its way"
    monkeypatch.undo()
    while not clock.receives:
        clock.executor.spin_once(timeout_sec=0.1)
    clock.receive(serialized(10))
    assert clock.now == 10_000_000_000


def test_simulated_time_is_switched_off_in_a_flood(clock: ClockWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_program, "_CLOCK_PAUSE", 0.05)
    clock.receive(*[serialized(-5)] * 300)
    clock.node.set_parameters([Parameter("use_sim_time", value=False)])
    for _ in range(20):
        clock.executor.spin_once(timeout_sec=0.01)
    assert not clock.receives and not clock.node.get_clock().ros_time_is_active


def test_many_messages_are_no_flood_yet(clock: ClockWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**9))
    monkeypatch.setattr(node_program.time, "monotonic", lambda: 0.11 * next(ticks))
    clock.receive(*[serialized(5)] * 20_000)
    assert clock.receives


class PollingWorld:
    """A node that polls a topic, its executor, and a publisher that is connected to it."""

    def __init__(self, context: rclpy.Context) -> None:
        self.node = NodeProgram("polled", context=context)
        self.got: list[float] = []
        self.subscription = self.node.create_subscription(Float64, "x", lambda m: self.got.append(m.data), 100)
        self.publisher = self.node.create_publisher(Float64, "x", RELIABLE)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        while self.publisher.get_subscription_count() == 0:
            self.spin()

    def spin(self, rounds: int = 20) -> None:
        for _ in range(rounds):
            self.executor.spin_once(timeout_sec=0.01)

    def send(self, *numbers: float) -> None:
        for number in numbers:
            self.publisher.publish(Float64(data=float(number)))
        self.spin()


@pytest.fixture
def polling(context: rclpy.Context) -> Iterator[PollingWorld]:
    polling = PollingWorld(context)
    yield polling
    polling.executor.shutdown()
    polling.node.destroy_node()


def test_it_is_the_nodes_turn(polling: PollingWorld) -> None:
    polling.send(1)
    assert polling.got == [1.0], "as usual"
    polling.node.start_polling(polling.subscription)
    polling.send(*range(2, 27))
    assert polling.got == [1.0]
    for most in (11.0, 21.0, 26.0, 26.0):
        polling.node.poll()
        assert polling.got == [float(k) for k in range(1, int(most) + 1)], "in order, ten at once"
    polling.node.stop_polling(polling.subscription)
    polling.send(27)
    assert polling.got[-1] == 27.0


class Recorder:
    """A logger, and the clock (s) of the log above it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(node_program.time, "monotonic", lambda: self.now)
        self.lines: list[str] = []
        self.info = self.warning = self.error = self.lines.append
        self.log = BoundedLog(self)


def test_a_flood_of_lines_is_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred a second, each place in the code by itself; a place is known by its line, not by its text."""
    recorder = Recorder(monkeypatch)
    for k in range(1000):
        recorder.log.error(f"refused: {k}")
    recorder.log.error("another place")
    assert recorder.lines == [*(f"refused: {k}" for k in range(100)), "another place"]
    for now in (1.0, 1.5):
        recorder.now = now
        for k in range(60):
            recorder.log.warning(f"late {k}")
    assert len(recorder.lines) == 101 + 100
    recorder.now = 2.0
    recorder.lines.clear()
    for _ in range(2):
        recorder.now += 1.0
        for _ in range(110):
            recorder.log.info("again")
    assert recorder.lines == ["again"] * 100 + ["again (and 10 more like it before)"] + ["again"] * 99


def test_a_line_may_have_a_longer_period(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(monkeypatch)
    for k in range(50):
        recorder.now = 0.1 * k
        recorder.log.warning(f"slow {k}", throttle_duration_sec=2.0)
    more = "(and 19 more like it before)"
    assert recorder.lines == ["slow 0", f"slow 20 {more}", f"slow 40 {more}"]
