"""The nodes as their users see them: topics, parameters, life cycle, and which command follows which state."""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from integration.robot import WARN, Robot
from integration.ros import BEST_EFFORT, JOINTS, PLANAR, RELIABLE, TSAI, Driver, Graph, Log, gravity
from lifecycle_msgs.msg import Transition
from oracles import tsai_planar_2r
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.bags import read_joint_states
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.kernels.compilation import COMPILED, cache_directory
from robot_dynamics_ros.nodes.messages import nanoseconds

Q = (-0.6, 0.9)
NODE = "computed_torque_node"

ANYWHERE = {**PLANAR, "position_step_limit": [float("inf")]}  # an arm that a test puts anywhere

QUALITIES = [pytest.param(RELIABLE, id="reliable", marks=pytest.mark.slow), pytest.param(BEST_EFFORT, id="best effort")]


def _move(goal: tuple[float, float], seconds: float = 1.0, names: tuple[str, ...] = JOINTS) -> TrajectoryPoints:
    """One point, at rest."""
    return TrajectoryPoints(names, np.array([seconds]), np.array([goal]), np.zeros((1, 2)), np.zeros((1, 2)))


# The controller, driven by joint_states


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """A controller that answers each joint_states message."""
    with Graph(tmp_path_factory.mktemp("controller")) as graph:
        graph.start(NODE, ANYWHERE)
        driver = Driver(graph)
        driver.ask(Q)
        yield driver
        driver.assert_finite()


def test_topics_of_the_controller(driver: Driver) -> None:
    client = driver.graph.client
    kinds = dict(client.get_topic_names_and_types()) | dict(client.get_service_names_and_types())
    writers, readers = client.get_publishers_info_by_topic, client.get_subscriptions_info_by_topic
    reliable, best_effort = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
    for find, topic, kind, reliability in (
        (readers, f"/{NODE}/joint_trajectory", "trajectory_msgs/msg/JointTrajectory", reliable),
        (readers, "/joint_states", "sensor_msgs/msg/JointState", best_effort),
        (readers, "/robot_description", "std_msgs/msg/String", reliable),
        (writers, "/effort_commands", "std_msgs/msg/Float64MultiArray", reliable),
        (writers, f"/{NODE}/command_states", "sensor_msgs/msg/JointState", reliable),
        (readers, f"/{NODE}/speed_scaling_factor", "std_msgs/msg/Float64", reliable),
        (readers, f"/{NODE}/payload", "geometry_msgs/msg/InertiaStamped", reliable),
        (writers, f"/{NODE}/joint_trajectory_with_effort", "trajectory_msgs/msg/JointTrajectory", reliable),
        (writers, f"/{NODE}/external_torque", "sensor_msgs/msg/JointState", reliable),
        (writers, f"/{NODE}/configuration", "std_msgs/msg/String", reliable),
        (writers, "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", reliable),
    ):
        assert kinds[topic] == [kind]
        (end,) = [end for end in find(topic) if end.node_name == NODE]
        assert end.qos_profile.reliability == reliability, topic
        latched = end.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        assert latched == (kind == "std_msgs/msg/String"), topic
    for service in ("cancel", "clear_fault"):
        assert kinds[f"/{NODE}/{service}"] == ["std_srvs/srv/Trigger"]


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_the_controller_answers_while_kernels_are_compiled_and_then_starts(tmp_path: Path) -> None:
    kept = cache_directory()
    assert kept is not None
    cache = tmp_path / "cache"
    missing = shutil.ignore_patterns("*derivatives*", "*forward_dynamics*", "newton_euler*")
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
        assert graph.transition(NODE, Transition.TRANSITION_CONFIGURE)
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
    """By the deadline that it requests; until then the commands are numbered without a gap."""
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
        graph.settle(2.0)
        assert not missed, "the watch commands on without states"
        node.process.send_signal(signal.SIGSTOP)
        graph.wait(lambda: missed, "the deadline to be missed")


@pytest.mark.parametrize("qos", QUALITIES)
def test_each_state_gets_one_answer_with_its_stamp(qos: object, driver: Driver) -> None:
    """And the torque that holds the arm there: Tsai (9.117)-(9.118), as it stands where it was found."""
    graph = driver.graph
    own = Driver(graph, qos=qos)  # type: ignore[arg-type]
    own.now = driver.now + 1_000_000_000
    own.ask(Q)
    graph.settle(0.2)
    own.efforts.clear()
    own.answers.clear()
    stamps = []
    for k in range(100):
        own.send(own.message(Q, dt=0.001 + 1e-9 * k))
        stamps.append(own.now)
        graph.settle(0.005)
    driver.now = own.now
    # Nobody sends a state again that a busy machine has lost on the way.
    graph.wait(lambda: len(own.answers) == len(own.efforts) >= 90, "the answers", seconds=20.0)
    graph.settle(0.5)
    answered = [nanoseconds(answer.header.stamp) for answer in own.answers]
    assert answered == [at for at in stamps if at in set(answered)]
    for answer, effort in zip(own.answers, own.efforts, strict=True):
        assert tuple(answer.name) == JOINTS
        assert answer.effort == effort.data


