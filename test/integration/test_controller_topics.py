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
from integration.ros import (
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
from lifecycle_msgs.msg import Transition
from oracles import craig_planar_2r, tsai_planar_2r
from rosgraph_msgs.msg import Clock
from scipy.interpolate import BPoly, CubicSpline
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.trajectory_points import TrajectoryPoints
from robot_dynamics_ros.nodes.messages import nanoseconds, stamp, trajectory_message, trajectory_points

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


def move(goal: Any, seconds: float, names: Any = JOINTS) -> TrajectoryPoints:
    """One point, at rest: from the state of now a quintic leads to it."""
    still = np.zeros((1, len(goal)))
    return points([seconds], [goal], still, still, names=names)


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


def refused(driver: Driver, trajectory: TrajectoryPoints, why: str, start: int = 0) -> None:
    log = log_of(driver)
    driver.follow(trajectory, start)
    driver.graph.await_log(log, "trajectory refused")
    assert why in log.text()


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
    for _ in range(60):
        send()
        deadline = wall_clock.monotonic() + 1.0
        graph.wait(lambda deadline=deadline: true() or wall_clock.monotonic() > deadline, what)
        if true():
            return
    raise AssertionError(f"waited for {what}\n{graph.logs()}")


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


def assert_follows(driver: Driver, begin: int, t: float, motion: State, effort: Any = REST) -> None:
    """``t`` (s) after ``begin`` (ns) this is desired, its acceleration by what an arm without error is commanded.

    That is Tsai (9.73)-(9.74), friction, and ``effort``. Stamps are kept to a nanosecond.
    """
    answer = answer_at(driver, begin + round(t * 1e9), *motion[:2])
    assert_desired(answer, motion)
    expected = tsai_planar_2r.torque(TSAI, *motion) + _friction(motion[1]) + effort
    np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-6)


def steps(first: float, last: float, step: float = 0.1) -> Any:
    return np.arange(first, last + step / 2, step)


# Trajectories


def test_a_trajectory_replaced_while_it_runs(driver: Driver) -> None:
    """The new one starts from the desired motion, acceleration too, not from where the arm is; then the arm holds."""
    first, second = np.array([0.4, -0.1]), np.array([-0.9, 0.3])
    begin = accepted(driver, move(first, 2.0))
    for t in steps(0.1, 0.7):
        old = quintic(t, 2.0, at_rest(Q), at_rest(first))
        assert_follows(driver, begin, t, old)
    assert np.abs(old[1]).min() > 0.3
    begin = accepted(driver, move(second, 1.5))
    assert_desired(answer_at(driver, begin + 1, old[0] + 0.05, old[1] - 0.1), old)
    for t in (*steps(0.1, 2.0), 10.0):
        assert_follows(driver, begin, t, quintic(t, 1.5, old, at_rest(second)))


def test_from_the_measured_state(driver: Driver) -> None:
    """As interpolate_from_desired_state false asks for."""
    with changed(driver, "interpolate_from_desired_state", False):
        here, goal = (Q + [0.1, -0.2], np.array([0.3, 0.2]), REST), np.array([0.4, -0.1])
        answer_at(driver, driver.now + 1_000_000, *here[:2])
        begin = accepted(driver, move(goal, 1.0))
        for t in steps(0.2, 1.2, 0.2):
            assert_follows(driver, begin, t, quintic(t, 1.0, here, at_rest(goal)))


@contextmanager
def changed(driver: Driver, name: str, value: bool) -> Iterator[None]:
    driver.graph.set_parameters(NODE, {name: value})
    try:
        yield
    finally:
        driver.graph.set_parameters(NODE, {name: not value})


def test_streamed_set_points(driver: Driver) -> None:
    """Each counts from the next state on, and holds."""
    for k in range(5):
        q = Q + 0.02 * k * np.array([1.0, -1.0])
        begin = accepted(driver, points([0.0], [q]))
        for t in (1e-9, 5e-3, 0.3):
            assert_follows(driver, begin, t, at_rest(q))


