"""Nodes as their users see them: topics, parameters, life cycle, and the command for each state."""

import math
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from lifecycle_msgs.msg import Transition
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.ros.conversions import nanoseconds
from support.robot import WARN, Robot, move
from support.ros import BEST_EFFORT, JOINTS, PLANAR, Driver, Graph, Log, gravity

Q = (-0.6, 0.9)
NODE = "computed_torque_node"

# an arm that a test puts anywhere
ANYWHERE = {**PLANAR, "position_step_limit": [float("inf")]}


def test_other_publishers_are_named_and_refused(tmp_path: Path) -> None:
    """A second publisher of effort_commands prevents the activation; of joint_states it is a warning."""
    with Graph(tmp_path) as graph:
        rival = graph.publisher(Float64MultiArray, "effort_commands")
        robot = Robot(
            graph,
            graph.start(
                NODE, {**ANYWHERE, "autostart": False, "exclusive_topics": True}
            ),
        )
        log = robot.log_from_now()
        graph.configure(NODE)
        graph.await_log(log, graph.client.get_name())
        assert not robot.activate()
        graph.client.destroy_publisher(rival)
        graph.await_log(log, "one publisher each again")
        assert robot.activate()
        robot.answer_to(Q)
        graph.publisher(JointState, "joint_states")
        graph.wait(lambda: "/joint_states" in robot.statuses[-1].message, "the warning")
        assert robot.statuses[-1].level == WARN and robot.mode == "active"


def test_driver_receives_deadline_and_liveliness_events(tmp_path: Path) -> None:
    """QoS deadlines detect missing commands. A publisher of joint_states without messages is reported."""
    missed: list[Any] = []
    with Graph(tmp_path) as graph:
        node = graph.start(NODE, {**ANYWHERE, "state_timeout": 0.5})
        driver = Driver(graph)
        log = Log(node.log)
        name = graph.client.get_fully_qualified_name()
        graph.await_log(log, f"/joint_states is published by {name}, but no message")
        assert log.errors == [], "waiting is no error"
        graph.client.create_subscription(
            Float64MultiArray,
            "effort_commands",
            lambda message: None,
            QoSProfile(depth=1, deadline=Duration(seconds=1.0)),
            event_callbacks=SubscriptionEventCallbacks(deadline=missed.append),
        )
        driver.ask(Q)
        driver.ask(Q)
        numbers = [int(answer.header.frame_id) for answer in driver.answers]
        assert (
            numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            and len(numbers) > 1
        )
        count = len(driver.efforts)
        graph.wait(lambda: len(driver.efforts) > count + 5, "commands without states")
        node.process.send_signal(signal.SIGSTOP)
        graph.spin_for(0.1)
        missed.clear()
        graph.wait(lambda: missed, "the deadline to be missed")


