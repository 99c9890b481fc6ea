"""Inputs of the controller node: trajectories, speed scaling, cancel, payload and rates.

With update_rate 0 the stamps of the states are the time, so that the desired motion is known in closed form.
"""

import math
import os
import time as wall_clock
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import InertiaStamped
from lifecycle_msgs.msg import Transition
from rclpy.serialization import serialize_message
from scipy.interpolate import BPoly
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oracles import craig_planar_2r, tsai_planar_2r
from robot_dynamics_ros.base.joint_messages import TrajectoryPoints
from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.recordings.messages.joint_trajectory import read_trajectory
from robot_dynamics_ros.ros.conversions import nanoseconds, stamp, trajectory_message
from support.robot import friction, move, rough_arm
from support.ros import (
    BEST_EFFORT,
    JOINTS,
    LATCHED,
    PLANAR,
    RELIABLE,
    TSAI,
    URDF,
    Array,
    Driver,
    Graph,
    Log,
    gravity,
)

NODE = "computed_torque_node"
Q = np.array([-0.6, 0.9])
REST = np.zeros(2)
#: The arm is put anywhere, on purpose.
ANYWHERE = {
    "position_step_limit": [math.inf],
    "set_point_step_limit": [math.inf],
    "trajectory_limits": "off",
}

State = tuple[Array, Array, Array]
"""Position, velocity, acceleration."""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    folder = tmp_path_factory.mktemp("controller")
    with Graph(folder) as graph:
        graph.start(NODE, rough_arm(folder) | ANYWHERE)
        driver = Driver(graph)
        driver.ask(Q)
        yield driver
        driver.assert_finite()


@pytest.fixture
def driver(started: Driver) -> Driver:
    """Return the driver of a controller that holds the arm at Q."""
    accepted(started, points([0.0], [Q]))
    for _ in range(25):  # in which a payload or a law of the test before is gone
        answer_at(started, started.now + 10_000_000, Q)
    assert_follows(started, started.now, 0.01, at_rest(Q))
    return started


def points(times: Any, q: Any, *others: Any, names: Any = JOINTS) -> TrajectoryPoints:
    return TrajectoryPoints(
        names, np.array(times), np.array(q), *(np.array(table) for table in others)
    )


def cruise(v: Array) -> TrajectoryPoints:
    """Return a motion with this velocity from 0.5 s on, for eight seconds, by cubics with equal end velocities."""
    return points(
        [0.5, 8.5, 10.5], [Q + 0.3 * v, Q + 8.3 * v, Q + 9.3 * v], [v, v, REST]
    )


def log_of(driver: Driver) -> Log:
    return Log(driver.graph.processes.members[0].log)


def accepted(driver: Driver, trajectory: TrajectoryPoints, start: int = 0) -> int:
    """Send a trajectory; return the time of the last state, at which one with stamp 0 starts."""
    log = log_of(driver)
    line = f"following a trajectory: {len(trajectory.times)} points"
    driver.graph.send_until_logged(lambda: driver.follow(trajectory, start), log, line)
    return driver.now


def answer_at(driver: Driver, time: int, q: Any, qd: Any = REST) -> JointState:
    """Return the command for the state with this stamp (ns); the state is sent again if a message is lost."""
    driver.now = time
    state = driver.message(q, qd, dt=0.0)
    driver.graph.repeat(
        lambda: driver.send(state),
        lambda: driver.answers and nanoseconds(driver.answers[-1].header.stamp) == time,
        "an answer",
    )
    return driver.answers[-1]


def at_rest(q: Any) -> State:
    return np.array(q, dtype=float), REST, REST


def quintic(t: float, duration: float, begin: State, end: State) -> State:
    """Return the quintic polynomial with these end conditions, by SciPy; constant before and after."""
    t = min(max(t, 0.0), duration)
    curve = BPoly.from_derivatives([0.0, duration], [np.stack(begin), np.stack(end)])
    return curve(t), curve.derivative()(t), curve.derivative(2)(t)


def assert_desired(answer: JointState, motion: State, atol: float = 1e-8) -> None:
    np.testing.assert_allclose(answer.position, motion[0], rtol=0, atol=atol)
    np.testing.assert_allclose(answer.velocity, motion[1], rtol=0, atol=atol)