def test_a_start_in_the_future(driver: Driver) -> None:
    """Until then the arm goes on with what it does."""
    first, second = np.array([0.4, -0.1]), np.array([-0.9, 0.3])
    begin = accepted(driver, move(first, 2.0))
    accepted(driver, move(second, 1.0), start=begin + 800_000_000)
    for t in steps(0.1, 0.8):
        old = quintic(t, 2.0, at_rest(Q), at_rest(first))
        assert_follows(driver, begin, t, old)
    for t in steps(0.9, 2.0):
        assert_follows(driver, begin, t, quintic(t - 0.8, 1.0, old, at_rest(second)))


def test_a_start_in_the_past(driver: Driver) -> None:
    """It begins in the middle: what is over is passed over, and the next point is reached when it says."""
    goals, still = [Q + [0.1, 0.1], Q + [0.2, 0.0], Q + [0.4, -0.2]], np.zeros((3, 2))
    begin = accepted(driver, points([1.0, 2.0, 3.0], goals, still, still), start=driver.now - 1_400_000_000)
    for t in steps(0.1, 0.6):
        assert_follows(driver, begin, t, quintic(t, 0.6, at_rest(Q), at_rest(goals[1])))
    for t in steps(0.7, 1.8):
        assert_follows(driver, begin, t, quintic(t - 0.6, 1.0, at_rest(goals[1]), at_rest(goals[2])))


def test_a_trajectory_that_is_over(driver: Driver) -> None:
    """It is refused; what runs goes on."""
    begin = accepted(driver, move(Q + 0.3, 1.0))
    refused(driver, move(Q - 0.3, 1.0), "ended 0.500 s ago", start=driver.now - 1_500_000_000)
    for t in steps(0.1, 1.2):
        assert_follows(driver, begin, t, quintic(t, 1.0, at_rest(Q), at_rest(Q + 0.3)))


def test_partial_goals(driver: Driver) -> None:
    """Where they are allowed one joint gets another goal, and the other one goes on."""
    goal, other = np.array([0.4, -0.1]), move([1.5], 1.0, names=["joint2"])
    begin = accepted(driver, move(goal, 1.0))
    refused(driver, other, "joint 'joint1' is missing")
    old = quintic(0.3, 1.0, at_rest(Q), at_rest(goal))
    assert_follows(driver, begin, 0.3, old)
    with changed(driver, "allow_partial_joints_goal", True):
        accepted(driver, other)
    for t in steps(0.4, 1.6):
        first = quintic(t, 1.0, at_rest(Q), at_rest(goal))
        second = quintic(t - 0.3, 1.0, old, at_rest([0.0, 1.5]))
        q, qd, qdd = (np.array([a[0], b[1]]) for a, b in zip(first, second, strict=True))
        assert_follows(driver, begin, t, (q, qd, qdd))


def test_positions_alone(driver: Driver) -> None:
    """A C2 cubic spline through them, from the velocity of now to rest, is SciPy's; straight lines where it is off."""
    goal = np.array([0.4, -0.1])
    begin = accepted(driver, move(goal, 2.0))
    old = quintic(0.5, 2.0, at_rest(Q), at_rest(goal))
    assert_follows(driver, begin, 0.5, old)
    times, way = [0.3, 0.7, 1.0, 1.6], [Q + [0.3, -0.4], Q + [0.5, -0.2], Q + [0.4, 0.1], Q]
    begin = accepted(driver, points(times, way))
    spline = CubicSpline([0.0, *times], [old[0], *way], bc_type=((1, old[1]), (1, REST)))
    for t in steps(0.05, 1.55):
        assert_follows(driver, begin, t, (spline(t), spline(t, 1), spline(t, 2)))
    assert_follows(driver, begin, 1.7, at_rest(Q))
    with changed(driver, "positions_upsampling.enable", False):
        begin = accepted(driver, points([0.5, 1.0], [Q + 0.1, Q - 0.2]))
        assert_follows(driver, begin, 0.25, (Q + 0.05, np.full(2, 0.2), REST))
        assert_follows(driver, begin, 0.75, (Q - 0.05, np.full(2, -0.6), REST))
        assert_follows(driver, begin, 1.5, at_rest(Q - 0.2))