def test_life_cycle(tmp_path: Path) -> None:
    """An inactive node publishes no commands; the order of `joints` is that of the commands."""
    up = (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    down = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
    with Graph(tmp_path) as graph:
        parameters = {
            **ANYWHERE,
            "robot_description": "",
            "autostart": False,
            "joints": ["joint2", "joint1"],
        }
        log = Log(graph.start(NODE, parameters).log)
        assert not graph.transition(NODE, up[0])
        assert "robot_description" in "".join(log.errors)
        graph.describe(PLANAR["robot_description"])
        driver = Driver(graph)
        graph.configure(NODE)  # as soon as the description is there
        driver.send(driver.message(Q))
        graph.spin_for(0.3)
        assert driver.efforts == []
        assert graph.transition(NODE, up[1])
        driver.follow(move((0.4, -0.1), 1.0))
        graph.await_log(log, "waiting for the first joint_states")
        answer = driver.ask(Q)
        assert (tuple(answer.name), tuple(answer.position)) == (
            ("joint2", "joint1"),
            Q[::-1],
        )
        assert answer.effort == pytest.approx(gravity(Q)[::-1])
        graph.await_log(log, "following")
        assert tuple(driver.ask(Q, dt=3.0).position) == (-0.1, 0.4)

        # Inactive: a last command, then silence; active again: the old trajectory is forgotten.
        before = len(driver.efforts)
        assert graph.transition(NODE, down[0])
        graph.wait(lambda: len(driver.efforts) > before, "the last command")
        graph.wait(
            lambda: driver.efforts[-1].data == pytest.approx(gravity(Q)[::-1]),
            "that carries the arm",
        )
        elsewhere = (Q[0] - 0.4, Q[1] + 0.3)
        graph.spin_for(0.5)
        given = len(driver.efforts)
        driver.send(driver.message(elsewhere))
        graph.spin_for(0.5)
        assert len(driver.efforts) == given, "no answer to it"
        assert graph.transition(NODE, up[1])
        answer = driver.ask(elsewhere)
        assert tuple(answer.position) == elsewhere[::-1]
        assert answer.effort == pytest.approx(gravity(elsewhere)[::-1])
        for _ in range(4):
            for number in (*down, *up):
                # some are delivered while the subscription is destroyed
                for _ in range(5):
                    driver.send(driver.message(Q))
                assert graph.transition(NODE, number)
        assert driver.ask(Q).effort == pytest.approx(gravity(Q)[::-1])


def test_exit_code_of_the_motion(tmp_path: Path) -> None:
    """The node waits until the controller publishes commands, which initially has no states."""
    with Graph(tmp_path) as graph:
        # The arm of this test never moves.
        robot = Robot(
            graph, graph.start(NODE, {**ANYWHERE, "saturation_timeout": float("inf")})
        )
        robot.await_mode("active")

        def run(cancels: bool = False, **settings: Any) -> tuple[str, int | None]:
            motion = {
                "trajectory": {
                    "kind": "point_to_point",
                    "center": [0.2],
                    "move_time": 1.0,
                },
                **settings,
            }
            node = graph.start(
                "trajectory_node",
                motion,
                "-r",
                f"joint_trajectory:={NODE}/joint_trajectory",
            )
            controller = robot.log_from_now()
            if cancels:
                robot.drive(
                    lambda: "following a trajectory" in controller.text(),
                    "the trajectory",
                    Q,
                )
                assert graph.call(Trigger, f"{NODE}/cancel", Trigger.Request()).success
            robot.drive(lambda: node.process.poll() is not None, "the node to end", Q)
            node.join(0.0)
            # the group takes exit code 1 for a failure
            graph.processes.members.remove(node)
            return node.tail(), node.process.returncode

        for settings, says, expected in (
            ({}, "trajectory is completed", 0),
            ({"cancels": True}, "has dropped it", 1),
            ({"joints": ["joint1"]}, "refused it: joint 'joint2'", 1),
        ):
            log, code = run(**settings)
            assert says in log and code == expected
            robot.begin(Q, {"saturation_timeout": float("inf")})


def test_trajectory_starts_at_the_position_when_it_is_sent(tmp_path: Path) -> None:
    """The last valid position counts, and the trajectory is sent once."""
    settings = {
        "kind": "point_to_point",
        "center": [0.2, 0.1],
        "move_time": 2,
        "rate": 10,
    }
    with Graph(tmp_path) as graph:
        node = graph.start(
            "trajectory_node", {"trajectory": settings, "listeners": ["late_comer"]}
        )
        log = Log(node.log)
        states = graph.publisher(JointState, "joint_states", BEST_EFFORT)
        graph.wait(lambda: states.get_subscription_count(), "the node")

        def send(*positions: float) -> None:
            states.publish(JointState(name=JOINTS, position=positions))

        def send_nonsense() -> None:
            for positions in ((1e300, 0.0), (math.nan, 0.0), (0.1, 0.2, 0.3), (0.1,)):
                send(*positions)

        graph.repeat(
            send_nonsense,
            lambda: "ignored a message" in log.text(),
            "the states to be ignored",
            0.1,
        )
        assert "to subscribe" not in log.text()
        graph.repeat(
            lambda: send(0.0, 0.0), lambda: "to subscribe" in log.text(), "a start", 0.1
        )
        for _ in range(10):
            send(*Q)
            graph.spin_for(0.02)
        graph.spin_for(0.3)
        received = graph.collect(JointTrajectory, "joint_trajectory")
        late = rclpy.create_node("late_comer", context=graph.client.context)
        late.create_subscription(
            JointTrajectory, "joint_trajectory", lambda message: None, 1
        )
        graph.wait(lambda: node.process.poll() is not None, "the node to end")
        late.destroy_node()
        assert node.process.returncode == 0
        graph.wait(lambda: received, "the trajectory")
        (message,) = received
        assert (
            tuple(message.joint_names) == JOINTS
            and nanoseconds(message.header.stamp) == 0
        )
        assert len(message.points) == 21 and tuple(message.points[0].positions) == Q
        np.testing.assert_allclose(
            message.points[-1].positions, [0.2, 0.1], rtol=0, atol=1e-12
        )
        for point in (message.points[0], message.points[-1]):
            np.testing.assert_array_equal(
                [*point.velocities, *point.accelerations], 0.0
            )


@pytest.mark.parametrize(
    "transports",
    [{}, {"FASTDDS_BUILTIN_TRANSPORTS": "DEFAULT"}],
    ids=["unset", "default"],
)
def test_nodes_do_not_use_shared_memory(
    tmp_path: Path, transports: dict[str, str]
) -> None:
    """Fast DDS receives nothing for 0.33 s at times while it opens the shared memory of a node that has started."""
    everywhere = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_LOCALHOST_ONLY": "0"}
    with Graph(tmp_path) as graph:
        process = graph.start("simulation_node", PLANAR, **everywhere, **transports)
        graph.await_log(Log(process.log, begin=0), "simulating")
        maps = Path(f"/proc/{process.process.pid}/maps").read_text(encoding="utf-8")
        assert ("/dev/shm/fast" in maps) == bool(transports)