def assert_follows(
    driver: Driver, begin: int, t: float, motion: State, atol: float = 1e-6
) -> None:
    """Check the desired motion ``t`` (s) after ``begin`` (ns), and the effort, Tsai (9.73)-(9.74) with friction."""
    answer = answer_at(driver, begin + round(t * 1e9), *motion[:2])
    assert_desired(answer, motion, atol / 100)
    expected = tsai_planar_2r.torque(TSAI, *motion) + friction(motion[1])
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=atol)


def test_future_trajectory_replaces_the_current_one(driver: Driver) -> None:
    """The old motion continues until then; the new one starts from the desired motion."""
    first = np.array([0.4, -0.1])
    second = np.array([-0.9, 0.3])
    begin = accepted(driver, move(first, 2.0))
    accepted(driver, move(second, 1.0), start=begin + 800_000_000)
    old = quintic(0.8, 2.0, at_rest(Q), at_rest(first))
    assert_follows(driver, begin, 0.8, old)
    assert_desired(
        answer_at(driver, begin + 800_000_001, old[0] + 0.05, old[1] - 0.1), old
    )
    for t in (1.2, 2.0, 10.0):
        assert_follows(driver, begin, t, quintic(t - 0.8, 1.0, old, at_rest(second)))


def test_speed_scaling(driver: Driver) -> None:
    """The speed factor changes by 2 / s and the path is unchanged. Values outside 0 to 1 are refused."""
    graph = driver.graph
    v = np.array([0.3, -0.2])
    factor = 0.5
    ramp = 0.25
    publisher = graph.publisher(Float64, f"{NODE}/speed_scaling_factor")
    graph.wait(
        lambda: publisher.get_subscription_count() > 0, "the controller to listen"
    )
    publisher.publish(Float64(data=factor))
    # taken in order: with it the controller has the speed
    begin = accepted(driver, cruise(v))
    log = log_of(driver)
    publisher.publish(Float64(data=math.nan))
    graph.await_log(log, "nan")
    for t in (1.5, 3.0):
        way = ramp - ramp**2 + factor * (t - ramp)
        assert_follows(
            driver, begin, t, (Q + (way - 0.2) * v, factor * v, REST), atol=1e-5
        )
    publisher.publish(Float64(data=1.0))
    # it is over before the next test, at whatever speed
    answer_at(driver, driver.now + 20_000_000_000, Q)
    accepted(driver, points([0.0], [Q]))
    # by now full speed has been reached
    answer_at(driver, driver.now + 1_000_000_000, Q)


def test_cancel(driver: Driver) -> None:
    """Each joint decelerates by 2 rad/s^2 and then holds its position."""
    v = np.array([0.8, -0.4])
    begin = accepted(driver, cruise(v))
    here = Q + 1.0 * v
    brake = -2.0 * np.sign(v)
    assert_follows(driver, begin, 1.2, (here, v, REST))
    assert driver.graph.call(Trigger, f"{NODE}/cancel", Trigger.Request()).success
    t = 0.1
    assert_follows(
        driver, driver.now, t, (here + v * t + brake * t**2 / 2, v + brake * t, brake)
    )
    assert_follows(driver, driver.now, 5.0, at_rest(here - v**2 / (2 * brake)))


def test_trajectory_with_effort(driver: Driver) -> None:
    """The points are the same or more; RNEA and friction are added to the effort of each."""
    graph = driver.graph
    received = graph.collect(JointTrajectory, f"{NODE}/joint_trajectory_with_effort")
    graph.wait(
        lambda: graph.client.count_publishers(f"{NODE}/joint_trajectory_with_effort"),
        "the controller",
    )
    rng = np.random.default_rng(4)
    times = np.array([0.4, 1.0, 1.7])
    q = Q + 0.3 * rng.normal(size=(3, 2))
    qd, qdd, given = rng.normal(size=(3, 3, 2))
    qd[-1] = qdd[-1] = 0.0
    message = trajectory_message(
        points(times, *(x[:, ::-1] for x in (q, qd, qdd, given)), names=JOINTS[::-1])
    )
    message.header.stamp = stamp(driver.now + 5_000_000_000)

    def send() -> None:
        driver.send_trajectory(message)
        for _ in range(5):
            driver.ask(Q)  # a part of it each cycle

    graph.repeat(send, lambda: received, "the trajectory")
    answer = received[0]
    assert (answer.header, answer.joint_names) == (message.header, message.joint_names)
    _, dense = read_trajectory(serialize_message(answer))
    assert 0.15 <= dense.times[0] < 0.1701  # until then a controller joins the motion
    assert (np.diff(dense.times) < 0.0201).all()
    at_points = np.isin(
        dense.times, read_trajectory(serialize_message(message))[1].times
    )
    rigid = [
        tsai_planar_2r.torque(TSAI, *state) + friction(state[1])
        for state in zip(q, qd, qdd, strict=True)
    ]
    np.testing.assert_allclose(
        dense.effort[at_points], (rigid + given)[:, ::-1], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        dense.positions[at_points], q[:, ::-1], rtol=0, atol=1e-12
    )


