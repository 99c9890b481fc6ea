"""What the controller does with what it is sent: trajectories, speed, cancel, payload, stamps, rates and namespaces.

States come without a hurry: with update_rate 0 their stamps are the time, so that the desired motion is known in closed
form. The arm is Tsai's planar one with friction added, Craig (6.110)-(6.113).
"""

import math
import os
import time as wall_clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped
from lifecycle_msgs.msg import Transition
from scipy.interpolate import BPoly
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from oracles import craig_planar_2r, tsai_planar_2r
from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import nanoseconds, stamp, trajectory_message, trajectory_points
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
FRICTION = {"joint1": {"viscous": 0.8, "coulomb": 1.5}, "joint2": {"viscous": 0.3, "coulomb": 0.6}}

State = tuple[Array, Array, Array]
"""Position, velocity, acceleration."""


def _friction(qd: Array) -> Array:
    """Viscous and Coulomb friction of the test's arm, smoothed below 0.01 rad/s as the controller's default says."""
    viscous, coulomb = ([FRICTION[name][part] for name in JOINTS] for part in ("viscous", "coulomb"))
    sliding = np.copysign(np.maximum(np.abs(qd), 0.01), qd)
    return (np.multiply(viscous, sliding) + np.multiply(coulomb, np.sign(sliding))) * np.minimum(np.abs(qd) / 0.01, 1.0)


def _rough_arm(folder: Path) -> dict[str, Any]:
    document = yaml.safe_load(Path(str(PLANAR["dynamics_file"])).read_text(encoding="utf-8"))
    path = folder / "rough.dynamics.yaml"
    path.write_text(yaml.safe_dump({**document, "joints": FRICTION}), encoding="utf-8")
    # The arm is put anywhere, on purpose.
    anywhere = {"position_step_limit": [math.inf], "set_point_step_limit": [math.inf], "trajectory_limits": "off"}
    return {**PLANAR, **anywhere, "dynamics_file": str(path)}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    folder = tmp_path_factory.mktemp("controller")
    with Graph(folder) as graph:
        graph.start(NODE, _rough_arm(folder))
        driver = Driver(graph)
        driver.ask(Q)
        yield driver
        driver.assert_finite()


@pytest.fixture
def driver(started: Driver) -> Driver:
    """A controller that holds the arm at Q."""
    accepted(started, points([0.0], [Q]))
    for _ in range(25):  # in which a payload or a law of the test before is gone
        answer_at(started, started.now + 10_000_000, Q)
    assert_follows(started, started.now, 0.01, at_rest(Q))
    return started


def points(
    times: Any, q: Any, qd: Any = None, qdd: Any = None, effort: Any = None, names: Any = JOINTS
) -> TrajectoryPoints:
    tables = [None if table is None else np.array(table, dtype=float) for table in (qd, qdd, effort)]
    return TrajectoryPoints(tuple(names), np.array(times, dtype=float), np.array(q, dtype=float), *tables)


def move(goal: Any, seconds: float) -> TrajectoryPoints:
    """One point, at rest: from the state of now a quintic leads to it."""
    still = np.zeros((1, len(goal)))
    return points([seconds], [goal], still, still)


def cruise(velocity: Any) -> TrajectoryPoints:
    """From half a second on at this velocity, for eight seconds: cubics with the same velocity at both ends."""
    v = np.array(velocity)
    return points([0.5, 8.5, 10.5], [Q + 0.3 * v, Q + 8.3 * v, Q + 9.3 * v], [v, v, REST])


def log_of(driver: Driver) -> Log:
    return Log(driver.graph.processes.members[0].log)


def accepted(driver: Driver, trajectory: TrajectoryPoints, start: int = 0) -> int:
    """Send a trajectory; return the time of the last state, at which one with stamp 0 starts."""
    log = log_of(driver)
    driver.follow(trajectory, start)
    driver.graph.await_log(log, f"following a trajectory of {len(trajectory.times)} points")
    return driver.now


