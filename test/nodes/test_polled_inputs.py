"""Topics that are polled: the executor never hears of them, and no more is taken at once than there is time for."""

from collections.abc import Iterator

import pytest
import rclpy
from std_msgs.msg import Float64

from robot_dynamics_ros.nodes.node_program import NodeProgram
from support.ros import RELIABLE


class World:
    """Such a node, its executor, and a publisher that is connected to it."""

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
def world(context: rclpy.Context) -> Iterator[World]:
    world = World(context)
    yield world
    world.executor.shutdown()
    world.node.destroy_node()


def test_it_is_the_nodes_turn(world: World) -> None:
    world.send(1)
    assert world.got == [1.0], "as usual"
    world.node.start_polling(world.subscription)
    world.send(*range(2, 27))
    assert world.got == [1.0]
    for most in (11.0, 21.0, 26.0, 26.0):
        world.node.poll()
        assert world.got == [float(k) for k in range(1, int(most) + 1)], "in order, ten at once"
    world.node.stop_polling(world.subscription)
    world.send(27)
    assert world.got[-1] == 27.0