def test_payload(driver: Driver) -> None:
    """The next command uses it: Craig's point mass (6.58) at the tip, and a body; zero mass removes it."""
    graph = driver.graph
    publisher = graph.publisher(InertiaStamped, f"{NODE}/payload")
    graph.wait(
        lambda: publisher.get_subscription_count() > 0, "the controller to listen"
    )
    q = Q + [0.02, -0.05]
    qd = np.array([0.1, -0.2])
    asked = 100.0 * (Q - q) - 20.0 * qd

    def expect(mass: float, out: float, izz: float) -> None:
        carried = craig_planar_2r.Parameters(
            l1=TSAI.a1, l2=TSAI.a2 + out, m1=0.0, m2=mass
        )
        expected = tsai_planar_2r.torque(TSAI, q, qd, asked) + craig_planar_2r.torque(
            carried, q, qd, asked
        )
        for _ in range(40):  # in which it takes over
            answer = answer_at(driver, driver.now + 10_000_000, q, qd)
        np.testing.assert_allclose(
            answer.effort, expected + izz * asked.sum(), rtol=0, atol=1e-9
        )

    def carry(link: str, mass: float, out: float, izz: float, text: str) -> None:
        message = InertiaStamped()
        message.header.frame_id = link
        message.inertia.m = mass
        message.inertia.com.x = out
        message.inertia.iyy = message.inertia.izz = izz
        log = log_of(driver)
        publisher.publish(message)
        graph.await_log(log, text)

    carry("tip", 0.7, 0.1, 0.02, "payload: 0.7 kg on tip")
    expect(0.7, 0.1, 0.02)
    carry("claw", 2.0, 0.0, 0.0, "claw")
    carry("tip", 1.0, math.nan, 0.0, "refused")
    # It stays on while the node is inactive; the arm then holds where it is.
    assert graph.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert graph.transition(NODE, Transition.TRANSITION_ACTIVATE)
    driver.ask(Q)
    expect(0.7, 0.1, 0.02)
    carry("tip", 0.0, 0.0, 0.0, "payload: 0 kg")
    expect(0.0, 0.0, 0.0)


def test_update_rate(tmp_path: Path) -> None:
    """One state is enough for commands; trajectories use the system clock. The robot was published before."""
    with Graph(tmp_path) as graph:
        graph.describe(URDF)
        quiet = {
            "update_rate": 100,
            "minimum_rate_ratio": 0,
            "law": "pd",
            "gains.kp": [10],
            "gains.kd": [2],
        }
        quiet |= {"robot_description": "", "realtime_priority": 15, "lock_memory": True}
        node = graph.start(NODE, {**PLANAR, **quiet})
        driver = Driver(graph, qos=BEST_EFFORT)
        graph.await_log(Log(node.log, begin=0), "active")
        driver.now = wall_clock.time_ns()
        state = driver.message(Q)
        graph.repeat(
            lambda: driver.send(state),
            lambda: driver.answers and driver.efforts,
            "a command",
        )
        graph.wait(lambda: len(driver.efforts) > 50, "commands without states")

        goal = Q + [1.0, -1.0]
        start = wall_clock.time_ns() + 500_000_000
        driver.answers.clear()
        driver.follow(move(goal, 1.0), start)
        graph.wait(
            lambda: (
                driver.answers and tuple(driver.answers[-1].position) == tuple(goal)
            ),
            "the end",
        )
        assert wall_clock.time_ns() >= start + 1_000_000_000
        assert {nanoseconds(answer.header.stamp) for answer in driver.answers} == {
            driver.now
        }
        moving = [answer for answer in driver.answers if any(answer.velocity)]
        assert moving
        for answer in moving:
            way = np.array(answer.position) - Q
            np.testing.assert_allclose(way[0], -way[1], rtol=0, atol=1e-9)
            expected = 10.0 * way + 2.0 * np.array(answer.velocity)
            np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-9)
        _assert_real_time(node)