def answer_at(driver: Driver, time: int, q: Any, qd: Any = REST) -> JointState:
    """The answer to the state of this stamp (ns); one that was lost on its way is sent again as it was."""
    driver.now = time
    state = driver.message(q, qd, dt=0.0)
    again_and_again(
        driver.graph,
        lambda: driver.send(state),
        lambda: driver.answers and nanoseconds(driver.answers[-1].header.stamp) == time,
        "an answer",
    )
    return driver.answers[-1]


def again_and_again(graph: Graph, send: Callable[[], None], true: Callable[[], Any], what: str) -> None:
    """Send something, once a second, until something is true."""
    due = wall_clock.monotonic()

    def come() -> bool:
        nonlocal due
        if not true() and wall_clock.monotonic() >= due:
            due = wall_clock.monotonic() + 1.0
            send()
        return bool(true())

    graph.wait(come, what)


def at_rest(q: Any) -> State:
    return np.array(q, dtype=float), REST, REST


def quintic(t: float, duration: float, begin: State, end: State) -> State:
    """The polynomial of degree 5 with these ends, by SciPy; before and after it the ends."""
    t = min(max(t, 0.0), duration)
    curve = BPoly.from_derivatives([0.0, duration], [np.stack(begin), np.stack(end)])
    return curve(t), curve.derivative()(t), curve.derivative(2)(t)


def assert_desired(answer: JointState, motion: State, atol: float = 1e-8) -> None:
    np.testing.assert_allclose(answer.position, motion[0], rtol=0, atol=atol)
    np.testing.assert_allclose(answer.velocity, motion[1], rtol=0, atol=atol)


def assert_follows(driver: Driver, begin: int, t: float, motion: State, atol: float = 1e-6) -> None:
    """``t`` (s) after ``begin`` (ns) this is desired, its acceleration by what an arm without error is commanded.

    That is Tsai (9.73)-(9.74) and friction. Stamps are kept to a nanosecond.
    """
    answer = answer_at(driver, begin + round(t * 1e9), *motion[:2])
    assert_desired(answer, motion, atol / 100)
    expected = tsai_planar_2r.torque(TSAI, *motion) + _friction(motion[1])
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=atol)


# Trajectories


def test_a_trajectory_replaced_while_it_runs(driver: Driver) -> None:
    """The new one starts from the desired motion, acceleration too, not from where the arm is; then the arm holds."""
    first, second = np.array([0.4, -0.1]), np.array([-0.9, 0.3])
    begin = accepted(driver, move(first, 2.0))
    for t in (0.2, 0.7):
        old = quintic(t, 2.0, at_rest(Q), at_rest(first))
        assert_follows(driver, begin, t, old)
    assert np.abs(old[1]).min() > 0.3
    begin = accepted(driver, move(second, 1.5))
    assert_desired(answer_at(driver, begin + 1, old[0] + 0.05, old[1] - 0.1), old)
    for t in (0.3, 1.0, 10.0):
        assert_follows(driver, begin, t, quintic(t, 1.5, old, at_rest(second)))


@contextmanager
def changed(driver: Driver, name: str, value: bool) -> Iterator[None]:
    driver.graph.set_parameters(NODE, {name: value})
    try:
        yield
    finally:
        driver.graph.set_parameters(NODE, {name: not value})


def test_a_start_in_the_future(driver: Driver) -> None:
    """Until then the arm goes on with what it does."""
    first, second = np.array([0.4, -0.1]), np.array([-0.9, 0.3])
    begin = accepted(driver, move(first, 2.0))
    accepted(driver, move(second, 1.0), start=begin + 800_000_000)
    old = quintic(0.8, 2.0, at_rest(Q), at_rest(first))
    assert_follows(driver, begin, 0.8, old)
    for t in (1.2, 2.0):
        assert_follows(driver, begin, t, quintic(t - 0.8, 1.0, old, at_rest(second)))


