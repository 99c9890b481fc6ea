"""What comes on /clock: times go to the node's clock, what is none does not, and a flood is shut out for a while."""

import struct
from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from robot_dynamics_ros.nodes import node_program
from robot_dynamics_ros.nodes.node_program import NodeProgram

LITTLE, BIG = b"\x00\x01\x00\x00", b"\x00\x00\x00\x00"


def serialized(sec: int, nanosec: int = 0) -> bytes:
    return LITTLE + struct.pack("<iI", sec, nanosec)


class World:
    """A node with simulated time, its executor, and a publisher that is connected to it."""

    def __init__(self, context: rclpy.Context) -> None:
        self.node = NodeProgram(
            "listener", context=context, parameter_overrides=[Parameter("use_sim_time", value=True)]
        )
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
def world(context: rclpy.Context) -> Iterator[World]:
    world = World(context)
    yield world
    world.executor.shutdown()
    world.node.destroy_node()


def test_both_byte_orders_are_read(world: World) -> None:
    world.receive(BIG + struct.pack(">iI", 3, 4))
    assert world.now == 3_000_000_004
    world.receive(serialized(2**31 - 1, 999_999_999))
    assert world.now == (2**31 - 1) * 10**9 + 999_999_999


@pytest.mark.parametrize("junk", [serialized(-1), serialized(-(2**31), 5), b"", serialized(5)[:11]])
def test_what_is_no_time_is_left_out_and_logged(junk: bytes, world: World, capfd: pytest.CaptureFixture[str]) -> None:
    world.receive(serialized(5), junk)
    assert world.now == 5_000_000_000 and world.receives
    assert "/clock" in capfd.readouterr().err


@pytest.mark.parametrize(("message", "most"), [(serialized(5), 1000), (serialized(-5), 100)])
def test_a_flood_is_shut_out_for_a_while(
    message: bytes, most: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(node_program.time, "monotonic", lambda: now)
    world.receive(*[message] * most, message)
    assert world.receives, "nobody knows in how much time"
    now += 0.09
    world.receive(*[message] * most)
    assert world.receives
    world.receive(message)
    assert not world.receives
    world.receive(serialized(9))
    assert world.now in (0, 5_000_000_000), "what was on its way"
    monkeypatch.undo()
    while not world.receives:
        world.executor.spin_once(timeout_sec=0.1)
    world.receive(serialized(10))
    assert world.now == 10_000_000_000


def test_simulated_time_is_switched_off_in_a_flood(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_program, "_CLOCK_PAUSE", 0.05)
    world.receive(*[serialized(-5)] * 300)
    world.node.set_parameters([Parameter("use_sim_time", value=False)])
    for _ in range(20):
        world.executor.spin_once(timeout_sec=0.01)
    assert not world.receives and not world.node.get_clock().ros_time_is_active


def test_many_messages_are_no_flood_yet(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10**9))
    monkeypatch.setattr(node_program.time, "monotonic", lambda: 0.11 * next(ticks))
    world.receive(*[serialized(5)] * 20_000)
    assert world.receives
