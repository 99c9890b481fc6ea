"""The nodes as their users see them: topics, parameters, life cycle, and which command follows which state."""

import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from lifecycle_msgs.msg import Transition
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.kernels.compilation import COMPILED, cache_directory
from robot_dynamics_ros.nodes.messages import nanoseconds
from support.robot import WARN, Robot
from support.ros import BEST_EFFORT, JOINTS, PLANAR, Driver, Graph, Log, gravity
from support.simulation import Simulation

Q = (-0.6, 0.9)
NODE = "computed_torque_node"

ANYWHERE = {**PLANAR, "position_step_limit": [float("inf")]}  # an arm that a test puts anywhere


def _move(goal: tuple[float, float], seconds: float = 1.0, names: tuple[str, ...] = JOINTS) -> TrajectoryPoints:
    """One point, at rest."""
    return TrajectoryPoints(names, np.array([seconds]), np.array([goal]), np.zeros((1, 2)), np.zeros((1, 2)))


# The controller, driven by joint_states


def test_topics_of_the_controller(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        graph.start(NODE, PLANAR)
        Driver(graph).ask(Q)
        client = graph.client
        kinds = dict(client.get_topic_names_and_types()) | dict(client.get_service_names_and_types())
        writers, readers = client.get_publishers_info_by_topic, client.get_subscriptions_info_by_topic
        for find, topic, kind in (
            (readers, f"/{NODE}/joint_trajectory", "trajectory_msgs/msg/JointTrajectory"),
            (readers, "/joint_states", "sensor_msgs/msg/JointState"),
            (readers, "/robot_description", "std_msgs/msg/String"),
            (writers, "/effort_commands", "std_msgs/msg/Float64MultiArray"),
            (writers, f"/{NODE}/command_states", "sensor_msgs/msg/JointState"),
            (readers, f"/{NODE}/speed_scaling_factor", "std_msgs/msg/Float64"),
            (readers, f"/{NODE}/payload", "geometry_msgs/msg/InertiaStamped"),
            (writers, f"/{NODE}/joint_trajectory_with_effort", "trajectory_msgs/msg/JointTrajectory"),
            (writers, f"/{NODE}/external_torque", "sensor_msgs/msg/JointState"),
            (writers, f"/{NODE}/configuration", "std_msgs/msg/String"),
            (writers, "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
        ):
            assert kinds[topic] == [kind]
            (end,) = [end for end in find(topic) if end.node_name == NODE]
            best_effort = end.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
            assert best_effort == (topic == "/joint_states"), topic
            latched = end.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            assert latched == (kind == "std_msgs/msg/String"), topic
        for service in ("cancel", "clear_fault", "emergency_stop"):
            assert kinds[f"/{NODE}/{service}"] == ["std_srvs/srv/Trigger"]


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_the_controller_answers_while_kernels_are_compiled_and_then_starts(tmp_path: Path) -> None:
    kept = cache_directory()
    assert kept is not None
    cache = tmp_path / "cache"
    missing = shutil.ignore_patterns("*derivatives*", "*forward_dynamics*", "newton_euler*")
    if kept.is_dir():  # else more is missing, which takes longer
        shutil.copytree(kept, cache / kept.parent.name / kept.name, ignore=missing)
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, ANYWHERE, NUMBA_CACHE_DIR=str(cache)).log)
        graph.await_log(log, "compiling the dynamics kernels")
        graph.set_parameters(NODE, {"law": "pd_gravity"})
        assert not graph.transition(NODE, Transition.TRANSITION_CONFIGURE)
        assert "still compiling" in log.text() and "kernels ready" not in log.text()
        Driver(graph).ask(Q)
        assert log.text().count("kernels ready") == 1
        assert log.errors == []


def test_other_publishers_are_named_and_refused(tmp_path: Path) -> None:
    """Another node on effort_commands keeps this one from activating; a second joint_states is a warning."""
    with Graph(tmp_path) as graph:
        rival = graph.publisher(Float64MultiArray, "effort_commands")
        robot = Robot(graph, graph.start(NODE, {**ANYWHERE, "autostart": False, "exclusive_topics": True}))
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


def test_a_driver_learns_that_commands_stop(tmp_path: Path) -> None:
    """By the deadline that it requests; until then they come without states, too, and are numbered without a gap."""
    missed: list[Any] = []
    with Graph(tmp_path) as graph:
        node = graph.start(NODE, {**ANYWHERE, "state_timeout": 0.5})
        driver = Driver(graph)
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
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) and len(numbers) > 1
        count = len(driver.efforts)
        graph.wait(lambda: len(driver.efforts) > count + 5, "commands without states")
        node.process.send_signal(signal.SIGSTOP)
        graph.settle(0.1)
        missed.clear()
        graph.wait(lambda: missed, "the deadline to be missed")