def test_the_way_of_trajectories_is_a_parameter(driver: Driver) -> None:
    """From the measured state; along straight lines; up to a last velocity, where the arm stops all the same."""
    with changed(driver, "interpolate_from_desired_state", False):
        here, goal = (Q + [0.1, -0.2], np.array([0.3, 0.2]), REST), np.array([0.4, -0.1])
        answer_at(driver, driver.now + 1_000_000, *here[:2])
        begin = accepted(driver, move(goal, 1.0))
        assert_follows(driver, begin, 0.4, quintic(0.4, 1.0, here, at_rest(goal)))
        assert_follows(driver, begin, 1.2, at_rest(goal))
    with changed(driver, "positions_upsampling.enable", False):
        begin = accepted(driver, points([0.5], [Q]))
        assert_follows(driver, begin, 0.25, ((goal + Q) / 2, (Q - goal) / 0.5, REST))
        assert_follows(driver, begin, 1.0, at_rest(Q))
    with changed(driver, "allow_nonzero_velocity_at_trajectory_end", True):
        begin = accepted(driver, points([1.0], [Q + 0.2], [[0.1, 0.0]], [REST]))
    assert_follows(driver, begin, 0.9, quintic(0.9, 1.0, at_rest(Q), (Q + 0.2, np.array([0.1, 0.0]), REST)))
    assert_follows(driver, begin, 1.1, at_rest(Q + 0.2))


# Speed and cancel


def test_speed_scaling(driver: Driver) -> None:
    """Velocities change at 2 / s and never jump; the way stays. Other numbers than 0 to 1 are refused."""
    graph, v, factor = driver.graph, np.array([0.3, -0.2]), 0.5
    publisher = graph.publisher(Float64, f"{NODE}/speed_scaling_factor")
    graph.wait(lambda: publisher.get_subscription_count() > 0, "the controller to listen")
    begin = accepted(driver, cruise(v))
    q = Q + 0.8 * v
    assert_follows(driver, begin, 1.0, (q, v, REST))
    publisher.publish(Float64(data=factor))
    slowing = tsai_planar_2r.torque(TSAI, q, v, -2.0 * v) + _friction(v)

    def taken() -> bool:
        graph.settle(0.02)
        effort = answer_at(driver, driver.now + 1, q, v).effort
        return bool(np.allclose(effort, slowing, rtol=0, atol=1e-3))

    begin = driver.now
    graph.wait(taken, "the new speed")
    t = 0.2  # s, before it is reached
    assert_follows(driver, begin, t, (q + (t - t**2) * v, (1.0 - 2.0 * t) * v, -2.0 * v), atol=1e-5)
    log = log_of(driver)
    for wrong in (math.nan, 1.5, -0.1):
        publisher.publish(Float64(data=wrong))
    graph.await_log(log, "nan")
    ramp, way = 0.25, 0.25 * 0.75
    for t in (0.5, 2.0):
        assert_follows(driver, begin, t, (q + (way + (t - ramp) * factor) * v, factor * v, REST), atol=1e-5)
    publisher.publish(Float64(data=1.0))
    answer_at(driver, driver.now + 20_000_000_000, Q)  # it is over before the next test, at whatever speed
    # Polled in order: once the trajectory is taken, so is the speed; a second later it has been reached.
    accepted(driver, points([0.0], [Q]))
    answer_at(driver, driver.now + 1_000_000_000, Q)


def test_cancel(driver: Driver) -> None:
    """Each joint slows down by 2 rad/s^2 and stays where that ends."""
    v, deceleration = np.array([0.8, -0.4]), 2.0
    begin = accepted(driver, cruise(v))
    here = Q + 1.0 * v
    assert_follows(driver, begin, 1.2, (here, v, REST))
    assert driver.graph.call(Trigger, f"{NODE}/cancel", Trigger.Request()).success
    begin = driver.now
    until = np.abs(v) / deceleration
    for t in (0.1, 0.3, 5.0):
        moving, s = t < until, np.minimum(t, until)
        brake = -np.sign(v) * deceleration
        motion = here + v * s + brake * s**2 / 2, np.where(moving, v + brake * t, 0.0), np.where(moving, brake, 0.0)
        assert_follows(driver, begin, t, motion)


# For other people's controllers