def test_a_last_velocity(driver: Driver) -> None:
    """Only where it is allowed; then the arm stops there all the same, at once."""
    moving = points([1.0], [Q + 0.2], [[0.1, 0.0]], [REST])
    refused(driver, moving, "not zero")
    assert_follows(driver, driver.now, 0.5, at_rest(Q))
    with changed(driver, "allow_nonzero_velocity_at_trajectory_end", True):
        begin = accepted(driver, moving)
    end = Q + 0.2, np.array([0.1, 0.0]), REST
    for t in (0.3, 0.9):
        assert_follows(driver, begin, t, quintic(t, 1.0, at_rest(Q), end))
    assert_follows(driver, begin, 1.1, at_rest(Q + 0.2))


def test_effort_of_points(driver: Driver) -> None:
    """It is added to what the law commands, in straight lines from point to point, and stays at the end."""
    efforts, still = np.array([[2.0, -1.0], [6.0, 1.0]]), np.zeros((2, 2))
    begin = accepted(driver, points([1.0, 2.0], [Q, Q], still, still, efforts))
    for t, share in ((0.25, efforts[0] / 4), (1.0, efforts[0]), (1.5, efforts.mean(axis=0)), (9.0, efforts[1])):
        assert_follows(driver, begin, t, at_rest(Q), share)


# Speed and cancel


def test_speed_scaling(driver: Driver) -> None:
    """Velocities change at 2 / s and never jump; the way stays. Other numbers than 0 to 1 are refused."""
    graph, v = driver.graph, np.array([0.3, -0.2])
    publisher = graph.publisher(Float64, f"{NODE}/speed_scaling_factor")
    graph.wait(lambda: publisher.get_subscription_count() > 0, "the controller to listen")
    begin = accepted(driver, cruise(v))
    assert_follows(driver, begin, 1.0, (Q + 0.8 * v, v, REST))
    scaled, factor = 0.8, 1.0  # seconds of cruising, and how fast they go by
    for target in (0.5, 1.0, 0.0, 0.25):
        publisher.publish(Float64(data=target))
        rate = math.copysign(2.0, target - factor)
        begin = driver.now
        slowing = tsai_planar_2r.torque(TSAI, Q + scaled * v, factor * v, rate * v)

        def taken(slowing: Array = slowing, q: Array = Q + scaled * v, qd: Array = factor * v) -> bool:
            graph.settle(0.02)
            effort = answer_at(driver, driver.now + 1, q, qd).effort
            return float(np.abs(np.subtract(effort, slowing + _friction(qd))).max()) < 1e-3

        graph.wait(taken, "the new speed")
        ramp = abs(target - factor) / 2.0
        for t in steps(ramp / 4, 3 * ramp / 4, ramp / 4):
            way = scaled + t * (factor + rate * t / 2)
            assert_follows(driver, begin, t, (Q + way * v, (factor + rate * t) * v, rate * v))
        scaled += ramp * (factor + target) / 2
        factor = target
        assert_follows(driver, begin, ramp + 1e-6, (Q + (scaled + 1e-6 * factor) * v, factor * v, REST))
        scaled += 0.4 * factor
        assert_follows(driver, begin, ramp + 0.4, (Q + scaled * v, factor * v, REST))
    for wrong in (1.5, -0.1, math.nan):
        log = log_of(driver)
        wall_clock.sleep(1.1)  # errors that may come at every cycle are said once a second
        publisher.publish(Float64(data=wrong))
        graph.await_log(log, "speed_scaling_factor refused")
    begin = driver.now
    assert_follows(driver, begin, 0.4, (Q + (scaled + 0.4 * factor) * v, factor * v, REST))
    publisher.publish(Float64(data=1.0))
    graph.settle(0.1)
    answer_at(driver, driver.now + 1_000_000_000, Q)  # the next test begins at full speed


def test_cancel(driver: Driver) -> None:
    """Each joint slows down by 2 rad/s^2 and stays where that ends; without decelerate_on_cancel where it is."""
    v, deceleration = np.array([0.8, -0.4]), 2.0
    begin = accepted(driver, cruise(v))
    here = Q + 1.0 * v
    assert_follows(driver, begin, 1.2, (here, v, REST))
    cancel(driver)
    begin = driver.now
    until = np.abs(v) / deceleration
    for t in (*steps(0.05, 0.6), 5.0):
        moving, s = t < until, np.minimum(t, until)
        brake = -np.sign(v) * deceleration
        motion = here + v * s + brake * s**2 / 2, np.where(moving, v + brake * t, 0.0), np.where(moving, brake, 0.0)
        assert_follows(driver, begin, t, motion)
    cancel(driver)  # nothing runs
    assert_follows(driver, driver.now, 1.0, at_rest(motion[0]))

    accepted(driver, points([0.0], [Q]))
    assert_follows(driver, driver.now, 0.01, at_rest(Q))
    begin = accepted(driver, cruise(v))
    assert_follows(driver, begin, 1.2, (here, v, REST))
    with changed(driver, "constraints.decelerate_on_cancel", False):
        cancel(driver)
        for t in (1e-9, 1.0):
            assert_follows(driver, driver.now, t, at_rest(here))


