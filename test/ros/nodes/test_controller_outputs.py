"""Outputs of the controller over DDS."""

import math
import time
from unittest.mock import Mock

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.clock import Now
from robot_dynamics_ros.control.configuration.settings import NodeSettings
from robot_dynamics_ros.control.interface import Note, Output, UnusableSample
from robot_dynamics_ros.control.safety import Cause, Fault, Mode, Transition
from robot_dynamics_ros.control.trajectory.trajectory_effort import trajectory_effort
from robot_dynamics_ros.recordings.messages.joint_trajectory import read_trajectory
from robot_dynamics_ros.ros.nodes import controller_outputs
from robot_dynamics_ros.ros.nodes.controller_outputs import (
    ControllerOutputs,
    ControllerReport,
    black_box,
)
from robot_dynamics_ros.ros.nodes.node_program import NodeProgram
from robot_dynamics_ros.runs.configuration import Configuration
from robot_dynamics_ros.runs.generators import point_to_point
from support.comparing import assert_close
from support.independent_plant import Session

NAMES = ("joint1", "joint2")
NOW = Now(0.0, lambda: 0)


@pytest.mark.parametrize(("count", "cycles"), [(20, 2), (1000, 17)])
def test_effort_of_a_long_trajectory_takes_several_cycles(
    count: int, cycles: int, context: rclpy.Context
) -> None:
    node = NodeProgram("outputs", [], context=context)
    session = Session("planar_2r")
    topics = ["effort_commands"]
    box = black_box(node, NodeSettings(), topics)
    outputs = ControllerOutputs(node, session.session, topics, math.inf, box)
    received: list[bytes] = []
    node.create_subscription(
        JointTrajectory, "~/joint_trajectory_with_effort", received.append, 10, raw=True
    )
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    session.cycle()
    q = session.plant.q
    points = point_to_point(NAMES, q, q + 0.3, 0.05 * count, 20.0)
    followed = session.session.follow(points, 0, session.now)
    while not outputs._trajectories_with_effort.get_subscription_count():
        executor.spin_once(timeout_sec=0.01)
    outputs.publish(Output(followed=followed))
    for _ in range(cycles):
        executor.spin_once(timeout_sec=0.01)
        assert not received
        outputs.publish(Output())
    while not received:
        executor.spin_once(timeout_sec=0.1)
    *_, whole = trajectory_effort(session.model, followed.trajectory, NAMES, 0.02, 0.01)
    stamp, filled = read_trajectory(received[0])
    assert stamp == 0 and deserialize_message(
        received[0], JointTrajectory
    ).joint_names == list(NAMES)
    assert filled.effort is not None and whole.effort is not None
    assert_close(filled.effort, whole.effort, 0.0)
    assert_close(filled.times, whole.times, 1e-9)
    executor.shutdown()
    node.destroy_node()


def test_configuration_is_renewed_when_an_input_that_outlasts_an_activation_changes(
    context: rclpy.Context,
) -> None:
    """It is beside the cycles, which compare nothing."""
    node = NodeProgram("outputs", [], context=context)
    session = Session("planar_2r").session
    box = Mock()
    outputs = ControllerOutputs(node, session, [], math.inf, box)
    outputs.configuration(Configuration("1", "", "", {}))

    def renewed() -> bool:
        box.reset_mock()
        outputs.publish(Output())
        assert not box.add.called
        outputs.renew_configuration()
        return bool(box.add.called)

    assert not renewed()
    for change in (
        lambda: session.on_speed(0.5),
        lambda: session.on_brakes(True),
        lambda: session.on_payload("link2", 0.1, (0.0,) * 3, (0.0,) * 6),
        lambda: session.safety.request_emergency_stop("a button"),
    ):
        change()
        assert renewed() and not renewed()
    node.destroy_node()


@pytest.mark.parametrize(
    ("installed", "cure"),
    [
        (None, "robot_dynamics node clear_fault --node /report"),
        ("/opt/ros/bin/ros2", "ros2 service call /report/clear_fault std_srvs/srv/Tri"),
    ],
)
def test_the_cure_of_a_fault_is_a_command_that_exists(
    installed: str | None,
    cure: str,
    context: rclpy.Context,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: installed)
    node = NodeProgram("report", context=context)
    logged: list[Note] = []
    node.log = Mock(note=logged.append)
    report = ControllerReport(node)
    fault = Fault(Cause.STATE_STALE, "late")
    passed = Transition(0.0, Mode.HOLD, Mode.FAULT, fault)
    session = Session("planar_2r")
    session.cycle()
    report.events(session.session, Output(transitions=(passed,)))
    assert f"Cure: `{cure}" in logged[-1].text
    node.destroy_node()


def test_the_reason_to_wait_is_what_is_seen_on_joint_states(
    context: rclpy.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Again and again; publishers without messages are named three seconds after their discovery."""
    node = NodeProgram("report", context=context)
    now = 0.0
    monkeypatch.setattr(controller_outputs.time, "monotonic", lambda: now)
    report = ControllerReport(node)
    session = Session("planar_2r").session

    def reason(seconds: float) -> str:
        nonlocal now
        now += seconds
        report.publish_status(session, "")
        assert session.controller is not None
        return session.controller.estimator.trouble

    for _ in range(2):
        assert "/joint_states has no publisher" in reason(100.0)
    publisher = node.create_publisher(JointState, "joint_states", 1)
    while not node.count_publishers("joint_states"):
        time.sleep(0.01)
    for seconds in (1.0, 1.0):
        assert "is published by" not in reason(seconds)
    for after in (4, 6):
        text = reason(2.0)
        assert f"{publisher.topic_name} is published by /report" in text
        assert f"in {after} s" in text
    session.on_state(UnusableSample(0, "joint a is missing", incomplete=True), NOW)
    assert reason(1.0) == "joint a is missing"
    node.destroy_node()