def test_trajectory_with_effort(driver: Driver) -> None:
    """The same points and more, with what RNEA and friction say at each added to the effort that it had."""
    graph = driver.graph
    received = graph.collect(JointTrajectory, f"{NODE}/joint_trajectory_with_effort")
    graph.wait(lambda: graph.client.count_publishers(f"{NODE}/joint_trajectory_with_effort"), "the controller")
    rng = np.random.default_rng(4)
    times = np.array([0.4, 1.0, 1.7])
    q, qd, qdd, given = Q + 0.3 * rng.normal(size=(3, 2)), *rng.normal(size=(3, 3, 2))
    qd[-1] = qdd[-1] = 0.0
    message = trajectory_message(points(times, *(x[:, ::-1] for x in (q, qd, qdd, given)), names=JOINTS[::-1]))
    message.header.stamp, message.header.frame_id = stamp(driver.now + 5_000_000_000), "base_link"

    def send() -> None:
        driver.send_trajectory(message)
        for _ in range(5):
            driver.ask(Q)  # a part of it each cycle

    again_and_again(graph, send, lambda: received, "the trajectory")
    answer = received[0]
    assert (answer.header, answer.joint_names) == (message.header, message.joint_names)
    dense = trajectory_points(answer)
    assert (np.diff(dense.times, prepend=0.0) < 0.0201).all()
    at_points = np.isin(dense.times, trajectory_points(message).times)
    rigid = [tsai_planar_2r.torque(TSAI, *state) + _friction(state[1]) for state in zip(q, qd, qdd, strict=True)]
    np.testing.assert_allclose(dense.effort[at_points], (rigid + given)[:, ::-1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(dense.positions[at_points], q[:, ::-1], rtol=0, atol=1e-12)


# Payload


def test_payload(driver: Driver) -> None:
    """From the next answer on: Craig's point mass (6.58) at the tip, and with extent; one of no mass takes it off."""
    graph = driver.graph
    publisher = graph.publisher(InertiaStamped, f"{NODE}/payload")
    graph.wait(lambda: publisher.get_subscription_count() > 0, "the controller to listen")
    q, qd = Q + [0.02, -0.05], np.array([0.1, -0.2])
    asked = 100.0 * (Q - q) - 20.0 * qd

    def expect(mass: float, out: float, izz: float) -> None:
        carried = craig_planar_2r.Parameters(l1=TSAI.a1, l2=TSAI.a2 + out, m1=0.0, m2=mass)
        expected = tsai_planar_2r.torque(TSAI, q, qd, asked) + craig_planar_2r.torque(carried, q, qd, asked)
        for _ in range(40):  # in which it takes over
            answer = answer_at(driver, driver.now + 10_000_000, q, qd)
        np.testing.assert_allclose(answer.effort, expected + izz * asked.sum(), rtol=0, atol=1e-9)

    def carry(link: str, mass: float, out: float, izz: float) -> InertiaStamped:
        message = InertiaStamped()
        message.header.frame_id = link
        message.inertia.m, message.inertia.com.x = mass, out
        message.inertia.iyy = message.inertia.izz = izz
        return message

    expect(0.0, 0.0, 0.0)
    log = log_of(driver)
    publisher.publish(carry("tip", 0.7, 0.1, 0.02))
    graph.await_log(log, "payload of 0.7 kg on tip")
    expect(0.7, 0.1, 0.02)
    for wrong, culprit in ((carry("claw", 2.0, 0.0, 0.0), "claw"), (carry("tip", 1.0, math.nan, 0.0), "com")):
        log = log_of(driver)
        publisher.publish(wrong)
        graph.wait(lambda log=log: log.errors, "the refusal")
        assert culprit in log.errors[0]
        expect(0.7, 0.1, 0.02)
    # It stays on while the node is inactive; the arm then holds where it is.
    assert graph.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert graph.transition(NODE, Transition.TRANSITION_ACTIVATE)
    driver.ask(Q)
    expect(0.7, 0.1, 0.02)
    log = log_of(driver)
    publisher.publish(carry("tip", 0.0, 0.0, 0.0))
    graph.await_log(log, "payload of 0 kg")
    expect(0.0, 0.0, 0.0)


# Stamps and rates


def test_a_repeated_stamp_gets_the_same_answer_and_changes_nothing(driver: Driver) -> None:
    """While a trajectory runs, which does not go on."""
    graph, goal = driver.graph, np.array([0.4, -0.1])
    off = np.array([0.01, -0.02])
    begin = accepted(driver, move(goal, 2.0))
    for k in range(1, 4):
        q, qd, qdd = motion = quintic(0.3 * k, 2.0, at_rest(Q), at_rest(goal))
        answers = []
        for _ in range(3):
            driver.answers.clear()
            answers.append(answer_at(driver, begin + 300_000_000 * k, q - off, qd))
        assert_desired(answers[0], motion)
        expected = tsai_planar_2r.torque(TSAI, q - off, qd, qdd + 100.0 * off) + _friction(qd)
        np.testing.assert_allclose(answers[0].effort, expected, rtol=0, atol=1e-6)
        for answer in answers[1:]:
            assert (answer.position, answer.velocity, answer.effort) == (
                answers[0].position,
                answers[0].velocity,
                answers[0].effort,
            )
    graph.wait(lambda: driver.efforts[-1].data == answers[-1].effort, "the command")


def test_a_rate_of_its_own(tmp_path: Path) -> None:
    """One state is enough for commands at that rate; trajectories go by the node's clock, here that of the wall."""
    with Graph(tmp_path) as graph:
        quiet = {"update_rate": 100, "minimum_rate_ratio": 0, "law": "pd", "gains.kp": [10], "gains.kd": [2]}
        log = Log(graph.start(NODE, {**PLANAR, **quiet}).log)
        driver = Driver(graph)
        seen: list[tuple[int, JointState]] = []
        graph.client.create_subscription(
            JointState, f"{NODE}/command_states", lambda answer: seen.append((wall_clock.time_ns(), answer)), RELIABLE
        )
        graph.await_log(log, "active")
        driver.now = wall_clock.time_ns()
        state = driver.message(Q)
        again_and_again(graph, lambda: driver.send(state), lambda: seen and driver.efforts, "a command")
        graph.wait(lambda: len(driver.efforts) > 50, "commands without states")

        goal, start = Q + [1.0, -1.0], wall_clock.time_ns() + 500_000_000
        seen.clear()
        driver.follow(move(goal, 1.0), start)
        graph.wait(lambda: seen and tuple(seen[-1][1].position) == tuple(goal), "the end of the trajectory")
        assert {nanoseconds(answer.header.stamp) for _, answer in seen} == {driver.now}
        assert seen[-1][0] >= start + 1_000_000_000
        moving = [answer for _, answer in seen if any(answer.velocity)]
        assert moving
        for answer in moving:
            way = np.array(answer.position) - Q
            np.testing.assert_allclose(way[0], -way[1], rtol=0, atol=1e-9)
            expected = 10.0 * way + 2.0 * np.array(answer.velocity)
            np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-9)


# Several in one graph


def test_two_arms_side_by_side(tmp_path: Path) -> None:
    """One file for both; each has its own robot, trajectory, torque, services, parameters and name in /diagnostics.

    The left one learns its robot from the latched topic in its namespace, published before it was there.
    """
    file = tmp_path / "arms.yaml"
    shared = {**PLANAR, "robot_description": "", "law": "computed_torque", "gains.natural_frequency": [3.0]}
    right = {"robot_description": URDF, "gains.natural_frequency": [4.0]}
    document = {"/**": {"ros__parameters": shared}, f"/right/{NODE}": {"ros__parameters": right}}
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with Graph(tmp_path) as graph:
        graph.publisher(String, "left/robot_description", LATCHED).publish(String(data=URDF))
        reports = graph.collect(DiagnosticArray, "/diagnostics")
        for side in ("left", "right"):
            graph.start(NODE, None, "--params-file", str(file), "-r", f"__ns:=/{side}")
        arms = {side: Driver(graph, f"/{side}") for side in ("left", "right")}
        arms["right"].now += 5_000_000_000
        where = {"left": Q, "right": np.array([0.3, 0.2])}
        goals = {"left": np.array([0.4, -0.1]), "right": np.array([-0.5, 0.7])}
        rates = {"left": 3.0, "right": 4.0}  # rad/s
        begin = {}
        for process, (side, arm) in zip(graph.processes.members, arms.items(), strict=True):
            answer = arm.ask(where[side])
            np.testing.assert_allclose(answer.effort, gravity(where[side]), rtol=0, atol=1e-9)
            log, begin[side] = Log(process.log), arm.now
            arm.follow(move(goals[side], 1.0))
            graph.await_log(log, "following a trajectory of 1 points")
        for t in (0.1, 0.2, 0.3, 0.4, 0.5):
            for side, arm in arms.items():
                q, qd, qdd = motion = quintic(t, 1.0, at_rest(where[side]), at_rest(goals[side]))
                answer = answer_at(arm, begin[side] + round(t * 1e9), q - 0.04, qd)
                assert_desired(answer, motion)
                expected = tsai_planar_2r.torque(TSAI, q - 0.04, qd, qdd + 0.04 * rates[side] ** 2)
                np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-6)
        assert graph.call(Trigger, f"left/{NODE}/cancel", Trigger.Request()).success
        graph.set_parameters(f"left/{NODE}", {"law": "pd"})
        stopped = answer_at(arms["left"], begin["left"] + 5_000_000_000, Q)
        assert tuple(stopped.velocity) == (0.0, 0.0) and np.abs(stopped.position - goals["left"]).max() > 0.05
        motion = quintic(0.7, 1.0, at_rest(where["right"]), at_rest(goals["right"]))
        answer = answer_at(arms["right"], begin["right"] + 700_000_000, *motion[:2])
        assert_desired(answer, motion)
        np.testing.assert_allclose(answer.effort, tsai_planar_2r.torque(TSAI, *motion), rtol=0, atol=1e-6)

        def laws() -> dict[str, str]:
            statuses = [status for report in reports for status in report.status]
            return {s.name: v.value for s in statuses for v in s.values if v.key == "law"}

        expected_laws = {f"left/{NODE}: controller": "pd", f"right/{NODE}: controller": "computed_torque"}
        graph.wait(lambda: laws() == expected_laws, "a report of each")