def _assert_real_time(node: NodeProcess) -> None:
    pid = node.process.pid
    first = (
        os.sched_getscheduler(pid) == os.SCHED_FIFO
        and os.sched_getparam(pid).sched_priority == 15
    )
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    locked = not any(line.split() == ["VmLck:", "0", "kB"] for line in status)
    warnings = Log(node.log, begin=0).lines("WARN")
    for works, name in ((first, "realtime_priority"), (locked, "lock_memory")):
        assert len([line for line in warnings if name in line]) == (0 if works else 1)


@pytest.mark.slow
def test_two_arms_in_namespaces(tmp_path: Path) -> None:
    """One file for both; each has its own robot, trajectory, torque, services and parameters.

    The left one learns its robot from the latched topic in its namespace. The right one asks for reliable
    joint_states, the left one also receives from a publisher that is not.
    """
    file = tmp_path / "arms.yaml"
    shared = {
        **PLANAR,
        "robot_description": "",
        "law": "computed_torque",
        "gains.natural_frequency": [3.0],
    }
    right = {"robot_description": URDF, "gains.natural_frequency": [4.0]}
    right |= {"qos_overrides./right/joint_states.subscription.reliability": "reliable"}
    document = {
        "/**": {"ros__parameters": shared},
        f"/right/{NODE}": {"ros__parameters": right},
    }
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with Graph(tmp_path) as graph:
        graph.publisher(String, "left/robot_description", LATCHED).publish(
            String(data=URDF)
        )
        sides = (
            ("left", BEST_EFFORT, Q, (0.4, -0.1), 3.0),
            ("right", RELIABLE, (0.3, 0.2), (-0.5, 0.7), 4.0),
        )
        for side, *_ in sides:
            graph.start(NODE, None, "--params-file", str(file), "-r", f"__ns:=/{side}")
        arms = [Driver(graph, f"/{side}", qos) for side, qos, *_ in sides]
        arms[1].now += 5_000_000_000
        begin = []
        for process, arm, (side, qos, q0, goal, _) in zip(
            graph.processes.members, arms, sides, strict=True
        ):
            np.testing.assert_allclose(
                arm.ask(q0).effort, gravity(q0), rtol=0, atol=1e-9
            )
            (end,) = graph.client.get_subscriptions_info_by_topic(
                f"/{side}/joint_states"
            )
            assert end.qos_profile.reliability == qos.reliability
            log = Log(process.log)
            begin.append(arm.now)
            arm.follow(move(goal, 1.0))
            graph.await_log(log, "following a trajectory: 1 points")
        # the rate of these stamps carries the gains
        for t in (0.1, 0.2, 0.3, 0.4, 0.5):
            for arm, start, (_, _, q0, goal, rate) in zip(
                arms, begin, sides, strict=True
            ):
                q, qd, qdd = motion = quintic(t, 1.0, at_rest(q0), at_rest(goal))
                answer = answer_at(arm, start + round(t * 1e9), q - 0.04, qd)
                assert_desired(answer, motion)
                expected = tsai_planar_2r.torque(
                    TSAI, q - 0.04, qd, qdd + 0.04 * rate**2
                )
                np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-6)
        assert graph.call(Trigger, f"left/{NODE}/cancel", Trigger.Request()).success
        graph.set_parameters(f"left/{NODE}", {"law": "pd"})
        stopped = answer_at(arms[0], begin[0] + 5_000_000_000, Q)
        assert (
            tuple(stopped.velocity) == (0.0, 0.0)
            and np.abs(np.subtract(stopped.position, (0.4, -0.1))).max() > 0.05
        )
        motion = quintic(0.7, 1.0, at_rest((0.3, 0.2)), at_rest((-0.5, 0.7)))
        answer = answer_at(arms[1], begin[1] + 700_000_000, *motion[:2])
        assert_desired(answer, motion)
        np.testing.assert_allclose(
            answer.effort, tsai_planar_2r.torque(TSAI, *motion), rtol=0, atol=1e-6
        )