def cancel(driver: Driver) -> None:
    answer = driver.graph.call(Trigger, f"{NODE}/cancel", Trigger.Request())
    assert answer.success, answer.message


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
    swapped = points(times, q[:, ::-1], qd[:, ::-1], qdd[:, ::-1], given[:, ::-1], names=JOINTS[::-1])
    spline = CubicSpline([0.0, *times], [Q, *q], bc_type="clamped")
    alone = spline(times, 1), spline(times, 2)
    alone[1][-1] = 0.0  # the last effort is to hold the arm there
    begin = stamp(driver.now + 500_000_000)  # of both, so that both start from rest
    for sent, motion, more in ((swapped, (qd, qdd), given), (points(times, q), alone, 0 * given)):
        message = trajectory_message(sent)
        message.header.stamp, message.header.frame_id = begin, "base_link"
        received.clear()
        driver.send_trajectory(message)
        again_and_again(graph, lambda: driver.ask(Q), lambda: received, "the trajectory")  # a part of it each cycle
        (answer,) = received
        expected = [
            tsai_planar_2r.torque(TSAI, *state) + _friction(state[1]) for state in zip(q, *motion, strict=True)
        ] + more
        assert (answer.header, answer.joint_names) == (message.header, message.joint_names)
        dense = trajectory_points(answer)
        assert (np.diff(dense.times, prepend=0.0) < 0.0201).all()
        given_points = np.isin(dense.times, trajectory_points(message).times)
        order = [JOINTS.index(name) for name in sent.joint_names]
        np.testing.assert_allclose(dense.effort[given_points], expected[:, order], rtol=0, atol=1e-6)
        np.testing.assert_allclose(dense.positions[given_points], sent.positions, rtol=0, atol=1e-12)


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
    for mass, out, izz in ((1.2, 0.0, 0.0), (0.7, 0.1, 0.02), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0)):
        log = log_of(driver)
        publisher.publish(carry("tip", mass, out, izz))
        graph.await_log(log, f"payload of {mass:g} kg on tip")
        expect(mass, out, izz)
    for wrong, culprits in (
        (carry("claw", 2.0, 0.0, 0.0), ("claw", "base_link", "link1", "link2", "tip")),
        (carry("tip", -1.0, 0.0, 0.0), ("mass", "-1")),
        (carry("tip", 1.0, math.nan, 0.0), ("com", "nan")),
        (carry("tip", 1.0, 0.0, -0.1), ("inertia",)),
    ):
        log = log_of(driver)
        publisher.publish(wrong)
        graph.await_log(log, "payload refused")
        (error,) = log.errors
        assert all(culprit in error for culprit in culprits), error
        expect(0.5, 0.0, 0.0)
    # It stays on while the node is inactive; the arm then holds where it is.
    assert graph.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert graph.transition(NODE, Transition.TRANSITION_ACTIVATE)
    driver.ask(Q)
    expect(0.5, 0.0, 0.0)
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
    count, commands = len(driver.answers), len(driver.efforts)
    for k in range(1, 11):
        motion = quintic(0.05 * k, 2.0, at_rest(Q), at_rest(goal))
        q, qd, qdd = motion
        driver.now = begin + 50_000_000 * k
        for _ in range(3):
            driver.send(driver.message(q - off, qd, dt=0.0))
            count, commands = count + 1, commands + 1
            graph.wait(lambda: len(driver.answers) >= count and len(driver.efforts) >= commands, "its answer", 20.0)  # noqa: B023
            answer = driver.answers[-1]
            assert nanoseconds(answer.header.stamp) == driver.now
            assert_desired(answer, motion)
            expected = tsai_planar_2r.torque(TSAI, q - off, qd, qdd + 100.0 * off) + _friction(qd)
            np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-6)
            assert driver.efforts[-1].data == answer.effort
    graph.settle(0.2)
    assert (len(driver.answers), len(driver.efforts)) == (count, commands)