def test_quality_of_service(tmp_path: Path) -> None:
    """qos_overrides: a reliable subscription does not match a publisher that is not; by default it hears both."""
    override = {"qos_overrides./picky/joint_states.subscription.reliability": "reliable"}
    with Graph(tmp_path) as graph:
        for arm, reliability in (("easy", "BEST_EFFORT"), ("picky", "RELIABLE")):
            graph.start(NODE, {**PLANAR, **override}, "-r", f"__ns:=/{arm}")
            np.testing.assert_allclose(Driver(graph, f"/{arm}").ask(Q).effort, gravity(Q), rtol=0, atol=1e-9)
            (end,) = graph.client.get_subscriptions_info_by_topic(f"/{arm}/joint_states")
            assert end.qos_profile.reliability.name == reliability
        Driver(graph, "/easy", BEST_EFFORT).ask(Q)


def test_real_time(tmp_path: Path) -> None:
    """Priority and locked memory where the system allows them, else one warning each; commands always."""
    with Graph(tmp_path) as graph:
        process = graph.start(NODE, {**PLANAR, "realtime_priority": 15, "lock_memory": True})
        np.testing.assert_allclose(Driver(graph).ask(Q).effort, gravity(Q), rtol=0, atol=1e-9)
        lines = process.log.read_text(encoding="utf-8").splitlines()
        warnings = [line for line in lines if line.startswith("[WARN]")]
        pid = process.process.pid
        first = os.sched_getscheduler(pid) == os.SCHED_FIFO and os.sched_getparam(pid).sched_priority == 15
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        locked = int(next(line for line in status.splitlines() if line.startswith("VmLck")).split()[1]) > 0
        for works, name in ((first, "realtime_priority"), (locked, "lock_memory")):
            assert sum(name in line for line in warnings) == (0 if works else 1)
        assert not process.errors()