def test_a_trajectory_in_another_order_of_joints(driver: Driver) -> None:
    driver.ask(Q)
    log = Log(driver.graph.processes.members[0].log)
    driver.follow(_move((0.5, -0.2), 1.0, ("joint2", "joint1")))
    driver.graph.await_log(log, "following a trajectory of 1 points")
    driver.ask(Q, dt=1.5)
    answer = driver.ask((-0.2, 0.5))
    np.testing.assert_allclose(answer.position, [-0.2, 0.5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(answer.effort, gravity((-0.2, 0.5)), rtol=0, atol=1e-9)


def test_time_that_jumps_back_drops_the_trajectory(driver: Driver) -> None:
    """It is a fault: the arm is held where it is, and moves again only when that has been cleared."""
    driver.ask(Q)
    log = Log(driver.graph.processes.members[0].log)
    driver.follow(_move((1.0, -1.0), 10.0))
    driver.graph.await_log(log, "following a trajectory of 1 points")
    assert driver.ask(Q, dt=2.0).velocity[0] != 0.0
    here = (-0.5, 0.8)
    answers = [driver.ask(here, dt=-5.0)]
    driver.graph.await_log(log, "active -> hold: time jumped back by 5 s")
    driver.follow(_move((1.0, -1.0), 1.0))
    driver.graph.await_log(log, "trajectory refused: the controller is in hold")
    answers += [driver.ask(here, dt=0.01), driver.ask(here, dt=1.0)]
    driver.graph.await_log(log, "hold -> fault")
    answers += [driver.ask(here, dt=1.0)]
    assert driver.clear_fault().success
    driver.graph.await_log(log, "fault -> active")
    answers += [driver.ask(here), driver.ask(here, dt=1.0)]
    for held in answers:
        assert tuple(held.position) == here
        assert tuple(held.velocity) == (0.0, 0.0)
        np.testing.assert_allclose(held.effort, gravity(here), rtol=0, atol=1e-9)
    assert len(log.errors) == 2


def test_time_that_jumps_back_may_clear_itself(driver: Driver) -> None:
    """fault_reset: auto, for a bag that loops."""
    driver.graph.set_parameters(NODE, {"fault_reset": "auto"})
    driver.ask(Q)
    log = Log(driver.graph.processes.members[0].log)
    answers = [driver.ask(Q, dt=dt) for dt in (-100.0, 0.01, 0.5)]
    driver.graph.await_log(log, "hold -> active")
    driver.graph.set_parameters(NODE, {"fault_reset": "manual"})
    for held in answers:
        np.testing.assert_allclose(held.effort, gravity(Q), rtol=0, atol=1e-9)
    driver.follow(_move((-0.5, 0.8), 1.0))
    driver.graph.await_log(log, "following a trajectory of 1 points")
    assert tuple(driver.ask(Q, dt=2.0).position) == (-0.5, 0.8)


def test_computed_torque_over_the_wire(driver: Driver) -> None:
    """Half-way along a quintic, away from it: M(q) (qdd_d + 2 w edot + w^2 e) + V + G, w = 10, Tsai (9.73)-(9.74)."""
    driver.ask(Q)
    log = Log(driver.graph.processes.members[0].log)
    driver.follow(_move((0.4, -0.1), 2.0))
    driver.graph.await_log(log, "following a trajectory of 1 points")
    start = driver.ask(Q, dt=1e-9)  # time is that of the last state, so that the motion has just begun
    begun = np.array(start.position)
    answer = driver.ask((-0.2, 0.5), (0.3, -0.4), dt=1.0 - 1e-9)
    # Minimum jerk, half-way: the middle of the way, 15/8 of the mean velocity, no acceleration.
    way = np.subtract((0.4, -0.1), begun)
    q, qd = np.array([-0.2, 0.5]), np.array([0.3, -0.4])
    np.testing.assert_allclose(answer.position, begun + way / 2, rtol=0, atol=1e-7)
    np.testing.assert_allclose(answer.velocity, 15 / 8 * way / 2, rtol=0, atol=1e-7)
    asked = 20.0 * (15 / 8 * way / 2 - qd) + 100.0 * (begun + way / 2 - q)
    expected = tsai_planar_2r.torque(TSAI, q, qd, asked)
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-4)


def test_joints_in_another_order_in_a_namespace(tmp_path: Path) -> None:
    """The order of `joints` is that of the commands; a file with /** holds in any namespace.

    A trajectory that comes before joint_states waits for them.
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
    """Up and down twice; while it is inactive nothing is commanded, and it holds where it finds the arm."""
    up = (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)
    down = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, {**ANYWHERE, "robot_description": "", "autostart": False}).log)
        assert not graph.transition(NODE, up[0])
        assert "robot_description is empty" in "".join(log.errors)
        graph.describe(PLANAR["robot_description"])
        driver = Driver(graph)
        graph.wait(lambda: graph.client.count_subscribers("robot_description") == 1, "the node")
        graph.settle(0.5)
        driver.send(driver.message(Q))
        for here in (Q, (0.3, 0.2)):
            assert driver.efforts == []
            assert graph.transition(NODE, up[0]), graph.logs()
            assert not graph.transition(NODE, up[0])
            driver.send(driver.message(here))
            graph.settle(0.3)
            assert driver.efforts == []
            assert graph.transition(NODE, up[1])
            answer = driver.ask(here)
            np.testing.assert_allclose(answer.effort, gravity(here), rtol=0, atol=1e-9)
            driver.follow(_move((1.0, 1.0)))
            graph.await_log(log, "following")
            driver.ask(here, dt=2.0)

            # Inactive: a last command, then silence; active again: the old trajectory is forgotten.
            before = len(driver.efforts)
            assert graph.transition(NODE, down[0])
            graph.wait(lambda n=before: len(driver.efforts) > n, "the last command")
            np.testing.assert_allclose(driver.efforts[-1].data, gravity(here), rtol=0, atol=1e-9)
            driver.send(driver.message(here))
            graph.settle(0.3)
            assert before < len(driver.efforts) <= before + 3, "those that stop the arm, and the last one"
            assert graph.transition(NODE, up[1])
            elsewhere = (here[0] - 0.4, here[1] + 0.3)
            answer = driver.ask(elsewhere)
            assert tuple(answer.position) == elsewhere
            np.testing.assert_allclose(answer.effort, gravity(elsewhere), rtol=0, atol=1e-9)

            assert graph.transition(NODE, down[0])
            assert graph.transition(NODE, down[1])
            graph.settle(0.2)
            driver.efforts.clear()
            driver.answers.clear()


# The controller, driven by a clock


@pytest.mark.slow
def test_a_fixed_rate_and_a_state_that_grows_old(tmp_path: Path) -> None:
    """Without feedback it carries the arm where it was for a while, then lets go."""
    settings = {"update_rate": 50.0, "law": "pd", "state_timeout": 1.0, "stale_hold_time": 3.0}
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, {**ANYWHERE, **settings}).log)
        driver = Driver(graph)
        driver.now = time.time_ns()
        graph.await_log(log, "no joint_states yet")
        assert driver.efforts == []

        def drive(seconds: float, q: tuple[float, float]) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                driver.send(driver.message(q))
                graph.settle(0.02)

        def away_from_rest() -> bool:
            return bool(np.abs(np.subtract(driver.efforts[-1].data, gravity(Q))).max() > 0.1)

        graph.wait(lambda: (drive(0.1, Q), driver.answers)[1], "commands")
        driver.follow(_move((0.2, 0.1), 60.0))
        drive(0.5, Q)
        begin, count = time.monotonic(), len(driver.answers)
        drive(2.0, Q)
        # About 100; a loaded machine may lose some, or bring late those of before.
        assert 30 < len(driver.answers) - count < 75 * (time.monotonic() - begin)
        assert abs(driver.answers[-1].effort[0]) > 1e-6 and away_from_rest()
        assert log.errors == []

        graph.await_log(log, "over state_timeout")
        assert "active -> hold" in log.errors[0] and "over state_timeout 1 s" in log.errors[0]
        graph.settle(0.5)
        late = driver.efforts[-5:]
        for message in late:
            np.testing.assert_allclose(message.data, gravity(Q), rtol=0, atol=1e-9)
        graph.await_log(log, "hold -> zero")
        graph.settle(0.5)
        assert {tuple(message.data) for message in driver.efforts[-5:]} == {(0.0, 0.0)}

        # The robot is back: it is carried, and pd goes on when somebody says so; the old trajectory does not.
        drive(0.5, Q)
        graph.wait(lambda: (drive(0.1, Q), "-> fault" in log.text())[1], "every check to pass")
        np.testing.assert_allclose(driver.efforts[-1].data, gravity(Q), rtol=0, atol=1e-9)
        drive(0.1, Q)
        assert driver.clear_fault().success
        graph.await_log(log, "fault -> active")
        drive(0.5, Q)
        assert away_from_rest()
        assert tuple(driver.answers[-1].position) == Q
        driver.follow(_move((0.2, 0.1), 60.0))
        drive(0.5, Q)
        assert abs(driver.efforts[-1].data[0]) > 1e-6 and away_from_rest()
        driver.assert_finite()


def test_feedforward_needs_no_state(tmp_path: Path) -> None:
    """Open loop on the wall clock: the torque of the desired motion, Tsai (9.73)-(9.74)."""
    with Graph(tmp_path) as graph:
        log = Log(graph.start(NODE, {**ANYWHERE, "update_rate": 100.0, "law": "feedforward"}).log)
        driver = Driver(graph)
        graph.await_log(log, "active: law feedforward")
        graph.settle(0.3)
        assert driver.efforts == [], "before the first trajectory it does not know where the arm is"
        points = TrajectoryPoints(
            JOINTS, np.array([0.0, 1.0]), np.array([Q, (0.2, 0.1)]), np.zeros((2, 2)), np.zeros((2, 2))
        )
        driver.follow(points)
        goal = np.array([0.2, 0.1])
        graph.wait(lambda: driver.answers and np.array_equal(driver.answers[-1].position, goal), "the end")
        graph.settle(0.3)
        driver.assert_finite()
        moving = [answer for answer in driver.answers if any(answer.velocity)]
        assert moving
        for answer in driver.answers[-3:]:
            np.testing.assert_allclose(answer.effort, gravity(goal), rtol=0, atol=1e-9)
        # From rest to rest in T = 1 s the minimum-jerk motion is s = 10 u^3 - 15 u^4 + 6 u^5.
        way = goal - np.array(Q)
        for answer in moving:
            u = np.roots([6, -15, 10, 0, 0, -(answer.position[0] - Q[0]) / way[0]])
            u = float(u[(abs(u.imag) < 1e-6) & (u.real > 0) & (u.real < 1)].real[0])
            if not 0.05 < u < 0.95:
                continue
            q, qd, qdd = (
                np.array(Q) + way * u**3 * (10 - 15 * u + 6 * u * u),
                way * 30 * u**2 * (1 - u) ** 2,
                way * 60 * u * (1 - u) * (1 - 2 * u),
            )
            np.testing.assert_allclose(answer.position, q, rtol=0, atol=1e-6)
            np.testing.assert_allclose(answer.effort, tsai_planar_2r.torque(TSAI, q, qd, qdd), rtol=0, atol=1e-4)


# The plant


def test_topics_and_clock_of_the_plant(tmp_path: Path) -> None:
    """The clock begins at zero and is that of joint_states; the arm stands still until it is commanded."""
    with Graph(tmp_path) as graph:
        clock = graph.collect(Clock, "/clock")
        states = graph.collect(JointState, "joint_states")
        graph.start("simulation_node", {**PLANAR, "publish_clock": True, "initial_positions": list(Q)})
        graph.wait(lambda: len(states) > 200 and len(clock) > 200, "the plant")
        kinds = dict(graph.client.get_topic_names_and_types())
        assert kinds["/clock"] == ["rosgraph_msgs/msg/Clock"]
        assert kinds["/effort_commands"] == ["std_msgs/msg/Float64MultiArray"]
        (reader,) = graph.client.get_subscriptions_info_by_topic("/effort_commands")
        (writer,) = graph.client.get_publishers_info_by_topic("/joint_states")
        assert reader.qos_profile.reliability == writer.qos_profile.reliability == ReliabilityPolicy.RELIABLE

        stamps = [nanoseconds(state.header.stamp) for state in states]
        times = [nanoseconds(message.clock) for message in clock]
        # Since the plant's start, not since 1970; listeners may find it late.
        assert 0 < times[0] < 60_000_000_000 and 0 < stamps[0] < 60_000_000_000
        assert set(np.diff(stamps)) == {2_000_000}  # 500 Hz
        assert set(np.diff(times)) <= {2_000_000, 4_000_000, 6_000_000, 8_000_000}  # depth 1
        assert len(set(times) & set(stamps)) > 100
        for state in states:
            assert tuple(state.name) == JOINTS
            assert (tuple(state.position), tuple(state.velocity), tuple(state.effort)) == (Q, (0.0, 0.0), (0.0, 0.0))


def test_friction_sticks(tmp_path: Path) -> None:
    """Below the Coulomb torque nothing moves, not by one bit; above it the arm goes where it is pushed."""
    friction = {"viscous": 0.5, "coulomb": 3.0}
    dynamics = tmp_path / "sticky.dynamics.yaml"
    document = {"gravity": [0.0, 0.0, 0.0], "joints": {name: friction for name in JOINTS}}
    dynamics.write_text(yaml.dump(document, Dumper=_NoAliases))
    parameters = {**PLANAR, "dynamics_file": str(dynamics), "initial_positions": [0.1, 0.3]}
    with Graph(tmp_path) as graph:
        graph.start("simulation_node", parameters)
        states = graph.collect(JointState, "joint_states")
        commands = graph.publisher(Float64MultiArray, "effort_commands")
        graph.wait(lambda: states and commands.get_subscription_count(), "the plant")
        commands.publish(Float64MultiArray(data=[2.99, -2.99]))
        graph.wait(lambda: tuple(states[-1].effort) == (2.99, -2.99), "the command to be applied")
        seen = len(states)
        graph.wait(lambda: len(states) > seen + 500, "a second")
        for state in states:
            assert tuple(state.position) == (0.1, 0.3)
            assert tuple(state.velocity) == (0.0, 0.0)
        commands.publish(Float64MultiArray(data=[3.0, -4.5]))
        graph.wait(lambda: states[-1].position[1] < 0.2, "joint2 to give way")


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def test_effort_beyond_the_limit_is_cut(tmp_path: Path) -> None:
    """planar_2r.urdf allows 80 and 30 Nm."""
    with Graph(tmp_path) as graph:
        graph.start("simulation_node", PLANAR)
        states = graph.collect(JointState, "joint_states")
        commands = graph.publisher(Float64MultiArray, "effort_commands")
        graph.wait(lambda: states and commands.get_subscription_count(), "the plant")
        commands.publish(Float64MultiArray(data=[1000.0, -1000.0]))
        graph.wait(lambda: any(state.effort[0] for state in states), "the command to be applied")
        graph.settle(0.3)
        assert {tuple(state.effort) for state in states} == {(0.0, 0.0), (80.0, -30.0)}


# The trajectory node


def test_the_trajectory_starts_where_the_arm_is(tmp_path: Path) -> None:
    """It is published once, with stamp 0, and the process ends by itself."""
    settings = {"kind": "point_to_point", "center": [0.2, 0.1], "move_time": 2, "rate": 10}
    with Graph(tmp_path) as graph:
        received = graph.collect(JointTrajectory, "joint_trajectory")
        node = graph.start("trajectory_node", {"trajectory": settings, "listeners": [graph.client.get_name()]})
        driver = Driver(graph, qos=BEST_EFFORT)

        def ended() -> bool:
            driver.send(driver.message(Q))
            graph.settle(0.1)
            return node.process.poll() is not None

        graph.wait(ended, "the node to end")
        assert node.process.returncode == 0
        (message,) = received
        assert tuple(message.joint_names) == JOINTS
        assert nanoseconds(message.header.stamp) == 0
        assert len(message.points) == 21
        assert tuple(message.points[0].positions) == Q
        np.testing.assert_allclose(message.points[-1].positions, [0.2, 0.1], rtol=0, atol=1e-12)
        for point in (message.points[0], message.points[-1]):
            np.testing.assert_array_equal([*point.velocities, *point.accelerations], 0.0)


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


@pytest.mark.parametrize("qos", QUALITIES)
def test_the_recorder_matches_its_publisher(qos: QoSProfile, tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    with Graph(tmp_path) as graph:
        publisher = graph.publisher(JointState, "joint_states", qos)
        recorder = graph.start("recorder_node", {"output": str(bag), "topics": ["/joint_states"]})
        graph.wait(lambda: publisher.get_subscription_count() == 1, "the recorder")
        graph.settle(0.5)
        for k in range(50):
            publisher.publish(JointState(name=["a"], position=[float(k)]))
            graph.settle(0.01)
        graph.settle(0.5)
        recorder.stop()
        recorder.join(time.monotonic() + 20.0)
    recorded = read_joint_states(bag, ["/joint_states"])["/joint_states"].position[:, 0]
    # Best effort may lose some on a loaded machine.
    assert set(recorded) <= set(range(50)) and len(recorded) >= (50 if qos is RELIABLE else 25)