def test_a_long_trajectory_at_500_hz(driver: Driver) -> None:
    """200 points, which take a spline, are taken in while each state of that second gets one answer.

    A loaded machine may lose states, as best effort allows: then another second counts.
    """
    graph = driver.graph
    times = np.linspace(0.01, 2.0, 200)
    way = Q + 0.2 * np.sin(np.outer(times, [3.0, 2.0])) ** 2
    missing = []
    for _ in range(6):
        log, first = log_of(driver), driver.now
        driver.answers.clear()
        driver.efforts.clear()
        for k in range(500):
            if k == 200:
                driver.follow(points(times, way))
            driver.send(driver.message(Q, dt=0.002))
            wall_clock.sleep(0.002)
        graph.settle(0.5)
        graph.await_log(log, "following a trajectory of 200 points")
        stamps = [nanoseconds(answer.header.stamp) for answer in driver.answers]
        assert len(set(stamps)) == len(stamps), "a state answered twice"
        assert len(driver.efforts) == len(stamps)
        assert any(np.abs(answer.velocity).max() > 0.1 for answer in driver.answers[-200:])
        assert stamps == [at for at in (first + 2_000_000 * k for k in range(1, 501)) if at in set(stamps)]
        missing.append(500 - len(stamps))
        if not missing[-1]:
            return
    assert min(missing) <= 25, f"states without an answer in each second: {missing}"


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
        graph.settle(0.3)
        begin, count = wall_clock.monotonic(), len(driver.efforts)
        graph.settle(2.0)
        # About 200; a loaded machine may lose some, or bring late those of before.
        assert 60 < len(driver.efforts) - count < 150 * (wall_clock.monotonic() - begin)

        goal, start = Q + [1.0, -1.0], wall_clock.time_ns() + 500_000_000
        seen.clear()
        driver.follow(move(goal, 1.0), start)
        graph.wait(lambda: seen and tuple(seen[-1][1].position) == tuple(goal), "the end of the trajectory")
        assert {nanoseconds(answer.header.stamp) for _, answer in seen} == {driver.now}
        moving = [(at, answer) for at, answer in seen if any(answer.velocity)]
        assert len(moving) > 20
        assert seen[-1][0] >= start + 1_000_000_000
        for at, answer in moving:
            # The time of the command, from its position: no later than it was received.
            way = answer.position[0] - Q[0]
            (u,) = (x.real for x in np.roots([6, -15, 10, 0, 0, -way]) if abs(x.imag) < 1e-9 and 0 < x.real < 1)
            assert start + u * 1e9 <= at
            assert_desired(answer, quintic(u, 1.0, at_rest(Q), at_rest(goal)), atol=1e-6)
            expected = 10.0 * (np.array(answer.position) - Q) + 2.0 * np.array(answer.velocity)
            np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-9)