def test_joints_in_another_order_in_a_namespace(tmp_path: Path) -> None:
    """The order of `joints` is that of the commands, also for trajectories in the other one.

    A file with /** holds in any namespace; a trajectory that comes before joint_states waits for them.
    """
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, {**ANYWHERE, "joints": ["joint2", "joint1"]}, "-r", "__ns:=/arm1").log)
        driver = Driver(graph, "/arm1")
        graph.await_log(log, "active")
        driver.follow(_move((0.4, -0.1)))
        graph.await_log(log, "waits for the first joint_states")
        answer = driver.ask(Q)
        assert tuple(answer.name) == ("joint2", "joint1")
        assert tuple(answer.position) == Q[::-1]
        graph.wait(lambda: driver.efforts, "the command")
        np.testing.assert_allclose(driver.efforts[-1].data, gravity(Q)[::-1], rtol=0, atol=1e-9)
        graph.await_log(log, "following")
        assert tuple(driver.ask(Q, dt=3.0).position) == (-0.1, 0.4)


def test_life_cycle(tmp_path: Path) -> None:
    """Up and down; while it is inactive nothing is commanded, and it holds where it finds the arm."""
    up = (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    down = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, {**ANYWHERE, "robot_description": "", "autostart": False}).log)
        assert not graph.transition(NODE, up[0])
        assert "robot_description" in "".join(log.errors)
        graph.describe(PLANAR["robot_description"])
        driver = Driver(graph)
        graph.configure(NODE)  # as soon as the description is there
        driver.send(driver.message(Q))
        graph.settle(0.3)
        assert driver.efforts == []
        assert graph.transition(NODE, up[1])
        assert driver.ask(Q).effort == pytest.approx(gravity(Q))
        driver.follow(_move((1.0, 1.0)))
        graph.await_log(log, "following")
        driver.ask(Q, dt=2.0)

        # Inactive: a last command, then silence; active again: the old trajectory is forgotten.
        before = len(driver.efforts)
        assert graph.transition(NODE, down[0])
        graph.wait(lambda: len(driver.efforts) > before, "the last command")
        graph.wait(lambda: driver.efforts[-1].data == pytest.approx(gravity(Q)), "that carries the arm")
        graph.settle(0.5)
        last = len(driver.efforts)
        driver.send(driver.message(Q))
        graph.settle(0.3)
        assert len(driver.efforts) == last
        assert graph.transition(NODE, up[1])
        elsewhere = (Q[0] - 0.4, Q[1] + 0.3)
        answer = driver.ask(elsewhere)
        assert tuple(answer.position) == elsewhere and answer.effort == pytest.approx(gravity(elsewhere))

        for number in (*down, *up):
            assert graph.transition(NODE, number)
        assert driver.ask(Q).effort == pytest.approx(gravity(Q))


# The controller, driven by a clock


def test_feedforward_needs_no_state(tmp_path: Path) -> None:
    """Open loop on the wall clock: the torque of the desired motion, Tsai (9.73)-(9.74)."""
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, {**ANYWHERE, "update_rate": 100.0, "law": "feedforward"}).log)
        driver = Driver(graph)
        graph.await_log(log, "active: law feedforward")
        graph.settle(0.3)
        assert driver.efforts == [], "before the first trajectory it does not know where the arm is"
        goal, still = np.array([0.2, 0.1]), np.zeros((2, 2))
        driver.follow(TrajectoryPoints(JOINTS, np.array([0.0, 1.0]), np.array([Q, goal]), still, still))
        graph.wait(lambda: driver.answers and np.array_equal(driver.answers[-1].position, goal), "the end")
        assert driver.answers[-1].effort == pytest.approx(gravity(goal))
        driver.assert_finite()


# The plant


