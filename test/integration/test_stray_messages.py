"""A clock, a start and a silence that cannot be."""

import math
from pathlib import Path

import numpy as np
import rclpy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.nodes.messages import nanoseconds
from support.ros import BEST_EFFORT, JOINTS, PLANAR, Driver, Graph, Log

Q = (-0.6, 0.9)


def test_a_time_before_1970_ends_nobody(tmp_path: Path) -> None:
    """Of such a time on /clock rclpy makes an error."""
    with Graph(tmp_path) as graph:
        node = graph.start("computed_torque_node", {**PLANAR, "use_sim_time": True})
        log = Log(node.log)
        clock = graph.publisher(Clock, "/clock")
        driver = Driver(graph)
        driver.ask(Q)
        graph.wait(lambda: clock.get_subscription_count(), "the node's clock")
        message = Clock()
        message.clock.sec = -5
        clock.publish(message)
        graph.await_log(log, "/clock: ")
        driver.ask(Q)
        assert node.process.poll() is None


def test_a_trajectory_starts_where_the_arm_is_when_it_is_sent(tmp_path: Path) -> None:
    """Not where it was when the node began to wait; what cannot be is no place to start from. It comes once."""
    settings = {"kind": "point_to_point", "center": [0.2, 0.1], "move_time": 2, "rate": 10}
    with Graph(tmp_path) as graph:
        node = graph.start("trajectory_node", {"trajectory": settings, "listeners": ["late_comer"]})
        log = Log(node.log)
        states = graph.publisher(JointState, "joint_states", BEST_EFFORT)
        graph.wait(lambda: states.get_subscription_count(), "the node")

        def send(*positions: float) -> None:
            states.publish(JointState(name=JOINTS, position=positions))
            graph.settle(0.02)

        while log.text().count("is ignored") == 0:
            for positions in ((1e300, 0.0), (math.nan, 0.0), (0.1, 0.2, 0.3), (0.1,)):
                send(*positions)
        assert "to listen" not in log.text()
        while "to listen" not in log.text():
            send(0.0, 0.0)
        for _ in range(10):
            send(*Q)
        graph.settle(0.3)
        received = graph.collect(JointTrajectory, "joint_trajectory")
        late = rclpy.create_node("late_comer", context=graph.client.context)
        late.create_subscription(JointTrajectory, "joint_trajectory", lambda message: None, 1)
        graph.wait(lambda: node.process.poll() is not None, "the node to end")
        late.destroy_node()
        assert node.process.returncode == 0
        graph.wait(lambda: received, "the trajectory")
        (message,) = received
        assert tuple(message.joint_names) == JOINTS and nanoseconds(message.header.stamp) == 0
        assert len(message.points) == 21 and tuple(message.points[0].positions) == Q
        np.testing.assert_allclose(message.points[-1].positions, [0.2, 0.1], rtol=0, atol=1e-12)
        for point in (message.points[0], message.points[-1]):
            np.testing.assert_array_equal([*point.velocities, *point.accelerations], 0.0)


def test_a_publisher_that_is_not_heard_is_told(tmp_path: Path) -> None:
    """As after kill -9, where shared memory is broken; here it says nothing."""
    with Graph(tmp_path) as graph:
        log = Log(graph.start("computed_torque_node", PLANAR).log)
        graph.publisher(JointState, "joint_states")
        graph.await_log(log, "/joint_states has 1 publisher, but nothing has come in")
        Driver(graph).ask(Q)