def test_a_rate_in_simulated_time(tmp_path: Path) -> None:
    """Where the clock stands nothing is commanded, and the trajectory waits with it."""
    with Graph(tmp_path) as graph:
        graph.start(NODE, {**PLANAR, "use_sim_time": True, "update_rate": 100.0, "minimum_rate_ratio": 0.0})
        driver, clock = Driver(graph), graph.publisher(Clock, "/clock")
        driver.now = 100_000_000_000

        def tick(q: Any, qd: Any = REST) -> JointState:
            """The answer at the next time, two periods later, to a state that has come before."""
            state, answered = driver.message(q, qd, dt=0.02), len(driver.answers)

            def send() -> None:
                driver.send(state)
                graph.settle(0.02)
                clock.publish(Clock(clock=state.header.stamp))

            again_and_again(graph, send, lambda: len(driver.answers) > answered, "an answer")
            return driver.answers[-1]

        def wake() -> None:
            """The clock must go on until a state has come: one that stands starts no cycle."""
            driver.send(driver.message(Q, dt=0.02))
            graph.settle(0.02)
            clock.publish(Clock(clock=stamp(driver.now)))

        again_and_again(graph, wake, lambda: driver.answers, "an answer")
        graph.settle(0.3)
        begin, goal, log = driver.now + 100_000_000, np.array([0.4, -0.1]), log_of(driver)
        driver.follow(move(goal, 0.5), begin)
        graph.await_log(log, "following")
        for _ in range(40):
            motion = quintic((driver.now + 20_000_000 - begin) * 1e-9, 0.5, at_rest(Q), at_rest(goal))
            answer = tick(*motion[:2])
            assert_desired(answer, motion)
            np.testing.assert_allclose(answer.effort, tsai_planar_2r.torque(TSAI, *motion), rtol=0, atol=1e-6)
        assert_desired(answer, at_rest(goal))
        graph.settle(0.2)
        count = len(driver.efforts)
        graph.settle(0.5)
        assert len(driver.efforts) == count


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
        graph.settle(0.2)
        before = {side: len(arm.efforts) for side, arm in arms.items()}
        for t in steps(0.1, 0.5):
            for side, arm in arms.items():
                q, qd, qdd = motion = quintic(t, 1.0, at_rest(where[side]), at_rest(goals[side]))
                answer = answer_at(arm, begin[side] + round(t * 1e9), q - 0.04, qd)
                assert_desired(answer, motion)
                expected = tsai_planar_2r.torque(TSAI, q - 0.04, qd, qdd + 0.04 * rates[side] ** 2)
                np.testing.assert_allclose(answer.effort, expected, rtol=0, atol=1e-6)
        graph.settle(0.2)
        assert {side: len(arm.efforts) - before[side] for side, arm in arms.items()} == {"left": 5, "right": 5}

        services = {name for name, _ in graph.client.get_service_names_and_types()}
        for side in arms:
            assert {f"/{side}/{NODE}/cancel", f"/{side}/{NODE}/clear_fault"} <= services
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
    """qos_overrides: a reliable subscription never hears a publisher that is not; by default it hears both."""
    override = {"qos_overrides./picky/joint_states.subscription.reliability": "reliable"}
    with Graph(tmp_path) as graph:
        for arm in ("easy", "picky"):
            graph.start(NODE, {**PLANAR, **override}, "-r", f"__ns:=/{arm}")
        for arm, reliability in (("easy", "BEST_EFFORT"), ("picky", "RELIABLE")):
            driver = Driver(graph, f"/{arm}")
            np.testing.assert_allclose(driver.ask(Q).effort, gravity(Q), rtol=0, atol=1e-9)
            (end,) = graph.client.get_subscriptions_info_by_topic(f"/{arm}/joint_states")
            assert end.qos_profile.reliability.name == reliability
            other = graph.publisher(JointState, f"/{arm}/joint_states", BEST_EFFORT)
            if reliability == "BEST_EFFORT":
                graph.wait(lambda other=other: other.get_subscription_count() == 1, "the controller to listen")
            graph.settle(0.3)
            count = len(driver.efforts)
            for _ in range(20):
                other.publish(driver.message(Q))
                graph.settle(0.02)
            graph.settle(0.2)
            assert (len(driver.efforts) > count) == (reliability == "BEST_EFFORT")
            driver.ask(Q)


def test_real_time(tmp_path: Path) -> None:
    """Priority and locked memory where the system allows them, else one warning each with the cure; commands always."""
    with Graph(tmp_path) as graph:
        process = graph.start(NODE, {**PLANAR, "realtime_priority": 15, "lock_memory": True})
        log, driver = Log(process.log), Driver(graph)
        for _ in range(20):
            np.testing.assert_allclose(driver.ask(Q).effort, gravity(Q), rtol=0, atol=1e-9)
        text = process.log.read_text(encoding="utf-8")
        warnings = [line for line in text.splitlines() if line.startswith("[WARN]")]
        pid = process.process.pid
        first = os.sched_getscheduler(pid) == os.SCHED_FIFO and os.sched_getparam(pid).sched_priority == 15
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        locked = int(next(line for line in status.splitlines() if line.startswith("VmLck")).split()[1]) > 0
        for works, name in ((first, "realtime_priority"), (locked, "lock_memory")):
            about = [line for line in warnings if name in line]
            assert len(about) == (0 if works else 1)
            assert all("Cure" in line for line in about)
        assert log.errors == []