def test_topics_and_clock_of_the_plant(tmp_path: Path) -> None:
    """The clock begins at zero and is that of joint_states; the arm stands still until it is commanded."""
    with Graph(tmp_path) as graph:
        clock = graph.collect(Clock, "/clock")
        states = graph.collect(JointState, "joint_states")
        graph.start("simulation_node", {**PLANAR, "publish_clock": True, "initial_positions": list(Q)})
        graph.wait(lambda: len(states) > 200 and len(clock) > 200, "the plant")
        (reader,) = graph.client.get_subscriptions_info_by_topic("/effort_commands")
        (writer,) = graph.client.get_publishers_info_by_topic("/joint_states")
        assert reader.qos_profile.reliability == writer.qos_profile.reliability == ReliabilityPolicy.RELIABLE

        stamps = [nanoseconds(state.header.stamp) for state in states]
        times = [nanoseconds(message.clock) for message in clock]
        # Since the plant's start, not since 1970; listeners may find it late.
        assert 0 < times[0] < 600_000_000_000 and 0 < stamps[0] < 600_000_000_000
        assert min(np.diff(stamps)) == 2_000_000  # 500 Hz
        assert min(np.diff(times)) >= 2_000_000 and not (np.array(times) % 2_000_000).any()
        for state in states:
            assert tuple(state.name) == JOINTS
            assert (tuple(state.position), tuple(state.velocity), tuple(state.effort)) == (Q, (0.0, 0.0), (0.0, 0.0))


def test_friction_sticks(tmp_path: Path) -> None:
    """Below the Coulomb torque nothing moves, not by one bit; beyond the limits of planar_2r.urdf effort is cut."""
    dynamics = tmp_path / "sticky.dynamics.yaml"
    document = {"gravity": [0.0, 0.0, 0.0], "joints": {name: {"viscous": 0.5, "coulomb": 3.0} for name in JOINTS}}
    dynamics.write_text(yaml.safe_dump(document), encoding="utf-8")
    with Graph(tmp_path) as graph:
        parameters = {**PLANAR, "dynamics_file": str(dynamics), "initial_positions": [0.1, 0.3]}
        plant = Simulation(graph, parameters)
        plant.await_start()
        plant.await_command([2.99, -2.99])
        seen = len(plant.states)
        graph.wait(lambda: len(plant.states) > seen + 500, "some states")
        assert {(tuple(x.position), tuple(x.velocity)) for x in plant.states} == {((0.1, 0.3), (0.0, 0.0))}
        plant.await_command([1000.0, -1000.0])
        graph.wait(lambda: plant.states[-1].position[1] < 0.2, "joint2 to give way")
        assert {tuple(x.effort) for x in plant.states} == {(0.0, 0.0), (2.99, -2.99), (80.0, -30.0)}


# The trajectory node


@pytest.mark.parametrize(
    ("settings", "cancels", "says"),
    [
        ({}, False, "followed to its end"),
        ({}, True, "dropped the trajectory"),
        ({"joints": ["joint1"]}, False, "refused the trajectory"),
    ],
)
def test_exit_code_of_the_motion(settings: dict[str, Any], cancels: bool, says: str, tmp_path: Path) -> None:
    """It waits until the controller commands, which has no states at first."""
    motion = {"trajectory": {"kind": "point_to_point", "center": [0.2], "move_time": 3.0}, **settings}
    with Graph(tmp_path) as graph:
        # The arm of this test never moves.
        still = {"saturation_timeout": float("inf"), "position_step_limit": [float("inf")]}
        robot = Robot(graph, graph.start(NODE, PLANAR | still))
        robot.await_mode("active")
        node = graph.start("trajectory_node", motion, "-r", f"joint_trajectory:={NODE}/joint_trajectory")
        log, controller = Log(node.log), robot.log_from_now()
        if cancels:
            robot.drive(lambda: "following a trajectory" in controller.text(), "the trajectory", Q)
            assert graph.call(Trigger, f"{NODE}/cancel", Trigger.Request()).success
        robot.drive(lambda: node.process.poll() is not None, "the node to end", Q)
        node.join(0.0)
        graph.processes.members.remove(node)  # the group takes exit code 1 for a failure
        assert says in log.text()
        assert node.process.returncode == (0 if "followed" in says else 1)


# The recorder


def test_the_recorder_hears_a_best_effort_publisher(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with Graph(tmp_path) as graph:
        publisher = graph.publisher(JointState, "joint_states", BEST_EFFORT)
        recorder = graph.start("recorder_node", {"output": str(bag), "topics": ["/joint_states"]})
        graph.wait(lambda: publisher.get_subscription_count() == 1, "the recorder")
        sent = 0

        def recorded() -> bool:
            nonlocal sent
            publisher.publish(JointState(name=["a"], position=[float(sent)]))
            sent += 1
            graph.settle(0.05)
            return "/joint_states" in recorder.log.read_text() and sent > 20

        graph.wait(recorded, "the recorder")
        recorder.stop()
        recorder.join(time.monotonic() + 60.0)
    position = read_joint_states(bag, ["/joint_states"])["/joint_states"].position[:, 0]
    assert len(position) and set(position) <= set(range(sent))
